"""The leaderboard as one call: data, trainings, standings, files."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from labelgrove.core.errors import InputError, StoppedError
from labelgrove.core.progress import ProgressLike, as_progress
from labelgrove.core.threads import workers
from labelgrove.leaderboard.budget import Clock
from labelgrove.leaderboard.conductor import Conditions, Conductor
from labelgrove.leaderboard.entrants import Entrant, check_entrants
from labelgrove.leaderboard.estimating import Estimates
from labelgrove.leaderboard.files import DataFiles, Survey, survey
from labelgrove.leaderboard.folder import opened
from labelgrove.leaderboard.published import check_papers
from labelgrove.leaderboard.scoring import standings
from labelgrove.leaderboard.standings import Leaderboard
from labelgrove.leaderboard.writing import write
from labelgrove.report.wording import duration


def leaderboard(
    train: str | os.PathLike[str],
    test: str | os.PathLike[str],
    *,
    entrants: Sequence[Entrant],
    budget: float,
    out: str | os.PathLike[str],
    labels: str | os.PathLike[str] | None = None,
    reading: Mapping[str, Any] | None = None,
    seeds: int = 3,
    encoder: str | None = None,
    validation: float = 0.1,
    limit: float | None = None,
    fast: bool = False,
    papers: Sequence[str] = (),
    keep_taggers: bool = False,
    resume: bool = False,
    overwrite: bool = False,
    threads: int | None = None,
    command: str = "",
    progress: ProgressLike = None,
) -> Leaderboard:
    """Train and score models on the same documents until a budget of time is used up.

    The cheapest model comes first, and every model with one seed before any with a second. What
    is chosen, such as thresholds, is chosen on held-out training documents; the test documents
    are only ranked.

    Parameters
    ----------
    train, test
        Files of documents with labels.
    entrants
        The models; `registered` gives all.
    budget
        Seconds for everything together, those of a run that is resumed included.
    out
        Folder for tables, figures and what is finished.
    labels
        File of names and hierarchy of the labels.
    reading
        How files are read: keyword arguments of `labelgrove.corpus.read_corpus`.
    seeds
        Trainings of each model.
    encoder
        Folder or name of a pretrained encoder, for the models that need one.
    validation
        Share of the training documents to hold out.
    limit
        Most seconds of one training; three times its estimate by default, and at least a minute.
    fast
        Leave out models that take more than five minutes.
    papers
        Names of papers whose tables are shown too.
    keep_taggers
        Keep the taggers; they are removed otherwise once they have ranked the test documents.
    resume, overwrite
        Go on with the leaderboard in ``out``, or replace it.
    threads
        Of each training; all cores by default.
    command
        The command line, for the page.
    progress
        True shows how it goes; or where that is shown.

    Returns
    -------
    What the tables show; `Leaderboard.systems` has the scores of each model.
    """
    check_entrants(entrants)
    check_papers(papers)
    _check(budget, seeds, limit, validation)
    files = DataFiles(
        _absolute(train),
        _absolute(test),
        None if labels is None else _absolute(labels),
        reading or {},
    )
    shown = as_progress(progress)
    with opened(out, resume=resume, overwrite=overwrite) as folder:
        clock = Clock(budget, folder.spent())
        found = survey(files, shown)
        for note in found.notes:
            shown.say(note)
        shared = Conditions(
            files, seeds, encoder, validation, workers(threads), limit, keep_taggers, fast
        )
        folder.begin(_plan(shared, found), found)
        conductor = Conductor(folder, shared, found, clock, shown, entrants, papers)
        stopped = conductor.run()
        result = standings(
            folder, entrants, found, conductor.absent(), seeds, papers, progress=shown
        )
        if not stopped:
            _refuse_nothing(result, conductor.estimates, budget)
        write(result, folder.path, command, shown)
    if stopped:
        raise StoppedError("stopped; what is finished is kept, and --resume goes on with it")
    return result


def _absolute(path: str | os.PathLike[str]) -> str:
    return str(Path(path).absolute())  # processes may work elsewhere


def _plan(shared: Conditions, found: Survey) -> dict[str, Any]:
    """Return what must be the same when a leaderboard is resumed."""
    contents = {name: found.facts[name] for name in ("train", "test")}
    given = shared.files.record()
    return {
        "documents": contents,
        "labels": found.facts["labels_file"],
        "reading": given["reading"],
        "encoder": shared.encoder,
        "validation": shared.validation,
    }


def _refuse_nothing(result: Leaderboard, estimates: Estimates, budget: float) -> None:
    """Say that not one model was trained, and what would help."""
    if result.systems:
        return
    named = "; ".join(f"{each.name}: {each.why}" for each in result.absent[:3])
    told = [s for e in estimates.entrants if (s := estimates.seconds(e)) is not None and s > budget]
    more = f"give a --budget of {duration(2 * min(told))} or more. " if told else ""
    if not told and any(each.status in ("no time", "overrun") for each in result.absent):
        more = "give a larger --budget. "
    raise InputError(f"no model was trained in {duration(budget)}: {more}{named}")


def _check(budget: float, seeds: int, limit: float | None, validation: float) -> None:
    if not budget > 0 or not math.isfinite(budget):
        raise InputError(f"the budget must be a number of seconds above 0, got {budget!r}")
    if isinstance(seeds, bool) or not isinstance(seeds, int) or seeds < 1:
        raise InputError(f"seeds must be a whole number from 1, got {seeds!r}")
    if limit is not None and not limit > 0:
        raise InputError(f"the limit must be a number of seconds above 0, got {limit!r}")
    if not 0 < validation < 1:
        raise InputError(
            f"validation must be above 0 and below 1, got {validation}: thresholds are tuned on "
            "held-out documents"
        )
