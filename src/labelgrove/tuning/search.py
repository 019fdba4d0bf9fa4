"""The search: asks for settings, lets processes try them, and remembers what came of it."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from labelgrove._version import __version__
from labelgrove.core.errors import InputError, StoppedError
from labelgrove.core.extras import need
from labelgrove.core.progress import Progress, Silent, Task
from labelgrove.core.ranges import Range
from labelgrove.core.threads import workers
from labelgrove.corpus import Corpus, read_corpus
from labelgrove.labels import Vocabulary, read_vocabulary
from labelgrove.tuning.crew import Crew, Message
from labelgrove.tuning.material import Material
from labelgrove.tuning.metric import Metric
from labelgrove.tuning.outcome import Search, Trial, best_of
from labelgrove.tuning.space import Space, Values, new_space
from labelgrove.tuning.stock import Stock
from labelgrove.tuning.study import Study, opened

STUDY = "study.sqlite3"
WORK = "work"  # what processes share, gone when the search ends


def tune(
    texts: Any,
    labels: Any = None,
    *,
    model: str = "bonsai",
    trials: int = 20,
    ranges: Mapping[str, Range | str] | None = None,
    settings: Mapping[str, Any] | None = None,
    features: Mapping[str, Mapping[str, Any]] | None = None,
    metric: str = "nDCG@5",
    vocabulary: Vocabulary | str | os.PathLike[str] | None = None,
    validation: Any = 0.1,
    folder: str | os.PathLike[str] | None = None,
    resume: bool = False,
    jobs: int = 1,
    seconds: float | None = None,
    prune: bool = True,
    seed: int = 0,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Search:
    """Search for the settings with which a model is best on held-out documents.

    Every trial learns from the same documents and is judged by the same others. The first has the
    default settings. The best score is optimistic, since it was selected: what it is worth, other
    documents tell.

    Parameters
    ----------
    texts, labels, vocabulary
        As for `Tagger.fit`.
    model
        A model's name.
    trials
        How many settings are tried in all, those of an earlier call that is resumed included.
    ranges
        Where to search, beside the ranges that the model declares or in their place:
        ``{"beam": "5..50", "cost": "0.05..1:log", "loss": "hinge,logistic"}``. Settings of the
        text are ``"text.KEY"``.
    settings, features
        What is fixed, of the model and of its views of the text.
    metric
        What is to be best: any metric of `labelgrove.evaluation.evaluate`.
    validation
        Documents to judge by, or the share of the texts that is held out for it, by their hash.
    folder
        For the study, so that a search can go on; None to keep nothing.
    resume
        Go on with the search that ``folder`` holds, on the same data, ranges and seed.
    jobs
        Trials made at once, each by a process of its own with its share of the threads.
    seconds
        After which the search ends; trials under way are given up.
    prune
        Give up a trial early that is behind the median of the others.
    seed, threads
        Of the search and of the models; threads of all processes together.
    progress
        Where progress is shown.

    Examples
    --------
    >>> texts = [f"{fruit} number {n}" for n in range(50) for fruit in ("apple", "pear")]
    >>> labels = [[text.split()[0]] for text in texts]
    >>> found = tune(texts, labels, model="knn", trials=2, ranges={"neighbours": "1,5"})
    >>> found.default.values["neighbours"], found.metric.name, len(found.trials)
    (30, 'nDCG@5', 2)
    >>> tagger = found.tagger().fit(texts, labels)
    """
    need("optuna", "tune", "a search")
    if isinstance(vocabulary, str | os.PathLike):
        vocabulary = read_vocabulary(vocabulary)
    _check(trials, jobs, seconds)
    began = time.monotonic()
    judged, space = (
        Metric(metric),
        new_space(model, ranges=ranges, settings=settings, features=features),
    )
    space.create(space.start, seed=seed, threads=threads).check_needs()
    progress = progress or Silent()
    cores = workers(threads)
    if jobs > cores:
        progress.say(f"{cores} threads cannot share {jobs} jobs: {cores} trials are made at once")
    jobs = min(jobs, cores)
    with _workplace(folder) as place:
        stock = Stock(
            read_corpus(texts if labels is None else (texts, labels)),
            vocabulary,
            _share_or_corpus(validation),
            seed=seed,
            threads=threads,
            folder=place / WORK,
            progress=progress,
        )  # fmt: skip
        plan = _Plan(space, judged, stock, trials, prune, seed, cores // jobs, progress,
                     None if seconds is None else began + seconds)  # fmt: skip
        facts = plan.facts()
        path = place / STUDY
        with opened(
            path, space, judged, facts=facts, seed=seed, prune=prune, resume=resume
        ) as study:
            with Crew(jobs, plan.threads, place / WORK) as crew:
                complete = _conduct(plan, study, crew)
            done = study.trials()
            if not complete and not any(trial.score is not None for trial in done):
                raise StoppedError("stopped before a trial was finished")
            best_of(done, judged)  # or why there is none
            spent = time.monotonic() - began
            return Search(space, judged, done, study.importances(), facts, spent, complete)


@dataclass
class _Plan:
    """All that a search needs beside study and processes."""

    space: Space
    metric: Metric
    stock: Stock
    trials: int
    prune: bool
    seed: int
    threads: int  # of each process
    progress: Progress
    ends: float | None  # on the monotonic clock
    given: dict[int, Values] = field(default_factory=dict)  # trials under way

    def facts(self) -> dict[str, Any]:
        """Return what the search is made on: other data or ranges make another search."""
        material = Material.read(self._material(self.space.start))
        documents, n_labels = material.train[1].shape
        return {
            "labelgrove": __version__,
            "model": self.space.model,
            "metric": self.metric.name,
            "ranges": {key: str(found) for key, found in self.space.ranges.items()},
            "settings": dict(self.space.settings),
            "features": {view: dict(own) for view, own in self.space.features.items()},
            "seed": self.seed,
            "training documents": documents,
            "documents to judge by": material.held[1].shape[0],
            "labels": min(n_labels, material.labels.n_labels),
            "checksum of the data": material.checksum(),
        }

    def order(self, values: Values) -> Message:
        """Return what a process is told to try."""
        settings = self.space.chosen(values)[0]
        return {
            "model": self.space.model,
            "settings": {"seed": self.seed, "threads": self.threads, **settings},
            "material": str(self._material(values)),
            "metric": self.metric.name,
            "prune": self.prune,
        }

    def _material(self, values: Values) -> Path:
        model = self.space.create(values, seed=self.seed, threads=self.threads)
        return self.stock.find(model, self.space.chosen(values)[1])

    def left(self) -> float | None:
        """Return the seconds that are left, or None if there is no limit."""
        return None if self.ends is None else max(self.ends - time.monotonic(), 0.0)


def _conduct(plan: _Plan, study: Study, crew: Crew) -> bool:
    """Make trials until there are enough or time is up; return False if a user stopped it."""
    over = study.trials()
    if len(over) >= plan.trials:
        plan.progress.say(f"{len(over)} trials are there already")
        return True
    with plan.progress.task("tuning", plan.trials, unit="trials", done=len(over)) as shown:
        teller = _Teller(plan, shown, len(over))
        try:
            while True:
                while crew.is_free and _wants_more(plan, study):
                    _begin(plan, study, crew, teller)
                if not crew.busy:
                    return True
                heard = crew.hear(plan.left())
                if heard is None:
                    plan.progress.say("time is up: trials under way are given up")
                    return True
                _note(plan, study, crew, teller, *heard)
        except KeyboardInterrupt:
            study.lose()
            return False


def _wants_more(plan: _Plan, study: Study) -> bool:
    """Tell whether another trial is to begin."""
    if study.n_begun >= plan.trials or plan.left() == 0:
        return False
    tried = {plan.space.same(v) for v in (*(t.values for t in study.trials()), *plan.given.values())
             if all(found.holds(v[key]) for key, found in plan.space.ranges.items())}  # fmt: skip
    return len(tried) < plan.space.size


def _begin(plan: _Plan, study: Study, crew: Crew, teller: _Teller) -> None:
    """Give a trial to a process, unless the same was tried before."""
    number, values = study.ask()
    same = plan.space.same(values)
    for trial in study.trials():
        if trial.state == "finished" and plan.space.same(trial.values) == same:
            study.finish(number, scores=dict(trial.scores), seconds=0.0, repeats=trial.number)
            teller.tell(study.trials(), number)
            return
    try:
        order = plan.order(values)
    except (InputError, MemoryError) as error:  # settings that do not go together
        study.fail(number, message=str(error) or "out of memory")
        teller.tell(study.trials(), number)
        return
    plan.given[number] = values
    crew.give(number, order)


def _note(
    plan: _Plan, study: Study, crew: Crew, teller: _Teller, number: int, message: Message
) -> None:
    """Note what a process says of a trial."""
    if "step" in message:
        crew.answer(number, {"go_on": study.report(number, message["step"], message["score"])})
        return
    del plan.given[number]
    if "scores" in message:
        study.finish(number, scores=message["scores"], seconds=message["seconds"])
    elif "pruned" in message:
        study.prune(number)
    else:
        study.fail(number, message=message["error"])
    teller.tell(study.trials(), number)


class _Teller:
    """Tells of each trial that is over, and of the best so far."""

    def __init__(self, plan: _Plan, shown: Task, done: int) -> None:
        self._plan, self._shown, self._before = plan, shown, done
        self._began = time.monotonic()

    def tell(self, trials: tuple[Trial, ...], number: int) -> None:
        """Tell of the trial of that number."""
        plan = self._plan
        trial = next(each for each in trials if each.number == number)
        if trial.score is not None:
            what = f"{plan.metric.name} {100 * trial.score:.2f}"
        else:
            what = "given up early" if trial.state == "pruned" else f"failed: {trial.message}"
        best = ""
        if any(each.score is not None for each in trials):
            found = best_of(trials, plan.metric)
            assert found.score is not None
            best = f", best {100 * found.score:.2f} (trial {found.number})"
        spent = time.monotonic() - self._began
        left = (plan.trials - len(trials)) * spent / max(len(trials) - self._before, 1)
        if (most := plan.left()) is not None:
            left = min(left, most)
        plan.progress.say(
            f"trial {number} ({len(trials)} of {plan.trials}): {what}{best}, {left:.0f} s left"
        )
        self._shown.advance(1)


@contextmanager
def _workplace(folder: str | os.PathLike[str] | None) -> Iterator[Path]:
    """Give the folder of a search, with an empty place for what processes share."""
    with tempfile.TemporaryDirectory(prefix="labelgrove-") as temporary:
        place = Path(temporary if folder is None else folder).resolve()
        work = place / WORK
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
        try:
            yield place
        finally:
            shutil.rmtree(work, ignore_errors=True)


def _share_or_corpus(validation: Any) -> Corpus | float:
    if isinstance(validation, int | float):
        if not 0 < validation < 1:
            raise InputError(f"validation must be above 0 and below 1, got {validation}")
        return float(validation)
    return read_corpus(validation)


def _check(trials: int, jobs: int, seconds: float | None) -> None:
    for name, value in (("trials", trials), ("jobs", jobs)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise InputError(f"{name} must be a whole number from 1, got {value!r}")
    if seconds is not None and not seconds > 0:
        raise InputError(f"the time must be a number of seconds above 0, got {seconds!r}")
