"""Settings as scikit-learn knows them, without importing it.

Importing scikit-learn would take half of a short command's time. Its ``clone``, pipelines and
searches ask an estimator for a few methods only; they are here.
"""

from __future__ import annotations

import inspect
import re
from dataclasses import fields
from importlib import import_module
from types import NoneType, UnionType
from typing import Any, ClassVar, Literal, Self, Union, get_args, get_origin, get_type_hints

import numpy as np

from labelgrove.core.errors import InputError, UnknownNameError
from labelgrove.core.threads import workers

ELSEWHERE = re.compile(r"as for `([\w.]+)\.(\w+)`")  # a docstring that points to another class


class Configured:
    """Something whose constructor arguments are its settings, stored as they are given.

    Examples
    --------
    >>> class Beam(Configured):
    ...     def __init__(self, width=10):
    ...         self.width = width
    >>> Beam(3).get_params()
    {'width': 3}
    >>> Beam().set_params(width=5)
    Beam(width=5)
    """

    shared: ClassVar[type | None] = None

    @classmethod
    def defaults(cls) -> dict[str, Any]:
        """Return the settings and what they are unless they are given.

        These are the constructor's arguments and, if it passes on others (``**``), the fields of
        the dataclass ``shared``.
        """
        parameters = inspect.signature(cls).parameters.values()
        own = {each.name: each.default for each in parameters if each.kind is not each.VAR_KEYWORD}
        if cls.shared is None:
            return own
        return own | {each.name: each.default for each in fields(cls.shared)}

    @classmethod
    def setting_names(cls) -> list[str]:
        """Return the names of the settings."""
        return list(cls.defaults())

    @classmethod
    def meanings(cls) -> dict[str, str]:
        """Return what each setting means, as docstrings say; empty where they do not.

        Where one says "as for" another class, that class is asked.

        Examples
        --------
        >>> class Beam(Configured):
        ...     '''Search.
        ...
        ...     Parameters
        ...     ----------
        ...     width
        ...         Nodes that are
        ...         kept.
        ...     '''
        ...     def __init__(self, width=10):
        ...         self.width = width
        >>> Beam.meanings()
        {'width': 'Nodes that are kept.'}
        """
        told: dict[str, str] = {}
        for each in (*reversed((cls.shared or object).__mro__), *reversed(cls.__mro__)):
            told |= _parameters(each.__dict__.get("__doc__") or "")
        return {name: _followed(name, told.get(name, "")) for name in cls.setting_names()}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the settings; with ``deep`` also those of nested parts, as ``part__setting``."""
        found = self._own()
        if deep:
            for name, value in list(found.items()):
                if isinstance(value, Configured):
                    nested = value.get_params().items()
                    found.update({f"{name}__{inner}": each for inner, each in nested})
        return found

    def set_params(self, **params: Any) -> Self:
        """Change settings, also of nested parts as ``part__setting``."""
        known = self.get_params(deep=True)
        nested: dict[str, dict[str, Any]] = {}
        for key, value in params.items():
            name, inner, rest = key.partition("__")
            if key not in known:
                raise UnknownNameError(f"setting of {type(self).__name__}", key, known)
            if inner:
                nested.setdefault(name, {})[rest] = value
            else:
                setattr(self, name, value)
        for name, values in nested.items():
            getattr(self, name).set_params(**values)
        return self

    def check_settings(self) -> None:
        """Refuse settings whose values do not fit the types of the constructor's arguments.

        A subclass that also refuses values out of range does so here: whoever builds it is told
        before long work begins.
        """
        try:
            hints = get_type_hints(type(self).__init__)
            if self.shared is not None:
                hints |= get_type_hints(self.shared)
        except NameError:  # names that only a type checker sees
            hints = {}
        for name, value in self._own().items():
            if name in hints and not _fits(value, hints[name]):
                raise InputError(
                    f"{name} of {type(self).__name__} must be {_described(hints[name])}, "
                    f"got {value!r}"
                )
            if name == "seed" and not (_fits(value, int) and 0 <= value < 2**63):
                raise InputError(f"seed must be a whole number from 0 to 2^63 - 1, got {value!r}")
            if name == "threads":
                workers(value)

    def fresh(self) -> Self:
        """Return a new object with the same settings that has learned nothing."""
        return type(self)(**{name: _fresh(value) for name, value in self._own().items()})

    def _own(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.setting_names()}

    def __repr__(self) -> str:
        defaults = self.defaults()
        changed = {
            name: value
            for name, value in self._own().items()
            if value is not defaults[name] and value != defaults[name]
        }
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in changed.items())})"

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that this is neither its classifier nor its regressor."""
        from sklearn.utils import Tags, TargetTags

        return Tags(estimator_type=None, target_tags=TargetTags(required=True))


def _parameters(docstring: str) -> dict[str, str]:
    """Return the text of each parameter of a docstring in numpy's style."""
    lines = inspect.cleandoc(docstring).splitlines()
    found: dict[str, list[str]] = {}
    names: list[str] = []
    inside = False
    for number, line in enumerate(lines):
        if lines[number + 1 : number + 2] == ["-" * len(line)] and line:  # a heading
            inside = line == "Parameters"
        elif inside and line and not line.startswith((" ", "-")):
            names = line.replace("*", "").split(", ")
            found |= {name: [] for name in names}
        elif inside and line.startswith(" "):
            for name in names:
                found[name].append(line.strip())
    return {name: " ".join(text).replace("``", "") for name, text in found.items()}


def _followed(name: str, meaning: str) -> str:
    """Return what a setting means, where need be by the class that a docstring points to."""
    found = ELSEWHERE.search(meaning)
    if found is None:
        return meaning
    other: type[Configured] = getattr(import_module(found[1]), found[2])
    return other.meanings().get(name, meaning)


def _fresh(value: Any) -> Any:
    if isinstance(value, Configured):
        return value.fresh()
    if isinstance(value, dict):
        return {key: _fresh(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_fresh(each) for each in value)
    return value


def _fits(value: Any, hint: Any) -> bool:
    """Tell whether a value is of a type; types other than the simple ones fit always."""
    if get_origin(hint) in (Union, UnionType):
        return any(_fits(value, each) for each in get_args(hint))
    if get_origin(hint) is Literal:
        return value in get_args(hint)
    if hint in (int, float):
        kinds: Any = (int, np.integer) if hint is int else (int, float, np.integer, np.floating)
        return isinstance(value, kinds) and not isinstance(value, bool)
    if hint in (bool, str, NoneType):
        return isinstance(value, (hint, np.bool_) if hint is bool else hint)
    return True


def _described(hint: Any) -> str:
    """Return a type in a user's words."""
    words = {int: "a whole number", float: "a number", bool: "true or false", str: "a word"}
    if get_origin(hint) in (Union, UnionType):
        return " or ".join(_described(each) for each in get_args(hint))
    if get_origin(hint) is Literal:
        return " or ".join(repr(each) for each in get_args(hint))
    return words.get(hint, "None" if hint is NoneType else str(hint))
