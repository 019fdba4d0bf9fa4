"""Temporary folders beside a saved one, how one takes its place, and what a kill leaves of them.

A new folder is written beside its target under a hidden name, ``.NAME.labelgrove-BOOT-RANDOM``,
and locked as long as its process lives. When it is complete, it gets the name
``.NAME.labelgrove-old-BOOT-RANDOM`` and changes names with its target in one step. Where the
system cannot do that, the old folder is moved aside to such a name and then the new one to its
place: a process that is killed in between leaves no folder at all, and the next load or save
brings the old one back.

A leftover is removed only if no process can be at work in it: its lock is free, and it was made
since this machine was started, or nothing in it has changed for a day. The second is for drives
that several machines share, where one may not see the locks of another. Of a folder that was
complete only what its manifest lists is removed.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from labelgrove.core import system
from labelgrove.core.errors import InputError, StorageError
from labelgrove.core.exchange import exchange
from labelgrove.core.folder_locks import is_at, lock, open_folder
from labelgrove.core.manifest import (
    MANIFEST,
    check_files,
    foreign_files,
    named,
    parse_manifest,
    remove_listed,
)

MARK = re.compile(
    r"\.(?P<name>.+)\.labelgrove-(?P<old>old-)?(?P<boot>[0-9a-z]{8})-[0-9a-f]{16}", re.DOTALL
)
UNKNOWN = "unknown0"  # the mark of a start of the machine that has no number
LONGEST = 150  # bytes of a name that temporary names repeat; file systems allow 255
DAY = 24 * 3600
PATIENCE = 10.0  # seconds that readers of a replaced folder get to finish
MOMENT = 5.0  # seconds in which a running process surely gets from one rename to the next


@dataclass(frozen=True)
class Leftover:
    """A temporary folder whose process may have ended.

    Parameters
    ----------
    path
        The folder.
    name
        Name of the saved folder that it was to replace, shortened if that is very long.
    old
        Whether it is complete: what was there before, or what was about to take its place.
    """

    path: Path
    name: str
    old: bool

    @contextmanager
    def held(self) -> Iterator[bool]:
        """Lock the folder if no process is at work in it, and tell whether that is so."""
        with ExitStack() as stack:
            handle = None
            with suppress(OSError):  # it is gone, or not ours to open
                handle = stack.enter_context(open_folder(self.path))
            yield bool(lock(handle)) and is_at(handle, self.path)

    def is_old_enough(self) -> bool:
        """Tell whether its lock, if it is free, proves that its process has ended."""
        made = MARK.fullmatch(self.path.name)
        if made is not None and made["boot"] == _boot() != UNKNOWN:
            return True
        return time.time() - _last_change(self.path) > DAY


@contextmanager
def temporary_folder(target: Path, parent: Path | None = None) -> Iterator[Path]:
    """Give an empty folder beside ``target``, locked; if it is still there in the end, it goes.

    Parameters
    ----------
    target
        The folder that is to be made or replaced.
    parent
        Where to put it instead of beside ``target``.
    """
    while True:
        path = _new_name(target, parent or target.parent)
        path.mkdir()
        try:
            with open_folder(path) as handle:
                locked = lock(handle)
                if locked is False or (locked and not is_at(handle, path)):
                    continue  # somebody took it for a leftover before it was locked
                yield path
        finally:
            shutil.rmtree(path, ignore_errors=True)
        return


def put(temporary: Path, target: Path, *, overwrite: bool) -> Path | None:
    """Move a complete folder to its place, and return where the old one is now, if there was one.

    Parameters
    ----------
    temporary
        A folder that `temporary_folder` gave.
    target
        Its place.
    overwrite
        Replace a saved folder that is there; it must hold nothing that its manifest does not list.
    """
    if not overwrite or not target.exists() or not any(target.iterdir()):
        system.HERE.replace(temporary, target)  # fails where a folder has appeared meanwhile
        return None
    aside = _new_name(target, target.parent, old=True)
    temporary.rename(aside)
    try:
        if exchange(aside, target):
            _check_or_undo(aside, target)
            return aside
    except BaseException:
        aside.rename(temporary)
        raise
    aside.rename(temporary)
    _put_in_two_steps(temporary, target, aside)
    return aside


def check_replaceable(folder: Path, shown: Path) -> None:
    """Refuse to replace a folder that labelgrove did not write, or that holds anything else.

    Parameters
    ----------
    folder
        The folder.
    shown
        What messages call it.
    """
    if not (folder / MANIFEST).is_file():
        raise InputError(
            f"{shown} exists and is nothing that labelgrove wrote, so it is not overwritten; "
            "choose another folder"
        )
    try:
        manifest = parse_manifest(folder)
    except StorageError as error:
        raise InputError(
            f"{shown} exists, and its {MANIFEST} is not one that this labelgrove wrote, so it is "
            f"not overwritten ({str(error).replace(str(folder), str(shown))}); choose another "
            "folder, or remove this one yourself"
        ) from error
    if strange := foreign_files(folder, manifest):
        raise InputError(
            f"{shown} also holds what labelgrove did not write: {named(strange)}. Nothing is "
            "overwritten; move that elsewhere, or choose another folder"
        )


def discard(folder: Path) -> None:
    """Remove a saved folder that has been replaced, as soon as those who read it have finished.

    Only what its manifest lists is removed. Where readers take too long it stays for the next
    save.
    """
    with suppress(OSError, InputError, StorageError), open_folder(folder) as handle:
        # where folders have no locks, who reads has to read again
        if lock(handle, patience=PATIENCE) is not False:
            remove_listed(folder, parse_manifest(folder))


def leftovers(folder: Path, name: str | None = None) -> list[Leftover]:
    """Return the temporary folders in a folder, also those of processes that are at work.

    Parameters
    ----------
    folder
        Where to look.
    name
        Only those of the saved folder of this name.
    """
    with suppress(OSError), os.scandir(folder) as entries:
        matched = [(entry, MARK.fullmatch(entry.name)) for entry in entries]
        return [
            Leftover(Path(entry.path), made["name"], made["old"] is not None)
            for entry, made in sorted(matched, key=lambda each: each[0].name)
            if made is not None
            and (name is None or made["name"] == _short(name))
            and entry.is_dir(follow_symlinks=False)
        ]
    return []


def clear(leftover: Leftover) -> bool:
    """Remove a leftover if no process can be at work in it; tell whether it is gone."""
    with suppress(OSError, InputError, StorageError), leftover.held() as free:
        if free and leftover.is_old_enough():
            if leftover.old:
                remove_listed(leftover.path, parse_manifest(leftover.path))
            else:
                shutil.rmtree(leftover.path)  # all in it is our own
    return not leftover.path.exists()


def bring_back(target: Path) -> bool:
    """Bring back a folder that a killed process had moved aside; tell whether that was done.

    Nothing is done where there is a folder, or none was moved aside.
    """
    if os.path.lexists(target):
        return False
    aside = [each for each in leftovers(target.parent, target.name) if each.old]
    ends = time.monotonic() + MOMENT
    for leftover in sorted(aside, key=lambda each: -_last_change(each.path)):
        while not os.path.lexists(target) and leftover.path.exists():
            with leftover.held() as free:
                if free or time.monotonic() > ends:  # or folders cannot be locked here
                    if _restore(leftover.path, target):
                        return True
                    break
            time.sleep(0.01)  # another process is about to put a folder there
    return False


def _restore(aside: Path, target: Path) -> bool:
    try:
        check_files(aside, parse_manifest(aside))
        aside.rename(target)
    except (OSError, InputError, StorageError):  # damaged, or there is a folder now
        return False
    return True


def _check_or_undo(aside: Path, target: Path) -> None:
    """Look at what has been replaced once more, now that nobody finds it to add anything."""
    try:
        check_replaceable(aside, target)
    except BaseException:
        exchange(aside, target)
        raise


def _put_in_two_steps(temporary: Path, target: Path, aside: Path) -> None:
    with open_folder(target) as handle:
        lock(handle, shared=True)  # it moves with the folder: nobody brings that back meanwhile
        target.rename(aside)
        try:
            check_replaceable(aside, target)
            temporary.rename(target)
        except BaseException:
            aside.rename(target)
            raise


def _new_name(target: Path, parent: Path, *, old: bool = False) -> Path:
    kind = "old-" if old else ""
    name = f".{_short(target.name)}.labelgrove-{kind}{_boot()}-{secrets.token_hex(8)}"
    return parent / name


def _short(name: str) -> str:
    """Return a name, or, if it is very long, its beginning and a hash of it."""
    data = os.fsencode(name)
    if len(data) <= LONGEST:
        return name
    start = data[: LONGEST // 2].decode("utf-8", "ignore")
    return f"{start}-{hashlib.sha256(data).hexdigest()[:16]}"


@cache
def _boot() -> str:
    """Return eight characters that are others after each start of the machine."""
    try:
        text = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")
    except OSError:
        return UNKNOWN
    return text[:8]


def _last_change(folder: Path) -> float:
    """Return when anything in a folder changed last, in seconds since 1970."""
    times = [folder.stat().st_mtime] if folder.exists() else [0.0]
    for path in folder.rglob("*"):
        with suppress(OSError):
            times.append(path.lstat().st_mtime)
    return max(times)
