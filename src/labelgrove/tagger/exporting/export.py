"""A tagger's network as a folder: ONNX, tokenizer, labels, a program that tags with them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any

from labelgrove._version import __version__
from labelgrove.core import storage
from labelgrove.core.errors import InputError
from labelgrove.core.extras import need
from labelgrove.core.manifest import MANIFEST, parse_manifest
from labelgrove.core.progress import Progress
from labelgrove.core.types import NetworkFile
from labelgrove.tagger.exporting.check import ExportCheck, check_export, made_texts
from labelgrove.tagger.exporting.readme import readme
from labelgrove.tagger.state import FittedState
from labelgrove.text.tokenizer_files import tokenizer_json

EXTRA, PURPOSE = "onnx", "exporting a network"
FORM = 1  # of export.json
KIND = "onnx-export"  # what the manifest calls such a folder
PROGRAM = Path(__file__).with_name("tagging.py")
EXPORTABLE = (
    "xml-cnn, kim-cnn, xml-rnn, attentionxml without a tree, lsan, leam, cornet, ml-reasoner, "
    "transformer, aplc-xlnet, and lightxml and lightattention with few labels"
)


def export_onnx(
    learned: FittedState,
    folder: str | os.PathLike[str],
    *,
    texts: Iterable[str] | None,
    check: int,
    overwrite: bool,
    progress: Progress,
) -> ExportCheck:
    """Write a tagger's network to a folder that other programs can use, once it is checked.

    Parameters
    ----------
    learned
        The tagger.
    folder
        The folder to write.
    texts
        Texts to check with; None for made ones.
    check
        How many texts to check with.
    overwrite
        Replace what was exported there before.
    progress
        Where it is shown what is done.
    """
    check_exports(learned)
    if isinstance(check, bool) or not isinstance(check, int) or check < 1:
        raise InputError(f"the number of texts to check with must be from 1, got {check!r}")
    given = None if texts is None else list(islice(texts, check))
    if given is not None and not given:
        raise InputError("there are no texts to check the exported network with")
    check_target(folder, overwrite=overwrite)
    with storage.writing(folder, _about(learned), overwrite=overwrite) as temporary:
        progress.say("exporting the network")
        tokenizer = tokenizer_json(_featurizer(learned))
        (temporary / "tokenizer.json").write_text(tokenizer, encoding="utf-8")
        made = learned.model.write_onnx(
            temporary / "network.onnx", learned.calibration.x, learned.calibration.y
        )
        _write_json(temporary / "labels.json", _labels(learned))
        about = _description(learned, made)
        _write_json(temporary / "export.json", about)
        (temporary / PROGRAM.name).write_bytes(PROGRAM.read_bytes())
        done = _checked(learned, temporary, given, check, progress)
        _write_json(temporary / "export.json", {**about, "check": done._asdict()})
        large = any(temporary.glob("*.data"))
        (temporary / "README.md").write_text(readme(about, done, large), encoding="utf-8")
    return done


def check_target(folder: str | os.PathLike[str], *, overwrite: bool) -> None:
    """Raise an error for a folder that cannot be written, or that holds something else."""
    if overwrite and (Path(folder) / MANIFEST).is_file():
        _forget_compiled(Path(folder))
        part = parse_manifest(Path(folder)).get("part")
        if part != KIND:
            raise InputError(
                f"{folder} holds a {part} and no export, so it is not replaced; choose another "
                "folder"
            )
    storage.check_free(folder, overwrite=overwrite)


def _forget_compiled(folder: Path) -> None:
    """Remove what Python wrote beside the program of an export when it was imported."""
    compiled = folder / "__pycache__"
    for file in compiled.glob(f"{PROGRAM.stem}.*.pyc"):
        file.unlink()
    if compiled.is_dir() and not any(compiled.iterdir()):
        compiled.rmdir()


def check_exports(learned: FittedState) -> None:
    """Raise an error for a tagger that cannot be exported, and for missing libraries."""
    model = learned.model
    if why := model.why_no_onnx():
        raise InputError(
            f"this {model.name} cannot be exported: {why}. What can be exported are networks that "
            f"judge all labels in one pass: {EXPORTABLE}, each without a first stage"
        )
    tokenizer_json(_featurizer(learned))
    for library in ("onnx", "onnxscript", "onnxruntime", "tokenizers"):
        need(library, EXTRA, PURPOSE)


def _featurizer(learned: FittedState) -> Any:
    (featurizer,) = learned.featurizers.values()  # a network of all labels reads one view
    return featurizer


def _checked(
    learned: FittedState,
    folder: Path,
    given: list[str] | None,
    check: int,
    progress: Progress,
) -> ExportCheck:
    from labelgrove.tagger.exporting.tagging import ExportedTagger

    progress.say("checking it with onnxruntime")
    exported = ExportedTagger(folder)
    reads = exported.about["reads"]
    tokens = min(reads["tokens"], reads["window"] * reads["windows"])
    texts = made_texts(exported.tokenizer, tokens, check) if given is None else given
    return check_export(learned, exported, texts)


# --- what is told of it -------------------------------------------------------------------------


def _about(learned: FittedState) -> dict[str, Any]:
    return {"part": KIND, "model": learned.model.name}


def _labels(learned: FittedState) -> list[dict[str, Any]]:
    """Return the labels in the order of the outputs, with thresholds of their own."""
    labels, by_label = learned.labels, learned.by_label
    found: list[dict[str, Any]] = [
        {"label": labels.ids[i], "name": labels.names[i]} for i in range(labels.n_labels)
    ]
    if by_label is not None:
        for own, threshold in zip(found, by_label.tolist(), strict=True):
            own["threshold"] = threshold
    return found


def _description(learned: FittedState, made: NetworkFile) -> dict[str, Any]:
    featurizer = _featurizer(learned)
    tokens, lengths = made.inputs
    scores, probabilities = made.outputs
    n_labels = learned.labels.n_labels
    return {
        "format": FORM,
        "labelgrove": __version__,
        "model": learned.model.name,
        "opset": made.opset,
        "inputs": {
            tokens: {"type": "int64", "shape": ["batch", "tokens"]},
            lengths: {"type": "int64", "shape": ["batch"]},
        },
        "outputs": {
            scores: {"type": "float32", "shape": ["batch", n_labels]},
            probabilities: {"type": "float32", "shape": ["batch", n_labels]},
        },
        "reads": {
            "kind": featurizer.name,
            "tokens": featurizer.length,
            "window": made.window,
            "windows": made.windows,
            "pad": made.pad,
        },
        "labels": n_labels,
        "thresholds": _thresholds(learned),
        "calibration": {
            "part_of_the_network": True,
            "x": learned.calibration.x.tolist(),
            "y": learned.calibration.y.tolist(),
        },
    }


def _thresholds(learned: FittedState) -> dict[str, Any]:
    return {
        "auto": learned.thresholds["micro"],
        "macro": learned.thresholds["macro"],
        "tuned": learned.tuned,
    }


def _write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")
