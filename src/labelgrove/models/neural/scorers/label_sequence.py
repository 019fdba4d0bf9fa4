"""Judges labels by writing them, one after the other."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from labelgrove.models.neural.priors.start import LabelStart
from labelgrove.models.neural.readers.base import Reading
from labelgrove.models.neural.scorers.base import Positives, Scorer
from labelgrove.models.neural.scorers.beams import search
from labelgrove.models.neural.scorers.label_writer import LabelWriter

EDGE = 1e-6  # no score is nearer to 0 or 1 where log odds are asked for


class SequenceScorer(Scorer):
    """Writes the labels of a text, the most frequent first, and judges all by beam search.

    Parameters
    ----------
    writer
        Writes them.
    start
        The labels, and how they begin.
    beams
        Sequences that beam search keeps.
    most
        Labels that are written of a text at most.
    as_sets
        Let one half divide the labels of the set that is decided from others, instead of ranking
        each label by how probable it was to be written.
    masked
        Learn from probabilities in which no label comes twice, as they are where labels are
        written.
    """

    order: Tensor

    def __init__(
        self,
        writer: LabelWriter,
        start: LabelStart,
        beams: int,
        most: int,
        as_sets: bool = False,
        masked: bool = False,
    ) -> None:
        super().__init__()
        self.n_labels = len(start.counts)
        self.writer, self.beams = writer, beams
        self.as_sets, self.masked = as_sets, masked
        # nothing is mixed where no text of a step has a label
        self.leaves_parts_out = writer.gate is not None  # type: ignore[misc]
        self.most = min(most, self.n_labels)
        # the place of each label in the order of frequency
        order = np.argsort(np.argsort(-start.counts, kind="stable"))
        self.register_buffer("order", torch.from_numpy(order))
        self._mean = float(start.counts.sum()) / max(start.n_documents, 1)

    def loss(
        self,
        reading: Reading,
        labels: Tensor | None,
        prior: Tensor | None,
        truth: Positives | Tensor,
    ) -> Tensor:
        """Return the negative log-likelihood of the labels' sequence, a mean over steps, ()."""
        assert isinstance(truth, Positives)
        sequences = self.sequences(truth, len(reading.mask))
        own = self.writer.log_chances(reading, sequences, self.masked)
        return -own[self.writer.until_end(sequences)].mean()

    def sequences(self, truth: Positives, n_texts: int) -> Tensor:
        """Return the true labels of texts, the most frequent first, with ends, (b, S).

        Parameters
        ----------
        truth
            The true labels.
        n_texts
            Number of texts b; of one with more than ``most`` labels the first are returned.
        """
        places = truth.rows * self.n_labels + self.order[truth.labels]
        by_place = places.argsort()
        rows, labels = truth.rows[by_place], truth.labels[by_place]
        counts = torch.bincount(rows, minlength=n_texts)
        before = (counts.cumsum(0) - counts)[rows]
        place = torch.arange(len(rows), device=rows.device) - before
        longest = int(counts.max()) if n_texts else 0
        found = torch.full((n_texts, longest + 1), self.n_labels, device=rows.device)
        found[rows, place] = labels
        return found[:, : max(self.most, 1)] if longest >= self.most else found

    def scores(self, reading: Reading) -> Tensor:
        """Return a number from 0 to 1 for each label, shape (b, L)."""
        found = search(self.writer, self.looked_at(reading), self.beams, self.most)
        return found.scores_of_sets() if self.as_sets else found.chances()

    def looked_at(self, reading: Reading) -> Reading:
        """Return what the writer looks at: here the text alone."""
        return reading

    def rank(self, reading: Reading, k: int, prior: Tensor | None) -> tuple[Tensor, Tensor]:
        """Return the best of all labels and their scores, best first, both (b, k)."""
        scores = self.scores(reading)
        best, labels = scores.topk(min(k, scores.shape[1]), dim=1)
        return labels, best

    def logits(self, reading: Reading, labels: Tensor | None, prior: Tensor | None) -> Tensor:
        """Return the log odds of scores, of candidates (b, C) or of all labels (b, L)."""
        odds = self.scores(reading).logit(EDGE)
        return odds if labels is None else odds.gather(1, labels.clamp(min=0))

    def log_odds(self, reading: Reading, label: int, prior: Tensor | None) -> Tensor:
        """Return the log odds of writing one label at any step of a sequence, shape (b,).

        The sequence is the most probable one of the last text, of which the others are parts: so
        that what is explained does not jump from one to the next.
        """
        reading = self.looked_at(reading)
        written = self.writer.write(reading, self.most)[-1:].expand(len(reading.mask), -1)
        chances = self.writer.along(reading, written, masked=True)[:, :, label].exp()
        missing = torch.log1p(-chances.clamp(EDGE, 1 - EDGE))
        missed = (missing * self.writer.until_end(written)).sum(1)
        return torch.log(-torch.expm1(missed)) - missed

    def kept(self, longest: int, judged: int | None) -> int:
        """Return the numbers that learning keeps for one text."""
        steps = min(2 * self._mean + 1, self.most) + 1  # texts of a batch differ
        return int(steps * (4 * (self.n_labels + 1) + self.writer.decoder.per_step + 3 * longest))
