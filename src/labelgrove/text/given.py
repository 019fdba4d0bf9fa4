"""Features that somebody else has made, as the extreme-classification repository gives them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import ClassVar, Self

import numpy as np
from scipy.sparse import csr_array

from labelgrove.core import checks
from labelgrove.core.errors import InputError
from labelgrove.core.estimator import Featurizer
from labelgrove.core.settings import setting
from labelgrove.core.types import Span
from labelgrove.text.analysis import check_text, encode
from labelgrove.text.batches import RowBlock, batches, in_order, stack

MAX_DIGITS = 20
MAX_WIDTH = int(np.iinfo(np.int32).max)
WIDE = 1 << 26  # columns that models can always hold in memory
GAPS = 64  # columns for each pair, where there are more
_MAX_VALUE = float(np.finfo(np.float32).max)
_PAIR = re.compile(r"(\d+):([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)", re.ASCII)


class Given(Featurizer):
    """Texts such as ``"12:0.5 77:1"``, pairs of column and value, to rows with those values.

    An index that occurs twice in a text counts with the sum of its values.

    Attributes
    ----------
    n_features_
        Number of columns.

    Examples
    --------
    >>> given = Given().fit(["0:0.5 2:1", "1:2"])
    >>> given.transform(["2:3 1:1 9:1"]).toarray()
    array([[0., 1., 3.]], dtype=float32)
    >>> given.spans("2:3 1:1")
    [Span(feature=2, start=0, end=3), Span(feature=1, start=4, end=7)]
    """

    name: ClassVar[str] = "given"

    n_features: int | None = setting(
        None,
        "Number of columns; None for one more than the greatest index in training. In training, a "
        "greater index is an error; afterwards it is dropped, since no model knows it.",
        least=1,
        most=MAX_WIDTH,
    )

    n_features_: int

    def fit(self, texts: Iterable[str], labels: object = None) -> Self:
        """Learn the number of columns; ``texts`` is read once."""
        n_texts, width, n_pairs = 0, 0, 0
        for part in self._parse(texts, self._limit()):
            n_texts += len(part.indptr) - 1
            width = max(width, int(part.columns.max(initial=-1)) + 1)
            n_pairs += len(part.columns)
        self._learn(n_texts, width, n_pairs)
        return self

    def fit_transform(self, texts: Iterable[str], labels: object = None) -> csr_array:
        """Learn the number of columns and return the rows; ``texts`` is read once."""
        parts = list(self._parse(texts, self._limit()))
        width = max((int(part.columns.max(initial=-1)) + 1 for part in parts), default=0)
        n_texts = sum(len(part.indptr) - 1 for part in parts)
        self._learn(n_texts, width, sum(len(part.columns) for part in parts))
        return stack(parts, self.n_features_, tidy=False)

    def transform(self, texts: Iterable[str]) -> csr_array:
        """Return the rows of texts, shape (n, ``n_features_``), float32."""
        self.check_fitted()
        parts = list(self._parse(texts, self.n_features_, drop=True))
        return stack(parts, self.n_features_, tidy=False)

    def spans(self, text: str) -> list[Span]:
        """Return the place of each pair whose column is known."""
        self.check_fitted()
        for _ in self._parse([check_text(text)], self.n_features_, drop=True):
            pass  # refuses what transform refuses
        pairs = ((_column(match[1]), match.span()) for match in _PAIR.finditer(text))
        return [Span(index, *place) for index, place in pairs if index < self.n_features_]

    def terms(self, columns: Iterable[int] | None = None) -> list[str]:
        """Return the numbers of columns, which are all that is known of them."""
        self.check_fitted()
        return [str(column) for column in (range(self.n_features_) if columns is None else columns)]

    def check_state(self) -> None:
        """Refuse a number of columns that is none."""
        checks.whole("n_features_", self.n_features_, least=1, most=MAX_WIDTH)

    def _limit(self) -> int:
        self.check_settings()
        return self.n_features or MAX_WIDTH

    def _learn(self, n_texts: int, width: int, n_pairs: int) -> None:
        if not n_texts:
            raise InputError("there are no texts to learn from")
        if not width:
            raise InputError(f"the {n_texts:,} texts hold no pairs such as '12:0.5'")
        if self.n_features is None and width > max(WIDE, GAPS * n_pairs):
            raise InputError(
                f"the greatest index is {width - 1:,}, but the {n_texts:,} texts hold {n_pairs:,} "
                "pairs, and models need memory for every column up to it: number the columns from "
                "0 without gaps, or set n_features if there are as many"
            )
        self.n_features_ = self.n_features or width

    def _parse(self, texts: Iterable[str], limit: int, drop: bool = False) -> Iterator[RowBlock]:
        def work(item: tuple[int, list[str]]) -> RowBlock:
            from labelgrove.text import kernels

            first, batch = item
            bad, *part = kernels.read_pairs(*encode(batch), limit, drop)
            if bad >= 0:
                raise _explained(batch[bad], first + bad + 1, limit)
            return RowBlock(*part)

        return in_order(work, _numbered(batches(texts)), self.threads)


def _numbered(stream: Iterable[list[str]]) -> Iterator[tuple[int, list[str]]]:
    first = 0
    for batch in stream:
        yield first, batch
        first += len(batch)


def _column(digits: str) -> int:
    """Return a column's number; one of more digits than any column has is beyond all of them."""
    return int(digits) if len(digits) <= MAX_DIGITS else MAX_WIDTH


def _explained(text: str, number: int, limit: int) -> InputError:
    for pair in re.split("[\x00-\x20]+", text):
        match = _PAIR.fullmatch(pair)
        if pair and not (match and abs(float(match[2])) <= _MAX_VALUE):
            shown = pair if len(pair) <= 40 else pair[:40] + "..."
            return InputError(
                f"text {number}: {shown!r} is not a pair of column and value such as '12:0.5'"
            )
        if match and _column(match[1]) >= limit:
            return InputError(
                f"text {number}: index {match[1][:40]} is beyond n_features={limit} (indexes count "
                "from 0); give a greater n_features, or None to take it from the data"
            )
    raise AssertionError(f"text {number} was refused without a reason")
