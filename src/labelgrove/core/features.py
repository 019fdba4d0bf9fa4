"""What a text becomes: sparse rows, dense rows, ragged token ids, or several views of these.

``Features`` is a csr array, a float32 array (n, d), a `TokenSequences` or a `Views`. All of them
know ``shape[0]`` and take rows by ``X[rows]``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

Rows: TypeAlias = "slice | NDArray[np.integer[Any]] | NDArray[np.bool_]"
View: TypeAlias = "csr_array | NDArray[np.float32] | TokenSequences"
Features: TypeAlias = "View | Views"


class TokenSequences:
    """Token ids of many texts, one after the other, without padding.

    Parameters
    ----------
    tokens
        All ids, shape (total,), int32.
    offsets
        Text ``i`` is ``tokens[offsets[i]:offsets[i + 1]]``; shape (n + 1,), int64.
    n_terms
        Number of ids that can occur, the width of `bag`.

    Examples
    --------
    >>> X = TokenSequences(np.array([2, 0, 2, 1]), np.array([0, 3, 4]), n_terms=3)
    >>> X.shape
    (2, 3)
    >>> X.sequence(0)
    array([2, 0, 2], dtype=int32)
    >>> X[np.array([1])].bag().toarray()
    array([[0., 1., 0.]], dtype=float32)
    """

    def __init__(
        self, tokens: NDArray[np.integer[Any]], offsets: NDArray[np.integer[Any]], n_terms: int
    ) -> None:
        self.tokens: NDArray[np.int32] = np.asarray(tokens, np.int32)
        self.offsets: NDArray[np.int64] = np.asarray(offsets, np.int64)
        self.n_terms = int(n_terms)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of texts and number of terms."""
        return len(self.offsets) - 1, self.n_terms

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Number of tokens per text, shape (n,)."""
        return np.diff(self.offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def sequence(self, i: int) -> NDArray[np.int32]:
        """Return the token ids of text ``i``, a view."""
        return self.tokens[self.offsets[i] : self.offsets[i + 1]]

    def __getitem__(self, rows: Rows) -> TokenSequences:
        chosen = np.arange(len(self))[rows]
        lengths = self.lengths[chosen]
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        # position inside its own text, shifted to where that text starts here
        positions = np.arange(offsets[-1]) + np.repeat(self.offsets[chosen] - offsets[:-1], lengths)
        return TokenSequences(self.tokens[positions], offsets, self.n_terms)

    def bag(self) -> csr_array:
        """Return term counts per text, shape (n, n_terms), float32."""
        counts = csr_array(
            (np.ones(len(self.tokens), np.float32), self.tokens, self.offsets),
            shape=self.shape,
            copy=True,  # sum_duplicates works in place
        )
        counts.sum_duplicates()
        return counts


class Views(Mapping[str, "View"]):
    """Several features of the same texts, by name.

    Parameters
    ----------
    views
        Features that all have the same number of rows.
    """

    def __init__(self, views: Mapping[str, View]) -> None:
        rows = {name: view.shape[0] for name, view in views.items()}
        if len(set(rows.values())) != 1:
            raise ValueError(f"views must have the same number of rows, got {rows}")
        self._views = dict(views)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of texts, and of features over all views."""
        shapes = [view.shape for view in self._views.values()]
        return shapes[0][0], sum(width for _, width in shapes)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            return self._views[key]
        return Views({name: view[key] for name, view in self._views.items()})

    def __iter__(self) -> Iterator[str]:
        return iter(self._views)

    def __len__(self) -> int:
        return len(self._views)


def as_bag(X: csr_array | TokenSequences) -> csr_array:
    """Return ``X`` as sparse rows: itself, or the term counts of token sequences."""
    return X.bag() if isinstance(X, TokenSequences) else X
