"""The file of a graph of documents, looked through before faiss reads it.

faiss believes the lengths in its files: with a wrong one it reads what is not there, and the
process ends. So every length is compared first with what the vectors beside the graph say; what is
in the graph is compared once it is read, see `check_graph`.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.core import checks

HEADER = struct.Struct("<4siqqqBi")  # kind, size and number of vectors, two unused, trained, metric
LENGTH = struct.Struct("<Q")
LAST = struct.Struct("<5i")  # where a search begins, the highest level, and how hard to search
GRAPH, VECTORS = b"IHNf", b"IxFI"  # kinds: a graph over vectors, vectors compared by inner product
PER_LEVEL = {"assign_probas": 8, "cum_nneighbor_per_level": 4}  # bytes of an item
INNER_PRODUCT = 0


def check_graph_file(path: Path, shape: tuple[int, int]) -> None:
    """Refuse a file that is not, length by length, a graph of vectors of a shape (n, d)."""
    n, size = shape
    with path.open("rb") as file:
        _check_header(file, GRAPH, shape)
        for name, width in PER_LEVEL.items():
            _pass(file, name, width, most=64)
        _pass(file, "levels", 4, least=n, most=n)
        _pass(file, "offsets", 8, least=n + 1, most=n + 1)
        _pass(file, "neighbors", 4, most=path.stat().st_size)
        _take(file, LAST)
        _check_header(file, VECTORS, shape)
        _pass(file, "vectors", 4, least=n * size, most=n * size)
        if file.tell() != path.stat().st_size:
            raise ValueError(f"{path.name} has another length than its parts")


def check_graph(graph: Any, faiss: Any, shape: tuple[int, int]) -> None:
    """Refuse a graph that links to documents that are not there, or is of other vectors (n, d)."""
    n, size = shape
    if not isinstance(graph, faiss.IndexHNSWFlat) or (graph.ntotal, graph.d) != shape:
        raise ValueError(f"there is no graph of {n:,} vectors of size {size:,}")
    hnsw = graph.hnsw
    levels, offsets, links, steps = (
        _values(faiss, part)
        for part in (hnsw.levels, hnsw.offsets, hnsw.neighbors, hnsw.cum_nneighbor_per_level)
    )
    checks.rising("offsets", offsets, len(links))
    checks.rising("cum_nneighbor_per_level", steps, int(steps[-1]) if len(steps) else 0)
    checks.below("levels", levels, len(steps), least=1)
    if (np.diff(offsets.astype(np.int64)) != steps[levels]).any():
        raise ValueError("the documents of the graph have other numbers of links than their levels")
    checks.below("neighbors", links, n, least=-1)
    top = checks.whole("entry_point", int(hnsw.entry_point), most=n - 1)
    checks.whole("max_level", int(hnsw.max_level), most=int(levels[top]) - 1)


def _values(faiss: Any, vector: Any) -> NDArray[Any]:
    values: NDArray[Any] = faiss.vector_to_array(vector)
    return values


def _check_header(file: IO[bytes], kind: bytes, shape: tuple[int, int]) -> None:
    found, size, n, _, _, trained, metric = _take(file, HEADER)
    if (found, n, size, trained, metric) != (kind, *shape, 1, INNER_PRODUCT):
        raise ValueError(f"there is no graph of {shape[0]:,} vectors of size {shape[1]:,}")


def _pass(file: IO[bytes], name: str, width: int, *, least: int = 0, most: int) -> None:
    """Pass over an array if it has a possible length."""
    (length,) = _take(file, LENGTH)
    if not least <= length <= most:
        raise ValueError(f"{name} of the graph have the length {length:,}")
    file.seek(length * width, 1)


def _take(file: IO[bytes], layout: struct.Struct) -> tuple[Any, ...]:
    data = file.read(layout.size)
    if len(data) < layout.size:
        raise ValueError("the graph was cut short")
    return layout.unpack(data)
