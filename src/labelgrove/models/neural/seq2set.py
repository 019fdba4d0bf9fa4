"""Seq2Set: a sequence of labels is written, and behind it a set, learned by its F1.

Yang, Luo, Ma, Lin and Sun, "A deep reinforced sequence-to-set model for multi-label
classification", ACL 2019.

What we read differently: the authors train by likelihood first and by rewards afterwards; here the
set decoder learns from both at once, ``reward`` of the one and the rest of the other. It looks at
text and sequence with one attention. The sequence that it looks at is the one that the sequence
decoder writes, not the true one, while learning too: when labels are to be found nobody knows that.
"""

from __future__ import annotations

from typing import ClassVar

from labelgrove.core.ranges import Real
from labelgrove.core.settings import setting
from labelgrove.models.neural.priors.start import LabelStart
from labelgrove.models.neural.readers.base import Reader
from labelgrove.models.neural.scorers.rewarded import RewardedScorer
from labelgrove.models.neural.sequences import SequenceClassifier


class Seq2Set(SequenceClassifier):
    """Writes a sequence of labels, then a set behind it that is rewarded for its F1."""

    name: ClassVar[str] = "seq2set"

    reward: float = setting(
        0.5, "Weight of the reward beside the likelihood, whose weight is the rest; 0 for none.",
        least=0, most=1, search=Real(0.0, 0.9),
    )  # fmt: skip

    def _scorer(self, reader: Reader, start: LabelStart) -> RewardedScorer:
        first = self._writer(reader.n_vector, reader.n_pooled, start)
        writer = self._writer(reader.n_vector, reader.n_pooled, start)
        return RewardedScorer(
            writer, first, start, self.beams, self.most, self._as_sets, reader.n_vector, self.reward
        )
