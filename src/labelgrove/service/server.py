"""Serving: one process or several on one socket, reloaded and stopped without losing a request."""

from __future__ import annotations

import logging
import math
import os
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

import uvicorn
from starlette.types import ASGIApp
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors.multiprocess import Multiprocess, Process

from labelgrove.core import storage
from labelgrove.core.errors import InputError, LabelgroveError
from labelgrove.core.progress import Progress
from labelgrove.service import metrics
from labelgrove.service.app import create_app
from labelgrove.service.connections import Connection
from labelgrove.service.hangups import Terminal, hangups_wait, hold_hangups
from labelgrove.service.library import Library
from labelgrove.service.settings import Settings

SETTINGS = "LABELGROVE_SERVICE"  # the environment variable that brings a worker its settings
WORKER_SILENT = 120  # seconds after which a worker that does not answer is replaced
QUIET = 20  # seconds that a connection is kept on which nothing comes, at most
ANSWERS_IN = 0.1  # seconds in which a worker tells that it lives, most of the time
LONGEST_PAUSE = 30.0  # seconds between two tries to start a worker that cannot begin
WAITING = 2_048  # connections that wait to be accepted
log = logging.getLogger("labelgrove.service")


def serve(
    settings: Settings,
    *,
    host: str,
    port: int,
    ready: Callable[[str], None],
    progress: Progress | None = None,
) -> None:
    """Serve until SIGTERM or Ctrl-C; requests that have begun are answered first.

    Parameters
    ----------
    settings
        What is served.
    host, port
        Where; port 0 stands for any that is free.
    ready
        Told the address once requests are answered.
    progress
        Where loading is shown.
    """
    _log(settings)
    _allow_connections()
    terminal = Terminal.of_this_process()
    settings = replace(settings, terminal=terminal.was)
    listening = _listen(host, port)
    address = f"http://{_shown(host)}:{listening.getsockname()[1]}"
    try:
        if settings.workers == 1:
            hold_hangups()  # until there is a tagger to load anew
            library = Library(settings, progress)
            _Single(_config(create_app(library), settings), lambda: ready(address)).run([listening])
        else:
            _serve_in_workers(settings, listening, lambda: ready(address), terminal, progress)
    finally:
        listening.close()


def worker_app() -> ASGIApp:
    """Return the app of a worker, which finds its settings in the environment."""
    settings = Settings.from_json(os.environ[SETTINGS])
    _log(settings)
    _allow_connections()
    try:
        return create_app(Library(settings))
    except LabelgroveError as error:
        print(f"labelgrove: {error}", file=sys.stderr)
        sys.exit(STARTUP_FAILURE)


def _serve_in_workers(
    settings: Settings,
    listening: socket.socket,
    ready: Callable[[], None],
    terminal: Terminal,
    progress: Progress | None,
) -> None:
    for _, folder in settings.taggers:  # what is damaged is told here, once
        storage.read_manifest(folder, progress=progress)
    with tempfile.TemporaryDirectory(prefix="labelgrove-") as shared:
        told = replace(settings, shared=shared, supervisor=os.getpid())
        os.environ[SETTINGS] = told.to_json()
        os.environ[metrics.FOLDER] = shared
        try:
            config = _config(f"{__name__}:worker_app", settings)
            _Workers(config, [listening], ready, terminal).run()
        finally:
            del os.environ[SETTINGS], os.environ[metrics.FOLDER]


def _config(app: ASGIApp | str, settings: Settings) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        factory=isinstance(app, str),
        http=Connection,
        ws="none",
        workers=settings.workers,
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        backlog=WAITING,
        timeout_keep_alive=min(QUIET, math.ceil(settings.limits.seconds)),
        timeout_graceful_shutdown=int(settings.limits.seconds) + 1,
    )


class _Single(uvicorn.Server):
    """A server in this process, which tells when it is ready and ends without a signal."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        kept = {name: signal.getsignal(name) for name in (signal.SIGINT, signal.SIGTERM)}
        for name in kept:
            signal.signal(name, lambda *_: None)  # uvicorn raises again what it was sent
        try:
            super().run(sockets)
        finally:
            for name, handler in kept.items():
                signal.signal(name, handler)


class _Workers(Multiprocess):
    """Worker processes that share a socket; SIGHUP goes to all of them.

    One that ends, or is silent for long, is replaced, as long as another can answer meanwhile.
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
        try:
            super().run()
        except BaseException:  # else Python would wait for the workers, for ever
            self.terminate_all()
            self.join_all()
            raise

    def init_processes(self) -> None:
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
        with hangups_wait():  # until the worker knows what to do with them
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
        return now - self._heard[pid] < WORKER_SILENT

    def _end(self, process: Process) -> None:
        """Have done with a worker that does not answer."""
        if process.pid in self._heard:
            del self._heard[process.pid]
            process.kill()
            process.join()
            metrics.forget(process.pid)


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except (OSError, OverflowError) as error:
        listening.close()
        why = getattr(error, "strerror", None) or error
        raise InputError(
            f"nothing can listen at {_shown(host)}:{port} ({why}): choose another --port or --host"
        ) from error
    listening.listen(WAITING)
    listening.set_inheritable(True)
    return listening


def _shown(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _allow_connections() -> None:
    """Allow this process as many open connections as the system lets it."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _log(settings: Settings) -> None:
    """Let requests and what goes wrong be told on standard error, never a text unasked."""
    ours = logging.getLogger("labelgrove.service")
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s", "%Y-%m-%dT%H:%M:%S"))
    ours.handlers = [handler]
    ours.propagate = False
    ours.setLevel(logging.WARNING if settings.log == "nothing" else logging.INFO)
    logging.getLogger("uvicorn").setLevel(logging.ERROR)
