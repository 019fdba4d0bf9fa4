"""The two things that learn: `Featurizer` (texts to features) and `Classifier` (to rankings).

Both work as scikit-learn estimators: constructor arguments are the configuration and are stored
as they are given, learned state ends in ``_``, ``fit`` returns ``self``. Both save themselves:
by default every attribute that ends in ``_`` is written by `labelgrove.core.storage`.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from labelgrove.core import checks, storage
from labelgrove.core.configured import Configured
from labelgrove.core.errors import DamagedError, InputError, NotFittedError
from labelgrove.core.features import Features, View
from labelgrove.core.progress import Progress, Silent
from labelgrove.core.ranking import Ranking, ndcg
from labelgrove.core.settings import SEED, THREADS
from labelgrove.core.types import (
    Estimate,
    Explanation,
    FitContext,
    NetworkFile,
    Span,
    ViewSpec,
)


class Part(Configured, ABC):
    """Something with settings and learned state that can be saved and loaded.

    Attributes
    ----------
    name
        The name under which a registry knows the class; saved files hold it.
    """

    name: ClassVar[str] = ""

    def save(self, folder: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the part to a folder of its own; a crash leaves the old folder or none."""
        self.check_fitted()
        about = {"part": self.name, "settings": self.get_params(deep=False)}
        with storage.writing(folder, about, overwrite=overwrite) as temporary:
            self.write(temporary)

    @classmethod
    def load(cls, folder: str | os.PathLike[str], *, verify: bool = True) -> Self:
        """Read a part that `save` wrote."""
        return storage.read_folder(folder, lambda place, _: cls.read(place), verify=verify)

    def write(self, folder: Path) -> None:
        """Write settings and state into an open folder, which may be part of a larger one."""
        storage.write_values(
            folder,
            {"part": self.name, "settings": self.get_params(deep=False), **self.state()},
        )

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read what `write` wrote."""
        values = storage.read_values(folder)
        if values.pop("part", None) != cls.name:
            raise InputError(f"{folder} does not hold a {cls.name!r}")
        with checks.reading(folder):
            part = cls._with_settings(folder, values.pop("settings"))
            part.set_state(values)
            part.check_state()
        return part

    @classmethod
    def _with_settings(cls, folder: Path, settings: Any) -> Self:
        """Return a part with settings of a folder, of which nobody knows who wrote them."""
        if not isinstance(settings, dict):
            raise ValueError(f"settings must be a table, got {settings!r:.60}")
        if unknown := [name for name in settings if name not in cls.setting_names()]:
            raise DamagedError(
                f"{folder} has settings that {cls.name!r} lacks ({unknown[0]}), as another version "
                "of labelgrove wrote it: train it again"
            )
        part = cls(**settings)
        part.check_values()
        return part

    def state(self) -> dict[str, Any]:
        """Return the learned state: every attribute that ends in ``_``."""
        return {name: value for name, value in vars(self).items() if _is_learned(name)}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Take over a state that `state` returned; arrays in it may be read-only."""
        for name, value in state.items():
            setattr(self, name, value)

    def check_state(self) -> None:
        """Refuse a state that was loaded and does not hold together.

        A subclass checks here, by `labelgrove.core.checks`, every index, offset, shape and type of
        number that its kernels rely on.
        """

    def check_fitted(self) -> None:
        """Raise `NotFittedError` unless the part has learned."""
        # names first: gathering the state takes longer than ranking a short text should
        if not any(map(_is_learned, vars(self))) and not self.state():
            raise NotFittedError(
                f"this {self.name or type(self).__name__} has not learned yet: call fit first"
            )


class Featurizer(Part):
    """Turns texts into features.

    Attributes
    ----------
    keeps_features
        True if its work is worth keeping on disk: a training that goes on after an interruption
        finds the features there.
    needs_texts
        False if it learns nothing from texts, so that it can be fitted without any.
    progress
        Where long work is shown and warnings are said; nowhere, unless a training sets it.
    """

    keeps_features: ClassVar[bool] = False
    needs_texts: ClassVar[bool] = True
    progress: Progress = Silent()

    threads: int | None = THREADS

    @abstractmethod
    def fit(self, texts: Iterable[str], labels: object = None) -> Self:
        """Learn from texts, read once or more; ``labels`` is there for pipelines and unused."""

    @abstractmethod
    def transform(self, texts: Iterable[str]) -> View:
        """Turn texts into features, a row each."""

    def fit_transform(self, texts: Iterable[str], labels: object = None) -> Any:
        """Learn from texts and turn them into features; ``texts`` is read as often as needed."""
        return self.fit(texts).transform(texts)

    @abstractmethod
    def spans(self, text: str) -> list[Span]:
        """Return the characters behind the features of ``text``.

        For sparse features in any order, a feature once for each place; for tokens, the i-th
        span is that of the i-th token.
        """

    def terms(self, columns: Iterable[int] | None = None) -> list[str]:
        """Return the words behind columns of sparse features, all columns by default."""
        raise InputError(f"{self.name} does not know which words its features stand for")


