"""All labels are judged in rounds; each knows what the one before found (ML-Reasoner)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from labelgrove.models.neural.priors.start import LabelStart
from labelgrove.models.neural.readers.base import Reading
from labelgrove.models.neural.scorers.base import Positives, Scorer, dense
from labelgrove.models.neural.scorers.outputs import LinearOutput


class ReasoningScorer(Scorer):
    """A text's vector beside one of its labels as the round before judged them, then all labels.

    The first round knows of no label. A label's vector counts as much as its probability z, and
    these vectors z l are weighed by a softmax of w z l + b over all labels. What the paper's score
    also adds for the text, u x, is the same for all labels and drops out of the softmax.

    Parameters
    ----------
    start
        The labels, and how they begin.
    hidden
        From the reader's vector of a text to that beside the labels'.
    n_hidden
        Size of the latter.
    size
        Of a label's vector.
    rounds
        How often labels are judged (T).
    every_round
        Learn from the mean loss of all rounds, and not of the last alone.
    """

    def __init__(
        self,
        start: LabelStart,
        hidden: nn.Module,
        n_hidden: int,
        size: int,
        rounds: int,
        every_round: bool,
    ) -> None:
        super().__init__()
        self.n_labels, self.rounds, self.every_round = len(start.counts), rounds, every_round
        self.hidden, self.n_hidden = hidden, n_hidden
        self.labels = nn.Parameter(torch.empty(self.n_labels, size))
        nn.init.xavier_uniform_(self.labels)
        self.weigh = nn.Linear(size, 1, bias=False)
        self.output = LinearOutput(n_hidden + size, start)

    def told(self, chances: Tensor) -> Tensor:
        """Return the vector (b, size) of labels with these probabilities (b, L)."""
        shares = (chances * self.weigh(self.labels)[:, 0]).softmax(1)
        found: Tensor = (shares * chances) @ self.labels
        return found

    def judged(self, reading: Reading, prior: Tensor | None) -> list[Tensor]:
        """Return the log odds (b, L) of each round."""
        text = self.hidden(reading.pooled)
        told, found = text.new_zeros(text.shape[0], self.labels.shape[1]), []
        for _ in range(self.rounds):
            logits = self.output.logits(torch.cat([text, told], 1), None)
            found.append(logits if prior is None else logits + prior)
            told = self.told(found[-1].sigmoid())
        return found

    def logits(self, reading: Reading, labels: Tensor | None, prior: Tensor | None) -> Tensor:
        """Return the log odds of all labels (b, L) in the last round; there are no candidates."""
        assert labels is None
        return self.judged(reading, prior)[-1]

    def loss(
        self,
        reading: Reading,
        labels: Tensor | None,
        prior: Tensor | None,
        truth: Positives | Tensor,
    ) -> Tensor:
        """Return the mean binary cross entropy, of the last round or of all, shape ()."""
        rounds = self.judged(reading, prior)
        asked = rounds if self.every_round else rounds[-1:]
        each = [
            binary_cross_entropy_with_logits(logits, dense(truth, logits))
            for logits in (found.float() for found in asked)
        ]
        return torch.stack(each).mean()

    def log_odds(self, reading: Reading, label: int, prior: Tensor | None) -> Tensor:
        """Return the log odds of one label, shape (b,)."""
        return self.logits(reading, None, prior)[:, label]

    def kept(self, longest: int, judged: int | None) -> int:
        """Return the numbers that learning keeps for one text."""
        return self.rounds * (7 * self.n_labels + self.n_hidden + self.labels.shape[1])
