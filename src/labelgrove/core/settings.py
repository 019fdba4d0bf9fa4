"""A setting, declared once in the class that has it: default, meaning, bounds, range to search.

::

    class Search(Configured):
        beam: int = setting(10, "Nodes kept per level.", least=1, search=Whole(5, 30, log=True))

The annotation is the type; `Literal` lists the choices. `labelgrove.core.configured` collects the
settings of a class and checks values against them; ``labelgrove models NAME``, ``labelgrove tune``
and the documentation read them from there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from types import MappingProxyType, NoneType, UnionType
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin

import numpy as np

from labelgrove.core.ranges import Range

WORDS = {
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    str: "a string",
    NoneType: "None",
    Any: "anything",
}
WHOLE, FRACTIONAL = (int, np.integer), (float, np.floating)
HUGE = 2**62  # a whole number beyond it fits no array
LOWER, UPPER = ("least", "above"), ("most", "below")


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
        own = {each.name: getattr(self, each.name) for each in fields(self)}
        given = {name for name, value in own.items() if value is not None and value is not Any}
        for bounds in (LOWER, UPPER):  # a new bound replaces the inherited one of that side
            if given & {*bounds}:
                given |= {*bounds}
        return replace(inherited, **{name: own[name] for name in given | {"default"}})

    def is_default(self, value: Any) -> bool:
        """Tell whether a value is the default; a list equals a tuple, as JSON knows only lists."""
        if isinstance(value, list | tuple) and isinstance(self.default, list | tuple):
            return list(value) == list(self.default)
        return value is self.default or bool(value == self.default)

    def problem(self, value: Any) -> str | None:
        """Return what a value must be instead, or None if it is allowed."""
        if value is None:
            allowed = self.default is None or _fits(value, self._type)
        else:
            allowed = (
                _fits(value, self._type)
                and (not _is_number(value) or self._inside(value))
                and (self.rule is None or self.rule.holds(value))
            )
        if allowed and self.rule is None and isinstance(value, int) and abs(value) > HUGE:
            return f"{self.words}, and no more than 2^62"
        return None if allowed else self.words

    @property
    def _type(self) -> Any:
        bounded = any(getattr(self, name) is not None for name in LOWER + UPPER)
        return float if self.hint is Any and bounded else self.hint

    def _inside(self, value: float) -> bool:
        if isinstance(value, FRACTIONAL) and not math.isfinite(value):
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
        parts = list(get_args(self._type)) if _is_union(self._type) else [self._type]
        if self.rule is not None:
            known = NoneType not in parts or "None" in self.rule.words
            return self.rule.words if known else f"{self.rule.words}, or None"
        if not (limits := ", ".join(self._limits())):
            return " or ".join(map(_described, parts))
        kinds = [_described(each) for each in parts if each is not NoneType]
        return f"{' or '.join(kinds)} {limits}" + (", or None" if NoneType in parts else "")

    def _limits(self) -> Iterator[str]:
        """Yield the bounds in a user's words."""
        if self.least is not None:
            to = "" if self.most is None else f" to {_shown(self.most)}"
            yield f"from {_shown(self.least)}{to}"
        if self.above is not None:
            yield f"above {_shown(self.above)}"
        if self.most is not None and self.least is None:
            yield f"up to {_shown(self.most)}"
        if self.below is not None:
            yield f"below {_shown(self.below)}"


def setting(
    default: Any,
    help: str | None = None,  # noqa: A002
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
        A condition for values that are no numbers, or that bounds cannot express; its words are
        all that a user reads about what is allowed.
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
        return all(isinstance(each, int | np.integer) and 1 <= each <= HUGE for each in value)

    return Rule(holds, f"a list of whole numbers from 1, such as {list(example)}")


POWER_OF_TWO = Rule(lambda n: 2 <= n <= HUGE and n & (n - 1) == 0, "a power of two, such as 8")

SEED: Any = setting(
    0,
    "Seed of all random choices; the same seed gives the same result.",
    rule=Rule(lambda n: 0 <= n < 2**63, "a whole number from 0 to 2^63 - 1"),
)
THREADS: Any = setting(None, "Number of threads; None for all cores.", least=1)
# what these two mean, also as arguments of a constructor that declares nothing
COMMON = MappingProxyType(
    {"seed": replace(SEED, hint=int), "threads": replace(THREADS, hint=int | None)}
)


def _is_union(hint: Any) -> bool:
    return get_origin(hint) in (Union, UnionType)


def _is_number(value: Any) -> bool:
    return isinstance(value, WHOLE + FRACTIONAL) and not isinstance(value, bool)


def _fits(value: Any, hint: Any) -> bool:
    """Tell whether a value is of a type; other than simple types are not checked."""
    if _is_union(hint):
        return any(_fits(value, each) for each in get_args(hint))
    if get_origin(hint) is Literal:
        return any(value is each or (value == each) is True for each in get_args(hint))
    if hint in (int, float):
        return _is_number(value) and (hint is float or isinstance(value, WHOLE))
    if hint in (bool, str, NoneType):
        return isinstance(value, (hint, np.bool_) if hint is bool else hint)
    return value is not None or hint is Any


def _described(hint: Any) -> str:
    """Return a type in a user's words."""
    if get_origin(hint) is Literal:
        return " or ".join(repr(each) for each in get_args(hint))
    if get_origin(hint) is Sequence:
        return "a list"
    return WORDS.get(hint, str(hint))


def _shown(number: float) -> str:
    return f"{number:,}" if isinstance(number, int) else f"{number:g}"
