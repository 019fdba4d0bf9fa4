"""Texts as means of static vectors (model2vec): their meaning in one vector, nearly for free."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain, islice
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelgrove.core import checks
from labelgrove.core.estimator import Featurizer
from labelgrove.core.settings import setting
from labelgrove.core.types import Span
from labelgrove.text.batches import batches, in_order, join_rows
from labelgrove.text.known_words import TEXTS, language_note
from labelgrove.text.static_vectors import EXTRA, StaticVectors, load_static
from labelgrove.text.tokenizing import FastTokenizer, as_bytes, check_numbers

VECTORS = (np.int8, np.float16, np.float32, np.float64)  # types of numbers of vectors


class StaticEmbeddings(Featurizer):
    """Texts to rows of length 1: the mean of their subwords' static vectors.

    A text without known subwords is a row of zeros. Nothing is learned from texts; vectors and
    tokenizer are kept and saved, so that their folder is needed in training only.

    Attributes
    ----------
    vectors_, mapping_, weights_, unknown_
        As of `labelgrove.text.static_vectors.StaticVectors`.
    tokenizer_
        The tokenizer's JSON, shape (bytes,), uint8.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from model2vec import StaticModel
    >>> from tokenizers import Tokenizer, models, pre_tokenizers
    >>> words = Tokenizer(models.WordLevel({"[UNK]": 0, "sun": 1, "moon": 2}, unk_token="[UNK]"))
    >>> words.pre_tokenizer = pre_tokenizers.Whitespace()
    >>> with TemporaryDirectory() as folder:
    ...     StaticModel(np.array([[9.0, 9], [2, 0], [0, 2]]), words).save_pretrained(folder)
    ...     static = StaticEmbeddings(model=folder).fit([])
    >>> static.transform(["sun", "moon and sun", "rain"]).round(2).tolist()
    [[1.0, 0.0], [0.7099999785423279, 0.7099999785423279], [0.0, 0.0]]
    >>> static.spans("moon and sun")[2]
    Span(feature=1, start=9, end=12)
    """

    name: ClassVar[str] = "static"
    keeps_features: ClassVar[bool] = True
    needs_texts: ClassVar[bool] = False

    model: str = setting(
        "", "Static vectors of model2vec: a folder, or a name on the Hugging Face hub."
    )
    length: int = setting(512, "Texts are cut after this many tokens.", least=1)

    vectors_: NDArray[Any]
    mapping_: NDArray[Any] | None
    weights_: NDArray[Any] | None
    unknown_: int
    tokenizer_: NDArray[np.uint8]

    def check_settings(self) -> None:
        """Refuse also no model."""
        super().check_settings()
        if not self.model.strip():
            load_static(self.model)

    def fit(self, texts: Iterable[str], labels: object = None) -> Self:
        """Load the vectors; the first texts tell whether these know their language."""
        self.check_settings()
        found = load_static(self.model)
        self.set_state(
            {
                "vectors_": found.vectors,
                "mapping_": found.mapping,
                "weights_": found.weights,
                "unknown_": found.unknown,
                "tokenizer_": as_bytes(found.tokenizer),
            }
        )
        if note := language_note(self.model, self._reader, self.unknown_, texts):
            self.progress.say(note)
        return self

    def fit_transform(self, texts: Iterable[str], labels: object = None) -> NDArray[np.float32]:
        """Load the vectors and return the rows of texts, which are read once."""
        stream = chain.from_iterable(batches(texts))
        first = list(islice(stream, TEXTS))
        return self.fit(first).transform(chain(first, stream))

    def transform(self, texts: Iterable[str]) -> NDArray[np.float32]:
        """Return rows of length 1, or of zeros, shape (n, d)."""
        self.check_fitted()
        parts = in_order(self._rows, batches(texts), self.threads)
        return join_rows(list(parts), self.vectors_.shape[1])

    def spans(self, text: str) -> list[Span]:
        """Return the characters behind each token, known or not."""
        self.check_fitted()
        return self._reader.spans(text, self.length)

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Take over a saved state."""
        super().set_state(state)
        self._reader = FastTokenizer(state["tokenizer_"], EXTRA)
        self._static = StaticVectors(
            state["vectors_"], state["mapping_"], state["weights_"], "", state["unknown_"]
        )

    def check_state(self) -> None:
        """Refuse vectors that are not one for each subword."""
        checks.array("tokenizer_", self.tokenizer_, np.uint8, (None,))
        checks.array("vectors_", self.vectors_, VECTORS, (None, None))
        checks.whole("unknown_", self.unknown_, least=-1, most=2**31 - 1)
        if self.mapping_ is not None:
            checks.array("mapping_", self.mapping_, (np.int32, np.int64), (None,))
            checks.below("mapping_", self.mapping_, len(self.vectors_))
        if self.weights_ is not None:
            checks.array("weights_", self.weights_, VECTORS, (self._static.shape[0],))

    def _rows(self, texts: list[str]) -> NDArray[np.float32]:
        ids, offsets = self._reader.batch(texts, self.length)
        check_numbers(ids, self._static.shape[0])
        # only vectors of the batch's own subwords: the table may be large, and on disk
        used, places = np.unique(ids, return_inverse=True)
        counts = (ids != self.unknown_).astype(np.float32)
        totals = csr_array((counts, places, offsets), shape=(len(texts), len(used)))
        return normalized(totals @ self._static.rows(used))


def normalized(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return rows (n, d) of length 1; those of zeros stay so.

    Examples
    --------
    >>> normalized(np.array([[0, 4], [0, 0]], np.float32)).tolist()
    [[0.0, 1.0], [0.0, 0.0]]
    """
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    found: NDArray[np.float32] = np.divide(
        rows, lengths, out=np.zeros_like(rows), where=lengths > 0
    )
    return found
