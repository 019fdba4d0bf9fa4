"""Large sparse products in pieces."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.sparse import csr_array


def product_blocks(A: csr_array, B: csr_array, limit: int) -> Iterator[tuple[int, csr_array]]:
    """Yield the rows of A @ B in blocks: the first row's number and the block, indices sorted.

    Parameters
    ----------
    A
        Shape (m, n).
    B
        Shape (n, p).
    limit
        Multiplications in a block, which bound its entries; a single row may have more.
    """
    per_entry = np.diff(B.indptr).astype(np.int64)[A.indices]
    work = np.concatenate([[0], np.cumsum(per_entry)])[A.indptr]
    start = 0
    while start < A.shape[0]:
        end = int(np.searchsorted(work, work[start] + limit, side="right")) - 1
        end = max(end, start + 1)
        block = csr_array(A[start:end] @ B)
        block.sort_indices()
        yield start, block
        start = end
