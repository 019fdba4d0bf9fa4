"""Connections: a client that sends nothing, or reads nothing, does not keep others out."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

LATE = json.dumps(
    {
        "title": "Request Timeout",
        "status": 408,
        "detail": "the head of the request was not here in time",
    }
).encode()
ANSWER = (
    b"HTTP/1.1 408 Request Timeout\r\ncontent-type: application/problem+json\r\n"
    b"connection: close\r\ncontent-length: %d\r\n\r\n%s" % (len(LATE), LATE)
)


class Connection(HttpToolsProtocol):
    """Uvicorn's connection, which does not wait for ever.

    A request's head must be here, and a client that reads slowly must read on, in the time that
    a quiet connection is kept open. Bodies have a time limit of their own (`bodies.read`).
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._head: asyncio.TimerHandle | None = None
        self._stuck: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a head."""
        super().connection_made(transport)
        self._head = self.loop.call_later(self.timeout_keep_alive, self._late)

    def on_message_begin(self) -> None:
        """Begin to wait, also on a connection that was kept."""
        super().on_message_begin()
        if self._head is None:
            self._head = self.loop.call_later(self.timeout_keep_alive, self._late)

    def on_headers_complete(self) -> None:
        """The head is here."""
        self._forget()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is waited for any more."""
        self._forget()
        self._reads()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """The client reads too slowly; it has some seconds to go on."""
        super().pause_writing()
        self._stuck = self.loop.call_later(self.timeout_keep_alive, self.transport.abort)

    def resume_writing(self) -> None:
        """It reads."""
        self._reads()
        super().resume_writing()

    def _reads(self) -> None:
        if self._stuck is not None:
            self._stuck.cancel()
            self._stuck = None

    def _forget(self) -> None:
        if self._head is not None:
            self._head.cancel()
            self._head = None

    def _late(self) -> None:
        if not self.transport.is_closing():
            self.transport.write(ANSWER)
            self.transport.close()
