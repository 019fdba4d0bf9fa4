"""Connections: a client that sends nothing, or reads nothing, does not keep others out."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from labelgrove.service.headers import HEADERS
from labelgrove.service.problems import MEDIA_TYPE

LONGEST_HEAD = 1 << 16  # bytes
LEAVING = "leaving"  # attribute of a server's state, once it stops


class _Timer:
    """Calls after some seconds, unless it is stopped before."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, seconds: float, call: Callable[[], None]
    ) -> None:
        self._loop, self._seconds, self._call = loop, seconds, call
        self._handle: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Begin to wait, if it does not wait already."""
        if self._handle is None:
            self._handle = self._loop.call_later(self._seconds, self._ring)

    def stop(self) -> None:
        """Do not call."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _ring(self) -> None:
        self._handle = None
        self._call()


class Connection(HttpToolsProtocol):
    """Uvicorn's connection, which does not wait for ever.

    In the time that a quiet connection is kept open a request's head must be here, a body that
    nobody wants must end, and a client must read on. Bodies that are wanted have a time limit of
    their own (`bodies.read`).
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._head, self._body, self._reader = (
            _Timer(self.loop, self.timeout_keep_alive, call)
            for call in (self._late, self._abort, self._look)
        )
        self._unread = 0  # bytes that the client had not read when it was last looked at
        self._head_bytes = 0
        self._in_head = True
        self._in_body = False

    # --- what the client sends ----------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a head."""
        super().connection_made(transport)
        self._head.start()

    def data_received(self, data: bytes) -> None:
        """Take what came, unless it is a head without end."""
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self._in_head:
            self._head_bytes += len(data)
            if self._head_bytes > LONGEST_HEAD:
                self._refuse(431, f"the head of a request has at most {LONGEST_HEAD:,} bytes")
        # uvicorn stops waiting with any byte, also one that begins nothing
        if self._is_idle() and self.timeout_keep_alive_task is None:
            self._head.start()

    def on_message_begin(self) -> None:
        """A head begins."""
        super().on_message_begin()
        self._in_head, self._head_bytes = True, 0
        self._head.start()

    def on_headers_complete(self) -> None:
        """The head is here."""
        self._in_head, self._in_body, self._head_bytes = False, True, 0
        self._head.stop()
        super().on_headers_complete()
        if getattr(self.server_state, LEAVING, False):
            self.cycle.keep_alive = False

    def on_message_complete(self) -> None:
        """The body is here."""
        self._in_body = False
        self._body.stop()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """The answer is sent; a body that still comes is waited for, and nobody reads it."""
        super().on_response_complete()
        if self._in_body and not self.transport.is_closing():
            self._body.start()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is waited for any more."""
        self._head.stop()
        self._body.stop()
        self._reader.stop()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP as all else is refused."""
        self._refuse(400, "this is not a request of HTTP/1.1")

    def _is_idle(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _late(self) -> None:
        if not self._head_bytes:
            self.transport.close()  # nothing was asked, so nothing is answered
        elif self._is_idle():
            self._refuse(408, "the head of the request was not here in time")
        else:  # an earlier request of this connection is still being answered
            self._head.start()

    def _refuse(self, status: int, detail: str) -> None:
        title = HTTPStatus(status).phrase
        body = json.dumps({"title": title, "status": status, "detail": detail}).encode()
        head = [f"HTTP/1.1 {status} {title}".encode()]
        head += [b"%b: %b" % pair for pair in HEADERS]
        head += [b"content-type: " + MEDIA_TYPE.encode(), b"content-length: %d" % len(body)]
        self.transport.write(b"\r\n".join([*head, b"connection: close", b"", body]))
        self.transport.close()

    # --- the end of the service -----------------------------------------------------------------

    @staticmethod
    def leave_all(state: ServerState) -> None:
        """Let each connection of a server be closed after the answer to its next request."""
        setattr(state, LEAVING, True)
        for connection in state.connections:
            if isinstance(connection, Connection) and not connection._is_idle():
                connection.cycle.keep_alive = False

    def shutdown(self) -> None:
        """Close the connection, unless a request is on its way."""
        if not (self._in_head and self._head_bytes):  # else its head has a time limit
            super().shutdown()

    # --- what the client reads ----------------------------------------------------------------

    def pause_writing(self) -> None:
        """The client reads more slowly than it is answered."""
        super().pause_writing()
        self._unread = self.transport.get_write_buffer_size()
        self._reader.start()

    def resume_writing(self) -> None:
        """It has read."""
        self._reader.stop()
        super().resume_writing()

    def _abort(self) -> None:
        self.transport.abort()

    def _look(self) -> None:
        """Leave a client that has read nothing since the last look."""
        unread = self.transport.get_write_buffer_size()
        if unread >= self._unread:
            self._abort()
            return
        self._unread = unread
        self._reader.start()
