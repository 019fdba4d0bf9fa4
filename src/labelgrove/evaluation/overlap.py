"""How alike two rankings are (Table 4 of AttentionXML)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from labelgrove.core.ranking import Ranking


def overlap(
    first: Ranking, second: Ranking, ks: Sequence[int] = (1, 2, 3, 4, 5)
) -> NDArray[np.float64]:
    """Return the mean share of labels among the best k of both, shape (number of ks,).

    Examples
    --------
    >>> first = Ranking(np.array([[3, 1, 2]]), np.array([[0.9, 0.5, 0.1]]))
    >>> second = Ranking(np.array([[1, 3, 5]]), np.array([[0.8, 0.5, 0.1]]))
    >>> overlap(first, second, [1, 2]).tolist()
    [0.0, 1.0]
    """
    shares = []
    for k in ks:
        own, other = first.top(k).labels, second.top(k).labels
        same = (own[:, :, None] == other[:, None, :]) & (own >= 0)[:, :, None]
        shares.append(same.sum(axis=(1, 2)).mean() / k)
    return np.array(shares)
