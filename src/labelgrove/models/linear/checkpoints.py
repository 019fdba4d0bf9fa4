"""Checkpoints of a linear training: finished tasks in the run folder."""

from __future__ import annotations

import hashlib
import shutil
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelgrove._version import __version__
from labelgrove.core import storage
from labelgrove.core.durability import flush, make_folders, put_in_place
from labelgrove.core.errors import DamagedError, InputError, StorageError
from labelgrove.core.types import Run
from labelgrove.labels import LabelTree
from labelgrove.models.linear import tasks
from labelgrove.models.linear.solver import Solver
from labelgrove.models.linear.tasks import Chunk, NodeTask

FLUSH_SECONDS = 30.0


def fingerprint(
    X: csr_array,
    Y: csr_array,
    trees: Sequence[LabelTree],
    solver: Solver,
    more: Iterable[NDArray[Any]] = (),
) -> str:
    """Return a checksum of all that the result depends on."""
    about = (__version__, tasks.BLOCK, solver, X.shape, Y.shape)
    digest = hashlib.blake2b(repr(about).encode(), digest_size=16)
    levels = (level for tree in trees for level in tree.levels)
    for array in (X.indptr, X.indices, X.data, Y.indptr, Y.indices, *levels, *more):
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


class TaskCheckpoint:
    """Finished tasks in the run folder, written every half minute; nothing without a folder."""

    def __init__(self, run: Run, fingerprint: str) -> None:
        self._run, self._folder = run, run.folder
        self._fingerprint = fingerprint
        self._waiting: list[tuple[NodeTask, Chunk]] = []
        self._flushed = time.monotonic()
        self._part = 0

    def load(self) -> dict[NodeTask, Chunk]:
        """Return the finished tasks of an earlier run, or start a new one."""
        if self._folder is None:
            return {}
        note = self._folder / "training"
        if self._run.resume and note.exists():
            if note.read_text(encoding="utf-8") != self._fingerprint:
                raise InputError(
                    f"{self._folder} holds a training on other data or with other settings: give "
                    "those again, or start anew (resume=False; --overwrite without --resume)"
                )
            done: dict[NodeTask, Chunk] = {}
            for part in sorted(self._folder.glob("part-*")):
                done.update(_read_part(part))
                self._part = int(part.name.removeprefix("part-")) + 1
            self._run.progress.say(f"resuming: {len(done):,} groups of labels are done")
            return done
        others = [path for path in self._folder.glob("[!.]*") if path.name[:5] != "part-"]
        if self._run.resume and others:
            raise InputError(
                f"{self._folder} holds a training of another kind of model ({others[0].name}): "
                "give that again, or start anew (resume=False; --overwrite without --resume)"
            )
        with _writing_to(self._folder):
            make_folders(self._folder)
            note.unlink(missing_ok=True)  # first, since parts mean nothing without it
            flush(self._folder)
            for part in [*self._folder.glob("part-*"), *self._folder.glob(".part-*")]:
                shutil.rmtree(part)
            flush(self._folder)  # the new note must not find old parts after a power cut
            unfinished = self._folder / ".training"
            unfinished.write_text(self._fingerprint, encoding="utf-8")
            put_in_place(unfinished, note)
        return {}

    def add(self, task: NodeTask, chunk: Chunk) -> None:
        """Keep a result; write what is waiting if it is time."""
        if self._folder is not None:
            self._waiting.append((task, chunk))
            if time.monotonic() - self._flushed > FLUSH_SECONDS:
                self.flush()

    def flush(self) -> None:
        """Write what is waiting."""
        if self._folder is None or not self._waiting:
            return
        values: dict[str, Any] = {"tasks": np.array([task for task, _ in self._waiting], np.int64)}
        for name in Chunk._fields:
            parts = [getattr(chunk, name) for _, chunk in self._waiting]
            values[name] = np.concatenate(parts)
            values[f"{name}_size"] = np.array([len(part) for part in parts], np.int64)
        temporary = self._folder / f".part-{self._part:06d}"
        with _writing_to(self._folder):
            shutil.rmtree(temporary, ignore_errors=True)  # of a run that was killed here
            storage.write_values(temporary, values)
            put_in_place(temporary, self._folder / f"part-{self._part:06d}")
        self._part += 1
        self._waiting, self._flushed = [], time.monotonic()


@contextmanager
def _writing_to(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StorageError(
            f"cannot keep the training in {folder}: {error.strerror or error}; make room there, or "
            "choose another place"
        ) from error


def _read_part(folder: Path) -> dict[NodeTask, Chunk]:
    try:
        values = storage.read_values(folder)
        columns = [
            np.split(values[name], np.cumsum(values[f"{name}_size"])[:-1]) for name in Chunk._fields
        ]
        done = [NodeTask(*numbers) for numbers in values["tasks"].tolist()]
        return {task: Chunk(*parts) for task, *parts in zip(done, *columns, strict=True)}
    except (DamagedError, KeyError, TypeError, ValueError) as error:
        raise DamagedError(
            f"what was kept of the training in {folder} is damaged: start anew (resume=False; "
            "--overwrite without --resume)"
        ) from error
