"""Static vectors (model2vec): a vector for each subword, found without running a transformer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from labelgrove.core.errors import InputError
from labelgrove.core.features import TokenSequences
from labelgrove.core.types import FitContext, ViewSpec
from labelgrove.models.neural.readers.words import TableInput, WordReader
from labelgrove.text.static_vectors import load_static


@dataclass
class StaticInput(TableInput):
    """Subwords with static vectors, read by the network that would read words.

    Parameters
    ----------
    folder
        As model2vec saves it, or its name on the Hugging Face hub.
    """

    folder: str

    reads: ClassVar[str] = "subwords"
    saves_memory: ClassVar[str] = "lower batch, length or units"

    def view(self) -> ViewSpec:
        """Return subwords of the tokenizer beside the vectors."""
        return ViewSpec("subwords", {"tokenizer": self.folder, "length": self.length})

    def check_needs(self) -> None:
        """Refuse a folder without vectors."""
        load_static(self.folder)

    def readable(self, X: TokenSequences) -> NDArray[np.bool_]:
        """Tell which texts have a subword."""
        readable: NDArray[np.bool_] = X.lengths > 0
        return readable

    def prepare(self, X: TokenSequences, n_labels: int, context: FitContext) -> None:
        """Load the vectors."""
        table = load_static(self.folder).table()
        if len(table) < X.n_terms:
            raise InputError(
                f"X has {X.n_terms:,} subwords, and {self.folder} has vectors of {len(table):,}: "
                f"use the features 'subwords' with tokenizer={self.folder!r}"
            )
        self.begin_with(table)

    def sketch(self, n_terms: int, n_labels: int) -> WordReader:
        """Return a reader without weights."""
        return self._sketched(*load_static(self.folder).shape)
