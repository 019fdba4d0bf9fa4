"""LSAN: each label reads the text by an attention of its own and by its name.

Xiao, Huang, Chen and Jing, "Label-specific document representation for multi-label text
classification", EMNLP 2019.

Read differently from the paper:

- *Attention by names*: the shares of a label sum to 1 over the words. Printed are plain products
  C H, whose sum over the words grows with the length of the text; ``plain_products=true`` takes
  them.
- *Directions*: printed are label vectors of the size of one direction of the recurrent layer, and
  a product for each direction. Here a matrix that is learned brings words, of both directions or
  from any reader, to the size of the label vectors, which is that of the word vectors.
- *Labels' vectors* begin as the mean of the words of their names, with the vectors of the text's
  own words, and learn. A label without a known word begins at random.
- *Output*: a linear layer to all labels behind the mean of what they have read, as the authors'
  code has it. Equation 8 makes one number of what each label has read, by layers that all labels
  share: ``head=shared``, which was worse (docs/models/lsan.md).
- *Many labels or few documents*: behind a first stage only its best labels read the text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Literal

from torch import Tensor

from labelgrove.core.ranges import Real
from labelgrove.core.settings import setting, sizes
from labelgrove.core.types import FitContext
from labelgrove.models.neural.candidates.base import TrainingData
from labelgrove.models.neural.estimator import NeuralClassifier
from labelgrove.models.neural.priors.start import LabelStart
from labelgrove.models.neural.readers.base import Reader
from labelgrove.models.neural.readers.label_words import (
    STARTS,
    Starts,
    begin_as_words,
    label_words,
    word_size,
)
from labelgrove.models.neural.readers.settings import TABLES, UNITS
from labelgrove.models.neural.readers.word_networks import BiLSTM
from labelgrove.models.neural.scorers.base import Scorer
from labelgrove.models.neural.scorers.label_attention import LabelAttentionScorer
from labelgrove.models.neural.scorers.label_specific import (
    AveragedAttentionScorer,
    LabelSpecificAttention,
)


class Lsan(NeuralClassifier):
    """A recurrent network over the words; each label has two attentions to them, fused."""

    name: ClassVar[str] = "lsan"

    batch = None
    learning_rate = 5e-3
    schedule = "linear"
    average_from = 2
    prior = "frequency"
    first = "auto"
    starts: Starts = STARTS
    units: int = replace(UNITS, default=128)
    attention: int = setting(
        200, "Size of the layer in front of a label's own attention (d_a).", least=1
    )
    head: Literal["average", "shared"] = setting(
        "average",
        "average: a linear layer to all labels behind the mean of what they have read, as the "
        "authors' code does; shared: layers that all labels share make one number of what each has "
        "read, as printed.",
    )
    layers: Sequence[int] = setting(
        (256,), "Sizes of the layers that all labels share, of head=shared.", rule=sizes([256])
    )
    plain_products: bool = setting(
        False,
        "Attend by the plain products of words and label vectors, as printed, instead of shares "
        "that sum to 1.",
    )
    dropout: float = setting(
        0.5, "Dropout on the recurrent layer's output.", least=0, below=1, only=TABLES,
        search=Real(0.1, 0.7),
    )  # fmt: skip

    _words: Sequence[Tensor] = ()  # of the labels' names, while networks are made

    def _prepare(
        self, data: TrainingData, context: FitContext
    ) -> tuple[TrainingData, dict[str, Any]]:
        self._words = label_words(self.starts, context)
        return super()._prepare(data, context)

    def _word_network(self, n_inputs: int) -> BiLSTM:
        return BiLSTM(n_inputs, self.units, self.dropout)

    def _scorer(self, reader: Reader, start: LabelStart) -> Scorer:
        attends = LabelSpecificAttention(
            len(start.counts), reader.n_vector, self.attention, word_size(reader),
            averages=not self.plain_products, sparse=start.sparse,
        )  # fmt: skip
        begin_as_words(attends.named.labels.weight, self._words, reader)
        if self.head == "average":
            return AveragedAttentionScorer(start, reader.n_vector, attends)
        return LabelAttentionScorer(start, reader.n_vector, self.layers, attends)

    @classmethod
    def example_settings(cls, folder: Path) -> dict[str, Any]:
        """Return settings small enough to learn in seconds."""
        return {"first": "none", "units": 24, "attention": 16, "vector_size": 24,
                "epochs": 10, "batch": 16, "learning_rate": 0.01, "dropout": 0.1,
                "threads": 1}  # fmt: skip
