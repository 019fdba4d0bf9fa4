"""Boosted trees: LightGBM grows them, a kernel of our own reads them.

So a saved model is plain arrays, and LightGBM, whose import takes as long as the rest of a
command, is needed in training only.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelgrove.core import checks, one_command

PATIENCE = 10  # rounds without gain after which no more trees are tried
PARAMETERS = {
    "objective": "binary",
    "num_leaves": 15,
    "learning_rate": 0.1,
    "min_data_in_leaf": 50,
    "lambda_l2": 5.0,
    "feature_fraction": 0.8,
    "deterministic": True,
    "force_row_wise": True,
    "num_threads": 1,  # two threads on cores that others use too were ten times slower
    "verbose": -1,
}

Floats = NDArray[np.float64]


class BoostedTrees(NamedTuple):
    """Trees in flat arrays; nodes of all trees are numbered together.

    Parameters
    ----------
    roots
        The root of each tree, shape (t,).
    feature
        The column that a node asks about, -1 for a leaf, shape (nodes,).
    threshold
        Rows whose value is at most this go left, shape (nodes,).
    left, right
        Children of a node, shapes (nodes,).
    value
        What a leaf adds to the log odds; of other nodes the mean of what is below, shape (nodes,).
    """

    roots: NDArray[np.int32]
    feature: NDArray[np.int32]
    threshold: Floats
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    value: Floats

    def check(self, n_columns: int) -> None:
        """Refuse arrays of a file in which a row would go round, or read beyond its columns."""
        n = len(checks.array("trees.feature", self.feature, np.int32, (None,)))
        checks.array("trees.roots", self.roots, np.int32, (None,))
        checks.below("trees.roots", self.roots, n)
        checks.below("trees.feature", self.feature, n_columns, least=-1)
        for name in ("threshold", "value"):
            checks.array(f"trees.{name}", getattr(self, name), np.float64, (n,))
        checks.finite("trees.value", self.value)
        inner = np.flatnonzero(self.feature >= 0)
        for name in ("left", "right"):
            children = checks.array(f"trees.{name}", getattr(self, name), np.int32, (n,))[inner]
            checks.below(f"trees.{name}", children, n)
            if (children <= inner).any():  # children come behind, so every way has an end
                raise ValueError(f"trees.{name} leads back to where it came from")

    def predict(self, table: NDArray[np.float32]) -> Floats:
        """Return the sum of the trees for each row of a table (m, D), shape (m,)."""
        from labelgrove.models.grove import kernels

        found = np.zeros(len(table))
        kernels.add_up(table, *self, found)
        return found

    def shares(self, table: NDArray[np.float32]) -> Floats:
        """Return what each column adds to the sum of the trees, shape (m, D)."""
        from labelgrove.models.grove import kernels

        found = np.zeros(table.shape)
        kernels.add_shares(table, *self, found)
        return found


def lightgbm() -> ModuleType | None:
    """Return the library, or None where it is missing or cannot be loaded.

    What it would offer to users of other packages takes half a second to load, and is left out of
    a command.
    """
    try:
        with one_command.without("sklearn", "pandas", "dask", "matplotlib"):
            return import_module("lightgbm")
    except (ImportError, OSError):  # without libgomp the wheel is there and does not load
        return None


def grow(
    library: Any,
    table: NDArray[np.float32],
    true: NDArray[np.bool_],
    start: Floats,
    rounds: int,
    *,
    seed: int,
    held: NDArray[np.bool_] | None = None,
) -> BoostedTrees:
    """Return trees whose sum, added to ``start``, are the log odds of ``true``.

    Parameters
    ----------
    library
        LightGBM.
    table, true, start
        Rows to learn from (m, D), which of them are right (m,), their log odds so far (m,).
    rounds
        Trees, at most if some rows are held out.
    seed
        Of the columns that a tree sees.
    held
        Rows that are held out, shape (m,): the trees with which they are predicted best are
        returned, which may be none.
    """
    parameters = {**PARAMETERS, "seed": seed}
    if held is None:
        data = library.Dataset(table, true, init_score=start)
        return _flat(library.train(parameters, data, rounds).dump_model())
    train = library.Dataset(table[~held], true[~held], init_score=start[~held])
    valid = library.Dataset(table[held], true[held], init_score=start[held], reference=train)
    stop = library.early_stopping(PATIENCE, verbose=False)
    booster = library.train(parameters, train, rounds, valid_sets=[valid], callbacks=[stop])
    return _flat(booster.dump_model(num_iteration=booster.best_iteration))


def _flat(model: dict[str, Any]) -> BoostedTrees:
    """Return LightGBM's description of trees as arrays."""
    rows: list[list[float]] = []  # feature, threshold, left, right, value

    def add(node: dict[str, Any]) -> int:
        number = len(rows)
        if "split_feature" not in node:
            rows.append([-1, 0.0, -1, -1, node["leaf_value"]])
            return number
        row = [node["split_feature"], node["threshold"], 0, 0, node["internal_value"]]
        rows.append(row)
        row[2], row[3] = add(node["left_child"]), add(node["right_child"])
        return number

    roots = [add(tree["tree_structure"]) for tree in model["tree_info"]]
    columns = np.array(rows, np.float64).reshape(-1, 5).T
    feature, left, right = columns[[0, 2, 3]].astype(np.int32)
    threshold, value = columns[1].copy(), columns[4].copy()
    return BoostedTrees(np.array(roots, np.int32), feature, threshold, left, right, value)
