"""Settings as scikit-learn knows them, without importing it.

Importing scikit-learn would take half of a short command's time. Its ``clone``, pipelines and
searches ask an estimator for a few methods only; they are here.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Self, get_type_hints

from labelgrove.core.errors import InputError, UnknownNameError
from labelgrove.core.ranges import Range
from labelgrove.core.settings import Setting
from labelgrove.core.threads import workers


class Configured:
    """Something whose constructor arguments are its settings, stored as they are given.

    A class declares its settings in its body, and needs no constructor then. One that has a
    constructor of its own has that constructor's arguments as settings.

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

    _declared: ClassVar[Mapping[str, Setting]] = MappingProxyType({})

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        found: dict[str, Setting] = {}
        for base in reversed(cls.__mro__[1:]):
            found |= base.__dict__.get("_declared", {})
        hints = _hints(cls)
        for name, value in list(vars(cls).items()):
            if isinstance(value, Setting):
                own = Setting(**{**vars(value), "hint": hints.get(name, Any)})
                found[name] = own.over(found[name]) if name in found else own
            elif name in found:  # another default
                found[name] = Setting(value, hint=hints.get(name, Any)).over(found[name])
            else:
                continue
            setattr(cls, name, found[name].default)
        cls._declared = MappingProxyType(found)
        if cls.__init__ is Configured.__init__:
            kind = inspect.Parameter.KEYWORD_ONLY
            arguments = [inspect.Parameter(k, kind, default=s.default) for k, s in found.items()]
        else:
            _, *arguments = inspect.signature(cls.__init__).parameters.values()
        cls.__signature__ = inspect.Signature(arguments)  # type: ignore[attr-defined]

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
        hints, meanings = _constructor_hints(cls), _parameters(cls.__doc__ or "")
        found: dict[str, Setting] = {}
        for each in inspect.signature(cls).parameters.values():
            if each.kind is each.VAR_KEYWORD:
                found |= {k: s for k, s in cls._declared.items() if k not in found}
            else:
                own = Setting(each.default, meanings.get(each.name), hint=hints.get(each.name, Any))
                declared = cls._declared.get(each.name)
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
        for name, known in self.settings().items():
            value = getattr(self, name)
            if (words := known.problem(value)) is not None:
                raise InputError(f"{name} must be {words}, got {value!r}")
            if name == "seed" and not 0 <= value < 2**63:
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


def _hints(cls: type) -> dict[str, Any]:
    """Return the types of the settings that a class declares itself."""
    names = {name for name, value in vars(cls).items() if isinstance(value, Setting)}
    own = {k: v for k, v in cls.__dict__.get("__annotations__", {}).items() if k in names}
    return get_type_hints(type("Hints", (), {"__annotations__": own, "__module__": cls.__module__}))


def _constructor_hints(cls: type) -> dict[str, Any]:
    try:
        return get_type_hints(cls.__init__)
    except NameError:  # names that only a type checker sees
        return {}


def _fresh(value: Any) -> Any:
    if isinstance(value, Configured):
        return value.fresh()
    if isinstance(value, dict):
        return {key: _fresh(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_fresh(each) for each in value)
    return value
