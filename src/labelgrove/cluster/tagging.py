"""Tagging and ranking on a cluster: each process keeps the tagger from task to task."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from labelgrove.cluster.connection import Cluster, open_cluster
from labelgrove.cluster.tasks import run_tasks
from labelgrove.core.errors import ClusterError, InputError
from labelgrove.core.manifest import parse_manifest
from labelgrove.core.progress import Progress
from labelgrove.core.ranking import Ranking
from labelgrove.core.remote_files import is_url
from labelgrove.tagger import Tagger
from labelgrove.tagger.bulk import PartResult, PartTask, SavedTagger, TagParts, tag_part
from labelgrove.tagger.bulk.folder import MANIFEST
from labelgrove.tagger.bulk.parts import Report
from labelgrove.tagger.scoring import RankBatches

SECONDS = 2.0  # between two looks at how far the workers are
SHARED = "on a drive that all nodes share, under the same path, or in an object store"


def tag_parts_on(cluster: str | Cluster) -> TagParts:
    """Return a function that tags parts on a cluster, for `labelgrove.tagger.bulk.tag_files`.

    Parameters
    ----------
    cluster
        The address of one that is opened for as long as there is work, or an open one.
    """
    if isinstance(cluster, Cluster):
        return partial(_tag_parts, cluster)
    return partial(_opened, cluster)


@contextmanager
def _opened(
    address: str,
    saved: SavedTagger,
    tasks: Sequence[PartTask],
    report: Report,
    progress: Progress,
) -> Iterator[Iterable[PartResult]]:
    with (
        open_cluster(address, progress=progress) as cluster,
        _tag_parts(cluster, saved, tasks, report, progress) as results,
    ):
        yield results


@contextmanager
def _tag_parts(
    cluster: Cluster,
    saved: SavedTagger,
    tasks: Sequence[PartTask],
    report: Report,
    progress: Progress,
) -> Iterator[Iterable[PartResult]]:
    if len(tasks) < cluster.cpus:
        progress.say(
            f"{len(tasks):,} inputs for {cluster.cpus:,} CPUs: each is tagged by one CPU, so "
            "divide large files"
        )
    shared = [saved.folder, saved.checksum]
    processes = range(min(cluster.cpus, len(tasks)))
    with closing(run_tasks(cluster, load_on_node, processes, shared=shared)) as loaded:
        next(loaded, None)  # the first one is ready; others join while it works
        with _Counter.started(report) as counter:
            shared = [*shared, counter.actor]
            with closing(run_tasks(cluster, tag_on_node, tasks, shared=shared)) as results:
                yield counter.counted(results)


def load_on_node(process: int, folder: str, checksum: str) -> None:
    """Load the tagger in a worker, so that a node without it is named before anything is done."""
    _tagger(folder, checksum)


def tag_on_node(task: PartTask, folder: str, checksum: str, counter: Any) -> PartResult:
    """Tag a part in a worker, after a look at whether its node sees the same files."""
    tagger = _tagger(folder, checksum)
    if not is_url(task.out) and not Path(task.out, MANIFEST).is_file():
        raise ClusterError(
            f"node {socket.gethostname()} does not see the folder of the results {task.out}: it "
            f"must be {SHARED}"
        )
    name = task.source.name
    if task.source.mark and not is_url(name) and not Path(name).exists():
        problem = f"node {socket.gethostname()} does not see {name}: it must be {SHARED}"
        return PartResult(task.number, task.source.mark, problem=problem)
    return tag_part(tagger, task, lambda documents: counter.set.remote(task.number, documents))


@lru_cache(maxsize=1)
def _tagger(folder: str, checksum: str) -> Tagger:
    """Return the tagger of this process; its arrays are mapped, so a node has them once."""
    node, place = socket.gethostname(), Path(folder)
    try:
        theirs = parse_manifest(place)["checksum"]
    except InputError as error:
        raise ClusterError(
            f"node {node} does not see the tagger's folder {folder}: copy it there, under the "
            "same path, or to a drive that all nodes share"
        ) from error
    if theirs != checksum:
        raise ClusterError(
            f"node {node} has another tagger in {folder}: checksum {theirs[:12]} there, "
            f"{checksum[:12]} here; copy the folder to that node again"
        )
    tagger = Tagger.load(place)
    tagger.set_threads(1)
    return tagger


def rank_batches_on(cluster: Cluster, folder: Path) -> RankBatches:
    """Return a function that ranks texts on a cluster, for `Tagger.evaluate`.

    Parameters
    ----------
    cluster
        An open cluster.
    folder
        The saved tagger; every node must see it.
    """
    shared = [str(folder.resolve()), parse_manifest(folder)["checksum"]]

    def rank_batches(texts: Iterable[list[str]], k: int) -> Iterator[tuple[int, Ranking]]:
        yield from run_tasks(cluster, rank_on_node, texts, shared=[*shared, k])

    return rank_batches


def rank_on_node(texts: list[str], folder: str, checksum: str, k: int) -> Ranking:
    """Rank a batch of texts in a worker."""
    return _tagger(folder, checksum).learned_.rank(texts, k)


class _Counts:
    """The documents of each part that is being tagged; lives in a process of the cluster."""

    def __init__(self) -> None:
        self._documents: dict[int, int] = {}
        self._finished: set[int] = set()

    def set(self, number: int, documents: int) -> None:
        if number not in self._finished:  # calls of several processes have no order
            self._documents[number] = documents

    def forget(self, number: int) -> None:
        self._finished.add(number)
        self._documents.pop(number, None)

    def total(self) -> int:
        return sum(self._documents.values())


class _Counter:
    """Shows the documents of unfinished parts, so that a long part is seen to advance.

    It serves the display alone, so whatever fails in it is let go.
    """

    def __init__(self, report: Report) -> None:
        import ray

        # it takes no CPU, or it would wait for the tasks that it counts
        self.actor = ray.remote(num_cpus=0)(_Counts).remote()
        self._report, self._ended = report, threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    @classmethod
    @contextmanager
    def started(cls, report: Report) -> Iterator[_Counter]:
        """Count until the work has ended."""
        import ray

        counter = cls(report)
        counter._thread.start()
        try:
            yield counter
        finally:
            counter._ended.set()
            counter._thread.join()
            with suppress(Exception):
                ray.kill(counter.actor)

    def counted(self, results: Iterable[tuple[int, PartResult]]) -> Iterator[PartResult]:
        """Give the results of parts, whose documents are counted no more."""
        for _, result in results:
            self.forget(result.number)
            yield result

    def forget(self, number: int) -> None:
        """Count the documents of a part no more: it is finished."""
        with suppress(Exception):
            self.actor.forget.remote(number)

    def _look(self) -> None:
        import ray

        while not self._ended.wait(SECONDS):
            with suppress(Exception):
                self._report(ray.get(self.actor.total.remote(), timeout=SECONDS))
