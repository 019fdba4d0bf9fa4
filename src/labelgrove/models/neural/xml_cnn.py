"""XML-CNN: convolutions over the words with dynamic max pooling.

Liu, Chang, Wu and Yang, "Deep learning for extreme multi-label text classification", SIGIR 2017.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

from torch import nn

from labelgrove.core.ranges import Real, Whole
from labelgrove.core.settings import setting, sizes
from labelgrove.models.neural.estimator import NeuralClassifier
from labelgrove.models.neural.priors.start import LabelStart
from labelgrove.models.neural.readers.base import Reader
from labelgrove.models.neural.readers.settings import TABLES
from labelgrove.models.neural.readers.word_networks import Convolutions
from labelgrove.models.neural.scorers.pooled import (
    CLUSTERS,
    DECAY,
    OUTPUT,
    PooledScorer,
    check_first,
    pooled_scorer,
)


class XmlCnn(NeuralClassifier):
    """Filters over runs of words, the largest values in parts of the text, a linear layer."""

    name: ClassVar[str] = "xml-cnn"

    prior = "frequency"
    widths: Sequence[int] = setting(
        (2, 4, 8), "Words that a filter spans.", rule=sizes([2, 4, 8]), only=TABLES
    )
    filters: int = setting(
        128, "Filters of each width.", least=1, only=TABLES, search=Whole(32, 256, log=True)
    )
    parts: int = setting(
        8, "Parts of the text of which each filter gives its largest value.", least=1, only=TABLES,
        search=Whole(2, 16, log=True),
    )  # fmt: skip
    bottleneck: int = setting(
        512, "Size of the layer between text and labels.", least=1,
        search=Whole(128, 1024, log=True),
    )  # fmt: skip
    dropout: float = setting(
        0.5, "Dropout in front of the labels.", least=0, below=1, search=Real(0.1, 0.7)
    )
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
