"""What makers say of training documents that they did not learn from."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from labelgrove.core import storage
from labelgrove.core.durability import put_in_place
from labelgrove.core.errors import InputError
from labelgrove.core.features import Features, TokenSequences, Views
from labelgrove.core.random import generator
from labelgrove.core.ranking import Ranking
from labelgrove.core.types import FitContext
from labelgrove.models.grove.makers import FIRST, Maker
from labelgrove.models.shares import different, shares_of

FEW = 1_000  # documents below which a fifth is left out at a time instead of a third
ENOUGH = 5_000  # documents from which the ranker learns what it can: no more folds are trained
MOST = 10_000  # documents that are ranked at most

Fold: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64]]  # to learn from, and to rank


@dataclass(frozen=True, eq=False)
class FoldRankings:
    """Rankings of training documents by makers that did not learn from them.

    Parameters
    ----------
    rows
        The documents, ascending, shape (m,).
    fold
        In which fold each was left out, shape (m,).
    counts
        Documents of each label that the makers of each fold learned from, shape (folds, L).
    rankings
        Of the m documents, by kind of maker.
    """

    rows: NDArray[np.int64]
    fold: NDArray[np.int64]
    counts: NDArray[np.int64]
    rankings: dict[str, Ranking]

    def of(self, kinds: Iterable[str]) -> FoldRankings:
        """Return the same with the rankings of some makers only."""
        return replace(self, rankings={kind: self.rankings[kind] for kind in kinds})

    def of_documents(self, chosen: NDArray[np.bool_], depth: int) -> FoldRankings:
        """Return the first places of some of the m documents."""
        rankings = {k: ranking[chosen].top(depth) for k, ranking in self.rankings.items()}
        return FoldRankings(self.rows[chosen], self.fold[chosen], self.counts, rankings)


def fold_rows(Y: csr_array, copies: NDArray[np.int64], seed: int) -> list[Fold]:
    """Return for each fold the documents to learn from and those to rank.

    Few documents are all ranked. Of many only some are, by makers that learn from all others, so
    that there is one more training and no more. Copies of a text, as `copies_of` finds them, are
    in the same fold, and one of them is ranked: a ranker that met the copies of few texts again
    and again would learn what holds of these alone.
    """
    n = Y.shape[0]
    folds = 5 if n < FEW else max(3, min(10, n // ENOUGH))
    used = min(folds, -(-ENOUGH * folds // n))
    shares = shares_of(Y, min(folds, different(Y, copies)), seed, copies)
    used = min(used, int(shares.max()) + 1)
    one = copies == np.arange(n)  # of the copies of a text
    pairs = [
        (np.flatnonzero(shares != f), np.flatnonzero((shares == f) & one)) for f in range(used)
    ]
    draw = generator(seed, "documents to rank")  # of all of the corpus, which may be sorted
    return [(rest, np.sort(draw.permutation(left)[: -(-MOST // used)])) for rest, left in pairs]


def rank_folds(
    makers: Sequence[Maker],
    X: Features,
    Y: csr_array,
    folds: Sequence[Fold],
    context: FitContext,
    about: str,
) -> FoldRankings:
    """Train makers on some documents and let them rank the others.

    A maker that has nothing to say, such as one that finds no label's name in any text, says why
    and is left out. Finished rankings are kept in the folder of the run.

    Parameters
    ----------
    makers
        Unfitted.
    X, Y
        All training documents.
    folds
        What `fold_rows` returned.
    context
        That of the grove.
    about
        The settings on which the rankings depend.
    """
    n_labels = Y.shape[1]
    makers = [maker.for_parts(X, Y) for maker in makers]
    kept = _Kept(context, f"{about} {_checksum(X, Y)}" if context.run.folder else "")
    counts = np.stack([np.bincount(Y[rest].indices, minlength=n_labels) for rest, _ in folds])
    parts: dict[str, list[Ranking]] = {maker.kind: [] for maker in makers}
    with context.run.progress.task("comparing makers", len(folds) * len(makers), "fits") as shown:
        for number, (rest, left) in enumerate(folds):
            for maker in makers:
                if maker.kind in parts:
                    step = f"{maker.kind}-fold{number + 1}"
                    ranking = kept.find(step)
                    try:
                        if ranking is None:
                            ranking = maker.fit(X, Y, _silent(context), step, rest).rank(X[left])
                            kept.keep(step, ranking)
                        parts[maker.kind].append(ranking)
                    except InputError as error:
                        if maker.kind == FIRST:
                            raise
                        context.run.progress.say(f"without {maker.kind}: {error}")
                        del parts[maker.kind]
                shown.advance()
    rows = np.concatenate([left for _, left in folds])
    fold = np.repeat(np.arange(len(folds)), [len(left) for _, left in folds])
    order = np.argsort(rows)
    rankings = {kind: Ranking.concatenate(each)[order] for kind, each in parts.items()}
    for kind in [kind for kind in rankings if kind != FIRST]:
        if (rankings[kind].labels < 0).all():
            context.run.progress.say(f"without {kind}: it finds no label in any document")
            del rankings[kind]
    return FoldRankings(rows[order], fold[order], counts, rankings)


class _Kept:
    """Finished rankings in the folder of a run, which a resumed training does not repeat."""

    def __init__(self, context: FitContext, fingerprint: str) -> None:
        folder = context.run.folder
        self._folder = None if folder is None else folder / "rankings"
        self._fingerprint = fingerprint
        if self._folder is not None and not context.run.resume:
            shutil.rmtree(self._folder, ignore_errors=True)

    def find(self, step: str) -> Ranking | None:
        """Return a ranking that was kept, or None."""
        if self._folder is None or not (self._folder / step).exists():
            return None
        values = storage.read_values(self._folder / step)
        if values["fingerprint"] != self._fingerprint:
            raise InputError(
                f"{self._folder.parent} holds a training on other data or with other settings: "
                "give those again, or start anew (resume=False; --overwrite without --resume)"
            )
        return Ranking(np.array(values["labels"]), np.array(values["scores"]))

    def keep(self, step: str, ranking: Ranking) -> None:
        """Keep a ranking."""
        if self._folder is None:
            return
        temporary = self._folder / f".{step}"
        shutil.rmtree(temporary, ignore_errors=True)  # of a run that was killed here
        values = {"labels": ranking.labels, "scores": ranking.scores}
        storage.write_values(temporary, {**values, "fingerprint": self._fingerprint})
        put_in_place(temporary, self._folder / step)


def _silent(context: FitContext) -> FitContext:
    """Return a context whose run shows nothing: makers of folds are shown together."""
    from labelgrove.core.progress import Silent

    return replace(context, run=replace(context.run, progress=Silent()))


def _checksum(X: Features, Y: csr_array) -> str:
    """Return a checksum of features and labels."""
    digest = blake2b(digest_size=16)
    views = [X[view] for view in X] if isinstance(X, Views) else [X]
    for view in [*views, Y]:
        for array in _arrays(view):
            digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def _arrays(view: Any) -> list[NDArray[Any]]:
    if isinstance(view, TokenSequences):
        return [view.tokens, view.offsets]
    return [view.indptr, view.indices, view.data] if issparse(view) else [view]
