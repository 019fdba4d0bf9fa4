"""A socket that takes no new connections: those that wait, and those that are, go on."""

import asyncio
import socket
import sys

import pytest
import uvicorn

from labelgrove.service.connections import LEAVING
from labelgrove.service.leaving import LeavingServer, ignore_new_connections
from virtual_time import run

QUIET = 0.3  # seconds in which a connection on this machine would be there


@pytest.mark.skipif(sys.platform != "linux", reason="a filter of Linux")
def test_new_connections_are_dropped_and_others_go_on():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        address = listening.getsockname()
        with socket.create_connection(address) as waiting, socket.create_connection(address) as one:
            accepted = listening.accept()[0], listening.accept()[0]
            ignore_new_connections(listening)
            with pytest.raises(TimeoutError):  # neither taken nor refused
                socket.create_connection(address, timeout=QUIET)
            for client, server in zip((waiting, one), accepted, strict=True):
                client.sendall(b"asked")
                assert server.recv(100) == b"asked"
                server.sendall(b"answered")
                assert client.recv(100) == b"answered"
                server.close()


@pytest.mark.skipif(sys.platform != "linux", reason="a filter of Linux")
def test_a_connection_that_waits_to_be_accepted_is_kept():
    with (
        socket.create_server(("127.0.0.1", 0)) as listening,
        socket.create_connection(listening.getsockname()) as client,
    ):
        client.sendall(b"asked early")
        ignore_new_connections(listening)
        client.sendall(b", and late")
        client.shutdown(socket.SHUT_WR)
        server, _ = listening.accept()
        with server:
            asked = b""
            while part := server.recv(100):
                asked += part
    assert asked == b"asked early, and late"


@pytest.mark.parametrize(
    ("connections", "gives_up", "least", "most"),
    [(0, None, 0.149, 0.21), (1, None, 0.999, 1.06), (1, 0.21, 0.24, 0.26), (1, 0.0, 0.0, 0.0)],
)
def test_a_server_waits_a_moment_for_what_is_on_its_way(
    monkeypatch, connections, gives_up, least, most
):
    """Longer where a connection is open; not at all once Ctrl-C was pressed twice."""
    ended = []

    async def shutdown(server, sockets=None):
        ended.append((asyncio.get_running_loop().time(), sockets))

    async def main():
        server = LeavingServer(uvicorn.Config("none:none", log_config=None))
        server.server_state.connections = {object() for _ in range(connections)}
        loop = asyncio.get_running_loop()
        began = loop.time()
        server.force_exit = gives_up == 0.0
        if gives_up:
            loop.call_later(gives_up, setattr, server, "force_exit", True)
        await server.shutdown([])
        assert getattr(server.server_state, LEAVING) is True
        return began

    monkeypatch.setattr(uvicorn.Server, "shutdown", shutdown)
    began = run(main())
    ((at, sockets),) = ended
    assert least <= at - began <= most
    assert sockets == []
