"""Parts of a model that are learned independently, in threads, and kept in the run folder."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from scipy.sparse import csr_array

from labelgrove._version import __version__
from labelgrove.core import storage
from labelgrove.core.durability import make_folders, put_in_place
from labelgrove.core.errors import DamagedError, InputError, StorageError
from labelgrove.core.threads import workers
from labelgrove.core.types import Run

Part: TypeAlias = dict[str, Any]  # arrays, csr arrays and plain values by name
ANEW = "start anew (resume=False; --overwrite without --resume)"


def fingerprint(settings: Mapping[str, Any], matrices: Iterable[csr_array]) -> str:
    """Return a checksum of all that the parts depend on."""
    settings = {name: value for name, value in settings.items() if name != "threads"}
    digest = hashlib.blake2b(repr((__version__, settings)).encode(), digest_size=16)
    for matrix in matrices:
        digest.update(repr(matrix.shape).encode())
        for array in (matrix.indptr, matrix.indices, matrix.data):
            digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def learn_parts(
    n: int,
    learn: Callable[[int], Part],
    run: Run,
    about: Callable[[], str],
    unit: str,
    threads: int | None,
) -> list[Part]:
    """Return n parts in their order, whatever the order in which they were learned.

    Parameters
    ----------
    n
        Number of parts.
    learn
        Learns the part of a number. Several run at once, so it should leave the interpreter alone
        for most of its time.
    run
        Shows the progress. Its folder keeps what is finished, and a resumed training does not
        learn that again.
    about
        Returns a checksum of what the parts depend on; asked only where there is a folder.
    unit
        What a part is called, in the plural.
    threads
        None for all cores.
    """
    kept = _KeptParts(run, about() if run.folder else "")
    done = {number: part for number in range(n) if (part := kept.find(number)) is not None}
    with run.progress.task("training", n, unit, len(done)) as shown:
        for number, part in _in_threads(
            learn, [number for number in range(n) if number not in done], workers(threads)
        ):
            done[number] = part
            kept.keep(number, part)
            shown.advance()
    return [done[number] for number in range(n)]


def _in_threads(
    learn: Callable[[int], Part], todo: list[int], n_threads: int
) -> Iterable[tuple[int, Part]]:
    """Yield parts as they come; only as many as there are threads wait to begin."""
    waiting: dict[Future[Part], int] = {}
    with ThreadPoolExecutor(n_threads) as pool:
        try:
            while todo or waiting:
                while todo and len(waiting) < n_threads + 1:
                    number = todo.pop(0)
                    waiting[pool.submit(learn, number)] = number
                ended, _ = wait(waiting, return_when=FIRST_COMPLETED)
                for future in sorted(ended, key=waiting.__getitem__):
                    yield waiting.pop(future), future.result()
        finally:
            for future in waiting:
                future.cancel()


class _KeptParts:
    """Finished parts in the folder of a run, each in a folder of its own."""

    def __init__(self, run: Run, about: str) -> None:
        self._folder, self._about = run.folder, about
        if self._folder is None:
            return
        others = [path for path in self._folder.glob("[!.]*") if path.name[:8] != "learned-"]
        if run.resume and others:
            raise InputError(
                f"{self._folder} holds a training of another kind of model ({others[0].name}): "
                f"give that again, or {ANEW}"
            )
        if not run.resume:
            for old in [*self._folder.glob("learned-*"), *self._folder.glob(".learned-*")]:
                shutil.rmtree(old)

    def find(self, number: int) -> Part | None:
        """Return a part that was kept, or None."""
        if self._folder is None or not (place := self._place(number)).is_dir():
            return None
        try:
            values = storage.read_values(place)
            about = values.pop("about")
        except (DamagedError, KeyError) as error:
            raise DamagedError(
                f"what was kept of the training in {place} is damaged: {ANEW}"
            ) from error
        if about != self._about:
            raise InputError(
                f"{self._folder} holds a training on other data or with other settings: give "
                f"those again, or {ANEW}"
            )
        return {name: _in_memory(value) for name, value in values.items()}

    def keep(self, number: int, part: Part) -> None:
        """Keep a part; a crash keeps it whole or not at all."""
        if self._folder is None:
            return
        place = self._place(number)
        temporary = place.with_name(f".{place.name}")
        try:
            make_folders(self._folder)
            shutil.rmtree(temporary, ignore_errors=True)  # of a run that was killed here
            storage.write_values(temporary, {**part, "about": self._about})
            put_in_place(temporary, place)
        except OSError as error:
            raise StorageError(
                f"cannot keep the training in {self._folder}: {error.strerror or error}; make "
                "room there, or choose another place"
            ) from error

    def _place(self, number: int) -> Path:
        assert self._folder is not None
        return self._folder / f"learned-{number:06d}"


def _in_memory(value: Any) -> Any:
    """Return a value that does not need the folder any more."""
    if isinstance(value, np.ndarray):
        return np.array(value)
    return value.copy() if isinstance(value, csr_array) else value
