"""What the makers say of each candidate label, as a table for the ranker."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelgrove.core.ranking import Ranking, true_pairs
from labelgrove.labels.hierarchy import IntLists
from labelgrove.models.logistic import log_odds, sigmoid

ABSENT = 0.5  # a label that a maker does not name is so much below the last that it names
OF_MAKER = ("score", "place", "absent", "behind")
OF_LABEL = ("documents", "new", "words", "kin")

Ints = NDArray[np.integer[Any]]
Floats = NDArray[np.float32]


class LabelFacts(NamedTuple):
    """What is known of L labels, whatever the text.

    Parameters
    ----------
    counts
        Training documents of each, shape (L,).
    words
        Words of each one's name, shape (L,).
    parents
        Numbers of the concepts above each.
    """

    counts: Ints
    words: Ints
    parents: IntLists


@dataclass(frozen=True, eq=False)
class CandidateEvidence:
    """Candidates of texts with what is known of them, sorted by text, then label.

    Parameters
    ----------
    texts, labels
        The text and the label of each candidate, shapes (m,).
    table
        What is known of each, shape (m, columns), float32.
    columns
        A name for each column, such as ``"tree score"``.
    """

    texts: NDArray[np.int64]
    labels: NDArray[np.int64]
    table: Floats
    columns: tuple[str, ...]

    def __getitem__(self, kept: NDArray[np.bool_]) -> CandidateEvidence:
        return CandidateEvidence(
            self.texts[kept], self.labels[kept], self.table[kept], self.columns
        )

    def truth(self, Y: csr_array) -> NDArray[np.bool_]:
        """Tell which candidates are true labels of Y (n, L), shape (m,)."""
        return true_pairs(Y, self.texts, self.labels)

    def best(self, scores: NDArray[np.floating[Any]], k: int) -> NDArray[np.bool_]:
        """Tell which candidates are among the k best of their text, shape (m,)."""
        order = np.lexsort((-scores, self.texts))
        texts = self.texts[order]
        places = np.arange(len(texts)) - np.searchsorted(texts, texts, side="left")
        found = np.zeros(len(texts), np.bool_)
        found[order[places < k]] = True
        return found

    def surest(self, kinds: Iterable[str]) -> NDArray[np.float64]:
        """Return the largest probability that one of these makers gives, shape (m,)."""
        found = np.zeros(len(self.labels))
        for kind in kinds:
            score, absent = (
                self.table[:, self.columns.index(f"{kind} {what}")] for what in ("score", "absent")
            )
            chance = np.where(absent > 0, 0.0, sigmoid(score.astype(np.float64)))
            found = np.maximum(found, chance)
        return found

    def ranking(self, scores: NDArray[np.floating[Any]], n: int, k: int) -> Ranking:
        """Rank the candidates of n texts by scores, shape (m,)."""
        return Ranking.from_pairs(self.texts, self.labels, scores.astype(np.float32), n, k)


def gather(
    rankings: Mapping[str, Ranking], facts: LabelFacts, fold: Ints | None = None
) -> CandidateEvidence:
    """Put the candidates of several makers into one table.

    Parameters
    ----------
    rankings
        What each maker says of the same n texts.
    facts
        What is known of the labels.
    fold
        Where makers of several folds have ranked the texts: the fold of each, shape (n,).
        ``facts.counts`` then has a row for each fold, shape (folds, L).
    """
    width = facts.counts.shape[-1]
    places = [np.nonzero(ranking.labels >= 0) for ranking in rankings.values()]
    keys = [
        texts * width + ranking.labels[texts, place]
        for ranking, (texts, place) in zip(rankings.values(), places, strict=True)
    ]
    union = np.unique(np.concatenate(keys))
    texts, labels = np.divmod(union, width)
    chances = np.zeros(len(union), np.float32)
    columns: list[NDArray[Any]] = []
    names: list[str] = []
    for number, (kind, ranking) in enumerate(rankings.items()):
        where = np.searchsorted(union, keys[number])
        columns += _said(ranking, places[number], where, texts)
        names += [f"{kind} {what}" for what in OF_MAKER]
        if number == 0:
            chances[where] = ranking.scores[places[number]]
    counts = facts.counts[labels] if fold is None else facts.counts[fold[texts], labels]
    columns += [np.log1p(counts), counts == 0, facts.words[labels]]
    columns.append(_kin(texts, labels, chances, facts.parents))
    names += OF_LABEL
    table = np.stack(columns, axis=1, dtype=np.float32) if len(union) else np.empty((0, len(names)))
    return CandidateEvidence(texts, labels, table.astype(np.float32, copy=False), tuple(names))


def _said(
    ranking: Ranking,
    named: tuple[Ints, ...],
    where: NDArray[np.int64],
    texts: NDArray[np.int64],
) -> list[Floats]:
    """Return the four columns of one maker, each of shape (m,).

    Parameters
    ----------
    ranking
        Of n texts.
    named
        Text and place of each label that it names.
    where
        The candidate that each of them is.
    texts
        The text of each candidate, shape (m,).
    """
    odds = log_odds(ranking.scores)  # of padding those of 0
    last = odds[np.arange(len(odds)), np.bincount(named[0], minlength=len(odds)) - 1]
    score = last[texts] - np.float32(ABSENT)
    place, absent = np.zeros(len(texts), np.float32), np.ones(len(texts), np.float32)
    score[where] = odds[named]
    place[where] = 1 / (1 + named[1])
    absent[where] = 0
    return [score, place, absent, score - odds[texts, 0]]


def _kin(
    texts: NDArray[np.int64], labels: NDArray[np.int64], chances: Floats, parents: IntLists
) -> Floats:
    """Return how likely the candidates are that have a parent in common with each, shape (m,).

    That is the sum of their probabilities by the first maker, of the parent with the most.
    """
    kin = np.zeros(len(labels), np.float32)
    many = parents.offsets[labels + 1] - parents.offsets[labels]
    if not many.any():
        return kin
    owner = np.repeat(np.arange(len(labels)), many)
    within = np.arange(len(owner)) - np.repeat(np.cumsum(many) - many, many)
    above = parents.indices[parents.offsets[labels[owner]] + within].astype(np.int64)
    pairs, where = np.unique(texts[owner] * (int(above.max()) + 1) + above, return_inverse=True)
    mass = np.bincount(where, chances[owner], len(pairs))
    np.maximum.at(kin, owner, (mass[where] - chances[owner]).astype(np.float32))
    return kin
