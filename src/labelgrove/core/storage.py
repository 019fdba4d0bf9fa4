"""Saved folders: a manifest, JSON, and arrays that are memory-mapped on load. Never pickle.

A folder is written under a temporary name beside its place, flushed to the disk, and renamed, so
a crash leaves the old folder or none. The manifest holds the size and checksum of every
file; what is incomplete, altered or of a newer format is refused.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import IO, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelgrove._version import __version__
from labelgrove.core.errors import DamagedError, InputError, NewerFormatError, StorageError
from labelgrove.core.features import TokenSequences
from labelgrove.core.interrupts import held_back
from labelgrove.core.progress import Progress, Silent
from labelgrove.core.strings import PackedStrings
from labelgrove.core.threads import workers

FORMAT = 1
MANIFEST = "manifest.json"
LOCK = "lock"
VALUES = "values.json"
MEGABYTE = 10**6
LARGE = 250 * MEGABYTE  # what is read so fast that nobody waits needs no progress
FLUSHES = 8  # files flushed at once: a disk takes little longer for several than for one
Json: TypeAlias = Any


@contextmanager
def writing(
    folder: str | os.PathLike[str], about: Mapping[str, Json], *, overwrite: bool = False
) -> Iterator[Path]:
    """Give a temporary folder to write into; on success it becomes ``folder``.

    Parameters
    ----------
    folder
        The place to save to.
    about
        What the manifest says of the content: registry names, settings, scores.
    overwrite
        Replace what is there. Only a folder that labelgrove wrote is ever replaced.
    """
    check_free(folder, overwrite=overwrite)
    target = Path(folder).resolve()  # a link stays, what it points to is replaced
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
        temporary.chmod(0o755)  # mkdtemp's is private
    except OSError as error:
        raise _unwritable(target, error) from error
    try:
        yield temporary
        _write_manifest(temporary, about)
        check_free(target, overwrite=overwrite)  # the work took a while
        _move(temporary, target)
    except OSError as error:
        raise _unwritable(target, error) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def check_free(folder: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Refuse a place that is taken or cannot be written, before the work that leads there."""
    try:
        target = Path(folder).resolve()
        if target.exists() and not (target.is_dir() and not any(target.iterdir())):
            if not (target / MANIFEST).is_file():
                raise InputError(
                    f"{folder} exists and is nothing that labelgrove wrote, so it is not "
                    "overwritten; choose another folder"
                )
            if not overwrite:
                raise InputError(
                    f"{folder} exists already; choose another folder, or allow overwriting "
                    "(overwrite=True, --overwrite)"
                )
        above = next(parent for parent in target.parents if parent.exists())
        Path(tempfile.mkdtemp(prefix=f".{target.name[:50]}-", dir=above)).rmdir()
    except OSError as error:
        raise _unwritable(Path(folder), error) from error


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold a folder, made if need be, against other processes; empty, it is gone afterwards."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = (folder / LOCK).open("w")
    except OSError as error:
        raise _unwritable(folder, error) from error
    with handle:
        try:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except ImportError:  # on Windows folders are not held
            pass
        except OSError as error:
            raise InputError(
                f"another process works in {folder}: wait until it ends, or choose another folder"
            ) from error
        try:
            yield
        finally:
            if folder.exists() and not holds_work(folder):
                shutil.rmtree(folder, ignore_errors=True)


