"""Reading a folder that another process may replace: all that is read is of one folder."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TypeVar

from labelgrove.core.errors import InputError, StorageError
from labelgrove.core.folder_locks import lock, open_folder
from labelgrove.core.run_folders import interrupted, run_folder

OPEN_FOLDERS = "/proc/self/fd/{}"  # paths of open folders, which Linux has
OF_HUB = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")  # what a hub's repository is called
TRIES = 20  # readings of a folder that is replaced again and again
T = TypeVar("T")


def read_unchanged(folder: Path, read: Callable[[Path], T]) -> T:
    """Return ``read(place)``, where ``place`` leads to the folder that was there at first.

    The folder is opened and read through what was opened, whatever its name leads to later; on
    Linux that is a path in ``/proc``. Elsewhere it is read by its name, and read again if another
    folder has that name afterwards. A lock asks whoever replaces the folder to wait before
    removing the old one; if that is gone too early nonetheless, the new one is read.

    Parameters
    ----------
    folder
        The folder.
    read
        Reads it; errors that name ``place`` name ``folder`` instead.
    """
    for _ in range(TRIES):
        with _opened(folder) as (place, facts):
            try:
                result = read(place)
            except Exception as error:
                if _is_still(facts, folder):
                    error.args = tuple(_renamed(each, place, folder) for each in error.args)
                    raise
                continue
            if place != folder or _is_still(facts, folder):
                return result
    raise StorageError(f"{folder} is replaced again and again while it is read: try again later")


@contextmanager
def _opened(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """Give a path that stays with the folder, and by what the folder is known again."""
    if not folder.exists():
        raise InputError(f"no such folder: {folder}{_unfinished(folder)}")
    if not folder.is_dir():
        raise InputError(f"{folder} is a file, not a saved labelgrove folder")
    with ExitStack() as stack:
        try:
            handle = stack.enter_context(open_folder(folder))
        except OSError as error:
            raise StorageError(f"{folder} cannot be read: {error.strerror}") from error
        lock(handle, shared=True)
        facts = folder.stat() if handle is None else os.fstat(handle)
        through = Path(OPEN_FOLDERS.format(handle))
        yield (through if _is_still(facts, through) else folder), facts


def _is_still(facts: os.stat_result, path: Path) -> bool:
    try:
        return os.path.samestat(facts, path.stat())
    except OSError:
        return False


def _renamed(value: object, place: Path, folder: Path) -> object:
    return value.replace(str(place), str(folder)) if isinstance(value, str) else value


def _unfinished(folder: Path) -> str:
    """Return a hint for a tagger whose training has not ended or that is on the hub, or nothing."""
    if not interrupted(folder):
        if OF_HUB.fullmatch(folder.as_posix()) and not folder.parent.exists():
            return (
                f"; if it is a tagger on the Hugging Face hub, 'labelgrove pull {folder}' "
                f"downloads it (in Python: Tagger.from_pretrained({folder.as_posix()!r}))"
            )
        return ""
    return (
        f"; its training has not ended, {run_folder(folder).name} holds what is done: "
        "'labelgrove train' goes on with --resume"
    )
