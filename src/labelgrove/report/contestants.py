"""Several taggers asked about the same documents, their labels numbered alike."""

from __future__ import annotations

import os
import time
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import combinations, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelgrove.core import storage
from labelgrove.core.estimator import Featurizer
from labelgrove.core.progress import Progress
from labelgrove.core.ranking import RANKING_DEPTH, Ranking
from labelgrove.corpus import Corpus
from labelgrove.evaluation import Decision, overlap
from labelgrove.labels import LabelSpace
from labelgrove.report.memory import peak_memory, reset_peak_memory
from labelgrove.report.tables import Table
from labelgrove.tagger import Tagger
from labelgrove.tagger.combining import together
from labelgrove.tagger.scoring import rank_corpus
from labelgrove.tagger.text_trials import settings_perhaps_chosen

SHARED = (1, 2, 3, 4, 5)  # depths to which labels in common are counted


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
    learned
        Of which documents it has learned the text, shape (n,); None if it does not know.
    training
        What it was trained on and how, but for the seed and what training may have chosen by
        itself; empty if it does not know.
    chosen
        The settings of its texts that training may have chosen by itself, such as word stems.
    seed
        Its seed.
    """

    name: str
    model: str
    labels: LabelSpace
    ranking: Ranking
    decision: Decision
    seconds: float
    memory: int | None = None
    size: int = 0
    learned: NDArray[np.bool_] | None = None
    training: str = ""
    chosen: str = ""
    seed: int = 0

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
    k: int = RANKING_DEPTH,
    threshold: float | str = "auto",
    progress: Progress | None = None,
) -> Contestant:
    """Let a tagger rank the documents of a corpus.

    The first is ranked before, so that the time does not hold what is done once only: code that
    is compiled, files that are mapped.

    Parameters
    ----------
    tagger
        A fitted tagger.
    corpus
        The documents; they need no labels.
    name
        What it is called beside the others.
    k, threshold, progress
        As of `ask_saved`.
    """
    decision = tagger.decision(threshold)
    training, chosen = _training(tagger)
    tagger.rank([document.text for document in islice(corpus, 1)], k)
    began = time.perf_counter()
    hashes = array("Q")
    ranking, _ = rank_corpus(tagger.learned_, corpus, k, hashes=hashes, progress=progress)
    seconds = time.perf_counter() - began
    return Contestant(
        name,
        tagger.model_.name,
        tagger.labels_,
        ranking,
        decision,
        seconds,
        learned=tagger.learned_.are_learned(hashes),
        training=training,
        chosen=chosen,
        seed=tagger.seed,
    )


def _training(tagger: Tagger) -> tuple[str, str]:
    """Return how a tagger was trained, but for its seed, and what its training may have chosen.

    The first holds its other settings and a hash of the texts it learned from; it is empty if the
    tagger does not know them.
    """
    learned = tagger.learned_
    if learned.text_hashes is None:
        return "", ""
    chosen = settings_perhaps_chosen(learned.model.views(), learned.featurizers)
    alike = tagger.with_seed(0).set_params(threads=None)
    if isinstance(alike.features, Mapping):
        alike.features = {
            view: _without(part, chosen.get(view, ())) for view, part in alike.features.items()
        }
    texts = blake2b(np.ascontiguousarray(learned.text_hashes).tobytes()).hexdigest()
    return f"{alike!r} {texts}", repr(chosen)


def _without(part: Any, names: Iterable[str]) -> Any:
    """Return a featurizer with its defaults for settings of these names; all else as it is."""
    if not isinstance(part, Featurizer):
        return part
    defaults = type(part)().get_params(deep=False)
    return part.fresh().set_params(**{name: defaults[name] for name in names})


def ask_saved(
    folders: Sequence[str | os.PathLike[str]],
    corpus: Corpus,
    *,
    k: int = RANKING_DEPTH,
    threshold: float | str = "auto",
    threads: int | None = None,
    progress: Progress,
    require_signature: str | os.PathLike[str] | None = None,
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
    require_signature
        As of `Tagger.load`.
    """
    names = distinct(folders)
    for folder in folders:  # what is no tagger is told before the work
        storage.read_manifest(folder, verify=False)
    contestants = []
    for name, folder in zip(names, folders, strict=True):
        measured = reset_peak_memory()
        tagger = Tagger.load(folder, progress=progress, require_signature=require_signature)
        tagger.set_threads(threads)
        progress.say(f"{name} ({tagger.model_.name})")
        asked = ask(tagger, corpus, name=name, k=k, threshold=threshold, progress=progress)
        memory = peak_memory() if measured else None
        del tagger  # before the next is loaded
        contestants.append(replace(asked, memory=memory, size=storage.size(folder)))
    return contestants


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
    names = []
    for own in whole:
        others = [other for other in whole if other != own]
        kept = 1
        while any(other[-kept:] == own[-kept:] for other in others):
            kept += 1
        names.append("/".join(own[-kept:]))
    return names


class Agreement(NamedTuple):
    """Two taggers, and which share of their best labels both name, by number of places."""

    taggers: tuple[str, str]
    top: dict[int, float]


def agreements(contestants: Sequence[Contestant]) -> list[Agreement]:
    """Return how far every two agree; their labels must be numbered alike."""
    return [
        Agreement(
            (one.name, other.name),
            dict(zip(SHARED, overlap(one.ranking, other.ranking, SHARED).tolist(), strict=True)),
        )
        for one, other in combinations(contestants, 2)
    ]


def overlap_table(agreements: Sequence[Agreement]) -> Table:
    """Return how far every two agree as a table."""
    rows = [
        [*each.taggers, *(f"{100 * share:.0f}" for share in each.top.values())]
        for each in agreements
    ]
    columns = ["", "", *(f"top {k}" for k in SHARED)]
    return Table(columns, rows, title="Labels that both name, %", words=2)
