"""Finished trainings become standings: every training scored once, then tests of differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelgrove.core.progress import Progress
from labelgrove.core.ranking import Ranking
from labelgrove.evaluation import Decision, additive, holm, labels_in_use, ranks, wilcoxon
from labelgrove.evaluation.resampling import Additive, enough_samples, values
from labelgrove.evaluation.runs import Metrics, sampled_means
from labelgrove.evaluation.significance import FEWEST, difference, interval
from labelgrove.labels import LabelSpace
from labelgrove.leaderboard.absences import Absence
from labelgrove.leaderboard.entrants import Entrant
from labelgrove.leaderboard.files import Survey
from labelgrove.leaderboard.folder import BoardFolder
from labelgrove.leaderboard.standings import METRICS, Lead, Leaderboard, System
from labelgrove.report.luck import MAIN

FOR_A_SYSTEM = 100  # samples of the bootstrap
Memo = dict[tuple[str, int, int], dict[str, float]]  # of an entrant, a seed, a number of labels


def standings(
    folder: BoardFolder,
    entrants: Sequence[Entrant],
    found: Survey,
    absent: Sequence[Absence],
    seeds: int,
    papers: Sequence[str] = (),
    *,
    tests: bool = True,
    memo: Memo | None = None,
    progress: Progress | None = None,
) -> Leaderboard:
    """Score all trainings that are finished, and test the differences.

    Parameters
    ----------
    folder
        Holds the rankings.
    entrants
        Who takes part.
    found
        The data.
    absent
        What is missing.
    seeds
        Trainings of each.
    papers
        Papers whose tables are to be shown.
    tests
        Whether there are intervals, tests and ranks, which take a while.
    memo
        What earlier calls found out, so that a training is scored once; filled here.
    progress
        Where the progress of the tests is shown; nowhere by default.
    """
    memo = {} if memo is None else memo
    systems: list[System] = []
    runs: dict[str, list[Metrics]] = {}
    finished = {each.name: _finished(folder, each, seeds) for each in entrants}
    whole = _labels(folder, entrants, finished, found.space, memo)
    for entrant in entrants:
        own, scores = runs.setdefault(entrant.name, []), []
        for seed, note in (done := finished[entrant.name]).items():
            key = (entrant.name, seed, whole.n_labels)
            if tests or key not in memo:
                parts = sums(found.Y, whole, folder.ranking(entrant, seed), note["threshold"])
                memo[key] = values(parts)
                own += [parts] if tests else []
            scores.append(memo[key])
        if done:
            systems.append(System(entrant, [*done.values()], scores))
    systems.sort(key=lambda each: -each.mean(MAIN))
    result = Leaderboard(systems, absent, found.facts, seeds, found.notes, papers=papers)
    return _tested(result, runs, progress) if tests and systems else result


def _finished(folder: BoardFolder, entrant: Entrant, seeds: int) -> dict[int, dict[str, Any]]:
    """Return what came of the trainings that were finished, by seed."""
    notes = {seed: folder.note(entrant, seed) for seed in range(seeds)}
    return {s: note for s, note in notes.items() if note and note["status"] == "finished"}


def _labels(
    folder: BoardFolder,
    entrants: Sequence[Entrant],
    finished: Mapping[str, Mapping[int, Any]],
    space: LabelSpace,
    memo: Memo,
) -> LabelSpace:
    """Return the labels that all are judged by: with concepts, if a model ranks some of them."""
    with_concepts = False
    for entrant in entrants:
        for seed in finished[entrant.name]:
            key = (entrant.name, seed, 0)
            if key not in memo:
                memo[key] = {"last": float(folder.ranking(entrant, seed).labels.max(initial=-1))}
            with_concepts |= memo[key]["last"] >= space.n_labels
    return space.with_concepts_as_labels() if with_concepts else space


def sums(
    Y: csr_array, space: LabelSpace, ranking: Ranking, threshold: float
) -> dict[str, Additive]:
    """Return the metrics of a ranking of the test documents as sums over documents.

    Parameters
    ----------
    Y
        True labels, shape (n, M).
    space
        The labels that all systems are judged by.
    ranking
        Of the n documents.
    threshold
        From which probability on a label is given.
    """
    return additive(
        Y,
        ranking,
        METRICS,
        propensities=space.propensities(n_columns=Y.shape[1]),
        threshold=Decision(threshold=threshold),
        n_labels=labels_in_use(Y, space.n_labels),
    )


def _tested(
    board: Leaderboard, runs: Mapping[str, Sequence[Metrics]], progress: Progress | None
) -> Leaderboard:
    """Return the same with intervals, tests and ranks, as far as there are documents enough."""
    if board.documents < FEWEST:
        note = f"{board.documents} documents cannot tell luck from skill: nothing is tested"
        return replace(board, notes=[*board.notes, note])
    ordered = {each.name: runs[each.name] for each in board.systems}
    drawn = sampled_means(
        ordered,
        # or p-values of many systems could not be small after Holm's correction
        resamples=max(enough_samples(board.documents), FOR_A_SYSTEM * len(board.systems)),
        progress=progress,
    )
    documents = {
        metric: {name: _by_document(own, metric) for name, own in ordered.items()}
        for metric in METRICS
    }
    leads = {metric: _leads(board, metric, drawn, documents[metric]) for metric in METRICS}
    systems = [
        System(
            each.entrant,
            each.trainings,
            each.scores,
            {m: interval(each.mean(m), drawn[each.name][m]) for m in METRICS},
            {m: leads[m][each.name] for m in METRICS if each.name in leads[m]},
        )
        for each in board.systems
    ]
    table = [row for each in board.systems if (row := documents[MAIN][each.name]) is not None]
    ranked = ranks(np.transpose(table)) if len(table) > 1 else None
    return replace(board, systems=systems, ranks=ranked)


def _by_document(own: Sequence[Metrics], metric: str) -> NDArray[Any] | None:
    """Return a metric's mean over trainings for each document, or None if it is no such mean."""
    if metric.startswith(("micro", "macro", "PSP")):
        return None
    parts = [run[metric].part for run in own]
    mean: NDArray[Any] = np.mean([np.asarray(part) for part in parts], axis=0)
    return mean


def _leads(
    board: Leaderboard,
    metric: str,
    drawn: Mapping[str, Mapping[str, NDArray[Any]]],
    documents: Mapping[str, NDArray[Any] | None],
) -> dict[str, Lead]:
    """Return how far each is behind the first of the best, p-values corrected for their number."""
    best = board.systems[min(board.best(metric))]
    others = [each for each in board.systems if each is not best]
    gaps = [
        difference(
            best.mean(metric) - each.mean(metric),
            drawn[best.name][metric] - drawn[each.name][metric],
        )
        for each in others
    ]
    corrected = holm([gap.p for gap in gaps])
    top = documents[best.name]
    signed: list[float | None] = [None] * len(others)
    if top is not None:
        own = [documents[each.name] for each in others]
        signed = [*holm([wilcoxon(top, row).p for row in own if row is not None])]
    return {
        each.name: Lead(best.name, gap._replace(p=p), w)
        for each, gap, p, w in zip(others, gaps, corrected, signed, strict=True)
    }
