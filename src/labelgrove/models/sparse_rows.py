"""Sparse features as kernels know them."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array, issparse

from labelgrove.core.errors import InputError
from labelgrove.core.features import Features, TokenSequences, Views


def sparse_rows(X: Features, name: str) -> csr_array:
    """Return X with float32 values and indices as narrow as they can be.

    Parameters
    ----------
    X
        Features (n, D).
    name
        The model that reads them, for messages.
    """
    if not issparse(X) or isinstance(X, TokenSequences | Views):
        raise InputError(f"{name} needs sparse features such as tf-idf, not {type(X).__name__}")
    if not np.isfinite(X.data).all():
        raise InputError("X holds values that are not finite; clean the features first")
    if isinstance(X, csr_array) and X.dtype == np.float32 and X.indices.dtype == np.int32:
        return X
    rows = csr_array(X, dtype=np.float32)
    kind = np.int32 if max(rows.nnz, *rows.shape) < 2**31 else np.int64
    indices, indptr = rows.indices.astype(kind), rows.indptr.astype(kind)
    return csr_array((rows.data, indices, indptr), shape=rows.shape)


def canonical_rows(X: Features, name: str) -> csr_array:
    """Return `sparse_rows` with sorted columns, each once; X itself stays as it is."""
    rows = sparse_rows(X, name)
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return rows


def known_rows(X: Features, name: str, n_features: int) -> csr_array:
    """Return `canonical_rows` of features like those that a model learned from.

    Parameters
    ----------
    X, name
        As of `sparse_rows`.
    n_features
        Width of the features that it learned from.
    """
    rows = canonical_rows(X, name)
    if rows.shape[1] != n_features:
        raise InputError(
            f"X has {rows.shape[1]:,} features, but {name} learned from {n_features:,}: use the "
            "featurizer it was trained with"
        )
    return rows
