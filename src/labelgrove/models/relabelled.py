"""A fitted model whose labels have become others: gone, merged or split."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array

from labelgrove.core import checks, storage
from labelgrove.core.errors import InputError
from labelgrove.core.estimator import Classifier
from labelgrove.core.features import Features
from labelgrove.core.ranking import RANKING_DEPTH, Ranking, largest_pairs
from labelgrove.core.types import Explanation, FitContext, ViewSpec
from labelgrove.labels.hierarchy import IntLists
from labelgrove.models.registry import MODELS

TRANSLATION = "translation"
SPARE = 32  # labels that are ranked beyond those asked for, as some are gone or merged


class Relabelled(Classifier):
    """Ranks with a fitted model and translates its labels.

    The score of a new label is the largest of the model's labels that became it. It stands in for
    the model: it has its name and settings, and a fresh one is a fresh model. Its folder is the
    model's with the translation inside, so whoever may find one there calls `read_model`.

    Parameters
    ----------
    model
        The fitted model.
    targets
        The numbers that each of its labels has become: none if it is gone, several if it was split.
        Every new label is among them.
    n_labels
        Number of new labels.
    """

    model_: Classifier
    targets_: IntLists

    def __init__(self, model: Classifier, targets: IntLists, n_labels: int) -> None:
        self.model_, self.targets_, self.n_labels_ = model, targets, n_labels

    @property
    def name(self) -> str:  # type: ignore[override]
        """The name of the model."""
        return self.model_.name

    def why_no_onnx(self) -> str:
        """Return that labels are translated outside of the model."""
        return "its labels were replaced by those of a new vocabulary (migrate) after training"

    # --- settings: those of the model -----------------------------------------------------------

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the model's settings."""
        return self.model_.get_params(deep)

    def set_params(self, **params: Any) -> Self:
        """Change the model's settings, such as its threads."""
        self.model_.set_params(**params)
        return self

    def fresh(self) -> Self:
        """Return an unfitted model: what learns anew has nothing to translate."""
        return self.model_.fresh()  # type: ignore[return-value]

    def __repr__(self) -> str:
        return f"Relabelled({self.model_!r})"

    def for_parts(self, X: Features, Y: csr_array) -> Self:
        """Return an unfitted model in the shape of the fitted one."""
        return self.model_.for_parts(X, Y)  # type: ignore[return-value]

    def views(self) -> dict[str, ViewSpec]:
        """Return the model's views."""
        return self.model_.views()

    def _fit(self, X: Features, Y: csr_array, context: FitContext) -> None:
        raise InputError("a model whose labels were translated is not fitted: fit a fresh one")

    # --- ranking --------------------------------------------------------------------------------

    def _rank(self, X: Features, k: int) -> Ranking:
        """Ask for more labels where too few are left of those that the model named."""
        n_old = self.model_.n_labels_
        depth = min(n_old, k + SPARE)
        ranking = self.model_.rank(X, depth)
        found = self._translated(ranking, k)
        short = np.flatnonzero(_too_few(found, ranking))
        while len(short) and depth < n_old:
            depth = min(n_old, 2 * depth)
            ranking = self.model_.rank(X[short], depth)
            more = self._translated(ranking, k)
            found.labels[short], found.scores[short] = more.labels, more.scores
            short = short[_too_few(more, ranking)]
        return found

    def _translated(self, ranking: Ranking, k: int) -> Ranking:
        """Return the best k new labels of a ranking of the model's."""
        rows, places = np.nonzero(ranking.labels >= 0)
        lists = self.targets_.taken(ranking.labels[rows, places])
        many = np.diff(lists.offsets)
        scores = np.repeat(ranking.scores[rows, places], many)
        pairs = largest_pairs(np.repeat(rows, many), lists.indices, scores)
        return Ranking.from_pairs(*pairs, len(ranking), k)

    @property
    def most_held_out(self) -> int | None:  # type: ignore[override]
        """As many held-out documents as the model may rank."""
        return self.model_.most_held_out

    def sends_to(self) -> list[str]:
        """Return the addresses to which the model sends texts."""
        return self.model_.sends_to()

    def take_notes(self) -> list[str]:
        """Return what the model has to say."""
        return self.model_.take_notes()

    # --- explaining -----------------------------------------------------------------------------

    def _sources(self, label: int) -> list[int]:
        """Return the model's labels that became a label."""
        owners = np.repeat(np.arange(len(self.targets_)), np.diff(self.targets_.offsets))
        sources: list[int] = owners[self.targets_.indices == label].tolist()
        return sources

    def _explain(self, X: Features, i: int, label: int) -> Explanation:
        """Explain the one of the model's labels that is surest of the label."""
        sources = self._sources(label)
        if len(sources) > 1:
            ranked = dict(self.model_.rank(X[i : i + 1], RANKING_DEPTH).row(0))
            sources.sort(key=lambda source: -ranked.get(source, 0.0))
        told = self.model_.explain(X, i, sources[0])
        near = tuple(
            each._replace(labels=tuple(self._become(each.labels))) for each in told.neighbours
        )
        return replace(told, neighbours=near)

    def _become(self, labels: Iterable[int]) -> list[int]:
        return list(dict.fromkeys(new for old in labels for new in self.targets_[old]))

    def _explain_label(self, label: int) -> Explanation:
        """Explain the first of the model's labels that became the label."""
        return self.model_.explain_label(self._sources(label)[0])

    # --- remembering ----------------------------------------------------------------------------

    @property
    def remembers(self) -> bool:  # type: ignore[override]
        """True where the model remembers documents."""
        return self.model_.remembers

    def remembered(self) -> Iterable[str]:
        """Return how the documents begin that the model remembers."""
        return self.model_.remembered()

    def _remember(self, X: Features, Y: csr_array, context: FitContext) -> Self:
        """Return one whose model remembers the documents.

        A new label is learned as the model's label that became it and nothing else. Where there is
        none, as after a split, the model gets another label for it.
        """
        n_old = self.model_.n_labels_
        homes = np.full(Y.shape[1], -1, np.int64)
        alone = np.flatnonzero(np.diff(self.targets_.offsets) == 1)[::-1]  # the first one stays
        homes[self.targets_.indices[self.targets_.offsets[alone]]] = alone
        new = np.unique(Y.indices[homes[Y.indices] < 0])
        homes[new] = np.arange(n_old, n_old + len(new))
        shape = (Y.shape[0], n_old + len(new))
        known = csr_array((Y.data, homes[Y.indices].astype(np.int32), Y.indptr), shape=shape)
        known.sort_indices()
        # names and parents of the new labels are not those of the model's own
        model = self.model_.remember(X, known, context=replace(context, labels=None))
        targets = IntLists.of([*self.targets_, *((label,) for label in new.tolist())])
        return type(self)(model, targets, int(Y.shape[1]))

    # --- saving ---------------------------------------------------------------------------------

    def write(self, folder: Path) -> None:
        """Write the model, and what its labels have become."""
        self.model_.write(folder)
        targets = self.targets_
        values = {"offsets": targets.offsets, "targets": targets.indices}
        storage.write_values(folder / TRANSLATION, {**values, "n_labels": self.n_labels_})


