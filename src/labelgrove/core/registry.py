"""Lazy tables from a name to a class, kept as strings so that nothing is imported to list them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module, metadata
from pathlib import Path
from typing import Any, Generic, TypeVar

from labelgrove.core import storage
from labelgrove.core.errors import DamagedError, InputError, MissingExtraError, UnknownNameError
from labelgrove.core.estimator import Part

P = TypeVar("P", bound=Part)


@dataclass(frozen=True)
class Entry:
    """A line of a table.

    Parameters
    ----------
    path
        ``"module:Class"``.
    summary
        What it is good for, in a sentence.
    paper
        Where it comes from.
    extra
        The extra of labelgrove it needs, or empty.
    """

    path: str
    summary: str = ""
    paper: str = ""
    extra: str = ""


class Registry(Generic[P]):
    """A table of parts; other packages add theirs by an entry point.

    Parameters
    ----------
    kind
        What the parts are called in messages, such as ``"model"``.
    entries
        The parts of labelgrove itself.
    group
        The entry-point group in which other packages name theirs.
    """

    def __init__(self, kind: str, entries: Mapping[str, Entry], group: str) -> None:
        self.kind = kind
        self._entries = dict(entries)
        self._group = group

    def entries(self) -> dict[str, Entry]:
        """Return all lines, ours first."""
        entries = dict(self._entries)
        for point in metadata.entry_points(group=self._group):
            source = point.dist.name if point.dist else "another package"
            entries.setdefault(point.name, Entry(point.value, f"from {source}"))
        return entries

    def extra(self, name: str) -> str:
        """Return the extra that a part of ours needs, or nothing; other packages are not read."""
        entry = self._entries.get(name)
        return "" if entry is None else entry.extra

    def names(self) -> list[str]:
        """Return all names."""
        return list(self.entries())

    def __iter__(self) -> Iterator[str]:
        return iter(self.entries())

    def find(self, name: str) -> type[P]:
        """Import and return the class behind a name."""
        if not isinstance(name, str):
            raise InputError(f"a {self.kind} is chosen by its name here, got {name!r:.200}")
        # our own names come first, and looking for those of other packages takes 30 ms
        entries = self._entries if name in self._entries else self.entries()
        if name not in entries:
            raise UnknownNameError(self.kind, name, entries)
        entry = entries[name]
        module, _, attribute = entry.path.partition(":")
        try:
            part_class: type[P] = getattr(import_module(module), attribute)
        except ModuleNotFoundError as error:
            if error.name is None or error.name.startswith("labelgrove"):
                raise
            package = f"'labelgrove[{entry.extra}]'" if entry.extra else error.name
            raise MissingExtraError(
                f"the {self.kind} {name!r} needs {error.name}, which is not installed: "
                f"pip install {package}"
            ) from error
        return part_class

    def create(self, name: str, /, **settings: Any) -> P:
        """Return a new part of that name with these settings."""
        part_class = self.find(name)
        known = part_class.setting_names()
        for setting in settings:
            if setting not in known:
                listed = f"'labelgrove models {name}' lists them" if self.kind == "model" else ""
                raise UnknownNameError(f"setting of {name!r}", setting, known, listed=listed)
        part = part_class(**settings)
        part.check_settings()
        return part

    def read(self, folder: Path) -> P:
        """Read the part that ``folder`` holds, whichever it is."""
        name = storage.read_json_value(folder, "part")
        if not isinstance(name, str):
            raise DamagedError(f"{folder} does not say what it holds; save the model again")
        try:
            part_class = self.find(name)
        except UnknownNameError as error:
            raise InputError(
                f"{folder} holds a {self.kind} that is not installed: {error}"
            ) from error
        return part_class.read(folder)
