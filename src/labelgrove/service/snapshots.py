"""Snapshots of saved taggers: what is served stays as it was while its folder is replaced.

A snapshot is a folder of hard links, which takes no room and no time, or a copy. It lies in a
hidden folder beside the tagger, or where copies are wanted, and goes with the service. What a
killed service left is removed by the next one.
"""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from labelgrove.core import storage
from labelgrove.core.errors import DamagedError, InputError, StorageError
from labelgrove.core.json_files import LARGEST
from labelgrove.core.manifest import MANIFEST
from labelgrove.core.regular_files import read_regular
from labelgrove.core.served_folders import remove_left, served_folder

TRIES = 5  # a folder may be replaced while its files are linked
log = logging.getLogger("labelgrove.service")


@contextmanager
def places(folders: Sequence[str], copies: str) -> Iterator[tuple[str, ...]]:
    """Make the hidden folders for snapshots of these taggers, one for each parent folder.

    Parameters
    ----------
    folders
        The saved taggers.
    copies
        The folder for copies; empty for hard links beside the taggers.

    Yields
    ------
    tuple of str
        The place for snapshots of each tagger; empty where none can be made.
    """
    made: dict[Path, str] = {}
    with ExitStack() as stack:
        for folder in folders:
            parent = Path(copies or Path(folder).resolve().parent)
            if parent not in made:
                made[parent] = stack.enter_context(_place(parent, wanted=bool(copies)))
        yield tuple(made[Path(copies or Path(folder).resolve().parent)] for folder in folders)


def take(folder: str, place: str, *, copy: bool) -> str:
    """Return a snapshot of a saved tagger, or its own folder where none can be taken.

    Parameters
    ----------
    folder
        The saved tagger.
    place
        A folder that `places` made, or empty.
    copy
        Copy the files instead of linking them.
    """
    if not place:
        storage.read_manifest(folder, verify=False)
        return folder
    source = Path(folder)
    for _ in range(TRIES):
        manifest = storage.read_manifest(source, verify=False)
        target = Path(tempfile.mkdtemp(prefix=f"{source.resolve().name[:50]}-", dir=place))
        try:
            for name in _names(source, manifest["files"]):
                _add(source / name, target / name, copy=copy)
            if _manifest(source) == _manifest(target):
                return str(target)
        except FileNotFoundError:  # it was replaced meanwhile
            pass
        except OSError as error:
            shutil.rmtree(target, ignore_errors=True)
            if copy:
                raise StorageError(
                    f"{folder} could not be copied to {place}: {error.strerror}; name a folder "
                    "with more room by --copy-to"
                ) from error
            log.info("%s is served as it lies there: %s", folder, error.strerror)
            return folder
        shutil.rmtree(target, ignore_errors=True)
    raise StorageError(f"{folder} is replaced again and again; load it when that has ended")


def drop(snapshot: str, place: str) -> None:
    """Remove a snapshot; a tagger's own folder stays."""
    if place and Path(snapshot).parent == Path(place):
        shutil.rmtree(snapshot, ignore_errors=True)


@contextmanager
def _place(parent: Path, *, wanted: bool) -> Iterator[str]:
    with ExitStack() as stack:
        try:
            remove_left(parent)
            place = str(stack.enter_context(served_folder(parent)))
        except OSError as error:
            if wanted:
                raise InputError(
                    f"{parent} cannot take copies of taggers ({error.strerror}); name another "
                    "folder by --copy-to"
                ) from error
            place = ""
        yield place


def _names(source: Path, listed: Sequence[str]) -> list[str]:
    """Return the files of a tagger: those its manifest lists, and those beside the manifest."""
    for name in listed:
        if Path(name).is_absolute() or ".." in Path(name).parts:
            raise DamagedError(f"{source} lists a file outside of it: {name!r}; save it again")
    beside = [path.name for path in source.iterdir() if path.is_file()]
    return list(dict.fromkeys([*listed, *beside]))


def _add(source: Path, target: Path, *, copy: bool) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if copy:
        shutil.copyfile(source, target)
    else:
        os.link(source.resolve(), target)


def _manifest(folder: Path) -> bytes:
    return read_regular(folder / MANIFEST, LARGEST)
