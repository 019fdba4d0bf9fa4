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
  begins with their frequency; ``prior="none"`` is the published form.
- *Schedule* (equation 15): the learning rate falls to zero from the first step on, as published
  (t_w = 0); ``warmup`` is the share of the steps in which it rises.
- *First stage* (``first``), which the paper does not have: clusters make it cheap to judge all
  labels, so behind a first stage, which names some, a linear layer takes their place.
- *Length*: batches are as long as their longest text, not padded to ``length``.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

from torch import nn

from labelgrove.core.ranges import Real
from labelgrove.core.settings import setting
from labelgrove.models.neural.estimator import NeuralClassifier
from labelgrove.models.neural.priors.start import LabelStart
from labelgrove.models.neural.readers.base import Reader
from labelgrove.models.neural.readers.settings import UNITS
from labelgrove.models.neural.readers.word_networks import BiLSTM
from labelgrove.models.neural.scorers.pooled import (
    CLUSTERS,
    DECAY,
    PooledScorer,
    pooled_scorer,
)
from labelgrove.models.neural.training.settings import FineTuning


class AplcXlnet(FineTuning, NeuralClassifier):
    """XLNet or any other pretrained encoder, and adaptive probabilistic label clusters."""

    name: ClassVar[str] = "aplc-xlnet"

    encoder = "xlnet/xlnet-base-cased"
    length = 256
    prior = "frequency"
    first = "auto"
    units: int = UNITS
    clusters: Literal["auto"] | Sequence[float] = CLUSTERS
    decay: float = DECAY
    gate_loss: bool = setting(True, "Also teach gates to be shut.")
    hidden: int = setting(
        768, "Size of the layer between encoder and labels (d_h); 0 for none.", least=0
    )
    hidden_rate: float = setting(1e-4, search=Real(2e-5, 1e-3, log=True))
    dropout: float = setting(
        0.1, "Dropout in front of the labels.", least=0, below=1, search=Real(0.0, 0.4)
    )

    def _word_network(self, n_inputs: int) -> BiLSTM:
        return BiLSTM(n_inputs, self.units, self.dropout)

    def _scorer(self, reader: Reader, start: LabelStart) -> PooledScorer:
        return pooled_scorer(
            reader, start, self.hidden, nn.Tanh(), self.dropout, self.clusters, self.at_once,
            self.decay, self.gate_loss,
        )  # fmt: skip

    @classmethod
    def example_settings(cls, folder: Path) -> dict[str, Any]:
        """Return settings small enough to learn in seconds, with an encoder made on the spot."""
        from labelgrove.models.neural.examples import small_xlnet

        return {"first": "none", "encoder": small_xlnet(folder), "clusters": [0.5, 0.5],
                "hidden": 32, "pooling": "mean", "length": 48, "batch": 16, "epochs": 6,
                "encoder_rate": 0.01, "hidden_rate": 0.01, "learning_rate": 0.02,
                "threads": 1}  # fmt: skip
