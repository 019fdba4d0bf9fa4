"""XML-CNN: convolutions over the words with dynamic max pooling.

Liu, Chang, Wu and Yang, "Deep learning for extreme multi-label text classification", SIGIR 2017.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from labelgrove.core.ranges import Range, Whole
from labelgrove.models.neural.parts.encoders import Convolutions
from labelgrove.models.neural.pooled import PooledClassifier


class XmlCnn(PooledClassifier):
    """Filters over runs of words, the largest values in parts of the text, a linear layer.

    Parameters
    ----------
    widths
        Words that a filter spans.
    filters
        Filters of each width.
    parts
        Parts of the text of which each filter gives its largest value.
    bottleneck
        Size of the layer between text and labels.
    dropout
        In front of the labels.
    **training
        Fields of `labelgrove.models.neural.training.settings.PooledTraining`.
    """

    name: ClassVar[str] = "xml-cnn"

    def __init__(
        self,
        widths: Sequence[int] = (2, 4, 8),
        filters: int = 128,
        parts: int = 8,
        bottleneck: int = 512,
        dropout: float = 0.5,
        **training: Any,
    ) -> None:
        super().__init__(**training)
        self.widths = widths
        self.filters = filters
        self.parts = parts
        self.bottleneck = bottleneck
        self.dropout = dropout

    @property
    def _per_word(self) -> int:
        return 4 * self.filters * len(self.widths)

    def _encoder(self, n_inputs: int) -> Convolutions:
        return Convolutions(n_inputs, self.widths, self.filters, self.parts)

    @classmethod
    def ranges(cls) -> dict[str, Range]:
        """Return also those of the filters."""
        return {
            **super().ranges(),
            "filters": Whole(32, 256, log=True),
            "parts": Whole(2, 16, log=True),
        }

    @classmethod
    def example_settings(cls, folder: Path) -> dict[str, Any]:
        """Return settings small enough to learn in seconds."""
        return {"filters": 16, "bottleneck": 32, "vector_size": 24, "epochs": 12, "batch": 16,
                "learning_rate": 0.01, "dropout": 0.1, "threads": 1}  # fmt: skip
