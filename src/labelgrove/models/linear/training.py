"""Training the classifiers of label trees and chains: a task for each run of a node's children."""

from __future__ import annotations

import hashlib
import shutil
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array

from labelgrove._version import __version__
from labelgrove.core import storage
from labelgrove.core.errors import DamagedError, InputError, StorageError
from labelgrove.core.threads import workers
from labelgrove.core.types import Run
from labelgrove.labels import LabelTree, propensities
from labelgrove.models.linear.forest import CHUNK, STEPS, Forest, Tables

BLOCK = 64  # labels trained at once; fixed, so that the number of threads changes nothing
LANES = 16  # the solver's columns come in multiples of this
FLUSH_SECONDS = 30.0
TINY = float(np.finfo(np.float32).tiny)  # what is smaller is nothing, also with threshold 0
Loss = Literal["squared-hinge", "logistic"]
LOSSES = ("squared-hinge", "logistic")


@dataclass(frozen=True)
class Solver:
    """How a classifier is trained.

    Parameters
    ----------
    loss
        ``"squared-hinge"`` or ``"logistic"``.
    cost
        Weight of the losses against the size of the weights.
    epochs
        Passes over the documents at most.
    tolerance
        Violations below it count as none.
    threshold
        Weights smaller than this are dropped.
    seed
        Of the order in which documents are visited.
    negatives
        Nodes per document that the levels above take for its own, whether they are or not; their
        classifiers learn from it too. 0 for none: a node sees only documents below it.
    sharpness
        Slope of the probabilities by which these nodes are found.
    tail
        A document counts more for the labels that it has the rarer they are: their inverse
        propensity to this power. 0 treats all alike.
    link
        Value of a label as a feature of those after it in a chain. 0 for no chain.
    """

    loss: Loss
    cost: float
    epochs: int
    tolerance: float
    threshold: float
    seed: int
    negatives: int = 0
    sharpness: float = 4.0
    tail: float = 0.0
    link: float = 0.0


class Task(NamedTuple):
    """Some children of one node: those at the places ``first`` to before ``last``."""

    tree: int
    level: int
    node: int
    first: int
    last: int


class Chunk(NamedTuple):
    """What a task learns: sparse rows by feature, and a bias per child.

    In a chain, the labels are features behind those of the text, in the order of the chain.
    """

    features: NDArray[np.int32]
    ptr: NDArray[np.int64]
    labels: NDArray[np.uint8]
    values: NDArray[np.float32]
    bias: NDArray[np.float32]


CERTAIN = Chunk(  # of an only child, which needs no decision
    *(np.empty(0, np.int32), np.zeros(1, np.int64), np.empty(0, np.uint8)),
    *(np.empty(0, np.float32), np.full(1, 1e9, np.float32)),
)


def train_forest(
    X: csr_array,
    Y: csr_array,
    trees: Sequence[LabelTree],
    solver: Solver,
    run: Run,
    threads: int | None,
) -> Forest:
    """Train every classifier of some label trees.

    The root learns from all documents, also from those without labels; a node from those that
    have a label below it and, with ``solver.negatives``, that the levels above find likely to.
    Tasks of a level are independent, so they run in threads and in any order, level after level;
    finished ones are kept in the run folder, and a resumed training does not repeat them.

    Parameters
    ----------
    X
        Features, shape (n, D).
    Y
        Labels, shape (n, L).
    trees
        Trees over the L labels.
    solver
        How a classifier is trained.
    run
        Folder, resume and progress.
    threads
        Threads; None for all cores.
    """
    X = csr_array(X, dtype=np.float32)
    return _assemble(trees, _train_all(X, Y, trees, solver, run, threads), X.shape[1])


