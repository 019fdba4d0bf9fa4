"""Worker processes: started, kept alive, told to load anew, and ended together."""

from __future__ import annotations

import logging
import os
import signal
import socket
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import FrameType

import uvicorn
from uvicorn.supervisors.multiprocess import Multiprocess, Process

from labelgrove.core.errors import LabelgroveError
from labelgrove.service import metrics
from labelgrove.service.leaving import LeavingServer, ignore_new_connections
from labelgrove.service.settings import Settings
from labelgrove.service.signals import Terminal, ending, sighup_blocked
from labelgrove.service.snapshots import drop
from labelgrove.service.versions import Version, Versions

SILENT = 30  # seconds after which a worker that does not answer is replaced
ANSWERS_IN = 0.1  # seconds in which a worker tells that it lives, most of the time
LONGEST_PAUSE = 30.0  # seconds between two tries to start a worker, if others answer
LONGEST_ALONE = 5.0  # seconds between them, if no other answers
CALM = 60.0  # seconds without an end after which the next one counts as the first
LAST_WAIT = 5.0  # seconds beyond the time for answers, until a worker that ends is killed
TOLD = (0, -signal.SIGTERM, -signal.SIGINT)  # exit codes of workers that were told to end
log = logging.getLogger("labelgrove.service")


class Pauses:
    """How long to wait before a worker is replaced: not at all once, then longer each time.

    Parameters
    ----------
    clock
        Seconds.

    Examples
    --------
    >>> pauses = Pauses(clock=lambda: 0.0)
    >>> [pauses.after_an_end(alone=False) for _ in range(7)]
    [0.0, 1.0, 3.0, 7.0, 15.0, 30.0, 30.0]
    """

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._next = 0.0  # seconds to wait after the next end
        self._last = self._until = -CALM

    def after_an_end(self, *, alone: bool) -> float:
        """Count that a worker ended, and return the seconds to wait; ``alone``: none is left."""
        now = self._clock()
        if now - self._last >= CALM:
            self._next = 0.0
        pause = min(self._next, LONGEST_ALONE) if alone else self._next
        self._next = min(2 * self._next + 1, LONGEST_PAUSE)
        self._last, self._until = now, now + pause
        return pause

    def are_over(self) -> bool:
        """Tell whether a worker may be started."""
        return self._clock() >= self._until


class _ServiceWorker(Process):
    """A worker process with a server that drops no request when it stops."""

    @property
    def server(self) -> uvicorn.Server:
        if self._server is None:
            self._server = LeavingServer(self.config)
        return self._server


class Workers(Multiprocess):
    """Worker processes that share a socket; SIGHUP goes to all of them.

    One that ends, or is silent for long, is replaced, as long as another can answer meanwhile.

    Parameters
    ----------
    config
        Uvicorn's, for each of them.
    sockets
        What they listen on.
    ready
        Called once all of them answer.
    terminal
        The terminal with which they end.
    settings
        The service's.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        sockets: list[socket.socket],
        ready: Callable[[], None],
        terminal: Terminal,
        settings: Settings,
    ) -> None:
        super().__init__(config, sockets)
        self._ready = ready
        self._terminal = terminal
        for name in (signal.SIGTERM, signal.SIGINT):
            signal.signal(name, self._stop)
        self._settings = settings
        self._versions = Versions(Path(settings.shared))
        self._heard: dict[int | None, float] = {}  # when a process answered last
        self._pauses = Pauses()

    def run(self) -> None:
        """Serve until told to end; then no worker is left."""
        try:
            super().run()
        except BaseException:  # else Python would wait for the workers, for ever
            self.terminate_all()
            self.join_all()
            raise

    def init_processes(self) -> None:
        """Start all workers and wait until they answer."""
        self.processes = [self._started() for _ in range(self.processes_num)]
        for process in self.processes:
            while not process.wait_until_ready(1.0, self.should_exit):
                self.handle_signals()
                if self.should_exit.is_set():
                    return
                if not process.process.is_alive():
                    raise LabelgroveError("a worker ended before it was ready; see above why")
        self._ready()

    def keep_subprocess_alive(self) -> None:
        """Replace workers that have ended or do not answer; the more often, the later."""
        self._drop(self._versions.settle())
        for place, process in enumerate(self.processes):
            if self.should_exit.is_set() or self._answers(process):
                continue
            if process.pid in self._heard:
                self._end(process)
                if process.exitcode not in TOLD:
                    self._take_back()
                alone = not any(each.process.is_alive() for each in self.processes)
                pause = self._pauses.after_an_end(alone=alone)
                when = f"in {pause:g} s" if pause else "now"
                how = ending(process.exitcode or 0)
                log.warning("a worker %s; another takes its place %s", how, when)
            if self._pauses.are_over():
                self.processes[place] = self._started()

    def _stop(self, name: int, frame: FrameType | None) -> None:
        """Take no new connections from this moment on: workers may have the same signal."""
        self._close()
        self.signal_queue.append(name)

    def _close(self) -> None:
        for listening in self.sockets:
            ignore_new_connections(listening)

    def terminate_all(self) -> None:
        """Tell all workers to answer what was asked, and to end."""
        self._close()
        super().terminate_all()

    def join_all(self) -> None:
        """Wait until all workers have ended; one that does not is killed."""
        ends = time.monotonic() + (self.config.timeout_graceful_shutdown or 0) + LAST_WAIT
        for process in self.processes:
            process.process.join(max(0.0, ends - time.monotonic()))
            if process.process.is_alive():
                log.warning("a worker did not end, so it was killed")
                process.process.kill()
                process.process.join()

    def handle_hup(self) -> None:
        """Let all workers load anew, or end if the terminal was closed."""
        if self._terminal.is_gone():
            self.should_exit.set()
            return
        self._hang_up()

    def _hang_up(self) -> None:
        for process in self.processes:
            if process.pid is not None and process.process.is_alive():
                with suppress(ProcessLookupError):
                    os.kill(process.pid, signal.SIGHUP)

    def _take_back(self) -> None:
        """Go back to the tagger before, where a new one was taken a short while ago."""
        given_up = self._versions.take_back()
        for name in given_up:
            log.error(
                "%s: a worker ended soon after the new tagger was taken, so the old one comes back",
                name,
            )
        if given_up:
            self._hang_up()
            self._drop(given_up)

    def _drop(self, versions: Mapping[str, Version]) -> None:
        for name, version in versions.items():
            drop(version.folder, self._settings.snapshot_place(name))

    def handle_ttin(self) -> None:
        """The number of workers is that of the command line."""

    handle_ttou = handle_ttin

    def _started(self) -> Process:
        process = _ServiceWorker(self.config, self.sockets)
        with sighup_blocked():  # until the worker knows what to do with them
            process.start()
        self._heard[process.pid] = time.monotonic()
        return process

    def _answers(self, process: Process) -> bool:
        """Tell whether a worker lives and has answered not too long ago."""
        if not process.process.is_alive():
            return False
        now = time.monotonic()
        if process.ping(ANSWERS_IN):
            self._heard[process.pid] = now
        return now - self._heard[process.pid] < SILENT

    def _end(self, process: Process) -> None:
        """Have done with a worker that does not answer."""
        assert process.pid is not None
        del self._heard[process.pid]
        process.kill()
        process.join()
        metrics.forget(process.pid)
