"""The learned ranker: logistic regression over all candidates, boosted trees over the best."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelgrove.core import checks
from labelgrove.core.random import generator
from labelgrove.core.ranking import ndcg
from labelgrove.models.grove.boosting import BoostedTrees, grow, lightgbm
from labelgrove.models.grove.evidence import CandidateEvidence
from labelgrove.models.logistic import logistic, sigmoid

BEST = 20  # candidates of a text that boosted trees judge
ROUNDS = 150  # trees at most
FEWEST = 50  # documents from which boosted trees are worth a trial
STRENGTH = 10.0  # how firmly the logistic regression is drawn towards these
ROWS = 60_000  # candidates that the logistic regression learns from at most

# Weights of columns as far as documents do not tell; other columns have none. Those of names were
# tried on five sets with 0 to 50 documents: see benchmarks/LOG.md.
UNLEARNED = {
    "tree score": 0.5,
    "neighbours score": 0.3,
    "similar-meaning score": 0.3,
    "names score": 0.6,
    "names absent": -2.0,
    "names-by-meaning score": 0.6,
    "names-by-meaning absent": -0.5,
}

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Ranker:
    """Gives each candidate the probability that it is right.

    Parameters
    ----------
    columns
        Names of the columns of the evidence, D of them.
    mean, scale
        Of each column among the training candidates, shapes (D,).
    weights
        Of the logistic regression over columns less mean, by scale, and a constant, shape (D + 1,).
    trees
        What is added to the log odds of the best candidates; None if that does not help.
    """

    columns: tuple[str, ...]
    mean: Floats
    scale: Floats
    weights: Floats
    trees: BoostedTrees | None = None

    @classmethod
    def unlearned(cls, columns: tuple[str, ...]) -> Self:
        """Return a ranker for makers whose candidates no document has judged."""
        weights = np.array([*(UNLEARNED.get(column, 0.0) for column in columns), 0.0])
        return cls(columns, np.zeros(len(columns)), np.ones(len(columns)), weights)

    @classmethod
    def learn(cls, evidence: CandidateEvidence, true: NDArray[np.bool_], seed: int) -> Self:
        """Learn the logistic regression, drawn towards the weights of `unlearned`.

        Parameters
        ----------
        evidence
            m candidates.
        true
            Which of them are right, shape (m,).
        seed
            Of the candidates that are drawn where there are very many.
        """
        table, wanted = evidence.table, true
        if len(table) > ROWS:
            drawn = generator(seed, "ranker").permutation(len(table))[:ROWS]
            table, wanted = table[drawn], wanted[drawn]
        mean = table.mean(axis=0, dtype=np.float64)
        scale = table.std(axis=0, dtype=np.float64) + 1e-6
        start = cls.unlearned(evidence.columns).weights
        start[-1] = start[:-1] @ mean
        start[:-1] *= scale  # the same weights for columns in other units
        inputs = _inputs(table, mean, scale)
        weights = logistic(inputs, wanted.astype(np.float64), start, STRENGTH)
        return cls(evidence.columns, mean, scale, weights)

    def boosted(
        self,
        evidence: CandidateEvidence,
        true: NDArray[np.bool_],
        Y: csr_array,
        seed: int,
    ) -> Self:
        """Return the ranker with boosted trees, or itself where held-out texts gain nothing.

        Every fourth text is held out to find the number of trees; all are used in the end.

        Parameters
        ----------
        evidence, true
            The candidates of n texts, and which of them are right, shape (m,).
        Y
            Labels of the texts, shape (n, L).
        seed
            Of the trees.
        """
        library = lightgbm()
        if library is None or Y.shape[0] < FEWEST:
            return self
        odds = self.log_odds(evidence)
        kept = evidence.best(odds, BEST)
        evidence, true, odds = evidence[kept], true[kept], odds[kept]
        held = generator(seed, "ranker held out").permutation(Y.shape[0]) % 4 == 0
        out = held[evidence.texts]
        trial = grow(library, evidence.table, true, odds, ROUNDS, held=out, seed=seed)
        own = evidence[out]
        before = own.ranking(odds[out], Y.shape[0], 5)
        after = own.ranking(odds[out] + trial.predict(own.table), Y.shape[0], 5)
        if ndcg(after, Y, 5)[held].mean() <= ndcg(before, Y, 5)[held].mean():
            return self
        rounds = len(trial.roots)
        return replace(self, trees=grow(library, evidence.table, true, odds, rounds, seed=seed))

    @property
    def is_learned(self) -> bool:
        """Whether documents had a part in it."""
        return not np.array_equal(self.weights, type(self).unlearned(self.columns).weights)

    def log_odds(self, evidence: CandidateEvidence) -> Floats:
        """Return the log odds by logistic regression alone, shape (m,)."""
        return _inputs(evidence.table, self.mean, self.scale) @ self.weights

    def chances(self, evidence: CandidateEvidence) -> Floats:
        """Return the probability of each candidate, shape (m,)."""
        odds = self.log_odds(evidence)
        if self.trees is not None:
            kept = evidence.best(odds, BEST)
            odds[kept] += self.trees.predict(evidence.table[kept])
        return sigmoid(odds)

    def shares(self, evidence: CandidateEvidence) -> Floats:
        """Return what each column adds to the log odds of each candidate, shape (m, D)."""
        shares: Floats = _inputs(evidence.table, self.mean, self.scale)[:, :-1] * self.weights[:-1]
        if self.trees is not None:
            kept = evidence.best(self.log_odds(evidence), BEST)
            shares[kept] += self.trees.shares(evidence.table[kept])
        return shares

    def check(self) -> None:
        """Refuse, of a file, weights of other columns."""
        n = len(checks.texts("ranker.columns", self.columns))
        for name, length in (("mean", n), ("scale", n), ("weights", n + 1)):
            checks.array(f"ranker.{name}", getattr(self, name), np.float64, (length,))
            checks.finite(f"ranker.{name}", getattr(self, name))
        if not self.scale.all():
            raise ValueError("ranker.scale must not be 0")
        if self.trees is not None:
            self.trees.check(n)

    def state(self) -> dict[str, Any]:
        """Return all that is needed to have it again."""
        trees = {} if self.trees is None else self.trees._asdict()
        return {
            "columns": list(self.columns),
            "mean": self.mean,
            "scale": self.scale,
            "weights": self.weights,
            **{f"trees.{name}": value for name, value in trees.items()},
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """Return the one that had this state."""
        trees = None
        if "trees.roots" in state:
            trees = BoostedTrees(*(state[f"trees.{name}"] for name in BoostedTrees._fields))
        return cls(tuple(state["columns"]), state["mean"], state["scale"], state["weights"], trees)


def _inputs(table: NDArray[np.float32], mean: Floats, scale: Floats) -> Floats:
    """Return the columns less their mean, by their scale, and a constant, shape (m, D + 1)."""
    inputs: Floats = np.ones((len(table), table.shape[1] + 1))
    inputs[:, :-1] = (table - mean) / scale
    return inputs
