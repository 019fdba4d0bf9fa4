"""LEAM: words that are like any label make the vector of a text.

Wang, Li, Wang, Zhang, Shen, Zhang, Henao and Carin, "Joint embedding of words and labels for text
classification", ACL 2018.

Read differently from the paper:

- *Several labels*: binary cross entropy for each label in place of a softmax over classes.
- *Label term*: from its own vector in the place of a text's, each label must be told from all
  others. It stays a softmax over labels, divided by their number as the other loss is, and is
  computed for as many labels at random as there are texts in a batch.
- *Kernel*: one for all labels with a bias for each, as printed. The authors' code has a matrix of
  all labels with all labels for each place of the kernel.
- *Labels' vectors* begin as the mean of the words of their names, with the vectors of the text's
  own words, and learn. A label without a known word begins at random.
- *Many labels or few documents*: behind a first stage words are compared with its best labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from torch import Tensor

from labelgrove.core.ranges import Whole
from labelgrove.core.settings import setting
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
)
from labelgrove.models.neural.scorers.label_embedding import Compatibility, LabelEmbeddingScorer
from labelgrove.models.neural.scorers.pooled import DROPOUT


class Leam(NeuralClassifier):
    """Word vectors and label vectors in one space; words that are like any label count most."""

    name: ClassVar[str] = "leam"

    prior = "frequency"
    first = "auto"
    starts: Starts = STARTS
    radius: int = setting(
        5, "Words on each side that are looked at with a word (r).", least=0, search=Whole(0, 25)
    )
    hidden: int = setting(300, "Size of the layer between text and labels; 0 for none.", least=0)
    label_weight: float = setting(
        1.0,
        "Weight of the label term: each label's vector must give that label; 0 for none.",
        least=0,
    )
    dropout: float = DROPOUT

    _words: Sequence[Tensor] = ()  # of the labels' names, while networks are made

    def _prepare(
        self, data: TrainingData, context: FitContext
    ) -> tuple[TrainingData, dict[str, Any]]:
        self._words = label_words(self.starts, context)
        return super()._prepare(data, context)

    def _scorer(self, reader: Reader, start: LabelStart) -> LabelEmbeddingScorer:
        like = Compatibility(len(start.counts), self.radius)
        scorer = LabelEmbeddingScorer(
            start, reader.n_vector, like, self.hidden, self.dropout, self.label_weight
        )
        begin_as_words(scorer.labels.weight, self._words, reader)
        return scorer

    @classmethod
    def example_settings(cls, folder: Path) -> dict[str, Any]:
        """Return settings small enough to learn in seconds."""
        return {"first": "none", "hidden": 32, "vector_size": 24, "epochs": 12, "batch": 16,
                "learning_rate": 0.01, "dropout": 0.1, "radius": 1, "threads": 1}  # fmt: skip