def train_chains(
    X: csr_array,
    Y: csr_array,
    trees: Sequence[LabelTree],
    orders: Sequence[NDArray[np.integer[Any]]],
    solver: Solver,
    run: Run,
    threads: int | None,
) -> tuple[Forest, csr_array]:
    """Train the classifiers of chains of labels, each on the text and the labels before its own.

    Those are the true ones, so that no classifier waits for another: tasks run in threads and
    are resumed as in `train_forest`.

    Parameters
    ----------
    X
        Features, shape (n, D).
    Y
        Labels, shape (n, L).
    trees
        A tree of the L labels for each of t chains, with no node between root and labels.
    orders
        The labels in the order of each chain, t arrays of shape (L,).
    solver
        How a classifier is trained; its ``link`` is above 0.
    run
        Folder, resume and progress.
    threads
        Threads; None for all cores.

    Returns
    -------
    forest
        The trees; the labels below each root are in the order of its chain.
    links
        What a label adds to the scores of later ones, shape (t L, L): row ``c * L + i`` is of
        the label at place i of chain c, columns are places.
    """
    X = csr_array(X, dtype=np.float32)
    done = _train_all(X, Y, trees, solver, run, threads, orders)
    done, links = _split(done, X.shape[1], (len(orders), Y.shape[1]))
    forest = _assemble(trees, done, X.shape[1])
    labels = np.concatenate(orders).astype(np.int32)
    links.data *= np.float32(solver.link)
    return replace(forest, tables=forest.tables._replace(child=labels)), links


def _split(
    done: dict[Task, Chunk], n_features: int, shape: tuple[int, int]
) -> tuple[dict[Task, Chunk], csr_array]:
    """Return chunks of the text's features only, and the weights of labels for (chains, L)."""
    texts: dict[Task, Chunk] = {}
    rows, columns, values = [], [], []
    for task, chunk in done.items():
        cut = int(np.searchsorted(chunk.features, n_features))
        entry = int(chunk.ptr[cut])
        texts[task] = chunk._replace(
            features=chunk.features[:cut],
            ptr=chunk.ptr[: cut + 1],
            labels=chunk.labels[:entry],
            values=chunk.values[:entry],
        )
        places = np.repeat(chunk.features[cut:] - n_features, np.diff(chunk.ptr[cut:]))
        rows.append(task.tree * shape[1] + places)
        columns.append(task.first + chunk.labels[entry:].astype(np.int32))
        values.append(chunk.values[entry:])
    where = np.concatenate(rows), np.concatenate(columns)
    links = csr_array((np.concatenate(values), where), shape=(shape[0] * shape[1], shape[1]))
    links.sum_duplicates()  # tasks end in any order: it sorts
    return texts, links


def _train_all(
    X: csr_array,
    Y: csr_array,
    trees: Sequence[LabelTree],
    solver: Solver,
    run: Run,
    threads: int | None,
    orders: Sequence[NDArray[np.integer[Any]]] | None = None,
) -> dict[Task, Chunk]:
    """Return what every task learns; with ``orders``, labels are numbered so in each tree."""
    hot = _Hot(X)
    # a checksum reads all of X: only where there is something to compare it with
    known_by = _fingerprint(X, Y, trees, solver, orders or ()) if run.folder else ""
    finished = _Finished(run, known_by)
    done = finished.load()
    levels = [(number, level) for number, tree in enumerate(trees) for level in range(tree.depth)]
    total = sum(len(list(_tasks(number, trees[number], level))) for number, level in levels)
    with run.progress.task("training", total, "groups of labels", len(done)) as shown:
        try:
            for number, level in levels:
                todo = [t for t in _tasks(number, trees[number], level) if t not in done]
                if not todo:
                    continue
                labels = csr_array(Y[:, orders[number]]) if orders else Y
                here = _Level(labels, trees[number], level)
                if level and solver.negatives:
                    above = _upper_part(trees[number], number, level, done, X.shape[1])
                    n_nodes = trees[number].n_nodes(level)
                    here.add(_likely(X, above, n_nodes, solver, threads))
                todo.sort(key=here.work, reverse=True)
                work = partial(_train, hot, here, solver)
                for task, chunk in _in_threads(work, todo, workers(threads)):
                    done[task] = chunk
                    finished.add(task, chunk)
                    shown.advance()
        finally:  # also when interrupted: what is done is kept
            finished.flush()
    return done


def _upper_part(
    tree: LabelTree, number: int, level: int, done: dict[Task, Chunk], n_features: int
) -> Forest:
    """Return the levels above ``level`` of a tree, whose nodes are the forest's labels."""
    own = {task._replace(tree=0): chunk for task, chunk in done.items() if task.tree == number}
    return _assemble([LabelTree(tree.levels[:level])], own, n_features)


