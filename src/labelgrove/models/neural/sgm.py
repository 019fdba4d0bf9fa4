"""SGM: labels are written one after the other, knowing how probable the others were.

Yang, Sun, Li, Ma, Wu and Wang, "SGM: sequence generation model for multi-label classification",
COLING 2018.

What we read differently: the gate of the global embedding is squashed by a sigmoid, and attention
is Luong's, both as in the authors' code; the printed gate (equation 10) has no bounds. The decoder
has one layer by default (``layers``). The mask by which no label comes twice holds while learning
too, as equation 5 has it.
"""

from __future__ import annotations

from typing import ClassVar

from labelgrove.models.neural.priors.start import LabelStart
from labelgrove.models.neural.readers.base import Reader
from labelgrove.models.neural.scorers.label_sequence import SequenceScorer
from labelgrove.models.neural.sequences import SequenceClassifier


class Sgm(SequenceClassifier):
    """Writes labels, each knowing the last one and how probable all others were there."""

    name: ClassVar[str] = "sgm"

    def _scorer(self, reader: Reader, start: LabelStart) -> SequenceScorer:
        writer = self._writer(reader.n_vector, reader.n_pooled, start, mixes=True)
        return SequenceScorer(writer, start, self.beams, self.most, self._as_sets, masked=True)
