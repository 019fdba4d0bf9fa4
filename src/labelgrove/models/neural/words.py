"""What the models of words share: a vocabulary of their own, and vectors that words begin with."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from labelgrove.core.features import Features, TokenSequences
from labelgrove.core.progress import Progress
from labelgrove.core.types import FitContext, ViewSpec
from labelgrove.models.neural.classifier import NeuralClassifier
from labelgrove.models.neural.training.batches import first_words, knows_words
from labelgrove.models.neural.training.settings import Training, WordTraining
from labelgrove.models.word_vectors import check_source, word_vectors


class WordClassifier(NeuralClassifier):
    """A classifier whose networks read words; it has the settings of `WordTraining`."""

    shared: ClassVar[type[Training]] = WordTraining
    saves_memory: ClassVar[str] = (
        "lower batch, length, units or the number of words (features text.max_words), or let "
        "attentionxml use its tree (tree='always')"
    )

    length: int
    vectors: str
    vector_size: int
    train_vectors: bool
    vector_dropout: float
    vector_size_: int

    def views(self) -> dict[str, ViewSpec]:
        """Return the one view: words, cut after ``length``."""
        return {"text": ViewSpec("words", {"length": self.length})}

    def check_needs(self) -> None:
        """Refuse a file of vectors that is not there."""
        super().check_needs()
        check_source(self.vectors)

    def _tokens(self, X: Features, known: int | None = None) -> TokenSequences:
        return first_words(super()._tokens(X, known), self.length)

    def _readable(self, X: TokenSequences) -> NDArray[np.bool_]:
        return knows_words(X)

    def _look(self, X: TokenSequences, progress: Progress) -> None:
        if cut := int((X.lengths >= self.length).sum()):
            progress.say(
                f"{cut:,} documents ({cut / len(X):.1%}) have {self.length:,} words (length) "
                "or more: what follows is not read"
            )

    def _vectors(self, X: TokenSequences, context: FitContext) -> Tensor:
        """Return the vectors that words begin with."""
        return torch.from_numpy(
            word_vectors(self.vectors, self.vector_size, X, context, self.seed, self.threads)
        )
