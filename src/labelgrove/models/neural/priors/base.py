"""What a prior promises: log odds that the labels of texts start from."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from torch import Tensor


class Prior(Protocol):
    """Log odds that all labels of many texts start from."""

    def of(self, rows: NDArray[np.int64]) -> Tensor:
        """Return those of some texts, shape (b, L)."""