class Classifier(Part):
    """Learns from features and labels, then ranks labels.

    A subclass implements `_fit`, `_rank` and, if it can, `_explain`; `fit`, `rank` and `explain`
    check what is given to them. Every classifier has the settings ``seed`` and ``threads``.

    Attributes
    ----------
    uses_validation
        True if `fit` needs held-out data itself (early stopping). Otherwise `Tagger` fits on a
        part to calibrate, and again on everything.
    reads_text
        False for a dummy that ranks alike whatever the features say.
    ranks_by_name
        True if it can rank labels that no document has, by their names: `Tagger` then makes every
        concept of the vocabulary a label, and there may be no documents at all.
    uses_workers
        False if no part of its training can be done by the workers of a `Run`.
    remembers
        True if it keeps documents and `remember` can add some, also of new labels, without
        training. `Tagger` tells it how texts begin, so that it can show them.
    most_held_out
        Held-out documents that `Tagger` may rank in training at most, where ranking costs more
        than time; None for all.
    n_labels_
        Width of Y.
    """

    uses_validation: ClassVar[bool] = False
    reads_text: ClassVar[bool] = True
    ranks_by_name: ClassVar[bool] = False
    uses_workers: ClassVar[bool] = True

    remembers: bool = False
    most_held_out: int | None = None

    seed: int = SEED
    threads: int | None = THREADS
    n_labels_: int

    def check_state(self) -> None:
        """Refuse a number of labels that is none."""
        checks.whole("n_labels_", self.n_labels_, least=1, most=2**31 - 1)

    def check_needs(self) -> None:
        """Refuse, before texts are read, what training needs and cannot have, such as a file."""

    def views(self) -> dict[str, ViewSpec]:
        """Return the views of the text it asks for; with several, X is a `Views`.

        A fitted model may need fewer than it asked for.
        """
        return {"text": ViewSpec("tf-idf")}

    def fit(self, X: Features, Y: csr_array, *, context: FitContext | None = None) -> Self:
        """Learn from features (n, D) and binary labels (n, L)."""
        self.check_settings()
        Y = check_labels(Y, X, may_be_empty=self.ranks_by_name)
        self._fit(X, Y, _checked(context, X))
        self.n_labels_ = int(Y.shape[1])
        return self

    @property
    def refits(self) -> bool:
        """Whether `refit` of this fitted model learns anything from more documents."""
        return not self.uses_validation

    def refit(self, X: Features, Y: csr_array, *, context: FitContext | None = None) -> Self:
        """Return a model that learns from all documents what this one learned from some of them.

        A model may keep what it chose, such as a setting, instead of choosing again. One that
        needs held-out documents keeps what it learned with them, and only its parts that do not
        need them learn again.
        """
        self.check_fitted()
        return self.fresh().fit(X, Y, context=context)

    def for_parts(self, X: Features, Y: csr_array) -> Self:
        """Return an unfitted copy that learns parts of these documents in the shape of them all.

        A model that shapes itself by the number of documents is judged as it will be used then.
        """
        return self.fresh()

    def rank(self, X: Features, k: int = 10) -> Ranking:
        """Return the best k labels of each row with their probabilities, k at most L."""
        self.check_fitted()
        if not isinstance(k, int | np.integer) or isinstance(k, bool) or k < 1:
            raise InputError(f"k must be a whole number from 1, got {k!r}")
        return self._rank(X, min(k, self.n_labels_))

    def remember(self, X: Features, Y: csr_array, *, context: FitContext | None = None) -> Self:
        """Return a model that also knows these documents; this one stays as it is.

        Parameters
        ----------
        X
            Features (n, D) by the featurizers that it was trained with.
        Y
            Labels (n, at least L): columns from L on are labels that it did not know.
        context
            The label space of Y, the featurizers, how the texts begin.
        """
        self.check_fitted()
        self.check_remembers()
        Y = check_labels(Y, X)
        if Y.shape[1] < self.n_labels_:
            raise InputError(f"Y has {Y.shape[1]} columns, but {self.n_labels_} labels are known")
        found = self._remember(X, Y, _checked(context, X))
        found.n_labels_ = int(Y.shape[1])
        return found

    def check_remembers(self) -> None:
        """Refuse, before texts are read, to `remember` what cannot be remembered."""
        if not self.remembers:
            raise InputError(
                f"{self.name} keeps no documents, so none can be added without training: train it "
                "again, or use knn or treaderxml"
            )

    def remembered(self) -> Iterable[str]:
        """Return how the documents that it remembers begin, where that is known."""
        return ()

    def _remember(self, X: Features, Y: csr_array, context: FitContext) -> Self:
        """Return a new model; X and Y have been checked."""
        raise NotImplementedError

    def estimate(self, X: Features, Y: csr_array, context: FitContext) -> Estimate:
        """Tell what `fit` with the same arguments would take, after a short trial."""
        self.check_estimates()
        raise NotImplementedError

    def check_estimates(self) -> None:
        """Refuse, before texts are read, to `estimate` where the model cannot tell."""
        if type(self).estimate is Classifier.estimate:
            raise InputError(
                f"{self.name} cannot tell in advance what its training takes: train it on a part "
                "of the documents to see how long that takes"
            )

    def explain(self, X: Features, i: int, label: int) -> Explanation:
        """Return how much each feature or token of row ``i`` spoke for ``label``."""
        self.check_fitted()
        if not 0 <= i < X.shape[0]:
            raise InputError(f"row {i} of X, which has {X.shape[0]:,} rows")
        if not 0 <= label < self.n_labels_:
            raise InputError(f"label {label} of a model that knows {self.n_labels_:,} labels")
        return self._explain(X, i, label)

    def explain_label(self, label: int) -> Explanation:
        """Return the features that speak for a label or against it in any text."""
        self.check_fitted()
        if not 0 <= label < self.n_labels_:
            raise InputError(f"label {label} of a model that knows {self.n_labels_:,} labels")
        return self._explain_label(label)

    def why_no_onnx(self) -> str:
        """Return why this fitted model cannot be an ONNX file; empty if it can."""
        return "it is no neural network"

    def write_onnx(self, file: Path, x: NDArray[np.float64], y: NDArray[np.float64]) -> NetworkFile:
        """Write what leads from tokens to probabilities of all labels as an ONNX file.

        Parameters
        ----------
        file
            The file to write; large weights go to another one beside it.
        x, y
            The knots of the calibration, shape (m,), which becomes a part of the network.
        """
        self.check_fitted()
        if why := self.why_no_onnx():
            raise InputError(f"this {self.name} cannot be exported: {why}")
        return self._write_onnx(file, x, y)

    def _write_onnx(
        self, file: Path, x: NDArray[np.float64], y: NDArray[np.float64]
    ) -> NetworkFile:
        """Write the file; this model can."""
        raise NotImplementedError

    def sends_to(self) -> list[str]:
        """Return the addresses to which texts are sent when they are ranked."""
        return []

    def take_notes(self) -> list[str]:
        """Return what a user should know of the rankings made since this was called last.

        A note on worse rankings is a `labelgrove.core.progress.QualityNote`, which is also shown
        where all else is quiet.
        """
        return []

    def score(self, X: Features, Y: csr_array) -> float:
        """Return the mean nDCG@5."""
        return float(ndcg(self.rank(X, 5), check_labels(Y, X), 5).mean())

    @abstractmethod
    def _fit(self, X: Features, Y: csr_array, context: FitContext) -> None:
        """Learn; X and Y have been checked."""

    @abstractmethod
    def _rank(self, X: Features, k: int) -> Ranking:
        """Rank; 1 <= k <= L."""

    def _explain(self, X: Features, i: int, label: int) -> Explanation:
        """Explain; the row and the label exist."""
        raise InputError(
            f"{self.name} cannot explain its rankings; combine it with a model that can, such as "
            "bonsai, or ask that"
        )

    def _explain_label(self, label: int) -> Explanation:
        """Explain a label without a text; the label exists."""
        raise InputError(
            f"{self.name} has no weights of words for a label: explain a text, or ask a linear "
            "model such as bonsai, or a grove"
        )

    @classmethod
    def example_settings(cls, folder: Path) -> dict[str, Any]:
        """Return settings small enough to learn in seconds; files they need go to ``folder``."""
        return {}


