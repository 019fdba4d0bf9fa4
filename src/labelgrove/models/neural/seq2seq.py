"""Seq2Seq: a text is read, its labels are written one after the other.

Nam, Loza Mencía, Kim and Fürnkranz, "Maximizing subset accuracy with recurrent neural networks in
multi-label classification", NIPS 2017: the network with an encoder, a decoder and attention, which
is the best of theirs. With ``decoder="transformer"`` it is the baseline that LACO's authors call
Seq2Seq_T (Zhang et al. 2021), with a pretrained ``encoder`` too.

What we read differently: labels stand in the order of frequency, the most frequent first, one of
the orders that they compare. The reader is the BiLSTM of the other models in the place of GRUs, and
attention is Luong's. While labels are written none comes twice, of which the paper says nothing.
"""

from __future__ import annotations

from typing import ClassVar

from labelgrove.models.neural.priors.start import LabelStart
from labelgrove.models.neural.readers.base import Reader
from labelgrove.models.neural.scorers.label_sequence import SequenceScorer
from labelgrove.models.neural.sequences import SequenceClassifier


class Seq2Seq(SequenceClassifier):
    """A recurrent network reads the text, another writes its labels, most frequent first."""

    name: ClassVar[str] = "seq2seq"

    def _scorer(self, reader: Reader, start: LabelStart) -> SequenceScorer:
        writer = self._writer(reader.n_vector, reader.n_pooled, start)
        return SequenceScorer(writer, start, self.beams, self.most, self._as_sets)
