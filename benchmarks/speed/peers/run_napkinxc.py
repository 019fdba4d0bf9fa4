"""Probabilistic label trees of napkinXC."""

from __future__ import annotations

from typing import Any

import numpy as np
from measuring import PLACES, Driver, main, padded
from napkinxc.models import PLT
from scipy.sparse import csr_matrix


class NapkinXC(Driver):
    """Settings: arguments of PLT. It writes the model while it trains."""

    package = "napkinxc"

    def create(self) -> PLT:
        self.folder.mkdir(parents=True, exist_ok=True)
        return PLT(str(self.folder), seed=0, threads=self.threads, **self.settings)

    def train(self) -> None:
        self.create().fit(self.X, self.Y)

    def load(self) -> None:
        self.model = self.create()
        self.model.load()

    def rank(self, X: csr_matrix) -> np.ndarray:
        return padded(self.model.predict(X, top_k=PLACES))

    def rank_one(self, document: csr_matrix) -> Any:
        return self.model.predict(document, top_k=PLACES)


if __name__ == "__main__":
    main(NapkinXC)