def _likely(
    X: csr_array, above: Forest, n_nodes: int, solver: Solver, threads: int | None
) -> csr_array:
    """Return the nodes of a tree's last level that it finds most likely, shape (n, n_nodes)."""
    beam = max(10, solver.negatives)
    found = above.rank(X, min(solver.negatives, n_nodes), beam, solver.sharpness, threads)
    return found.to_csr(n_nodes)


def _tasks(number: int, tree: LabelTree, level: int) -> Iterator[Task]:
    offsets, _ = tree.children(level)
    for node, size in enumerate(np.diff(offsets).tolist()):
        if size > 1 or level == 0:  # an only child needs no decision, but a text may have no label
            blocks = -(-size // BLOCK)
            edges = [size * block // blocks for block in range(blocks + 1)]
            for first, last in pairwise(edges):
                yield Task(number, level, node, first, last)


class _Hot:
    """X with its features renumbered, the most frequent first: what is used often lies together."""

    def __init__(self, X: csr_array) -> None:
        order = np.argsort(-np.bincount(X.indices, minlength=X.shape[1]), kind="stable")
        place = np.empty(len(order), np.int32)
        place[order] = np.arange(len(order), dtype=np.int32)
        self.X = csr_array((X.data, place[X.indices], X.indptr), shape=X.shape)
        self.order = order.astype(np.int32)
        self._scratch = threading.local()

    def scratch(self) -> NDArray[np.int32]:
        """Return this thread's own array of -1, one per feature."""
        if not hasattr(self._scratch, "place"):
            self._scratch.place = np.full(self.X.shape[1], -1, np.int32)
        place: NDArray[np.int32] = self._scratch.place
        return place

    def zeros(self, rows: int, columns: int) -> NDArray[np.float32]:
        """Return this thread's own array, emptied: new memory for every task would be slower."""
        if not hasattr(self._scratch, "zeros") or self._scratch.zeros.size < rows * columns:
            self._scratch.zeros = np.empty(rows * columns, np.float32)
        zeros: NDArray[np.float32] = self._scratch.zeros[: rows * columns].reshape(rows, columns)
        zeros[:] = 0
        return zeros


class _Level:
    """The documents and true children of every node of one level of a tree."""

    def __init__(self, Y: csr_array, tree: LabelTree, level: int) -> None:
        self.below = csr_array(tree.indicators(Y, level + 1))
        self.parent = np.ascontiguousarray(tree.levels[level], np.int32)
        offsets, nodes = tree.children(level)
        self.place = np.empty(len(nodes), np.int32)
        self.place[nodes] = np.arange(len(nodes)) - np.repeat(offsets[:-1], np.diff(offsets))
        here = tree.indicators(Y, level) if level else np.ones((Y.shape[0], 1), np.float32)
        self._here = csc_array(here)
        counts = np.bincount(self.below.indices, minlength=len(nodes))
        self._offsets, self._rarity = offsets, 1 / propensities(counts, Y.shape[0])[nodes]

    def add(self, likely: csr_array) -> None:
        """Let nodes learn also from the documents that are stored in ``likely`` (n, nodes)."""
        likely.data[:] = 1
        self._here = csc_array(self._here + likely)

    def rows(self, node: int) -> NDArray[np.int32]:
        """Return the documents that ``node`` learns from, ascending."""
        ptr = self._here.indptr
        return np.sort(self._here.indices[ptr[node] : ptr[node + 1]])

    def true_cost(self, task: Task, solver: Solver) -> NDArray[np.float32]:
        """Return what a document counts for each child of the task that it has."""
        rarity = self._rarity[self._offsets[task.node] :][task.first : task.last]
        return (solver.cost * rarity**solver.tail).astype(np.float32)

    def work(self, task: Task) -> int:
        """Return a guess of the work of a task."""
        ptr = self._here.indptr
        return int(ptr[task.node + 1] - ptr[task.node]) * (task.last - task.first)


def _train(hot: _Hot, level: _Level, solver: Solver, task: Task) -> tuple[Task, Chunk]:
    from labelgrove.models.linear import training_kernels as kernels

    rows = level.rows(task.node)
    X = hot.X
    indptr, indices, data, features = kernels.gather(
        X.indptr, X.indices, X.data, rows, hot.scratch()
    )
    below = (level.below.indptr, level.below.indices, rows, level.parent, level.place, task.node)
    true_ptr, true = kernels.truth(*below, task.first, task.last)
    n_labels = task.last - task.first
    n_earlier = task.last - 1 if solver.link else 0  # the last label of a chain is nobody's feature
    earlier_ptr, earlier = kernels.truth(*below, 0, n_earlier)
    n_text = len(features)
    weights = hot.zeros(n_text + n_earlier + 1, -(-n_labels // LANES) * LANES)
    seed = solver.seed * 1_000_003 + task.node * 8191 + task.first + task.level
    kernels.solve(
        *(indptr, indices, data, true_ptr, true, weights),
        *(np.float32(solver.cost), level.true_cost(task, solver), solver.loss == "logistic"),
        *(solver.epochs, np.float32(solver.tolerance), seed % 2**31),
        *(earlier_ptr, earlier + np.int32(n_text), n_text + task.first, np.float32(solver.link)),
    )
    behind = X.shape[1] + np.arange(n_earlier, dtype=np.int32)
    original = np.concatenate([hot.order[features], behind])
    threshold = max(solver.threshold, TINY)
    kept = kernels.compress(weights, n_labels, original, np.argsort(original), threshold)
    return task, Chunk(*[*kept, weights[-1, :n_labels].copy()])


def _in_threads(work: Any, tasks: Iterable[Task], n_threads: int) -> Iterator[tuple[Task, Chunk]]:
    """Yield results as they come, with only a few tasks waiting: an interrupt is answered soon."""
    waiting: set[Future[tuple[Task, Chunk]]] = set()
    with ThreadPoolExecutor(n_threads) as pool:
        try:
            for task in tasks:
                waiting.add(pool.submit(work, task))
                if len(waiting) > 2 * n_threads:
                    ended, waiting = wait(waiting, return_when="FIRST_COMPLETED")
                    yield from (future.result() for future in ended)
            while waiting:
                ended, waiting = wait(waiting, return_when="FIRST_COMPLETED")
                yield from (future.result() for future in ended)
        finally:
            for future in waiting:
                future.cancel()


def _assemble(trees: Sequence[LabelTree], done: dict[Task, Chunk], n_features: int) -> Forest:
    """Put all chunks into flat arrays, in the order of trees, levels, nodes and places."""
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
            tasks: dict[int, list[Task]] = {}
            for task in _tasks(number, tree, level):
                tasks.setdefault(task.node, []).append(task)
            for node in range(tree.n_nodes(level)):
                runs = list(_runs(tasks.get(node, [])))
                chunks += [_join([(task, done[task]) for task in run]) for run in runs] or [CERTAIN]
                chunk_child += [run[0].first for run in runs] or [0]
                per_node.append(max(len(runs), 1))
    # a step below TINY would be so coarse a number that the largest weight is more than STEPS
    scales = [np.abs(chunk.values).max(initial=TINY * STEPS) / STEPS for chunk in chunks]
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
        ),
    )


def _runs(tasks: list[Task]) -> Iterator[list[Task]]:
    """Yield the tasks of a node in runs whose children fit into one chunk of a forest."""
    run: list[Task] = []
    for task in tasks:
        if run and task.last - run[0].first > CHUNK:
            yield run
            run = []
        run.append(task)
    if run:
        yield run


def _join(parts: list[tuple[Task, Chunk]]) -> Chunk:
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
    return Chunk(*[*joined, bias])


def _offsets(sizes: NDArray[Any]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


# --- resume -----------------------------------------------------------------------------------


def _fingerprint(
    X: csr_array,
    Y: csr_array,
    trees: Sequence[LabelTree],
    solver: Solver,
    orders: Sequence[NDArray[np.integer[Any]]],
) -> str:
    """Return a checksum of all that the result depends on."""
    about = (__version__, BLOCK, solver, X.shape, Y.shape)
    digest = hashlib.blake2b(repr(about).encode(), digest_size=16)
    for array in (X.indptr, X.indices, X.data, Y.indptr, Y.indices):
        digest.update(np.ascontiguousarray(array).data)
    for tree in trees:
        for level in tree.levels:
            digest.update(np.ascontiguousarray(level).data)
    for order in orders:
        digest.update(np.ascontiguousarray(order, np.int64).data)
    return digest.hexdigest()


class _Finished:
    """Finished tasks in the run folder, written every half minute; nothing without a folder."""

    def __init__(self, run: Run, fingerprint: str) -> None:
        self._run, self._folder = run, run.folder
        self._fingerprint = fingerprint
        self._waiting: list[tuple[Task, Chunk]] = []
        self._flushed = time.monotonic()
        self._part = 0

    def load(self) -> dict[Task, Chunk]:
        """Return the finished tasks of an earlier run, or start a new one."""
        if self._folder is None:
            return {}
        note = self._folder / "training"
        if self._run.resume and note.exists():
            if note.read_text(encoding="utf-8") != self._fingerprint:
                raise InputError(
                    f"{self._folder} holds a training on other data or with other settings: give "
                    "those again, or start anew (resume=False; --overwrite without --resume)"
                )
            done: dict[Task, Chunk] = {}
            for part in sorted(self._folder.glob("part-*")):
                done.update(_read_part(part))
                self._part += 1
            self._run.progress.say(f"resuming: {len(done):,} groups of labels are done")
            return done
        others = [path for path in self._folder.glob("[!.]*") if path.name[:5] != "part-"]
        if self._run.resume and others:
            raise InputError(
                f"{self._folder} holds a training of another kind of model ({others[0].name}): "
                "give that again, or start anew (resume=False; --overwrite without --resume)"
            )
        with _writing_to(self._folder):
            self._folder.mkdir(parents=True, exist_ok=True)
            note.unlink(missing_ok=True)  # first, since parts mean nothing without it
            for part in [*self._folder.glob("part-*"), *self._folder.glob(".part-*")]:
                shutil.rmtree(part)
            unfinished = self._folder / ".training"
            unfinished.write_text(self._fingerprint, encoding="utf-8")
            unfinished.rename(note)
        return {}

    def add(self, task: Task, chunk: Chunk) -> None:
        """Keep a result; write what is waiting if it is time."""
        if self._folder is not None:
            self._waiting.append((task, chunk))
            if time.monotonic() - self._flushed > FLUSH_SECONDS:
                self.flush()

    def flush(self) -> None:
        """Write what is waiting."""
        if self._folder is None or not self._waiting:
            return
        values: dict[str, Any] = {"tasks": np.array([task for task, _ in self._waiting], np.int64)}
        for name in Chunk._fields:
            parts = [getattr(chunk, name) for _, chunk in self._waiting]
            values[name] = np.concatenate(parts)
            values[f"{name}_size"] = np.array([len(part) for part in parts], np.int64)
        temporary = self._folder / f".part-{self._part:06d}"
        with _writing_to(self._folder):
            shutil.rmtree(temporary, ignore_errors=True)  # of a run that was killed here
            storage.write_values(temporary, values)
            storage.flush(temporary)
            temporary.rename(self._folder / f"part-{self._part:06d}")
        self._part += 1
        self._waiting, self._flushed = [], time.monotonic()


@contextmanager
def _writing_to(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StorageError(
            f"cannot keep the training in {folder}: {error.strerror or error}; make room there, or "
            "choose another place"
        ) from error


def _read_part(folder: Path) -> dict[Task, Chunk]:
    try:
        values = storage.read_values(folder)
    except DamagedError as error:
        raise DamagedError(
            f"what was kept of the training in {folder} is damaged: start anew (resume=False; "
            "--overwrite without --resume)"
        ) from error
    columns = [
        np.split(values[name], np.cumsum(values[f"{name}_size"])[:-1]) for name in Chunk._fields
    ]
    tasks = [Task(*numbers) for numbers in values["tasks"].tolist()]
    return {task: Chunk(*parts) for task, *parts in zip(tasks, *columns, strict=True)}
