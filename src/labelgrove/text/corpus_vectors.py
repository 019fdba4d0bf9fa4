"""Word vectors trained on the texts themselves: what words occur near one another.

Levy, Goldberg and Dagan, "Improving distributional similarity with lessons learned from word
embeddings", TACL 2015: a truncated singular value decomposition of the positive pointwise mutual
information of words and their neighbours. It takes seconds where networks that predict words need
many passes, and gives the same vectors for the same texts and seed.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array

from labelgrove.core.features import TokenSequences
from labelgrove.core.progress import Progress, Silent
from labelgrove.core.random import generator
from labelgrove.text.words import PAD, SPECIAL

WINDOW = 10  # words on each side that count as neighbours, a word at distance d as 1 / d
MOST_WORDS = 50_000  # the most frequent words, which have vectors of their own
MOST_TOKENS = 10_000_000  # words of texts that are counted; of more a random choice of texts
BLOCK = 1_000_000  # words of texts that are counted at once
SMOOTHING = 0.75  # power of a neighbour's frequency: rare neighbours tell less than they seem to
SPREAD = 0.5  # standard deviation of the numbers, near that of GloVe and of uniform(-1, 1)
OVERSAMPLING = 10  # directions beyond those wanted, and
PASSES = 3  # passes over the matrix, which make a random projection exact enough


def corpus_vectors(
    X: TokenSequences, size: int, *, seed: int = 0, progress: Progress | None = None
) -> NDArray[np.float32]:
    """Return vectors of words by the words around them.

    Words that are not counted, because they are rare or stand alone, have random numbers from -1
    to 1, as unknown words have; so have all words beyond the directions that few texts tell apart.

    Parameters
    ----------
    X
        The texts.
    size
        Numbers in a vector.
    seed
        Of the random numbers; the same texts and seed give the same vectors.
    progress
        Where progress is shown; None for nowhere.

    Returns
    -------
    vectors
        Shape (n_terms, size); padding has zeros.

    Examples
    --------
    >>> X = TokenSequences(np.array([2, 3, 4, 2, 3, 5]), np.array([0, 3, 6]), n_terms=6)
    >>> corpus_vectors(X, 8).shape
    (6, 8)
    """
    random = generator(seed, "corpus vectors")
    vectors = random.uniform(-1.0, 1.0, (X.n_terms, size)).astype(np.float32)
    vectors[PAD] = 0.0
    words = _frequent(X)
    if len(words) < 2:
        return vectors
    near = _mutual_information(_counted(X, words, random, progress or Silent()))
    known = np.flatnonzero(np.diff(near.indptr))
    if len(known):
        own = _scaled(_decomposed(near, size, random)[known])
        vectors[words[known], : own.shape[1]] = own
    return vectors


def _frequent(X: TokenSequences) -> NDArray[np.int64]:
    """Return the most frequent words, shape (m,)."""
    counts = np.bincount(X.tokens, minlength=X.n_terms)
    counts[: len(SPECIAL)] = 0
    order = np.argsort(-counts, kind="stable")[:MOST_WORDS]
    return order[counts[order] > 0]


def _counted(
    X: TokenSequences, words: NDArray[np.int64], random: np.random.Generator, progress: Progress
) -> csr_array:
    """Return how often words are near one another, shape (m, m), symmetric."""
    number = np.full(X.n_terms, -1, np.int64)
    number[words] = np.arange(len(words))
    total = csr_array((len(words), len(words)), dtype=np.float32)
    blocks = list(_blocks(X, random))
    with progress.task("counting neighbours of words", sum(map(len, blocks))) as task:
        for rows in blocks:
            total = total + _near(X[rows], number, len(words))
            task.advance(len(rows))
    return csr_array(total + total.T)


def _blocks(X: TokenSequences, random: np.random.Generator) -> Iterator[NDArray[np.int64]]:
    """Yield texts in blocks of about as many words each."""
    order = random.permutation(len(X))
    ends = np.cumsum(X.lengths[order])
    order = order[: int(np.searchsorted(ends, MOST_TOKENS)) + 1]
    cuts = np.searchsorted(ends[: len(order)], np.arange(BLOCK, MOST_TOKENS + BLOCK, BLOCK)) + 1
    yield from (part for part in np.split(order, np.unique(cuts)) if len(part))


def _near(X: TokenSequences, number: NDArray[np.int64], n_words: int) -> csr_array:
    """Return how often words come soon after others in some texts, shape (n_words, n_words)."""
    text = np.repeat(np.arange(len(X)), X.lengths)
    tokens = number[X.tokens]
    found = csr_array((n_words, n_words), dtype=np.float32)
    for distance in range(1, min(WINDOW, int(X.lengths.max(initial=1)) - 1) + 1):
        first, second = tokens[:-distance], tokens[distance:]
        counted = (text[:-distance] == text[distance:]) & (first >= 0) & (second >= 0)
        pairs = (first[counted], second[counted])
        weights = np.full(len(pairs[0]), 1.0 / distance, np.float32)
        found = found + coo_array((weights, pairs), shape=found.shape).tocsr()
    return found


def _mutual_information(counts: csr_array) -> csr_array:
    """Return the positive pointwise mutual information of words and neighbours, shape (m, m)."""
    near = counts.tocoo()
    often = np.maximum(counts.sum(axis=1), 1e-12)
    smoothed = often**SMOOTHING
    share = smoothed / smoothed.sum()
    values = np.log(near.data / (often[near.row] * share[near.col]))
    kept = values > 0
    pairs = (near.row[kept], near.col[kept])
    return coo_array((values[kept].astype(np.float32), pairs), shape=counts.shape).tocsr()


def _decomposed(matrix: csr_array, size: int, random: np.random.Generator) -> NDArray[np.float32]:
    """Return left singular vectors times the root of their values, shape (m, at most size).

    A random projection finds the largest ones (Halko, Martinsson and Tropp 2011).
    """
    n = matrix.shape[0]
    turned = matrix.T.tocsr()
    basis = random.standard_normal((n, min(size + OVERSAMPLING, n))).astype(np.float32)
    for _ in range(PASSES):
        basis = _singular(turned @ _singular(matrix @ basis)[0])[0]
    left, values = _singular(matrix @ basis)
    return left[:, :size] * np.sqrt(values[:size])


def _singular(matrix: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return left singular vectors (m, r) and values (r,), largest first, of a tall matrix (m, d).

    By the eigenvectors of a small square matrix: several times as fast as LAPACK's own way.
    """
    squares, turned = np.linalg.eigh((matrix.T @ matrix).astype(np.float64))
    kept = squares > squares[-1] * 1e-9
    values = np.sqrt(squares[kept][::-1]).astype(np.float32)
    return matrix @ (turned[:, kept][:, ::-1].astype(np.float32) / values), values


def _scaled(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return vectors (m, d) of one length around their middle, with the spread of GloVe's."""
    vectors = vectors - vectors.mean(axis=0)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    wanted = np.float32(SPREAD * vectors.shape[1] ** 0.5)
    scaled: NDArray[np.float32] = vectors * (wanted / np.maximum(lengths, 1e-6))
    return scaled
