"""What is learned from texts that are read with labels, and how these labels are ranked."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor, nn

from labelgrove.core.features import TokenSequences
from labelgrove.core.ranking import Ranking
from labelgrove.evaluation import tune_threshold
from labelgrove.models.first_stage import Candidates
from labelgrove.models.neural.objectives import PooledLabels, as_ranking
from labelgrove.models.neural.parts.joint import JointNetwork
from labelgrove.models.neural.training.batches import by_length, padded
from labelgrove.models.neural.training.settings import Training
from labelgrove.models.neural.training.windows import Windows, best_of

PLACES = 200  # labels of a held-out text that may be given


class JointLabels(PooledLabels):
    """Labels of texts that are read with them.

    Parameters
    ----------
    X, Y, validation, training, windows
        As of `PooledLabels`.
    found, held
        Candidates of the texts and of those held out; None where all labels are read.
    """

    def __init__(
        self,
        X: TokenSequences,
        Y: csr_array,
        validation: tuple[TokenSequences, csr_array] | None,
        training: Training,
        windows: Windows,
        found: Candidates | None,
        held: Candidates | None,
    ) -> None:
        super().__init__(X, Y, validation, training, windows)
        self._pieces, self._found, self._held = windows, found, held

    def loss(self, network: nn.Module, rows: NDArray[np.int64]) -> Tensor:
        """Return the network's own loss; candidates stand in a new order at every step."""
        texts = padded(self._pieces.drawn(self._X[rows]), np.arange(len(rows)))
        if self._found is None:
            labels, odds = everything(len(rows), self._Y.shape[1])
            true = torch.from_numpy(self._Y[rows].toarray() > 0)
        else:
            chosen = self._found[rows]
            none = torch.from_numpy(chosen.labels < 0)
            order = torch.rand(none.shape).masked_fill(none, 2.0).argsort(1)  # none stays behind
            labels, odds, true = (
                torch.from_numpy(part).gather(1, order)
                for part in (chosen.labels.astype(np.int64), chosen.odds, chosen.true)
            )
        device = next(network.parameters()).device
        loss: Tensor = network(*(each.to(device) for each in (*texts, labels, odds, true)))
        return loss

    def score(self, network: nn.Module) -> float | None:
        """Return the best micro-F1 of held-out documents that any threshold gives.

        With a threshold of one half it would stand still while no label is yet as probable.
        """
        if self._validation is None:
            return None
        assert isinstance(network, JointNetwork)
        X, Y = self._validation
        batch, n_labels = self._training.batch, self._Y.shape[1]
        ranking = judged(network, X, self._held, n_labels, PLACES, batch, self._pieces)
        if np.isnan(ranking.scores).any():
            return float("nan")
        return tune_threshold(Y, ranking, goal="micro-F1").score


def everything(n: int, n_labels: int) -> tuple[Tensor, Tensor]:
    """Return all labels for each of n texts, and no odds, both of shape (n, L)."""
    return torch.arange(n_labels).expand(n, -1), torch.zeros(n, n_labels)


def judged(
    network: JointNetwork,
    X: TokenSequences,
    found: Candidates | None,
    n_labels: int,
    k: int,
    batch: int,
    windows: Windows,
) -> Ranking:
    """Rank candidates of texts, or all labels, batch by batch; a text has its best window's.

    Parameters
    ----------
    network
        What judges.
    X
        Tokens of n texts.
    found
        Their candidates, or None for all labels.
    n_labels
        Number of all labels.
    k
        Labels of each text at most.
    batch
        Texts at once.
    windows
        How long texts are read.
    """
    pieces, owners = windows.split(X)
    width = n_labels if found is None else found.labels.shape[1]
    ranking = Ranking.empty(len(pieces), min(k, width))
    device = next(network.parameters()).device
    for rows in by_length(pieces.lengths, batch):
        if found is None:
            labels, odds = everything(len(rows), n_labels)
        else:
            own = found[owners[rows]]
            labels, odds = torch.from_numpy(own.labels.astype(np.int64)), torch.from_numpy(own.odds)
        given = (*padded(pieces, rows), labels, odds)
        logits = network(*(each.to(device) for each in given)).float()
        chances = logits.sigmoid().masked_fill(labels.to(device) < 0, 0.0)
        best, places = chances.sort(dim=1, descending=True, stable=True)
        part = as_ranking(labels.to(device).gather(1, places), best).top(k)
        ranking.labels[rows], ranking.scores[rows] = part.labels, part.scores
    return best_of(ranking, owners, len(X))