def _is_learned(name: str) -> bool:
    return name.endswith("_") and not name.startswith("_")


def _checked(context: FitContext | None, X: Features) -> FitContext:
    """Return the context, an empty one by default, if it is that of these rows."""
    context = context or FitContext()
    if context.documents is not None and len(context.documents) != X.shape[0]:
        raise InputError(
            f"X has {X.shape[0]} rows, the context tells how {len(context.documents)} texts begin"
        )
    return context


def check_labels(Y: Any, X: Features, *, may_be_empty: bool = False) -> csr_array:
    """Return Y as a binary float32 csr array, or say what is wrong with it.

    Parameters
    ----------
    Y, X
        Labels (n, L) and features of as many documents.
    may_be_empty
        Allow labels without any document.
    """
    if not issparse(Y):
        raise InputError("Y must be a sparse matrix of documents x labels")
    Y = csr_array(Y, dtype=np.float32, copy=True)
    if not (Y.data >= 0).all():
        raise InputError("Y holds numbers below 0 or none at all (NaN); a label is 1 or absent")
    if Y.shape[0] != X.shape[0]:
        raise InputError(f"X has {X.shape[0]} rows, Y has {Y.shape[0]}")
    if not Y.shape[1] or not (Y.shape[0] or may_be_empty):
        raise InputError(f"nothing to learn from: {Y.shape[0]} documents, {Y.shape[1]} labels")
    Y.sum_duplicates()
    Y.eliminate_zeros()
    Y.data[:] = 1.0
    return Y
