"""A socket that takes no new connections: those that wait, and those that are, go on."""

import socket
import sys

import pytest

from labelgrove.service.leaving import ignore_new_connections

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
