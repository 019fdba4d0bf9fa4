"""What a model says of documents that it did not learn from, and where that is kept."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from labelgrove._version import __version__
from labelgrove.core import storage
from labelgrove.core.durability import put_in_place
from labelgrove.core.errors import InputError
from labelgrove.core.estimator import Classifier, Part
from labelgrove.core.features import Features
from labelgrove.core.progress import Silent
from labelgrove.core.ranking import Ranking
from labelgrove.core.types import FitContext, Run
from labelgrove.models import MODELS
from labelgrove.models.members import own_context, own_views
from labelgrove.models.neighbours.memory import Nearest
from labelgrove.models.shares import different, shares_of
from labelgrove.tagger import batches

DEPTH = 200  # labels ranked of each document: what is given is looked for among them
CANDIDATES = 30  # labels of each document that may be missing
COPY = 0.9  # a cosine from which on documents are nearly equal
LARGEST = 0.1  # share of all documents that may be kept together as copies of one another


@dataclass(frozen=True, eq=False)
class OutOfFold:
    """Scores of documents by models that did not learn from them.

    Parameters
    ----------
    shares
        The fold in which each document was left out, shape (n,).
    ranking
        The best labels of each document, (n, `CANDIDATES`).
    given, named
        The score of each label that is given, in the order of ``Y.indices``, 0 if it is not among
        the best `DEPTH`; and whether it is, shapes (nnz,).
    """

    shares: NDArray[np.int64]
    ranking: Ranking
    given: NDArray[np.float32]
    named: NDArray[np.bool_]

    @property
    def folds(self) -> int:
        """Number of folds."""
        return int(self.shares.max()) + 1


def near_copies(nearest: Nearest, exact: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for each document the first one that is nearly equal to it, shape (n,).

    What is nearly equal to a copy is a copy too. Where too many would be, as with texts that are
    written after one pattern, only equal ones are.

    Parameters
    ----------
    nearest
        The documents that are most like each.
    exact
        For each the first document with the same features, as `copies_of` returns.

    Examples
    --------
    >>> near = Nearest(np.array([[1], [0], [1]]), np.array([[0.95], [0.95], [0.5]]))
    >>> near_copies(near, np.arange(3)).tolist()
    [0, 0, 2]
    """
    n = len(nearest)
    own, place = np.nonzero((nearest.documents >= 0) & (nearest.similarities >= COPY))
    owners = np.concatenate([own, np.arange(n)])
    others = np.concatenate([nearest.documents[own, place], exact])
    links = csr_array((np.ones(len(owners), np.int8), (owners, others)), shape=(n, n))
    _, groups = connected_components(links, directed=False)
    _, first, group, sizes = np.unique(
        groups, return_index=True, return_inverse=True, return_counts=True
    )
    many = (sizes > max(LARGEST * n, 2))[group]
    return np.where(many, exact, first[group]).astype(np.int64)


