"""Labels of the most similar documents: no training, and documents can be added at any time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelgrove.core import checks
from labelgrove.core.errors import InputError
from labelgrove.core.estimator import Classifier
from labelgrove.core.features import Features
from labelgrove.core.ranges import Real, Whole
from labelgrove.core.ranking import Ranking
from labelgrove.core.settings import setting
from labelgrove.core.types import Explanation, FitContext, ViewSpec
from labelgrove.models.neighbours import Nearest, Neighbourhood
from labelgrove.models.neighbours.neighbourhood import weights_of

BATCH = 4096  # texts whose votes are counted at once


class Knn(Classifier):
    """A label is as probable as the weighted share of the nearest documents that have it.

    Attributes
    ----------
    near_
        The documents.
    shares_
        Share of the documents that have each label, shape (L,): how labels of a text that is like
        no document are ranked.

    Examples
    --------
    >>> X = csr_array(np.array([[1.0, 0, 0], [1, 1, 0], [0, 0, 1]], np.float32))
    >>> Y = csr_array(np.array([[1, 0], [1, 0], [0, 1]], np.float32))
    >>> model = Knn(neighbours=2).fit(X, Y)
    >>> model.rank(X[2:], k=2).labels.tolist()
    [[1, -1]]
    >>> more = model.remember(X[2:], csr_array(np.array([[0, 0, 1]], np.float32)))
    >>> more.rank(X[2:], k=2).labels.tolist()
    [[1, 2]]
    """

    name: ClassVar[str] = "knn"
    uses_workers: ClassVar[bool] = False
    remembers: bool = True

    by: Literal["tf-idf", "words", "encoder"] = setting(
        "tf-idf",
        "How texts are compared: by the words they share (tf-idf), by the mean of their words' "
        "vectors (words), or by the vectors of a pretrained sentence encoder, or static ones "
        "(encoder).",
    )
    neighbours: int = setting(
        30, "Number of most similar documents that vote.", least=1, search=Whole(5, 100, log=True)
    )
    power: float = setting(
        1.5,
        "The vote of a document is its cosine to this power: a larger value favours the most "
        "similar documents.",
        least=0,
        search=Real(0.5, 4.0),
    )
    vectors: str = setting(
        "random",
        "Word vectors for by=words: random, corpus (learned from the training texts), or a file of "
        "GloVe or word2vec vectors.",
    )
    vector_size: int = setting(
        0, "Size of the word vectors for by=words; 0 for that of the file, or 300.", least=0
    )
    encoder: str = setting(
        "",
        "Sentence encoder for by=encoder: a folder, or a name on the Hugging Face hub; "
        "static:FOLDER for static vectors of model2vec.",
    )
    length: int = setting(
        256, "Words or tokens read from the start of a text; by=tf-idf reads all.", least=1
    )
    device: str = setting("auto", "Device for by=encoder, such as cpu or cuda; auto chooses.")
    seed: int = setting(0, "Seed of random word vectors.")

    near_: Neighbourhood
    shares_: NDArray[np.float32]

    def _new(self) -> Neighbourhood:
        return Neighbourhood(
            self.by,
            vectors=self.vectors,
            vector_size=self.vector_size,
            encoder=self.encoder,
            length=self.length,
            device=self.device,
            seed=self.seed,
            threads=self.threads,
        )

    def views(self) -> dict[str, ViewSpec]:
        """Return the one view, which depends on what makes texts alike."""
        return {"text": self._new().spec()}

    def check_settings(self) -> None:
        """Refuse also settings that the way of comparing texts does not use."""
        super().check_settings()
        for name, by in (("vectors", "words"), ("vector_size", "words"), ("encoder", "encoder")):
            if self.by != by and getattr(self, name) != self.defaults()[name]:
                raise InputError(
                    f"{name} is of by={by!r}, but by is {self.by!r}: set by={by}, or leave {name} "
                    "out"
                )

    def check_needs(self) -> None:
        """Refuse a file of vectors or an encoder that cannot be had."""
        self._new().check_needs()

    # --- learning -----------------------------------------------------------------------------

    def _fit(self, X: Features, Y: csr_array, context: FitContext) -> None:
        self.near_ = self._new().fit(X, Y, context)
        self.shares_ = _shares(Y)

    def remembered(self) -> Sequence[str]:
        """Return how the documents that it remembers begin."""
        return self.near_.memory.texts

    def _remember(self, X: Features, Y: csr_array, context: FitContext) -> Self:
        found = self.fresh()
        found.near_ = self.near_.remember(X, Y, context)
        found.shares_ = _shares(found.near_.Y)
        return found

    # --- ranking ------------------------------------------------------------------------------

    def _rank(self, X: Features, k: int) -> Ranking:
        parts = [Ranking.empty(0, k)]
        frequent = np.argsort(-self.shares_, kind="stable")[:k].astype(np.int32)
        for first in range(0, X.shape[0], BATCH):
            nearest = self._nearest(X[first : first + BATCH])
            ranking = Ranking.from_csr(self.near_.votes(nearest, self.power), k)
            alone = nearest.documents[:, 0] < 0
            ranking.labels[alone], ranking.scores[alone] = frequent, self.shares_[frequent]
            parts.append(ranking)
        return Ranking.concatenate(parts)

    def _nearest(self, X: Features) -> Nearest:
        """Return the neighbours of texts, found with the threads of now."""
        self.near_.threads = self.threads
        return self.near_.nearest(X, self.neighbours)

    def _explain(self, X: Features, i: int, label: int) -> Explanation:
        """Return what made the text like documents with the label rather than those without it.

        A feature's or word's weight is its mean part in the cosines with the former, less that in
        the cosines with the latter.
        """
        nearest = self._nearest(X[i : i + 1])
        documents, weights = self._for_and_against(nearest, label)
        ids, spoke = self.near_.spoke(X, i, documents, weights)
        told = spoke != 0
        return Explanation(ids[told], spoke[told], neighbours=self.near_.neighbours(nearest, 0))

    def _for_and_against(
        self, nearest: Nearest, label: int
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Return the neighbours of one text, and their weights: those with the label sum to 1.

        Those without it sum to -1.
        """
        found = nearest.documents[0] >= 0
        documents = nearest.documents[0][found]
        weights = weights_of(nearest, self.power)[0][found].astype(np.float64)
        has = self.near_.Y[documents][:, [label]].toarray().ravel() > 0
        for own, sign in ((has, 1.0), (~has, -1.0)):
            weights[own] *= sign / max(float(weights[own].sum()), 1e-12)
        return documents, weights

    @classmethod
    def example_settings(cls, folder: Path) -> dict[str, Any]:
        """Return settings for a few hundred documents."""
        return {"neighbours": 10, "power": 2.0}

    # --- saving -------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Return all but the documents, which have a folder of their own."""
        return {name: value for name, value in super().state().items() if name != "near_"}

    def write(self, folder: Path) -> None:
        """Write settings and state, and the documents below."""
        super().write(folder)
        self.near_.write(folder / "neighbours")

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read what `write` wrote."""
        found = super().read(folder)
        found.near_ = Neighbourhood.read(folder / "neighbours")
        with checks.reading(folder):
            checks.array("shares_", found.shares_, np.float32, (found.n_labels_,))
            if found.near_.Y.shape[1] != found.n_labels_:
                raise ValueError(f"the documents do not have {found.n_labels_:,} labels")
        return found


def _shares(Y: csr_array) -> NDArray[np.float32]:
    counts = np.bincount(Y.indices, minlength=Y.shape[1])
    found: NDArray[np.float32] = (counts / Y.shape[0]).astype(np.float32)
    return found
