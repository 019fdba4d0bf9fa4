"""ML-Reasoner: all labels are judged in rounds, and each round knows the probabilities before it.

Wang, Ridley, Su, Qu and Dai, "A novel reasoning mechanism for multi-label text classification",
Information Processing and Management 58, 2021.

Where the paper is silent, or was read by us otherwise:

- *First round*: all probabilities are 0, so that no label is known.
- *Weights*: one reasoner for all rounds.
- *Loss*: the mean over all rounds, so that what is fed back is already worth something; only that
  of the last round with ``every_round=false``.
- *Text encoder*: Kim's convolutions (``network=cnn``), a recurrent layer in both directions whose
  largest values are taken (``network=lstm``), or a transformer (``encoder``).
- *Weights of labels*: as printed. The text's part of their score drops out of the softmax (see
  `ReasoningScorer`), so labels are weighed by their probabilities and vectors alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Literal

from torch import nn

from labelgrove.core.errors import InputError
from labelgrove.core.ranges import Whole
from labelgrove.core.settings import setting
from labelgrove.models.neural.estimator import NeuralClassifier
from labelgrove.models.neural.priors.start import LabelStart
from labelgrove.models.neural.readers.base import Reader
from labelgrove.models.neural.readers.settings import FILTERS, TABLES, UNITS, WIDTHS
from labelgrove.models.neural.readers.word_networks import BiLSTM, Convolutions, WordNetwork
from labelgrove.models.neural.scorers.pooled import BOTTLENECK, DROPOUT, bottleneck
from labelgrove.models.neural.scorers.reasoning import ReasoningScorer


class MlReasoner(NeuralClassifier):
    """Convolutions over the words; labels are judged in rounds that know the round before."""

    name: ClassVar[str] = "ml-reasoner"

    prior = "frequency"
    network: Literal["cnn", "lstm"] = setting(
        "cnn", "What reads the words: cnn (filters) or lstm (a recurrent layer).", only=TABLES
    )
    widths: Sequence[int] = replace(WIDTHS, default=(3, 4, 5))
    filters: int = replace(FILTERS, default=100)
    units: int = UNITS
    rounds: int = setting(
        3, "How often labels are judged (T); 1 to know no label.", least=1, search=Whole(1, 5)
    )
    every_round: bool = setting(
        True, "Learn from the mean loss of all rounds; false for that of the last alone."
    )
    label_size: int = setting(256, "Size of a label's vector.", least=1)
    bottleneck: int = BOTTLENECK
    dropout: float = DROPOUT

    def check_settings(self) -> None:
        """Refuse a first stage: what is fed back are the probabilities of all labels."""
        super().check_settings()
        if self.asks_for_first:
            raise InputError(
                f"first={self.first!r} names some labels, and ml-reasoner feeds back the "
                "probabilities of all: set first='none', or choose a model that judges "
                "candidates, such as kim-cnn"
            )

    @property
    def allows_first(self) -> bool:
        """Whether a first stage may say which labels are judged: all are fed back."""
        return False

    def _word_network(self, n_inputs: int) -> WordNetwork:
        if self.network == "lstm":
            return BiLSTM(n_inputs, self.units, self.dropout)
        return Convolutions(n_inputs, self.widths, self.filters, n_parts=1)

    def _scorer(self, reader: Reader, start: LabelStart) -> ReasoningScorer:
        hidden = bottleneck(reader.n_pooled, self.bottleneck, nn.ReLU(), self.dropout)
        return ReasoningScorer(
            start, hidden, self.bottleneck, self.label_size, self.rounds, self.every_round
        )

    @classmethod
    def example_settings(cls, folder: Path) -> dict[str, Any]:
        """Return settings small enough to learn in seconds."""
        return {"filters": 16, "bottleneck": 32, "label_size": 16, "vector_size": 24,
                "epochs": 16, "batch": 16, "learning_rate": 0.01, "dropout": 0.1,
                "threads": 1}  # fmt: skip
