"""Labels whose names mean what the text means: no document of a label is needed.

Texts and names of labels are vectors of the same encoder. A linear map, learned by ridge
regression and drawn towards leaving vectors as they are, brings texts nearer to the names of
their labels, as in Palatucci et al., "Zero-shot learning with semantic output codes", NIPS 2009.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelgrove.core import checks
from labelgrove.core.errors import InputError
from labelgrove.core.estimator import Classifier
from labelgrove.core.features import Features, Views
from labelgrove.core.random import generator
from labelgrove.core.ranking import Ranking
from labelgrove.core.settings import setting
from labelgrove.core.types import Explanation, FitContext, ViewSpec
from labelgrove.labels import LabelSpace
from labelgrove.models.dense import dense_view
from labelgrove.models.logistic import logistic, sigmoid
from labelgrove.models.neighbours.memory import Memory, unit_rows
from labelgrove.models.neighbours.neighbourhood import middle_of

BATCH = 4096  # texts that are ranked at once
SAMPLE = 2_000  # documents from which the probabilities are learned at most
PLACES = 30  # labels of each of them that are looked at
UNLEARNED = np.array([12.0, -7.0])  # log odds are 12 x cosine - 7 as far as no document says else


class LabelMeaning(Classifier):
    """Ranks labels by the cosine between the meaning of the text and that of their names.

    `labelgrove.Tagger` makes every concept of its vocabulary a label for this model. Texts are
    counted from the middle of the training documents. A label that has only an id, or a name that
    the vectors do not know, is never found.

    Attributes
    ----------
    middle_
        The middle of the training documents, shape (d,).
    map_
        What texts are multiplied by, shape (d, d).
    names_
        Vectors of names, shape (m, d).
    owners_
        The label of each name, shape (m,), int32.
    most_names_
        Names that a label has at most.
    weights_
        Log odds of a label by cosine: factor and constant, shape (2,).
    """

    name: ClassVar[str] = "label-meaning"
    ranks_by_name: ClassVar[bool] = True
    uses_workers: ClassVar[bool] = False

    dense: str = setting(
        "",
        "Vectors of texts and names: 'static:NAME' for static vectors of model2vec, or the NAME of "
        "a sentence encoder; NAME is a folder or a name on the Hugging Face hub.",
    )
    caution: float = setting(
        10.0,
        "How much the documents must say before texts are mapped towards the names of their "
        "labels. A large value leaves the vectors as they are.",
        above=0,
    )

    middle_: NDArray[np.float32]
    map_: NDArray[np.float32]
    names_: NDArray[np.float32]
    owners_: NDArray[np.int32]
    most_names_: int
    weights_: NDArray[np.float64]

    def views(self) -> dict[str, ViewSpec]:
        """Return the one view: dense vectors."""
        return {"text": dense_view(self.dense)}

    def check_needs(self) -> None:
        """Refuse no vectors."""
        self.views()

    # --- learning -----------------------------------------------------------------------------

    def _fit(self, X: Features, Y: csr_array, context: FitContext) -> None:
        rows, labels = _dense(X), context.labels
        featurizer = context.featurizers.get("text")
        if labels is None or len(labels) < Y.shape[1] or featurizer is None:
            raise InputError(
                "label-meaning finds labels by their names: fit it through Tagger, or give a "
                "FitContext with the labels and the fitted dense featurizer of the view 'text'"
            )
        names, owners = _names(labels, Y.shape[1])
        vectors = np.asarray(featurizer.transform(names), np.float32) if names else rows[:0]
        known = vectors.any(axis=1)
        if not known.any():
            shown = ", ".join(repr(name) for name in labels.names[:3])
            raise InputError(
                f"no label has a name that the vectors of {self.dense} know, such as {shown}: give "
                "names in the language of the vectors by a vocabulary (--labels)"
            )
        self.names_, self.owners_ = vectors[known], np.array(owners, np.int32)[known]
        self.most_names_ = int(np.bincount(self.owners_).max())
        self.middle_ = middle_of(rows)
        self.map_ = self._learn_map(unit_rows(rows, self.middle_), Y)
        self.__dict__.pop("_memory", None)
        self.weights_ = self._learn_weights(rows, Y)

    def _learn_map(self, rows: NDArray[np.float32], Y: csr_array) -> NDArray[np.float32]:
        """Return the map from texts (n, d) towards the names of their labels, shape (d, d)."""
        size = rows.shape[1]
        firsts = np.zeros((Y.shape[1], size), np.float32)
        firsts[self.owners_[::-1]] = self.names_[::-1]  # the first name of a label stays
        wanted = unit_rows(np.asarray(Y @ firsts, np.float32))
        told = wanted.any(axis=1)
        own, caution = rows[told].astype(np.float64), self.caution * np.eye(size)
        found = np.linalg.solve(own.T @ own + caution, own.T @ wanted[told] + caution)
        return found.astype(np.float32)

    def _learn_weights(self, rows: NDArray[np.float32], Y: csr_array) -> NDArray[np.float64]:
        """Return factor and constant that make probabilities of cosines, shape (2,)."""
        drawn = generator(self.seed, "label-meaning sample").permutation(len(rows))[:SAMPLE]
        cosines = self._cosines(rows[drawn], min(PLACES, Y.shape[1]))
        named = cosines.labels >= 0
        table = np.stack([cosines.scores[named], np.ones(named.sum())], axis=1).astype(np.float64)
        true = cosines.hits(Y[drawn])[named].astype(np.float64)
        return logistic(table, true, UNLEARNED)

    def check_state(self) -> None:
        """Refuse vectors of other sizes, and names of labels that there are not."""
        super().check_state()
        size = len(checks.array("middle_", self.middle_, np.float32, (None,)))
        checks.array("map_", self.map_, np.float32, (size, size))
        n_names = len(checks.array("names_", self.names_, np.float32, (None, size)))
        checks.array("owners_", self.owners_, np.int32, (n_names,))
        checks.below("owners_", self.owners_, self.n_labels_)
        checks.whole("most_names_", self.most_names_, least=1, most=max(n_names, 1))
        checks.array("weights_", self.weights_, np.float64, (2,))
        for name in ("middle_", "map_", "names_", "weights_"):
            checks.finite(name, getattr(self, name))

    # --- ranking ------------------------------------------------------------------------------

    def _rank(self, X: Features, k: int) -> Ranking:
        rows = _dense(X)
        if rows.shape[1] != len(self.middle_):
            raise InputError(
                f"X has {rows.shape[1]:,} columns, but label-meaning learned with "
                f"{len(self.middle_):,}: use the featurizer it was trained with"
            )
        parts = [Ranking.empty(0, k)]
        for first in range(0, len(rows), BATCH):
            found = self._cosines(rows[first : first + BATCH], k)
            odds = found.scores.astype(np.float64) * self.weights_[0] + self.weights_[1]
            parts.append(found.with_scores(sigmoid(odds)))
        return Ranking.concatenate(parts)

    def _cosines(self, rows: NDArray[np.float32], k: int) -> Ranking:
        """Return the labels with the nearest names; scores are cosines above 0."""
        if "_memory" not in vars(self):
            self._memory = Memory(self.names_, csr_array((len(self.names_), 1), dtype=np.float32))
        texts = self._mapped(rows)
        places = min(k * self.most_names_, len(self.owners_))
        near = self._memory.nearest(texts, places, threads=self.threads)
        row, place = np.nonzero(near.documents >= 0)
        owner = self.owners_[near.documents[row, place]].astype(np.int64)
        # places are best first, so a label's first one is its nearest name
        pairs = row * (int(self.owners_.max()) + 1) + owner
        first = np.sort(np.unique(pairs, return_index=True)[1])
        row, place = row[first], place[first]
        return Ranking.from_pairs(row, owner[first], near.similarities[row, place], len(rows), k)

    def _mapped(self, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return texts (n, d) where the names of their labels should be, of length 1."""
        mapped: NDArray[np.float32] = unit_rows(unit_rows(rows, self.middle_) @ self.map_)
        return mapped

    def _explain(self, X: Features, i: int, label: int) -> Explanation:
        """Return no words: a vector stands for the whole text."""
        own = self.names_[self.owners_ == label]
        cosine = (own @ self._mapped(_dense(X)[i : i + 1])[0]).max(initial=0.0)
        score = float(sigmoid(cosine * self.weights_[0] + self.weights_[1])) if cosine > 0 else 0.0
        none = np.empty(0, np.int64), np.empty(0, np.float32)
        return Explanation(*none, parts=(("meaning of the name", score),))

    @classmethod
    def example_settings(cls, folder: Path) -> dict[str, Any]:
        """Return small vectors, which are made in ``folder``."""
        from labelgrove.models.examples import small_static

        return {"dense": small_static(folder)}


def _dense(X: Features) -> NDArray[np.float32]:
    if isinstance(X, Views) or not isinstance(X, np.ndarray):
        raise InputError(
            "label-meaning reads dense vectors: use the features 'static' or 'encoder', not "
            f"{type(X).__name__}"
        )
    return X


def _names(labels: LabelSpace, n_labels: int) -> tuple[list[str], list[int]]:
    """Return the names of labels, and the label of each.

    An id full of digits is no name, nor is what has no letter at all.
    """
    names, owners = [], []
    for label in range(n_labels):
        own = dict.fromkeys([labels.names[label], *labels.alternatives[label]])
        for name in own:
            letters = sum(map(str.isalpha, name))
            if letters * 2 > len(name) or (letters and name != labels.ids[label]):
                names.append(name)
                owners.append(label)
    return names, owners
