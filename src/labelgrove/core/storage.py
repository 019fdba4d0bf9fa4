"""Saved folders: a manifest, JSON, and arrays that are memory-mapped on load. Never pickle.

A folder is written under a temporary name beside its place, flushed to the disk, and takes its
place in one step, so a crash leaves the old folder or the new one (`labelgrove.core.replacing`,
`labelgrove.core.durability`).
The manifest holds the size and checksum of every file (`labelgrove.core.manifest`); what is
incomplete, altered, not listed or of a newer format is refused.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelgrove.core import checks, replacing, system
from labelgrove.core.cards import read_card
from labelgrove.core.durability import flush, flush_tree, make_folders, put_in_place
from labelgrove.core.errors import InputError, StorageError
from labelgrove.core.features import TokenSequences
from labelgrove.core.interrupts import held_back
from labelgrove.core.json_files import Json, read_json, write_json
from labelgrove.core.manifest import (
    CARD,
    MANIFEST,
    SIGNATURE,
    check_files,
    check_sums,
    parse_manifest,
    saved_folder_around,
    write_manifest,
)
from labelgrove.core.progress import Progress, Silent
from labelgrove.core.run_folders import LOCK, holds_work
from labelgrove.core.snapshot import read_unchanged
from labelgrove.core.strings import PackedStrings

VALUES = "values.json"
T = TypeVar("T")
PLAIN_NAME = re.compile(r"[\w.-]+")  # of a value: no folder but its own


@contextmanager
def writing(
    folder: str | os.PathLike[str],
    about: Mapping[str, Json],
    *,
    overwrite: bool = False,
    card: Callable[[dict[str, Json], Mapping[str, Json]], str] | None = None,
) -> Iterator[Path]:
    """Give a temporary folder to write into; on success it becomes ``folder``.

    Parameters
    ----------
    folder
        The place to save to.
    about
        What the manifest says of the content: registry names, settings, scores.
    overwrite
        Replace what is there. Only a folder that labelgrove wrote is ever replaced, and a card
        that somebody edited is kept.
    card
        Is given the manifest and what the card of the replaced folder was told; returns the text
        of the folder's card. None for a folder without one.
    """
    with _taking_place(folder, overwrite=overwrite) as (temporary, target):
        yield temporary
        write_manifest(temporary, about)
        if card is not None:
            _write_card(temporary, target, partial(card, read_json(temporary / MANIFEST)))


def copy_folder(source: Path, folder: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Copy a saved folder, whole or not at all.

    Parameters
    ----------
    source
        A saved folder that has been checked; its files may be links.
    folder
        The place of the copy.
    overwrite
        As of `writing`: also here a card that somebody edited is kept.
    """
    manifest = parse_manifest(source)
    with _taking_place(folder, overwrite=overwrite) as (temporary, target):
        for name in (*manifest["files"], MANIFEST, SIGNATURE):
            if name != SIGNATURE or (source / name).is_file():
                (temporary / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source / name, temporary / name)
        if _keeps_card(target):
            shutil.copyfile(target / CARD, temporary / CARD)
        elif (source / CARD).is_file():
            shutil.copyfile(source / CARD, temporary / CARD)


@contextmanager
def _taking_place(
    folder: str | os.PathLike[str], *, overwrite: bool
) -> Iterator[tuple[Path, Path]]:
    """Give a temporary folder and its target, whose place it takes when it is complete."""
    check_free(folder, overwrite=overwrite)
    target = Path(folder).resolve()  # a link stays, what it points to is replaced
    old = None
    try:
        make_folders(target.parent)
        for leftover in replacing.leftovers(target.parent, target.name):
            replacing.clear(leftover)
        with replacing.temporary_folder(target) as temporary:
            yield temporary, target
            flush_tree(temporary)
            check_free(target, overwrite=overwrite)  # the work took a while
            with held_back():
                old = replacing.put(temporary, target, overwrite=overwrite)
                flush(target.parent)  # before the old one is removed
    except OSError as error:
        raise _unwritable(target, error) from error
    finally:
        if old is not None:
            replacing.discard(old)


