"""What the linear models share: they grow trees, train a forest and descend it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelgrove.core import checks
from labelgrove.core.errors import InputError
from labelgrove.core.estimator import Classifier
from labelgrove.core.features import Features, Views
from labelgrove.core.ranges import Choice, Real
from labelgrove.core.ranking import Ranking
from labelgrove.core.settings import setting
from labelgrove.core.threads import workers
from labelgrove.core.types import Estimate, Explanation, FitContext, ViewSpec
from labelgrove.labels import LabelTree
from labelgrove.models.dense import check_dense_weight, dense_view
from labelgrove.models.linear.choosing import cost_for
from labelgrove.models.linear.dense_weight import choose_dense_weight
from labelgrove.models.linear.estimating import estimate_tasks
from labelgrove.models.linear.forest import Forest
from labelgrove.models.linear.solver import LOSSES, Loss, Solver
from labelgrove.models.linear.training import train_forest
from labelgrove.models.sparse_rows import sparse_rows


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

    With ``dense``, the classifiers also read the vector of the whole text, as dense columns
    beside tf-idf: X is then a `Views` of ``"text"`` (n, D) and ``"dense"`` (n, d).

    Attributes
    ----------
    forest_
        The trees with their classifiers.
    cost_
        The cost that the classifiers were trained with: ``cost``, or what was chosen.
    dense_weight_
        Factor of the dense vectors; 0 where there are none or they do not help.
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

    dense: str = setting(
        "",
        "Vectors of whole texts to read beside tf-idf: 'static:NAME' for static vectors of "
        "model2vec, or the NAME of a sentence encoder; NAME is a folder or a name on the Hugging "
        "Face hub. Empty for none.",
    )
    dense_weight: float | Literal["auto"] | None = setting(
        "auto",
        "Length of these vectors beside those of tf-idf, whose length is 1. auto, or None, to "
        "choose it on held-out documents among 0, 0.25, 0.5 and 1, where 0 does without them.",
        least=0,
        most=100,
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
    _decided_weight: float | None = None  # what an earlier fit has chosen, for `refit`
    dense_weight_: float = 0.0  # as of models saved before there was such a weight

    def check_settings(self) -> None:
        """Refuse a weight of vectors without vectors."""
        super().check_settings()
        check_dense_weight(self)

    def views(self) -> dict[str, ViewSpec]:
        """Return tf-idf and, unless they do not help, the dense vectors."""
        views = super().views()
        fitted = "forest_" in vars(self)
        weight = self.dense_weight_ if fitted else self.dense_weight
        return {**views, "dense": dense_view(self.dense)} if self.dense and weight != 0 else views

    def _grow(self, X: csr_array, Y: csr_array, context: FitContext) -> list[LabelTree]:
        """Return the trees to train; a model whose labels are not in trees overrides `_train`."""
        raise NotImplementedError

    def _fit(self, X: Features, Y: csr_array, context: FitContext) -> None:
        # by its settings: whatever an earlier fit has chosen does not count
        X, dense = self._columns(X, bool(self.dense) and self.dense_weight != 0)
        if not X.has_canonical_format:  # entries given in parts would be taken for smaller ones
            X = X.copy()
            X.sum_duplicates()
        solver = self._solver(X.shape[0], context)
        given = None if isinstance(self.dense_weight, str) else self.dense_weight
        weight = 0.0 if dense is None else given
        if dense is not None and weight is None:
            weight = self._decided_weight
        if dense is not None and weight is None:
            weight = choose_dense_weight(X, dense, Y, solver, context.run.progress, self.threads)
        self._train(X, _scaled(dense, float(weight or 0.0)), Y, solver, context)
        self.cost_ = solver.cost
        self.dense_weight_ = float(weight or 0.0)

    def refit(self, X: Features, Y: csr_array, *, context: FitContext | None = None) -> Self:
        """Return a model that learns from these documents with the same weight of dense vectors."""
        found = self.fresh()
        found._decided_weight = self.dense_weight_
        found.fit(X, Y, context=context)
        found._decided_weight = None
        return found

    def estimate(self, X: Features, Y: csr_array, context: FitContext) -> Estimate:
        """Tell what `fit` would take: trees are grown, and some tasks are carried out."""
        X, dense = self._columns(X, bool(self.dense) and self.dense_weight != 0)
        threads = workers(self.threads)
        began = time.perf_counter()
        trees = self._grow(X, Y, context)
        growing = time.perf_counter() - began
        found = estimate_tasks(X, Y, trees, self._solver(X.shape[0], context), threads, dense)
        seconds = growing + (found.work + found.ranking) / threads
        return Estimate(seconds, found.memory, None, divisible=found.work)

    def _solver(self, n_documents: int, context: FitContext) -> Solver:
        """Return how classifiers are trained on so many documents."""
        return Solver(
            loss=self.loss,
            cost=self._cost(n_documents, context),
            epochs=int(self.epochs),
            tolerance=float(self.tolerance),
            threshold=float(self.threshold),
            seed=int(self.seed),
            negatives=int(self.negatives),
            sharpness=float(self.sharpness) if self.negatives else 1.0,
            tail=float(self.tail),
        )

    def _cost(self, n_documents: int, context: FitContext) -> float:
        """Return the cost of a training on so many documents."""
        if self.cost is not None:
            return float(self.cost)  # 1 is 1.0, also for a training that is resumed
        cost = cost_for(n_documents)
        context.run.progress.say(f"cost {cost:g}, chosen for {n_documents:,} documents")
        return cost

    def _train(
        self,
        X: csr_array,
        dense: NDArray[np.float32] | None,
        Y: csr_array,
        solver: Solver,
        context: FitContext,
    ) -> None:
        """Learn from features (n, D), dense columns (n, d) or None, and labels (n, L)."""
        trees = self._grow(X, Y, context)
        self.forest_ = train_forest(X, Y, trees, solver, context.run, self.threads, dense)

    def _columns(
        self, X: Features, with_dense: bool
    ) -> tuple[csr_array, NDArray[np.float32] | None]:
        """Return the sparse features (n, D) and, if it reads them, the dense ones (n, d)."""
        if not with_dense:
            # a model around this one may still give a view that turned out not to help
            if self.dense and isinstance(X, Views) and "text" in X:
                X = X["text"]
            return self._rows(X), None
        if not isinstance(X, Views) or not {"text", "dense"} <= X.keys():
            given = f"the views {', '.join(X)}" if isinstance(X, Views) else type(X).__name__
            raise InputError(
                f"{self.name} with dense={self.dense!r} needs the views 'text' and 'dense', not "
                f"{given}: give both as Views, or use Tagger"
            )
        dense = X["dense"]
        if not isinstance(dense, np.ndarray) or dense.ndim != 2 or not dense.shape[1]:
            raise InputError(
                f"the view 'dense' must be an array of documents x numbers, not "
                f"{type(dense).__name__} of shape {dense.shape}"
            )
        if not np.isfinite(dense).all():
            raise InputError("the view 'dense' holds values that are not finite")
        return self._rows(X["text"]), np.ascontiguousarray(dense, np.float32)

    def _rows(self, X: Features) -> csr_array:
        """Return X as the kernels know it."""
        return sparse_rows(X, self.name)

    def _known_columns(self, X: Features) -> tuple[csr_array, NDArray[np.float32] | None]:
        """Return `_columns` of features like those it learned from, the dense ones scaled."""
        rows, dense = self._columns(X, self.dense_weight_ != 0)
        if rows.shape[1] != self.forest_.n_features:
            raise InputError(
                f"X has {rows.shape[1]:,} features, but {self.name} learned from "
                f"{self.forest_.n_features:,}: use the featurizer it was trained with"
            )
        if dense is not None and dense.shape[1] != self.forest_.n_dense:
            raise InputError(
                f"the view 'dense' has {dense.shape[1]:,} columns, but {self.name} learned from "
                f"{self.forest_.n_dense:,}: use the vectors it was trained with"
            )
        return rows, _scaled(dense, self.dense_weight_)

    def _rank(self, X: Features, k: int) -> Ranking:
        rows, dense = self._known_columns(X)
        return self.forest_.rank(
            rows, k, self.beam, self.sharpness, self.threads, self.carry, dense=dense
        )

    def _explain(self, X: Features, i: int, label: int) -> Explanation:
        """Return each feature's share in the scores along the label's path, over all trees."""
        rows, dense = self._known_columns(X)
        row = rows[np.array([i])]
        row.sum_duplicates()
        shares = self.forest_.path_weights(label, row.indices) * row.data
        spoke, n_trees = shares != 0, len(self.forest_.roots)
        parts: tuple[tuple[str, float], ...] = ()
        if dense is not None:
            parts = (("meaning", float(self.forest_.path_dense(label) @ dense[i]) / n_trees),)
        return Explanation(row.indices[spoke], shares[spoke] / n_trees, parts=parts)

    def _explain_label(self, label: int) -> Explanation:
        """Return the weights of words along the label's path, averaged over all trees."""
        features, weights = self.forest_.label_weights(label)
        return Explanation(features, weights / len(self.forest_.roots))

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

    def check_state(self) -> None:
        """Refuse a forest whose arrays do not fit each other."""
        super().check_state()
        self.forest_.check(self.n_labels_)
        checks.number("cost_", self.cost_)
        checks.number("dense_weight_", self.dense_weight_)


def _scaled(dense: NDArray[np.float32] | None, weight: float) -> NDArray[np.float32] | None:
    """Return dense columns times their weight, or None where there are none or it is 0."""
    return None if dense is None or not weight else dense * np.float32(weight)
