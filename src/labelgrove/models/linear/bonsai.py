"""Shallow, wide label trees, as in Bonsai.

Khandagale, Xiao and Babbar, "Bonsai: diverse and shallow trees for extreme multi-label
classification", Machine Learning 109, 2020.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from scipy.sparse import csr_array

from labelgrove.core.errors import InputError, UnknownNameError
from labelgrove.core.ranges import Range, Real, Whole
from labelgrove.core.types import FitContext
from labelgrove.labels import LabelTree, label_vectors
from labelgrove.models.linear.classifier import LinearForest
from labelgrove.models.linear.training import Loss

TREES = ("k-means", "hierarchy")
WIDE = 512
MANY = 200_000  # documents from which on a second tree was worth its time: see benchmarks/LOG.md


class Bonsai(LinearForest):
    """Linear classifiers down shallow, wide trees of the labels; the model to start with.

    Parameters
    ----------
    tree
        ``"k-means"`` over the labels' documents, ``"hierarchy"`` for that of the label space, or
        a tree of your own: for each level below the root the parents of its nodes, the last
        level being the labels.
    trees
        Number of k-means trees, whose probabilities are averaged; they differ by their seeds.
        None for two from 200,000 documents on, and one below.
    branching
        Children of a node at most while k-means grows a tree. Up to 512 clusters of labels then
        become the root's own children.
    max_leaf
        Labels below a node of the last level of a k-means tree at most. Up to twice as many
        labels need no tree at all.
    heaviest
        Features kept of a label's vector for clustering; None for all.
    negatives
        Nodes per document that learn from it although it is not theirs, because the levels above
        find them likely. 0 gives the paper's way, with ``carry=1``.
    carry
        A label's score is its own probability times that of its path to this power.
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
    >>> X = csr_array(np.eye(4, dtype=np.float32))
    >>> given = [[0, 0], [0, 0, 1, 1]]  # two nodes below the root, two labels below each
    >>> Bonsai(tree=given).fit(X, X).rank(X, k=1).labels.ravel().tolist()
    [0, 1, 2, 3]
    """

    name: ClassVar[str] = "bonsai"

    def __init__(
        self,
        tree: str | Sequence[Sequence[int]] = "k-means",
        trees: int | None = None,
        branching: int = 100,
        max_leaf: int = 200,
        heaviest: int | None = 500,
        negatives: int = 10,
        carry: float = 0.2,
        beam: int = 10,
        sharpness: float = 4.0,
        loss: Loss = "squared-hinge",
        cost: float = 0.2,
        tail: float = 1.0,
        epochs: int = 10,
        tolerance: float = 0.1,
        threshold: float = 0.1,
        *,
        seed: int = 0,
        threads: int | None = None,
    ) -> None:
        self.tree = tree
        self.trees = trees
        self.branching = branching
        self.max_leaf = max_leaf
        self.heaviest = heaviest
        self.negatives = negatives
        self.carry = carry
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

    def check_settings(self) -> None:
        """Refuse values of a wrong type or out of range."""
        super().check_settings()
        if isinstance(self.tree, str) and self.tree not in TREES:
            raise UnknownNameError("tree", self.tree, TREES)

    @classmethod
    def ranges(cls) -> dict[str, Range]:
        """Return also what shapes the tree and how it is descended."""
        return {
            **super().ranges(),
            "max_leaf": Whole(50, 400, log=True),
            "negatives": Whole(5, 40, log=True),
            "carry": Real(0.0, 1.0),
            "beam": Whole(5, 30, log=True),
        }

    def _grow(self, X: csr_array, Y: csr_array, context: FitContext) -> list[LabelTree]:
        if not isinstance(self.tree, str):
            return [_given(self.tree, Y.shape[1])]
        if self.tree == "hierarchy":
            if context.labels is None or not len(context.labels.parents.indices):
                raise InputError(
                    "tree='hierarchy' needs labels with parents: give a vocabulary that has them"
                )
            return [LabelTree.from_parents(context.labels.parents, Y.shape[1])]
        if Y.shape[1] <= 2 * self.max_leaf:
            return [LabelTree([np.zeros(Y.shape[1], np.int32)])]
        context.run.progress.say("growing label trees")
        vectors = label_vectors(X, Y, heaviest=self.heaviest)
        trees = self.trees or (2 if X.shape[0] >= MANY else 1)
        return [self._grow_one(vectors, self.seed + number) for number in range(trees)]

    def _grow_one(self, vectors: csr_array, seed: int) -> LabelTree:
        tree = LabelTree.kmeans(
            vectors, self.branching, self.max_leaf, seed=seed, threads=self.threads
        )
        clusters = tree.depth - 1
        # few clusters are told apart best in one step from the root
        if clusters > 1 and tree.n_nodes(clusters) <= WIDE:
            return tree.keep_depths([clusters])
        return tree


def _given(tree: Sequence[Sequence[int]], n_labels: int) -> LabelTree:
    """Return a user's own tree, or say what is wrong with it."""
    try:
        levels = [np.asarray(level) for level in tree]
    except (TypeError, ValueError):
        levels = []
    if not levels or any(level.dtype.kind not in "iu" for level in levels):
        ways = ", ".join(repr(name) for name in TREES)
        raise InputError(
            f"tree must be {ways} or whole numbers, the parents of each level, such as "
            f"[[0, 0], [0, 1, 1]]; got {str(tree)[:60]}"
        )
    given = LabelTree(levels)
    if given.n_labels != n_labels:
        raise InputError(f"the tree has {given.n_labels} labels, Y has {n_labels}")
    return given
