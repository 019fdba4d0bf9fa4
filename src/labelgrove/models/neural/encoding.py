"""Texts as unit vectors, by a reader that has been trained."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray

from labelgrove.models.neural.readers.base import Reader
from labelgrove.models.neural.texts import Texts
from labelgrove.models.neural.training.batches import by_length


def unit_vectors(
    reader: Reader,
    texts: Texts,
    size: int,
    device: torch.device,
    shown: Callable[[int], None] | None = None,
) -> NDArray[np.float32]:
    """Return a vector of length 1 for each text, shape (n, p); zero for a text without tokens.

    A long text that is read in windows has the mean of their vectors, brought to length 1.

    Parameters
    ----------
    reader
        Reads the texts; its vector of a text has p numbers.
    texts
        n texts.
    size
        Texts, or windows, that are read at once.
    device
        Where the reader is.
    shown
        Is told how many windows were read.
    """
    pieces = texts.split()
    lengths = pieces.tokens.lengths
    vectors = np.zeros((len(pieces), reader.n_pooled), np.float32)
    readable = np.flatnonzero(lengths)
    with torch.inference_mode():
        for some in by_length(lengths[readable], size):
            rows = readable[some]
            batch = pieces.batch(rows).to(device)
            vectors[rows] = reader(batch).pooled.float().cpu().numpy()
            if shown is not None:
                shown(len(rows))
    vectors = _normalized(vectors)
    if pieces.owners is None:
        return vectors
    total = np.zeros((len(texts), vectors.shape[1]), np.float32)
    np.add.at(total, pieces.owners, vectors)
    return _normalized(total)


def _normalized(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return vectors (n, p) of length 1; those of length 0 stay as they are."""
    lengths: NDArray[np.float32] = np.linalg.norm(vectors, axis=1, keepdims=True)
    lengths[lengths == 0] = 1
    return vectors / lengths
