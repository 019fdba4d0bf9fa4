"""What documents and labels cost on a cluster: laws fitted on measurements, put together."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

Line = Mapping[str, Any]
THREADED = ("tf-idf", "clusters", "negatives")  # divide among the CPUs of the driver's machine
BRANCHING, LEAF, WIDE, BLOCK = 100, 200, 512, 64  # bonsai's own, and labels of a task at most
PER_CPU = 4  # groups of tasks, or files, for each CPU
LEAST = 1e-12
FLOAT = 4  # bytes


@dataclass(frozen=True)
class Law:
    """``factor * documents ** a * labels ** b``."""

    factor: float
    a: float
    b: float

    def __call__(self, documents: float, labels: float) -> float:
        return float(self.factor * documents**self.a * labels**self.b)


def fitted(points: Sequence[tuple[int, int, float]]) -> Law:
    """Return the law of least squares between logarithms, of (documents, labels, value)."""
    sizes = np.log([[n, m] for n, m, _ in points])
    values = np.log([max(value, LEAST) for _, _, value in points])
    found, *_ = np.linalg.lstsq(np.column_stack([np.ones(len(points)), sizes]), values, rcond=None)
    return Law(float(np.exp(found[0])), float(found[1]), float(found[2]))


def shares(terms: Sequence[Sequence[float]], values: Sequence[float]) -> NDArray[np.float64]:
    """Return what each term counts in a sum, at least 0, by least squares of relative errors."""
    relative = np.asarray(terms) / np.asarray(values)[:, None]
    return np.asarray(nnls(relative, np.ones(len(values)))[0])


def tree_shape(labels: int) -> list[tuple[int, int]]:
    """Return nodes, and children of each, of the levels of bonsai's tree.

    Real clusters are uneven: of those with more than half the most labels, many are divided.

    >>> tree_shape(300), tree_shape(10_000), tree_shape(10_000_000)
    ([(1, 300)], [(1, 100), (100, 100)], [(1, 100), (100, 100), (10000, 10), (100000, 100)])
    """
    if labels <= 2 * LEAF:
        return [(1, labels)]
    fans, left = [], labels
    while left > LEAF / 2:
        fans.append(min(BRANCHING, math.ceil(2 * left / LEAF)))
        left = math.ceil(left / fans[-1])
    if math.prod(fans) <= WIDE:
        fans = [math.prod(fans)]
    fans.append(left)
    return [(math.prod(fans[:level]), fan) for level, fan in enumerate(fans)]


@dataclass(frozen=True)
class Nodes:
    """The machines of a cluster; the command runs on one of them."""

    count: int
    cpus: int = 16
    memory: float = 64e9
    cable: float = 1.25e9  # bytes a second
    drive: float = 1.25e9  # bytes a second of what all nodes share

    @property
    def workers(self) -> int:
        return self.count * self.cpus


@dataclass(frozen=True)
class Level:
    """What the classifiers of a level take: seconds of one CPU, also of the largest task."""

    seconds: float
    longest: float

    def on(self, workers: int) -> float:
        """Return the seconds on some workers, where half a group is left when one has ended."""
        share = self.seconds / workers
        rest = min(self.longest, share / PER_CPU) / 2 * (1 - 1 / workers)
        return max(share + rest, self.longest)


@dataclass(frozen=True)
class Training:
    """What a training takes.

    Parameters
    ----------
    serial, threaded
        Seconds of one CPU on the driver's machine: those of one thread, and those of several.
    levels
        What the cluster trains, level after level.
    features, sent, back
        Bytes sent to each node once and level by level, and bytes that come back.
    driver, store, worker
        Bytes of memory: of the driver's machine in all, of each node's object store, and of a
        worker that learns a part of the root, which copies the features and keeps a number for
        each document and classifier.
    """

    serial: float
    threaded: float
    levels: tuple[Level, ...]
    features: float
    sent: float
    back: float
    driver: float
    store: float
    worker: float

    @property
    def divided(self) -> float:
        return sum(level.seconds for level in self.levels)

    def seconds(self, nodes: Nodes, start: float = 0.0) -> dict[str, float]:
        """Return the seconds of each part of the time on a cluster."""
        moved = self.features * (nodes.count - 1) + self.sent * (nodes.count - 1) + self.back
        return {
            "start": start,
            "one CPU": self.serial,
            "CPUs of the driver": self.threaded / nodes.cpus,
            "classifiers": sum(level.on(nodes.workers) for level in self.levels),
            "cable": moved / nodes.cable,
        }


class Costs:
    """Laws of what was measured, by documents and labels of the training.

    Parameters
    ----------
    trained, tagged
        Lines of results of trainings, and of tagging with what they made.
    """

    def __init__(self, trained: Sequence[Line], tagged: Sequence[Line]) -> None:
        sizes = {(line["documents"], line["labels"]) for line in trained}
        tagged = [line for line in tagged if (line["documents"], line["labels"]) in sizes]
        self.trained, self.tagged = trained, tagged
        names = {name for line in trained for name in line["parts"]} - {"tasks"}
        self.parts = {
            name: self._law(lambda line, n=name: line["parts"].get(n, 0)) for name in names
        }
        self.features = self._law(lambda line: line["features"])
        self.level = self._law(lambda line: line["sent"] / (len(line["levels"]) - 1))
        self.largest_sent = self._law(lambda line: line["largest_sent"])
        self.back = self._law(lambda line: sum(level["back"] for level in line["levels"]))
        self.disk = self._law(lambda line: line["disk"])
        held = [(1, line["features"], line["disk"]) for line in trained]
        self.held = shares(held, [line["memory"] for line in trained])
        self.base = max(line["base"] for line in trained)
        self.root = self._law(lambda line: _speed(line, slice(1)))
        self.below = self._law(lambda line: _speed(line, slice(1, None)))
        self.crowd = fitted([point for line in trained for point in _crowds(line)])
        self.ranking = _law(tagged, lambda line: line["parts"]["ranking"])
        self.rest = _law(tagged, lambda line: line["parts"]["rest"])
        taggers = {(line["documents"], line["labels"]): line["disk"] for line in trained}
        loads = [(1, taggers[line["documents"], line["labels"]]) for line in tagged]
        self.loaded = shares(loads, [line["loading"] for line in tagged])
        labels = [(1, line["labels"]) for line in tagged]
        self.owned = shares(labels, [line["memory"] for line in tagged])

    def _law(self, value: Callable[..., float]) -> Law:
        return _law(self.trained, value)

    def per_document(self, documents: int, labels: int) -> float:
        """Return the seconds of tagging a document by a tagger of some documents and labels."""
        return self.ranking(documents, labels) + self.rest(documents, labels)

    def sent(self, documents: int, labels: int) -> float:
        """Return the bytes of all levels, among them one of clusters that were too large."""
        depth = len(tree_shape(labels))
        return self.level(documents, labels) * (depth - 1 + (depth > 2))

    def memory(self, documents: int, labels: int) -> float:
        """Return the bytes of a training in one process, beyond the program itself."""
        sizes = (1, self.features(documents, labels), self.disk(documents, labels))
        return float(self.held @ sizes)

    def loading(self, documents: int, labels: int) -> float:
        """Return the seconds until a worker has a tagger."""
        return float(self.loaded @ (1, self.disk(documents, labels)))

    def own(self, labels: int) -> float:
        """Return the bytes of a worker beside the files that it maps."""
        return float(self.owned @ (1, labels))

    def levels(self, documents: int, labels: int) -> list[Level]:
        """Return what the levels of a training take."""
        size, found = (documents, labels), []
        for nodes, children in tree_shape(labels):
            seconds = documents * children * (self.below if nodes > 1 else self.root)(*size)
            crowd = min(self.crowd(documents, nodes), 1.0) if nodes > 1 else 1.0
            found.append(Level(seconds, seconds * crowd * min(BLOCK / children, 1.0)))
        return found

    def training(self, documents: int, labels: int, trees: int = 1) -> Training:
        """Return what a training takes; every tree takes its work again, but for reading."""
        size = (documents, labels)
        spent = {name: law(*size) for name, law in self.parts.items()}
        for name in spent.keys() - ONCE:
            spent[name] *= trees
        threaded = sum(spent[name] for name in THREADED)
        store = self.features(*size) + self.largest_sent(*size)
        return Training(
            serial=sum(spent.values()) - threaded,
            threaded=threaded,
            levels=tuple(self.levels(*size)) * trees,
            features=self.features(*size),
            sent=trees * self.sent(*size),
            back=trees * self.back(*size),
            driver=self.base + self.memory(*size) + (trees - 1) * self.disk(*size) + store,
            store=store,
            worker=self.features(*size) + documents * BLOCK * FLOAT,
        )


ONCE = {"reading", "tf-idf", "vocabulary", "label vectors", "order of features", "other"}


def _law(lines: Sequence[Line], value: Callable[..., float]) -> Law:
    return fitted([(line["documents"], line["labels"], value(line)) for line in lines])


def _speed(line: Line, levels: slice) -> float:
    """Return the seconds of some levels for a document and a child of an even tree."""
    children = sum(children for _, children in tree_shape(line["labels"])[levels])
    seconds = sum(level["seconds"] for level in line["levels"][levels])
    return float(seconds / children / line["documents"])


def _crowds(line: Line) -> list[tuple[int, int, float]]:
    """Return documents, nodes, and what share of the work the largest node has, of each level."""
    shape = tree_shape(line["labels"])
    if len(shape) != len(line["levels"]):  # the clusters were so uneven that there is one more
        return []
    return [
        (line["documents"], nodes, level["largest"] / level["units"] * max(children / BLOCK, 1.0))
        for (nodes, children), level in zip(shape[1:], line["levels"][1:], strict=True)
    ]


@dataclass(frozen=True)
class Tagging:
    """What tagging takes.

    Parameters
    ----------
    each
        Seconds of one CPU for a document.
    loading
        Seconds in which a worker loads the tagger.
    disk, own
        Bytes of the tagger, and of a worker beside it.
    driver
        Seconds of the driver for a file.
    bytes
        Of a document, its tags included.
    """

    each: float
    loading: float
    disk: float
    own: float
    driver: float = 0.0
    bytes: float = 0.0

    def seconds(
        self, documents: int, files: int, nodes: Nodes, start: float = 0.0
    ) -> dict[str, float]:
        """Return the seconds of each part of the time; files are of one size.

        The last part is what bounds the tagging: the workers, the drive that all read from and
        write to, or the driver, which notes each finished file.
        """
        rounds = math.ceil(files / nodes.workers)
        bounds = {
            "work": rounds * documents / files * self.each,
            "drive": documents * self.bytes / nodes.drive,
            "driver": files * self.driver,
        }
        bound = max(bounds, key=lambda name: bounds[name])
        spread = nodes.count * self.disk / nodes.drive
        return {"start": start, "tagger": self.loading + spread, bound: bounds[bound]}

    def memory(self, nodes: Nodes) -> float:
        """Return the bytes that a node needs: the tagger once, and its workers."""
        return self.disk + nodes.cpus * self.own
