"""Kim's CNN: filters over runs of words, the largest value of each, a linear layer.

Kim, "Convolutional neural networks for sentence classification", EMNLP 2014.

Read differently from the paper:

- *Several labels*: each has a probability of its own, by the logistic function and binary cross
  entropy, in place of the softmax over classes.
- *Short texts*: a text is padded on both sides, so that one shorter than a filter can be read.
- *Norms*: the weights of a label are not scaled back to a length of 3. It was made for a softmax
  over few classes, and Zhang and Wallace (2015) found little use in it even there.
- *Variants*: ``train_vectors=true`` is CNN-non-static, ``false`` CNN-static, ``vectors=random``
  CNN-rand. There is no CNN-multichannel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from torch import nn

from labelgrove.models.neural.estimator import NeuralClassifier
from labelgrove.models.neural.priors.start import LabelStart
from labelgrove.models.neural.readers.base import Reader
from labelgrove.models.neural.readers.settings import FILTERS, WIDTHS
from labelgrove.models.neural.readers.word_networks import Convolutions
from labelgrove.models.neural.scorers.pooled import DROPOUT, PooledScorer, pooled_scorer


class KimCnn(NeuralClassifier):
    """Filters over runs of words, the largest value of each in the whole text, a linear layer."""

    name: ClassVar[str] = "kim-cnn"

    prior = "frequency"
    widths: Sequence[int] = replace(WIDTHS, default=(3, 4, 5))
    filters: int = replace(FILTERS, default=100)
    dropout: float = DROPOUT

    def _word_network(self, n_inputs: int) -> Convolutions:
        return Convolutions(n_inputs, self.widths, self.filters, n_parts=1)

    def _scorer(self, reader: Reader, start: LabelStart) -> PooledScorer:
        return pooled_scorer(reader, start, 0, nn.Identity(), self.dropout)

    @classmethod
    def example_settings(cls, folder: Path) -> dict[str, Any]:
        """Return settings small enough to learn in seconds."""
        return {"filters": 16, "vector_size": 24, "epochs": 12, "batch": 16,
                "learning_rate": 0.01, "dropout": 0.1, "threads": 1}  # fmt: skip
