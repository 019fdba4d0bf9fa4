"""Balanced binary label trees, as in Parabel.

Prabhu, Kag, Harsola, Agrawal and Varma, "Parabel: partitioned label trees for extreme
classification with application to dynamic search advertising", WWW 2018.
"""

from __future__ import annotations

from typing import ClassVar

from scipy.sparse import csr_array

from labelgrove.core.ranges import Whole
from labelgrove.core.settings import setting
from labelgrove.core.types import FitContext
from labelgrove.labels import LabelTree, label_vectors
from labelgrove.models.linear.classifier import LinearForest


class Parabel(LinearForest):
    """Linear classifiers down balanced binary trees of the labels.

    Examples
    --------
    >>> X = csr_array([[1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype="float32")
    >>> Parabel(max_leaf=2).fit(X, X).rank(X, k=1).labels.ravel().tolist()
    [0, 1, 2]
    """

    name: ClassVar[str] = "parabel"

    trees: int = setting(
        1,
        "Number of trees. They differ by their random seeds, and their probabilities are averaged.",
        least=1,
        search=Whole(1, 3),
    )
    max_leaf: int = setting(
        100,
        "Labels below a node of the last level at most.",
        least=1,
        search=Whole(50, 400, log=True),
    )
    splits: int = setting(
        8,
        "Splits in two that are made one step of the tree. With 8, a node has up to 256 children "
        "and the tree an eighth of the levels, which is faster and more accurate; 1 gives the "
        "paper's tree.",
        least=1,
    )
    heaviest: int | None = setting(
        500,
        "Features kept of each label's vector when labels are clustered, those with the largest "
        "weights; None for all.",
        least=1,
    )
    beam: int = setting(
        10,
        "Nodes kept per level while ranking. More take longer and miss fewer labels.",
        least=1,
        search=Whole(5, 50, log=True),
    )
    sharpness = 4.0
    threshold = 0.1

    def _grow(self, X: csr_array, Y: csr_array, context: FitContext) -> list[LabelTree]:
        context.run.progress.say("growing label trees")
        vectors = label_vectors(X, Y, heaviest=self.heaviest)
        return [self._grow_one(vectors, self.seed + number) for number in range(self.trees)]

    def _grow_one(self, vectors: csr_array, seed: int) -> LabelTree:
        tree = LabelTree.balanced(vectors, self.max_leaf, seed=seed, threads=self.threads)
        return tree.keep_depths(range(tree.depth - 1, 0, -self.splits))
