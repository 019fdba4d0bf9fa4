"""OCD: labels are written in any order, and learned from what the network itself wrote.

Tsai and Lee, "Order-free learning alleviating exposure bias in multi-label classification", AAAI
2020: optimal completion distillation (Sabour, Chan and Norouzi, ICLR 2019) for sets of labels, with
binary relevance as a second task.

This is the plain variant: what the second task says has no part in the ranking (no logistic
rescoring, no joint decoding). What we read differently: the second task has a linear layer, where
the authors have attention and three layers; texts without labels are to be ended at once.
"""

from __future__ import annotations

from typing import ClassVar

from labelgrove.core.settings import setting
from labelgrove.models.neural.priors.start import LabelStart
from labelgrove.models.neural.readers.base import Reader
from labelgrove.models.neural.scorers.completion import CompletionScorer
from labelgrove.models.neural.sequences import SequenceClassifier


class Ocd(SequenceClassifier):
    """Writes labels in any order; learns how to go on from what it wrote itself."""

    name: ClassVar[str] = "ocd"

    relevance: float = setting(
        1.0, "Weight of the second task: each label by itself, from the text's vector. 0 for none.",
        least=0,
    )  # fmt: skip

    def _scorer(self, reader: Reader, start: LabelStart) -> CompletionScorer:
        writer = self._writer(reader.n_vector, reader.n_pooled, start)
        size = reader.n_pooled if self.relevance else 0
        return CompletionScorer(
            writer, start, self.beams, self.most, self._as_sets, size, self.relevance, self.dropout
        )
