"""``labelgrove serve``: taggers behind HTTP, with a page."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from labelgrove.cli import options
from labelgrove.cli.terminal import warn

MEGABYTE = 10**6
SAFETY, BATCHES = "Limits and keys", "Batches"


def serve(
    folders: Annotated[
        list[str],
        typer.Argument(
            metavar="DIR...", help="Saved taggers, as DIR or NAME=DIR; the first is the default."
        ),
    ],
    host: Annotated[
        str, typer.Option(help="Address to listen on; 0.0.0.0 for all of this machine's.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port; 0 for any.", min=0, max=65535)] = 8000,
    workers: Annotated[
        int, typer.Option(help="Processes, which share the taggers' arrays in memory.", min=1)
    ] = 1,
    threads: Annotated[
        int | None,
        typer.Option(help="Threads of each process; its share of the cores by default.", min=1),
    ] = None,
    feedback: Annotated[
        Path | None,
        typer.Option(
            help="Folder for files of feedback; by default each lies beside its tagger, "
            "DIR.feedback.jsonl."
        ),
    ] = None,
    no_feedback: Annotated[bool, typer.Option("--no-feedback", help="Take no feedback.")] = False,
    examples: Annotated[
        Path | None,
        typer.Option(
            help="File of texts: the page offers the first 5 to try, and shows them to everybody "
            "who may use it. A tagger holds no texts to show.",
            show_default=False,
        ),
    ] = None,
    review: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Review file of 'labelgrove audit' or 'labelgrove next': the page shows its "
            "documents one after the other, and what people decide becomes feedback.",
            show_default=False,
        ),
    ] = None,
    language: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CODE",
            help="Language of the taggers, as Annif's clients are told: en for all, NAME=fi for "
            "one. Without it, the names of labels tell. Repeatable.",
            show_default=False,
        ),
    ] = None,
    api_keys: Annotated[
        Path | None,
        typer.Option(
            help="File of keys, one a line, of which requests need one.", rich_help_panel=SAFETY
        ),
    ] = None,
    metrics_port: Annotated[
        int | None,
        typer.Option(
            help="Port of their own for the metrics, which asks for no API key; 0 for any. The "
            "service's own port has none then.",
            min=0,
            max=65535,
            rich_help_panel=SAFETY,
        ),
    ] = None,
    metrics_keys: Annotated[
        Path | None,
        typer.Option(
            help="File of keys for the metrics alone, which then take no other.",
            rich_help_panel=SAFETY,
        ),
    ] = None,
    rate: Annotated[
        int | None,
        typer.Option(
            help="Requests of a client in a minute; one counts for several if it has more than 10 "
            "texts, or long ones.",
            min=1,
            rich_help_panel=SAFETY,
        ),
    ] = None,
    require_signature: Annotated[
        Path | None,
        typer.Option(
            help="Serve taggers only if this public key has signed them, also after a reload.",
            rich_help_panel=SAFETY,
        ),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            help="A name by which the service may be called. By default localhost, and where "
            "others reach it, its addresses and the name of this machine; none of these where this "
            "is given. Repeatable.",
            rich_help_panel=SAFETY,
        ),
    ] = None,
    allow_origin: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ORIGIN",
            help="Origin of other web pages that may ask, such as "
            "https://catalogue.example.org; * for all pages. Repeatable.",
            show_default=False,
            rich_help_panel=SAFETY,
        ),
    ] = None,
    max_body: Annotated[
        float, typer.Option(help="Megabytes of a request.", min=0.001, rich_help_panel=SAFETY)
    ] = 10,
    max_bodies: Annotated[
        float,
        typer.Option(
            help="Megabytes of all requests that a process holds at once.",
            min=0.001,
            rich_help_panel=SAFETY,
        ),
    ] = 200,
    max_texts: Annotated[
        int, typer.Option(help="Texts of a request.", min=1, rich_help_panel=SAFETY)
    ] = 1_000,
    max_length: Annotated[
        int, typer.Option(help="Characters of a text.", min=1, rich_help_panel=SAFETY)
    ] = 1_000_000,
    max_waiting: Annotated[
        int,
        typer.Option(
            help="Texts that may wait for a tagger; then requests are told to come back.",
            min=1,
            rich_help_panel=SAFETY,
        ),
    ] = 10_000,
    timeout: Annotated[
        float,
        typer.Option(
            help="Seconds for a request to arrive, and for its answer.",
            min=0.1,
            rich_help_panel=SAFETY,
        ),
    ] = 60,
    load_timeout: Annotated[
        float,
        typer.Option(
            help="Seconds for a new tagger to load and answer, in a process of its own, before it "
            "is taken.",
            min=0.1,
            rich_help_panel=SAFETY,
        ),
    ] = 600,
    copy_to: Annotated[
        Path | None,
        typer.Option(
            help="Folder for copies of the taggers, which are served instead: then no change of "
            "their files harms the service. The copies go with it.",
            file_okay=False,
            exists=True,
            rich_help_panel=SAFETY,
        ),
    ] = None,
    batch_size: Annotated[
        int, typer.Option(help="Texts tagged together at most.", min=1, rich_help_panel=BATCHES)
    ] = 64,
    batch_wait: Annotated[
        float,
        typer.Option(
            help="Milliseconds that a text waits for others, though the tagger is free.",
            min=0,
            max=10_000,
            rich_help_panel=BATCHES,
        ),
    ] = 0,
    log_texts: Annotated[
        bool, typer.Option("--log-texts", help="Write texts to the log too.")
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Log errors only, show no progress.")
    ] = False,
) -> None:
    """Serve taggers over HTTP: a page for people and a REST interface for programs.

    SIGHUP loads taggers that were saved anew; SIGTERM and Ctrl-C answer what was asked, then end.
    """
    from labelgrove.core.extras import need

    for module in ("fastapi", "uvicorn", "httptools", "prometheus_client"):
        need(module, "service", "labelgrove serve")
    from labelgrove import service
    from labelgrove.service.settings import (
        ANY_ORIGIN,
        LOOPBACK,
        hosts_of,
        is_loopback,
        languages_of,
        name_taggers,
        origins_of,
        own_names,
        read_examples,
        read_keys,
    )
    from labelgrove.tagger.feedback import feedback_file

    if feedback is not None and no_feedback:
        raise typer.BadParameter("--feedback and --no-feedback exclude each other")
    if review is not None and no_feedback:
        raise typer.BadParameter("--review writes feedback: leave out --no-feedback")
    if metrics_port and metrics_port == port:
        raise typer.BadParameter(f"--metrics-port {metrics_port} is --port too: choose another")
    taggers = name_taggers(folders)
    files: list[str | None] = []
    for name, folder in taggers:
        beside = feedback_file(folder)
        file = beside if feedback is None else feedback / f"{name}.feedback.jsonl"
        files.append(None if no_feedback else str(file.resolve()))
    near = is_loopback(host)
    settings = service.Settings(
        taggers=taggers,
        feedback=tuple(files),
        limits=service.Limits(
            body=round(max_body * MEGABYTE),
            bodies=round(max_bodies * MEGABYTE),
            texts=max_texts,
            length=max_length,
            seconds=timeout,
            waiting=max_waiting,
            rate=rate,
        ),
        keys=read_keys(api_keys) if api_keys else (),
        metrics_keys=read_keys(metrics_keys) if metrics_keys else (),
        metrics_port=metrics_port,
        origins=origins_of(allow_origin or ()),
        examples=read_examples(examples) if examples else (),
        review=str(review.resolve()) if review else "",
        languages=languages_of(taggers, language or ()),
        hosts=hosts_of(allow_host) if allow_host else (*LOOPBACK, host, *own_names(near)),
        addresses=not allow_host and not near,
        signed_by=str(require_signature.resolve()) if require_signature else None,
        threads=threads,
        workers=workers,
        batch=batch_size,
        wait=batch_wait / 1000,
        copies=str(copy_to.resolve()) if copy_to else "",
        loading=load_timeout,
        log="nothing" if quiet else "texts" if log_texts else "requests",
    )
    also = "" if no_feedback else " and give feedback"
    if not near and not settings.keys:
        print(
            f"anyone who reaches {host} may ask{also}: --api-keys FILE asks for a key",
            file=sys.stderr,
        )
    if ANY_ORIGIN in settings.origins and not settings.keys:
        print(
            "every web page that is open on a machine which reaches this service may "
            f"ask{also}: --api-keys FILE asks for a key",
            file=sys.stderr,
        )
    service.serve(
        settings,
        host=host,
        port=port,
        ready=lambda address: _tell(f"serving at {address}"),
        metrics_ready=lambda address: _tell(f"metrics at {address}"),
        progress=options.open_progress(quiet),
    )


def _tell(line: str) -> None:
    """Print a line; where it cannot be written, such as to a full disk, the service goes on."""
    try:
        print(line, flush=True)
    except OSError as error:
        warn(f"{line} (standard output: {error.strerror})")
