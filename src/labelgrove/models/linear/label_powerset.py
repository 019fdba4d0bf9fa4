"""A class for each set of labels: the sets that documents have, or random ones of a few labels.

Whole sets are pruned as in Read, "A pruned problem transformation method for multi-label
classification", NZCSRSC 2008, which leaves out labels that are in no frequent set; here such a
label is a set of its own. Random sets are RAkEL's, of Tsoumakas and Vlahavas, "Random k-labelsets:
an ensemble method for multilabel classification", ECML 2007, but drawn in rounds, so that each
label is in as many sets as any other, and with probabilities where the paper counts votes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelgrove.core import checks
from labelgrove.core.errors import InputError
from labelgrove.core.estimator import Classifier
from labelgrove.core.features import Features
from labelgrove.core.random import generator
from labelgrove.core.ranking import Ranking
from labelgrove.core.settings import setting
from labelgrove.core.types import Explanation, FitContext
from labelgrove.labels import LabelTree
from labelgrove.models.linear.classifier import LinearForest
from labelgrove.models.linear.label_sets import LabelSets, random_sets, whole_sets
from labelgrove.models.linear.solver import Solver
from labelgrove.models.linear.training import train_forest

CELLS = 1 << 22  # texts x sets that are ranked at once
TOO_MANY = 500_000  # sets
# Of thousands of sets, nearly all wrong, many small odds would add up to more than great ones:
# slopes of the scores, in parts of ``sharpness``, that ranked held-out documents best.
SLOPES = {"whole": 4.0, "random": 1.0}


class LabelPowerset(LinearForest):
    """A linear classifier for every set of labels; a label is as probable as its sets together.

    The odds of the sets, exp(a s) for the score s, become probabilities that sum to 1 over all
    sets, or over those of one random set of labels. The slope a is ``sharpness``, for whole sets
    four times that.

    Attributes
    ----------
    members_
        The labels of each set, shape (sets, L).
    group_
        The random set of labels that a set is a part of, shape (sets,).

    Examples
    --------
    >>> X = csr_array(np.eye(3, dtype=np.float32))
    >>> Y = csr_array(np.array([[1, 1, 0], [0, 0, 1], [1, 0, 1]], np.float32))
    >>> LabelPowerset(least=1).fit(X, Y).rank(X, k=2).labels.tolist()
    [[0, 1], [2, 0], [0, 2]]
    """

    name: ClassVar[str] = "label-powerset"

    sets: Literal["whole", "random"] = setting(
        "whole",
        "Sets of labels that are classes: whole, as documents have them, or what documents have of "
        "random sets of a few labels (RAkEL).",
    )
    least: int = setting(
        3,
        "Training documents that a whole set must have. Documents with a rarer set count for the "
        "largest sets within it.",
        least=1,
    )
    size: int = setting(3, "Number of labels in a random set.", least=1, most=20)
    random: int | None = setting(
        None, "Number of random sets; None for twice the number of labels.", least=1
    )

    members_: csr_array
    group_: NDArray[np.int32]

    estimate = Classifier.estimate  # it cannot tell: sets are found while it learns
    _explain_label = Classifier._explain_label

    def check_settings(self) -> None:
        """Refuse also settings of the other kind of sets."""
        super().check_settings()
        for name, kind in (("least", "whole"), ("size", "random"), ("random", "random")):
            if self.sets != kind and getattr(self, name) != self.defaults()[name]:
                raise InputError(
                    f"{name} is of sets={kind!r}, but sets is {self.sets!r}: set sets={kind}, or "
                    f"leave {name} out"
                )

    def _sets(self, Y: csr_array) -> LabelSets:
        if self.sets == "whole":
            return whole_sets(Y, self.least)
        n_groups = 2 * Y.shape[1] if self.random is None else self.random
        return random_sets(Y, self.size, n_groups, generator(self.seed, "sets of labels"))

    def _train(
        self,
        X: csr_array,
        dense: NDArray[np.float32] | None,
        Y: csr_array,
        solver: Solver,
        context: FitContext,
    ) -> None:
        members, group, documents = self._sets(Y)
        n_sets = len(group)
        if n_sets > TOO_MANY:
            raise InputError(
                f"{n_sets:,} sets of labels are too many for {self.name}, which takes up to "
                f"{TOO_MANY:,}: set a greater least or a smaller random, or take bonsai"
            )
        context.run.progress.say(f"{n_sets:,} sets of labels")
        tree = LabelTree([np.zeros(n_sets, np.int32)])
        self.forest_ = train_forest(X, documents, [tree], solver, context.run, self.threads, dense)
        self.members_, self.group_ = members, group

    def _rank(self, X: Features, k: int) -> Ranking:
        rows, dense = self._known_columns(X)
        size = max(1, CELLS // len(self.group_))
        parts = [Ranking.empty(0, k)]
        for first in range(0, rows.shape[0], size):
            part = slice(first, min(first + size, rows.shape[0]))
            chances = self._chances(rows[part], None if dense is None else dense[part])
            parts.append(Ranking.from_csr(self._shares(chances), k))
        return Ranking.concatenate(parts)

    def _chances(self, X: csr_array, dense: NDArray[np.float32] | None) -> NDArray[np.float64]:
        """Return the probability of each set for a few rows, shape (n, sets)."""
        n_sets = len(self.group_)
        slope = self.sharpness * SLOPES[self.sets]
        found = self.forest_.rank(X, n_sets, 1, slope, self.threads, dense=dense)
        odds = np.empty(found.scores.shape)
        each = np.clip(found.scores.astype(np.float64), 1e-30, 1 - 1e-7)
        np.put_along_axis(odds, found.labels.astype(np.int64), each / (1 - each), axis=1)
        starts = np.flatnonzero(np.diff(self.group_, prepend=-1))
        totals = np.add.reduceat(odds, starts, axis=1)
        chances: NDArray[np.float64] = odds / totals[:, self.group_]
        return chances

    def _shares(self, chances: NDArray[np.float64]) -> csr_array:
        """Return the probability of each label (n, L), its mean over the groups that have it."""
        total = csr_array(csr_array(chances) @ self.members_)
        total.data /= self._groups_of_labels()[total.indices]
        np.minimum(total.data, 1.0, out=total.data)  # rounding may add a bit
        return csr_array(total, dtype=np.float32)

    def _groups_of_labels(self) -> NDArray[np.int64]:
        """Return how many groups have a set with each label, shape (L,)."""
        owner = np.repeat(self.group_.astype(np.int64), np.diff(self.members_.indptr))
        pairs = np.unique(owner * self.members_.shape[1] + self.members_.indices)
        return np.bincount(pairs % self.members_.shape[1], minlength=self.members_.shape[1])

    def _explain(self, X: Features, i: int, label: int) -> Explanation:
        """Return each feature's share in the score of the most probable set with the label."""
        rows, dense = self._known_columns(X)
        row = rows[np.array([i])]
        row.sum_duplicates()
        own = None if dense is None else dense[i : i + 1]
        having = np.flatnonzero(self.members_[:, [label]].toarray().ravel())
        if not len(having):
            return Explanation(np.empty(0, np.int64), np.empty(0, np.float32))
        best = int(having[np.argmax(self._chances(row, own)[0][having])])
        shares = self.forest_.path_weights(best, row.indices) * row.data
        spoke = shares != 0
        parts: tuple[tuple[str, float], ...] = ()
        if own is not None:
            parts = (("meaning", float(self.forest_.path_dense(best) @ own[0])),)
        return Explanation(row.indices[spoke], shares[spoke], parts=parts)

    @classmethod
    def example_settings(cls, folder: Path) -> dict[str, Any]:
        """Return settings that differ from the defaults."""
        return {"least": 1}

    def check_state(self) -> None:
        """Refuse sets of other labels, and groups that are not in order."""
        Classifier.check_state(self)
        n_sets = len(checks.array("group_", self.group_, np.int32, (None,)))
        self.forest_.check(n_sets)
        checks.number("cost_", self.cost_)
        checks.number("dense_weight_", self.dense_weight_)
        shape = (n_sets, self.n_labels_)
        if not isinstance(self.members_, csr_array) or self.members_.shape != shape:
            raise ValueError(f"members_ must be a sparse matrix of shape {shape}")
        checks.array("members_", self.members_.data, np.float32, (None,))
        checks.finite("members_", self.members_.data)
        steps = np.diff(self.group_, prepend=0)
        if not n_sets or (steps < 0).any() or (steps > 1).any() or self.group_[0] != 0:
            raise ValueError("group_ must rise from 0 by steps of at most 1, and does not")
