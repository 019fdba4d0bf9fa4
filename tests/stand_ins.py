"""Small real models for tests: one that learns, one that needs all the context there is."""

from __future__ import annotations

import json
from typing import ClassVar

import numpy as np
from scipy.sparse import csr_array, diags_array

from labelgrove.core.estimator import Classifier
from labelgrove.core.ranking import Ranking
from labelgrove.core.types import Explanation, ViewSpec


class Centroid(Classifier):
    """Scores a label by the cosine between the text and the mean of the label's texts."""

    name: ClassVar[str] = "centroid"

    def __init__(self, power=1.0, *, seed=0, threads=None):
        self.power = power
        self.seed = seed
        self.threads = threads

    def _fit(self, X, Y, context):
        sums = csr_array(Y.T @ X)
        norms = np.sqrt(sums.multiply(sums).sum(axis=1))
        self.weights_ = csr_array(diags_array(1 / np.maximum(norms, 1e-9)) @ sums).astype("f4")

    def _rank(self, X, k):
        scores = np.clip((X @ self.weights_.T).toarray(), 0, 1) ** self.power
        return Ranking.from_dense(scores, k)

    def explain(self, X, i, label):
        row = X[[i]].multiply(self.weights_[[label]]).tocsr()
        return Explanation(row.indices, row.data)


class Demanding(Classifier):
    """Needs two views, label names through the vocabulary, validation data and a run folder."""

    name: ClassVar[str] = "demanding"
    uses_validation: ClassVar[bool] = True

    def __init__(self, epochs=4, stop_after=None, *, seed=0, threads=None):
        self.epochs = epochs
        self.stop_after = stop_after
        self.seed = seed
        self.threads = threads

    def views(self):
        return {"words": ViewSpec("words", {"length": 50}), "bag": ViewSpec("tf-idf")}

    def _fit(self, X, Y, context):
        done, self.seen_ = 0, []
        folder = context.run.folder
        if folder is not None and context.run.resume and (folder / "state.json").exists():
            state = json.loads((folder / "state.json").read_text())
            done, self.seen_ = state["done"], state["seen"]
        for epoch in range(done, self.epochs):
            if epoch == self.stop_after:
                raise KeyboardInterrupt
            self.seen_.append(epoch)
            if folder is not None:
                folder.mkdir(parents=True, exist_ok=True)
                state = {"done": epoch + 1, "seen": self.seen_}
                (folder / "state.json").write_text(json.dumps(state))
        names = context.labels.names[: Y.shape[1]] if context.labels else [""] * Y.shape[1]
        self.name_tokens_ = context.featurizers["words"].transform(names)
        self.inner_ = Centroid()
        self.inner_._fit(X["bag"], Y, context)
        self.validated_on_ = context.validation[0].shape[0] if context.validation else 0

    def _rank(self, X, k):
        return self.inner_._rank(X["bag"], k)

    def state(self):
        state = super().state()
        if "inner_" in state:
            state["weights_"] = state.pop("inner_").weights_
        return state

    def set_state(self, state):
        self.inner_ = Centroid()
        self.inner_.weights_ = state["weights_"]
        super().set_state({k: v for k, v in state.items() if k != "weights_"})

    def explain(self, X, i, label):
        tokens = X["words"].sequence(i)
        return Explanation(np.arange(len(tokens)), np.ones(len(tokens), np.float32), "words")
