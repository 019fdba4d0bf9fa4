"""Which documents learn together, and how they are padded."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from labelgrove.core.features import TokenSequences
from labelgrove.text import PAD, UNK

POOL = 50  # batches whose documents are sorted by length together, or more
PADDING = 0.1  # share of the tokens that may be padding
STEPS = 200  # of an epoch, where the number of documents decides how many learn together
FEWEST, MOST = 16, 64  # documents of a batch then


def batch_for(n_documents: int) -> int:
    """Return the size of batches with which an epoch over so many documents has enough steps.

    A network takes thousands of steps to learn, however few its documents are.

    Examples
    --------
    >>> [batch_for(n) for n in (1_000, 4_000, 8_000, 100_000)]
    [16, 20, 40, 64]
    """
    return min(max(n_documents // STEPS, FEWEST), MOST)


def bucketed(
    lengths: NDArray[np.int64], size: int, random: np.random.Generator
) -> list[NDArray[np.int64]]:
    """Return batches of documents of like length, in random order.

    Documents are shuffled, sorted by length within pools of fifty batches, and cut into batches
    that are shuffled again: near-equal lengths without always the same neighbours. Where more
    than a tenth of the tokens would be padding, pools are larger.

    Parameters
    ----------
    lengths
        Words of each document, shape (n,).
    size
        Documents per batch.
    random
        Where the order comes from.
    """
    order, pool = random.permutation(len(lengths)), POOL * size
    batches = _sorted_in_pools(order, lengths, size, pool)
    while pool < len(order) and padding_share(lengths, batches) > PADDING:
        pool *= 2
        batches = _sorted_in_pools(order, lengths, size, pool)
    return [batches[number] for number in random.permutation(len(batches))]


def _sorted_in_pools(
    order: NDArray[np.int64], lengths: NDArray[np.int64], size: int, pool: int
) -> list[NDArray[np.int64]]:
    batches: list[NDArray[np.int64]] = []
    for start in range(0, len(order), pool):
        chosen = order[start : start + pool]
        chosen = chosen[np.argsort(lengths[chosen], kind="stable")]
        batches += [chosen[first : first + size] for first in range(0, len(chosen), size)]
    return batches


def by_length(lengths: NDArray[np.int64], size: int) -> list[NDArray[np.int64]]:
    """Return batches of documents of like length, the shortest first: for prediction."""
    order = np.argsort(lengths, kind="stable")
    return [order[first : first + size] for first in range(0, len(order), size)]


def knows_words(X: TokenSequences) -> NDArray[np.bool_]:
    """Tell which texts have a word of the vocabulary, shape (n,)."""
    rows = np.repeat(np.arange(len(X)), X.lengths)[X.tokens > UNK]
    return np.bincount(rows, minlength=len(X)) > 0


def padding_share(lengths: NDArray[np.int64], batches: Sequence[NDArray[np.int64]]) -> float:
    """Return the share of padding among all tokens of padded batches."""
    padded = sum(len(rows) * int(lengths[rows].max(initial=0)) for rows in batches)
    return 1.0 - float(lengths.sum()) / max(padded, 1)


def first_words(X: TokenSequences, length: int) -> TokenSequences:
    """Return texts cut after ``length`` words."""
    if X.lengths.max(initial=0) <= length:
        return X
    lengths = np.minimum(X.lengths, length)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    places = np.arange(offsets[-1]) + np.repeat(X.offsets[:-1] - offsets[:-1], lengths)
    return TokenSequences(X.tokens[places], offsets, X.n_terms)


def padded(X: TokenSequences, rows: NDArray[np.int64]) -> tuple[Tensor, Tensor]:
    """Return some documents as tokens (b, T), padded behind, and their lengths (b,), at least 1."""
    chosen = X[rows]
    lengths = chosen.lengths
    width = max(int(lengths.max(initial=1)), 1)
    tokens = np.full((len(rows), width), PAD, np.int64)
    tokens[np.arange(width) < lengths[:, None]] = chosen.tokens
    return torch.from_numpy(tokens), torch.from_numpy(np.maximum(lengths, 1))
