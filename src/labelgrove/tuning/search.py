"""The search: asks for settings, lets processes try them, and remembers what came of it."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from labelgrove.core.errors import InputError, StoppedError
from labelgrove.core.extras import need
from labelgrove.core.progress import Progress, Silent
from labelgrove.core.ranges import Range
from labelgrove.core.threads import workers
from labelgrove.corpus import Corpus, read_corpus
from labelgrove.labels import Vocabulary, read_vocabulary
from labelgrove.tagger.learning import new_featurizers
from labelgrove.tagger.text_trials import choose_text_settings, settings_left_open
from labelgrove.tuning.dataset_cache import DatasetCache
from labelgrove.tuning.folder import STUDY, clear, workplace
from labelgrove.tuning.metric import Metric
from labelgrove.tuning.outcome import Search, best_of
from labelgrove.tuning.plan import Plan
from labelgrove.tuning.pool import Message, TrialHosts, TrialPool, WorkerPool
from labelgrove.tuning.progress import SearchProgress
from labelgrove.tuning.space import Space, new_space
from labelgrove.tuning.study import Study, opened

SHARE = 0.1  # of the documents, held out by default


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
    validation: Any = SHARE,
    folder: str | os.PathLike[str] | None = None,
    resume: bool = False,
    overwrite: bool = False,
    jobs: int | None = None,
    seconds: float | None = None,
    prune: bool = True,
    seed: int = 0,
    threads: int | None = None,
    progress: Progress | None = None,
    hosts: TrialHosts | None = None,
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
        ``{"beam": "5..50", "cost": "0.05..1:log", "loss": "squared-hinge,logistic"}``. Settings of
        the text are ``"text.KEY"``.
    settings, features
        What is fixed, of the model and of its views of the text.
    metric
        What is to be best: any metric of `labelgrove.evaluation.evaluate`.
    validation
        Documents to judge by, or the share of the texts that is held out for it, by their hash.
    folder
        For the study, so that a search can go on: one that is new, empty or holds a search; None
        to keep nothing.
    resume
        Go on with the search that ``folder`` holds, on the same data, ranges and seed.
    overwrite
        Begin anew in place of the search that ``folder`` holds, with all that was made of it.
    jobs
        Trials made at once, each by a process of its own with its share of the threads; 1 by
        default, or one for each CPU of ``hosts``. What is tried next depends on the trials that
        are over, so another number finds other settings.
    seconds
        After which the search ends; trials under way are given up.
    prune
        Give up a trial early that is behind the median of the others.
    seed, threads
        Of the search and of the models; threads of all processes together.
    progress
        Where progress is shown.
    hosts
        Machines that make the trials, such as `labelgrove.cluster.ClusterTrials`; this one by
        default. With the same number of ``jobs`` the same settings are tried.

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
    judged = Metric(metric)
    space = new_space(model, ranges=ranges, settings=settings, features=features)
    space.create(space.start, seed=seed, threads=threads).check_needs()
    progress = progress or Silent()
    jobs, own_threads = _share(jobs, threads, hosts, progress)
    with workplace(folder, resume=resume, overwrite=overwrite) as (place, work):
        corpus = read_corpus(texts if labels is None else (texts, labels))
        judges = _share_or_corpus(validation)
        space = _with_text_settings(space, corpus, judges, seed, threads, progress)
        datasets = DatasetCache(
            corpus,
            vocabulary,
            judges,
            seed=seed,
            threads=threads,
            folder=work,
            progress=progress,
        )
        ends = None if seconds is None else began + seconds
        plan = Plan(space, judged, datasets, trials, prune, seed, own_threads, progress, ends)
        facts = plan.facts()
        if overwrite:
            clear(place)  # not before all that could be wrong was looked at
        with opened(place / STUDY, work, plan, facts=facts, resume=resume) as study:
            with _opened_pool(plan, jobs, hosts, work) as pool:
                complete = _conduct(plan, study, pool)
            done = study.trials()
            if not complete and not any(trial.score is not None for trial in done):
                raise StoppedError("stopped before a trial was finished")
            best_of(done, judged)  # or why there is none
            spent = time.monotonic() - began
            return Search(space, judged, done, study.importances(), facts, spent, complete)


def _with_text_settings(
    space: Space,
    corpus: Corpus,
    judges: Corpus | float,
    seed: int,
    threads: int | None,
    progress: Progress,
) -> Space:
    """Fix how texts are read as a training would, where that is neither given nor searched.

    Trials then learn from the same features as the tagger that is trained with what they find.
    """
    views = space.create(space.start, seed=seed, threads=threads).views()
    left_open = {
        view: [name for name in names if f"{view}.{name}" not in space.ranges]
        for view, names in settings_left_open(views, space.features, corpus).items()
    }
    chosen = choose_text_settings(
        new_featurizers(views, space.features or None, corpus, threads),
        left_open,
        corpus,
        held_out=SHARE if isinstance(judges, Corpus) else judges,
        seed=seed,
        threads=threads,
        progress=progress,
    )
    merged = {view: {**space.features.get(view, {}), **own} for view, own in chosen.items()}
    return replace(space, features={**space.features, **merged})


def _share(
    jobs: int | None, threads: int | None, hosts: TrialHosts | None, progress: Progress
) -> tuple[int, int]:
    """Return how many trials are made at once, and how many threads each has."""
    if hosts is None:
        cores = workers(threads)
        made = min(jobs or 1, cores)
        share = made, cores // made
    else:
        share = hosts.share(jobs, threads)
        cores = share[0]
    if jobs is not None and share[0] < jobs:
        progress.say(f"{cores} threads cannot share {jobs} jobs: {cores} trials are made at once")
    return share


def _opened_pool(plan: Plan, jobs: int, hosts: TrialHosts | None, work: Path) -> TrialPool:
    if hosts is None:
        return WorkerPool(jobs, plan.threads, work)
    return hosts.pool(jobs, plan.threads)


def _conduct(plan: Plan, study: Study, pool: TrialPool) -> bool:
    """Make trials until there are enough or time is up; return False if a user stopped it."""
    over = study.trials()
    if len(over) >= plan.trials:
        plan.progress.say(f"{len(over)} trials are there already")
        return True
    with plan.progress.task("tuning", plan.trials, unit="trials", done=len(over)) as bar:
        shown = SearchProgress(plan, bar, len(over))
        try:
            while True:
                while pool.is_free and _wants_more(plan, study):
                    _begin(plan, study, pool, shown)
                if not pool.busy:
                    return True
                message = pool.receive(plan.left())
                if message is None:
                    plan.progress.say("time is up: trials under way are given up")
                    return True
                _note(plan, study, pool, shown, *message)
        except KeyboardInterrupt:
            study.lose()
            return False


def _wants_more(plan: Plan, study: Study) -> bool:
    """Tell whether another trial is to begin."""
    if study.n_begun >= plan.trials or plan.left() == 0:
        return False
    tried = [*(trial.values for trial in study.trials()), *plan.given.values()]
    inside = {plan.space.same(values) for values in tried if plan.space.holds(values)}
    return len(inside) < plan.space.size


def _begin(plan: Plan, study: Study, pool: TrialPool, shown: SearchProgress) -> None:
    """Give a trial to a process, unless the same was tried before."""
    number, values = study.ask()
    same = plan.space.same(values)
    for trial in study.trials():
        if trial.state == "finished" and plan.space.same(trial.values) == same:
            study.finish(number, scores=dict(trial.scores), seconds=0.0, repeats=trial.number)
            shown.report(study.trials(), number)
            return
    try:
        order = plan.order(values)
    except (InputError, MemoryError) as error:  # settings that do not go together
        study.fail(number, message=str(error) or "out of memory")
        shown.report(study.trials(), number)
        return
    plan.given[number] = values
    pool.submit(number, order)


def _note(
    plan: Plan, study: Study, pool: TrialPool, shown: SearchProgress, number: int, message: Message
) -> None:
    """Note what a process says of a trial."""
    if "step" in message:
        pool.reply(number, {"go_on": study.report(number, message["step"], message["score"])})
        return
    del plan.given[number]
    if "scores" in message:
        study.finish(number, scores=message["scores"], seconds=message["seconds"])
    elif "pruned" in message:
        study.prune(number)
    else:
        study.fail(number, message=message["error"])
    shown.report(study.trials(), number)


def _share_or_corpus(validation: Any) -> Corpus | float:
    if isinstance(validation, int | float):
        if not 0 < validation < 1:
            raise InputError(f"validation must be above 0 and below 1, got {validation}")
        return float(validation)
    return read_corpus(validation)


def _check(trials: int, jobs: int | None, seconds: float | None) -> None:
    for name, value in (("trials", trials), ("jobs", 1 if jobs is None else jobs)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise InputError(f"{name} must be a whole number from 1, got {value!r}")
    if seconds is not None and not seconds > 0:
        raise InputError(f"the time must be a number of seconds above 0, got {seconds!r}")
