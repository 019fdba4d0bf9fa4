"""``labelgrove sign``: prove who made a tagger."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from labelgrove.cli.terminal import show


def sign(
    folder: Annotated[
        Path | None, typer.Argument(metavar="DIR", help="A saved tagger.", show_default=False)
    ] = None,
    key: Annotated[
        Path | None, typer.Option(help="File of your private key (Ed25519, PEM).")
    ] = None,
    new_key: Annotated[
        Path | None,
        typer.Option(
            help="Make a pair of keys: this file, to keep secret, and FILE.pub, to share."
        ),
    ] = None,
) -> None:
    """Sign a tagger, so that others can check who made it and that nobody altered it.

    They check it with --require-signature FILE.pub, which every command takes that loads a tagger.
    """
    from labelgrove.core import signing

    if (folder is None) != (key is None) or (folder is None and new_key is None):
        raise typer.BadParameter("give a tagger and --key, or --new-key to make a pair of keys")
    if new_key is not None:
        public = signing.new_keys(new_key)
        show(f"keep {new_key} secret; give {public} to those who load your taggers")
    if folder is not None and key is not None:
        show(f"signed: {signing.sign(folder, key)}")
