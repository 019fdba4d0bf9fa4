"""Shallow, wide label trees, as in Bonsai.

Khandagale, Xiao and Babbar, "Bonsai: diverse and shallow trees for extreme multi-label
classification", Machine Learning 109, 2020.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from labelgrove.core.errors import InputError
from labelgrove.core.features import Features, Views
from labelgrove.core.ranges import Real, Whole
from labelgrove.core.settings import Rule, setting
from labelgrove.core.types import FitContext
from labelgrove.labels import LabelTree, label_vectors
from labelgrove.models.linear.choosing import goes_without_tree
from labelgrove.models.linear.classifier import LinearForest

TREES = ("k-means", "hierarchy")
WIDE = 512
LEAF = 200
MANY = 200_000  # documents from which on a second tree was worth its time: see benchmarks/LOG.md


class Bonsai(LinearForest):
    """Linear classifiers down shallow, wide trees of the labels: fast, small, a maker of `grove`.

    Examples
    --------
    >>> X = csr_array(np.eye(4, dtype=np.float32))
    >>> given = [[0, 0], [0, 0, 1, 1]]  # two nodes below the root, two labels below each
    >>> Bonsai(tree=given).fit(X, X).rank(X, k=1).labels.ravel().tolist()
    [0, 1, 2, 3]
    """

    name: ClassVar[str] = "bonsai"

    tree: str | Sequence[Sequence[int]] = setting(
        "k-means",
        "Tree of the labels: k-means clusters labels by their documents, hierarchy takes the "
        "parents of the label space, or give your own: for each level below the root the parents "
        "of its nodes; the last level are the labels.",
        rule=Rule(
            lambda tree: tree in TREES if isinstance(tree, str) else bool(_levels(tree)),
            "'k-means', 'hierarchy' or whole numbers, the parents of each level, such as "
            "[[0, 0], [0, 1, 1]]",
        ),
    )
    trees: int | None = setting(
        None,
        "Number of k-means trees. They differ by their random seeds, and their probabilities are "
        "averaged. None for two from 200,000 documents on, and one below.",
        least=1,
    )
    branching: int = setting(
        100,
        "Children of a node at most while k-means grows a tree. If there are up to 512 clusters "
        "of labels, they become the root's own children.",
        least=2,
    )
    max_leaf: int | None = setting(
        None,
        "Labels below a node of the last level of a k-means tree at most. Up to twice as many "
        "labels need no tree at all. None for 200, or for no tree where labels have fewer than 20 "
        "documents on average and training takes seconds without one; not if trees is given.",
        least=1,
        search=Whole(50, 400, log=True),
    )
    heaviest: int | None = setting(
        500,
        "Features kept of each label's vector when labels are clustered, those with the largest "
        "weights; None for all.",
        least=1,
    )
    negatives: int = setting(
        10,
        "Nodes per document that learn from it as a negative example because the levels above "
        "rank them high. 0, with carry=1, is the paper's way.",
        least=0,
        search=Whole(5, 40, log=True),
    )
    carry: float = setting(
        0.2,
        "A label's score is its own probability times that of its path to this power.",
        least=0,
        most=1,
        search=Real(0.0, 1.0),
    )
    beam: int = setting(
        10,
        "Nodes kept per level while ranking. More take longer and miss fewer labels.",
        least=1,
        search=Whole(5, 30, log=True),
    )
    sharpness = 4.0
    cost = None
    tail = 1.0
    threshold = 0.1

    def _grow(self, X: csr_array, Y: csr_array, context: FitContext) -> list[LabelTree]:
        if not isinstance(self.tree, str):
            return [_given(self.tree, Y.shape[1])]
        if self.tree == "hierarchy":
            if context.labels is None or not len(context.labels.parents.indices):
                raise InputError(
                    "tree='hierarchy' needs labels with parents: give a vocabulary that has them"
                )
            return [LabelTree.from_parents(context.labels.parents, Y.shape[1])]
        if Y.shape[1] <= 2 * self._max_leaf or self._prefers_flat(X, Y, context):
            return [LabelTree([np.zeros(Y.shape[1], np.int32)])]
        context.run.progress.say("growing label trees")
        vectors = label_vectors(X, Y, heaviest=self.heaviest)
        trees = self.trees or (2 if X.shape[0] >= MANY else 1)
        return [self._grow_one(vectors, self.seed + number) for number in range(trees)]

    def for_parts(self, X: Features, Y: csr_array) -> Self:
        """Return an unfitted copy that has a tree for parts of documents that get one."""
        found = self.fresh()
        words = X["text"] if isinstance(X, Views) else X
        if self._chooses_shape and issparse(words) and not goes_without_tree(words, Y):
            found.max_leaf = LEAF
        return found

    @property
    def _chooses_shape(self) -> bool:
        """Whether nobody has asked for a tree."""
        return self.max_leaf is None and self.trees is None

    def _prefers_flat(self, X: csr_array, Y: csr_array, context: FitContext) -> bool:
        """Tell whether it goes without a tree that nobody has asked for."""
        if not self._chooses_shape or not goes_without_tree(X, Y):
            return False
        context.run.progress.say(
            f"no label tree: {Y.shape[1]:,} labels have few documents and train quickly without"
        )
        return True

    @property
    def flat_(self) -> bool:
        """Whether the fitted model has no label tree: every label is a child of the root."""
        return bool((self.forest_.depths == 1).all())

    @property
    def _max_leaf(self) -> int:
        return LEAF if self.max_leaf is None else self.max_leaf

    def _grow_one(self, vectors: csr_array, seed: int) -> LabelTree:
        tree = LabelTree.kmeans(
            vectors, self.branching, self._max_leaf, seed=seed, threads=self.threads
        )
        clusters = tree.depth - 1
        # few clusters are told apart best in one step from the root
        if clusters > 1 and tree.n_nodes(clusters) <= WIDE:
            return tree.keep_depths([clusters])
        return tree


def _levels(tree: Any) -> list[NDArray[np.integer[Any]]]:
    """Return the levels of a user's own tree as arrays, or none if they are no whole numbers."""
    try:
        levels = [np.asarray(level) for level in tree]
    except (TypeError, ValueError):
        return []
    return levels if all(level.dtype.kind in "iu" for level in levels) else []


def _given(tree: Sequence[Sequence[int]], n_labels: int) -> LabelTree:
    """Return a user's own tree, if it has as many labels as Y."""
    given = LabelTree(_levels(tree))
    if given.n_labels != n_labels:
        raise InputError(f"the tree has {given.n_labels} labels, Y has {n_labels}")
    return given
