"""What the linear models share: they grow trees, train a forest and descend it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from labelgrove.core.errors import InputError
from labelgrove.core.estimator import Classifier
from labelgrove.core.features import Features, TokenSequences, Views
from labelgrove.core.ranges import Choice, Real
from labelgrove.core.ranking import Ranking
from labelgrove.core.settings import setting
from labelgrove.core.types import Explanation, FitContext
from labelgrove.labels import LabelTree
from labelgrove.models.linear.choosing import cost_for
from labelgrove.models.linear.forest import Forest
from labelgrove.models.linear.solver import LOSSES, Loss, Solver
from labelgrove.models.linear.training import train_forest


class LinearForest(Classifier):
    """Linear classifiers down one or more label trees.

    Every node has a classifier for each of its children, trained on the documents that have a
    label below the node, and on those that the levels above would send there by mistake; the
    root's are trained on all documents, so that a text may have no label at all. A text
    descends from the root; on each level the ``beam`` most probable nodes are kept. A label's
    score is its own probability times that of its path to the power ``carry``: the more wrong
    documents its classifier has seen, the less it needs to lean on the path.

    The score s of a classifier becomes the probability 1 / (1 + exp(-a s)). The papers take
    exp(-max(0, 1 - s)^2), which is 1 for every score above 1, so that a text with many labels
    has many best ones.

    Attributes
    ----------
    forest_
        The trees with their classifiers.
    cost_
        The cost that the classifiers were trained with: ``cost``, or what was chosen.
    """

    sharpness: float = setting(
        3.0, "Slope of the logistic function that turns scores into probabilities.", above=0
    )
    loss: Loss = setting(
        "squared-hinge", "Loss function of the classifiers.", search=Choice(LOSSES)
    )
    cost: float | None = setting(
        1.0,
        "Weight of the training errors against the size of the weights. A larger value fits the "
        "training documents more closely. None chooses it by the number of documents, for tail=1: "
        "from 2 for a few hundred of them down to 0.2 for 100,000.",
        least=1e-6,  # beyond these bounds float32 is too small or too coarse
        most=1e6,
        search=Real(0.02, 5.0, log=True),
    )
    tail: float = setting(
        0.0,
        "How much more a document counts for its rare labels: the inverse of a label's propensity "
        "to this power. 0 treats all labels alike, 1 favours rare labels.",
        least=0,
        most=4,
        search=Real(0.0, 1.0),
    )
    epochs: int = setting(10, "Passes over the documents at most.", least=1)
    tolerance: float = setting(
        0.1,
        "The solver stops before the last epoch when no document violates its optimum by more "
        "than this.",
        above=0,
    )
    threshold: float = setting(
        0.05,
        "Weights below this are dropped. A larger value makes the model smaller.",
        least=0,
        most=1,
    )

    threads: int | None = setting(
        None, "Number of threads; None for all cores. The result does not depend on it."
    )

    # settings of the models that have more than one level of nodes
    beam: int = 1
    carry: float = 1.0
    negatives: int = 0

    forest_: Forest
    cost_: float

    def _grow(self, X: csr_array, Y: csr_array, context: FitContext) -> list[LabelTree]:
        """Return the trees to train; a model whose labels are not in trees overrides `_train`."""
        raise NotImplementedError

    def _fit(self, X: Features, Y: csr_array, context: FitContext) -> None:
        X = self._rows(X)
        if not X.has_canonical_format:  # entries given in parts would be taken for smaller ones
            X = X.copy()
            X.sum_duplicates()
        solver = Solver(
            loss=self.loss,
            cost=self._cost(X.shape[0], context),
            epochs=int(self.epochs),
            tolerance=float(self.tolerance),
            threshold=float(self.threshold),
            seed=int(self.seed),
            negatives=int(self.negatives),
            sharpness=float(self.sharpness) if self.negatives else 1.0,
            tail=float(self.tail),
        )
        self._train(X, Y, solver, context)
        self.cost_ = solver.cost

    def _cost(self, n_documents: int, context: FitContext) -> float:
        """Return the cost of a training on so many documents."""
        if self.cost is not None:
            return float(self.cost)  # 1 is 1.0, also for a training that is resumed
        cost = cost_for(n_documents)
        context.run.progress.say(f"cost {cost:g}, chosen for {n_documents:,} documents")
        return cost

    def _train(self, X: csr_array, Y: csr_array, solver: Solver, context: FitContext) -> None:
        """Learn from features (n, D) and labels (n, L)."""
        trees = self._grow(X, Y, context)
        self.forest_ = train_forest(X, Y, trees, solver, context.run, self.threads)

    def _rows(self, X: Features) -> csr_array:
        """Return X as the kernels know it: float32 values, indices as narrow as they can be."""
        if not issparse(X) or isinstance(X, TokenSequences | Views):
            raise InputError(
                f"{self.name} needs sparse features such as tf-idf, not {type(X).__name__}"
            )
        if not np.isfinite(X.data).all():
            raise InputError("X holds values that are not finite; clean the features first")
        if isinstance(X, csr_array) and X.dtype == np.float32 and X.indices.dtype == np.int32:
            return X
        rows = csr_array(X, dtype=np.float32)
        kind = np.int32 if max(rows.nnz, *rows.shape) < 2**31 else np.int64
        indices, indptr = rows.indices.astype(kind), rows.indptr.astype(kind)
        return csr_array((rows.data, indices, indptr), shape=rows.shape)

    def _known_rows(self, X: Features) -> csr_array:
        """Return `_rows` of features like those it learned from."""
        rows = self._rows(X)
        if rows.shape[1] != self.forest_.n_features:
            raise InputError(
                f"X has {rows.shape[1]:,} features, but {self.name} learned from "
                f"{self.forest_.n_features:,}: use the featurizer it was trained with"
            )
        return rows

    def _rank(self, X: Features, k: int) -> Ranking:
        return self.forest_.rank(
            self._known_rows(X), k, self.beam, self.sharpness, self.threads, self.carry
        )

    def _explain(self, X: Features, i: int, label: int) -> Explanation:
        """Return each feature's share in the scores along the label's path, over all trees."""
        row = self._known_rows(X)[np.array([i])]
        row.sum_duplicates()
        shares = self.forest_.path_weights(label, row.indices) * row.data
        spoke = shares != 0
        return Explanation(row.indices[spoke], shares[spoke] / len(self.forest_.roots))

    def state(self) -> dict[str, Any]:
        """Return the forest's arrays beside the other state."""
        state = super().state()
        forest = state.pop("forest_", None)
        return state if forest is None else {**state, **forest.state()}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Take over what `state` returned."""
        self.forest_ = Forest.from_state(state)
        names = Forest.names()
        super().set_state({name: value for name, value in state.items() if name not in names})
