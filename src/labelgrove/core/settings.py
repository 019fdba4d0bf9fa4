"""A setting, declared once in the class that has it: default, meaning, bounds, range to search.

::

    class Search(Configured):
        beam: int = setting(10, "Nodes kept per level.", least=1, search=Whole(5, 30, log=True))

The annotation is the type; `Literal` lists the choices. `labelgrove.core.configured` collects the
settings of a class and checks values by them; ``labelgrove models NAME``, ``labelgrove tune`` and
the documentation read them from there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from types import NoneType, UnionType
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin

import numpy as np

from labelgrove.core.ranges import Range

WORDS = {int: "a whole number", float: "a number", bool: "true or false", str: "a word"}


class Rule(NamedTuple):
    """A condition that bounds cannot express.

    Parameters
    ----------
    holds
        Tells whether a value of the right type is allowed.
    words
        The same for a user, such as ``"a power of two, such as 8"``.
    """

    holds: Callable[[Any], bool]
    words: str


@dataclass(frozen=True)
class Setting:
    """What is known about one setting; see `setting`."""

    default: Any
    help: str | None = None
    least: float | None = None
    most: float | None = None
    above: float | None = None
    below: float | None = None
    rule: Rule | None = None
    search: Range | None = None
    only: tuple[str, ...] | None = None
    hint: Any = Any

    def over(self, inherited: Setting) -> Setting:
        """Return this setting with what it leaves open taken from an inherited one."""
        given = {
            each.name: getattr(self, each.name)
            for each in fields(self)
            if getattr(self, each.name) not in (None, Any)
        }
        return replace(inherited, **{**given, "default": self.default})

    def problem(self, value: Any) -> str | None:
        """Return what a value must be instead, or None if it is allowed."""
        if not _fits(value, self.hint):
            return self.words
        if value is None or isinstance(value, str):
            outside = False
        elif isinstance(value, int | float | np.number) and not isinstance(value, bool):
            outside = not self._inside(float(value))
        else:
            outside = False
        if outside or (self.rule is not None and value is not None and not self.rule.holds(value)):
            return self.words
        return None

    def _inside(self, value: float) -> bool:
        if not math.isfinite(value):
            return False
        return not (
            (self.least is not None and value < self.least)
            or (self.most is not None and value > self.most)
            or (self.above is not None and value <= self.above)
            or (self.below is not None and value >= self.below)
        )

    @property
    def words(self) -> str:
        """What values are allowed, for a user.

        Examples
        --------
        >>> Setting(1, least=1, hint=int).words
        'a whole number from 1'
        >>> Setting(0.1, least=0, below=1, hint=float | None).words
        'a number from 0, below 1, or None'
        """
        if self.rule is not None:
            return self.rule.words
        limits = []
        if self.least is not None and self.most is not None:
            limits.append(f"from {self.least:g} to {self.most:g}")
        elif self.least is not None:
            limits.append(f"from {self.least:g}")
        elif self.above is not None:
            limits.append(f"above {self.above:g}")
        if self.most is not None and self.least is None:
            limits.append(f"up to {self.most:g}")
        if self.below is not None:
            limits.append(f"below {self.below:g}")
        parts = list(get_args(self.hint)) if _is_union(self.hint) else [self.hint]
        if not limits:
            return " or ".join(map(_described, parts))
        kinds = [_described(each) for each in parts if each is not NoneType]
        bounded = f"{' or '.join(kinds)} {', '.join(limits)}"
        return f"{bounded}, or None" if NoneType in parts else bounded


def setting(
    default: Any,
    help: str | None = None,
    *,
    least: float | None = None,
    most: float | None = None,
    above: float | None = None,
    below: float | None = None,
    rule: Rule | None = None,
    search: Range | None = None,
    only: tuple[str, ...] | None = None,
) -> Any:
    """Declare a setting of a class.

    A subclass that declares it again keeps what it leaves out here; to change only the default, it
    assigns the new one.

    Parameters
    ----------
    default
        The value unless another is given.
    help
        What it means, in one or two sentences.
    least, most, above, below
        Bounds of a number: at least, at most, more than, less than.
    rule
        A condition for values that are no numbers, or that bounds cannot express.
    search
        Where `labelgrove tune` searches.
    only
        The forms of the class that have a use for it, in words of that class; None for all.
    """
    return Setting(default, help, least, most, above, below, rule, search, only)


def sizes(example: Sequence[int]) -> Rule:
    """Return the rule for a list of whole numbers from 1."""

    def holds(value: Any) -> bool:
        if not isinstance(value, Sequence) or isinstance(value, str) or not value:
            return False
        return all(isinstance(each, int | np.integer) and each >= 1 for each in value)

    return Rule(holds, f"a list of whole numbers from 1, such as {list(example)}")


POWER_OF_TWO = Rule(lambda n: n >= 2 and n & (n - 1) == 0, "a power of two, such as 8")


def _is_union(hint: Any) -> bool:
    return get_origin(hint) in (Union, UnionType)


def _fits(value: Any, hint: Any) -> bool:
    """Tell whether a value is of a type; types other than the simple ones fit always."""
    if _is_union(hint):
        return any(_fits(value, each) for each in get_args(hint))
    if get_origin(hint) is Literal:
        return any(value is each or (value == each) is True for each in get_args(hint))
    if hint in (int, float):
        kinds: Any = (int, np.integer) if hint is int else (int, float, np.integer, np.floating)
        return isinstance(value, kinds) and not isinstance(value, bool)
    if hint in (bool, str, NoneType):
        return isinstance(value, (hint, np.bool_) if hint is bool else hint)
    return True


def _described(hint: Any) -> str:
    """Return a type in a user's words."""
    if get_origin(hint) is Literal:
        return " or ".join(repr(each) for each in get_args(hint))
    return WORDS.get(hint, "None" if hint is NoneType else str(hint))
