"""From what tasks have learned to the flat arrays of a forest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.labels import LabelTree
from labelgrove.models.linear.forest import CHUNK, DENSE_STEPS, STEPS, Forest
from labelgrove.models.linear.forest_tables import Tables
from labelgrove.models.linear.node_training import TINY
from labelgrove.models.linear.tasks import Chunk, NodeTask, tasks_of


def build_forest(
    trees: Sequence[LabelTree], done: Mapping[NodeTask, Chunk], n_features: int
) -> Forest:
    """Put all chunks into flat arrays, in the order of trees, levels, nodes and places."""
    n_dense = next(iter(done.values())).dense.shape[1]
    certain = _certain(n_dense)
    roots, child_parts, sizes, per_node = [], [], [], []
    chunks: list[Chunk] = []
    chunk_child: list[int] = []
    n_nodes = 0
    for number, tree in enumerate(trees):
        roots.append(n_nodes)
        for level in range(tree.depth):
            offsets, nodes = tree.children(level)
            n_nodes += tree.n_nodes(level)
            last = level == tree.depth - 1
            child_parts.append(nodes if last else nodes + n_nodes)
            sizes.append(np.diff(offsets))
            tasks: dict[int, list[NodeTask]] = {}
            for task in tasks_of(number, tree, level):
                tasks.setdefault(task.node, []).append(task)
            for node in range(tree.n_nodes(level)):
                runs = list(_runs(tasks.get(node, [])))
                chunks += [_join([(task, done[task]) for task in run]) for run in runs] or [certain]
                chunk_child += [run[0].first for run in runs] or [0]
                per_node.append(max(len(runs), 1))
    # a step below TINY would be so coarse a number that the largest weight is more than STEPS
    scales = [np.abs(chunk.values).max(initial=TINY * STEPS) / STEPS for chunk in chunks]
    dense = [_in_steps(chunk.dense) for chunk in chunks]
    return Forest(
        roots=np.array(roots, np.int32),
        depths=np.array([tree.depth for tree in trees], np.int32),
        tables=Tables(
            child_ptr=_offsets(np.concatenate(sizes)),
            child=np.concatenate(child_parts).astype(np.int32),
            bias=np.concatenate([chunk.bias for chunk in chunks]),
            chunk_ptr=_offsets(np.array(per_node)),
            chunk_child=np.array(chunk_child, np.int32),
            chunk_rows=_offsets(np.array([len(chunk.features) for chunk in chunks])),
            chunk_entries=_offsets(np.array([len(chunk.labels) for chunk in chunks])),
            chunk_scale=np.array(scales, np.float32),
            row_feature=np.concatenate([chunk.features for chunk in chunks]),
            row_ptr=np.concatenate([chunk.ptr.astype(np.uint32) for chunk in chunks]),
            entry_label=np.concatenate([chunk.labels for chunk in chunks]),
            entry_value=np.concatenate(
                [
                    np.rint(chunk.values / scale).astype(np.int16)
                    for chunk, scale in zip(chunks, scales, strict=True)
                ]
            ),
            n_features=n_features,
            dense_value=np.concatenate([values.ravel() for values, _ in dense]),
            dense_scale=np.concatenate([scale for _, scale in dense]),
            n_dense=n_dense,
        ),
    )


def _certain(n_dense: int) -> Chunk:
    """Return what an only child has, which needs no decision."""
    return Chunk(
        *(np.empty(0, np.int32), np.zeros(1, np.int64), np.empty(0, np.uint8)),
        *(np.empty(0, np.float32), np.full(1, 1e9, np.float32)),
        np.zeros((1, n_dense), np.float32),
    )


def _in_steps(dense: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Return dense weights (children, d) as whole steps (d, children), and each child's step."""
    scale = np.abs(dense).max(axis=1, initial=TINY * DENSE_STEPS) / DENSE_STEPS
    return np.rint(dense.T / scale).astype(np.int8), scale.astype(np.float32)


def _runs(tasks: list[NodeTask]) -> Iterator[list[NodeTask]]:
    """Yield the tasks of a node in runs whose children fit into one chunk of a forest."""
    run: list[NodeTask] = []
    for task in tasks:
        if run and task.last - run[0].first > CHUNK:
            yield run
            run = []
        run.append(task)
    if run:
        yield run


def _join(parts: list[tuple[NodeTask, Chunk]]) -> Chunk:
    """Return one chunk for neighbouring children of a node."""
    from labelgrove.models.linear import training_kernels as kernels

    if len(parts) == 1:
        return parts[0][1]
    chunks = [chunk for _, chunk in parts]
    features = np.concatenate([chunk.features for chunk in chunks])
    entries = _offsets(np.array([len(chunk.labels) for chunk in chunks])).tolist()
    starts = [chunk.ptr[:-1] + offset for chunk, offset in zip(chunks, entries, strict=False)]
    ends = [chunk.ptr[1:] + offset for chunk, offset in zip(chunks, entries, strict=False)]
    labels = [chunk.labels + np.uint8(task.first - parts[0][0].first) for task, chunk in parts]
    joined = kernels.join(
        *(features, np.concatenate(starts), np.concatenate(ends)),
        *(np.argsort(features, kind="stable"), np.concatenate(labels)),
        np.concatenate([chunk.values for chunk in chunks]),
    )
    bias = np.concatenate([chunk.bias for chunk in chunks])
    return Chunk(*[*joined, bias, np.concatenate([chunk.dense for chunk in chunks])])


def _offsets(sizes: NDArray[Any]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
