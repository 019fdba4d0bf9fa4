"""A folder that results are written into, file by file: on a drive or in an object store."""

from __future__ import annotations

import errno
import os
import secrets
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

from labelgrove.core import remote_files, storage
from labelgrove.core.durability import make_folders, put_in_place
from labelgrove.core.errors import FullDiskError, InputError, StorageError
from labelgrove.core.folder_locks import lock, open_folder
from labelgrove.core.manifest import MANIFEST, saved_folder_around

TEMPORARY = ".part"  # how names end while a file is written


class ResultFolder(ABC):
    """A folder of results; names are relative to it and have slashes.

    Parameters
    ----------
    name
        Its path or URL.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    @abstractmethod
    def sizes(self) -> dict[str, int]:
        """Return all files in it and their bytes; none if there is no such folder."""

    @abstractmethod
    def read(self, names: Sequence[str]) -> dict[str, str]:
        """Return the texts of files, by name."""

    @abstractmethod
    def write(self, name: str, text: str) -> None:
        """Write a text, whole or not at all."""

    @abstractmethod
    def temporary(self, name: str) -> AbstractContextManager[Path]:
        """Give a path of this machine to write a file to, which is gone afterwards."""

    @abstractmethod
    def put(self, temporary: Path, name: str) -> None:
        """Make a finished temporary file the file of this name, whole or not at all."""

    @abstractmethod
    def remove(self, names: Iterable[str]) -> None:
        """Remove files."""

    @abstractmethod
    def held(self) -> AbstractContextManager[None]:
        """Make the folder, and hold it against other processes where that is possible.

        One that was made for nothing is removed again.
        """


class LocalFolder(ResultFolder):
    """A folder on a drive."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._path = Path(name)

    def sizes(self) -> dict[str, int]:
        """Return all files in it and their bytes; none if there is no such folder."""
        files = (path for path in self._path.rglob("*") if path.is_file())
        return {path.relative_to(self._path).as_posix(): path.stat().st_size for path in files}

    def read(self, names: Sequence[str]) -> dict[str, str]:
        """Return the texts of files, by name."""
        with told(self.name, "read"):
            return {name: (self._path / name).read_text(encoding="utf-8") for name in names}

    def write(self, name: str, text: str) -> None:
        """Write a text, whole or not at all."""
        path = self._path / name
        with told(self.name):
            make_folders(path.parent)
        storage.write_text(path, text)

    @contextmanager
    def temporary(self, name: str) -> Iterator[Path]:
        """Give a path in the folder, so that a rename is enough."""
        path = self._path / f".{name}-{secrets.token_hex(4)}{TEMPORARY}"
        try:
            yield path
        finally:
            path.unlink(missing_ok=True)

    def put(self, temporary: Path, name: str) -> None:
        """Rename a temporary file, flushed."""
        with told(self.name):
            put_in_place(temporary, self._path / name)

    def remove(self, names: Iterable[str]) -> None:
        """Remove files, and the folders that are empty then."""
        with told(self.name):
            above = set()
            for name in names:
                path = self._path / name
                path.unlink(missing_ok=True)
                above.add(path.parent)
            for folder in above - {self._path}:
                if folder.is_dir() and not any(folder.iterdir()):
                    folder.rmdir()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Make the folder, and lock it against other processes."""
        if self._path.exists() and not self._path.is_dir():
            raise InputError(f"{self.name} is a file; the results need a folder")
        if around := saved_folder_around(self._path / MANIFEST):
            raise InputError(f"{self.name} lies in the saved folder {around}; choose another one")
        was_there = self._path.exists()
        with told(self.name):
            make_folders(self._path)
        with open_folder(self._path) as handle:
            if lock(handle) is False:
                raise InputError(f"another process is writing to {self.name}: wait until it ends")
            try:
                yield
            finally:
                if not was_there:
                    with suppress(OSError):  # it holds something
                        self._path.rmdir()


class RemoteFolder(ResultFolder):
    """A folder in an object store, where a file appears when it is whole."""

    def __init__(self, name: str) -> None:
        super().__init__(name.rstrip("/"))
        self._system, path = remote_files.file_system(name)
        self._root = path.rstrip("/")

    def sizes(self) -> dict[str, int]:
        """Return all files in it and their bytes; none if there is no such folder."""
        with remote_files.explained(self.name):
            self._system.invalidate_cache()
            try:
                listed = self._system.find(self._root, detail=True)
            except FileNotFoundError:
                return {}
        start = len(self._root) + 1
        return {path[start:]: int(info["size"]) for path, info in listed.items() if path[start:]}

    def read(self, names: Sequence[str]) -> dict[str, str]:
        """Return the texts of files, by name; many are asked for at once."""
        if not names:
            return {}
        with remote_files.explained(self.name):
            contents = self._system.cat([f"{self._root}/{name}" for name in names])
            return {name: bytes(contents[f"{self._root}/{name}"]).decode() for name in names}

    def write(self, name: str, text: str) -> None:
        """Write a text as one object."""
        with self._writing(name) as path:
            self._system.pipe_file(path, text.encode())

    @contextmanager
    def temporary(self, name: str) -> Iterator[Path]:
        """Give a path in a temporary folder of this machine."""
        with tempfile.TemporaryDirectory(prefix="labelgrove-") as folder:
            yield Path(folder, name)

    def put(self, temporary: Path, name: str) -> None:
        """Upload a temporary file."""
        with self._writing(name) as path:
            self._system.put_file(os.fspath(temporary), path)

    def remove(self, names: Iterable[str]) -> None:
        """Remove objects, many at once."""
        paths = [f"{self._root}/{name}" for name in names]
        if paths:
            with self._writing(""):
                self._system.rm(paths)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Make the folder where a store has folders; object stores know no locks."""
        # in an object store that would make a bucket of a typing error
        if not remote_files.is_object_store(self.name):
            with self._writing("") as path:
                self._system.makedirs(path.rstrip("/"), exist_ok=True)
        yield

    @contextmanager
    def _writing(self, name: str) -> Iterator[str]:
        try:
            with remote_files.explained(f"{self.name}/{name}".rstrip("/"), "write"):
                yield f"{self._root}/{name}"
        except InputError as error:
            raise StorageError(str(error)) from error


def open_result_folder(name: str) -> LocalFolder | RemoteFolder:
    """Return the folder that a path or URL names."""
    return RemoteFolder(name) if remote_files.is_url(name) else LocalFolder(name)


@contextmanager
def told(place: str, verb: str = "write to") -> Iterator[None]:
    """Turn errors of the system into one that names where the results go."""
    try:
        yield
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise FullDiskError(
                f"no space left on the disk while writing to {place}; finished parts stay"
            ) from error
        raise StorageError(f"cannot {verb} {place}: {error.strerror or error}") from error
