"""The learned ranker: logistic regression over all candidates, boosted trees over the best."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import ModuleType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelgrove.core.extras import need
from labelgrove.core.random import generator
from labelgrove.core.ranking import ndcg
from labelgrove.models.grove.evidence import Evidence
from labelgrove.models.logistic import logistic, sigmoid

BEST = 30  # candidates of a text that boosted trees judge
ROUNDS = 150  # trees at most
PATIENCE = 10  # rounds without gain after which no more trees are tried
FEWEST = 50  # documents from which boosted trees are worth a trial
LOGISTIC_ROWS = 200_000  # candidates that the logistic regression learns from at most

Floats = NDArray[np.float64]


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
        LightGBM's own text of the boosted trees, whose sum is added to the log odds; empty if
        they do not help.
    """

    def __init__(
        self, columns: tuple[str, ...], mean: Floats, scale: Floats, weights: Floats, trees: str
    ) -> None:
        self.columns, self.mean, self.scale, self.weights = columns, mean, scale, weights
        self.trees = trees
        self._booster: Any = None

    @classmethod
    def learn(cls, evidence: Evidence, true: NDArray[np.bool_], seed: int) -> Self:
        """Learn the logistic regression.

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
        if len(table) > LOGISTIC_ROWS:
            drawn = generator(seed, "ranker").permutation(len(table))[:LOGISTIC_ROWS]
            table, wanted = table[drawn], wanted[drawn]
        mean = table.mean(axis=0, dtype=np.float64)
        scale = table.std(axis=0, dtype=np.float64) + 1e-6
        inputs = _inputs(table, mean, scale)
        weights = logistic(inputs, wanted.astype(np.float64), np.zeros(inputs.shape[1]))
        return cls(evidence.columns, mean, scale, weights, "")

    def boosted(self, evidence: Evidence, true: NDArray[np.bool_], Y: csr_array, seed: int) -> Self:
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
        library = _lightgbm()
        if library is None or Y.shape[0] < FEWEST:
            return self
        odds = self.log_odds(evidence)
        kept = evidence.best(odds, BEST)
        evidence, true, odds = evidence[kept], true[kept], odds[kept]
        held = generator(seed, "ranker held out").permutation(Y.shape[0]) % 4 == 0
        out = held[evidence.texts]

        def data(rows: NDArray[np.bool_], of: Any = None) -> Any:
            return library.Dataset(
                evidence.table[rows], true[rows], init_score=odds[rows], reference=of
            )

        train = data(~out)
        trial = library.train(
            _parameters(seed),
            train,
            ROUNDS,
            valid_sets=[data(out, train)],
            callbacks=[library.early_stopping(PATIENCE, verbose=False)],
        )
        rounds = int(trial.best_iteration)
        if not rounds:
            return self
        own = evidence[out]
        before = own.ranking(odds[out], Y.shape[0], 5)
        added = odds[out] + trial.predict(own.table, raw_score=True, num_iteration=rounds)
        after = own.ranking(added, Y.shape[0], 5)
        if ndcg(after, Y, 5)[held].mean() <= ndcg(before, Y, 5)[held].mean():
            return self
        whole = library.train(_parameters(seed), data(np.ones(len(out), np.bool_)), rounds)
        return type(self)(
            self.columns, self.mean, self.scale, self.weights, whole.model_to_string()
        )

    def log_odds(self, evidence: Evidence) -> Floats:
        """Return the log odds by logistic regression alone, shape (m,)."""
        return _inputs(evidence.table, self.mean, self.scale) @ self.weights

    def chances(self, evidence: Evidence) -> Floats:
        """Return the probability of each candidate, shape (m,)."""
        odds = self.log_odds(evidence)
        if self.trees and len(odds):
            kept = evidence.best(odds, BEST)
            odds[kept] += self._predict(evidence.table[kept])
        return sigmoid(odds)

    def shares(self, evidence: Evidence) -> Floats:
        """Return what each column adds to the log odds of each candidate, shape (m, D)."""
        shares: Floats = _inputs(evidence.table, self.mean, self.scale)[:, :-1] * self.weights[:-1]
        if self.trees and len(shares):
            kept = evidence.best(self.log_odds(evidence), BEST)
            shares[kept] += self._predict(evidence.table[kept], pred_contrib=True)[:, :-1]
        return shares

    def _predict(self, table: NDArray[np.float32], **options: bool) -> Floats:
        if self._booster is None:
            library = need("lightgbm", "grove", "ranking with this grove")
            self._booster = library.Booster(model_str=self.trees)
        found: Floats = self._booster.predict(table, raw_score=True, num_threads=1, **options)
        return found

    def state(self) -> dict[str, Any]:
        """Return all that is needed to have it again."""
        names = ("mean", "scale", "weights", "trees")
        return {"columns": list(self.columns), **{name: getattr(self, name) for name in names}}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """Return the one that had this state."""
        return cls(
            tuple(state["columns"]), state["mean"], state["scale"], state["weights"], state["trees"]
        )


def _inputs(table: NDArray[np.float32], mean: Floats, scale: Floats) -> Floats:
    """Return the columns less their mean, by their scale, and a constant, shape (m, D + 1)."""
    inputs: Floats = np.ones((len(table), table.shape[1] + 1))
    inputs[:, :-1] = (table - mean) / scale
    return inputs


def _parameters(seed: int) -> dict[str, Any]:
    return {
        "objective": "binary",
        "num_leaves": 15,
        "learning_rate": 0.1,
        "min_data_in_leaf": 50,
        "lambda_l2": 5.0,
        "feature_fraction": 0.8,
        "seed": seed,
        "deterministic": True,
        "force_row_wise": True,
        "verbose": -1,
    }


def _lightgbm() -> ModuleType | None:
    """Return the library, or None where it is missing or cannot be loaded."""
    try:
        return import_module("lightgbm")
    except (ImportError, OSError):  # without libgomp the wheel is there and does not load
        return None
