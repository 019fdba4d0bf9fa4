"""The makers of candidates: models that each name the labels that they find likely."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelgrove.core import checks, storage
from labelgrove.core.estimator import Classifier
from labelgrove.core.features import Features
from labelgrove.core.ranking import Ranking
from labelgrove.core.types import Explanation, FitContext
from labelgrove.models.members import own_context, own_views
from labelgrove.models.registry import MODELS


class Kind(NamedTuple):
    """A kind of maker.

    Parameters
    ----------
    model
        Name of its model.
    settings
        Those that differ from the model's defaults.
    views
        For each view of the model the name that it has in the grove.
    depth
        Labels that it names for each text.
    takes_dense
        The setting of the model that names the dense vectors; empty if it reads none.
    needs_dense
        Whether it is of no use without dense vectors.
    """

    model: str
    settings: Mapping[str, Any]
    views: Mapping[str, str]
    depth: int
    takes_dense: str = ""
    needs_dense: bool = False


KINDS = {
    "tree": Kind("bonsai", {}, {"text": "text"}, 50, takes_dense="dense"),
    "neighbours": Kind("knn", {}, {"text": "text"}, 30),
    "similar-meaning": Kind(
        "knn", {"by": "encoder", "power": 4.0}, {"text": "dense"}, 30, "encoder", needs_dense=True
    ),
    "names": Kind("label-match", {}, {"text": "words"}, 30),
    "names-by-meaning": Kind("label-meaning", {}, {"text": "dense"}, 30, "dense", needs_dense=True),
}
FIRST = "tree"  # what a grove has whenever there are documents, and is compared with


@dataclass
class Maker:
    """One of the models, with its views of the text and its labels.

    Parameters
    ----------
    kind
        A key of `KINDS`.
    model
        Fitted or not.
    views
        For each view of the model the name that it has in the grove.
    labels
        The number in the grove of each label of the model, shape (l,), int32; None before it is
        fitted.
    """

    kind: str
    model: Classifier
    views: Mapping[str, str]
    labels: NDArray[np.int32] | None = None

    @classmethod
    def new(cls, kind: str, dense: str, settings: Mapping[str, Any]) -> Self:
        """Return an unfitted maker.

        Parameters
        ----------
        kind
            A key of `KINDS`.
        dense
            Dense vectors, as of `labelgrove.models.dense.dense_view`; empty for none.
        settings
            Settings for the models that have them, such as ``seed``.
        """
        what = KINDS[kind]
        given = dict(settings) | dict(what.settings)
        if what.takes_dense and dense:
            given[what.takes_dense] = dense
        known = MODELS.find(what.model).setting_names()
        model = MODELS.create(what.model, **{k: v for k, v in given.items() if k in known})
        own = model.views()
        views = dict(what.views) | ({"dense": "dense"} if "dense" in own else {})
        return cls(kind, model, {view: views[view] for view in own})

    @property
    def depth(self) -> int:
        """Labels that it names for each text."""
        return KINDS[self.kind].depth

    def fit(
        self,
        X: Features,
        Y: csr_array,
        context: FitContext,
        step: str,
        rows: NDArray[np.int64] | None = None,
    ) -> Self:
        """Return a fitted copy.

        Parameters
        ----------
        X, Y
            Features and labels (n, L) of all documents.
        context
            That of the grove.
        step
            Name of its folder below that of the run.
        rows
            Documents to learn from, shape (m,); None for all.
        """
        own = own_context(context, self.views, step, rows)
        if rows is not None:
            X, Y = X[rows], Y[rows]
        labels = self._own_labels(Y)
        if not self.model.ranks_by_name:
            Y, own = csr_array(Y[:, labels]), replace(own, labels=None)
        model = self.model.fresh().fit(own_views(X, self.views), Y, context=own)
        return replace(self, model=model, labels=labels)

    def for_parts(self, X: Features, Y: csr_array) -> Self:
        """Return an unfitted copy that is trained on parts of these documents."""
        own = csr_array(Y[:, self._own_labels(Y)])
        return replace(self, model=self.model.for_parts(own_views(X, self.views), own))

    def _own_labels(self, Y: csr_array) -> NDArray[np.int32]:
        """Return the columns of Y (n, L) that it learns, shape (l,)."""
        if self.model.ranks_by_name:
            return np.arange(Y.shape[1], dtype=np.int32)
        # labels without documents would only take room
        return np.flatnonzero(np.bincount(Y.indices, minlength=Y.shape[1])).astype(np.int32)

    def rank(self, X: Features, depth: int | None = None) -> Ranking:
        """Return the best labels of each text, numbered as in the grove."""
        assert self.labels is not None
        found = self.model.rank(own_views(X, self.views), self.depth if depth is None else depth)
        labels = np.where(found.labels >= 0, self.labels[found.labels], np.int32(-1))
        return Ranking(labels, found.scores)

    def explain(self, X: Features, i: int, label: int) -> Explanation | None:
        """Tell what in row ``i`` spoke for a label; None if the model does not know the label."""
        assert self.labels is not None
        own = self._own_label(label)
        if own is None:
            return None
        told = self.model.explain(own_views(X, self.views), i, own)
        near = tuple(
            each._replace(labels=tuple(self.labels[[*each.labels]].tolist()))
            for each in told.neighbours
        )
        return replace(told, view=self.views[told.view], neighbours=near)

    def explain_label(self, label: int) -> Explanation | None:
        """Tell which features speak for a label; None if the model does not know the label."""
        own = self._own_label(label)
        if own is None:
            return None
        told = self.model.explain_label(own)
        return replace(told, view=self.views[told.view])

    def _own_label(self, label: int) -> int | None:
        """Return the model's own number of a label of the grove."""
        own = np.flatnonzero(self.labels == label)
        return int(own[0]) if len(own) else None

    def remember(self, X: Features, Y: csr_array, context: FitContext) -> Self:
        """Return one that knows these documents too; Y (n, at least L) may have new labels."""
        assert self.labels is not None
        used = np.bincount(Y.indices, minlength=Y.shape[1]) > 0
        used[self.labels] = False
        labels = np.concatenate([self.labels, np.flatnonzero(used).astype(np.int32)])
        own = replace(own_context(context, self.views, "remember"), labels=None)
        model = self.model.remember(own_views(X, self.views), csr_array(Y[:, labels]), context=own)
        return replace(self, model=model, labels=labels)

    def write(self, folder: Path) -> None:
        """Write it into a folder."""
        storage.write_values(
            folder, {"kind": self.kind, "views": dict(self.views), "labels": self.labels}
        )
        self.model.write(folder / "model")

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read what `write` wrote."""
        values = storage.read_values(folder)
        model = MODELS.read(folder / "model")
        with checks.reading(folder):
            (kind,) = checks.texts("kind", [values["kind"]])
            views = checks.names("views", values["views"], model.views())
            labels = checks.array("labels", values["labels"], np.int32, (model.n_labels_,))
        return cls(kind, model, views, labels)
