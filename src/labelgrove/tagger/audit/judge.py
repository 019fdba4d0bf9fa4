"""How probable it is that a document has a label, learned from all other documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from labelgrove.corpus.review import MISSING, WRONG
from labelgrove.models.logistic import logistic, sigmoid
from labelgrove.tagger.audit.evidence import COLUMNS

# What speaks for a label counts for more where something else does too: the products of these.
TOGETHER = ("score", "votes", "companions", "lift", "frequency", "best")
FARTHEST = 3.0  # standard deviations beyond which products grow no more
DOUBT = 2.0  # with products a label is at most so many times as probable as without
STRENGTH = 0.5  # how firmly weights are drawn towards 0

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LabelJudge:
    """Two logistic regressions: on the columns of the evidence, and on their products too.

    With products more of the missing labels are found, where several witnesses agree. Without
    them more of the wrong ones are: what nobody speaks for lies at the edge of what was learned,
    where products mislead. So a label is missing if both say so, nearly, and
    wrong if the plain one does.

    Parameters
    ----------
    mean, scale
        Of each column, shapes (D,).
    plain
        Weights of columns and a constant.
    together
        Weights of columns, products and a constant.
    """

    mean: Floats
    scale: Floats
    plain: Floats
    together: Floats

    @classmethod
    def learn(cls, table: NDArray[np.float32], given: NDArray[np.bool_], counts: Floats) -> Self:
        """Learn from pairs which labels documents are given.

        Parameters
        ----------
        table
            The pairs, shape (m, D).
        given
            Which labels are given, shape (m,).
        counts
            For how many pairs each stands, shape (m,).
        """
        mean = table.mean(axis=0, dtype=np.float64)
        scale = table.std(axis=0, dtype=np.float64) + 1e-6
        plain, together = (
            logistic(inputs, given.astype(np.float64), np.zeros(inputs.shape[1]), STRENGTH, counts)
            for inputs in _inputs(table, mean, scale)
        )
        return cls(mean, scale, plain, together)

    def chances(self, table: NDArray[np.float32]) -> dict[str, Floats]:
        """Return by kind how probable it is that a document should have a label, shapes (m,)."""
        plain, together = _inputs(table, self.mean, self.scale)
        probable = sigmoid(plain @ self.plain)
        return {
            MISSING: np.minimum(DOUBT * probable, sigmoid(together @ self.together)),
            WRONG: probable,
        }


def _inputs(table: NDArray[np.float32], mean: Floats, scale: Floats) -> tuple[Floats, Floats]:
    """Return columns less their mean, by their scale, and 1; and the same with products."""
    columns = (table - mean) / scale
    near = np.clip(columns, -FARTHEST, FARTHEST)
    places = [COLUMNS.index(name) for name in TOGETHER]
    products = [near[:, a] * near[:, b] for i, a in enumerate(places) for b in places[i:]]
    plain = np.column_stack([columns, np.ones(len(table))])
    return plain, np.column_stack([plain, *products])
