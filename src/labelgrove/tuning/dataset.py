"""Training and held-out documents of a search, shared by its processes through the disk."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from labelgrove.core import storage
from labelgrove.core.errors import InputError
from labelgrove.core.estimator import Featurizer
from labelgrove.core.features import Features, TokenSequences, Views
from labelgrove.labels import LabelSpace
from labelgrove.tagger.learning import Data, TrainingTask
from labelgrove.text import FEATURIZERS

OWN = 0.1  # share of the training documents by which a model that stops early does so
RUNG = 0.25  # share of them from which a model learns first that could be given up there
FEWEST = 200  # documents of which such a share means something


@dataclass(frozen=True)
class Dataset:
    """Features and labels of the training documents and of the held-out ones.

    Parameters
    ----------
    labels
        The label space.
    featurizers
        A fitted featurizer for each view.
    train, held
        Features and labels of the documents to fit on, and of those to score on.
    hash_fractions
        A number in [0, 1) for each document of ``train``, shape (n,), by a hash of its text.
    """

    labels: LabelSpace
    featurizers: Mapping[str, Featurizer]
    train: Data
    held: Data
    hash_fractions: NDArray[np.float64]

    @classmethod
    def of(cls, task: TrainingTask) -> Self:
        """Return what a tagger would learn from, if some of it is held out."""
        if task.held is None:
            raise InputError(
                "a search needs documents to judge by: give more documents, hold out a larger "
                "share of them (validation), or give a file of held-out ones (--valid)"
            )
        learned = task.learned
        return cls(learned.labels, learned.featurizers, task.train, task.held, task.hash_fractions)

    def own_part(self) -> tuple[Data, Data | None]:
        """Return the documents to fit on, and those by which a model itself stops early.

        They are a tenth of the training documents: what judges a trial has no part in it.
        """
        own = self.hash_fractions >= np.quantile(self.hash_fractions, 1 - OWN)
        if own.sum() < 5 or own.all():
            return self._rows(np.ones(len(own), bool)), None
        return self._rows(~own), self._rows(own)

    def first_part(self) -> Data | None:
        """Return a quarter of the documents to fit on, or None where they are too few."""
        if len(self.hash_fractions) < FEWEST:
            return None
        return self._rows(self.hash_fractions <= np.quantile(self.hash_fractions, RUNG))

    def _rows(self, mask: NDArray[np.bool_]) -> Data:
        X, Y = self.train
        return X[np.flatnonzero(mask)], Y[np.flatnonzero(mask)]

    def whole(self) -> Data:
        """Return all documents to fit on."""
        return self._rows(np.ones(len(self.hash_fractions), bool))

    def held_out(self) -> Data:
        """Return the documents to score on."""
        rows = np.arange(self.held[1].shape[0])
        return self.held[0][rows], self.held[1][rows]

    def checksum(self) -> str:
        """Return a checksum of documents and labels."""
        digest = hashlib.blake2b("\n".join(self.labels.ids).encode("utf-8", "surrogatepass"))
        for X, Y in (self.train, self.held):
            for array in (*_arrays(X), Y.indptr, Y.indices):
                digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()[:32]

    # --- on disk ------------------------------------------------------------------------------

    def write(self, folder: Path) -> None:
        """Write all of it into a new folder."""
        values: dict[str, Any] = {"hash_fractions": self.hash_fractions}
        for name, (X, Y) in (("train", self.train), ("held", self.held)):
            values[f"{name}.labels"] = Y
            views = X if isinstance(X, Views) else {next(iter(self.featurizers)): X}
            values |= {f"{name}.of.{view}": views[view] for view in views}
        storage.write_values(folder, {"views": list(self.featurizers), **values})
        self.labels.write(folder / "labels")
        for view, part in self.featurizers.items():
            part.write(folder / "features" / view)

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read what `write` wrote; arrays stay on the disk until they are used."""
        values = storage.read_values(folder)
        names = values["views"]

        def data(name: str) -> Data:
            views = {view: values[f"{name}.of.{view}"] for view in names}
            X = next(iter(views.values())) if len(views) == 1 else Views(views)
            return X, values[f"{name}.labels"]

        return cls(
            LabelSpace.read(folder / "labels"),
            {view: FEATURIZERS.read(folder / "features" / view) for view in names},
            data("train"),
            data("held"),
            np.array(values["hash_fractions"]),
        )


def _arrays(X: Features) -> list[NDArray[Any]]:
    """Return the arrays that say which terms a text has; weights follow from them."""
    if isinstance(X, Views):
        return [array for view in X for array in _arrays(X[view])]
    if isinstance(X, np.ndarray):
        return [X]
    return [X.tokens, X.offsets] if isinstance(X, TokenSequences) else [X.indptr, X.indices]