def check_free(folder: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Refuse a place that is taken or cannot be written, before the work that leads there."""
    try:
        target = Path(folder).resolve()
        replacing.bring_back(target)
        if around := saved_folder_around(target):
            raise InputError(
                f"{folder} lies in the saved folder {around}, which would be damaged by it; "
                "choose a folder elsewhere"
            )
        if target.exists() and not (target.is_dir() and not any(target.iterdir())):
            replacing.check_replaceable(target, Path(folder))
            if not overwrite:
                raise InputError(
                    f"{folder} exists already; choose another folder, or allow overwriting "
                    "(--overwrite)"
                )
        above = next(parent for parent in target.parents if parent.exists())
        with replacing.temporary_folder(target, above):
            pass
    except OSError as error:
        raise _unwritable(Path(folder), error) from error


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold a folder, made if need be, against other processes; empty, it is gone afterwards."""
    try:
        make_folders(folder)
        names = sorted(path.name for path in folder.iterdir())
        if names and LOCK not in names:
            raise InputError(
                f"{folder} holds {names[0]!r} and no training of labelgrove, so nothing is "
                "written or removed there; move it elsewhere, or choose another folder"
            )
        handle = (folder / LOCK).open("w")
        flush(folder)
    except OSError as error:
        raise _unwritable(folder, error) from error
    with handle:
        try:
            free = system.HERE.lock(handle.fileno())
        except OSError:  # a drive without locks
            free = False
        if not free:
            raise InputError(
                f"another process works in {folder}: wait until it ends, or choose another folder"
            )
        try:
            yield
        finally:
            if not holds_work(folder):
                shutil.rmtree(folder, ignore_errors=True)  # it may be gone already


def read_folder(
    folder: str | os.PathLike[str],
    read: Callable[[Path, dict[str, Json]], T],
    *,
    verify: bool = True,
    progress: Progress | None = None,
    signed_by: str | os.PathLike[str] | None = None,
) -> T:
    """Read a saved folder and return the result: all of it is of one save.

    Another process may replace the folder meanwhile. What is read is the folder that was there
    at first; where that is not possible, all is read again.

    Parameters
    ----------
    folder
        A folder written by `writing`.
    read
        Is given where to read the files, and the manifest. That path is not to be kept: it ends
        with the call. Arrays of `read_values` stay valid, also when the folder is replaced.
    verify
        Compare checksums too, not only names and sizes; this reads every file once.
    progress
        Where it is shown that a large folder is read.
    signed_by
        The file of a public key that must have signed the manifest; None for no signature.
    """
    if signed_by is not None and not verify:
        raise InputError("a signature covers the checksums, so they must be compared too")
    source, shown = Path(folder), progress or Silent()
    if replacing.bring_back(source.resolve()):
        shown.say(f"{source} was moved aside by a process that was stopped: it is back")

    def checked(place: Path) -> T:
        manifest = parse_manifest(place)
        if signed_by is not None:
            from labelgrove.core.signing import check_signature

            check_signature(place, manifest, signed_by)
        check_files(place, manifest)
        if verify:
            check_sums(place, manifest, f"loading {source}", shown)
        return read(place, manifest)

    return read_unchanged(source, checked)


def read_manifest(
    folder: str | os.PathLike[str],
    *,
    verify: bool = True,
    progress: Progress | None = None,
    signed_by: str | os.PathLike[str] | None = None,
) -> dict[str, Json]:
    """Return the manifest of a saved folder after checking that the folder is whole.

    Parameters
    ----------
    folder, verify, progress, signed_by
        As of `read_folder`.
    """
    return read_folder(
        folder, lambda _, manifest: manifest, verify=verify, progress=progress, signed_by=signed_by
    )


def write_values(folder: Path, values: Mapping[str, Any]) -> None:
    """Write named values into ``folder``: arrays, csr arrays, token sequences, strings, JSON."""
    folder.mkdir(parents=True, exist_ok=True)
    described = {name: _write_value(folder, name, value) for name, value in values.items()}
    write_json(folder / VALUES, described)


def read_values(folder: Path) -> dict[str, Any]:
    """Return what `write_values` wrote; arrays are memory-mapped and read-only."""
    with checks.reading(folder):
        described = read_json(folder / VALUES)
        for name, entry in described.items():
            if not isinstance(entry, list) or len(entry) != 2:
                raise ValueError(f"{VALUES} does not tell what {name!r:.60} is")
        return {name: _read_value(folder, name, *entry) for name, entry in described.items()}


def read_json_value(folder: Path, name: str) -> Json:
    """Return one of the values that `write_values` wrote, or None if it is no JSON."""
    with checks.reading(folder):
        kind, detail = read_json(folder / VALUES).get(name, ("json", None))
        return detail if kind == "json" else None


def size(folder: str | os.PathLike[str]) -> int:
    """Return the bytes of all files in a folder."""
    return sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())


def write_text(path: Path, text: str) -> None:
    """Write a file in one go: whoever looks sees the old one or the new one.

    A link stays, and what it leads to is replaced; a device or a pipe is written to.
    """
    options: dict[str, Any] = {"encoding": "utf-8", "errors": "surrogateescape"}
    try:
        if path.exists() and not path.is_file():
            path.write_text(text, **options)
            return
    except OSError as error:
        raise _unwritable(path, error) from error
    with writing_file(path) as temporary, temporary.open("x", **options) as file:
        file.write(text)


