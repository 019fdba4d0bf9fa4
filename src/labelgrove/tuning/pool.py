"""Processes that make trials side by side, each with its share of the cores."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Protocol, Self

from labelgrove.core import system

# a new interpreter looks for modules where this one does
BEGIN = (
    "import json, sys; from importlib import import_module; "
    "sys.path[:] = json.loads(sys.argv[1]); import_module(sys.argv[2]).main()"
)
OF_TRIALS = "labelgrove.tuning.worker"
LIBRARIES = ("OMP", "OPENBLAS", "MKL", "NUMEXPR", "RAYON", "VECLIB_MAXIMUM")
Message = dict[str, Any]


class TrialPool(Protocol):
    """Processes that make trials, each one at a time."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *error: object) -> None: ...

    @property
    def busy(self) -> list[int]:
        """Numbers of the trials under way."""
        ...

    @property
    def is_free(self) -> bool:
        """True if another trial can be submitted."""
        ...

    def submit(self, task: int, order: Message) -> None:
        """Start a trial in a free process."""
        ...

    def reply(self, task: int, message: Message) -> None:
        """Send the process of a trial the answer that it waits for."""
        ...

    def receive(self, seconds: float | None) -> tuple[int, Message] | None:
        """Return the number of a trial and its next message, or None after ``seconds``.

        Any message without a ``"step"`` ends the trial.
        """
        ...


class TrialHosts(Protocol):
    """Machines that make trials in place of this one."""

    def share(self, jobs: int | None, threads: int | None) -> tuple[int, int]:
        """Return how many trials they make at once, and how many threads each has.

        Parameters
        ----------
        jobs
            Most trials at once; None for as many as there are CPUs.
        threads
            Most threads of all trials together; None for as many as there are CPUs.
        """
        ...

    def pool(self, jobs: int, threads: int) -> TrialPool:
        """Return processes for so many trials at once."""
        ...


@dataclass
class _Worker:
    process: subprocess.Popen[str]
    task: int | None = None  # number of its trial


class WorkerPool:
    """Several worker processes, each started when it is first needed.

    Parameters
    ----------
    jobs
        Number of processes.
    threads
        Threads of each process.
    folder
        Where their logs go: what libraries print.
    module
        What they run: a module with a function ``main`` that answers orders.
    """

    def __init__(self, jobs: int, threads: int, folder: Path, module: str = OF_TRIALS) -> None:
        self._jobs, self._threads, self._folder = jobs, threads, folder
        self._module = module
        self._workers: dict[int, _Worker] = {}
        self._received: SimpleQueue[tuple[int, Message | None]] = SimpleQueue()
        self._started = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        for worker in self._workers.values():
            system.HERE.kill(worker.process)
        for worker in self._workers.values():
            _end(worker.process)

    @property
    def busy(self) -> list[int]:
        """Numbers of the trials under way."""
        return [each.task for each in self._workers.values() if each.task is not None]

    @property
    def is_free(self) -> bool:
        """True if another trial can be submitted."""
        return len(self.busy) < self._jobs

    def submit(self, task: int, order: Message) -> None:
        """Start a trial in a free process."""
        free = [worker for worker in self._workers.values() if worker.task is None]
        worker = free[0] if free else self._start()
        worker.task = task
        _send(worker.process, order)

    def reply(self, task: int, message: Message) -> None:
        """Send the process of a trial the answer that it waits for."""
        _send(next(w for w in self._workers.values() if w.task == task).process, message)

    def receive(self, seconds: float | None) -> tuple[int, Message] | None:
        """Return the number of a trial and its next message, or None after ``seconds``.

        Any message without a ``"step"`` ends the trial.
        """
        while True:
            try:
                number, message = self._received.get(timeout=seconds)
            except Empty:
                return None
            worker = self._workers[number]
            task = worker.task
            if message is None:  # the process has ended
                message = {"error": self._last_words(number, _end(worker.process))}
                del self._workers[number]
            if task is None:
                continue
            if "step" not in message:
                worker.task = None
            return task, message

    def _start(self) -> _Worker:
        number, self._started = self._started, self._started + 1
        own = {f"{name}_NUM_THREADS": str(self._threads) for name in LIBRARIES}
        with self._log(number).open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-c", BEGIN, json.dumps(sys.path), self._module],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                encoding="utf-8",
                env={**os.environ, **own},
                **system.HERE.apart(),  # Ctrl-C is ours to answer
            )
        self._workers[number] = _Worker(process)
        threading.Thread(target=self._listen, args=(number, process), daemon=True).start()
        return self._workers[number]

    def _listen(self, number: int, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        try:
            for line in process.stdout:
                self._received.put((number, json.loads(line)))
        except ValueError:  # it died inside a line, or nobody can understand it any more
            system.HERE.kill(process)
        finally:
            self._received.put((number, None))

    def _log(self, number: int) -> Path:
        return self._folder / f"process-{number}.log"

    def _last_words(self, number: int, code: int) -> str:
        if code == -9:
            return "its process was killed: there may not be enough memory for it"
        lines = self._log(number).read_text("utf-8", "replace").strip().splitlines()
        said = f": {lines[-1].strip()}" if lines else ""
        return f"its process ended with code {code}{said}"


def _send(process: subprocess.Popen[str], message: Message) -> None:
    assert process.stdin is not None
    with suppress(BrokenPipeError):  # if it has ended, its listener will tell
        process.stdin.write(json.dumps(message) + "\n")
        process.stdin.flush()


def _end(process: subprocess.Popen[str]) -> int:
    """Wait for a process that ends, and close what leads to it."""
    code = process.wait()
    for stream in (process.stdin, process.stdout):
        assert stream is not None
        with suppress(BrokenPipeError):
            stream.close()
    return code
