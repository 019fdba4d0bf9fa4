"""What the kernels of `product_kernels` compute, for jobs too small to load numba."""

import numpy as np
from numpy.typing import NDArray

WHOLE_VECTORS = 16  # as many numbers fill vector registers of every machine
DOT_ROWS = 4


def add_product(
    left: NDArray[np.float32], right: NDArray[np.generic], out: NDArray[np.float32]
) -> None:
    """Add left (m, k) @ right (k, n) to out (m, n); further rows are not read."""
    out += left[: len(out)] @ right[: left.shape[1]].astype(np.float32)


def write_dots(
    left: NDArray[np.float32], right: NDArray[np.float32], out: NDArray[np.float32]
) -> None:
    """Write left (m, k) @ right.T (k, n) to the first n columns of out (m, n or more)."""
    out[:, : len(right)] = left @ right.T
