"""``labelgrove audit``: labels that are probably wrong or missing, as a queue for people."""

from __future__ import annotations

import csv
import io
import shutil
import time
from collections import Counter
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labelgrove.cli import json_file, options
from labelgrove.cli.recipes import settings_of
from labelgrove.cli.terminal import show
from labelgrove.core.errors import InputError, StoppedError

if TYPE_CHECKING:
    from labelgrove.core.estimator import Classifier
    from labelgrove.core.types import Estimate
    from labelgrove.tagger.audit import AuditOutcome

MODEL = "bonsai"
REVIEW, TABLE = "review.jsonl", "suggestions.csv"
FIELDS = ("id", "text", "kind", "label", "name", "score", "reasons")
SHOWN = 10  # labels, and suggestions, on the terminal
BEGINNING = 60  # characters of a text there
IN_TABLE = 200  # and in the CSV


@options.reads_documents
def audit(
    source: Annotated[Path, typer.Argument(metavar="FILE", help="Documents with labels.")],
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            metavar="DIR|FILE",
            help=f"Folder for {REVIEW} and {TABLE}, or one file of either form (.jsonl or .csv).",
        ),
    ],
    model: Annotated[str, typer.Option(help="Model that judges; a fast one is enough.")] = MODEL,
    labels: options.Labels = None,
    feedback: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="What people said before: it corrects FILE, and those documents are not "
            "suggested again. Repeatable, and later files count more.",
        ),
    ] = None,
    most: Annotated[int, typer.Option(help="Most suggestions of each kind.", min=1)] = 1_000,
    least_missing: Annotated[
        float, typer.Option(help="Least score of a missing label.", min=0, max=1)
    ] = 0.1,
    least_wrong: Annotated[
        float, typer.Option(help="Least score of a wrong label.", min=0, max=1)
    ] = 0.1,
    mistakes: Annotated[
        float,
        typer.Option(
            help="Share of the labels that you expect to be wrong, and as many to be missing; "
            "scores rest on it.",
            min=0.0001,
            max=0.5,
        ),
    ] = 0.02,
    folds: Annotated[
        int,
        typer.Option(help="How many models are trained; each leaves out its share of FILE.", min=2),
    ] = 5,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="A setting of the model, or of a view of the text as text.KEY=VALUE; repeatable.",
        ),
    ] = None,
    estimate: Annotated[
        bool,
        typer.Option(
            "--estimate", help="Only say how long the models will take, and how much memory."
        ),
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace what an earlier audit wrote to --out.")
    ] = False,
    json_to: json_file.Option = None,
    seed: options.Seed = 0,
    threads: options.Threads = None,
    quiet: options.Quiet = False,
    *,
    reading: options.ReadingOptions,
) -> None:
    """Find labels of documents that are probably missing or wrong, for people to check.

    Each document is judged by models that did not learn from it. An audit that was stopped goes
    on when the same command is given again. 'labelgrove serve DIR --review FILE' shows the
    suggestions, and takes what people decide.
    """
    from labelgrove.core import storage
    from labelgrove.core.run_folders import run_folder
    from labelgrove.corpus import Corrected, read_feedback
    from labelgrove.tagger.audit import AuditOptions, estimate_models, find_suggestions
    from labelgrove.tagger.inputs import as_vocabulary

    started = time.monotonic()
    json_file.check(json_to)
    out = out.resolve()
    files = _files(out, overwrite=overwrite)
    progress = options.open_progress(quiet)
    corpus = reading.open(source, progress=progress)
    said = read_feedback(feedback) if feedback else None
    judged = Corrected(corpus, said.documents) if said else corpus
    classifier, features = _model(model, settings or [], seed, threads)
    how = AuditOptions(
        folds=folds,
        most=most,
        least={"missing": least_missing, "wrong": least_wrong},
        mistakes=mistakes,
        seed=seed,
        threads=threads,
        features=features,
    )
    if estimate:
        needed = estimate_models(judged, classifier, options=how, progress=progress)
        _tell_needs(needed, folds, json_to)
        return
    work = run_folder(out)
    with storage.locked(work):
        if overwrite:
            _clear(work)
        try:
            outcome = find_suggestions(
                judged,
                classifier,
                work / "models",
                vocabulary=as_vocabulary(labels),
                settled=said.documents if said else {},
                options=how,
                progress=progress,
            )
        except KeyboardInterrupt:
            raise StoppedError("stopped; the same command goes on from there") from None
        options.say_skipped(corpus)
        if out.suffix not in (".jsonl", ".csv"):
            out.mkdir(parents=True, exist_ok=True)
        for file in files:
            options.write_output(file, _text(outcome, file))
        shutil.rmtree(work, ignore_errors=True)
    record = _record(outcome, classifier.name, folds, files, time.monotonic() - started)
    json_file.write(json_to, record)
    if not json_file.alone(json_to):
        _tell(outcome, source, files)


