"""Worker processes: started, kept alive, told to load anew, and ended together."""

from __future__ import annotations

import logging
import os
import signal
import socket
import time
from collections.abc import Callable
from contextlib import suppress

import uvicorn
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors.multiprocess import Multiprocess, Process

from labelgrove.core.errors import LabelgroveError
from labelgrove.service import metrics
from labelgrove.service.signals import Terminal, sighup_blocked

SILENT = 120  # seconds after which a worker that does not answer is replaced
ANSWERS_IN = 0.1  # seconds in which a worker tells that it lives, most of the time
LONGEST_PAUSE = 30.0  # seconds between two tries to start a worker that cannot begin
log = logging.getLogger("labelgrove.service")


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
    """

    def __init__(
        self,
        config: uvicorn.Config,
        sockets: list[socket.socket],
        ready: Callable[[], None],
        terminal: Terminal,
    ) -> None:
        super().__init__(config, sockets)
        self._ready = ready
        self._terminal = terminal
        self._heard: dict[int, float] = {}  # when a process answered last
        self._pause = 0.0  # before the next try, after one that could not begin
        self._not_before = 0.0

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
        """Replace workers that have ended or do not answer."""
        for place, process in enumerate(self.processes):
            if self.should_exit.is_set() or self._answers(process):
                continue
            self._end(process)
            if time.monotonic() < self._not_before:
                continue
            if process.exitcode == STARTUP_FAILURE:
                if not any(each.process.is_alive() for each in self.processes):
                    raise LabelgroveError("no worker is left, and none can begin; see above why")
                self._pause = min(2 * self._pause + 1, LONGEST_PAUSE)
                self._not_before = time.monotonic() + self._pause
            log.warning("a worker ended; another takes its place")
            self.processes[place] = self._started()

    def handle_hup(self) -> None:
        """Let all workers load anew, or end if the terminal was closed."""
        if self._terminal.is_gone():
            self.should_exit.set()
            return
        for process in self.processes:
            if process.pid is not None and process.process.is_alive():
                with suppress(ProcessLookupError):
                    os.kill(process.pid, signal.SIGHUP)

    def handle_ttin(self) -> None:
        """The number of workers is that of the command line."""

    handle_ttou = handle_ttin

    def _started(self) -> Process:
        process = Process(self.config, self.sockets)
        with sighup_blocked():  # until the worker knows what to do with them
            process.start()
        self._heard[process.pid or 0] = time.monotonic()
        return process

    def _answers(self, process: Process) -> bool:
        """Tell whether a worker lives and has answered not too long ago."""
        if not process.process.is_alive():
            return False
        now, pid = time.monotonic(), process.pid or 0
        if process.ping(ANSWERS_IN):
            self._heard[pid] = now
        return now - self._heard[pid] < SILENT

    def _end(self, process: Process) -> None:
        """Have done with a worker that does not answer."""
        if process.pid in self._heard:
            del self._heard[process.pid]
            process.kill()
            process.join()
            metrics.forget(process.pid)
