"""How texts become vectors, and the documents that are remembered by them."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from labelgrove.core import checks, storage
from labelgrove.core.errors import DamagedError, InputError, NotFittedError, UnknownNameError
from labelgrove.core.extras import need
from labelgrove.core.features import Features, TokenSequences, Views
from labelgrove.core.types import FitContext, Neighbour, ViewSpec
from labelgrove.models.dense import dense_view
from labelgrove.models.neighbours.memory import Memory, Nearest, Vectors, unit_rows
from labelgrove.models.word_vectors import check_source, word_vectors
from labelgrove.text import UNK
from labelgrove.text.static_vectors import check_not_static, load_static

By = Literal["tf-idf", "words", "encoder"]
SETTINGS = ("by", "view", "vectors", "vector_size", "encoder", "length", "copies", "device")
FEW = 10  # documents whose middle tells half as much as that of many
BY: tuple[By, ...] = ("tf-idf", "words", "encoder")
READS = {
    "tf-idf": "sparse features such as 'tf-idf'",
    "words": "'words'",
    "encoder": "dense rows such as 'encoder' or 'static'",
}


class Neighbourhood:
    """Documents that were learned from, found again by texts that are like them.

    Dense vectors are counted from the middle of the documents, since otherwise all texts seem
    alike: of 4,000 bills 98 in a hundred have a cosine above 0.95 with another as mean word
    vectors, and 4 so.

    A document is never its own neighbour while a model learns from it, and its near copies are
    none either: who copies the labels of a twin learns nothing about texts that have none.

    Parameters
    ----------
    by
        What makes texts alike: ``"tf-idf"``, the words they share by weight; ``"words"``, the
        mean of their words' vectors; ``"encoder"``, vectors of a pretrained sentence encoder, or
        static ones.
    view
        Which of several views it reads.
    vectors, vector_size
        Of ``by="words"``: where vectors come from, ``"random"``, ``"corpus"`` or a file of GloVe
        or word2vec, and their size, 0 for that of the file, or 300.
    encoder
        Of ``by="encoder"``: a folder, or a name on the Hugging Face hub; ``"static:..."`` for
        static vectors of model2vec.
    length
        Words or tokens that are read of a text, other than by tf-idf.
    copies
        A cosine above which training documents are near copies of one another.
    device
        Of ``by="encoder"``, such as ``"cpu"``, ``"cuda"``, or ``"auto"``.
    seed
        Of random vectors.
    threads
        None for all cores.

    Examples
    --------
    >>> X = csr_array(np.array([[1.0, 0, 0], [1, 1, 0], [0, 1, 1]], np.float32))
    >>> Y = csr_array(np.array([[1, 0], [1, 0], [0, 1]], np.float32))
    >>> near = Neighbourhood("tf-idf").fit(X, Y, FitContext())
    >>> near.of_training(1).documents.ravel().tolist()
    [1, 0, 1]
    >>> near.votes(near.nearest(X[:1], 2), power=1).toarray().round(2).tolist()
    [[1.0, 0.0]]
    """

    memory: Memory

    def __init__(
        self,
        by: By = "tf-idf",
        *,
        view: str = "text",
        vectors: str = "random",
        vector_size: int = 0,
        encoder: str = "",
        length: int = 256,
        copies: float = 0.95,
        device: str = "auto",
        seed: int = 0,
        threads: int | None = None,
    ) -> None:
        if by not in BY:
            raise UnknownNameError("kind of neighbours", str(by), BY)
        if not 0 < copies <= 1:
            raise InputError(f"copies must be a cosine above 0, up to 1, got {copies!r}")
        self.by, self.view = by, view
        self.vectors, self.vector_size, self.encoder = vectors, vector_size, encoder
        self.length, self.copies, self.device = length, copies, device
        self.seed, self.threads = seed, threads
        self.table: NDArray[np.float32] | None = None
        self.middle: NDArray[np.float32] | None = None
        self._width = 0

    # --- what it needs ------------------------------------------------------------------------

    def spec(self) -> ViewSpec:
        """Return the view that it reads."""
        if self.by == "tf-idf":
            return ViewSpec("tf-idf")
        if self.by == "words":
            return ViewSpec("words", {"length": self.length})
        asked = self._dense_view()
        own: dict[str, object] = {"length": self.length}
        if asked.featurizer == "encoder":
            own["device"] = self.device
        return ViewSpec(asked.featurizer, {**asked.settings, **own})

    def check_needs(self) -> None:
        """Refuse what cannot be had: a file of vectors, an encoder, a library."""
        if self.by == "words":
            check_source(self.vectors)
        elif self.by == "encoder":
            self._check_encoder()

    def _dense_view(self) -> ViewSpec:
        if not self.encoder.strip():
            raise InputError(
                "by='encoder' needs a pretrained sentence encoder: give encoder= (knn) or "
                "neighbour_encoder= (treaderxml), a folder or a name on the Hugging Face hub such "
                "as 'sentence-transformers/all-MiniLM-L6-v2'"
            )
        return dense_view(self.encoder)

    def _check_encoder(self) -> None:
        asked = self._dense_view()
        name = str(asked.settings["model"])
        if asked.featurizer == "static":
            load_static(name)
            return
        check_not_static(name)
        for module in ("torch", "transformers"):
            need(module, "transformers", f"the sentence encoder {name!r}")
        from labelgrove.models.neural.readers.sentences import check_encoder

        check_encoder(name)

    # --- learning -----------------------------------------------------------------------------

    def fit(
        self,
        X: Features,
        Y: csr_array,
        context: FitContext,
        table: NDArray[np.float32] | None = None,
    ) -> Neighbourhood:
        """Remember documents, and return itself.

        Parameters
        ----------
        X
            Features (n, D) of its view, or a `Views` with it.
        Y
            Labels (n, L).
        context
            May hold how documents begin, and the featurizer of its view for a file of vectors.
        table
            Of ``by="words"``: a vector for each word, shape (D, d), instead of ``vectors``.
        """
        rows = self._own(X)
        self._width = int(rows.shape[1])
        if self.by == "words":
            self.table = self._word_table(rows, context) if table is None else np.array(table, "f4")
            if len(self.table) != rows.shape[1]:
                raise InputError(
                    f"the table has vectors of {len(self.table):,} words, X has "
                    f"{rows.shape[1]:,}: give one for each"
                )
        vectors = self._read(rows)
        self.middle = None if self.by == "tf-idf" else middle_of(vectors)
        vectors = self._centred(vectors)
        self.memory = Memory(vectors, csr_array(Y, dtype=np.float32), _beginnings(context))
        self.memory.prepare()
        return self

    def remember(self, X: Features, Y: csr_array, context: FitContext) -> Neighbourhood:
        """Return one that knows these documents too; Y (n, at least L) may have new labels."""
        found = copy(self)
        vectors = self._vectors(self._known(X))
        found.memory = self.memory.with_more(vectors, Y, _beginnings(context))
        found.memory.prepare()
        return found

    # --- asking -------------------------------------------------------------------------------

    @property
    def Y(self) -> csr_array:  # noqa: N802
        """Labels of the documents, shape (n, L)."""
        return self.memory.Y

    @property
    def n_documents(self) -> int:
        """Number of documents."""
        return self.memory.n_documents

    def of_training(self, k: int) -> Nearest:
        """Return the neighbours of the documents themselves, without them and near copies."""
        self._check_fitted()
        own = np.arange(self.n_documents)
        return self.memory.nearest(
            self.memory.vectors, k, own=own, copies=self.copies, threads=self.threads
        )

    def nearest(self, X: Features, k: int) -> Nearest:
        """Return the k documents that are most like each text."""
        vectors = self._vectors(self._known(X))
        return self.memory.nearest(vectors, k, threads=self.threads)

    def votes(self, nearest: Nearest, power: float) -> csr_array:
        """Return the weighted share of the neighbours that have each label, shape (n, L).

        Parameters
        ----------
        nearest
            The neighbours; a text without any has no entry.
        power
            A neighbour weighs its cosine to this power.
        """
        weights = weights_of(nearest, power)
        places = nearest.documents >= 0
        starts = np.concatenate([[0], np.cumsum(places.sum(axis=1))])
        shape = (len(nearest), self.n_documents)
        given = csr_array((weights[places], nearest.documents[places], starts), shape=shape)
        shares = csr_array(given @ self.Y, dtype=np.float32)
        shares.sort_indices()
        np.minimum(shares.data, 1.0, out=shares.data)  # rounding may add a bit
        return shares

    def spoke(
        self,
        X: Features,
        i: int,
        documents: NDArray[np.integer[Any]],
        weights: NDArray[np.floating[Any]],
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Tell how much each feature or token of row ``i`` made it like given documents.

        Parameters
        ----------
        X, i
            Features, and a row of them.
        documents, weights
            Numbers of documents and how much each counts, shapes (m,).

        Returns
        -------
        ids, weights
            Features of tf-idf or places of words, and the part of each in the weighted sum of
            cosines; none for dense rows, which do not tell.
        """
        row = self._known(X)[np.array([i])]
        weights = np.asarray(weights, np.float32)
        if self.by == "tf-idf":
            own = unit_rows(row)
            towards = self.memory.vectors[documents].T @ weights
            return own.indices.astype(np.int64), own.data * towards[own.indices]
        places = np.flatnonzero(row.tokens > UNK) if self.by == "words" else np.empty(0, np.int64)
        if not len(places):
            return places, np.empty(0, np.float32)
        assert self.table is not None
        vectors = self.table[row.tokens[places]] - self.middle
        towards = weights @ self.memory.vectors[documents]
        length = float(np.linalg.norm(vectors.sum(axis=0)))
        return places, (vectors @ towards / max(length, 1e-12)).astype(np.float32)

    def neighbours(self, nearest: Nearest, row: int) -> tuple[Neighbour, ...]:
        """Return the neighbours of one row, with their labels and how they begin."""
        Y, texts, found = self.Y, self.memory.texts, []
        both = zip(nearest.documents[row].tolist(), nearest.similarities[row], strict=True)
        for document, similarity in both:
            if document >= 0:
                labels = tuple(Y.indices[Y.indptr[document] : Y.indptr[document + 1]].tolist())
                text = texts[document] if len(texts) else ""
                found.append(Neighbour(document, float(similarity), labels, text))
        return tuple(found)

    # --- vectors ------------------------------------------------------------------------------

    def _own(self, X: Features) -> Any:
        """Return the features of its view, or say what is wrong with them."""
        if isinstance(X, Views):
            if self.view not in X:
                raise InputError(
                    f"X has the views {', '.join(X)}, and {self.view!r} is missing: neighbours by "
                    f"{self.by} read it"
                )
            X = X[self.view]
        kinds = {"tf-idf": issparse(X), "words": isinstance(X, TokenSequences)}
        if not kinds.get(self.by, isinstance(X, np.ndarray)):
            raise InputError(
                f"neighbours by {self.by} read {READS[self.by]}: use these features, not "
                f"{type(X).__name__}"
            )
        values = X if isinstance(X, np.ndarray) else getattr(X, "data", ())
        if not np.isfinite(values).all():
            raise InputError("X holds values that are not finite; clean the features first")
        return X

    def _known(self, X: Features) -> Any:
        """Return `_own` of features like those of the documents."""
        self._check_fitted()
        rows = self._own(X)
        if rows.shape[1] != self._width:
            raise InputError(
                f"X has {rows.shape[1]:,} features, but {self._width:,} are known to neighbours by "
                f"{self.by}: use the featurizer of the training"
            )
        return rows

    def _check_fitted(self) -> None:
        if not hasattr(self, "memory"):
            raise NotFittedError("these neighbours have not been learned yet: call fit first")

    def _word_table(self, X: TokenSequences, context: FitContext) -> NDArray[np.float32]:
        if self.view in context.featurizers:  # under the name by which it is looked for
            context = replace(context, featurizers={"text": context.featurizers[self.view]})
        return word_vectors(self.vectors, self.vector_size, X, context, self.seed, self.threads)

    def _vectors(self, rows: Any) -> Vectors:
        """Return vectors of length 1, shape (n, d)."""
        return self._centred(self._read(rows))

    def _read(self, rows: Any) -> Vectors:
        """Return vectors of any length, shape (n, d)."""
        if self.by != "words":
            return rows
        assert self.table is not None
        return word_means(rows, self.table)

    def _centred(self, vectors: Vectors) -> Vectors:
        """Return vectors of length 1 from the middle, shape (n, d); those that are zero stay so."""
        return unit_rows(vectors, self.middle)

    # --- saving -------------------------------------------------------------------------------

    def write(self, folder: Path) -> None:
        """Write it into a folder."""
        self._check_fitted()
        values = {name: getattr(self, name) for name in (*SETTINGS, "seed", "threads")}
        storage.write_values(
            folder, {**values, "table": self.table, "middle": self.middle, "width": self._width}
        )
        self.memory.write(folder / "documents")

    @classmethod
    def read(cls, folder: Path) -> Neighbourhood:
        """Read what `write` wrote."""
        values = storage.read_values(folder)
        if (folder / "encoder").exists():  # until 0.1 it read texts itself
            raise DamagedError(
                f"{folder} holds neighbours by an encoder as version 0.1 of labelgrove wrote it: "
                "train it again"
            )
        with checks.reading(folder):
            found = cls(**{name: values[name] for name in (*SETTINGS, "seed", "threads")})
            found.table, found.middle = values["table"], values["middle"]
            found._width = checks.whole("width", values["width"], least=1)
        found.memory = Memory.read(folder / "documents")
        with checks.reading(folder):
            found._check()
        return found

    def _check(self) -> None:
        """Refuse, of a file, vectors of other documents, or words without a vector."""
        size = self.memory.vectors.shape[1]
        if issparse(self.memory.vectors) != (self.by == "tf-idf"):
            raise ValueError(f"documents have vectors that are none of by={self.by!r}")
        if self.middle is not None:
            checks.array("middle", self.middle, np.float32, (size,))
            checks.finite("middle", self.middle)
        if self.by == "words":
            checks.array("table", self.table, np.float32, (self._width, size))
        elif self._width != size:
            raise ValueError(f"width is {self._width:,}, but vectors have {size:,} columns")
        checks.whole("length", self.length, least=1)
        for name in ("view", "vectors", "encoder", "device"):
            checks.texts(name, [getattr(self, name)])


