"""A tagger's folder: labels, a folder a view, the model, and what calibration learned."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from labelgrove.core import checks, storage
from labelgrove.core.errors import InputError
from labelgrove.core.progress import Progress
from labelgrove.corpus import MatrixColumns
from labelgrove.corpus.remembered import check_reading
from labelgrove.evaluation import Calibration, HeldOutPlaces
from labelgrove.labels import LabelSpace
from labelgrove.models.relabelled import read_model
from labelgrove.tagger.card import card_text
from labelgrove.tagger.state import FittedState
from labelgrove.text import FEATURIZERS

THRESHOLDS = "thresholds"
READING = "reading"
TEXTS = "learned-texts"
COLUMNS = "columns"
HELD_OUT = "held-out"
ABOUT_SCORES, FACTS = "held_out", "facts"  # not in older folders
FEW = 5  # documents of a label that is called rare
STEMS = "snowball:"
PLACES = [field.name for field in fields(HeldOutPlaces)]


def save(
    folder: str | os.PathLike[str],
    learned: FittedState,
    settings: Mapping[str, Any],
    scores: Mapping[str, float],
    about_scores: Mapping[str, Any],
    *,
    overwrite: bool,
) -> None:
    """Write what was learned; settings, scores and what is known of these are for readers."""
    about = {
        "part": "tagger",
        "model": learned.model.name,
        "settings": learned.model.get_params(deep=False),
        "features": {
            view: {"name": part.name, "settings": part.get_params(deep=False)}
            for view, part in learned.featurizers.items()
        },
        "tagger": dict(settings),
        "labels": learned.labels.n_labels,
        "documents": learned.labels.n_documents,
        "thresholds": dict(learned.thresholds),
        "scores": dict(scores),
        ABOUT_SCORES: dict(about_scores),
        FACTS: _facts(learned),
        READING: dict(learned.reading),
    }
    with storage.writing(folder, about, overwrite=overwrite, card=card_text) as temporary:
        learned.labels.write(temporary / "labels")
        for view, part in learned.featurizers.items():
            part.write(temporary / "features" / view)
        learned.model.write(temporary / "model")
        storage.write_values(
            temporary / "calibration", {"x": learned.calibration.x, "y": learned.calibration.y}
        )
        if learned.by_label is not None:
            storage.write_values(temporary / THRESHOLDS, {"by_label": learned.by_label})
        if learned.text_hashes is not None:
            storage.write_values(temporary / TEXTS, {"hashes": learned.text_hashes})
        if (columns := learned.columns) is not None:
            values = {"names": list(columns.names), "dense": columns.dense}
            storage.write_values(temporary / COLUMNS, values)
        if learned.places is not None:
            storage.write_values(
                temporary / HELD_OUT,
                {name: getattr(learned.places, name) for name in PLACES},
            )


def load(
    folder: str | os.PathLike[str],
    *,
    verify: bool,
    progress: Progress | None,
    signed_by: str | os.PathLike[str] | None = None,
) -> tuple[FittedState, dict[str, Any], dict[str, float], dict[str, Any]]:
    """Return what `save` was given."""
    return storage.read_folder(folder, _read, verify=verify, progress=progress, signed_by=signed_by)


def read_reading(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """Return how the files were read that a saved tagger learned from, without loading it."""
    manifest = storage.read_manifest(folder, verify=False)
    with checks.reading(Path(folder)):
        return check_reading(manifest.get(READING, {}))


def _read(
    source: Path, manifest: Mapping[str, Any]
) -> tuple[FittedState, dict[str, Any], dict[str, float], dict[str, Any]]:
    if manifest.get("part") != "tagger":
        raise InputError(f"{source} holds a {manifest.get('part')!r}, not a tagger")
    with checks.reading(source):
        views = checks.file_names("features", manifest["features"])
        thresholds = dict(manifest["thresholds"])
        settings, scores = dict(manifest["tagger"]), dict(manifest["scores"])
        about_scores = dict(manifest.get(ABOUT_SCORES, {}))
        file = str(manifest.get(FACTS, {}).get("source", ""))
        reading = check_reading(manifest.get(READING, {}))  # not in older folders
    tuned = source / THRESHOLDS  # not where nothing was held out, nor in older folders
    texts = source / TEXTS  # nor is this in older folders
    learned = FittedState(
        labels=LabelSpace.read(source / "labels"),
        featurizers={view: FEATURIZERS.read(source / "features" / view) for view in views},
        model=read_model(source / "model"),
        calibration=_read_calibration(source / "calibration"),
        thresholds=thresholds,
        reading=reading,
        source=file,
        columns=_read_columns(source / COLUMNS),
        by_label=storage.read_values(tuned).get("by_label") if tuned.is_dir() else None,
        text_hashes=storage.read_values(texts).get("hashes") if texts.is_dir() else None,
        places=_read_places(source / HELD_OUT),
    )
    with checks.reading(source):
        learned.check()
    return learned, settings, scores, about_scores


def _facts(learned: FittedState) -> dict[str, Any]:
    """Return what a card tells besides: of the data, and of what becomes of texts."""
    used = (getattr(part, "analyzer", "") for part in learned.featurizers.values())
    codes = (name.removeprefix(STEMS) for name in used if str(name).startswith(STEMS))
    return {
        "source": learned.source,
        "languages": sorted({code for code in codes if len(code) == 2}),
        "rare_labels": int((learned.labels.counts < FEW).sum()),
        "sends_texts": bool(learned.model.sends_to()),
    }


def _read_columns(folder: Path) -> MatrixColumns | None:
    if not folder.is_dir():  # it learned from lists of labels, or the folder is older
        return None
    values = storage.read_values(folder)
    with checks.reading(folder):
        names = checks.texts("names", values["names"])
        if len(set(names)) < len(names):
            raise ValueError("two columns of the same label")
        return MatrixColumns(tuple(names), bool(values["dense"]))


def _read_places(folder: Path) -> HeldOutPlaces | None:
    if not folder.is_dir():  # nothing was held out, or the folder is older
        return None
    values = storage.read_values(folder)
    with checks.reading(folder):
        return HeldOutPlaces(**{name: values[name] for name in PLACES})


def _read_calibration(folder: Path) -> Calibration:
    values = storage.read_values(folder)
    with checks.reading(folder):
        knots = (checks.array(name, values[name], np.float64, (None,)) for name in ("x", "y"))
        return Calibration(*knots)