def holds_work(folder: Path) -> bool:
    """Tell whether a folder that was `locked`, or is not there, holds anything but its lock."""
    return folder.is_dir() and any(path.name != LOCK for path in folder.iterdir())


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
    folder
        A folder written by `writing`.
    verify
        Compare checksums too, not only names and sizes; this reads every file once.
    progress
        Where it is shown that a large folder is read.
    signed_by
        The file of a public key that must have signed the manifest; None for no signature.
    """
    if signed_by is not None and not verify:
        raise InputError("a signature covers the checksums, so they must be compared too")
    source = Path(folder)
    if not source.exists():
        raise InputError(f"no such folder: {source}")
    path = source / MANIFEST
    if not path.is_file():
        raise InputError(f"{source} is not a saved labelgrove folder: it has no {MANIFEST}")
    manifest = _parse(path)
    if not isinstance(manifest, dict) or not isinstance(manifest.get("format"), int):
        raise DamagedError(f"{path} is damaged: it has no format number; save the model again")
    if manifest["format"] > FORMAT:
        raise NewerFormatError(
            f"{source} has format {manifest['format']}, written by labelgrove "
            f"{manifest.get('labelgrove')}; this is labelgrove {__version__}, which reads up to "
            f"format {FORMAT}: pip install --upgrade labelgrove"
        )
    if manifest.get("checksum") != _manifest_checksum(manifest):
        raise DamagedError(f"{path} was altered: its checksum does not fit; save the model again")
    if signed_by is not None:
        from labelgrove.core.signing import check_signature

        check_signature(source, manifest, signed_by)
    _check_sizes(source, manifest["files"])
    if verify:
        _check_sums(source, manifest["files"], progress or Silent())
    return manifest


def write_values(folder: Path, values: Mapping[str, Any]) -> None:
    """Write named values into ``folder``: arrays, csr arrays, token sequences, strings, JSON."""
    folder.mkdir(parents=True, exist_ok=True)
    described = {name: _write_value(folder, name, value) for name, value in values.items()}
    write_json(folder / VALUES, described)


def read_values(folder: Path) -> dict[str, Any]:
    """Return what `write_values` wrote; arrays are memory-mapped and read-only."""
    described = _parse(folder / VALUES)
    try:
        return {name: _read_value(folder, name, *entry) for name, entry in described.items()}
    except (ValueError, KeyError, TypeError, OSError, EOFError) as error:
        raise DamagedError(f"{folder} is damaged: {error}; save the model again") from error


def size(folder: str | os.PathLike[str]) -> int:
    """Return the bytes of all files in a folder."""
    return sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())


def as_json(value: Json) -> str:
    """Return a value as lines of JSON; numpy's numbers become plain ones."""
    return json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False, default=_plain) + "\n"


def write_json(path: Path, value: Json) -> None:
    """Write JSON; a value that JSON does not know is an error that names it."""
    try:
        text = as_json(value)
    except (TypeError, ValueError) as error:
        raise StorageError(f"{path.name} cannot hold this value: {error}") from error
    path.write_text(text, encoding="utf-8", errors="surrogatepass")


def write_text(path: Path, text: str) -> None:
    """Write a file in one go: whoever looks sees the old one or the new one.

    A link stays, and what it leads to is replaced; a device or a pipe is written to.
    """
    try:
        if path.exists() and not path.is_file():
            path.write_text(text, "utf-8", "surrogateescape")
            return
        target = path.resolve()
        # a name of this process; long names must not become too long by it
        temporary = target.with_name(f".{target.name[:50]}-{os.getpid()}.part")
        with temporary.open("x", encoding="utf-8", errors="surrogateescape") as file:
            try:
                file.write(text)
                file.close()  # a full disk may be told here
                if target.exists():
                    shutil.copymode(target, temporary)
                temporary.replace(target)
            except BaseException:
                temporary.unlink(missing_ok=True)
                raise
    except OSError as error:
        raise _unwritable(path, error) from error


