"""Small real models for tests: one that learns, one that remembers, one that needs everything."""

from __future__ import annotations

import json
from typing import ClassVar

import numpy as np
from scipy.sparse import csr_array, diags_array, vstack

from labelgrove.core.estimator import Classifier
from labelgrove.core.ranking import Ranking
from labelgrove.core.types import Explanation, Neighbour, ViewSpec


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

    def _explain(self, X, i, label):
        row = X[[i]].multiply(self.weights_[[label]]).tocsr()
        return Explanation(row.indices, row.data)


class Recalling(Classifier):
    """Remembers documents; the ten most similar ones vote, by cosine."""

    name: ClassVar[str] = "recalling"
    remembers = True

    def __init__(self, voters=10, *, seed=0, threads=None):
        self.voters = voters
        self.seed = seed
        self.threads = threads

    def _fit(self, X, Y, context):
        self.X_, self.Y_ = X, Y
        self.documents_ = list(context.documents or [""] * X.shape[0])

    def remembered(self):
        return self.documents_

    def _remember(self, X, Y, context):
        found = self.fresh()
        old = csr_array((self.Y_.data, self.Y_.indices, self.Y_.indptr),
                        shape=(self.Y_.shape[0], Y.shape[1]))  # fmt: skip
        found.X_, found.Y_ = vstack([self.X_, X]).tocsr(), vstack([old, Y]).tocsr()
        found.documents_ = [*self.documents_, *(context.documents or [""] * X.shape[0])]
        return found

    def _nearest(self, X):
        similar = np.minimum((X @ self.X_.T).toarray(), 1)  # rows have length 1
        order = np.argsort(-similar, axis=1, kind="stable")[:, : self.voters]
        return order, np.take_along_axis(similar, order, axis=1)

    def _rank(self, X, k):
        scores = np.zeros((X.shape[0], self.n_labels_))
        for row, (order, similar) in enumerate(zip(*self._nearest(X), strict=True)):
            scores[row] = similar @ self.Y_[order] / max(len(order), 1)
        return Ranking.from_dense(scores, k)

    def _explain(self, X, i, label):
        order, similar = (each[0] for each in self._nearest(X[[i]]))
        labels = [tuple(self.Y_[[j]].indices.tolist()) for j in order]
        voters = [j for j, own in zip(order, labels, strict=True) if label in own]
        row = X[[i]].multiply(csr_array(self.X_[voters].sum(axis=0)[None, :])).tocsr()
        near = zip(order.tolist(), similar.tolist(), labels, strict=True)
        return Explanation(
            row.indices,
            row.data,
            neighbours=tuple(Neighbour(j, s, own, self.documents_[j]) for j, s, own in near),
        )


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

    def _explain(self, X, i, label):
        tokens = X["words"].sequence(i)
        return Explanation(np.arange(len(tokens)), np.ones(len(tokens), np.float32), "words")
