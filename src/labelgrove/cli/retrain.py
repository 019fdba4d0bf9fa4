"""``labelgrove retrain``: a tagger learns anew from what its users said about its labels."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labelgrove.cli import json_file, options
from labelgrove.cli.folders import check_not_inside, is_same
from labelgrove.cli.terminal import show, warn

if TYPE_CHECKING:
    from labelgrove.core.progress import Progress
    from labelgrove.corpus import Corpus, Feedback
    from labelgrove.corpus.corrected import Changes
    from labelgrove.labels import LabelMatcher
    from labelgrove.tagger import Scores, Tagger

THRESHOLD = "auto"
HELD_OUT = 0.2  # of the feedback, where there is no TEST
FEW = 20  # documents on which a difference is likely to be luck


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
            "the feedback is held out."
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
    from labelgrove.labels import LabelMatcher
    from labelgrove.tagger import Tagger, training_record
    from labelgrove.tagger.feedback import feedback_file
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
    match = LabelMatcher.of_space(before.labels_)
    lesson = _plan(said, corpus, judged, match, progress)
    _warn(lesson, before, folder, source, test)
    after = before.retrain(
        Corrected(corpus, said.documents, lesson.held_out), run=Run(progress=progress)
    )
    options.say_skipped(corpus)
    scores = _scores(before, after, judged or lesson.judged, progress)
    record: dict[str, Any] = {"before": None, "after": None}
    place = test or f"{len(lesson.held_out)} documents of {', '.join(map(str, files))}"
    if scores is not None:  # before DIR may be replaced
        record["before"] = _record(before, scores[0], folder, place)
        options.say_skipped(judged)
    after.save(out, overwrite=overwrite, progress=progress)
    if scores is not None:
        record["after"] = _record(after, scores[1], out, place)
    record |= _labels(before, after) | {"feedback": lesson.record(files)}
    json_file.write(json_to, training_record(after, out, time.monotonic() - started) | record)
    if not json_file.alone(json_to):
        _tell(lesson, after, scores, record, folder, source, test, out)


@dataclass(frozen=True)
class _Lesson:
    """What is learned from feedback, and what is held out of it."""

    said: Feedback
    changes: Changes
    held_out: frozenset[str]
    leaked: int  # documents of TEST whose text was judged

    @property
    def added(self) -> int:
        """Number of documents that the tagger has not seen before."""
        return len(self.said.documents) - len(self.changes.known) - len(self.held_out)

    @property
    def bare(self) -> int:
        """Number of documents whose labels were all wrong, among those that are learned."""
        learned = (d for text, d in self.said.documents.items() if text not in self.held_out)
        return sum(not document.labels for document in learned)

    @property
    def judged(self) -> Corpus | None:
        """The held-out documents, or None where there are none."""
        from labelgrove.corpus import Corpus

        kept = [d for text, d in self.said.documents.items() if text in self.held_out]
        if not kept:
            return None
        return Corpus.from_lists([each.text for each in kept], [each.labels for each in kept])

    def record(self, files: Sequence[Path]) -> dict[str, Any]:
        """Return it as plain values, for JSON."""
        return {
            "files": [*map(str, files)],
            "lines": self.said.lines,
            "torn": [*self.said.torn],
            "documents": len(self.said.documents),
            "corrected": self.changes.corrected,
            "confirmed": self.changes.confirmed,
            "added": self.added,
            "without_labels": self.bare,
            "held_out": len(self.held_out),
            "in_test": self.leaked,
        }


def _plan(
    said: Feedback, corpus: Corpus, test: Corpus | None, match: LabelMatcher, progress: Progress
) -> _Lesson:
    """Read what there is once, and decide by what the taggers are judged.

    Only texts that TRAIN does not have are held out: the saved tagger has learned the others.
    """
    from labelgrove.corpus.corrected import changes, held_out

    documents = progress.track(corpus, "comparing with the feedback")
    changed = changes(documents, said.documents, match)
    if test is None:
        new = said.documents.keys() - changed.known
        return _Lesson(said, changed, held_out(new, HELD_OUT), 0)
    leaked = sum(document.text in said.documents for document in test)
    return _Lesson(said, changed, frozenset(), leaked)


def _warn(lesson: _Lesson, before: Tagger, folder: Path, source: Path, test: Path | None) -> None:
    """Say on standard error what is likely to be a mistake, before the work."""
    said = [
        f"{file}: the last line was not written to its end, and is left out"
        for file in lesson.said.torn
    ]
    n = lesson.changes.documents + len(lesson.said.documents) - len(lesson.changes.known)
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
    if lesson.leaked:
        said.append(
            f"the texts of {lesson.leaked:,} documents of {test} are in the feedback, and are "
            "learned: scores after are too high by them"
        )
    for line in said:
        warn(line)


def _scores(
    before: Tagger, after: Tagger, judged: Corpus | None, progress: Progress
) -> tuple[Scores, Scores] | None:
    """Score both taggers over the labels of both."""
    if judged is None:
        return None
    return (
        before.evaluate(judged, threshold=THRESHOLD, labels_of=after, progress=progress),
        after.evaluate(judged, threshold=THRESHOLD, labels_of=before, progress=progress),
    )


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
    lesson: _Lesson,
    after: Tagger,
    scores: tuple[Scores, Scores] | None,
    record: Mapping[str, Any],
    folder: Path,
    source: Path,
    test: Path | None,
    out: Path,
) -> None:
    """Show how good both taggers are, by what that is judged, and what was learned."""
    from labelgrove.cli.tables import print_before_and_after
    from labelgrove.report.wording import several

    n, of = len(lesson.held_out), len(lesson.said.documents)
    if scores is not None:
        place = test or f"{several(n, 'held-out document')} of the feedback"
        print_before_and_after(f"{after.model_.name} on {place}, %", *scores)
    if test is None:
        show(_judged_by(n, of, folder))
    if scores is not None and (judges := scores[0].documents) < FEW:
        show(f"so few as {several(judges, 'document')} say little: the figures may be luck")
    show(
        f"learned from {several(of - n, 'document')} of feedback: {lesson.changes.corrected:,} "
        f"corrected and {lesson.changes.confirmed:,} confirmed in {source}, {lesson.added:,} added"
    )
    if lesson.bare:
        show(f"{lesson.bare:,} of them without a label: they count as having none of them")
    new, lost = len(record["new_labels"]), len(record["lost_labels"])
    show(f"{several(new, 'new label')}, {several(after.labels_.n_labels, 'label')} together")
    if lost:
        show(f"{several(lost, 'label')} of {folder} without a document now")
    show(f"saved to {out}")
    if is_same(folder, out):
        show("a service that has it open loads it by POST /v1/reload or the signal SIGHUP")
    else:
        show(f"'labelgrove serve {out}' serves it")


def _judged_by(n: int, of: int, folder: Path) -> str:
    if not n:
        return (
            f"before and after are not told: none of the {of:,} documents of the feedback could be "
            "held out; give --test TEST"
        )
    return (
        f"judged by {n:,} of {of:,} documents of the feedback, which the new tagger has not "
        f"learned from, nor {folder} unless it was retrained with --test; give --test TEST to "
        "learn from all"
    )
