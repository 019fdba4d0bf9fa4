"""The folder of a run: its parts, and what is known of those that are finished.

``parts.json`` says what the run is, and lists its parts once it has ended. Until then there is a
small file for each finished part, written behind it by whoever tagged it, so that a kill of the
process that conducts a run loses nothing.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from labelgrove.core.errors import DamagedError, InputError
from labelgrove.core.json_files import as_json
from labelgrove.core.result_folders import TEMPORARY, ResultFolder
from labelgrove.tagger.bulk.inputs import InputFile

MANIFEST = "parts.json"
FORMAT = 1
PART = re.compile(r"part-\d{5,}\.\w+")
NOTE = re.compile(r"\.finished-\w+/\d+\.json")
UNLISTED = ("problem", "left_out")  # of a part's facts
WAY_OUT = "choose another folder, or start again with --overwrite"


@dataclass(frozen=True)
class Identity:
    """What makes a run the same run.

    Parameters
    ----------
    labelgrove
        Its version.
    tagger
        The checksum of the tagger's manifest.
    inputs
        Paths and URLs, in their order.
    form, k, threshold, reading, hierarchy
        The settings.
    """

    labelgrove: str
    tagger: str
    inputs: tuple[str, ...]
    form: str
    k: int
    threshold: float | str | None
    reading: Mapping[str, Any]
    hierarchy: str | None = None


@dataclass(frozen=True)
class PartResult:
    """What became of an input.

    Parameters
    ----------
    number
        Of the input.
    mark
        The mark of its content.
    documents, skipped
        Documents in the part, and bad rows that were skipped.
    bytes
        The size of the part.
    problem
        Why the input could not be read; empty if there is a part.
    left_out
        Whether that is left out as ``on_bad="skip"`` asks.
    """

    number: int
    mark: str
    documents: int = 0
    skipped: int = 0
    bytes: int = 0
    problem: str = ""
    left_out: bool = False


class TaggedFolder:
    """A folder of tagged parts.

    Parameters
    ----------
    folder
        Where it is.
    form
        The suffix of its parts.
    """

    def __init__(self, folder: ResultFolder, form: str) -> None:
        self.folder = folder
        self._form = form

    def part(self, number: int) -> str:
        """Return the name of a part."""
        return f"part-{number:05}.{self._form}"

    def look(
        self, identity: Identity, inputs: Sequence[InputFile], *, overwrite: bool
    ) -> tuple[str, dict[int, PartResult]]:
        """Return the id of the run that is there, or of a new one, and its finished parts.

        A folder with parts of another run is refused unless ``overwrite``; one that is not ours is
        always refused. Nothing is written yet.
        """
        sizes = self.folder.sizes()
        old = self._manifest(sizes)
        noted = [] if old is None or overwrite else self._noted(old, sizes)
        if old is None or not noted:
            return secrets.token_hex(8), {}
        self._check_same(old["settings"], identity)
        finished = {
            each.number: each for each in noted if sizes.get(self.part(each.number)) == each.bytes
        }
        self._check_unchanged(finished, inputs)
        return old["run"], finished

    def begin(self, run: str, identity: Identity, finished: Mapping[int, PartResult]) -> None:
        """Write what the run is, and remove what is left of others."""
        self._write(run, identity, finished)  # what is left of an old run is void now
        self._clear(finished, run)

    def note(self, run: str, result: PartResult) -> None:
        """Note that a part is finished."""
        self.folder.write(f".finished-{run}/{result.number:05}.json", as_json(asdict(result)))

    def end(self, run: str, identity: Identity, finished: Mapping[int, PartResult]) -> None:
        """List the finished parts, in place of the notes."""
        self._write(run, identity, finished)
        self._clear(finished)

    def _clear(self, finished: Iterable[int], run: str = "") -> None:
        """Remove our files but finished parts and the notes of a run."""
        sizes = self.folder.sizes()
        kept = {self.part(number) for number in finished} | set(_notes(sizes, run) if run else ())
        self.folder.remove(name for name in sizes if _is_ours(name) and name not in kept)

    def _manifest(self, sizes: Mapping[str, int]) -> dict[str, Any] | None:
        if MANIFEST not in sizes:
            strange = sorted(name for name in sizes if not name.endswith(TEMPORARY))
            if strange:
                raise InputError(
                    f"{self.folder.name} holds {strange[0]!r} and no tagged parts, so nothing is "
                    "written there; choose another folder"
                )
            return None
        place = f"{self.folder.name}/{MANIFEST}"
        try:
            manifest = json.loads(self.folder.read([MANIFEST])[MANIFEST])
            if manifest["format"] > FORMAT:
                raise InputError(f"{place} was written by a newer labelgrove; {WAY_OUT}")
            old: dict[str, Any] = {
                "run": str(manifest["run"]),
                "settings": dict(manifest["settings"]),
                "parts": [_result(each) for each in manifest["parts"]],
            }
        except (KeyError, TypeError, ValueError) as error:
            if isinstance(error, InputError):
                raise
            raise DamagedError(
                f"{place} is damaged ({error}): remove the folder, or choose another one"
            ) from error
        return old

    def _noted(self, old: dict[str, Any], sizes: Mapping[str, int]) -> list[PartResult]:
        """Return the parts that were finished, also those that were changed or removed since."""
        notes = self.folder.read(_notes(sizes, old["run"]))
        return [*old["parts"], *(_result(json.loads(text)) for text in notes.values())]

    def _check_same(self, old: Mapping[str, Any], identity: Identity) -> None:
        new = json.loads(as_json(asdict(identity)))  # tuples become lists, as in the file
        other = [name for name in new if _comparable(name, old, new) != new[name]]
        if other:
            raise InputError(
                f"{self.folder.name} holds another run, with {_difference(other[0], old, new)}; "
                f"{WAY_OUT}"
            )

    def _check_unchanged(
        self, finished: Mapping[int, PartResult], inputs: Sequence[InputFile]
    ) -> None:
        for number, result in sorted(finished.items()):
            if inputs[number].mark not in ("", result.mark):
                raise InputError(
                    f"{inputs[number].name} was changed after it was tagged into "
                    f"{self.folder.name}/{self.part(number)}; {WAY_OUT}"
                )

    def _write(self, run: str, identity: Identity, finished: Mapping[int, PartResult]) -> None:
        parts = [
            {
                "part": self.part(number),
                "input": identity.inputs[number],
                **{name: value for name, value in asdict(result).items() if name not in UNLISTED},
            }
            for number, result in sorted(finished.items())
        ]
        text = as_json({"format": FORMAT, "run": run, "settings": asdict(identity), "parts": parts})
        self.folder.write(MANIFEST, text)


def _result(values: Mapping[str, Any]) -> PartResult:
    names = [field.name for field in fields(PartResult)]
    return PartResult(**{name: values[name] for name in names if name in values})


def _notes(sizes: Iterable[str], run: str) -> list[str]:
    return [name for name in sizes if NOTE.fullmatch(name) and name.startswith(f".finished-{run}/")]


def _is_ours(name: str) -> bool:
    return bool(PART.fullmatch(name) or NOTE.fullmatch(name)) or name.endswith(TEMPORARY)


def _comparable(name: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Any:
    """Return a setting of an old run, without what changes nothing in its finished parts."""
    value = old.get(name)
    if name == "reading" and value is not None and new[name].get("on_bad") == "skip":
        return {**value, "on_bad": "skip"}  # an input with bad rows has no part yet
    return value


def _difference(name: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    if name == "tagger":
        return "another tagger (or the same one trained anew)"
    if name == "reading":
        before, after = old.get(name) or {}, new[name]
        first = next(each for each in {**before, **after} if before.get(each) != after.get(each))
        was, now = (
            repr(each[first]) if first in each else "by default" for each in (before, after)
        )
        return f"{first} {was} instead of {now}"
    if name == "inputs":
        before = old.get(name) or []
        changed = sorted({*before} ^ {*new[name]})
        return f"other inputs, such as {changed[0]}" if changed else "the inputs in another order"
    return f"{name} {old.get(name)!r} instead of {new[name]!r}"
