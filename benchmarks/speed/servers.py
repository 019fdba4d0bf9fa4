"""Servers under measurement: started, waited for, asked by load.py, and ended."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

from processes import Tree

HERE = Path(__file__).parent
OUTSIDE = ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE")  # nothing of labelgrove's for a peer


class Server:
    """A server on a port of its own, with its output in a log.

    Parameters
    ----------
    words
        The command.
    port
        Where it will listen.
    log
        Where its output goes.
    sign
        What its log says when it is ready, ``times`` times.
    folder
        Where it runs.
    own
        Whether it runs in this environment.
    """

    def __init__(
        self,
        words: list[str],
        port: int,
        log: Path,
        sign: str,
        times: int = 1,
        folder: Path | None = None,
        own: bool = True,
    ) -> None:
        self.words, self.port, self.log = words, port, log
        self.sign, self.times, self.folder = sign, times, folder
        self.environment = {k: v for k, v in os.environ.items() if own or k not in OUTSIDE}

    def __enter__(self) -> Server:
        """Start it, and wait until it is ready."""
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                self.words,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self.folder,
                env=self.environment,
                start_new_session=True,  # so that none of its workers can be left
            )
        start = time.perf_counter()
        while self.log.read_text(errors="replace").count(self.sign) < self.times:
            if self.process.poll() is not None or time.perf_counter() - start > 120:
                self._end()
                raise SystemExit(f"{' '.join(self.words)} did not start; see {self.log}")
            time.sleep(0.1)
        self.tree = Tree(self.process.pid)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End it."""
        self._end()

    def _end(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()

    def ask(self, path: str, kind: str, bodies: Iterable[bytes]) -> Iterator[Any]:
        """Yield the answers to bodies, one after another."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        for body in bodies:
            connection.request("POST", path, body, {"Content-Type": kind})
            answer = connection.getresponse()
            told = answer.read()
            if answer.status != 200:
                raise SystemExit(f"{path} answered {answer.status}: {told[:500]!r}")
            yield json.loads(told)
        connection.close()

    def load(self, requests: Path, seconds: float, **options: float) -> dict[str, Any]:
        """Return the figures of load.py."""
        *_, last = self.loading(requests, seconds, **options)
        return last

    def loading(self, requests: Path, seconds: float, **options: float) -> Iterator[dict[str, Any]]:
        """Yield the figures of load.py as they come; the last are those of all."""
        words = [sys.executable, str(HERE / "load.py"), "--requests", str(requests)]
        words += ["--port", str(self.port), "--pid", str(self.process.pid)]
        for name, value in {"seconds": seconds, **options}.items():
            words += [f"--{name}", str(value)]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for line in process.stdout:
                yield json.loads(line)
        if process.returncode:
            raise SystemExit(f"load.py ended with {process.returncode}; see also {self.log}")


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def labelgrove(tagger: Path, workers: int, log: Path, *options: str) -> Server:
    """Return ``labelgrove serve`` of a tagger."""
    port = free_port()
    words = [sys.executable, "-m", "labelgrove", "serve", str(tagger), "--port", str(port)]
    words += ["--workers", str(workers), *options]
    return Server(words, port, log, "serving at http://")
