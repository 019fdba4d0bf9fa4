"""Omikuji: partitioned label trees in Rust, through its Python binding."""

from __future__ import annotations

import numpy as np
import omikuji
from measuring import PLACES, Driver, main, padded
from omikuji import ffi, lib
from scipy.sparse import csr_matrix

Pairs = list[tuple[int, float]]


class Omikuji(Driver):
    """Settings: fields of its hyper-parameters."""

    package = "omikuji"

    def read(self) -> None:
        # what Model.train_on_data does in one, so that reading the text is not counted
        self.pool = omikuji._ThreadPoolHandle(self.threads)
        path = ffi.new("char[]", str(self.data / "train.txt").encode())
        self.set = ffi.gc(lib.load_omikuji_data_set(path, self.pool.ptr), lib.free_omikuji_data_set)
        self.asked = omikuji.Model.default_hyper_param()
        for name, value in self.settings.items():
            setattr(self.asked, name, value)

    def train(self) -> None:
        self.model = omikuji.Model(lib.train_omikuji_model(self.set, self.asked, self.pool.ptr))

    def save(self) -> None:
        self.model.save(str(self.folder))

    def load(self) -> None:
        self.model = omikuji.Model.load(str(self.folder))
        self.model.init_prediction_thread_pool(self.threads)
        self.model.densify_weights(0.05)  # as its README does, to predict faster

    def rank(self, X: csr_matrix) -> np.ndarray:
        # the binding has no call for many documents
        rows = (pairs(X, i) for i in range(X.shape[0]))
        return padded([self.rank_one(row) for row in rows])

    def native(self, row: csr_matrix) -> Pairs:
        return pairs(row, 0)

    def rank_one(self, document: Pairs) -> list[int]:
        return [label for label, _ in self.model.predict(document, beam_size=10, top_k=PLACES)]


def pairs(X: csr_matrix, i: int) -> Pairs:
    here = slice(X.indptr[i], X.indptr[i + 1])
    return list(zip(X.indices[here].tolist(), X.data[here].tolist(), strict=True))


if __name__ == "__main__":
    main(Omikuji)
