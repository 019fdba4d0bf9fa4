"""XML-RNN: AttentionXML with one max-pooled reading of the text for all labels.

The baseline without attention of You, Dai, Zhang, Mamitsuka and Zhu, "AttentionXML: extreme
multi-label text classification with multi-label attention based recurrent neural networks", 2018.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from labelgrove.core.ranges import Range, Whole
from labelgrove.models.neural.parts.encoders import BiLSTM
from labelgrove.models.neural.pooled import PooledClassifier


class XmlRnn(PooledClassifier):
    """A recurrent network over the words, max pooling, and a linear layer to all labels.

    Parameters
    ----------
    units
        Of the recurrent layer, per direction.
    bottleneck
        Size of the layer between text and labels.
    dropout
        On the recurrent layer's output, and in front of the labels.
    **training
        Fields of `labelgrove.models.neural.training.settings.PooledTraining`.
    """

    name: ClassVar[str] = "xml-rnn"

    def __init__(
        self,
        units: int = 256,
        bottleneck: int = 256,
        dropout: float = 0.5,
        **training: Any,
    ) -> None:
        super().__init__(**training)
        self.units = units
        self.bottleneck = bottleneck
        self.dropout = dropout

    @property
    def _per_word(self) -> int:
        return 26 * self.units

    def _encoder(self, n_inputs: int) -> BiLSTM:
        return BiLSTM(n_inputs, self.units, self.dropout)

    @classmethod
    def ranges(cls) -> dict[str, Range]:
        """Return also that of the recurrent layer."""
        return {
            **super().ranges(),
            "units": Whole(64, 512, log=True),
        }

    @classmethod
    def example_settings(cls, folder: Path) -> dict[str, Any]:
        """Return settings small enough to learn in seconds."""
        return {"units": 24, "bottleneck": 24, "vector_size": 24, "epochs": 12, "batch": 16,
                "learning_rate": 0.01, "dropout": 0.1, "threads": 1}  # fmt: skip
