"""What the models with trees over documents share: they grow a forest, and rank with it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelgrove.core.estimator import Classifier
from labelgrove.core.features import Features
from labelgrove.core.ranges import Real, Whole
from labelgrove.core.ranking import Ranking
from labelgrove.core.settings import setting
from labelgrove.core.types import Explanation, FitContext
from labelgrove.models.forests.forest import TreesOverDocuments
from labelgrove.models.forests.growing import Growth, grow
from labelgrove.models.learned_parts import Part, fingerprint, learn_parts
from labelgrove.models.sparse_rows import canonical_rows, known_rows


class DocumentForest(Classifier):
    """Trees over documents, whose leaves hold shares of labels.

    A node divides its documents so that each side can rank all labels in one order that fits its
    own documents: a document is on the side that gives it the greater nDCG. A sparse linear
    separator learns the sides, and says where a document goes.

    Attributes
    ----------
    forest_
        The trees.
    """

    uses_workers: ClassVar[bool] = False

    trees: int = setting(50, "Number of trees. Their scores are averaged.", least=1)
    max_leaf: int = setting(
        10,
        "A node with more training documents than this is split.",
        least=1,
        search=Whole(5, 50, log=True),
    )
    leaf_labels: int = setting(100, "Number of labels that a leaf keeps, the best ones.", least=1)
    cost: float = setting(
        1.0,
        "Weight of the errors of a separator against the sum of its weights. A larger value splits "
        "by more words.",
        least=1e-6,
        most=1e6,
        search=Real(0.3, 30.0, log=True),
    )
    bias: float = setting(
        1.0, "Value of a constant feature, beside the features of a text.", least=0, most=1e6
    )

    forest_: TreesOverDocuments

    def _gains(self, Y: csr_array) -> NDArray[np.float64]:
        """Return what each label counts, shape (L,)."""
        raise NotImplementedError

    def _fit(self, X: Features, Y: csr_array, context: FitContext) -> None:
        rows = canonical_rows(X, self.name)
        gains = self._gains(Y)
        growth = Growth(
            float(self.cost), float(self.bias), self.max_leaf, self.leaf_labels, int(self.seed)
        )

        def learn(number: int) -> Part:
            return grow(rows, Y, gains, growth, number)

        def about() -> str:
            return fingerprint({"model": self.name, **self.get_params(deep=False)}, [rows, Y])

        trees = learn_parts(self.trees, learn, context.run, about, "trees", self.threads)
        self.forest_ = TreesOverDocuments.of(trees, rows.shape[1])

    def _rank(self, X: Features, k: int) -> Ranking:
        rows = known_rows(X, self.name, self.forest_.n_features)
        parts = [Ranking.empty(0, k)]
        for first, scores in self.forest_.scores(rows, self.threads):
            part = rows[first : first + scores.shape[0]]
            parts.append(Ranking.from_csr(self._judged(part, scores), k))
        return Ranking.concatenate(parts)

    def _judged(self, X: csr_array, scores: csr_array) -> csr_array:
        """Return the probabilities of the labels that the trees name, from 0 to 1.

        Parameters
        ----------
        X
            Features (n, D).
        scores
            Mean shares of the leaves, shape (n, L).
        """
        np.minimum(scores.data, 1.0, out=scores.data)  # rounding may add a bit
        return scores

    def _explain(self, X: Features, i: int, label: int) -> Explanation:
        """Return how much each word led the text to leaves that have the label."""
        rows = known_rows(X, self.name, self.forest_.n_features)
        return Explanation(*self.forest_.spoke(rows, i, label))

    @classmethod
    def example_settings(cls, folder: Path) -> dict[str, Any]:
        """Return settings for a few hundred documents."""
        return {"trees": 10}

    def state(self) -> dict[str, Any]:
        """Return the forest's arrays beside the other state."""
        state = super().state()
        forest = state.pop("forest_", None)
        return state if forest is None else {**state, **forest._asdict()}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Take over what `state` returned."""
        self.forest_ = TreesOverDocuments(
            **{name: state[name] for name in TreesOverDocuments._fields}
        )
        others = {
            name: value for name, value in state.items() if name not in TreesOverDocuments._fields
        }
        super().set_state(others)

    def check_state(self) -> None:
        """Refuse a forest whose arrays do not fit each other."""
        super().check_state()
        self.forest_.check(self.n_labels_)