@contextmanager
def writing_file(path: Path) -> Iterator[Path]:
    """Give a temporary file to write to; on success it becomes the file, whole or not at all.

    A link stays, and what it leads to is replaced.
    """
    try:
        target = path.resolve()
        # a name of this writer: ids of processes return, and what a killed one left may be there;
        # long names must not become too long by it
        own = f"{os.getpid()}-{secrets.token_hex(4)}"
        temporary = target.with_name(f".{target.name[:50]}-{own}.part")
        try:
            yield temporary
            if target.exists():
                shutil.copymode(target, temporary)
            put_in_place(temporary, target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise _unwritable(path, error) from error


def _write_card(folder: Path, replaced: Path, card: Callable[[Mapping[str, Json]], str]) -> None:
    """Write the card of a new folder, or copy that of the replaced one if somebody edited it."""
    if _keeps_card(replaced):
        shutil.copyfile(replaced / CARD, folder / CARD)
        return
    old = read_card(replaced)
    (folder / CARD).write_text(card({} if old is None else old.told), encoding="utf-8")


def _keeps_card(folder: Path) -> bool:
    """Tell whether a folder has a card that somebody edited."""
    card = read_card(folder)
    return card is not None and card.edited and not (folder / CARD).is_symlink()


# --- values -----------------------------------------------------------------------------------


def _write_value(folder: Path, name: str, value: Any) -> tuple[str, Json]:
    if isinstance(value, np.ndarray):
        if value.dtype.hasobject:
            raise StorageError(f"{name} is an array of Python objects, which cannot be saved")
        with (folder / f"{name}.npy").open("wb") as file:
            np.lib.format.write_array(_Plain(file), value, allow_pickle=False)
        return "array", None
    if isinstance(value, csr_array):
        for part in ("data", "indices", "indptr"):
            _write_value(folder, f"{name}.{part}", getattr(value, part))
        return "csr", list(value.shape)
    if isinstance(value, TokenSequences):
        _write_value(folder, f"{name}.tokens", value.tokens)
        _write_value(folder, f"{name}.offsets", value.offsets)
        return "tokens", value.n_terms
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        packed = PackedStrings.of(value)
        _write_value(folder, f"{name}.bytes", packed.utf8)
        _write_value(folder, f"{name}.ends", packed.ends)
        return "strings", None
    return "json", value.item() if isinstance(value, np.generic) else value


def _read_value(folder: Path, name: str, kind: str, detail: Json) -> Any:
    if not PLAIN_NAME.fullmatch(name):
        raise ValueError(f"{name!r} is no name of a value")
    if kind == "array":
        return _read_array(folder / f"{name}.npy")
    if kind == "csr":
        data, indices, indptr = (
            _read_array(folder / f"{name}.{part}.npy") for part in ("data", "indices", "indptr")
        )
        return _checked_csr(name, data, indices, indptr, detail)
    if kind == "tokens":
        tokens = _read_array(folder / f"{name}.tokens.npy")
        starts = _read_array(folder / f"{name}.offsets.npy")
        checks.array(f"{name}.tokens", tokens, np.int32, (None,))
        checks.offsets(f"{name}.offsets", starts, len(tokens))
        checks.below(f"{name}.tokens", tokens, checks.whole(f"{name}.n_terms", detail))
        return TokenSequences(tokens, starts, detail)
    if kind == "strings":
        utf8, ends = (_read_array(folder / f"{name}.{part}.npy") for part in ("bytes", "ends"))
        return PackedStrings.checked(name, utf8, ends).decode()
    if kind == "json":
        return detail
    raise ValueError(f"unknown kind of value {kind!r}")


def _read_array(path: Path) -> NDArray[Any]:
    # a plain view of the map: with a subclass every slice and every call of a kernel is slower
    found = np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))
    if found.dtype.kind not in "biuf":
        raise ValueError(f"{path.name} holds {found.dtype}, not numbers")
    return found


def _checked_csr(
    name: str, data: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any], shape: Json
) -> csr_array:
    """Return a csr array whose offsets and indices stay inside it: scipy does not look."""
    n, width = (checks.whole(f"{name}.shape", each) for each in shape)
    n_entries = len(checks.array(f"{name}.data", data, data.dtype, (None,)))
    checks.array(f"{name}.indices", indices, (np.int32, np.int64), (n_entries,))
    checks.array(f"{name}.indptr", indptr, (np.int32, np.int64), (n + 1,))
    checks.rising(f"{name}.indptr", indptr, n_entries)
    checks.below(f"{name}.indices", indices, width)
    return csr_array((data, indices, indptr), shape=(n, width), copy=False)


class _Plain:
    """A file that numpy writes to as to any stream: its direct way hides a full disk."""

    def __init__(self, file: IO[bytes]) -> None:
        self.write = file.write


def _unwritable(target: Path, error: OSError) -> StorageError:
    if error.errno == errno.ENOSPC:
        return StorageError(f"no space left on the disk while writing {target}; nothing was saved")
    return StorageError(f"cannot write {target}: {error.strerror or error}; nothing was saved")
