"""Options that several commands share, and how they become a corpus, a progress, a threshold."""

from __future__ import annotations

import inspect
import os
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from labelgrove.cli.terminal import warn
from labelgrove.core.compiling import announce, be_silent

if TYPE_CHECKING:
    from labelgrove.core.progress import Progress
    from labelgrove.corpus import Corpus

INPUT = "Input"
# options that name files for a command's result
OUTPUTS = ("json_to", "report", "merge_out", "markdown", "latex", "html", "queue")

DEFAULT_MODEL = "grove"  # what is trained if no model is asked for

Seed = Annotated[int, typer.Option(help="Seed of all randomness.")]
Threads = Annotated[int | None, typer.Option(help="Threads; all cores by default.", min=1)]
Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Replace a tagger in the --out folder.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]
Labels = Annotated[
    Path | None,
    typer.Option(
        help="Names and hierarchy of the labels: a TSV, SKOS (.ttl, .rdf), or Annif's. The "
        "documents may have names in place of ids."
    ),
]
RequireSignature = Annotated[
    Path | None,
    typer.Option(
        help="Load a tagger only if this public key has signed it ('labelgrove sign').",
        show_default=False,
    ),
]
Threshold = Annotated[
    str | None,
    typer.Option(
        help="Least probability of a label: a number, auto (best micro-F1 on held-out documents), "
        "macro (best macro-F1), per-label (one for each label), own (what the model decides, at "
        "one half before calibration), precision=0.9 (such a share of the labels is right) or "
        "recall=0.9 (such a share of the true labels is found)."
    ),
]
Hierarchy = Annotated[
    str | None,
    typer.Option(
        metavar="closed|leaf",
        help="What becomes of broader labels once threshold and k have chosen: closed gives all "
        "labels above a given one too, leaf only the most specific ones.",
    ),
]


def _checked_address(text: str | None) -> str | None:
    """Refuse, before any work, what is no address of a cluster."""
    if text is not None:
        from labelgrove.cluster.address import read_address

        read_address(text)
    return text


Cluster = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        metavar="local:N|auto|HOST:PORT",
        help="Work on a Ray cluster (extra: cluster): local:N starts one of N CPUs here, auto "
        "takes the one that runs here or that RAY_ADDRESS names, HOST:PORT is its address.",
        show_default=False,
        callback=_checked_address,
    ),
]


def _input(help: str, *names: str) -> Any:  # noqa: A002
    return typer.Option(*names, help=help, rich_help_panel=INPUT)


@dataclass(frozen=True)
class ReadingOptions:
    """How documents are read; each field is an option of the commands that read."""

    format: Annotated[
        str | None,
        _input(
            "Form of the input, where the suffix does not tell: jsonl, csv, tsv, xlsx, parquet, "
            "annif, annif-folder, svmlight, raw, rcv1-train, rcv1-test, lshtc, lshtc-text."
        ),
    ] = None
    text_field: Annotated[
        str | None,
        _input(
            "Field of the text; 'text' by default. A number where there is no header. Several, "
            "such as title,abstract, become lines of one text."
        ),
    ] = None
    labels_field: Annotated[str | None, _input("Field of the labels; 'labels' by default.")] = None
    id_field: Annotated[str | None, _input("Field of the document's id; 'id' by default.")] = None
    separator: Annotated[
        str | None, _input("What separates the labels of a document in a table.")
    ] = None
    encoding: Annotated[
        str | None,
        _input(
            "Encoding of a table or of JSON lines, such as windows-1252 or utf-16; auto reads the "
            "whole file to find it, otherwise its beginning is looked at."
        ),
    ] = None
    sheet: Annotated[str | None, _input("Sheet of an Excel workbook; the first by default.")] = None
    no_header: Annotated[
        bool | None,
        _input(
            "The first row of a table is a document; columns are 1, 2, ...", "--no-header/--header"
        ),
    ] = None
    no_quotes: Annotated[
        bool | None,
        _input("Quotes in a CSV or TSV are ordinary characters.", "--no-quotes/--quotes"),
    ] = None
    matrix: Annotated[
        Path | None, _input("The .npz file with the labels of raw texts; found by name otherwise.")
    ] = None
    merge: Annotated[
        Path | None,
        _input(
            "Labels to replace, as 'labelgrove check --merge-out' writes them: a TSV of from, to."
        ),
    ] = None
    skip_bad: Annotated[
        bool, _input("Count and skip bad rows instead of stopping.", "--skip-bad")
    ] = False

    def words(self) -> list[str]:
        """Return the options that say the same, without those that are as by default."""
        told: list[str] = []
        for field in fields(self):
            value = getattr(self, field.name)
            if value == field.default:
                continue
            option = f"--{field.name.replace('_', '-')}"
            if value is False:
                option = option.replace("--no-", "--")
            told += [option] if isinstance(value, bool) else [option, str(value)]
        return told

    def arguments(self) -> dict[str, Any]:
        """Return those options that were given, as keyword arguments of `read_corpus`."""
        from labelgrove.corpus.layout import read_columns

        given: dict[str, Any] = {
            "format": self.format,
            "text": None if self.text_field is None else read_columns(self.text_field),
            "labels": self.labels_field,
            "id": self.id_field,
            "separator": self.separator,
            "encoding": self.encoding,
            "sheet": self.sheet,
            "matrix": self.matrix,
            "merge": self.merge,
            "on_bad": "skip" if self.skip_bad else None,
        }
        given = {name: value for name, value in given.items() if value is not None}
        if self.no_header is not None:
            given["header"] = not self.no_header
        if self.no_quotes is not None:
            given["quote"] = None if self.no_quotes else '"'
        return given

    def open(
        self,
        source: Path,
        *,
        labelled: bool = True,
        remembered: Mapping[str, Any] | None = None,
        progress: Progress | None = None,
    ) -> Corpus:
        """Open a corpus.

        Parameters
        ----------
        source
            The file or folder.
        labelled
            False if its documents need no labels.
        remembered
            How the files of a tagger's training were read; options win over it.
        progress
            Where it is said what was found out about the file.
        """
        from labelgrove.corpus import read_like

        if self.merge is not None and not labelled:
            raise typer.BadParameter("--merge replaces labels of documents, and none are read here")
        corpus = read_like(source, remembered or {}, self.arguments(), labelled=labelled)
        if progress is not None:
            for note in corpus.notes:
                progress.say(f"{source}: {note}")
        return corpus


