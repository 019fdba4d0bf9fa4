"""The manifest of a saved folder: what it holds, and the size and checksum of each file.

A folder is ours if its manifest has a format number, the version of labelgrove that wrote it and
a checksum that fits. What a manifest does not list is never read and never removed, but for two
files beside it that belong to the folder: its signature and its card.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path, PurePosixPath

from labelgrove._version import __version__
from labelgrove.core.errors import DamagedError, InputError, NewerFormatError, StorageError
from labelgrove.core.json_files import Json, plain, read_json, write_json
from labelgrove.core.progress import Progress, Silent
from labelgrove.core.threads import workers

FORMAT = 1
MANIFEST = "manifest.json"
SIGNATURE = "manifest.sig"  # beside the manifest, which cannot list what is made of its own bytes
CARD = "README.md"  # beside it too: people edit it, and nothing that is loaded comes from it
BESIDE = (SIGNATURE, CARD)
# file managers put these anywhere, and the Hugging Face hub the last one into every repository
LITTER = frozenset({".DS_Store", "Thumbs.db", "desktop.ini", ".gitattributes"})
MEGABYTE = 10**6
LARGE = 250 * MEGABYTE  # what is read so fast that nobody waits needs no progress
NAMED = 3  # foreign files that a message names


def write_manifest(folder: Path, about: Mapping[str, Json]) -> None:
    """Write the manifest of all files that are in a folder.

    Parameters
    ----------
    folder
        The folder, complete but for its manifest.
    about
        What the manifest says of the content: registry names, settings, scores.
    """
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    manifest: dict[str, Json] = {
        "format": FORMAT,
        "labelgrove": __version__,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": _versions(),
        **about,
        "files": {
            path.relative_to(folder).as_posix(): {"bytes": path.stat().st_size, "sha256": checksum}
            for path, checksum in zip(files, _checksums(files), strict=True)
        },
    }
    manifest["checksum"] = _own_checksum(manifest)
    write_json(folder / MANIFEST, manifest)


def parse_manifest(folder: Path) -> dict[str, Json]:
    """Return the manifest of a saved folder; a missing, altered or newer one is an error.

    The files that it lists are not looked at: see `check_files`.
    """
    path = folder / MANIFEST
    if not path.is_file():
        raise InputError(f"{folder} is not a saved labelgrove folder: it has no {MANIFEST}")
    manifest = read_json(path)
    if not isinstance(manifest, dict) or type(manifest.get("format")) is not int:
        raise DamagedError(f"{path} is damaged: it has no format number; save the model again")
    if "labelgrove" not in manifest:
        raise DamagedError(f"{path} is damaged, or of another program: it names no labelgrove")
    if manifest["format"] > FORMAT:
        raise NewerFormatError(
            f"{folder} has format {manifest['format']}, written by labelgrove "
            f"{manifest.get('labelgrove')}; this is labelgrove {__version__}, which reads up to "
            f"format {FORMAT}: pip install --upgrade labelgrove"
        )
    if manifest.get("checksum") != _own_checksum(manifest):
        raise DamagedError(f"{path} was altered: its checksum does not fit; save the model again")
    _check_list(path, manifest.get("files"))
    return manifest


def is_ours(folder: Path) -> bool:
    """Tell whether labelgrove wrote a folder: whether it has a manifest of ours."""
    try:
        parse_manifest(folder)
    except NewerFormatError:
        return True
    except (InputError, StorageError, OSError):
        return False
    return True


def saved_folder_around(path: Path) -> Path | None:
    """Return the saved folder in which a path lies, or None."""
    return next((folder for folder in path.resolve().parents if is_ours(folder)), None)


def foreign_files(folder: Path, manifest: Mapping[str, Json]) -> list[str]:
    """Return the files in a saved folder that its manifest does not list, sorted.

    A folder in which nothing is listed, or a link to a folder, is named as one and ends with a
    slash. Signature and card belong to the folder unless they are links, or no files.
    """
    listed = {*manifest["files"], MANIFEST}
    for name in BESIDE:
        if (folder / name).is_file() and not (folder / name).is_symlink():
            listed.add(name)
    folders = {str(above) for name in listed for above in PurePosixPath(name).parents}
    strange = []
    for place, below, files in os.walk(folder):
        above = Path(place).relative_to(folder).as_posix()
        names = {name: name if above == "." else f"{above}/{name}" for name in (*below, *files)}
        known = [n for n in below if names[n] in folders and not Path(place, n).is_symlink()]
        strange += [f"{names[name]}/" for name in below if name not in known]
        strange += [names[name] for name in files if names[name] not in listed]
        below[:] = known  # what is strange is not entered
    return sorted(strange)


def named(names: list[str]) -> str:
    """Return the first few names and how many there are besides, for a message.

    Examples
    --------
    >>> named(["a", "b"])
    "'a', 'b'"
    >>> named([".git/", "notes.txt", "src/", "x", "y"])
    "'.git/', 'notes.txt', 'src/' and 2 more"
    """
    shown = ", ".join(map(repr, names[:NAMED]))
    return shown + (f" and {len(names) - NAMED:,} more" if len(names) > NAMED else "")


def remove_listed(folder: Path, manifest: Mapping[str, Json]) -> None:
    """Remove a saved folder: the files that its manifest lists, then what is empty.

    A folder that holds anything else is left there with that. The manifest goes last: whoever
    finds a folder half removed still knows what belonged to it.
    """
    if foreign_files(folder, manifest):
        return
    for name in (*manifest["files"], *BESIDE):
        (folder / name).unlink(missing_ok=True)
    below = {above for name in manifest["files"] for above in PurePosixPath(name).parents}
    for each in sorted(below - {PurePosixPath(".")}, key=lambda path: -len(path.parts)):
        with suppress(OSError):  # not there any more, or not empty
            (folder / each).rmdir()
    (folder / MANIFEST).unlink(missing_ok=True)
    with suppress(OSError):
        folder.rmdir()


def check_files(folder: Path, manifest: Mapping[str, Json]) -> None:
    """Refuse a folder whose files are not those of the manifest, by names and sizes."""
    for name, facts in manifest["files"].items():
        path = folder / name
        if not path.is_file():
            raise DamagedError(f"{path} is missing; save the model again")
        if (size := path.stat().st_size) != facts["bytes"]:
            raise DamagedError(
                f"{path} has {size:,} bytes instead of {facts['bytes']:,}: it was cut short or "
                "altered; save the model again"
            )
    # files of the hub's cache are links, which may be read but are never removed
    strange = [
        name
        for name in foreign_files(folder, manifest)
        if Path(name).name not in LITTER and not (name in BESIDE and (folder / name).is_file())
    ]
    if strange:
        raise DamagedError(
            f"{folder} holds what its {MANIFEST} does not list: {named(strange)}. Nobody has "
            "checked it, so nothing is loaded; move it out of the folder"
        )


def check_sums(folder: Path, manifest: Mapping[str, Json], title: str, progress: Progress) -> None:
    """Refuse a folder in which a file's checksum is not that of the manifest.

    Parameters
    ----------
    folder, manifest
        The folder, whose names and sizes have been checked, and its manifest.
    title
        What is shown while a large folder is read.
    progress
        Where that is shown.
    """
    files = manifest["files"]
    total = sum(facts["bytes"] for facts in files.values())
    shown = progress if total >= LARGE else Silent()
    with shown.task(title, total // MEGABYTE, "MB") as task:
        checksums, done = _checksums([folder / name for name in files]), 0
        for (name, facts), checksum in zip(files.items(), checksums, strict=True):
            if checksum != facts["sha256"]:
                raise DamagedError(
                    f"{folder / name} was altered: its checksum does not fit; save the model again"
                )
            before, done = done, done + facts["bytes"]
            task.advance(done // MEGABYTE - before // MEGABYTE)


def _check_list(path: Path, files: Json) -> None:
    """Refuse a list of files that is empty or leads out of the folder."""
    if not isinstance(files, dict) or not files:
        raise DamagedError(f"{path} is damaged: it lists no files; save the model again")
    for name, facts in files.items():
        parts = name.split("/")
        if name == MANIFEST or "\\" in name or "\0" in name or {"", ".", ".."} & {*parts}:
            raise DamagedError(
                f"{path} is damaged: {name!r} is no file in it; save the model again"
            )
        if (
            not isinstance(facts, dict)
            or type(facts.get("bytes")) is not int
            or not isinstance(facts.get("sha256"), str)
        ):
            raise DamagedError(
                f"{path} is damaged: size or checksum of {name!r} is missing; save the model again"
            )


def _own_checksum(manifest: Mapping[str, Json]) -> str:
    rest = {name: value for name, value in manifest.items() if name != "checksum"}
    text = json.dumps(rest, sort_keys=True, ensure_ascii=True, default=plain)
    return hashlib.sha256(text.encode()).hexdigest()


def _versions() -> dict[str, str]:
    versions = {"python": ".".join(map(str, sys.version_info[:3]))}
    for package in ("numpy", "scipy", "scikit-learn", "numba", "torch", "transformers"):
        with suppress(metadata.PackageNotFoundError):
            versions[package] = metadata.version(package)
    return versions


def _checksums(files: list[Path]) -> Iterator[str]:
    with ThreadPoolExecutor(workers(None)) as pool:  # hashing leaves the GIL
        yield from pool.map(_checksum, files)


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