def _plain(value: Any) -> Any:
    """Return a numpy number as a plain one, for JSON."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} {value!r}")


def _parse(path: Path) -> Json:
    try:
        return json.loads(path.read_text(encoding="utf-8", errors="surrogatepass"))
    except (OSError, ValueError, RecursionError) as error:
        raise DamagedError(f"{path} is damaged: {error}; save the model again") from error


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
    if kind == "array":
        return _read_array(folder / f"{name}.npy")
    if kind == "csr":
        parts = [
            _read_array(folder / f"{name}.{part}.npy") for part in ("data", "indices", "indptr")
        ]
        return csr_array(tuple(parts), shape=tuple(detail), copy=False)
    if kind == "tokens":
        tokens = _read_array(folder / f"{name}.tokens.npy")
        return TokenSequences(tokens, _read_array(folder / f"{name}.offsets.npy"), detail)
    if kind == "strings":
        utf8, ends = (_read_array(folder / f"{name}.{part}.npy") for part in ("bytes", "ends"))
        return PackedStrings(utf8, ends).decode()
    if kind == "json":
        return detail
    raise ValueError(f"unknown kind of value {kind!r}")


def _read_array(path: Path) -> NDArray[Any]:
    # a plain view of the map: with a subclass every slice and every call of a kernel is slower
    return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))


class _Plain:
    """A file that numpy writes to as to any stream: its direct way hides a full disk."""

    def __init__(self, file: IO[bytes]) -> None:
        self.write = file.write


# --- manifest ---------------------------------------------------------------------------------


def _write_manifest(folder: Path, about: Mapping[str, Json]) -> None:
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
    manifest["checksum"] = _manifest_checksum(manifest)
    write_json(folder / MANIFEST, manifest)


def _manifest_checksum(manifest: Mapping[str, Json]) -> str:
    rest = {name: value for name, value in manifest.items() if name != "checksum"}
    text = json.dumps(rest, sort_keys=True, ensure_ascii=True, default=_plain)
    return hashlib.sha256(text.encode()).hexdigest()


def _versions() -> dict[str, str]:
    versions = {"python": ".".join(map(str, sys.version_info[:3]))}
    for package in ("numpy", "scipy", "scikit-learn", "numba", "torch", "transformers"):
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return versions


def _checksums(files: list[Path]) -> Iterator[str]:
    with ThreadPoolExecutor(workers(None)) as pool:  # hashing leaves the GIL
        yield from pool.map(_checksum, files)


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _check_sizes(source: Path, files: Mapping[str, Mapping[str, Json]]) -> None:
    for name, facts in files.items():
        path = source / name
        if not path.is_file():
            raise DamagedError(f"{path} is missing; save the model again")
        if (size := path.stat().st_size) != facts["bytes"]:
            raise DamagedError(
                f"{path} has {size:,} bytes instead of {facts['bytes']:,}: it was cut short or "
                "altered; save the model again"
            )


def _check_sums(source: Path, files: Mapping[str, Mapping[str, Json]], progress: Progress) -> None:
    total = sum(facts["bytes"] for facts in files.values())
    shown = progress if total >= LARGE else Silent()
    with shown.task(f"loading {source}", total // MEGABYTE, "MB") as task:
        checksums, done = _checksums([source / name for name in files]), 0
        for (name, facts), checksum in zip(files.items(), checksums, strict=True):
            if checksum != facts["sha256"]:
                raise DamagedError(
                    f"{source / name} was altered: its checksum does not fit; save the model again"
                )
            before, done = done, done + facts["bytes"]
            task.advance(done // MEGABYTE - before // MEGABYTE)


# --- moving into place ------------------------------------------------------------------------


def _move(temporary: Path, target: Path) -> None:
    flush(temporary)
    if target.exists():
        old = Path(tempfile.mkdtemp(prefix=f".{target.name}-old-", dir=target.parent))
        with held_back():  # between the two there is no folder
            target.rename(old)
            try:
                temporary.rename(target)
            except OSError:
                old.rename(target)
                raise
            shutil.rmtree(old, ignore_errors=True)
    else:
        temporary.rename(target)
    _flush(target.parent)


def flush(folder: Path) -> None:
    """Wait until a folder and all in it are on the disk, so that they outlive a power cut."""
    with ThreadPoolExecutor(FLUSHES) as pool:
        list(pool.map(_flush, [*folder.rglob("*"), folder]))


def _flush(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _unwritable(target: Path, error: OSError) -> StorageError:
    if error.errno == errno.ENOSPC:
        return StorageError(f"no space left on the disk while writing {target}; nothing was saved")
    return StorageError(f"cannot write {target}: {error.strerror or error}; nothing was saved")
