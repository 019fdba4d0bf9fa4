"""Serving: one process or several on one socket, reloaded and stopped without losing a request."""

from __future__ import annotations

import logging
import math
import os
import signal
import socket
import sys
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp
from uvicorn.config import STARTUP_FAILURE

from labelgrove.core import storage, system
from labelgrove.core.errors import InputError, LabelgroveError
from labelgrove.core.progress import Progress
from labelgrove.core.wording import several
from labelgrove.service import metrics
from labelgrove.service.access import METRICS
from labelgrove.service.app import create_app
from labelgrove.service.connections import Connection
from labelgrove.service.feedback import FeedbackFile
from labelgrove.service.leaving import LeavingServer, ignore_new_connections
from labelgrove.service.listening import WAITING, address, sockets
from labelgrove.service.metrics_port import serving_metrics
from labelgrove.service.review_queue import ReviewQueue
from labelgrove.service.settings import Settings
from labelgrove.service.signals import Terminal, sighup_blocked
from labelgrove.service.snapshots import places, take
from labelgrove.service.taggers import ServedTaggers
from labelgrove.service.uvicorn_internals import check_uvicorn
from labelgrove.service.versions import Version, Versions
from labelgrove.service.workers import Workers

QUIET = 20  # seconds that a connection is kept on which nothing comes, at most
MACOS_FILES = 10_240  # OPEN_MAX there


def serve(
    settings: Settings,
    *,
    host: str,
    port: int,
    ready: Callable[[str], None],
    metrics_ready: Callable[[str], None] | None = None,
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
    metrics_ready
        Told the address of the metrics after that, if they have a port of their own.
    progress
        Where loading is shown.
    """
    check_uvicorn()
    if settings.workers > 1 and not system.HERE.shares_sockets:
        raise InputError(
            f"--workers {settings.workers}: this system does not let several processes answer at "
            "one address; leave out --workers, and raise --threads instead"
        )
    _log(settings)
    _allow_connections()
    terminal = Terminal.of_this_process()
    listening, counted = sockets(host, port, settings.metrics_port)

    def begun() -> None:
        ready(address(host, listening))
        if counted is not None and metrics_ready is not None:
            metrics_ready(address(host, counted) + METRICS)

    try:
        with (
            tempfile.TemporaryDirectory(
                prefix="labelgrove-",
                dir=_memory(),
                ignore_cleanup_errors=not system.HERE.shares_sockets,  # Windows: it is mapped
            ) as shared,
            places([folder for _, folder in settings.taggers], settings.copies) as snapshots,
            sighup_blocked(),  # until there is a tagger to load anew
        ):
            settings = replace(settings, terminal=terminal.was, shared=shared, snapshots=snapshots)
            _begin(settings, progress)
            if settings.workers == 1:
                _serve_alone(settings, listening, counted, begun)
            else:
                _serve_in_workers(settings, listening, counted, begun, terminal)
        logging.getLogger("labelgrove.service").info("stopped: what was asked is answered")
    finally:
        for each in (listening, counted):
            if each is not None:
                each.close()


@dataclass(frozen=True)
class WorkerApp:
    """Makes the app of a worker; it reaches the worker through a pipe, with its settings.

    Parameters
    ----------
    settings
        The service's.
    """

    settings: Settings

    def __call__(self) -> ASGIApp:
        """Return the app; a tagger that cannot be loaded ends the worker."""
        _log(self.settings)
        _allow_connections()
        try:
            return create_app(ServedTaggers(self.settings))
        except LabelgroveError as error:
            print(f"labelgrove: {error}", file=sys.stderr)
            sys.exit(STARTUP_FAILURE)


def _begin(settings: Settings, progress: Progress | None) -> None:
    """Check all taggers and take snapshots of them; what is damaged is told here, once."""
    for feedback in settings.feedback:
        if feedback is not None:
            FeedbackFile(Path(feedback)).check()
    if settings.review:
        _check_review(settings, progress)
    versions = Versions(Path(settings.shared))
    for name, folder in settings.taggers:
        if progress is not None:
            many = f", in {settings.workers} workers" if settings.workers > 1 else ""
            progress.say(f"loading {folder}{many}")
        signed_by = settings.signed_by
        storage.read_manifest(folder, progress=progress, signed_by=signed_by)
        place = settings.snapshot_place(name)
        snapshot = take(folder, place, copy=bool(settings.copies))
        # the folder may have been replaced meanwhile
        manifest = storage.read_manifest(snapshot, verify=bool(signed_by), signed_by=signed_by)
        versions.begin(name, Version(snapshot, manifest["checksum"]))


def _check_review(settings: Settings, progress: Progress | None) -> None:
    """Read the review file once, so that a bad line is told before anyone is served."""
    index = ReviewQueue(Path(settings.review), settings.limits.length).index()
    index.file.close()
    if progress is not None:
        twice = f"; lines whose text came before are left out: {index.repeated:,}"
        more = twice if index.repeated else ""
        progress.say(f"{settings.review}: {several(len(index), 'document')} to review{more}")


def _serve_alone(
    settings: Settings,
    listening: socket.socket,
    counted: socket.socket | None,
    begun: Callable[[], None],
) -> None:
    taggers = ServedTaggers(settings)
    app = create_app(taggers)
    with _metrics(settings, counted, taggers.metrics.text):
        _Single(_config(app, settings), begun).run([listening])


def _serve_in_workers(
    settings: Settings,
    listening: socket.socket,
    counted: socket.socket | None,
    begun: Callable[[], None],
    terminal: Terminal,
) -> None:
    settings = replace(settings, supervisor=os.getpid())
    os.environ[metrics.FOLDER] = settings.shared
    try:
        with _metrics(settings, counted, metrics.text_of_workers):
            config = _config(WorkerApp(settings), settings)
            Workers(config, [listening], begun, terminal, settings).run()
    finally:
        del os.environ[metrics.FOLDER]


def _metrics(
    settings: Settings, counted: socket.socket | None, text: Callable[[], bytes]
) -> AbstractContextManager[None]:
    if counted is None:
        return nullcontext()
    return serving_metrics(counted, text, settings.metrics_keys)


def _memory() -> str | None:
    """Return a folder in memory for what processes share: there a full disk does no harm."""
    place = "/dev/shm"
    return place if os.access(place, os.W_OK | os.X_OK) else None


def _config(app: ASGIApp | WorkerApp, settings: Settings) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        factory=isinstance(app, WorkerApp),
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


class _Single(LeavingServer):
    """A server in this process, which tells when it is ready and ends without a signal."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for listening in sockets or []:
            ignore_new_connections(listening)
        await super().shutdown(sockets)

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        kept = {name: signal.getsignal(name) for name in (signal.SIGINT, signal.SIGTERM)}
        for name in kept:
            signal.signal(name, lambda *_: None)  # uvicorn raises again what it was sent
        try:
            super().run(sockets)
        finally:
            for name, handler in kept.items():
                signal.signal(name, handler)


def _allow_connections() -> None:
    """Allow this process as many open connections as the system lets it."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        except ValueError:  # macOS says "without end", and means this number
            resource.setrlimit(resource.RLIMIT_NOFILE, (MACOS_FILES, most))


def _log(settings: Settings) -> None:
    """Let requests and what goes wrong be told on standard error, never a text unasked."""
    ours = logging.getLogger("labelgrove.service")
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s", "%Y-%m-%dT%H:%M:%S"))
    ours.handlers = [handler]
    ours.propagate = False
    ours.setLevel(logging.WARNING if settings.log == "nothing" else logging.INFO)
    logging.getLogger("uvicorn").setLevel(logging.ERROR)
