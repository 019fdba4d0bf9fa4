"""``labelgrove evaluate``: an honest score on documents with known labels."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from labelgrove.cli import json_file, options
from labelgrove.cli.terminal import show
from labelgrove.core.extras import need

if TYPE_CHECKING:
    from labelgrove.core.progress import Progress
    from labelgrove.tagger.scoring import RankBatches


@options.reads_documents
def evaluate(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A saved tagger.")],
    source: Annotated[Path, typer.Argument(metavar="TEST", help="Documents with labels.")],
    threshold: options.Threshold = "auto",
    hierarchy: options.Hierarchy = None,
    at: Annotated[
        str, typer.Option(help="Places at which rankings are cut, separated by commas.")
    ] = "1,3,5",
    json_to: json_file.Option = None,
    report: Annotated[
        Path | None,
        typer.Option(help="Write a page with figures, labels and documents to this HTML file."),
    ] = None,
    card: Annotated[
        bool,
        typer.Option(
            "--card", help="Write the scores into the tagger's model card, DIR/README.md."
        ),
    ] = False,
    cluster: options.Cluster = None,
    threads: options.Threads = None,
    require_signature: options.RequireSignature = None,
    quiet: options.Quiet = False,
    *,
    context: typer.Context,
    reading: options.ReadingOptions,
) -> None:
    """Score a tagger: rankings (P, R, nDCG, PSP at k) and label sets (precision, recall, F1)."""
    from labelgrove.cli.tables import print_report_table, print_scores
    from labelgrove.core.manifest import CARD
    from labelgrove.report.by_threshold import threshold_table
    from labelgrove.tagger import Tagger, evaluation_record, update_card

    ks = _places(at)
    json_file.check(json_to)
    options.check_output("--report", report)
    if report is not None and hierarchy is not None:
        raise typer.BadParameter(
            "--report shows the labels that the threshold gives: leave out --hierarchy, or write "
            "the scores with --json"
        )
    if report is not None:
        need("matplotlib", "report", "--report")  # said before the work
    progress = options.open_progress(quiet)
    tagger = Tagger.load(folder, progress=progress, require_signature=require_signature)
    tagger.set_threads(threads)
    corpus = reading.open(source, remembered=tagger.learned_.reading, progress=progress)
    chosen = options.read_threshold(threshold)
    with _ranking(cluster, folder, progress) as rank_batches:
        if report is None:
            scores = tagger.evaluate(
                corpus,
                ks=ks,
                threshold=chosen,
                hierarchy=hierarchy,
                intervals=card,
                rank_batches=rank_batches,
                progress=progress,
            )
        else:
            from labelgrove.report.assessment import assess

            assessment = assess(
                tagger,
                corpus,
                ks=ks,
                threshold=chosen,
                rank_batches=rank_batches,
                progress=progress,
            )
            scores = assessment.scores
    if report is not None:
        from labelgrove.report.evaluation import evaluation_report

        command = shlex.join(["labelgrove", *context.obj])
        options.write_output(report, evaluation_report(assessment, folder, command, progress))
    options.say_skipped(corpus)
    asked = {"threshold": chosen, "hierarchy": hierarchy}
    record = evaluation_record(tagger, scores, folder=folder, test=source, **asked)
    json_file.write(json_to, record)  # before a reader of the tables can go away
    if not json_file.alone(json_to):
        print_scores(f"{tagger.model_.name} on {source}, %", scores)
        decision = tagger.decision(chosen)
        if scores.by_threshold:
            print_report_table(threshold_table(scores.by_threshold, decision, "by threshold, %"))
        for note in scores.notes:
            show(note)
        if scores.without_learned_texts is not None:
            print_scores(f"{scores.about_learned_texts}, %", scores.without_learned_texts)
        if report is not None:
            show(f"written to {report}")
    if card and not update_card(folder, test=source.name, scores=scores):
        progress.say(f"{folder / CARD} was edited by hand, so it stays as it is")


@contextmanager
def _ranking(cluster: str | None, folder: Path, progress: Progress) -> Iterator[RankBatches | None]:
    """Open the cluster on which texts are ranked; None ranks them here."""
    if cluster is None:
        yield None
        return
    from labelgrove.cluster import open_cluster
    from labelgrove.cluster.tagging import rank_batches_on

    with open_cluster(cluster, progress=progress) as opened:
        yield rank_batches_on(opened, folder)


def _places(at: str) -> tuple[int, ...]:
    try:
        ks = tuple(int(part) for part in at.split(","))
    except ValueError:
        ks = ()
    if not ks or min(ks) < 1 or max(ks) > 100_000:
        raise typer.BadParameter(f"--at takes numbers from 1 such as 1,3,5, got {at!r}")
    return ks
