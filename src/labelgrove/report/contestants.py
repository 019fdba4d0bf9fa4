"""Several taggers asked about the same documents, their labels numbered alike."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, islice
from pathlib import Path

import numpy as np

from labelgrove.core.errors import InputError
from labelgrove.core.progress import Progress
from labelgrove.core.ranking import Ranking
from labelgrove.corpus import Corpus
from labelgrove.evaluation import Decision, overlap
from labelgrove.labels import LabelSpace
from labelgrove.report.memory import peak_memory, reset_peak_memory
from labelgrove.report.tables import Table
from labelgrove.tagger import Tagger
from labelgrove.tagger.combining import together

PLACES = 100  # labels asked for per document, as `Tagger.evaluate` does
SHARED = (1, 2, 3, 4, 5)  # places among which labels in common are counted


@dataclass(frozen=True, eq=False)
class Contestant:
    """A tagger's answers to n documents, and what they took.

    Parameters
    ----------
    name
        What it is called beside the others.
    model
        Name of its model.
    labels
        The labels it knows.
    ranking
        Its ranking of the documents.
    decision
        Which labels it gives.
    seconds
        What reading and tagging the documents took.
    memory
        The most memory that the process held meanwhile, in bytes, or None where that is not told.
    size
        Bytes of its folder.
    """

    name: str
    model: str
    labels: LabelSpace
    ranking: Ranking
    decision: Decision
    seconds: float
    memory: int | None = None
    size: int = 0

    def renumbered(self, space: LabelSpace) -> Contestant:
        """Return the same with labels as ``space``, which has them all, numbers them."""
        ids = self.labels.ids[: self.labels.n_labels]
        numbers = np.array([*map(space.index, ids), -1], np.int32)  # padding stays -1
        labels = numbers[self.ranking.labels]
        decision = self.decision
        if isinstance(decision.threshold, np.ndarray):
            least = np.ones(space.n_labels, np.float32)
            least[numbers[:-1]] = decision.threshold
            decision = replace(decision, threshold=least)
        ranking = Ranking(labels, self.ranking.scores)
        return replace(self, labels=space, ranking=ranking, decision=decision)


def ask(
    tagger: Tagger,
    corpus: Corpus,
    *,
    name: str,
    k: int = PLACES,
    threshold: float | str = "auto",
    progress: Progress | None = None,
) -> Contestant:
    """Let a tagger rank the documents of a corpus.

    The first is ranked before, so that the time does not hold what is done once only: code that
    is compiled, files that are mapped.
    """
    decision = tagger.decision(threshold)
    tagger.rank([document.text for document in islice(corpus, 1)], k)
    began = time.perf_counter()
    ranking, _ = tagger.rank_known(corpus, k=k, progress=progress)
    seconds = time.perf_counter() - began
    return Contestant(name, tagger.model_.name, tagger.labels_, ranking, decision, seconds)


def ask_saved(
    folders: Sequence[str | os.PathLike[str]],
    corpus: Corpus,
    *,
    k: int = PLACES,
    threshold: float | str = "auto",
    threads: int | None = None,
    progress: Progress,
) -> list[Contestant]:
    """Let saved taggers rank the documents of a corpus, one after the other in memory.

    Parameters
    ----------
    folders
        Their folders, each once.
    corpus
        The documents.
    k
        Labels each is asked for per document.
    threshold
        As of `Tagger.evaluate`.
    threads
        Threads each may use; None for all cores.
    progress
        Where progress is shown.
    """
    found = []
    for name, folder in zip(distinct(folders), folders, strict=True):
        measured = reset_peak_memory()
        tagger = Tagger.load(folder)
        tagger.set_threads(threads)
        progress.say(f"{name} ({tagger.model_.name})")
        asked = ask(tagger, corpus, name=name, k=k, threshold=threshold, progress=progress)
        memory = peak_memory() if measured else None
        del tagger  # before the next is loaded
        found.append(replace(asked, memory=memory, size=_size(Path(folder))))
    return found


def alike(contestants: Sequence[Contestant]) -> list[Contestant]:
    """Return all with their labels numbered in one space, which has the labels of all."""
    space = together([each.labels for each in contestants])
    return [each.renumbered(space) for each in contestants]


def distinct(paths: Sequence[str | os.PathLike[str]]) -> list[str]:
    """Return the shortest ends of paths that tell them apart.

    Examples
    --------
    >>> distinct(["runs/a/bonsai", "runs/b/bonsai", "runs/b/knn"])
    ['a/bonsai', 'b/bonsai', 'knn']
    """
    whole = [Path(path).absolute().parts for path in paths]
    for i, j in combinations(range(len(whole)), 2):
        if whole[i] == whole[j]:
            raise InputError(f"{os.fspath(paths[i])} is given twice: give each once")
    found = []
    for own in whole:
        others = [other for other in whole if other != own]
        kept = 1
        while any(other[-kept:] == own[-kept:] for other in others):
            kept += 1
        found.append("/".join(own[-kept:]))
    return found


def overlap_table(contestants: Iterable[Contestant]) -> Table:
    """Return which share of their best labels each two have in common.

    Their labels must be numbered alike.
    """
    rows = [
        [first.name, second.name]
        + [f"{100 * share:.0f}" for share in overlap(first.ranking, second.ranking, SHARED)]
        for first, second in combinations(contestants, 2)
    ]
    columns = ["", "", *(f"top {k}" for k in SHARED)]
    return Table(columns, rows, title="Labels that both name, %", words=2)


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
