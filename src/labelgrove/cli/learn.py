"""``labelgrove learn``: more documents for a tagger that remembers them, without training."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labelgrove.cli import json_file, options
from labelgrove.cli.folders import check_apart, is_same
from labelgrove.cli.terminal import show, warn
from labelgrove.core.wording import several

if TYPE_CHECKING:
    from labelgrove.core.progress import Progress
    from labelgrove.corpus import Corpus
    from labelgrove.report.before_after import BeforeAfter
    from labelgrove.tagger import Scores, Tagger

THRESHOLD = "auto"


@options.reads_documents
def learn(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A saved tagger.")],
    source: Annotated[Path, typer.Argument(metavar="MORE", help="Documents with labels.")],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Folder for the new tagger; DIR stays as it is.")
    ],
    labels: Annotated[
        Path | None,
        typer.Option(help="Names and hierarchy of new labels: a TSV, or SKOS (.ttl, .rdf)."),
    ] = None,
    test: Annotated[
        Path | None,
        typer.Option(
            help="Documents with labels to score on, before and after; not those of MORE."
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
    """Add documents to a tagger whose model remembers them, also of labels that are new to it.

    Nothing is trained, and probabilities and thresholds stay as they are.
    """
    from labelgrove.cli.tables import print_before_and_after
    from labelgrove.core import storage
    from labelgrove.tagger import Tagger, training_record

    json_file.check(json_to)
    check_apart(folder, out, "learn")
    storage.check_free(out, overwrite=overwrite)
    progress = options.open_progress(quiet)
    before = Tagger.load(folder, progress=progress, require_signature=require_signature)
    before.model_.check_remembers()
    before.set_threads(threads)
    opened = partial(reading.open, remembered=before.learned_.reading, progress=progress)
    corpus = opened(source)
    judged = opened(test) if test else None
    if test is not None and is_same(source, test):
        warn(
            f"--test {test} is what it learns from: scores will tell what it remembers, not how "
            "well it tags"
        )
    after = before.learn(corpus, vocabulary=labels, progress=progress)
    options.say_skipped(corpus)
    after.save(out, overwrite=overwrite, progress=progress)
    old, new = before.labels_, after.labels_
    documents, n_labels = new.n_documents - old.n_documents, new.n_labels - old.n_labels
    record = training_record(after, out)
    record |= {"more_documents": documents, "more_labels": n_labels}
    scores = None if judged is None else _scores(before, after, judged, progress)
    if scores is not None:
        record["before"] = _record(before, scores.before, folder, test)
        record["after"] = _record(after, scores.after, out, test)
        record["change"] = scores.record()
    json_file.write(json_to, record)
    if json_file.alone(json_to):
        return
    if scores is not None:
        print_before_and_after(f"{after.model_.name} on {test}, %", scores)
        show(scores.verdict)
    learned = f"{several(documents, 'document')}, {several(n_labels, 'new label')}"
    show(f"learned {learned}: saved to {out}")
    if scores is None:
        show(
            "probabilities and thresholds are still those of before: "
            f"'labelgrove evaluate {out} TEST' tells how well they do"
        )


def _scores(before: Tagger, after: Tagger, judged: Corpus, progress: Progress) -> BeforeAfter:
    from labelgrove.report.before_after import score_before_and_after

    scores = score_before_and_after(before, after, judged, threshold=THRESHOLD, progress=progress)
    options.say_skipped(judged)
    return scores


def _record(tagger: Tagger, scores: Scores, folder: Path, test: Path | None) -> dict[str, Any]:
    """Return scores as `labelgrove evaluate` writes them."""
    from labelgrove.tagger import evaluation_record

    return evaluation_record(tagger, scores, folder=folder, test=str(test), threshold=THRESHOLD)
