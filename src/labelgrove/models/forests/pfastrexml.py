"""Trees over documents that favour rare labels, re-ranked by the middle of each label's documents.

Jain, Prabhu and Varma, "Extreme multi-label loss functions for recommendation, tagging, ranking
and other missing label applications", KDD 2016. The paper halves the squared distance to the mean
of a label's documents; the authors' program, from which the published scores are, does not, and so
it is here. The mean of many documents is short and near every text, which favours frequent labels
again: ``centroids="unit"`` scales it to length 1, as texts are.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelgrove.core import checks
from labelgrove.core.features import Features
from labelgrove.core.ranges import Real
from labelgrove.core.settings import setting
from labelgrove.core.types import Explanation, FitContext
from labelgrove.labels import label_vectors, propensities
from labelgrove.labels.vectors import normalised
from labelgrove.models.forests.classifier import DocumentForest
from labelgrove.models.sparse_rows import known_rows
from labelgrove.text.vocabulary import read_only


class PfastreXml(DocumentForest):
    """Trees over documents in which a label counts with its inverse propensity.

    What the trees name is ranked by P^alpha T^(1 - alpha). P is the label's mean share in the
    leaves, times its inverse propensity, as a part of the greatest one. T is
    1 / (1 + exp(gamma d^2)), and d the distance of the text to the middle of the label's documents,
    which all have length 1.

    Attributes
    ----------
    centroids_
        The middle of each label's documents, shape (L, D).
    squares_
        Their squared lengths, shape (L,).
    greatest_gain_
        The greatest inverse propensity.

    Examples
    --------
    >>> X = csr_array(np.repeat(np.eye(3, dtype=np.float32), 4, axis=0))
    >>> model = PfastreXml(trees=5, max_leaf=2, cost=10).fit(X, X)
    >>> model.rank(X[::4], k=1).labels.ravel().tolist()
    [0, 1, 2]
    """

    name: ClassVar[str] = "pfastrexml"

    alpha: float = setting(
        0.8,
        "How much the trees count against the distance to a label's documents: 1 for the trees "
        "alone (PfastXML), less for more rare labels.",
        least=0,
        most=1,
        search=Real(0.5, 1.0),
    )
    gamma: float = setting(
        30.0,
        "How soon a label becomes improbable with the distance to its documents.",
        least=0,
        most=1000,
        search=Real(3.0, 100.0, log=True),
    )
    centroids: Literal["mean", "unit"] = setting(
        "mean",
        "The middle of a label's documents: their mean, as published, or the mean scaled to length "
        "1, which ranks rare labels higher and frequent ones lower.",
    )
    propensity_a: float = setting(
        0.55, "A of the propensities: 0.6 is usual for Amazon, 0.5 for Wikipedia.", least=0, most=10
    )
    propensity_b: float = setting(
        1.5,
        "B of the propensities: 2.6 is usual for Amazon, 0.4 for Wikipedia.",
        above=0,
        most=1000,
    )

    centroids_: csr_array
    squares_: NDArray[np.float32]
    greatest_gain_: float

    def _gains(self, Y: csr_array) -> NDArray[np.float64]:
        counts = np.bincount(Y.indices, minlength=Y.shape[1])
        return 1.0 / propensities(counts, Y.shape[0], self.propensity_a, self.propensity_b)

    def _fit(self, X: Features, Y: csr_array, context: FitContext) -> None:
        super()._fit(X, Y, context)
        self.centroids_ = self._middles(known_rows(X, self.name, X.shape[1]), Y)
        self.squares_ = np.asarray(self.centroids_.multiply(self.centroids_).sum(axis=1))
        self.greatest_gain_ = float(self._gains(Y).max())

    def _middles(self, X: csr_array, Y: csr_array) -> csr_array:
        """Return the middle of each label's documents, shape (L, D)."""
        if self.centroids == "unit":
            return label_vectors(X, Y)
        counts = np.maximum(np.bincount(Y.indices, minlength=Y.shape[1]), 1)
        means = csr_array(Y.T.astype(np.float32) @ normalised(X))
        means.data /= np.repeat(counts, np.diff(means.indptr)).astype(np.float32)
        means.sort_indices()
        return means

    def _judged(self, X: csr_array, scores: csr_array) -> csr_array:
        by_trees = np.minimum(scores.data.astype(np.float64) / self.greatest_gain_, 1.0)
        exponent = self.gamma * squared_distances(X, self.centroids_, self.squares_, scores)
        # powers of logarithms: a distance may be too great for its exponential
        by_distance = np.exp(-(1 - self.alpha) * np.logaddexp(0.0, exponent))
        judged = (by_trees**self.alpha * by_distance).astype(np.float32)
        return csr_array((judged, scores.indices, scores.indptr), shape=scores.shape)

    def _explain(self, X: Features, i: int, label: int) -> Explanation:
        """Return what each word adds to the logarithm of the score, by the label's documents.

        What the trees add, which is at most 0, is a part with that name.
        """
        rows = known_rows(X, self.name, self.forest_.n_features)[np.array([i])]
        unit, centroid = normalised(rows), self.centroids_[[label]].toarray().ravel()
        scale = 2 * (1 - self.alpha) * self.gamma
        weights = scale * unit.data * centroid[unit.indices]
        share = float(next(iter(self.forest_.scores(rows, 1)))[1][[0], [label]][0])
        by_trees = np.log(np.clip(share / self.greatest_gain_, 1e-12, 1.0))
        spoke = weights != 0
        parts = (("trees", float(self.alpha * by_trees)),)
        return Explanation(unit.indices[spoke].astype(np.int64), weights[spoke], parts=parts)

    def _explain_label(self, label: int) -> Explanation:
        """Return the words of a label's documents, as they count where a text has one of them."""
        entries = slice(*self.centroids_.indptr[[label, label + 1]])
        scale = 2 * (1 - self.alpha) * self.gamma
        words = self.centroids_.indices[entries].astype(np.int64)
        return Explanation(words, scale * self.centroids_.data[entries])

    def check_state(self) -> None:
        """Refuse also centroids of other labels or features."""
        super().check_state()
        shape = (self.n_labels_, self.forest_.n_features)
        if not isinstance(self.centroids_, csr_array) or self.centroids_.shape != shape:
            raise ValueError(f"centroids_ must be a sparse matrix of shape {shape}")
        checks.array("centroids_", self.centroids_.data, np.float32, (None,))
        checks.finite("centroids_", self.centroids_.data)
        checks.array("squares_", self.squares_, np.float32, (self.n_labels_,))
        checks.finite("squares_", self.squares_)
        if checks.number("greatest_gain_", self.greatest_gain_) < 1:
            raise ValueError(f"greatest_gain_ must be at least 1, got {self.greatest_gain_}")


def squared_distances(
    X: csr_array, centroids: csr_array, squares: NDArray[np.float32], pairs: csr_array
) -> NDArray[np.float64]:
    """Return the squared distances of rows to centroids, one for each stored place of ``pairs``.

    Parameters
    ----------
    X
        Features (n, D), whose rows count with length 1.
    centroids
        Shape (L, D).
    squares
        Their squared lengths, shape (L,).
    pairs
        Shape (n, L).
    """
    from labelgrove.models.forests import kernels

    unit = normalised(X)
    rows, others = (
        [read_only(part) for part in (matrix.indptr, matrix.indices, matrix.data)]
        for matrix in (unit, centroids)
    )
    asked = read_only(pairs.indptr), read_only(pairs.indices)
    products: NDArray[np.float64] = kernels.products(*rows, *others, *asked)
    # squared lengths of texts are 1, or 0 without words
    texts = np.repeat(np.diff(unit.indptr) > 0, np.diff(pairs.indptr)).astype(np.float64)
    squared: NDArray[np.float64] = squares[pairs.indices] + texts - 2.0 * products
    return np.maximum(squared, 0.0)
