"""The process of a cluster that makes trials of a search, one after the other."""

from __future__ import annotations

import shutil
import socket
import tempfile
import threading
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.cluster.failures import pack
from labelgrove.cluster.versions import Versions, compare, versions_here
from labelgrove.tuning.pool import Message
from labelgrove.tuning.worker import carry_out

Files = dict[str, NDArray[np.uint8]]


class TrialProcess:
    """Makes the trials that are ordered; lives in a worker of the cluster.

    A trial asks whether to go on, so it is no task of the cluster, which could not be answered:
    each method takes a message to the trial and returns its next one.

    Parameters
    ----------
    versions
        Those of the process that searches, which must be the same here.
    home
        The node where that process runs, and what it wrote can be read.
    search
        A name of the search that no other has.
    """

    def __init__(self, versions: Versions, home: str, search: str) -> None:
        self._versions, self._home, self._search = versions, home, search
        self._messages: SimpleQueue[Message] = SimpleQueue()
        self._replies: SimpleQueue[Message] = SimpleQueue()

    def begin(self, order: Message, files: list[Any]) -> Message:
        """Begin a trial; return what it says first.

        Parameters
        ----------
        order
            What to try.
        files
            A reference of the dataset's files in the object store, or nothing.
        """
        try:
            compare(socket.gethostname(), versions_here(), self._versions)
            order = {**order, "dataset": str(self._dataset(Path(order["dataset"]), files))}
        except Exception as error:
            return {"failed": pack(error)}
        threading.Thread(target=self._make, args=(order,), daemon=True).start()
        return self._messages.get()

    def go_on(self, reply: Message) -> Message:
        """Answer a trial; return what it says next."""
        self._replies.put(reply)
        return self._messages.get()

    def ready(self) -> bool:
        """Return True once the process has started."""
        return True

    def forget(self) -> None:
        """Remove what was written on this node."""
        shutil.rmtree(self._copies, ignore_errors=True)

    def _make(self, order: Message) -> None:
        def ask(message: Message) -> Message:
            self._messages.put(message)
            return self._replies.get()

        self._messages.put(carry_out(order, ask))

    @property
    def _copies(self) -> Path:
        return Path(tempfile.gettempdir()) / f"labelgrove-{self._search}"

    def _dataset(self, folder: Path, files: list[Any]) -> Path:
        """Return where this node finds a dataset: the folder itself, or a copy of it."""
        import ray

        here = ray.get_runtime_context().get_node_id() == self._home
        if here or not files or folder.exists():
            return folder
        copy = self._copies / folder.name
        if not copy.exists():
            unpack_files(ray.get(files[0]), copy)
        return copy


def pack_files(folder: Path) -> Files:
    """Return the content of all files below a folder, by their names."""
    return {
        path.relative_to(folder).as_posix(): np.asarray(np.memmap(path, np.uint8, "r"))
        if path.stat().st_size
        else np.empty(0, np.uint8)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def unpack_files(files: Files, folder: Path) -> None:
    """Write files into a new folder, whole or not at all: several processes may do it at once."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    part = Path(tempfile.mkdtemp(prefix=f"{folder.name}.part-", dir=folder.parent))
    try:
        for name, content in files.items():
            path = part / name
            path.parent.mkdir(parents=True, exist_ok=True)
            content.tofile(path)
        try:
            part.rename(folder)
        except OSError:
            if not folder.exists():
                raise
    finally:
        shutil.rmtree(part, ignore_errors=True)  # if another was faster