def _tell_needs(needed: Estimate, folds: int, json_to: Path | None) -> None:
    json_file.write(json_to, needed._asdict())
    if not json_file.alone(json_to):
        show(
            f"the {folds} models will take about {needed.seconds:,.0f} s and "
            f"{needed.memory / 1e9:.1f} GB of memory, beside what reading and the search for "
            "similar documents take"
        )


def _files(out: Path, *, overwrite: bool) -> list[Path]:
    """Return the files to write, and refuse, before any work, those that cannot be."""
    from labelgrove.core.manifest import saved_folder_around

    if out.suffix in (".jsonl", ".csv"):
        options.check_output("--out", out)
        files = [out]
    elif out.exists() and not out.is_dir():
        raise typer.BadParameter(f"--out needs a folder, or a file .jsonl or .csv, got {out}")
    elif saved_folder_around(out / REVIEW):
        raise typer.BadParameter(f"{out} is a saved tagger: give a folder elsewhere")
    elif not out.parent.is_dir():
        raise typer.BadParameter(f"--out needs a place in a folder that exists, got {out}")
    else:
        files = [out / REVIEW, out / TABLE]
    for file in files:
        if file.exists() and not overwrite:
            raise InputError(f"{file} is there already: --overwrite replaces it")
    return files


def _clear(work: Path) -> None:
    """Remove what an audit left that did not end."""
    shutil.rmtree(work / "models", ignore_errors=True)


def _model(
    name: str, settings: list[str], seed: int, threads: int | None
) -> tuple[Classifier, dict[str, Any] | None]:
    """Return the model, and settings of its views of the text."""
    from labelgrove.models import MODELS

    of_model, of_views = settings_of({}, settings)
    known = MODELS.find(name).setting_names()
    usual = {key: each for key, each in (("seed", seed), ("threads", threads)) if key in known}
    return MODELS.create(name, **{**usual, **of_model}), of_views or None


def _text(outcome: AuditOutcome, file: Path) -> str:
    """Return the suggestions in the form that a file's name asks for."""
    if file.suffix != ".csv":
        return "".join(f"{item.to_json()}\n" for item in outcome.items)
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(FIELDS)
    for item in outcome.items:
        text = shorten(item.text, IN_TABLE, placeholder=" …")
        for each in item.suggestions:
            found = (each.kind, each.label, each.name, each.score, "; ".join(each.reasons))
            writer.writerow((item.id or "", text, *found))
    return table.getvalue()


def _record(
    outcome: AuditOutcome, model: str, folds: int, files: list[Path], seconds: float
) -> dict[str, Any]:
    return {
        "documents": outcome.documents,
        "labels": outcome.labels.n_labels,
        "given": outcome.assignments,
        "copies": outcome.copies,
        "model": model,
        "folds": folds,
        "missing": outcome.missing,
        "wrong": outcome.wrong,
        "suggested_documents": len(outcome.items),
        "same_text": outcome.hidden,
        "beyond_most": outcome.beyond,
        "files": [*map(str, files)],
        "seconds": round(seconds, 3),
    }


def _tell(outcome: AuditOutcome, source: Path, files: list[Path]) -> None:
    from labelgrove.cli.tables import print_table
    from labelgrove.core.wording import several

    rows = [
        (each.kind, each.name, f"{each.score:.3f}", shorten(item.text, BEGINNING, placeholder=" …"))
        for item in outcome.items
        for each in item.suggestions
    ]
    print_table(
        "the first suggestions, document by document",
        ["kind", "label", "score", "text"],
        rows[:SHOWN],
        words=4,
    )
    counts = {
        kind: Counter(s.name for i in outcome.items for s in i.suggestions if s.kind == kind)
        for kind in ("missing", "wrong")
    }
    often = (counts["missing"] + counts["wrong"]).most_common(SHOWN)
    print_table(
        "\nlabels with the most suggestions",
        ["label", "missing", "wrong"],
        [(name, f"{counts['missing'][name]:,}", f"{counts['wrong'][name]:,}") for name, _ in often],
    )
    show(
        f"{source}: {several(outcome.documents, 'document')} with "
        f"{several(outcome.assignments, 'label')}; {outcome.missing:,} to check that may be "
        f"missing and {outcome.wrong:,} that may be wrong, in "
        f"{several(len(outcome.items), 'document')}"
    )
    if outcome.beyond:
        show(f"only the best of each kind are listed: a larger --most adds {outcome.beyond:,}")
    if outcome.hidden:
        show(f"{several(outcome.hidden, 'suggestion')} of texts that come twice are left out")
    for file in files:
        show(f"saved to {file}")
    review = next((file for file in files if file.suffix == ".jsonl"), None)
    if review is not None and outcome.items:
        show(f"'labelgrove serve TAGGER --review {review}' asks people about them")
