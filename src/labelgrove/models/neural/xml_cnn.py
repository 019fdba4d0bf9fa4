"""XML-CNN: convolutions over the words with dynamic max pooling.

Liu, Chang, Wu and Yang, "Deep learning for extreme multi-label text classification", SIGIR 2017.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

from torch import nn

from labelgrove.models.neural.estimator import NeuralClassifier
from labelgrove.models.neural.priors.start import LabelStart
from labelgrove.models.neural.readers.base import Reader
from labelgrove.models.neural.readers.settings import FILTERS, PARTS, WIDTHS
from labelgrove.models.neural.readers.word_networks import Convolutions
from labelgrove.models.neural.scorers.pooled import (
    BOTTLENECK,
    CLUSTERS,
    DECAY,
    DROPOUT,
    OUTPUT,
    PooledScorer,
    check_first,
    pooled_scorer,
)


class XmlCnn(NeuralClassifier):
    """Filters over runs of words, the largest values in parts of the text, a linear layer."""

    name: ClassVar[str] = "xml-cnn"

    prior = "frequency"
    widths: Sequence[int] = WIDTHS
    filters: int = FILTERS
    parts: int = PARTS
    bottleneck: int = BOTTLENECK
    dropout: float = DROPOUT
    output: Literal["linear", "clusters"] = OUTPUT
    clusters: Literal["auto"] | Sequence[float] = CLUSTERS
    decay: float = DECAY

    def check_settings(self) -> None:
        """Refuse a first stage in front of clusters."""
        super().check_settings()
        check_first(self.first, clustered=self.output == "clusters")

    def _word_network(self, n_inputs: int) -> Convolutions:
        return Convolutions(n_inputs, self.widths, self.filters, self.parts)

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
        return {"filters": 16, "bottleneck": 32, "vector_size": 24, "epochs": 16, "batch": 16,
                "learning_rate": 0.01, "dropout": 0.1, "threads": 1}  # fmt: skip
