"""The metrics on a port of their own, for what watches the service and nobody else.

Python's own server answers here, in threads of the process that starts the workers: requests are
few, come from a trusted network, and go on being answered when all workers are busy or gone.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from labelgrove.service.access import METRICS, digests, keyed
from labelgrove.service.metrics import CONTENT_TYPE
from labelgrove.service.problems import ProblemError

SLOWEST = 10  # seconds in which a client must send or read something


class _Server(ThreadingHTTPServer):
    """Answers on a socket that listens already."""

    daemon_threads = True

    def __init__(
        self, listening: socket.socket, text: Callable[[], bytes], keys: Sequence[bytes]
    ) -> None:
        super().__init__(listening.getsockname()[:2], _Handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listening
        self.text, self.keys = text, keys

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of clients that went away."""


class _Handler(BaseHTTPRequestHandler):
    timeout = SLOWEST
    server: _Server

    def do_GET(self) -> None:
        if self.path.partition("?")[0] != METRICS:
            self._answer(404, f"only {METRICS} is here\n".encode(), {})
            return
        try:
            if self.server.keys:
                given = self.headers.get("Authorization", "")
                keyed(given.encode("latin-1", "replace"), self.server.keys)
        except ProblemError as problem:
            self._answer(problem.status, f"{problem.detail}\n".encode(), problem.headers)
            return
        self._answer(200, self.server.text(), {"Content-Type": CONTENT_TYPE})

    def _answer(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        plain = {"Content-Type": "text/plain; charset=utf-8", "X-Content-Type-Options": "nosniff"}
        for name, value in {**plain, **headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def version_string(self) -> str:
        """Say nothing of Python and its version."""
        return "labelgrove"

    def log_message(self, *arguments: object) -> None:
        """Log nothing: the same program asks every few seconds."""


@contextmanager
def serving_metrics(
    listening: socket.socket, text: Callable[[], bytes], keys: Sequence[str]
) -> Iterator[None]:
    """Answer requests for the metrics meanwhile.

    Parameters
    ----------
    listening
        The socket, which is closed in the end.
    text
        Returns the metrics.
    keys
        One of them must come with a request; empty for none.
    """
    server = _Server(listening, text, digests(keys))
    thread = threading.Thread(target=server.serve_forever, name="metrics", daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
