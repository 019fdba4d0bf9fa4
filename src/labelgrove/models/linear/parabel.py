"""Balanced binary label trees, as in Parabel.

Prabhu, Kag, Harsola, Agrawal and Varma, "Parabel: partitioned label trees for extreme
classification with application to dynamic search advertising", WWW 2018.
"""

from __future__ import annotations

from typing import ClassVar

from scipy.sparse import csr_array

from labelgrove.core.ranges import Range, Whole
from labelgrove.core.types import FitContext
from labelgrove.labels import LabelTree, label_vectors
from labelgrove.models.linear.classifier import LinearForest
from labelgrove.models.linear.training import Loss


class Parabel(LinearForest):
    """Linear classifiers down balanced binary trees of the labels.

    Parameters
    ----------
    trees
        Number of trees, whose probabilities are averaged; they differ by their seeds.
    max_leaf
        Labels below a node of the last level at most.
    splits
        Splits in two that a text takes in one step: with 8, a node has up to 256 children and a
        tree an eighth of the levels, which is faster and more accurate. 1 gives the paper's tree.
    heaviest
        Features kept of a label's vector for clustering; None for all.
    beam
        Nodes kept per level while ranking.
    sharpness
        Slope of the logistic function that turns scores into probabilities.
    loss, cost, tail, epochs, tolerance, threshold
        Of the solver, as for `labelgrove.models.linear.one_vs_rest.OneVsRest`.
    seed, threads
        As for every model; threads change nothing in the result.

    Examples
    --------
    >>> X = csr_array([[1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype="float32")
    >>> Parabel(max_leaf=2).fit(X, X).rank(X, k=1).labels.ravel().tolist()
    [0, 1, 2]
    """

    name: ClassVar[str] = "parabel"

    def __init__(
        self,
        trees: int = 1,
        max_leaf: int = 100,
        splits: int = 8,
        heaviest: int | None = 500,
        beam: int = 10,
        sharpness: float = 4.0,
        loss: Loss = "squared-hinge",
        cost: float = 1.0,
        tail: float = 0.0,
        epochs: int = 10,
        tolerance: float = 0.1,
        threshold: float = 0.1,
        *,
        seed: int = 0,
        threads: int | None = None,
    ) -> None:
        self.trees = trees
        self.max_leaf = max_leaf
        self.splits = splits
        self.heaviest = heaviest
        self.beam = beam
        self.sharpness = sharpness
        self.loss = loss
        self.cost = cost
        self.tail = tail
        self.epochs = epochs
        self.tolerance = tolerance
        self.threshold = threshold
        self.seed = seed
        self.threads = threads

    @classmethod
    def ranges(cls) -> dict[str, Range]:
        """Return also what shapes the trees and how they are descended."""
        return {
            **super().ranges(),
            "trees": Whole(1, 3),
            "max_leaf": Whole(50, 400, log=True),
            "beam": Whole(5, 50, log=True),
        }

    def _grow(self, X: csr_array, Y: csr_array, context: FitContext) -> list[LabelTree]:
        context.run.progress.say("growing label trees")
        vectors = label_vectors(X, Y, heaviest=self.heaviest)
        return [self._grow_one(vectors, self.seed + number) for number in range(self.trees)]

    def _grow_one(self, vectors: csr_array, seed: int) -> LabelTree:
        tree = LabelTree.balanced(vectors, self.max_leaf, seed=seed, threads=self.threads)
        return tree.keep_depths(range(tree.depth - 1, 0, -self.splits))
