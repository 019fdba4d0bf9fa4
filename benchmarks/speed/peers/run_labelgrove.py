"""The linear models of labelgrove."""

from __future__ import annotations

from typing import Any

import numpy as np
from measuring import PLACES, Driver, main
from scipy.sparse import csr_array, csr_matrix, random_array

from labelgrove import models

SMALL = {"max_leaf": 5, "branching": 4}  # so that few labels make a tree of several levels


class Labelgrove(Driver):
    """Takes the model's name among its settings."""

    package = "labelgrove"

    def create(self, **changes: Any) -> Any:
        settings = dict(self.settings)
        model = models.create(settings.pop("model"), threads=self.threads, **settings)
        known = model.get_params()
        return model.set_params(**{key: changes[key] for key in changes if key in known})

    def warm_up(self) -> None:
        make = {"density": 0.05, "format": "csr", "dtype": np.float32, "rng": 0}
        X, Y = (
            csr_array(random_array((500, 300), **make)),
            csr_array(random_array((500, 60), **make)),
        )
        X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
        self.create(**SMALL).fit(X, Y)

    def read(self) -> None:
        super().read()
        self.X, self.Y = csr_array(self.X), csr_array(self.Y)

    def train(self) -> None:
        self.model = self.create().fit(self.X, self.Y)

    def save(self) -> None:
        self.model.save(self.folder, overwrite=True)

    def load(self) -> None:
        self.model = type(self.create()).load(self.folder)
        self.model.set_params(threads=self.threads)

    def rank(self, X: csr_matrix) -> np.ndarray:
        labels: np.ndarray = self.model.rank(csr_array(X), PLACES).labels
        return labels

    def native(self, row: csr_matrix) -> csr_array:
        return csr_array(row)

    def rank_one(self, document: csr_array) -> Any:
        return self.model.rank(document, PLACES)


if __name__ == "__main__":
    main(Labelgrove)
