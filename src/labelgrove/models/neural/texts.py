"""Texts as a network reads them: some at a time, long ones in windows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from labelgrove.core.features import TokenSequences
from labelgrove.core.ranking import Ranking
from labelgrove.models.neural.network import Network
from labelgrove.models.neural.priors.votes import VotePrior
from labelgrove.models.neural.readers.base import Batch
from labelgrove.models.neural.training.batches import by_length, padded
from labelgrove.models.neural.training.windows import Windows, best_of


class LessonsOfTexts(Protocol):
    """Teacher knowledge of many texts."""

    def of(self, rows: NDArray[np.int64]) -> tuple[Tensor, Tensor]:
        """Return shares and lessons of some texts, as of `Batch`."""


@dataclass(frozen=True, eq=False)
class Texts:
    """Many texts with what is read beside them.

    Parameters
    ----------
    tokens
        Token ids of n texts, or of n windows of texts.
    windows
        How long texts are read; None where they are read as they are.
    lessons, votes
        Teacher knowledge, and the votes of similar documents, of each text; None for none.
    owners
        Of windows: the text that each is of, ascending, shape (n,).
    """

    tokens: TokenSequences
    windows: Windows | None = None
    lessons: LessonsOfTexts | None = None
    votes: VotePrior | None = None
    owners: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Tokens that are read of each text at once, shape (n,)."""
        lengths = self.tokens.lengths
        return lengths if self.windows is None else np.minimum(lengths, self.windows.size)

    def drawn(self, rows: NDArray[np.int64]) -> Batch:
        """Return some texts to learn from; of long ones a window, drawn from torch's numbers."""
        if self.windows is None:
            return self.batch(rows)
        pieces = self.windows.drawn(self.tokens[rows])
        return self._with_beside(*padded(pieces, np.arange(len(rows))), rows)

    def batch(self, rows: NDArray[np.int64]) -> Batch:
        """Return some texts."""
        return self._with_beside(*padded(self.tokens, rows), self.texts_of(rows))

    def texts_of(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the texts that windows are of."""
        return rows if self.owners is None else self.owners[rows]

    def _with_beside(self, tokens: Tensor, lengths: Tensor, texts: NDArray[np.int64]) -> Batch:
        shares, lessons = (None, None) if self.lessons is None else self.lessons.of(texts)
        votes = None if self.votes is None else self.votes.of(texts)
        return Batch(tokens, lengths, shares=shares, lessons=lessons, votes=votes)

    def split(self) -> Texts:
        """Return all windows of the texts."""
        if self.windows is None:
            return self
        pieces, owners = self.windows.split(self.tokens)
        return Texts(pieces, None, self.lessons, self.votes, owners)


def rank_in_batches(
    texts: Texts,
    k: int,
    size: int,
    device: torch.device,
    rank: Callable[[Batch, NDArray[np.int64]], Ranking],
    shown: Callable[[int], None] | None = None,
) -> Ranking:
    """Rank texts batch by batch, those of like length together; a text has its best window's.

    Parameters
    ----------
    texts
        Of which n are ranked.
    k
        Labels of each.
    size
        Texts at once.
    device
        Where they go.
    rank
        Ranks a batch; it is also told the numbers of its texts, shape (b,).
    shown
        Told how many windows were ranked.
    """
    pieces = texts.split()
    ranking = Ranking.empty(len(pieces), k)
    for rows in by_length(pieces.tokens.lengths, size):
        part = rank(pieces.batch(rows).to(device), pieces.texts_of(rows)).pad(k)
        ranking.labels[rows], ranking.scores[rows] = part.labels, part.scores
        if shown is not None:
            shown(len(rows))
    return ranking if pieces.owners is None else best_of(ranking, pieces.owners, len(texts))


def as_ranking(labels: Tensor, probabilities: Tensor) -> Ranking:
    """Return labels (b, k) and their probabilities, best first, as a ranking."""
    chosen = labels.masked_fill(probabilities <= 0, -1)
    return Ranking(chosen.cpu().numpy().astype(np.int32), probabilities.float().cpu().numpy())


def device_of_network(network: Network) -> torch.device:
    """Return where a network is."""
    return next(network.parameters()).device
