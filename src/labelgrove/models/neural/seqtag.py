"""SeqTag: labels as a sequence that is tagged yes or no, LACO's second strong baseline.

Zhang, Zhang, Yan, Liu and Cao (see `laco`) give the labels that a transformer has read with the
text to a BiLSTM-CRF: Huang, Xu and Yu, "Bidirectional LSTM-CRF models for sequence tagging", 2015.

Labels stand in the order of their frequency, the most frequent first, which the paper leaves open.
A label's probability is its marginal in the CRF, whatever the other labels are: the best sequence
alone would have no probabilities.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from labelgrove.core.errors import InputError
from labelgrove.core.ranges import Real, Whole
from labelgrove.core.settings import setting
from labelgrove.models.neural.estimator import NeuralClassifier
from labelgrove.models.neural.learning import Measure
from labelgrove.models.neural.priors.start import LabelStart
from labelgrove.models.neural.readers.base import Input, Reader
from labelgrove.models.neural.readers.joint import (
    JointInput,
    LabelReading,
)
from labelgrove.models.neural.scorers.crf import CrfScorer
from labelgrove.models.neural.training.settings import FineTuning


class SeqTag(LabelReading, FineTuning, NeuralClassifier):
    """A pretrained transformer reads text and labels together; a BiLSTM-CRF tags the labels."""

    name: ClassVar[str] = "seqtag"
    measure: ClassVar[Measure] = "micro-F1"

    encoder = "google-bert/bert-base-uncased"
    length = 256
    first = "auto"
    prior = "frequency"
    learning_rate = 5e-3
    hidden_rate = setting(5e-4, search=Real(1e-4, 5e-3, log=True))
    layer_decay = 0.8
    warmup = 0.1
    units: int = setting(
        128, "Units of the LSTM over labels, in each direction.", least=1,
        search=Whole(64, 256, log=True),
    )  # fmt: skip
    dropout: float = setting(
        0.1, "Dropout in front of the LSTM and behind it.", least=0, below=1,
        search=Real(0.0, 0.4),
    )  # fmt: skip

    def check_settings(self) -> None:
        """Refuse a reader that cannot read labels with a text."""
        super().check_settings()
        if self.form != "transformer":
            raise InputError(
                f"encoder={self.encoder!r} cannot read labels with the text, which seqtag needs: "
                "give a transformer, or use laco with joint=false"
            )

    def _input(self) -> Input:
        return JointInput.around(super()._input(), self.starts, self._n_read)

    def _n_read(self, n_labels: int) -> int:
        """Return how many of so many labels are read with a text."""
        two_stages = self.uses_first(np.zeros(n_labels, np.int64), 0)
        return min(self._n_shortlisted, n_labels) if two_stages else n_labels

    def _scorer(self, reader: Reader, start: LabelStart) -> CrfScorer:
        return CrfScorer(start, reader.n_vector, self.units, self.dropout)

    @classmethod
    def example_settings(cls, folder: Path) -> dict[str, Any]:
        """Return settings small enough to learn in seconds, with an encoder made on the spot."""
        from labelgrove.models.neural.examples import small_bert

        return {"encoder": small_bert(folder), "length": 32, "batch": 16, "epochs": 8,
                "units": 16, "encoder_rate": 0.005, "hidden_rate": 0.01, "learning_rate": 0.02,
                "layer_decay": 1.0, "warmup": 0.0, "threads": 1}  # fmt: skip