def read_model(place: Path) -> Classifier:
    """Return the model of a folder, with the translation of its labels if there is one."""
    model, folder = MODELS.read(place), place / TRANSLATION
    if not folder.is_dir():
        return model
    values = storage.read_values(folder)
    with checks.reading(folder):
        n_labels = checks.whole("n_labels", values["n_labels"], least=1, most=2**31 - 1)
        targets = checks.array("targets", values["targets"], np.int32, (None,))
        checks.offsets("offsets", values["offsets"], len(targets), model.n_labels_)
        checks.below("targets", targets, n_labels)
        if len(np.unique(targets)) < n_labels:
            raise ValueError("a translation that leaves labels out")
        return Relabelled(model, IntLists(values["offsets"], targets), n_labels)


def relabelled(model: Classifier, targets: IntLists, n_labels: int) -> Classifier:
    """Return a model whose label i has become the labels ``targets[i]``.

    One that was translated before is translated in one step; a model whose labels all keep their
    numbers stays as it is.
    """
    if isinstance(model, Relabelled):
        steps = [{new for middle in each for new in targets[middle]} for each in model.targets_]
        targets, model = IntLists.of([sorted(each) for each in steps]), model.model_
    same = IntLists.of([(label,) for label in range(model.n_labels_)])
    kept = all(
        np.array_equal(getattr(targets, part), getattr(same, part))
        for part in ("offsets", "indices")
    )
    return model if kept and n_labels == len(same) else Relabelled(model, targets, n_labels)


def _too_few(found: Ranking, ranking: Ranking) -> Any:
    """Tell which rows have too few labels while the model may know more, shape (n,)."""
    return (found.labels[:, -1] < 0) & (ranking.labels[:, -1] >= 0)
