"""The process of one training: it estimates, or trains, ranks the test documents and is gone."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from labelgrove.core import storage
from labelgrove.core.errors import InputError, LabelgroveError
from labelgrove.core.estimator import Classifier
from labelgrove.core.progress import Lines
from labelgrove.core.types import Run
from labelgrove.corpus import Corpus
from labelgrove.leaderboard.files import DataFiles
from labelgrove.leaderboard.machine import accelerator
from labelgrove.models import MODELS
from labelgrove.report.contestants import Contestant
from labelgrove.report.contestants import ask as answers_of
from labelgrove.report.memory import peak_memory, reset_peak_memory
from labelgrove.tagger import Tagger
from labelgrove.tuning.worker import Ask, answer_orders

Message = dict[str, Any]
PROBES = (60, 200, 600)  # documents that a model learns from to tell how long all of them take
RANKING = "ranking"
WARM = 20  # documents that are ranked before time is taken
_ONCE: list[float] = []  # what a process does once took so long


def main() -> None:
    """Do what is ordered until the process that orders has ended."""
    answer_orders(carry_out)


def carry_out(order: Message, ask: Ask) -> Message:
    """Estimate, or train and rank; return what came of it.

    Parameters
    ----------
    order
        ``do`` is ``"estimate"`` or ``"train"``; the rest says what, on which files.
    ask
        Sends an early estimate, so that it is not lost if the rest takes too long.
    """
    try:
        tagger, encoder = _tagger(order)
    except LabelgroveError as error:
        return {"needs": str(error)}
    try:
        once = warm_up(order)
        if order["do"] == "estimate":
            return {**_estimate(tagger, order, ask, once), "settings": encoder}
        return train(tagger, order)
    except LabelgroveError as error:
        return {"error": str(error)}
    except MemoryError:
        return {"error": "out of memory"}
    except Exception as error:  # whatever a library does: the others go on
        return {"error": f"{type(error).__name__}: {error}"}


def _tagger(order: Message) -> tuple[Tagger, dict[str, Any]]:
    """Return the tagger to train, and the settings that were added so that it can run."""
    settings, encoder = dict(order["settings"]), order["encoder"]
    added: dict[str, Any] = {}
    part = MODELS.find(order["model"])
    names = part.setting_names()
    takes = next((name for name in ("encoder", "dense") if name in names), None)
    pretrained = MODELS.entries()[order["model"]].extra == "transformers"
    wanted = takes if encoder and takes not in settings else None
    if wanted and (pretrained or not _can_run(order, settings)):
        added = {wanted: encoder}
    seeds = {name: order[name] for name in ("seed", "threads") if name in names}
    model = MODELS.create(order["model"], **{**seeds, **settings, **added})
    try:
        model.check_needs()
    except InputError as error:
        helps = (pretrained or takes == "dense") and not encoder
        advice = "; give a pretrained one with --encoder" if helps else ""
        raise InputError(f"{error}{advice}") from error
    share, seed, threads = order["validation"], order["seed"], order["threads"]
    features = order["features"] or None
    tagger = Tagger(model, features=features, validation=share, seed=seed, threads=threads)
    return tagger, added


def _can_run(order: Message, settings: dict[str, Any]) -> bool:
    try:
        MODELS.create(order["model"], **settings).check_needs()
    except InputError:
        return False
    return True


def warm_up(order: Message) -> float:
    """Do what every training does once, so that times do not hold it; return what it takes.

    That is importing libraries and loading compiled code; a process that is warm does it again in
    no time, so the first answer is kept.
    """
    if not _ONCE:
        before, began = time.process_time(), time.monotonic()
        corpus, _ = DataFiles(**order["files"]).open()
        some = [document for document, _ in zip(corpus, range(PROBES[0]), strict=False)]
        Tagger("most-frequent", validation=0).fit(
            [document.text for document in some], [document.labels or ("-",) for document in some]
        )
        _ONCE.append(before + time.monotonic() - began)
    return _ONCE[0]


# --- estimates --------------------------------------------------------------------------------


def _estimate(tagger: Tagger, order: Message, ask: Ask, once: float) -> Message:
    """Tell how long a training takes: as the model tells it, or by what parts of the data take."""
    files, began = DataFiles(**order["files"]), time.monotonic()
    corpus, _ = files.open()
    if MODELS.find(order["model"]).estimate is not Classifier.estimate:
        try:
            told = tagger.estimate(corpus, vocabulary=files.labels)
            seconds = once + time.monotonic() - began + told.seconds  # it reads the documents too
            return {"seconds": seconds, "memory": told.memory, "how": "told by the model"}
        except InputError:  # one that cannot tell with these settings
            pass
    sizes = [n for n in PROBES if n <= order["documents"] / 2] or [order["documents"]]
    spent: list[tuple[int, float]] = []
    for n, part in zip(sizes, _parts(corpus, sizes, order["documents"]), strict=True):
        began = time.monotonic()
        fitted = tagger.fresh().fit(part, vocabulary=files.labels)
        fitted.rank(part.texts(), 5)
        spent.append((n, time.monotonic() - began))
        seconds = once + whole_time(spent, order["documents"])
        ask({"step": len(spent), "seconds": seconds, "how": f"from {n} documents"})
        if len(spent) > 1 and 3 * spent[-1][1] > order["limit"]:
            break  # not by the first, in which code may be compiled
    return {"seconds": seconds, "how": f"from {spent[-1][0]} documents"}


def _parts(corpus: Corpus, sizes: list[int], n_documents: int) -> Iterator[Corpus]:
    """Yield parts of a corpus, spread over all of it."""
    for n in sizes:
        keep = np.zeros(n_documents, np.bool_)
        keep[np.linspace(0, n_documents - 1, n).astype(int)] = True
        yield corpus.where(keep)


def whole_time(spent: list[tuple[int, float]], n_documents: int) -> float:
    """Return what learning from all documents takes, given what some of them took.

    The first time holds what is done once only, such as imports; the rest grows with documents.

    Examples
    --------
    >>> whole_time([(60, 3.0), (200, 1.0), (600, 2.0)], 1600)
    7.5
    """
    n, last = spent[-1]
    if len(spent) < 3:
        return last * n_documents / n
    (_, once), (fewer, less) = spent[0], spent[-2]
    return once + last + max(last - less, 0.0) / (n - fewer) * (n_documents - n)


# --- trainings --------------------------------------------------------------------------------


def train(tagger: Tagger, order: Message) -> Message:
    """Train, save, and rank the test documents; the ranking goes into the order's folder."""
    files, folder = DataFiles(**order["files"]), Path(order["folder"])
    corpus, test = files.open()
    shown = Run(progress=Lines(sys.stderr))
    began = time.monotonic()
    tagger.fit(corpus, vocabulary=files.labels, run=shown)
    seconds, memory = time.monotonic() - began, peak_memory()
    saved = Path(order["keep"]) if order["keep"] else folder / "tagger"
    tagger.save(saved, overwrite=True)
    size = storage.size(saved)
    if not order["keep"]:
        shutil.rmtree(saved)
    tagger.tag([document.text for document in islice(test, WARM)])  # kernels are compiled here
    measured = reset_peak_memory()
    answers = answers_of(tagger, test, name=order["model"], progress=shown.progress)
    return {
        "train_seconds": seconds,
        "rank_seconds": answers.seconds,
        "memory": memory,
        "rank_memory": peak_memory() if measured else None,
        "size": size,
        "device": accelerator(),
        "held_out": dict(tagger.scores_),
        "threshold": _write(answers, order["labels"], folder),
    }


def _write(answers: Contestant, ids: str, folder: Path) -> float | None:
    """Write the ranking with labels as the leaderboard numbers them; return the threshold."""
    numbers = {label: number for number, label in enumerate(storage.read_values(Path(ids))["ids"])}
    own = answers.labels.ids[: answers.labels.n_labels]
    places = np.array([*(numbers[label] for label in own), -1], np.int32)  # padding stays -1
    ranking = {"labels": places[answers.ranking.labels], "scores": answers.ranking.scores}
    storage.write_values(folder / RANKING, ranking)
    least = answers.decision.threshold
    return None if least is None or isinstance(least, np.ndarray) else float(least)
