"""What is searched: the ranges of a model's settings, and what is fixed beside them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from labelgrove.core.errors import InputError, UnknownNameError
from labelgrove.core.estimator import Classifier
from labelgrove.core.ranges import Choice, Range, Real, Whole, parse_range
from labelgrove.models import MODELS
from labelgrove.text import FEATURIZERS

Values = Mapping[str, Any]  # of searched settings, those of a view of the text as VIEW.KEY
Settings = tuple[dict[str, Any], dict[str, dict[str, Any]]]  # of the model, and of each view


@dataclass(frozen=True)
class Space:
    """Settings that are searched, and those that are fixed.

    Parameters
    ----------
    model
        Name of the model.
    ranges
        Where each setting is searched; those of a view of the text as ``text.KEY``.
    settings, features
        What is fixed, of the model and of its views.
    start
        What the searched settings are unless they are searched: the first trial.
    """

    model: str
    ranges: Mapping[str, Range]
    settings: Mapping[str, Any] = field(default_factory=dict)
    features: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    start: Values = field(default_factory=dict)

    @property
    def size(self) -> float:
        """How many different settings there are; infinite where numbers are not whole."""
        return math.prod(each.size for each in self.ranges.values())

    def chosen(self, values: Values) -> Settings:
        """Return the settings of the model and of its views that searched values make.

        A value of None, the default wherever it is allowed, is left out.
        """
        of_model = dict(self.settings)
        of_views = {view: dict(given) for view, given in self.features.items()}
        for key, value in values.items():
            own, name = _place(key, of_model, of_views)
            if value is not None:
                own[name] = value
        return of_model, {view: own for view, own in of_views.items() if own}

    def holds(self, values: Values) -> bool:
        """Tell whether all values are in their ranges; those of the first trial may not be."""
        return all(span.holds(values[key]) for key, span in self.ranges.items())

    def create(self, values: Values, *, seed: int, threads: int | None) -> Classifier:
        """Return an unfitted model with these values."""
        return MODELS.create(
            self.model, **{"seed": seed, "threads": threads, **self.chosen(values)[0]}
        )

    def same(self, values: Values) -> str:
        """Return what is equal for equal values."""
        return json.dumps({key: values[key] for key in self.ranges}, sort_keys=True)


def new_space(
    model: str,
    *,
    ranges: Mapping[str, Range | str] | None = None,
    settings: Mapping[str, Any] | None = None,
    features: Mapping[str, Mapping[str, Any]] | None = None,
) -> Space:
    """Return what is to be searched, checked.

    Parameters
    ----------
    model
        A model's name.
    ranges
        More ranges than those that the model declares, or others in their place, also as a text
        such as ``"5..50"``, ``"0.05..1:log"`` or ``"squared-hinge,logistic"``; a single value
        fixes a setting. Settings of a view of the text are ``text.KEY``.
    settings, features
        What is fixed. A setting that ``ranges`` names too is searched, from this value on.
    """
    of_model, of_views = dict(settings or {}), {v: dict(own) for v, own in (features or {}).items()}
    known = _known(model, of_model, of_views)
    usual = MODELS.create(model, **of_model).searchable()
    wanted: dict[str, Range] = {}
    for key, text in (ranges or {}).items():
        if key not in known:
            raise UnknownNameError(f"setting of {model!r} to search", key, known)
        fractional = isinstance(known[key], float) or isinstance(usual.get(key), Real)
        span = _as_range(key, text, fractional)
        own, name = _place(key, of_model, of_views)
        own.pop(name, None)
        if span.size == 1 and isinstance(span, Choice):
            own[name] = span.values[0]
        else:
            wanted[key] = span
    declared = MODELS.create(model, **of_model).searchable()
    wanted = {key: span for key, span in declared.items() if key not in of_model} | wanted
    if not wanted:
        raise InputError(
            f"there is nothing to search: {model} declares no ranges that are not fixed; choose "
            "another model (--model bonsai), or name a setting to search, such as --range "
            "KEY=LOW..HIGH"
        )
    space = Space(model, wanted, of_model, of_views, {key: known[key] for key in wanted})
    _check(space)
    return space


def _place(
    key: str, of_model: dict[str, Any], of_views: dict[str, dict[str, Any]]
) -> tuple[dict[str, Any], str]:
    """Return the settings to which a key belongs, and its name there."""
    view, dot, name = key.rpartition(".")
    return (of_views.setdefault(view, {}) if dot else of_model), name


def _as_range(key: str, value: Range | str, fractional: bool) -> Range:
    """Return a range that may be a text; of any numbers for a fractional setting."""
    try:
        span = parse_range(value) if isinstance(value, str) else value
    except InputError as error:
        raise InputError(f"range of {key}: {error}") from error
    if isinstance(span, Whole) and fractional:
        return Real(float(span.low), float(span.high), span.log)
    return span


def _known(
    model: str, settings: Mapping[str, Any], features: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """Return all settings that can be searched and what they are unless they are searched."""
    made = MODELS.create(model, **settings)
    known = {k: v for k, v in made.get_params(deep=False).items() if k not in ("seed", "threads")}
    views = made.views()
    for view in features:
        if view not in views:
            raise InputError(f"{model} has no view {view!r}; it has {', '.join(views)}")
    for view, spec in views.items():
        given = features.get(view, {})
        name = str(given.get("featurizer", spec.featurizer))
        own = {**FEATURIZERS.find(name).defaults(), "featurizer": name}
        if name == spec.featurizer:
            own |= spec.settings
        own.pop("threads", None)
        known |= {f"{view}.{key}": value for key, value in (own | dict(given)).items()}
    return known


def _check(space: Space) -> None:
    """Refuse a range whose ends the model or its view does not take."""
    views = MODELS.create(space.model, **space.settings).views()
    for key, span in space.ranges.items():
        for value in span.ends():
            if value is None and space.start[key] is not None:
                raise InputError(f"range of {key}: a recipe cannot hold null; leave it out")
            of_model, of_views = space.chosen({key: value})
            try:
                MODELS.create(space.model, **of_model)
                for view, own in of_views.items():
                    name = str(own.pop("featurizer", views[view].featurizer))
                    FEATURIZERS.create(name, **own)
            except InputError as error:
                raise InputError(f"range {span} of {key}: {error}") from error
