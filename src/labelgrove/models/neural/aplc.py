"""APLC-XLNet: a pretrained transformer, and rare labels in clusters behind gates.

Ye, Chen, Wang and Davison, "Pretrained generalized autoregressive model with adaptive
probabilistic label clusters for extreme multi-label text classification", ICML 2020.

Where the paper is silent or cannot be meant (see also `LabelClusters`):

- *Hidden layer* (section 3.2): from the vector of the text's last token, tanh and dropout behind.
- *Gates*: equation 5 as printed never teaches a gate to be shut, so gates drift towards 1. By
  default a gate whose cluster holds no label of the text is taught so; ``gate_loss=False`` is the
  printed form.
- *Bias*: the paper has none, so that every label begins with a probability of about one half and
  much of a short training is spent on unlearning that. By default labels and gates have a bias that
  begins with their frequency; ``bias=False`` is the published form.
- *Schedule* (equation 15): the learning rate falls to zero from the first step on, as published
  (t_w = 0); ``warmup`` is the share of the steps in which it rises.
- *Length*: batches are as long as their longest text, not padded to ``length``.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from labelgrove.core.ranges import Range, Real
from labelgrove.models.neural.parts.cluster_sizes import sizes_for
from labelgrove.models.neural.pretrained_pooled import PooledPretrained


class AplcXlnet(PooledPretrained):
    """XLNet or any other pretrained encoder, and adaptive probabilistic label clusters.

    Parameters
    ----------
    clusters
        Shares of the labels in each cluster, such as [0.5, 0.5], the most frequent first, or
        ``"auto"`` for those that make a training step fastest.
    decay
        How many times smaller a text's vector is from cluster to cluster (q).
    gate_loss
        Also teach gates to be shut.
    bias
        Give labels and gates a bias that begins with how frequent they are.
    hidden
        Size of the layer between encoder and labels (d_h); 0 for none.
    dropout
        In front of the labels.
    **training
        Fields of `labelgrove.models.neural.training.settings.PretrainedTraining`; without an
        ``encoder`` it is ``xlnet/xlnet-base-cased``.
    """

    name: ClassVar[str] = "aplc-xlnet"
    default_encoder: ClassVar[str] = "xlnet/xlnet-base-cased"

    def __init__(
        self,
        clusters: Literal["auto"] | Sequence[float] = "auto",
        decay: float = 2.0,
        gate_loss: bool = True,
        bias: bool = True,
        hidden: int = 768,
        dropout: float = 0.1,
        **training: Any,
    ) -> None:
        super().__init__(**training)
        self.clusters = clusters
        self.decay = decay
        self.gate_loss = gate_loss
        self.bias = bias
        self.hidden = hidden
        self.dropout = dropout

    def _clusters(self, counts: NDArray[np.int64], n_inputs: int, n_documents: int) -> list[int]:
        return sizes_for(self.clusters, counts, n_inputs, self.decay, self.batch, n_documents)

    @classmethod
    def ranges(cls) -> dict[str, Range]:
        """Return also those of the layer between encoder and labels."""
        return {
            **super().ranges(),
            "hidden_rate": Real(2e-5, 1e-3, log=True),
            "dropout": Real(0.0, 0.4),
        }

    @classmethod
    def example_settings(cls, folder: Path) -> dict[str, Any]:
        """Return settings small enough to learn in seconds, with an encoder made on the spot."""
        from labelgrove.models.neural.examples import small_xlnet

        return {"encoder": small_xlnet(folder), "clusters": [0.5, 0.5], "hidden": 32,
                "pooling": "mean", "length": 48, "batch": 16, "epochs": 6, "encoder_rate": 0.01,
                "hidden_rate": 0.01, "learning_rate": 0.02, "threads": 1}  # fmt: skip
