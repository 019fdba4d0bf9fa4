"""How likely a label that belongs to a document was noted there (Jain et al. 2016)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from labelgrove.core.errors import InputError


def propensities(
    counts: ArrayLike,
    n_documents: int,
    A: float = 0.55,
    B: float = 1.5,
    n_columns: int | None = None,
) -> NDArray[np.float64]:
    """Return the propensity of each label, shape (L,) or (n_columns,), each in (0, 1].

    ``p = 1 / (1 + C exp(-A log(count + B)))`` with ``C = (log N - 1) (B + 1)^A`` from Jain,
    Prabhu and Varma, "Extreme multi-label loss functions", KDD 2016. For N of one or two
    documents ``log N - 1`` is negative, which would give propensities above 1: C is then taken
    as 0 and every propensity is 1.

    Parameters
    ----------
    counts
        Training documents of each label, shape (L,).
    n_documents
        Number of training documents N.
    A, B
        0.55 and 1.5 by default; 0.6 and 2.6 are usual for Amazon, 0.5 and 0.4 for Wikipedia.
    n_columns
        Add labels that training never saw (count 0) up to this number.

    Examples
    --------
    >>> propensities([100, 1], n_documents=1000).round(3).tolist()
    [0.565, 0.145]
    """
    if B <= 0 or A < 0:
        raise InputError(f"propensities need A >= 0 and B > 0, got A={A} and B={B}")
    given: NDArray[Any] = np.asarray(counts, np.float64)
    width = len(given) if n_columns is None else n_columns
    if width < len(given):
        raise InputError(f"n_columns={width} is less than the {len(given)} labels")
    padded: NDArray[np.float64] = np.zeros(width)
    padded[: len(given)] = given
    C = max(np.log(max(n_documents, 1)) - 1.0, 0.0) * (B + 1.0) ** A
    values: NDArray[np.float64] = 1.0 / (1.0 + C * np.exp(-A * np.log(padded + B)))
    return values
