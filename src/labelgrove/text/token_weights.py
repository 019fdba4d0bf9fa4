"""tf-idf of texts that are given as token sequences, for what is learned beside a network."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelgrove.core.features import TokenSequences
from labelgrove.text.words import UNK


def rarity_of(tokens: TokenSequences) -> NDArray[np.float32]:
    """Return how rare words are, shape (n_terms,); padding and unknown words count nothing."""
    counts = np.bincount(tokens.bag().indices, minlength=tokens.n_terms)
    found = np.log((1 + len(tokens)) / (1 + counts)) + 1
    found[: UNK + 1] = 0.0
    return found.astype(np.float32)


def tfidf_of(tokens: TokenSequences, rarity: NDArray[np.float32]) -> csr_array:
    """Return tf-idf of texts, shape (n, n_terms), weighted as `labelgrove.text.Tfidf` does.

    Rows are not brought to length 1.

    Parameters
    ----------
    tokens
        The texts.
    rarity
        What `rarity_of` gave for them, or for others, shape (n_terms,).

    Examples
    --------
    >>> tokens = TokenSequences(np.array([2, 3, 3, 2]), np.array([0, 3, 4]), 4)
    >>> tfidf_of(tokens, rarity_of(tokens)).toarray().round(2)
    array([[0.  , 0.  , 1.  , 2.38],
           [0.  , 0.  , 1.  , 0.  ]], dtype=float32)
    """
    bags = tokens.bag()
    bags.data = (1 + np.log(bags.data)) * rarity[bags.indices]
    bags.eliminate_zeros()
    return bags
