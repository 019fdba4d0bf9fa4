"""Files behind URLs such as ``s3://bucket/file``, reached through fsspec."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any

from labelgrove.core.errors import FullDiskError, InputError, LabelgroveError, MissingExtraError
from labelgrove.core.extras import need

MARKS = ("ETag", "etag", "md5Hash", "mtime", "LastModified", "last_modified", "updated")
DRIVERS = {"s3": "s3fs", "s3a": "s3fs", "gs": "gcsfs", "gcs": "gcsfs"}


def is_url(name: str) -> bool:
    """Tell whether a name is a URL rather than a path.

    Examples
    --------
    >>> is_url("s3://bucket/documents.jsonl"), is_url("documents.jsonl")
    (True, False)
    """
    return "://" in name


def is_object_store(url: str) -> bool:
    """Tell whether a URL leads to one of the stores in which folders are parts of names."""
    return url.partition("://")[0] in DRIVERS


def file_system(url: str) -> tuple[Any, str]:
    """Return fsspec's file system for a URL, and the path in it."""
    scheme = url.partition("://")[0]
    fsspec = need("fsspec", "cluster", f"{scheme}://")
    try:
        system, path = fsspec.core.url_to_fs(url)
    except ImportError as error:
        driver = DRIVERS.get(scheme)
        what = f"pip install {driver}" if driver else str(error)
        raise MissingExtraError(f"{scheme}:// needs a library that is missing: {what}") from error
    except ValueError as error:
        raise InputError(f"cannot use {url}: {error}") from error
    return system, str(path)


@contextmanager
def explained(url: str, verb: str = "read") -> Iterator[None]:
    """Turn errors of a store's library into an `InputError` that names the URL."""
    try:
        yield
    except (LabelgroveError, MemoryError):
        raise
    except Exception as error:  # each library has its own: no rights, no network, no bucket
        if verb == "read" and isinstance(error, FileNotFoundError):
            raise InputError(f"there is no file {url}") from error
        reason = " ".join(str(error).split()) or type(error).__name__
        raise InputError(f"cannot {verb} {url}: {reason}") from error


def expanded(pattern: str) -> dict[str, str]:
    """Return the URLs of files that match a pattern with ``*``, sorted, with their marks."""
    system, path = file_system(pattern)
    with explained(pattern):
        found = system.glob(path, detail=True)  # one listing, where each info would be a request
    files = {each: info for each, info in found.items() if info.get("type") != "directory"}
    return {str(system.unstrip_protocol(each)): mark(files[each]) for each in sorted(files)}


def mark_of(url: str) -> str:
    """Return what changes when the content of a file does."""
    system, path = file_system(url)
    with explained(url):
        info = system.info(path)
    if info.get("type") == "directory":
        raise InputError(f"{url} is a folder; name the files in it, such as {url.rstrip('/')}/*")
    return mark(info)


def mark(info: Mapping[str, Any]) -> str:
    """Return a file's size with a checksum of the store, or a time."""
    content = next((str(info[name]) for name in MARKS if info.get(name) is not None), "")
    return f"{info['size']} {content}"


@contextmanager
def local_copy(name: str) -> Iterator[Path]:
    """Give the path of a file; what is behind a URL is copied to a temporary file.

    Readers go through a file more than once, so it cannot be streamed.
    """
    if not is_url(name):
        yield Path(name)
        return
    system, path = file_system(name)
    folder = tempfile.mkdtemp(prefix="labelgrove-")
    try:
        copy = Path(folder, PurePosixPath(path).name)
        try:
            with explained(name):
                system.get_file(path, os.fspath(copy))
        except InputError as error:
            cause = error.__cause__
            if isinstance(cause, OSError) and cause.errno == errno.ENOSPC:
                raise FullDiskError(f"no space left in {folder} to copy {name} to") from cause
            raise
        yield copy
    finally:
        shutil.rmtree(folder, ignore_errors=True)