class FoldModels:
    """Models of the folds, trained one after the other and kept in a folder.

    Parameters
    ----------
    model
        Unfitted.
    folder
        Where they are kept; what it holds of the same audit is not computed again.
    """

    def __init__(self, model: Classifier, folder: Path) -> None:
        self._model, self._folder = model, folder
        self._views = {view: view for view in model.views()}

    def out_of_fold(
        self,
        X: Features,
        Y: csr_array,
        copies: NDArray[np.int64],
        hashes: NDArray[np.float64],
        folds: int,
        seed: int,
        context: FitContext,
    ) -> OutOfFold:
        """Rank each document by a model that did not learn from it, nor from a copy of it.

        Parameters
        ----------
        X, Y
            Features and labels (n, L).
        copies
            As `near_copies` returns.
        hashes
            A number for each text by which other texts are noticed, shape (n,).
        folds
            Models, of which each leaves out its share of the documents.
        seed
            Of the shares.
        context
            What models may know of the documents.
        """
        folds = min(folds, different(Y, copies))
        if folds < 2:
            raise InputError(
                "an audit needs at least two different documents with labels: what is said of a "
                "document must not come from itself"
            )
        shares = shares_of(Y, folds, seed, copies)
        own = own_views(X, self._views)
        model = self._model.for_parts(own, Y)
        about = _fingerprint(model, Y, shares, hashes, context)
        n, k = Y.shape[0], min(CANDIDATES, Y.shape[1])
        found = Ranking.empty(n, k)
        given, named = np.zeros(Y.nnz, np.float32), np.zeros(Y.nnz, np.bool_)
        with context.run.progress.task("models that leave a part out", folds, "fits") as shown:
            for fold in range(folds):
                rows = np.flatnonzero(shares == fold)
                values = self._known(fold, about)
                if values is None:
                    values = self._fold(model, own, Y, shares, fold, context)
                    self._keep(fold, values, about)
                places = entries_of(Y, rows)
                found.labels[rows], found.scores[rows] = values["labels"], values["scores"]
                given[places], named[places] = values["given"], values["named"]
                shown.advance()
        return OutOfFold(shares, found, given, named)

    def read(self, fold: int) -> Classifier:
        """Return the model that left out a fold."""
        return MODELS.read(self._folder / f"fold{fold + 1}" / "model")

    def own_views(self, X: Features) -> Features:
        """Return what the models read."""
        return own_views(X, self._views)

    def _fold(
        self,
        model: Classifier,
        X: Features,
        Y: csr_array,
        shares: NDArray[np.int64],
        fold: int,
        context: FitContext,
    ) -> dict[str, Any]:
        rest, left = np.flatnonzero(shares != fold), np.flatnonzero(shares == fold)
        own = own_context(context, self._views, f"fold{fold + 1}", rest)
        quiet = FitContext(own.labels, own.featurizers, None, own.documents, Run(progress=Silent()))
        fitted = model.fresh().fit(X[rest], Y[rest], context=quiet)
        place = self._folder / f".model{fold + 1}"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        fitted.write(place)
        tops: list[Ranking] = []
        scores: list[NDArray[np.float32]] = []
        for part in batches.of_rows(len(left)):
            rows = left[part]
            ranking = fitted.rank(X[rows], min(DEPTH, Y.shape[1]))
            scores.append(_scores_of_given(ranking, Y[rows]))
            tops.append(ranking.top(CANDIDATES))
        top = Ranking.concatenate(tops).pad(min(CANDIDATES, Y.shape[1]))
        given = np.concatenate(scores)
        named = ~np.isnan(given)
        return {
            "labels": top.labels,
            "scores": top.scores,
            "given": np.where(named, given, np.float32(0.0)),
            "named": named,
        }

    def _known(self, fold: int, about: str) -> dict[str, Any] | None:
        place = self._folder / f"fold{fold + 1}"
        if not place.exists():
            return None
        values = storage.read_values(place / "values")
        if values["fingerprint"] != about:
            raise InputError(
                f"{self._folder} holds an audit of other documents or with other settings that "
                "did not end: give those again, or begin anew with --overwrite"
            )
        return values

    def _keep(self, fold: int, values: dict[str, Any], about: str) -> None:
        temporary = self._folder / f".fold{fold + 1}"
        shutil.rmtree(temporary, ignore_errors=True)
        storage.write_values(temporary / "values", {**values, "fingerprint": about})
        (self._folder / f".model{fold + 1}").rename(temporary / "model")
        put_in_place(temporary, self._folder / f"fold{fold + 1}")


def entries_of(Y: csr_array, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where the labels of some documents lie in ``Y.indices``, shape (m,)."""
    many = np.diff(Y.indptr)[rows]
    within = np.arange(int(many.sum())) - np.repeat(np.cumsum(many) - many, many)
    found: NDArray[np.int64] = np.repeat(Y.indptr[rows], many) + within
    return found


def _scores_of_given(ranking: Ranking, Y: csr_array) -> NDArray[np.float32]:
    """Return the score of each label in Y (n, L), NaN if it is not ranked, shape (nnz,)."""
    found = np.full(Y.nnz, np.nan, np.float32)
    width = int(Y.shape[1])
    texts, places = np.nonzero(ranking.labels >= 0)
    keys = texts * width + ranking.labels[texts, places]
    order = np.argsort(keys)
    wanted = np.repeat(np.arange(Y.shape[0]), np.diff(Y.indptr)) * width + Y.indices
    if not len(keys):
        return found
    at = np.minimum(np.searchsorted(keys[order], wanted), len(keys) - 1)
    same = keys[order[at]] == wanted
    found[same] = ranking.scores[texts, places][order[at[same]]]
    return found


def _fingerprint(
    model: Classifier,
    Y: csr_array,
    shares: NDArray[np.int64],
    hashes: NDArray[np.float64],
    context: FitContext,
) -> str:
    """Return what changes with the model, the documents, how they are read, and their folds."""
    digest = blake2b(digest_size=16)
    views = sorted(context.featurizers.items())
    parts = [(view, part.name, _settings(part)) for view, part in views]
    names = [] if context.labels is None else [*context.labels.names]
    about = (__version__, model.name, _settings(model), parts, Y.shape, names)
    digest.update(repr(about).encode("utf-8", "surrogatepass"))
    for array in (Y.indptr, Y.indices, shares, hashes):
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def _settings(part: Part) -> list[tuple[str, Any]]:
    return sorted((k, v) for k, v in part.get_params(deep=False).items() if k != "threads")
