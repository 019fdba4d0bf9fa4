"""The table of models, strings only: listing them imports none."""

from __future__ import annotations

from typing import Any

from labelgrove.core.estimator import Classifier
from labelgrove.core.registry import Entry, Registry

MODELS: Registry[Classifier] = Registry(
    "model",
    {
        "most-frequent": Entry(
            "labelgrove.models.most_frequent:MostFrequent",
            "the same labels for every text, by frequency: what a real model must beat",
        ),
    },
    group="labelgrove.models",
)


def create(name: str, **settings: Any) -> Classifier:
    """Return a new model of that name; see ``labelgrove models`` for the names."""
    return MODELS.create(name, **settings)


def names() -> list[str]:
    """Return the names of all models, those of other installed packages included."""
    return MODELS.names()
