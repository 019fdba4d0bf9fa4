"""``labelgrove learn``: more documents for a tagger that remembers them, without training."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from labelgrove.cli import options

if TYPE_CHECKING:
    from labelgrove.core.progress import Progress
    from labelgrove.corpus import Corpus
    from labelgrove.tagger import Tagger


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
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace a tagger in the --out folder.")
    ] = False,
    threads: options.Threads = None,
    quiet: options.Quiet = False,
    *,
    reading: options.Reading,
) -> None:
    """Add documents to a tagger whose model remembers them, also of labels that are new to it.

    Nothing is trained, and probabilities and thresholds stay as they are.
    """
    from labelgrove.core import storage
    from labelgrove.tagger import Tagger

    _check_apart(folder, out)
    storage.check_free(out, overwrite=overwrite)
    progress = options.open_progress(quiet)
    before = Tagger.load(folder)
    before.model_.check_remembers()
    before.set_threads(threads)
    corpus = reading.open(source)
    judged = reading.open(test) if test else None
    after = before.learn(corpus, vocabulary=labels, progress=progress)
    options.say_skipped(corpus)
    after.save(out, overwrite=overwrite)
    if judged is not None:
        _compare(before, after, judged, progress)
    old, new = before.labels_, after.labels_
    print(
        f"{new.n_documents - old.n_documents:,} documents more, "
        f"{new.n_labels - old.n_labels:,} labels more: saved to {out}"
    )
    if judged is None:
        print(
            "probabilities and thresholds are still those of before: "
            f"'labelgrove evaluate {out} TEST' tells how well they do"
        )


def _check_apart(folder: Path, out: Path) -> None:
    """Refuse to write a tagger over the one that is read, or one into the other."""
    from labelgrove.core.errors import InputError

    old, new = folder.resolve(), out.resolve()
    way_out = "choose a folder beside it, and remove the old one when you are content"
    if old == new or (old.exists() and new.exists() and old.samefile(new)):
        raise InputError(f"--out {out} is {folder} itself, which learn does not change; {way_out}")
    if old in new.parents or new in old.parents:
        raise InputError(f"of --out {out} and {folder} one lies in the other; {way_out}")


def _compare(before: Tagger, after: Tagger, judged: Corpus, progress: Progress) -> None:
    from labelgrove.cli.tables import print_comparison

    old = before.evaluate(judged, labels_of=after, progress=progress)
    new = after.evaluate(judged, progress=progress)
    options.say_skipped(judged)
    print_comparison(f"{after.model_.name} on {judged.name}, %", old, new)
    for note in old.notes:
        print(note if note in new.notes else f"before: {note}")
    for note in new.notes:
        if note not in old.notes:
            print(f"after: {note}")
