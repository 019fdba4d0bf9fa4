"""A pretrained transformer with a plain linear output: the baseline of LACO and APLC-XLNet.

Devlin, Chang, Lee and Toutanova, "BERT: pre-training of deep bidirectional transformers for
language understanding", NAACL 2019, fine-tuned with one sigmoid a label.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from torch import nn

from labelgrove.core.ranges import Real
from labelgrove.core.settings import setting
from labelgrove.models.neural.estimator import NeuralClassifier
from labelgrove.models.neural.priors.start import LabelStart
from labelgrove.models.neural.readers.base import Reader
from labelgrove.models.neural.readers.settings import UNITS
from labelgrove.models.neural.readers.word_networks import BiLSTM
from labelgrove.models.neural.scorers.pooled import PooledScorer, pooled_scorer
from labelgrove.models.neural.training.settings import FineTuning


class Transformer(FineTuning, NeuralClassifier):
    """Any pretrained encoder, and a linear layer to all labels."""

    name: ClassVar[str] = "transformer"

    encoder = "google-bert/bert-base-uncased"
    length = 256
    prior = "frequency"
    units: int = UNITS
    hidden: int = setting(0, "Size of a layer between encoder and labels; 0 for none.", least=0)
    dropout: float = setting(
        0.1, "Dropout in front of the labels.", least=0, below=1, search=Real(0.0, 0.4)
    )

    def _word_network(self, n_inputs: int) -> BiLSTM:
        return BiLSTM(n_inputs, self.units, self.dropout)

    def _scorer(self, reader: Reader, start: LabelStart) -> PooledScorer:
        return pooled_scorer(reader, start, self.hidden, nn.Tanh(), self.dropout)

    @classmethod
    def example_settings(cls, folder: Path) -> dict[str, Any]:
        """Return settings small enough to learn in seconds, with an encoder made on the spot."""
        from labelgrove.models.neural.examples import small_bert

        return {"encoder": small_bert(folder), "length": 48, "batch": 16, "epochs": 6,
                "encoder_rate": 0.01, "learning_rate": 0.02, "threads": 1}  # fmt: skip
