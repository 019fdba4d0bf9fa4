"""``labelgrove export``: a tagger's network for programs that have no labelgrove."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from labelgrove.cli import json_file, options
from labelgrove.cli.terminal import show


@options.reads_documents
def export(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A saved tagger.")],
    onnx: Annotated[
        Path, typer.Option("--onnx", metavar="OUT", help="Folder for the network as ONNX.")
    ],
    check: Annotated[
        int,
        typer.Option(help="Texts that the exported network must rank as the tagger does.", min=1),
    ] = 32,
    texts: Annotated[
        Path | None,
        typer.Option(help="Documents to check with; by default texts of random tokens."),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace what was exported there before.")
    ] = False,
    json_to: json_file.Option = None,
    threads: options.Threads = None,
    require_signature: options.RequireSignature = None,
    quiet: options.Quiet = False,
    *,
    reading: options.ReadingOptions,
) -> None:
    """Export a network as ONNX, with tokenizer, labels and a program that tags with them.

    Networks that judge all labels in one pass can be exported, such as xml-cnn and transformer.
    The folder is written only if onnxruntime ranks with it as the tagger does.
    """
    from labelgrove.tagger import Tagger
    from labelgrove.tagger.exporting.export import check_target

    json_file.check(json_to)
    check_target(onnx, overwrite=overwrite)
    progress = options.open_progress(quiet)
    tagger = Tagger.load(folder, progress=progress, require_signature=require_signature)
    tagger.set_threads(threads)
    documents = None
    if texts is not None:
        remembered = tagger.learned_.reading
        documents = reading.open(texts, remembered=remembered, progress=progress, labelled=False)
    done = tagger.export_onnx(
        onnx, texts=documents, check=check, overwrite=overwrite, progress=progress
    )
    options.say_skipped(documents)
    json_file.write(json_to, {"folder": str(onnx), "check": done._asdict()})
    if not json_file.alone(json_to):
        show(done.told())
        show(f"exported to {onnx}")
