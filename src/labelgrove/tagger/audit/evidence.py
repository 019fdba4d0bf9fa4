"""What speaks for and against a label of a document, as a table of pairs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelgrove.models.logistic import log_odds
from labelgrove.models.neighbours.memory import Nearest
from labelgrove.tagger.audit.companions import LabelCompanions
from labelgrove.tagger.audit.folds import OutOfFold, entries_of

POWER = 1.5  # the vote of a neighbour is its cosine to this power
FAINT = 0.02  # share of the neighbours' votes from which on a label may be missing
LEAST = 1e-4  # a model's scores below this say the same
COLUMNS = (
    "score",  # log odds by the model that left the document out
    "named",  # whether it named the label at all
    "votes",  # log odds of the share of similar documents that have the label
    "voted",
    "companions",  # log of the largest share of another label's documents with this label
    "lift",
    "frequency",  # log of the label's share of all documents
    "best",  # log odds of the document's best label by the model
    "nearest",  # cosine of the most similar document
    "nearest has it",  # the same, negative if that document lacks the label
)

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class LabelPairs:
    """Pairs of a document and a label, ascending, with what is known of them.

    Parameters
    ----------
    texts, labels
        Numbers of the document and the label, shapes (m,).
    given
        Whether the document has the label, shape (m,).
    table
        What is known, shape (m, len(`COLUMNS`)), float32.
    """

    texts: Ints
    labels: Ints
    given: NDArray[np.bool_]
    table: NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class AuditEvidence:
    """All that pairs of a document and a label are judged by.

    Parameters
    ----------
    Y
        The labels as they are given, shape (n, L).
    scores
        Of the models.
    nearest
        The documents that are most like each, shape (n, k).
    """

    Y: csr_array
    scores: OutOfFold
    nearest: Nearest

    def candidates(self, rows: Ints, more: Ints | None = None) -> Ints:
        """Return what may be wrong or missing in some documents: keys ``document * L + label``.

        These are all labels that they have, those that a model or similar documents name, and
        ``more``; ascending.
        """
        width = self.Y.shape[1]
        ranked = self.scores.ranking.labels[rows]
        named = (rows[:, None] * width + ranked)[ranked >= 0]
        votes = self.votes(rows)
        voted = votes[0][votes[1] > FAINT]
        parts = [named, voted, self._given_keys(rows), *([] if more is None else [more])]
        keys: Ints = np.unique(np.concatenate(parts))
        return keys

    def pairs(self, rows: Ints, keys: Ints, companions: LabelCompanions) -> LabelPairs:
        """Return what is known of pairs of some documents.

        Parameters
        ----------
        rows
            The documents, ascending.
        keys
            The pairs, ascending.
        companions
            Of documents of other folds.
        """
        texts, labels = np.divmod(keys, self.Y.shape[1])
        given_keys = self._given_keys(rows)
        given = np.isin(keys, given_keys, assume_unique=True)
        score, named = self.scores_of(rows, keys)
        vote_keys, vote = self.votes(rows)
        votes, voted = _looked_up(vote_keys, vote, keys)
        first = self.nearest.documents[texts, 0].astype(np.int64)
        near = np.where(first >= 0, self.nearest.similarities[texts, 0], 0.0)
        of_near = self._given_keys(np.unique(first[first >= 0]))
        has = np.isin(first * self.Y.shape[1] + labels, of_near) & (first >= 0)
        together = companions.columns(self.Y, texts, labels)
        usual, voters = np.exp(together[:, 2]), self.nearest.documents.shape[1]
        columns = [
            log_odds(np.maximum(score, LEAST)),
            named,
            log_odds((votes * voters + usual) / (voters + 1)),
            voted,
            *together.T,
            log_odds(self.scores.ranking.scores[texts, 0]),
            near,
            np.where(has, near, -near),
        ]
        table = np.stack(columns, axis=1, dtype=np.float32, casting="unsafe")
        return LabelPairs(texts, labels, given, table)

    def votes(self, rows: Ints) -> tuple[Ints, NDArray[np.float32]]:
        """Return the share of similar documents that have each label, as keys and shares, (m,)."""
        near = self.nearest.documents[rows]
        weights = np.where(near >= 0, self.nearest.similarities[rows], 0.0) ** POWER
        weights /= np.maximum(weights.sum(axis=1, keepdims=True), 1e-9)
        places = near >= 0
        starts = np.concatenate([[0], np.cumsum(places.sum(axis=1))])
        shape = (len(rows), self.Y.shape[0])
        shares = csr_array(csr_array((weights[places], near[places], starts), shape=shape) @ self.Y)
        shares.sort_indices()
        owners = np.repeat(rows, np.diff(shares.indptr))
        return owners * self.Y.shape[1] + shares.indices, shares.data.astype(np.float32)

    def _given_keys(self, rows: Ints) -> Ints:
        owners = np.repeat(rows, np.diff(self.Y.indptr)[rows])
        keys: Ints = owners * self.Y.shape[1] + self.Y.indices[entries_of(self.Y, rows)]
        return keys

    def scores_of(self, rows: Ints, keys: Ints) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """Return the model's score of pairs of some documents, and whether it named the label.

        Parameters
        ----------
        rows
            The documents.
        keys
            The pairs, shape (m,), as are both results.
        """
        labels = self.scores.ranking.labels[rows]
        places = labels >= 0
        entries = entries_of(self.Y, rows)
        named = self.scores.named[entries]
        ranked = (rows[:, None] * self.Y.shape[1] + labels)[places]
        known = np.concatenate([ranked, self._given_keys(rows)[named]])
        scores = [self.scores.ranking.scores[rows][places], self.scores.given[entries[named]]]
        order = np.argsort(known, kind="stable")
        return _looked_up(known[order], np.concatenate(scores)[order], keys)


def _looked_up(
    known: Ints, values: NDArray[np.float32], keys: Ints
) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Return the value of each key, 0 where it is not known, and whether it is, shapes (m,)."""
    if not len(known):
        return np.zeros(len(keys), np.float32), np.zeros(len(keys), np.bool_)
    places = np.minimum(np.searchsorted(known, keys), len(known) - 1)
    there = known[places] == keys
    return np.where(there, values[places], np.float32(0.0)), there
