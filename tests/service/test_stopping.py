"""A service that is told to stop drops no request, new connection or kept one."""

import os
import signal
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException

import pytest

from processes import PATIENCE
from services import eventually, serving, workers_of


class Clients:
    """Clients that ask until they are refused; those that lose a request are counted."""

    def __init__(self, service):
        self.service = service
        self.answered = 0
        self.lost = []
        self.stop = threading.Event()

    def fresh(self):
        """Ask on a new connection each time."""
        while not self.stop.is_set():
            try:
                connection = socket.create_connection(("127.0.0.1", self.service.port), PATIENCE)
            except (ConnectionRefusedError, TimeoutError):
                return
            connection.close() if self.stop.is_set() else self._ask(connection)

    def _ask(self, connection):
        body = b'{"text": "red apples"}'
        head = b"POST /v1/tag HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
        head += b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
        with connection:
            try:
                connection.sendall(head + body)
                answer = connection.recv(1 << 16)
            except OSError as error:
                self.lost.append(repr(error))
                return
        if answer.startswith(b"HTTP/1.1 200"):
            self.answered += 1
        else:
            self.lost.append(answer[:50])

    def kept(self):
        """Ask on one connection, until an answer says that it is closed."""
        connection = self.service.connect()
        try:
            while not self.stop.is_set():
                sent = {"text": "red apples"}
                got = self.service.ask("/v1/tag", sent, connection=connection)
                self.answered += got.status == 200
                if got.headers.get("connection") == "close":
                    return
        except (OSError, HTTPException) as error:
            self.lost.append(repr(error))
        finally:
            connection.close()


@pytest.mark.parametrize("workers", [1, 2])
def test_a_service_that_stops_drops_no_request(taggers, workers):
    with (
        serving(taggers / "bonsai", "--no-feedback", "--workers", workers, "--quiet") as service,
        ThreadPoolExecutor(8) as pool,
    ):
        clients = Clients(service)
        for _ in range(4):
            pool.submit(clients.fresh)
            pool.submit(clients.kept)
        try:
            eventually(lambda: clients.answered > 100)
            assert service.stop() == 0
        finally:
            clients.stop.set()
    assert clients.lost == []


def test_a_worker_that_is_frozen_does_not_keep_a_service_from_ending(taggers):
    with serving(
        taggers / "bonsai", "--no-feedback", "--workers", "2", "--timeout", "1"
    ) as service:
        frozen = workers_of(service)[0]
        os.kill(frozen, signal.SIGSTOP)
        assert service.stop() == 0
    assert any("was killed" in line for line in service.told)


def test_a_worker_that_ends_alone_leaves_the_service_open(taggers):
    with serving(taggers / "bonsai", "--no-feedback", "--workers", "2") as service:
        first = workers_of(service)
        os.kill(first[0], signal.SIGTERM)
        eventually(lambda: len(set(workers_of(service)) - {first[0]}) == 2)
        assert {service.ask("/v1/tag", {"text": "red"}).status for _ in range(10)} == {200}
