"""A pretrained transformer with a plain linear output: the baseline of LACO and APLC-XLNet.

Devlin, Chang, Lee and Toutanova, "BERT: pre-training of deep bidirectional transformers for
language understanding", NAACL 2019, fine-tuned with one sigmoid a label.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from labelgrove.core.ranges import Range, Real
from labelgrove.models.neural.pretrained_pooled import PooledPretrained


class Transformer(PooledPretrained):
    """Any pretrained encoder, and a linear layer to all labels.

    Parameters
    ----------
    hidden
        Size of a layer between encoder and labels; 0 for none.
    dropout
        In front of the labels.
    **training
        Fields of `labelgrove.models.neural.training.settings.PretrainedTraining`; without an
        ``encoder`` it is ``google-bert/bert-base-uncased``.
    """

    name: ClassVar[str] = "transformer"
    default_encoder: ClassVar[str] = "google-bert/bert-base-uncased"

    def __init__(self, hidden: int = 0, dropout: float = 0.1, **training: Any) -> None:
        super().__init__(**training)
        self.hidden = hidden
        self.dropout = dropout

    def _clusters(self, counts: NDArray[np.int64], n_inputs: int, n_documents: int) -> list[int]:
        return []

    @classmethod
    def ranges(cls) -> dict[str, Range]:
        """Return also that of the dropout."""
        return {
            **super().ranges(),
            "dropout": Real(0.0, 0.4),
        }

    @classmethod
    def example_settings(cls, folder: Path) -> dict[str, Any]:
        """Return settings small enough to learn in seconds, with an encoder made on the spot."""
        from labelgrove.models.neural.examples import small_bert

        return {"encoder": small_bert(folder), "length": 48, "batch": 16, "epochs": 6,
                "encoder_rate": 0.01, "learning_rate": 0.02, "threads": 1}  # fmt: skip