def weights_of(nearest: Nearest, power: float) -> NDArray[np.float32]:
    """Return how much each neighbour weighs, shape (n, k), 1 together; cosines to a power."""
    most = nearest.similarities.max(axis=1, initial=0.0, keepdims=True)
    shares = np.divide(
        nearest.similarities, most, out=np.zeros_like(nearest.similarities), where=most > 0
    )
    weights = np.where(nearest.documents >= 0, shares.astype(np.float64) ** power, 0.0)
    total = weights.sum(axis=1, keepdims=True)
    found: NDArray[np.float32] = np.divide(
        weights, total, out=np.zeros_like(weights), where=total > 0
    ).astype(np.float32)
    return found


def word_means(X: TokenSequences, table: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the mean vector of each text's known words, shape (n, d); zero without any.

    Examples
    --------
    >>> X = TokenSequences(np.array([2, 3, 1, 1]), np.array([0, 3, 4]), n_terms=4)
    >>> word_means(X, np.array([[0, 0], [9, 9], [2, 0], [0, 4]], np.float32)).tolist()
    [[1.0, 2.0], [0.0, 0.0]]
    """
    counts = X.bag()
    counts.data[counts.indices <= UNK] = 0.0
    counts.eliminate_zeros()
    many = counts.sum(axis=1)
    found: NDArray[np.float32] = counts @ table
    found /= np.maximum(many, 1.0)[:, None]
    return found


def middle_of(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the mean of vectors (n, d) that are not zero, shape (d,), less if they are few.

    Examples
    --------
    >>> middle_of(np.array([[22.0], [0.0]], np.float32)).tolist()
    [2.0]
    """
    many = int(vectors.any(axis=1).sum())
    found: NDArray[np.float32] = vectors.sum(axis=0, dtype=np.float64) / (many + FEW)
    return found.astype(np.float32)


def _beginnings(context: FitContext) -> list[str]:
    return [] if context.documents is None else list(context.documents)
