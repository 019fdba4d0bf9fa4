"""The first of two stages: a model names some labels of each text, another judges only those."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelgrove.core.estimator import Classifier
from labelgrove.core.features import Features, Rows
from labelgrove.core.ranking import Ranking
from labelgrove.core.types import Explanation, FitContext, ViewSpec
from labelgrove.models.logistic import log_odds
from labelgrove.models.members import own_context, own_views
from labelgrove.models.registry import MODELS
from labelgrove.models.shares import copies_of, different, shares_of

VIEW = "first-"  # before the names of its views


@dataclass(frozen=True, eq=False)
class Shortlist:
    """Labels of each text that are to be judged.

    Parameters
    ----------
    labels
        Shape (n, C), int32; -1 where there are fewer, behind the others.
    odds
        Their log odds by the first stage, shape (n, C), float32.
    """

    labels: NDArray[np.int32]
    odds: NDArray[np.float32]

    def __getitem__(self, rows: Rows) -> Shortlist:
        return Shortlist(self.labels[rows], self.odds[rows])


class FirstStage:
    """A model with views of its own that names candidates.

    Parameters
    ----------
    model
        Fitted or not.
    """

    def __init__(self, model: Classifier) -> None:
        self.model = model

    @property
    def views(self) -> dict[str, str]:
        """For each view that the model reads now the name that it has outside."""
        return {view: VIEW + view for view in self.model.views()}

    @property
    def _views_to_learn(self) -> dict[str, str]:
        """The same of the model before it is fitted, which may read more."""
        return {view: VIEW + view for view in self.model.fresh().views()}

    @classmethod
    def named(cls, name: str, settings: Mapping[str, Any]) -> Self:
        """Return an unfitted one, with those of the settings that a model of that name has."""
        known = MODELS.find(name).setting_names()
        return cls(MODELS.create(name, **{k: v for k, v in settings.items() if k in known}))

    def specs(self) -> dict[str, ViewSpec]:
        """Return what it wants to read, under the names of outside."""
        return {VIEW + view: spec for view, spec in self.model.views().items()}

    def fit(self, X: Features, Y: csr_array, context: FitContext) -> None:
        """Learn from all documents."""
        views = self._views_to_learn
        own = own_context(context, views, "first")
        own.run.progress.say(f"first stage: {self.model.name}")
        self.model.fit(own_views(X, views), Y, context=own)

    def refitted(self, X: Features, Y: csr_array, context: FitContext) -> Self:
        """Return one that learns from these documents what this one learned from others."""
        views = self._views_to_learn
        own = own_context(context, views, "first")
        return type(self)(self.model.refit(own_views(X, views), Y, context=own))

    def rank(self, X: Features, k: int) -> Ranking:
        """Rank texts."""
        return self.model.rank(own_views(X, self.views), k)

    def out_of_fold(
        self, X: Features, Y: csr_array, k: int, folds: int, seed: int, context: FitContext
    ) -> Ranking:
        """Rank each training document by a model that did not learn from it.

        A model ranks the documents it has learned from better than any others, so that a second
        stage would learn to trust it too much.

        Parameters
        ----------
        X, Y
            What is learned from.
        k
            Labels of each document.
        folds
            Models, of which each leaves out its share of the documents.
        seed
            Of the shares.
        context
            Of the whole training.
        """
        copies = copies_of(own_views(X, self.views))
        folds = min(folds, different(Y, copies))
        if folds < 2:  # nothing can be left out
            return self.rank(X, k)
        views = self._views_to_learn
        shares, n = shares_of(Y, folds, seed, copies), Y.shape[0]
        labels, scores = np.full((n, k), -1, np.int32), np.zeros((n, k), np.float32)
        for fold in range(folds):
            rest, left = np.flatnonzero(shares != fold), np.flatnonzero(shares == fold)
            own = own_context(context, views, f"first-fold{fold + 1}", rest)
            own.run.progress.say(f"first stage, {fold + 1} of {folds} shares left out")
            model = self.model.fresh()
            model.fit(own_views(X[rest], views), Y[rest], context=own)
            found = model.rank(own_views(X[left], views), k).pad(k)
            labels[left], scores[left] = found.labels, found.scores
        return Ranking(labels, scores)

    def explain(self, X: Features, i: int, label: int) -> Explanation:
        """Tell what in row ``i`` spoke for a label, in a view under its name of outside."""
        told = self.model.explain(own_views(X, self.views), i, label)
        return replace(told, view=self.views[told.view])

    def write(self, folder: Path) -> None:
        """Write it into a folder."""
        self.model.write(folder)

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read what `write` wrote."""
        return cls(MODELS.read(folder))


