"""``labelgrove retrain``: a tagger learns anew from what its users said about its labels."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labelgrove.cli import json_file, options
from labelgrove.cli.folders import check_not_inside, is_same
from labelgrove.cli.terminal import show, warn

if TYPE_CHECKING:
    from labelgrove.core.progress import Progress
    from labelgrove.corpus import Corpus
    from labelgrove.report.before_after import BeforeAfter
    from labelgrove.tagger import Scores, Tagger
    from labelgrove.tagger.feedback import FeedbackPlan

THRESHOLD = "auto"
LISTED = 10  # labels without a document that are named
REFITS = 4  # of few trainings little is known about their luck
REFIT_SECONDS = 60.0  # what these may take unless they are asked for


@options.reads_documents
def retrain(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A saved tagger.")],
    source: Annotated[
        Path, typer.Argument(metavar="TRAIN", help="The documents that it was trained on, or more.")
    ],
    out: Annotated[
        Path,
        typer.Option(
            "--out", "-o", help="Folder for the new tagger; with --overwrite it may be DIR."
        ),
    ],
    feedback: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="What the service wrote, DIR.feedback.jsonl by default; repeatable, and later "
            "files count more.",
        ),
    ] = None,
    test: Annotated[
        Path | None,
        typer.Option(
            help="Documents with labels to score on, before and after; without them a fifth of "
            "the feedback is held out, if that is 20 documents or more."
        ),
    ] = None,
    refits: Annotated[
        int | None,
        typer.Option(
            help="Further trainings with other seeds, so that the intervals of the differences "
            f"cover the luck of training too; by default {REFITS} if they take less than a minute "
            "together.",
            min=0,
        ),
    ] = None,
    overwrite: options.Overwrite = False,
    json_to: json_file.Option = None,
    threads: options.Threads = None,
    require_signature: options.RequireSignature = None,
    quiet: options.Quiet = False,
    *,
    reading: options.ReadingOptions,
) -> None:
    """Train a tagger anew, with the same settings, on its documents and the feedback on it.

    Feedback on a text of TRAIN replaces the labels there, all other feedback is added; of a text
    that was judged twice the later line counts. Scores are shown before and after.
    """
    from labelgrove.core import storage
    from labelgrove.core.types import Run
    from labelgrove.corpus import Corrected, read_feedback
    from labelgrove.report.before_after import score_before_and_after
    from labelgrove.tagger import Tagger, training_record
    from labelgrove.tagger.feedback import feedback_file, plan_feedback
    from labelgrove.tagger.incremental import check_retrains

    started = time.monotonic()
    json_file.check(json_to)
    check_not_inside(folder, out)
    storage.check_free(out, overwrite=overwrite)
    files = feedback or [feedback_file(folder)]
    if json_to is not None and any(is_same(json_to, file) for file in files):
        raise typer.BadParameter(f"{json_to} holds the feedback: write the result elsewhere")
    progress = options.open_progress(quiet)
    before = Tagger.load(folder, progress=progress, require_signature=require_signature)
    check_retrains(before.learned_)
    before.set_threads(threads)
    opened = partial(reading.open, remembered=before.learned_.reading, progress=progress)
    corpus = opened(source)
    judged = opened(test) if test else None
    said = read_feedback(files)
    plan = plan_feedback(said, corpus, before.learned_, judged, progress)
    _warn(plan, before, folder, source, test)
    learned = Corrected(corpus, said.documents, plan.held_out)
    began = time.monotonic()
    after = before.retrain(learned, names=said.names, run=Run(progress=progress))
    seconds = time.monotonic() - began
    options.say_skipped(corpus)
    scores = None
    if (by := judged or plan.judged) is not None:
        again = _refitted(after, learned, _how_many(refits, seconds), progress)
        scores = score_before_and_after(
            before, after, by, again, threshold=THRESHOLD, progress=progress
        )
    record: dict[str, Any] = {"before": None, "after": None, "change": None}
    place = test or f"{len(plan.held_out)} documents of {', '.join(map(str, files))}"
    if scores is not None:  # before DIR may be replaced
        record["before"] = _record(before, scores.before, folder, place)
        options.say_skipped(judged)
    after.save(out, overwrite=overwrite, progress=progress)
    if scores is not None:
        record["after"] = _record(after, scores.after, out, place)
        record["change"] = scores.record()
    record |= _labels(before, after) | {"feedback": plan.record(files)}
    json_file.write(json_to, training_record(after, out, time.monotonic() - started) | record)
    if not json_file.alone(json_to):
        _tell(plan, after, scores, seconds, record, folder, source, test, out)


def _how_many(refits: int | None, seconds: float) -> int:
    """Return how many more trainings to make, if one takes so long."""
    if refits is not None:
        return refits
    return REFITS if REFITS * seconds < REFIT_SECONDS else 0


def _refitted(after: Tagger, learned: Corpus, refits: int, progress: Progress) -> Iterator[Tagger]:
    """Yield taggers that were trained as the new one was, but with other seeds."""
    if not refits:
        return
    with progress.task("training with other seeds", refits, unit="trainings") as task:
        for number in range(1, refits + 1):
            yield after.retrain(learned, seed=after.seed + number)
            task.advance(1)


def _warn(
    plan: FeedbackPlan, before: Tagger, folder: Path, source: Path, test: Path | None
) -> None:
    """Say on standard error what is likely to be a mistake, before the work."""
    said = [
        f"{file}: the last line was not written to its end, and is left out"
        for file in plan.said.torn
    ]
    n = plan.changes.documents + len(plan.said.documents) - len(plan.changes.known)
    if n < before.labels_.n_documents:
        said.append(
            f"{folder} has learned from {before.labels_.n_documents:,} documents, and {source} and "
            f"the feedback have {n:,}: it will not know the others any more"
        )
    if test is not None and is_same(source, test):
        said.append(
            f"--test {test} is what it learns from: scores will tell what it remembers, not how "
            "well it tags"
        )
    if plan.leaked:
        said.append(
            f"the texts of {plan.leaked:,} documents of {test} are in the feedback, and are "
            "learned: scores after are too high by them"
        )
    for line in said:
        warn(line)


def _record(tagger: Tagger, scores: Scores, folder: Path, test: Path | str) -> dict[str, Any]:
    """Return scores as `labelgrove evaluate` writes them."""
    from labelgrove.tagger import evaluation_record

    return evaluation_record(tagger, scores, folder=folder, test=str(test), threshold=THRESHOLD)


def _labels(before: Tagger, after: Tagger) -> dict[str, list[str]]:
    """Return the labels with documents that only one of both has."""
    old, new = (
        {label for label, n in zip(space.ids, space.counts.tolist(), strict=False) if n}
        for space in (before.labels_, after.labels_)
    )
    return {"new_labels": sorted(new - old), "lost_labels": sorted(old - new)}


def _tell(
    plan: FeedbackPlan,
    after: Tagger,
    scores: BeforeAfter | None,
    seconds: float,
    record: Mapping[str, Any],
    folder: Path,
    source: Path,
    test: Path | None,
    out: Path,
) -> None:
    """Show how good both taggers are, by what that is judged, and what was learned."""
    from labelgrove.cli.tables import print_before_and_after
    from labelgrove.core.wording import several
    from labelgrove.report.wording import named

    n, of = len(plan.held_out), len(plan.said.documents)
    if scores is not None:
        show(scores.verdict)
        show()
        place = test or f"{several(n, 'held-out document')} of the feedback"
        print_before_and_after(f"{after.model_.name} on {place}, %", scores)
    if test is None:
        show(_judged_by(plan))
    if scores is not None and scores.changes:
        show(_about_intervals(scores, seconds))
    show(
        f"learned from {several(of - n, 'document')} of feedback: {plan.changes.corrected:,} "
        f"corrected and {plan.changes.confirmed:,} confirmed in {source}, {plan.added:,} added"
    )
    if plan.bare:
        show(f"{plan.bare:,} of them without a label: they count as having none of them")
    new, lost = len(record["new_labels"]), record["lost_labels"]
    show(f"{several(new, 'new label')}, {several(after.labels_.n_labels, 'label')} together")
    if lost:
        names = ", ".join([*map(named, lost[:LISTED]), *["…"] * (len(lost) > LISTED)])
        show(f"{several(len(lost), 'label')} of {folder} without a document now: {names}")
    show(f"saved to {out}")
    if is_same(folder, out):
        show("a service that has it open loads it by POST /v1/reload or the signal SIGHUP")
    else:
        show(f"'labelgrove serve {out}' serves it")


def _judged_by(plan: FeedbackPlan) -> str:
    """Return by which documents both taggers are judged, or why by none."""
    from labelgrove.core.wording import several
    from labelgrove.tagger.feedback import FEWEST

    n, of = len(plan.held_out), len(plan.said.documents)
    if n:
        return (
            f"judged by {n:,} of {of:,} documents of the feedback, which neither tagger has "
            "learned from; give --test TEST to learn from all"
        )
    return (
        f"all of the feedback was learned: {plan.new:,} of its {several(of, 'text')} "
        f"{'is' if plan.new == 1 else 'are'} new, too few to hold some out (a fifth of them must "
        f"be {FEWEST} or more)\n"
        "whether the new tagger is better cannot be told: --test TEST scores both on documents of "
        "yours"
    )


def _about_intervals(scores: BeforeAfter, seconds: float) -> str:
    """Return what intervals cover, and how to have them cover the luck of training."""
    from labelgrove.report.wording import duration

    if scores.refits:
        return scores.about_intervals
    return (
        f"{scores.about_intervals}; --refits {REFITS} trains {REFITS} times more with other seeds "
        f"(about {duration(REFITS * seconds)})"
    )
