"""Settings as scikit-learn knows them, without importing it.

Importing scikit-learn would take half of a short command's time. Its ``clone``, pipelines and
searches ask an estimator for a few methods only; they are here.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, ClassVar, Self, get_type_hints

from labelgrove.core.docstrings import parameters, with_parameters
from labelgrove.core.errors import InputError, UnknownNameError
from labelgrove.core.ranges import Range
from labelgrove.core.settings import COMMON, Setting

SHOWN = 80  # characters of a wrong value that fit into a message


class Configured:
    """Something whose constructor arguments are its settings, stored as they are given.

    A class declares its settings in its body, and needs no constructor then; its docstring gets a
    section about them. A class with a constructor of its own has that constructor's arguments as
    settings.

    Examples
    --------
    >>> from labelgrove.core.settings import setting
    >>> class Beam(Configured):
    ...     width: int = setting(10, "Nodes that are kept.", least=1)
    >>> Beam(width=3).get_params()
    {'width': 3}
    >>> Beam().set_params(width=0).check_settings()
    Traceback (most recent call last):
    labelgrove.core.errors.InputError: width must be a whole number from 1, got 0
    """

    _declared: ClassVar[Mapping[str, Setting]] = MappingProxyType({})  # all, inherited ones too
    _in_body: ClassVar[Mapping[str, Setting]] = MappingProxyType({})  # what this class says itself

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        inherited = {name for base in cls.__mro__[1:] for name in vars(base).get("_in_body", ())}
        own: dict[str, Setting] = {}
        for name, value in list(vars(cls).items()):
            if isinstance(value, Setting):
                own[name] = replace(value, hint=_hint(cls, name))
                setattr(cls, name, value.default)
            elif name in inherited:  # another default
                own[name] = Setting(value)
        cls._in_body = MappingProxyType(own)
        cls._declared = MappingProxyType(_collected(cls))
        cls.__signature__ = None  # type: ignore[attr-defined]  # not that of the base class
        if cls.__init__ is Configured.__init__:
            kind = inspect.Parameter.KEYWORD_ONLY
            cls.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
                [inspect.Parameter(k, kind, default=s.default) for k, s in cls._declared.items()]
            )
            if (text := vars(cls).get("__doc__")) is not None:
                cls.__doc__ = with_parameters(text, cls._declared)

    def __init__(self, **settings: Any) -> None:
        for name, known in self._declared.items():
            setattr(self, name, settings.pop(name, known.default))
        if settings:
            raise TypeError(f"{type(self).__name__} has no setting {next(iter(settings))!r}")

    @classmethod
    def settings(cls) -> dict[str, Setting]:
        """Return all settings by name: those declared, or the constructor's arguments."""
        if cls.__init__ is Configured.__init__:
            return dict(cls._declared)
        hints, meanings = _constructor_hints(cls), parameters(cls.__doc__ or "")
        found: dict[str, Setting] = {}
        for each in inspect.signature(cls).parameters.values():
            if each.kind is each.VAR_KEYWORD:
                found |= {k: s for k, s in cls._declared.items() if k not in found}
            else:
                own = Setting(each.default, meanings.get(each.name), hint=hints.get(each.name, Any))
                declared = cls._declared.get(each.name, COMMON.get(each.name))
                found[each.name] = own if declared is None else own.over(declared)
        return found

    @classmethod
    def defaults(cls) -> dict[str, Any]:
        """Return the settings and what they are unless they are given."""
        return {name: each.default for name, each in cls.settings().items()}

    @classmethod
    def setting_names(cls) -> list[str]:
        """Return the names of the settings."""
        return list(cls.settings())

    @classmethod
    def meanings(cls) -> dict[str, str]:
        """Return what each setting means; empty where nothing says so."""
        return {name: each.help or "" for name, each in cls.settings().items()}

    @classmethod
    def ranges(cls) -> dict[str, Range]:
        """Return which settings are worth searching, and where; `labelgrove tune` looks there.

        The defaults lie in these ranges.
        """
        return {name: each.search for name, each in cls.settings().items() if each.search}

    def searchable(self) -> dict[str, Range]:
        """Return those `ranges` that have a use with the settings of this object."""
        return type(self).ranges()

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
        """Refuse values of a wrong type or out of bounds.

        A subclass that also refuses combinations does so here: a user is told before long work
        begins.
        """
        self.check_values()

    def check_values(self) -> None:
        """Refuse values of a wrong type or out of bounds, whatever goes together."""
        for name, known in self.settings().items():
            value = getattr(self, name)
            if (words := known.problem(value)) is not None:
                raise InputError(f"{name} must be {words}, got {_cut(repr(value))}")

    def fresh(self) -> Self:
        """Return a new object with the same settings that has learned nothing."""
        return type(self)(**{name: _fresh(value) for name, value in self._own().items()})

    def _own(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.setting_names()}

    def __repr__(self) -> str:
        known = self.settings()
        changed = {k: v for k, v in self._own().items() if not known[k].is_default(v)}
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in changed.items())})"

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that this is neither its classifier nor its regressor."""
        from sklearn.utils import Tags, TargetTags

        return Tags(estimator_type=None, target_tags=TargetTags(required=True))


def _collected(cls: type[Configured]) -> dict[str, Setting]:
    """Return the settings of a class: its own first, then those of its bases, nearest first."""
    found: dict[str, Setting] = {}
    for base in reversed(cls.__mro__):
        declared = vars(base).get("_in_body", {})
        known = {k: s.over(found[k]) if k in found else s for k, s in declared.items()}
        new = {k: s for k, s in known.items() if k not in found}
        found = {**new, **found, **known}
    return found


def _hint(cls: type, name: str) -> Any:
    """Return the type of a setting that a class declares."""
    own = {k: v for k, v in inspect.get_annotations(cls).items() if k == name}
    alone = type("Alone", (), {"__annotations__": own, "__module__": cls.__module__})
    try:
        return get_type_hints(alone).get(name, Any)
    except NameError:  # a name that only a type checker sees
        return Any


def _constructor_hints(cls: type) -> dict[str, Any]:
    try:
        return get_type_hints(cls.__init__)  # type: ignore[misc]
    except NameError:  # names that only a type checker sees
        return {}


def _cut(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


def _fresh(value: Any) -> Any:
    if isinstance(value, Configured):
        return value.fresh()
    if isinstance(value, dict):
        return {key: _fresh(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_fresh(each) for each in value)
    return value