def reads_documents(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the fields of `ReadingOptions` as options, in place of its ``reading``."""
    hints = get_type_hints(ReadingOptions, include_extras=True)
    names = [field.name for field in fields(ReadingOptions)]

    @wraps(command)
    def wrapped(**values: Any) -> None:
        command(reading=ReadingOptions(**{name: values.pop(name) for name in names}), **values)

    own = [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for parameter in inspect.signature(command, eval_str=True).parameters.values()
        if parameter.name != "reading"
    ]
    added = [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=field.default,
            annotation=hints[field.name],
        )
        for field in fields(ReadingOptions)
    ]
    parameters = [*own, *added]
    wrapped.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    wrapped.__annotations__ = {each.name: each.annotation for each in parameters}
    del wrapped.__wrapped__  # typer would look behind the wrapper
    return wrapped


def open_progress(quiet: bool, *, hidden: bool = False) -> Progress:
    """Return bars on a terminal, lines in a pipe; compiling is told there.

    When quiet, only warnings about worse labels are shown; where it is hidden, nothing at all,
    since the command itself says what there is to say.
    """
    from labelgrove.core.progress import OnlyWarnings, Silent, for_stream

    if quiet:
        return OnlyWarnings()
    if hidden or sys.stderr is None:
        return Silent()
    progress = for_stream(sys.stderr)
    announce(progress)
    return progress


def close_progress() -> None:
    """Show nothing more once a command has ended."""
    be_silent()


def say_skipped(*corpora: Corpus | None) -> None:
    """Say how many bad rows were skipped, also when progress is quiet."""
    from labelgrove.core.wording import several

    for corpus in corpora:
        if corpus is not None and corpus.skipped:
            warn(f"{corpus.name}: {several(corpus.skipped, 'bad row')} skipped")


def read_threshold(value: str | None) -> Any:
    """Return a threshold option as a number where it is one."""
    if value is None:
        return None
    try:
        return float(value)
    except ValueError:
        meant = re.fullmatch(r"(\d+(?:[.,]\d+)?) ?(%?)", value)
    if meant:  # as spreadsheets in many languages write numbers
        number = float(meant[1].replace(",", ".")) / (100 if meant[2] else 1)
        raise typer.BadParameter(f"--threshold {value}: did you mean {number:g}?")
    return value


def check_output(option: str, file: Path | None) -> None:
    """Refuse, before any work, a file that cannot be written."""
    if file is not None and (file.is_dir() or not file.parent.is_dir()):
        raise typer.BadParameter(f"{option} needs a file in a folder that exists, got {file}")


def check_files(values: Mapping[str, Any]) -> None:
    """Refuse, before any work, to write a result over what a command reads or writes elsewhere.

    Parameters
    ----------
    values
        All that the command was given, by name.
    """
    written = [each for name, each in values.items() if name in OUTPUTS and each is not None]
    if not written:
        return
    read = [each for name, each in values.items() if name not in OUTPUTS]
    paths = [each for part in read for each in (part if isinstance(part, list) else [part])]
    taken = {each.resolve() for each in paths if isinstance(each, Path)}
    from labelgrove.core.manifest import saved_folder_around

    for file in written:
        place = file.resolve()
        if place in taken and str(file) not in ("-", os.devnull):
            raise typer.BadParameter(
                f"{file} is named twice, and would be lost: give the result a file of its own"
            )
        if saved_folder_around(place):
            raise typer.BadParameter(f"{file} lies in a saved tagger: give a file elsewhere")
        taken.add(place)


def write_output(file: Path, text: str) -> None:
    """Write a file whole or not at all."""
    from labelgrove.core.storage import write_text

    write_text(file, text)
