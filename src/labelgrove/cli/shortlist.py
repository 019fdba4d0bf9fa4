"""``labelgrove shortlist``: the best labels as candidates for a language model or a program."""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labelgrove.cli import options
from labelgrove.cli.small_jobs import begin_small_job
from labelgrove.cli.terminal import warn
from labelgrove.core.errors import InputError

if TYPE_CHECKING:
    from labelgrove.tagger.shortlist import Candidate


class Form(StrEnum):
    """What is printed of each text."""

    jsonl = "jsonl"
    schema = "schema"
    prompt = "prompt"


class By(StrEnum):
    """How an answer names labels."""

    name = "name"
    id = "id"


@options.reads_documents
def shortlist(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A saved tagger.")],
    source: Annotated[
        str | None,
        typer.Argument(metavar="[FILE]", help="Documents.", show_default=False),
    ] = None,
    text: Annotated[
        list[str] | None,
        typer.Option(help="A text, instead of a file; may be given several times."),
    ] = None,
    k: Annotated[int, typer.Option("-k", help="Candidates of each text, at most.", min=1)] = 50,
    form: Annotated[
        Form,
        typer.Option(
            "--as",
            help="jsonl (candidates with scores, for programs), schema (a JSON schema that allows "
            "only them, for structured output) or prompt (a question for a language model).",
        ),
    ] = Form.jsonl,
    by: Annotated[
        By, typer.Option(help="What an answer is to give: names, told apart, or ids.")
    ] = By.name,
    unique: Annotated[
        bool,
        typer.Option(
            "--unique",
            help="Let the schema say that no label occurs twice; OpenAI and vLLM may refuse that.",
        ),
    ] = False,
    threads: options.Threads = None,
    require_signature: options.RequireSignature = None,
    quiet: options.Quiet = False,
    *,
    reading: options.ReadingOptions,
) -> None:
    """Print the best labels of each text, for a language model or a program to choose from.

    For a single --text the schema or the prompt is printed as it is, otherwise a line
    {"id": ..., "schema": ...} for each text.
    """
    texts = text or []
    if bool(source) == bool(texts):
        raise typer.BadParameter("give either a file of documents or --text")
    if unique and form is not Form.schema:
        raise typer.BadParameter("--unique is for --as schema")
    progress = options.open_progress(quiet, hidden=bool(texts))
    if texts:
        begin_small_job(folder, texts)
    from labelgrove.cli.tag import opened, say_where_texts_go
    from labelgrove.tagger import Tagger
    from labelgrove.tagger.bulk import numbered
    from labelgrove.tagger.shortlist import Shortlists

    tagger = Tagger.load(folder, progress=progress, require_signature=require_signature)
    tagger.set_threads(threads)
    if texts and not quiet:
        say_where_texts_go(tagger)
    alone = len(texts) == 1 and form is not Form.jsonl
    with opened(tagger, [source] if source else [], texts, reading, progress) as corpus:
        for document, found in Shortlists(tagger, k).stream(numbered(corpus), progress):
            if not found:
                _say_empty(document.id, form, alone)
            made = _made(form, by.value, document.text, found, unique)
            sys.stdout.write(_shown(made) if alone else _line(document.id, form, made))
    sys.stdout.flush()
    if texts and not quiet:
        for note in tagger.model_.take_notes():  # there was no progress to say them
            warn(note)


def _say_empty(number: str | None, form: Form, alone: bool) -> None:
    """Say that a text has no candidates; alone there is no schema or prompt to print."""
    if alone:
        raise InputError(
            f"the text is empty, so no labels can be chosen from: give --text a text for a {form}"
        )
    warn(f"document {number} has no text, so no candidates")


def _made(form: Form, by: Any, text: str, found: list[Candidate], unique: bool) -> Any:
    """Return the candidates in the form that is asked for; None where nothing can be chosen."""
    if not found and form is not Form.jsonl:
        return None
    from labelgrove.tagger.shortlist import candidate_prompt, candidate_schema

    if form is Form.schema:
        return candidate_schema(found, by, unique=unique)
    if form is Form.prompt:
        return candidate_prompt(text, found, by)
    return [{**each, "score": float(f"{each['score']:.6g}")} for each in found]


def _line(number: str | None, form: Form, made: Any) -> str:
    key = "candidates" if form is Form.jsonl else form.value
    return f"{json.dumps({'id': number, key: made})}\n"


def _shown(made: Any) -> str:
    from labelgrove.core.printable import printable

    if isinstance(made, str):
        return f"{printable(made)}\n"
    return f"{json.dumps(made, indent=1)}\n"
