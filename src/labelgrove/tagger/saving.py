"""A tagger's folder: labels, a folder a view, the model, and what calibration learned."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from labelgrove.core import storage
from labelgrove.core.errors import InputError
from labelgrove.core.progress import Progress
from labelgrove.evaluation import Calibration
from labelgrove.labels import LabelSpace
from labelgrove.models import MODELS
from labelgrove.tagger.state import FittedState
from labelgrove.text import FEATURIZERS

THRESHOLDS = "thresholds"


def save(
    folder: str | os.PathLike[str],
    learned: FittedState,
    settings: Mapping[str, Any],
    scores: Mapping[str, float],
    *,
    overwrite: bool,
) -> None:
    """Write what was learned; ``settings`` and ``scores`` go to the manifest, for readers."""
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
    }
    with storage.writing(folder, about, overwrite=overwrite) as temporary:
        learned.labels.write(temporary / "labels")
        for view, part in learned.featurizers.items():
            part.write(temporary / "features" / view)
        learned.model.write(temporary / "model")
        storage.write_values(
            temporary / "calibration", {"x": learned.calibration.x, "y": learned.calibration.y}
        )
        if learned.by_label is not None:
            storage.write_values(temporary / THRESHOLDS, {"by_label": learned.by_label})


def load(
    folder: str | os.PathLike[str],
    *,
    verify: bool,
    progress: Progress | None,
    signed_by: str | os.PathLike[str] | None = None,
) -> tuple[FittedState, dict[str, Any], dict[str, float]]:
    """Return what `save` was given."""
    manifest = storage.read_manifest(folder, verify=verify, progress=progress, signed_by=signed_by)
    if manifest.get("part") != "tagger":
        raise InputError(f"{folder} holds a {manifest.get('part')!r}, not a tagger")
    source = Path(folder)
    tuned = source / THRESHOLDS  # not where nothing was held out, nor in older folders
    learned = FittedState(
        labels=LabelSpace.read(source / "labels"),
        featurizers={
            view: FEATURIZERS.read(source / "features" / view) for view in manifest["features"]
        },
        model=MODELS.read(source / "model"),
        calibration=Calibration(**storage.read_values(source / "calibration")),
        thresholds=manifest["thresholds"],
        by_label=storage.read_values(tuned)["by_label"] if tuned.is_dir() else None,
    )
    return learned, manifest["tagger"], manifest["scores"]
