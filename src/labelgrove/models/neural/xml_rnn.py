"""XML-RNN: AttentionXML with one max-pooled reading of the text for all labels.

The baseline without attention of You, Dai, Zhang, Mamitsuka and Zhu, "AttentionXML: extreme
multi-label text classification with multi-label attention based recurrent neural networks", 2018.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

from torch import nn

from labelgrove.core.ranges import Real, Whole
from labelgrove.core.settings import setting
from labelgrove.models.neural.estimator import NeuralClassifier
from labelgrove.models.neural.priors.start import LabelStart
from labelgrove.models.neural.readers.base import Reader
from labelgrove.models.neural.readers.settings import UNITS
from labelgrove.models.neural.readers.word_networks import BiLSTM
from labelgrove.models.neural.scorers.pooled import (
    CLUSTERS,
    DECAY,
    OUTPUT,
    PooledScorer,
    check_first,
    pooled_scorer,
)


class XmlRnn(NeuralClassifier):
    """A recurrent network over the words, max pooling, and a linear layer to all labels."""

    name: ClassVar[str] = "xml-rnn"

    prior = "frequency"
    units: int = UNITS
    bottleneck: int = setting(
        256, "Size of the layer between text and labels.", least=1,
        search=Whole(128, 1024, log=True),
    )  # fmt: skip
    dropout: float = setting(
        0.5, "Dropout on the recurrent layer's output, and in front of the labels.", least=0,
        below=1, search=Real(0.1, 0.7),
    )  # fmt: skip
    output: Literal["linear", "clusters"] = OUTPUT
    clusters: Literal["auto"] | Sequence[float] = CLUSTERS
    decay: float = DECAY

    def check_settings(self) -> None:
        """Refuse a first stage in front of clusters."""
        super().check_settings()
        check_first(self.first, clustered=self.output == "clusters")

    def _word_network(self, n_inputs: int) -> BiLSTM:
        return BiLSTM(n_inputs, self.units, self.dropout)

    def _scorer(self, reader: Reader, start: LabelStart) -> PooledScorer:
        shares = self.clusters if self.output == "clusters" else None
        return pooled_scorer(
            reader,
            start,
            self.bottleneck,
            nn.ReLU(),
            self.dropout,
            shares,
            self.at_once,
            self.decay,
        )

    @classmethod
    def example_settings(cls, folder: Path) -> dict[str, Any]:
        """Return settings small enough to learn in seconds."""
        return {"units": 24, "bottleneck": 24, "vector_size": 24, "epochs": 12, "batch": 16,
                "learning_rate": 0.01, "dropout": 0.1, "threads": 1}  # fmt: skip
