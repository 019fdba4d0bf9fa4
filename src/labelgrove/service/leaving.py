"""Stopping without dropping a request: no new connections, then answers, then the end.

A socket that is closed resets connections that wait to be accepted. So the process that owns the
socket first tells the kernel to ignore new connections. Those that wait are accepted, and
connections that are kept open get a moment to send what is on its way; only then idle ones are
closed.
"""

from __future__ import annotations

import asyncio
import ctypes
import socket
import struct
import sys
from contextlib import suppress

import uvicorn

from labelgrove.service.connections import Connection

SO_ATTACH_FILTER = 26  # of Linux; Python has no name for it
FLAGS, SYN = 13, 0x02  # place of the flags in a TCP head, and the one that begins a connection
LOAD_BYTE, JUMP_IF_SET, RETURN = 0x30, 0x45, 0x06  # classic BPF
QUIET = 0.15  # seconds in which a connection that has begun arrives
MOMENT = 1.0  # seconds for connections that are kept open
LOOK = 0.05  # seconds between two looks


class LeavingServer(uvicorn.Server):
    """Uvicorn's server, which drops no request when it stops."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Answer what was asked and what is on its way, and end."""
        Connection.leave_all(self.server_state)
        loop = asyncio.get_running_loop()
        began = loop.time()
        while not self.force_exit:
            await asyncio.sleep(LOOK)
            waited = loop.time() - began
            if waited >= (MOMENT if self.server_state.connections else QUIET):
                break
        await super().shutdown(sockets)


def ignore_new_connections(listening: socket.socket) -> None:
    """Let the kernel drop packets that would begin a connection, where it can do so.

    Clients try again after a second, and are refused by then.
    """
    code = [
        struct.pack("HxxI", LOAD_BYTE, FLAGS),
        struct.pack("HBBI", JUMP_IF_SET, 0, 1, SYN),
        struct.pack("HxxI", RETURN, 0),  # bytes that are kept: none
        struct.pack("HxxI", RETURN, 0xFFFFFFFF),
    ]
    if not sys.platform.startswith("linux"):
        return  # the option has another meaning there
    program = ctypes.create_string_buffer(b"".join(code))
    head = struct.pack("@HP", len(code), ctypes.addressof(program))
    with suppress(OSError):
        listening.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, head)
