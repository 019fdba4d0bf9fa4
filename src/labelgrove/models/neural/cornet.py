"""CorNet: blocks behind a network that learn how labels go together.

Xun, Jha, Sun and Zhang, "Correlation networks for extreme multi-label text classification", KDD
2020.

The blocks are in `CorrelatedScorer`; ``cornet=2`` puts them behind any model whose network judges
all labels. The model here is the published CorNetXMLCNN, with XML-CNN's reading;
``encoder=google-bert/bert-base-uncased`` with ``bottleneck=0`` is CorNetBertXML, and
``attentionxml`` with ``cornet=2`` CorNetAttentionXML.

Labels begin at random, as published; ``prior=frequency`` was no better.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from torch import nn

from labelgrove.core.settings import setting
from labelgrove.models.neural.estimator import NeuralClassifier
from labelgrove.models.neural.priors.start import LabelStart
from labelgrove.models.neural.readers.base import Reader
from labelgrove.models.neural.readers.settings import FILTERS, PARTS, WIDTHS
from labelgrove.models.neural.readers.word_networks import Convolutions
from labelgrove.models.neural.scorers.pooled import (
    BOTTLENECK,
    DROPOUT,
    PooledScorer,
    pooled_scorer,
)


class CorNet(NeuralClassifier):
    """XML-CNN, with blocks behind the labels that learn how they go together."""

    name: ClassVar[str] = "cornet"

    cornet: int = setting(2, least=1)
    widths: Sequence[int] = WIDTHS
    filters: int = FILTERS
    parts: int = PARTS
    bottleneck: int = replace(
        BOTTLENECK, help="Size of the layer between text and labels; 0 for none.", least=0
    )
    dropout: float = DROPOUT

    @property
    def allows_first(self) -> bool:
        """Whether a first stage may say which labels are judged: the blocks need all."""
        return False

    def _word_network(self, n_inputs: int) -> Convolutions:
        return Convolutions(n_inputs, self.widths, self.filters, self.parts)

    def _scorer(self, reader: Reader, start: LabelStart) -> PooledScorer:
        return pooled_scorer(reader, start, self.bottleneck, nn.ReLU(), self.dropout)

    @classmethod
    def example_settings(cls, folder: Path) -> dict[str, Any]:
        """Return settings small enough to learn in seconds."""
        return {"filters": 16, "bottleneck": 32, "vector_size": 24, "cornet_size": 16, "epochs": 16,
                "batch": 16, "learning_rate": 0.01, "dropout": 0.1, "threads": 1}  # fmt: skip
