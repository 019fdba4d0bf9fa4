"""Training in independent tasks: each trains the classifiers of some children of one node."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelgrove.labels import LabelTree

BLOCK = 64  # labels trained at once; fixed, so that the number of threads changes nothing


class NodeTask(NamedTuple):
    """Some children of one node: those at the places ``first`` to before ``last``."""

    tree: int
    level: int
    node: int
    first: int
    last: int


class Chunk(NamedTuple):
    """What a task learns: sparse rows by feature, and a bias and d dense weights per child.

    In a chain, the labels are features behind those of the text, in the order of the chain.
    """

    features: NDArray[np.int32]
    ptr: NDArray[np.int64]
    labels: NDArray[np.uint8]
    values: NDArray[np.float32]
    bias: NDArray[np.float32]
    dense: NDArray[np.float32]


def tasks_of(number: int, tree: LabelTree, level: int) -> Iterator[NodeTask]:
    """Yield the tasks of one level of a tree, which is the ``number``-th."""
    offsets, _ = tree.children(level)
    for node, size in enumerate(np.diff(offsets).tolist()):
        if size > 1 or level == 0:  # an only child needs no decision, but a text may have no label
            blocks = -(-size // BLOCK)
            edges = [size * block // blocks for block in range(blocks + 1)]
            for first, last in pairwise(edges):
                yield NodeTask(number, level, node, first, last)


def in_threads(
    work: Callable[[NodeTask], Chunk], tasks: Iterable[NodeTask], n_threads: int
) -> Generator[tuple[NodeTask, Chunk], None, None]:
    """Yield results as they come, with only a few tasks waiting: an interrupt is answered soon."""
    waiting: set[Future[tuple[NodeTask, Chunk]]] = set()

    def done(task: NodeTask) -> tuple[NodeTask, Chunk]:
        return task, work(task)

    with ThreadPoolExecutor(n_threads) as pool:
        try:
            for task in tasks:
                waiting.add(pool.submit(done, task))
                if len(waiting) > 2 * n_threads:
                    ended, waiting = wait(waiting, return_when="FIRST_COMPLETED")
                    yield from (future.result() for future in ended)
            while waiting:
                ended, waiting = wait(waiting, return_when="FIRST_COMPLETED")
                yield from (future.result() for future in ended)
        finally:
            for future in waiting:
                future.cancel()
