"""Long texts in windows of a network's length."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from labelgrove.core.features import TokenSequences
from labelgrove.core.ranking import Ranking


@dataclass(frozen=True)
class Windows:
    """Windows of ``size`` tokens, one behind the other, ``most`` of a text.

    Parameters
    ----------
    size
        Tokens of a window.
    most
        Windows of a text; what is behind them is not read.

    Examples
    --------
    >>> X = TokenSequences(np.arange(7), np.array([0, 5, 7]), n_terms=9)
    >>> pieces, owners = Windows(2, 2).split(X)
    >>> pieces.tokens.tolist(), pieces.offsets.tolist(), owners.tolist()
    ([0, 1, 2, 3, 5, 6], [0, 2, 4, 6], [0, 0, 1])
    """

    size: int
    most: int = 1

    def count(self, X: TokenSequences) -> NDArray[np.int64]:
        """Return how many windows each text has, shape (n,), at least 1."""
        return np.clip(-(-X.lengths // self.size), 1, self.most)

    def split(self, X: TokenSequences) -> tuple[TokenSequences, NDArray[np.int64]]:
        """Return all windows, and which text each is of, shape (w,)."""
        counts = self.count(X)
        owners = np.repeat(np.arange(len(X)), counts)
        number = np.arange(len(owners)) - np.repeat(np.cumsum(counts) - counts, counts)
        return self._cut(X, owners, number), owners

    def drawn(self, X: TokenSequences) -> TokenSequences:
        """Return one window of each text, drawn from torch's random numbers."""
        counts = self.count(X)
        drawn = torch.rand(len(X), dtype=torch.float64).numpy() * counts
        return self._cut(X, np.arange(len(X)), np.minimum(drawn.astype(np.int64), counts - 1))

    def _cut(
        self, X: TokenSequences, owners: NDArray[np.int64], number: NDArray[np.int64]
    ) -> TokenSequences:
        """Return the windows of these numbers (w,) of texts ``owners`` (w,)."""
        starts = X.offsets[owners] + number * self.size
        lengths = np.minimum(X.offsets[owners + 1] - starts, self.size)
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        places = np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], lengths)
        return TokenSequences(X.tokens[places], offsets, X.n_terms)


def best_of(ranking: Ranking, owners: NDArray[np.int64], n: int) -> Ranking:
    """Merge rankings of windows: a label has the largest of its probabilities.

    Exact for as many labels as each window has: one of the best k of a text is among the best k
    of the window in which it is likeliest.

    Parameters
    ----------
    ranking
        Of w windows.
    owners
        Which text each is of, ascending, shape (w,).
    n
        Number of texts, each with a window.

    Examples
    --------
    >>> found = Ranking(np.array([[3, 1], [1, 2]]), np.array([[0.9, 0.2], [0.5, 0.4]]))
    >>> best_of(found, np.array([0, 0]), 1).labels.tolist()
    [[3, 1]]
    """
    if len(owners) == n:
        return ranking
    k = ranking.k
    texts = np.repeat(owners, k)
    labels, scores = ranking.labels.ravel(), ranking.scores.ravel()
    real = labels >= 0
    texts, labels, scores = texts[real], labels[real], scores[real]
    order = np.lexsort((-scores, labels, texts))
    texts, labels, scores = texts[order], labels[order], scores[order]
    first = np.ones(len(texts), bool)
    first[1:] = (texts[1:] != texts[:-1]) | (labels[1:] != labels[:-1])
    texts, labels, scores = texts[first], labels[first], scores[first]
    order = np.lexsort((labels, -scores, texts))
    texts, labels, scores = texts[order], labels[order], scores[order]
    sizes = np.bincount(texts, minlength=n)
    place = np.arange(len(texts)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    kept = place < k
    best, chances = np.full((n, k), -1, np.int32), np.zeros((n, k), np.float32)
    best[texts[kept], place[kept]] = labels[kept]
    chances[texts[kept], place[kept]] = scores[kept]
    return Ranking(best, chances)