def shortlist_of(ranking: Ranking, Y: csr_array | None = None) -> Shortlist:
    """Return the labels of a ranking as candidates.

    Parameters
    ----------
    ranking
        Of n texts, C labels each.
    Y
        What is true, shape (n, L): labels of a text that are not among its C take the places of
        its last wrong ones, up to half of all places, with the odds of the last; empty places are
        taken first. Where that is not room enough, the rarest labels come first.

    Examples
    --------
    >>> ranking = Ranking(np.array([[3, 0, 1, 4]]), np.array([[0.9, 0.5, 0.4, 0.1]]))
    >>> shortlist_of(ranking, csr_array(np.array([[0, 1, 1, 0, 0]]))).labels.tolist()
    [[3, 0, 1, 2]]
    """
    labels = ranking.labels.astype(np.int32, copy=True)
    odds = log_odds(ranking.scores)
    least = log_odds(np.zeros(1))[0]
    odds[labels < 0] = least
    if Y is None:
        return Shortlist(labels, odds)
    true, counts = ranking.hits(Y), np.bincount(Y.indices, minlength=Y.shape[1])
    for row in np.flatnonzero(true.sum(axis=1) < np.diff(Y.indptr)):
        own = Y.indices[Y.indptr[row] : Y.indptr[row + 1]]
        named = labels[row] >= 0
        missed = np.setdiff1d(own, labels[row])
        missed = missed[np.argsort(counts[missed], kind="stable")][: labels.shape[1] // 2]
        wrong = np.flatnonzero(named & ~true[row])[::-1]
        places = np.concatenate([np.flatnonzero(~named), wrong])[: len(missed)]
        last = odds[row][named].min() if named.any() else least
        labels[row, places], odds[row, places] = missed[: len(places)], last
    return Shortlist(labels, odds)


def behind(judged: Ranking, first: Ranking, k: int) -> Ranking:
    """Put what was not judged behind what was, in the order of the first stage.

    Parameters
    ----------
    judged
        The candidates of n texts, best first.
    first
        All that the first stage named, of which the candidates are the first.
    k
        Labels of each text in the end.

    Examples
    --------
    >>> judged = Ranking(np.array([[7, 5]]), np.array([[0.8, 0.2]]))
    >>> first = Ranking(np.array([[5, 7, 2, 1]]), np.array([[0.9, 0.6, 0.4, 0.1]]))
    >>> found = behind(judged, first, 4)
    >>> found.labels.tolist(), found.scores
    ([[7, 5, 2, 1]], array([[0.8 , 0.2 , 0.2 , 0.05]], dtype=float32))
    """
    n = judged.k
    if k <= n or first.k <= n:
        return judged.top(min(k, n)).pad(k)
    rest = first.scores[:, n:].astype(np.float64)
    last = np.where(judged.labels >= 0, judged.scores, 1.0).min(axis=1, keepdims=True)
    # as probable as the first stage says, unless that is more than the last of those judged
    best = rest.max(axis=1, keepdims=True)
    factor = np.minimum(1.0, last / np.maximum(best, 1e-30))
    scores = np.concatenate([judged.scores, rest * factor], axis=1).astype(np.float32)
    labels = np.concatenate([judged.labels, first.labels[:, n:]], axis=1)
    return Ranking(labels[:, :k], scores[:, :k]).pad(k)
