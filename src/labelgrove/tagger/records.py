"""Results as plain values, for JSON: what a training and a scoring came to."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from labelgrove._version import __version__
from labelgrove.core import storage
from labelgrove.tagger.scoring import Scores
from labelgrove.tagger.tagger import Tagger

Place = str | os.PathLike[str]


def evaluation_record(
    tagger: Tagger,
    scores: Scores,
    *,
    folder: Place,
    test: Place,
    threshold: float | str,
    hierarchy: str | None = None,
) -> dict[str, Any]:
    """Return the record of a scoring, as ``labelgrove evaluate --json`` writes it.

    Parameters
    ----------
    tagger
        What was scored.
    scores
        What its `evaluate` returned.
    folder
        Where it is saved.
    test
        What it was scored on.
    threshold, hierarchy
        As they were asked for.
    """
    least = tagger.decision(threshold).threshold
    return {
        **_about(tagger, folder),
        "test": str(test),
        "documents": scores.documents,
        "scores": dict(scores),
        "notes": list(scores.notes),
        "learned_texts": _learned_texts(scores),
        "seconds": round(scores.seconds, 3),
        "threshold": {
            "choice": threshold,
            "value": None if isinstance(least, np.ndarray) else least,
        },
        "hierarchy": hierarchy,
        "by_threshold": [each._asdict() for each in scores.by_threshold],
    }


def training_record(tagger: Tagger, folder: Place, seconds: float | None = None) -> dict[str, Any]:
    """Return the record of a tagger that was made and saved.

    Parameters
    ----------
    tagger
        The tagger; ``held_out`` has its scores on held-out documents, if there were any.
    folder
        Where it is saved.
    seconds
        What it took, if that is known.
    """
    learned = tagger.learned_
    record: dict[str, Any] = {
        **_about(tagger, folder),
        "folder": str(folder),
        "documents": learned.labels.n_documents,
        "held_out": {"scores": dict(tagger.scores_)} if tagger.scores_ else None,
        "thresholds": _thresholds(learned.thresholds, learned.n_own_thresholds)
        if learned.tuned
        else None,
    }
    if tagger.scores_ and learned.held_out is not None:
        record["held_out"]["documents"] = len(learned.held_out[0])
    return record if seconds is None else record | {"seconds": round(seconds, 3)}


def _about(tagger: Tagger, folder: Place) -> dict[str, Any]:
    return {
        "labelgrove": __version__,
        "tagger": Path(folder).resolve().name,
        "model": tagger.model_.name,
        "labels": tagger.labels_.n_labels,
        "size": storage.size(folder),
    }


def _learned_texts(scores: Scores) -> dict[str, Any] | None:
    """Return how many test documents were learned from, and the scores without them."""
    if scores.learned_texts is None:
        return None
    others = scores.without_learned_texts
    return {
        "documents": scores.learned_texts,
        "scores_without": None if others is None else dict(others),
    }


def _thresholds(thresholds: Mapping[str, float], own: int) -> dict[str, Any]:
    return {**thresholds, "labels_with_their_own": own}
