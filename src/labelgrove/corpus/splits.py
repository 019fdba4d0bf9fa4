"""Dividing a corpus in two."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelgrove.core.errors import InputError, UnknownNameError
from labelgrove.core.random import generator, text_fraction
from labelgrove.core.types import Document
from labelgrove.corpus.base import Corpus

By: TypeAlias = Literal["text", "id", "random", "labels"]


def split(
    corpus: Corpus, fraction: float = 0.1, *, by: By = "text", seed: int = 0
) -> tuple[Corpus, Corpus]:
    """Divide a corpus into a large and a small part, both streamed and in the order of the whole.

    Parameters
    ----------
    corpus
        What is divided.
    fraction
        Share of the small part, between 0 and 1.
    by
        ``"text"`` or ``"id"``: by a hash, so that copies stay together and a document stays on
        its side whatever is added to the corpus; the share is met on average, and the small part
        of a few documents may be empty. ``"random"``: exactly the share, rounded. ``"labels"``:
        each label in both parts by its share, the rare ones first, see
        `iterative_stratification`. The last two read the corpus once.
    seed
        Another seed gives another division.

    Returns
    -------
    The large part and the small part.

    Examples
    --------
    >>> corpus = Corpus.from_lists(["a", "b", "c", "d"], [["x"], ["x"], ["y"], ["y"]])
    >>> large, small = split(corpus, 0.5, by="labels")
    >>> sorted(label for labels in small.labels() for label in labels)
    ['x', 'y']
    """
    if not 0 < fraction < 1:
        raise InputError(f"the fraction of a split must be between 0 and 1, got {fraction}")
    if by == "text" or by == "id":
        is_small = _hashed(by, fraction, seed, corpus.name)
        return corpus.where(lambda document: not is_small(document)), corpus.where(is_small)
    if by == "random":
        small = random_rows(sum(1 for _ in corpus), fraction, seed)
    elif by == "labels":
        Y = label_matrix(corpus.labels())
        small = iterative_stratification(Y, (1 - fraction, fraction), seed) == 1
    else:
        raise UnknownNameError("way to split", by, ("text", "id", "random", "labels"))
    return corpus.where(~small), corpus.where(small)


def random_rows(n: int, fraction: float, seed: int = 0) -> NDArray[np.bool_]:
    """Choose a share of n rows, at least one and not all; return shape (n,)."""
    if n < 2:
        raise InputError(f"{n} document cannot be divided; give at least 2")
    chosen = np.zeros(n, np.bool_)
    size = min(max(round(n * fraction), 1), n - 1)
    chosen[generator(seed, "split").choice(n, size, replace=False)] = True
    return chosen


def iterative_stratification(
    Y: csr_array, shares: Sequence[float], seed: int = 0
) -> NDArray[np.int32]:
    """Divide documents into folds so that each label is divided by the same shares.

    The documents of the rarest label are placed first, each into the fold that lacks that label
    most. Documents are taken in a random order, and equal folds decided at random.

    Parameters
    ----------
    Y
        Labels, shape (n, L).
    shares
        Share of each fold, all above 0; they are divided by their sum.
    seed
        Another seed gives another division.

    Returns
    -------
    The fold of each document, shape (n,), int32.

    References
    ----------
    Sechidis, Tsoumakas, Vlahavas: On the stratification of multi-label data. ECML PKDD 2011.

    Examples
    --------
    >>> Y = csr_array([[1, 0], [1, 0], [1, 1], [1, 1]])
    >>> folds = iterative_stratification(Y, [0.5, 0.5])
    >>> sorted(folds[:2].tolist()), sorted(folds[2:].tolist())
    ([0, 1], [0, 1])
    """
    from labelgrove.corpus.kernels import assign_folds  # numba takes a second to load

    parts = np.asarray(shares, np.float64)
    if len(parts) < 2 or not (parts > 0).all():
        raise InputError(f"shares must be two or more numbers above 0, got {list(shares)}")
    parts = parts / parts.sum()
    random = generator(seed, "stratification")
    order = random.permutation(Y.shape[0])
    shuffled = csr_array(Y)[order]
    shuffled.sum_duplicates()
    shuffled.eliminate_zeros()
    columns = shuffled.tocsc()
    folds = np.empty(Y.shape[0], np.int32)
    folds[order] = assign_folds(
        shuffled.indptr.astype(np.int64),
        shuffled.indices.astype(np.int32),
        columns.indptr.astype(np.int64),
        columns.indices.astype(np.int32),
        np.outer(parts, np.diff(columns.indptr)),
        parts * Y.shape[0],
        random.random(Y.shape[0]),
    )
    return folds


def label_matrix(labels: Iterable[Iterable[str]]) -> csr_array:
    """Return labels as (n, L) ones, columns in the order in which labels are first seen."""
    numbers: dict[str, int] = {}
    indices, indptr = array("i"), array("q", [0])
    for some in labels:
        indices.extend([numbers.setdefault(label, len(numbers)) for label in some])
        indptr.append(len(indices))
    return csr_array(
        (np.ones(len(indices), np.int8), np.array(indices), np.array(indptr)),
        shape=(len(indptr) - 1, len(numbers)),
    )


def _hashed(by: By, fraction: float, seed: int, name: str) -> Callable[[Document], bool]:
    def is_small(document: Document) -> bool:
        key = document.text if by == "text" else document.id
        if key is None:
            raise InputError(f"{name} has documents without id; split it by 'text' instead")
        return text_fraction(key, seed) < fraction

    return is_small
