"""``labelgrove push`` and ``labelgrove pull``: taggers on the Hugging Face hub."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from labelgrove.cli import options
from labelgrove.cli.terminal import show

Repository = Annotated[
    str, typer.Argument(metavar="OWNER/NAME", help="A repository of the Hugging Face hub.")
]


def push(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A saved tagger.")],
    repository: Repository,
    private: Annotated[
        bool, typer.Option("--private", help="Make the repository private; it is public otherwise.")
    ] = False,
    revision: Annotated[
        str | None,
        typer.Option("--revision", "--branch", help="Push to this branch.", show_default="main"),
    ] = None,
    message: Annotated[str | None, typer.Option(help="Message of the commit.")] = None,
    license: Annotated[  # noqa: A002
        str | None,
        typer.Option(help="Licence of the tagger, for its card: apache-2.0, cc-by-4.0, other, ..."),
    ] = None,
    language: Annotated[
        list[str] | None,
        typer.Option(help="Language of its texts, for its card, such as de; may be repeated."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be uploaded, and upload nothing.")
    ] = False,
) -> None:
    """Upload a tagger to the Hugging Face hub (extra: hub).

    The token is that of 'hf auth login' or of HF_TOKEN.
    """
    from labelgrove.tagger.hub import PushOptions
    from labelgrove.tagger.hub import push as upload

    wanted = PushOptions(
        repository=repository,
        private=private,
        revision=revision,
        message=message,
        license=license,
        languages=language or (),
        dry_run=dry_run,
    )
    address = upload(folder, wanted, options.open_progress(quiet=False))
    show(f"pushed: {address}" if address else "nothing was uploaded")


def pull(
    repository: Repository,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder for the tagger; by default the name of the repository, here.",
            show_default=False,
        ),
    ] = None,
    revision: Annotated[
        str | None,
        typer.Option(help="A branch, a tag or a commit.", show_default="main"),
    ] = None,
    overwrite: options.Overwrite = False,
    require_signature: options.RequireSignature = None,
    quiet: options.Quiet = False,
) -> None:
    """Download a tagger from the Hugging Face hub (extra: hub), and check it.

    What is in the hub's cache is not downloaded again.
    """
    from labelgrove.tagger.hub import pull as download
    from labelgrove.tagger.hub.connection import check_repository

    folder = out or Path(check_repository(repository).partition("/")[2])
    commit = download(
        repository,
        folder,
        revision=revision,
        overwrite=overwrite,
        signed_by=require_signature,
        progress=options.open_progress(quiet),
    )
    show(f"pulled {repository} at commit {commit} to {folder}")
