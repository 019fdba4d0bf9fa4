"""Who takes part: models with their settings."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from labelgrove.core.errors import InputError, UnknownNameError
from labelgrove.models import MODELS


@dataclass(frozen=True)
class Entrant:
    """A model with its settings, under the name that it has in the tables.

    Parameters
    ----------
    name
        What it is called.
    model
        The model's name.
    settings
        Of the model.
    features
        Settings of its views of the text, by view.
    """

    name: str
    model: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    features: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def folder(self) -> str:
        """A name for its folders, another for each entrant.

        Examples
        --------
        >>> Entrant("knn", "knn").folder
        'knn'
        """
        plain = re.sub(r"[^\w.-]+", "-", self.name)[:60].strip(".")
        if plain == self.name:
            return plain
        return f"{plain}-{blake2b(self.name.encode(), digest_size=4).hexdigest()}"

    def record(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {
            "name": self.name,
            "model": self.model,
            "settings": dict(self.settings),
            "features": {view: dict(own) for view, own in self.features.items()},
        }


def registered() -> list[Entrant]:
    """Return every registered model with its defaults, those of other packages included."""
    return [Entrant(name, name) for name in MODELS.names()]


def check_entrants(entrants: Sequence[Entrant]) -> None:
    """Refuse unknown models, unknown settings, and two entrants of one name."""
    if not entrants:
        raise InputError("there is no model to train: name some, or give 'all' or 'fast'")
    known = MODELS.names()
    for each in entrants:
        if each.model not in known:
            raise UnknownNameError("model", each.model, known)
        if each.settings:
            MODELS.create(each.model, **each.settings)
    times = Counter(each.name for each in entrants)
    if twice := [name for name, n in times.items() if n > 1]:
        raise InputError(f"{twice[0]!r} is named twice: give it once, or with other settings")
