"""Vectors and labels of documents, and a search for those that are like others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack, issparse, vstack

from labelgrove.core import checks, storage
from labelgrove.core.errors import InputError, MissingExtraError
from labelgrove.core.extras import need
from labelgrove.core.strings import PackedStrings
from labelgrove.core.threads import workers
from labelgrove.models.neighbours.graph_file import check_graph, check_graph_file
from labelgrove.text.vocabulary import read_only

Vectors: TypeAlias = Any  # csr_array or NDArray[np.float32]

EXTRA = "neighbors"
EXACT = 200_000  # documents with dense vectors up to which all are compared
BLOCK = 1 << 26  # bytes of a block of cosines or of vectors
ROWS = 64  # sparse queries that a thread takes at once
FEW = 8  # that are not worth a second thread
SLACK = np.float32(1e-5)  # by which a product may be above what it is computed alone
SPARE = 6  # more than asked for, where near copies may be among them
LINKS = 32  # of a document in the graph
EFFORT = 200  # documents kept in view while the graph is built, and at least while it is searched
FARTHEST = 2048  # documents asked of the graph; for more all are compared
INDEX = "graph.faiss"
FEW_DENSE = 4  # queries that numpy compares sooner than faiss


@dataclass(frozen=True, eq=False)
class Nearest:
    """The documents that are most like each text, best first.

    Parameters
    ----------
    documents
        Their numbers, shape (n, k), int32; -1 where there are fewer.
    similarities
        Their cosines, shape (n, k), float32, above 0 and descending; 0 beside a -1.
    """

    documents: NDArray[np.int32]
    similarities: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.documents)


class Memory:
    """Documents that can be found again by their vectors.

    Sparse vectors are searched by an inverted index, dense ones by comparing all, both exactly.
    Above ``EXACT`` documents dense ones are found by a graph (HNSW), which misses a few.

    Parameters
    ----------
    vectors
        Of length 1, or all zero where nothing is known of a document: shape (n, d), float32,
        sparse or dense.
    Y
        Labels, shape (n, L).
    texts
        How each document begins, n of them; or none.

    Examples
    --------
    >>> vectors = unit_rows(np.array([[1, 0], [4, 3], [0, 2]], np.float32))
    >>> memory = Memory(vectors, csr_array((3, 1)))
    >>> memory.nearest(memory.vectors, 2, own=np.arange(3)).documents.tolist()
    [[1, -1], [0, 2], [1, -1]]
    """

    def __init__(
        self,
        vectors: Vectors,
        Y: csr_array,
        texts: Sequence[str] = (),
        *,
        postings: Postings | None = None,
        graph: Any = None,
    ) -> None:
        n = vectors.shape[0]
        if Y.shape[0] != n or len(texts) not in (0, n):
            raise InputError(
                f"{n:,} vectors of documents with {Y.shape[0]:,} rows of labels and "
                f"{len(texts):,} texts: give as many of each, or no texts"
            )
        self.vectors, self.Y, self.texts = vectors, Y, texts
        self._postings, self._graph = postings, graph

    @property
    def n_documents(self) -> int:
        """Number of documents."""
        return int(self.Y.shape[0])

    @property
    def is_exact(self) -> bool:
        """Whether the search compares all documents."""
        return bool(issparse(self.vectors)) or self.n_documents <= EXACT

    def prepare(self) -> None:
        """Build what the search needs, which the first search would do otherwise."""
        if issparse(self.vectors) and self._postings is None:
            self._postings = Postings.of(self.vectors)
        elif not self.is_exact and self._graph is None:
            self._graph = _grown(self.vectors)

    # --- searching ----------------------------------------------------------------------------

    def nearest(
        self,
        queries: Vectors,
        k: int,
        *,
        own: NDArray[np.integer[Any]] | None = None,
        copies: float | None = None,
        threads: int | None = None,
    ) -> Nearest:
        """Return the k documents with the greatest cosines above 0, equal ones by number.

        Parameters
        ----------
        queries
            Of the form of ``vectors``, shape (m, d).
        k
            Places.
        own
            Which document each query is, shape (m,), -1 for none: it is not its own neighbour.
        copies
            With ``own``: documents whose cosine is above this are no neighbours either.
        threads
            None for all cores.
        """
        if k < 1:
            raise InputError(f"neighbours must be a whole number from 1, got {k!r}")
        if issparse(queries) != issparse(self.vectors) or queries.shape[1] != self.vectors.shape[1]:
            raise InputError(
                f"queries of shape {queries.shape} do not fit documents of shape "
                f"{self.vectors.shape}: use vectors of the same kind"
            )
        self.prepare()
        mine: NDArray[np.int64] = np.full(queries.shape[0], -1, np.int64)
        if own is not None:
            mine[:] = own
        limit = np.inf if copies is None else float(copies)
        if issparse(queries):
            return self._search_sparse(queries, k, mine, limit, workers(threads))
        return self._search_dense(np.ascontiguousarray(queries), k, mine, limit, workers(threads))

    def _search_sparse(
        self, queries: csr_array, k: int, own: NDArray[np.int64], limit: float, threads: int
    ) -> Nearest:
        from labelgrove.models.neighbours import kernels

        assert self._postings is not None
        n, mine = queries.shape[0], self.vectors
        # what is on disk is read-only: with all so, kernels are compiled once
        asked = [read_only(part) for part in (queries.indptr, queries.indices, queries.data)]
        known = [read_only(part) for part in (mine.indptr, mine.indices, mine.data)]
        known += [read_only(part) for part in (*self._postings, own)]
        documents, similarities = np.empty((n, k), np.int32), np.empty((n, k), np.float32)

        def work(first: int) -> None:
            last = min(first + ROWS, n)
            found = documents[first:last], similarities[first:last]
            kernels.nearest_rows(*asked, first, last, *known, np.float32(limit), *found)

        starts = range(0, n, ROWS)
        if threads == 1 or n <= FEW:
            for first in starts:
                work(first)
        else:
            with ThreadPoolExecutor(threads) as pool:
                list(pool.map(work, starts))
        return Nearest(documents, similarities)

    def _search_dense(
        self,
        queries: NDArray[np.float32],
        k: int,
        own: NDArray[np.int64],
        limit: float,
        threads: int,
    ) -> Nearest:
        """Ask for a few more than k; where k are not left of them, compare all that may be."""
        documents = np.full((len(queries), k), -1, np.int32)
        similarities = np.zeros((len(queries), k), np.float32)
        left = np.flatnonzero(queries.any(axis=1))  # what has no vector is like nothing
        asked = min(k + (1 + SPARE if (own >= 0).any() else 0), self.n_documents)
        again = [np.empty(0, np.int64)]
        for rows in _blocks(left, 4 * asked * queries.shape[1]):
            found = self._most_like(queries[rows], asked, threads)
            places = _places_of(found, own[rows, None], limit, k)
            _put(documents, similarities, rows, places, found)
            # there may be more of them if all that were found are like the text
            short = ((places >= 0).sum(axis=1) < k) & (found.similarities[:, -1] > 0)
            again.append(rows[short])
        for rows in _blocks(np.concatenate(again), 4 * self.n_documents):
            cosines = queries[rows] @ self.vectors.T
            cosines[(own[rows, None] >= 0) & (cosines > np.float32(limit) + SLACK)] = -1.0
            mine = np.flatnonzero(own[rows] >= 0)
            cosines[mine, own[rows][mine]] = -1.0
            most = min(asked, self.n_documents)  # some are left out yet by their exact cosine
            best = np.argpartition(cosines, self.n_documents - most, axis=1)[:, -most:]
            found = self._ordered(queries[rows], best)
            places = _places_of(found, own[rows, None], limit, k)
            documents[rows], similarities[rows] = -1, 0.0
            _put(documents, similarities, rows, places, found)
        return Nearest(documents, similarities)

    def _most_like(self, queries: NDArray[np.float32], k: int, threads: int) -> Nearest:
        """Return the k documents nearest to each query, whatever they are."""
        vectors = self.vectors
        if self._graph is not None and k <= FARTHEST:
            faiss = _faiss()
            effort = faiss.SearchParametersHNSW(efSearch=max(EFFORT, 2 * k))
            with _limited(faiss, threads):
                _, found = self._graph.search(queries, k, params=effort)
            lost = np.flatnonzero((found < 0).any(axis=1))  # where the graph has an end
            if len(lost):
                found[lost] = _compared(queries[lost], vectors, k, threads)
        else:
            found = _compared(queries, vectors, k, threads)
        return self._ordered(queries, found)

    def _ordered(self, queries: NDArray[np.float32], found: NDArray[np.int64]) -> Nearest:
        """Return documents (m, k) of queries (m, d) with their cosines, best first."""
        # computed anew: a product's last bit depends on what else is multiplied with it
        cosines = np.einsum("qd,qkd->qk", queries, self.vectors[found])
        np.clip(cosines, -1.0, 1.0, out=cosines)
        order = np.lexsort((found, -cosines))
        return Nearest(
            np.take_along_axis(found, order, axis=1).astype(np.int32),
            np.take_along_axis(cosines, order, axis=1),
        )

    # --- more documents -----------------------------------------------------------------------

    def with_more(self, vectors: Vectors, Y: csr_array, texts: Sequence[str] = ()) -> Memory:
        """Return a memory of these documents too; this one stays as it is.

        Parameters
        ----------
        vectors
            Of the form of the others, shape (m, d).
        Y
            Labels, shape (m, at least L).
        texts
            How they begin, m of them; or none.
        """
        if issparse(vectors) != issparse(self.vectors) or vectors.shape[1] != self.vectors.shape[1]:
            raise InputError(
                f"vectors of shape {vectors.shape} do not fit documents of shape "
                f"{self.vectors.shape}: use vectors of the same kind"
            )
        known, wide = self.Y.shape[1], Y.shape[1]
        if wide < known:
            raise InputError(f"Y has {wide} columns, but {known} labels are known")
        old = csr_array(hstack([self.Y, csr_array((self.n_documents, wide - known))]))
        labels = csr_array(vstack([old, Y]), dtype=np.float32)
        beginnings: Sequence[str] = ()
        if len(self.texts) or len(texts):
            known_texts = self.texts or PackedStrings.empty(self.n_documents)
            new_texts = texts or PackedStrings.empty(Y.shape[0])
            beginnings = PackedStrings.of(known_texts).joined(PackedStrings.of(new_texts))
        if issparse(vectors):
            joined = _narrow(csr_array(vstack([self.vectors, vectors]), dtype=np.float32))
            return Memory(joined, labels, beginnings)
        graph = None if self._graph is None else _grown(vectors, self._graph)
        return Memory(np.concatenate([self.vectors, vectors]), labels, beginnings, graph=graph)

    # --- saving -------------------------------------------------------------------------------

    def write(self, folder: Path) -> None:
        """Write it into a folder."""
        self.prepare()
        texts = PackedStrings.of(self.texts)
        values: dict[str, Any] = {"vectors": self.vectors, "Y": self.Y}
        values.update(letters=texts.utf8, ends=texts.ends)
        if self._postings is not None:
            values.update(self._postings._asdict())
        storage.write_values(folder, values)
        if self._graph is not None:
            _faiss().write_index(self._graph, str(folder / INDEX))

    @classmethod
    def read(cls, folder: Path) -> Memory:
        """Read what `write` wrote; arrays and graph stay on disk until they are needed."""
        values = storage.read_values(folder)
        with checks.reading(folder):
            texts = PackedStrings.checked("texts", values["letters"], values["ends"])
            found = cls(_checked(values["vectors"]), _checked(values["Y"], sparse=True), texts)
            if issparse(found.vectors):
                found._postings = Postings(*(values[name] for name in Postings._fields))
                found._postings.check(found.vectors)
        if (folder / INDEX).is_file():
            faiss = _faiss()
            with checks.reading(folder / INDEX):
                check_graph_file(folder / INDEX, found.vectors.shape)
                found._graph = faiss.read_index(str(folder / INDEX), faiss.IO_FLAG_MMAP_IFC)
                check_graph(found._graph, faiss, found.vectors.shape)
        return found


class Postings(NamedTuple):
    """Sparse vectors by column.

    Parameters
    ----------
    starts
        Entries of column t are ``starts[t]`` to before ``starts[t + 1]``, shape (d + 1,), int64.
    documents, values
        Row and value of each entry, shape (m,).
    """

    starts: NDArray[np.int64]
    documents: NDArray[np.int32]
    values: NDArray[np.float32]

    @classmethod
    def of(cls, vectors: csr_array) -> Postings:
        """Return the columns of a csr array, shape (n, d)."""
        columns = vectors.tocsc()
        starts, documents = columns.indptr.astype(np.int64), columns.indices.astype(np.int32)
        return cls(starts, documents, columns.data)

    def check(self, vectors: csr_array) -> None:
        """Refuse what are no columns of vectors (n, d)."""
        n_entries = len(checks.array("documents", self.documents, np.int32, (vectors.nnz,)))
        checks.array("values", self.values, np.float32, (n_entries,))
        checks.offsets("starts", self.starts, n_entries, vectors.shape[1])
        checks.below("documents", self.documents, vectors.shape[0])


# --- vectors ----------------------------------------------------------------------------------


def unit_rows(vectors: Vectors, middle: NDArray[np.float32] | None = None) -> Vectors:
    """Return vectors (n, d) of length 1, float32; those without any number stay zero.

    Parameters
    ----------
    vectors
        Sparse or dense.
    middle
        Of dense ones: from where they are counted, shape (d,).

    Examples
    --------
    >>> unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    if not issparse(vectors):
        found = np.zeros(vectors.shape, np.float32)
        step = max(1, BLOCK // (8 * max(1, vectors.shape[1])))
        for start in range(0, len(vectors), step):  # doubles of a block only
            rows = np.asarray(vectors[start : start + step])
            dense = np.asarray(rows if middle is None else rows - middle, np.float64)
            lengths = np.sqrt(np.einsum("nd,nd->n", dense, dense))
            known = rows.any(axis=1) & (lengths > 0)
            np.divide(
                dense, lengths[:, None], out=found[start : start + step],
                where=known[:, None], casting="same_kind",
            )  # fmt: skip
        return found
    rows = csr_array(vectors, dtype=np.float64, copy=True)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    owners = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    lengths = np.sqrt(np.bincount(owners, rows.data**2, rows.shape[0]))
    rows.data /= lengths[owners]
    return _narrow(rows.astype(np.float32))


def _checked(rows: Any, sparse: bool = False) -> Any:
    """Return rows of a file if they are numbers that the kernels know."""
    if isinstance(rows, csr_array):
        checks.array("vectors", rows.data, np.float32, (None,))
        if rows.indices.dtype != rows.indptr.dtype:
            raise ValueError("vectors have indices of two types")
    elif sparse:
        raise ValueError("labels of documents must be sparse rows")
    else:
        checks.array("vectors", rows, np.float32, (None, None))
    return rows


def _narrow(rows: csr_array) -> csr_array:
    """Return rows as the kernels know them, with indices as narrow as they can be."""
    kind = np.int32 if max(rows.nnz, *rows.shape) < 2**31 else np.int64
    parts = rows.data, rows.indices.astype(kind), rows.indptr.astype(kind)
    return csr_array(parts, shape=rows.shape)


def _blocks(rows: NDArray[np.int64], size: int) -> Iterator[NDArray[np.int64]]:
    """Yield rows in blocks, each row of so many bytes."""
    step = max(BLOCK // max(size, 1), 1)
    for first in range(0, len(rows), step):
        yield rows[first : first + step]


def _places_of(found: Nearest, own: NDArray[np.int64], limit: float, k: int) -> NDArray[np.int64]:
    """Return the place of each that counts as a neighbour, -1 for the others, shape (m, a)."""
    fits = found.similarities > 0
    fits &= (own < 0) | ((found.documents != own) & (found.similarities <= np.float32(limit)))
    places = np.cumsum(fits, axis=1) - 1
    return np.where(fits & (places < k), places, -1)


def _put(
    documents: NDArray[np.int32],
    similarities: NDArray[np.float32],
    rows: NDArray[np.int64],
    places: NDArray[np.int64],
    found: Nearest,
) -> None:
    """Write what was found for some rows to its places; those below 0 are left out."""
    fits = places >= 0
    at = np.broadcast_to(rows[:, None], fits.shape)[fits], places[fits]
    documents[at], similarities[at] = found.documents[fits], found.similarities[fits]


# --- dense search -----------------------------------------------------------------------------


def _faiss() -> ModuleType:
    purpose = f"finding neighbours among more than {EXACT:,} documents by dense vectors"
    return need("faiss", EXTRA, purpose)


@contextmanager
def _limited(faiss: Any, threads: int) -> Iterator[None]:
    """Let faiss use so many threads for a while."""
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(threads)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)


def _compared(
    queries: NDArray[np.float32], vectors: NDArray[np.float32], k: int, threads: int
) -> NDArray[np.int64]:
    """Return the k of vectors (n, d) with the greatest products with queries (m, d), (m, k)."""
    if len(queries) <= FEW_DENSE:
        return _compared_plainly(queries, vectors, k)
    try:
        faiss: Any = _faiss()
    except MissingExtraError:
        return _compared_plainly(queries, vectors, k)
    with _limited(faiss, threads):
        found: NDArray[np.int64] = faiss.knn(queries, vectors, k, faiss.METRIC_INNER_PRODUCT)[1]
    return found


def _compared_plainly(
    queries: NDArray[np.float32], vectors: NDArray[np.float32], k: int
) -> NDArray[np.int64]:
    """Do the same with numpy alone, in blocks."""
    found = np.empty((len(queries), k), np.int64)
    for rows in _blocks(np.arange(len(queries)), 4 * len(vectors)):
        cosines = queries[rows] @ vectors.T
        if k < len(vectors):
            found[rows] = np.argpartition(cosines, len(vectors) - k, axis=1)[:, -k:]
        else:
            found[rows] = np.arange(k)
    return found


def _grown(vectors: NDArray[np.float32], old: Any = None) -> Any:
    """Return a graph of vectors (n, d), or a copy of an old one with these vectors too."""
    faiss: Any = _faiss()
    if old is None:
        graph = faiss.IndexHNSWFlat(vectors.shape[1], LINKS, faiss.METRIC_INNER_PRODUCT)
        graph.hnsw.efConstruction = EFFORT
    else:
        graph = faiss.deserialize_index(faiss.serialize_index(old))
    with _limited(faiss, 1):  # with more, what is linked depends on which is faster
        graph.add(np.ascontiguousarray(vectors))
    return graph
