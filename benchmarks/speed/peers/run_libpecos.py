"""XR-Linear of libpecos: hierarchical k-means over PIFA vectors, or one-vs-all."""

from __future__ import annotations

from typing import Any

import numpy as np
from measuring import PLACES, Driver, main
from pecos.xmc import Indexer, LabelEmbeddingFactory
from pecos.xmc.xlinear.model import XLinearModel
from scipy.sparse import csr_matrix


class Libpecos(Driver):
    """Settings: ``tree`` (False for one-vs-all) and ``post_processor`` of the prediction."""

    package = "libpecos"

    def train(self) -> None:
        clusters = None
        if self.settings.get("tree", True):
            vectors = LabelEmbeddingFactory.create(
                self.Y, self.X, method="pifa", threads=self.threads
            )
            clusters = Indexer.gen(vectors, indexer_type="hierarchicalkmeans", threads=self.threads)
        self.model = XLinearModel.train(self.X, self.Y, C=clusters, threads=self.threads)

    def save(self) -> None:
        self.model.save(str(self.folder))

    def load(self) -> None:
        self.model = XLinearModel.load(str(self.folder), is_predict_only=True)
        self.asked = {"beam_size": 10, "only_topk": PLACES}
        if "post_processor" in self.settings:
            self.asked["post_processor"] = self.settings["post_processor"]

    def rank(self, X: csr_matrix) -> np.ndarray:
        found = self.model.predict(X, threads=self.threads, **self.asked)
        labels = np.full((X.shape[0], PLACES), -1, np.int32)
        rows = np.repeat(np.arange(X.shape[0]), np.diff(found.indptr))
        order = np.lexsort((-found.data, rows))  # equal scores stay as libpecos gives them
        labels[rows, np.arange(len(rows)) - found.indptr[rows]] = found.indices[order]
        return labels

    def rank_one(self, document: csr_matrix) -> Any:
        return self.model.predict(document, threads=1, **self.asked)


if __name__ == "__main__":
    main(Libpecos)
