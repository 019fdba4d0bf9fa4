"""The flat arrays of a forest, and the checks that a kernel which reads them does not make."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelgrove.core import checks

FLAT = {  # types of the arrays beside offsets
    "child": np.int32,
    "bias": np.float32,
    "chunk_child": np.int32,
    "chunk_scale": np.float32,
    "row_feature": np.int32,
    "row_ptr": np.uint32,
    "entry_label": np.uint8,
    "entry_value": np.int16,
    "dense_value": np.int8,
    "dense_scale": np.float32,
}


class Tables(NamedTuple):
    """The arrays of a forest, as the kernels read them.

    Nodes of all trees are numbered together; the children of node v are
    ``child[child_ptr[v]:child_ptr[v + 1]]``. All paths of a tree are equally long; on the last
    level children are labels. The weights of a node lie in one or more chunks, each for a run of
    its children: sparse rows by feature, and as many dense weights for each child.

    Parameters
    ----------
    child_ptr, child
        Children of each node, shapes (v + 1,) and (m,).
    bias
        Of each child's classifier, shape (m,).
    chunk_ptr
        Chunks of each node, shape (v + 1,).
    chunk_child
        The first child of each chunk, counted within its node, shape (c,).
    chunk_rows, chunk_entries
        Rows and entries of each chunk, shape (c + 1,).
    chunk_scale
        The step of each chunk's weights, shape (c,).
    row_feature
        Feature of each row, ascending within a chunk, shape (r,).
    row_ptr
        Entries of each row counted within its chunk, of row r of chunk c at r + c and r + c + 1,
        shape (r + c,).
    entry_label, entry_value
        Child within the chunk, and weight in steps, shape (e,).
    n_features
        Width of X.
    dense_value
        Weights of the dense columns in steps, shape (m d,): of a chunk with s children from the
        m-th one on, ``dense_value[m * d : (m + s) * d]`` is an array of shape (d, s).
    dense_scale
        The step of each child's dense weights, shape (m,).
    n_dense
        Number of dense columns d; may be 0.
    """

    child_ptr: NDArray[np.int64]
    child: NDArray[np.int32]
    bias: NDArray[np.float32]
    chunk_ptr: NDArray[np.int64]
    chunk_child: NDArray[np.int32]
    chunk_rows: NDArray[np.int64]
    chunk_entries: NDArray[np.int64]
    chunk_scale: NDArray[np.float32]
    row_feature: NDArray[np.int32]
    row_ptr: NDArray[np.uint32]
    entry_label: NDArray[np.uint8]
    entry_value: NDArray[np.int16]
    n_features: int
    dense_value: NDArray[np.int8]
    dense_scale: NDArray[np.float32]
    n_dense: int


def check_tables(tables: Tables) -> None:
    """Refuse arrays that do not fit each other: every offset, index, length and type."""
    for name, kind in FLAT.items():
        checks.array(name, getattr(tables, name), kind, (None,))
    n_features = checks.whole("n_features", tables.n_features, most=2**31 - 1)
    n_dense = checks.whole("n_dense", tables.n_dense, most=2**31 - 1)
    n_children, n_chunks = len(tables.child), len(tables.chunk_child)
    checks.offsets("child_ptr", tables.child_ptr, n_children)
    checks.offsets("chunk_ptr", tables.chunk_ptr, n_chunks, len(tables.child_ptr) - 1)
    checks.offsets("chunk_rows", tables.chunk_rows, len(tables.row_feature), n_chunks)
    checks.offsets("chunk_entries", tables.chunk_entries, len(tables.entry_label), n_chunks)
    lengths = {
        "bias": n_children,
        "chunk_scale": n_chunks,
        "row_ptr": len(tables.row_feature) + n_chunks,
        "entry_value": len(tables.entry_label),
        "dense_value": n_children * n_dense,
        **({"dense_scale": n_children} if n_dense else {}),
    }
    for name, length in lengths.items():
        checks.array(name, getattr(tables, name), FLAT[name], (length,))
    for name in ("bias", "chunk_scale", "dense_scale"):
        checks.finite(name, getattr(tables, name))
    checks.below("row_feature", tables.row_feature, n_features)
    _check_rows(tables)
    _check_chunks(tables)


def _check_rows(tables: Tables) -> None:
    """Refuse rows whose entries are not those of their chunk, one row after the other."""
    begins = tables.chunk_rows[:-1] + np.arange(len(tables.chunk_child))
    ends = tables.chunk_rows[1:] + np.arange(len(tables.chunk_child))
    counted = np.diff(tables.chunk_entries)
    whole = (tables.row_ptr[begins] == 0).all() and (tables.row_ptr[ends] == counted).all()
    # numbers may fall from the last of a chunk to the first of the next one, nowhere else
    between = int((tables.row_ptr[begins[1:]] < tables.row_ptr[ends[:-1]]).sum())
    if not whole or checks.falls(tables.row_ptr) != between:
        raise ValueError("row_ptr does not give each row the entries of its chunk")


def _check_chunks(tables: Tables) -> None:
    """Refuse chunks that do not divide the children of a node, or reach beyond their own."""
    per_node = np.diff(tables.chunk_ptr)
    if (per_node == 0).any():
        raise ValueError("chunk_ptr leaves a node without weights")
    children = np.diff(tables.child_ptr)
    firsts = tables.chunk_child.astype(np.int64)
    ends = np.append(firsts[1:], 0)
    ends[tables.chunk_ptr[1:] - 1] = children
    sizes = ends - firsts
    if firsts[tables.chunk_ptr[:-1]].any() or (sizes < 1).any():
        raise ValueError("chunk_child does not divide the children of each node")
    filled = np.diff(tables.chunk_entries) > 0
    starts = tables.chunk_entries[:-1][filled]
    if len(starts) and (np.maximum.reduceat(tables.entry_label, starts) >= sizes[filled]).any():
        raise ValueError("entry_label names children that its chunk does not have")


def check_trees(
    roots: NDArray[np.int32], depths: NDArray[np.int32], tables: Tables, n_labels: int
) -> None:
    """Refuse trees whose levels do not follow one another down to every label.

    Parameters
    ----------
    roots, depths
        Root and number of levels of each tree, shapes (t,).
    tables
        Nodes, as of `check_tables`.
    n_labels
        Labels that each tree must end in.
    """
    n_trees = len(checks.array("roots", roots, np.int32, (None,)))
    checks.array("depths", depths, np.int32, (n_trees,))
    n_nodes, first = len(tables.child_ptr) - 1, 0
    if not n_trees:
        raise ValueError("roots is empty: there is no tree")
    for root, depth in zip(roots.tolist(), depths.tolist(), strict=True):
        if root != first or not 1 <= depth <= n_nodes:
            raise ValueError(f"there is no tree of depth {depth} at node {root}")
        last = root + 1
        for level in range(depth):
            if last > n_nodes:
                raise ValueError(f"level {level} of a tree goes beyond all nodes")
            below = tables.child[tables.child_ptr[first] : tables.child_ptr[last]]
            begin = 0 if level == depth - 1 else last
            counts = np.bincount(_from(below, begin), minlength=1)
            if not len(below) or (counts != 1).any():
                raise ValueError(f"level {level + 1} of a tree lacks nodes, or has some twice")
            first, last = last, last + len(below)
        if len(below) != n_labels:
            raise ValueError(f"a tree ends in {len(below):,} labels, not in {n_labels:,}")
    if first != n_nodes:
        raise ValueError(f"trees have {first:,} of {n_nodes:,} nodes")


def _from(children: NDArray[np.int32], begin: int) -> NDArray[np.int32]:
    """Return children counted from ``begin``; refuse those that cannot all be there once."""
    counted = children - np.int32(begin)
    checks.below("child", counted, len(counted))
    return counted
