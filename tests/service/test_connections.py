"""Connections whose clients send or read too slowly, without a socket and without waiting."""

import asyncio
import json

import pytest
import uvicorn
from uvicorn.server import ServerState

from labelgrove.service.connections import Connection
from labelgrove.service.headers import HEADERS
from virtual_time import run

QUIET = 20  # seconds that a connection is kept on which nothing comes
GET = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n"
HALF = b"GET / HTTP/1.1\r\nHo"


class Wire(asyncio.Transport):
    """A transport that keeps what is written."""

    def __init__(self):
        super().__init__()
        self.written, self.closed, self.aborted, self.unread = b"", False, False, 0

    def write(self, data):
        self.written += data

    def close(self):
        self.closed = True

    def abort(self):
        self.closed = self.aborted = True

    def is_closing(self):
        return self.closed

    def get_write_buffer_size(self):
        return self.unread

    def pause_reading(self):
        pass

    resume_reading = pause_reading

    @property
    def answers(self):
        return self.written.count(b"HTTP/1.1 200")

    @property
    def problem(self):
        """The problem that was written, and nothing else."""
        head, body = self.written.split(b"\r\n\r\n")
        first, *lines = head.split(b"\r\n")
        headers = dict(line.split(b": ") for line in lines)
        assert headers[b"content-type"] == b"application/problem+json"
        assert headers[b"connection"] == b"close"
        assert int(headers[b"content-length"]) == len(body)
        assert set(HEADERS) <= set(headers.items())
        told = json.loads(body)
        assert first == f"HTTP/1.1 {told['status']} {told['title']}".encode()
        assert self.closed
        return told["status"], told["detail"]


class App:
    """Answers after some seconds; ``reads`` its bodies first."""

    def __init__(self, seconds=0.0, *, reads=True):
        self.seconds, self.reads, self.asked = seconds, reads, 0

    async def __call__(self, scope, receive, send):
        self.asked += 1
        while self.reads and (await receive())["more_body"]:
            pass
        await asyncio.sleep(self.seconds)
        headers = [(b"content-length", b"0")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body"})


def opened(app=None, state=None):
    """Return a new connection and its wire."""
    config = uvicorn.Config(
        app or App(), http=Connection, ws="none", log_config=None, timeout_keep_alive=QUIET
    )
    config.load()
    connection = Connection(config, state or ServerState(), {}, asyncio.get_running_loop())
    wire = Wire()
    connection.connection_made(wire)
    return connection, wire


async def passed(seconds):
    await asyncio.sleep(seconds)


def test_who_asks_nothing_is_left_without_a_word():
    async def main():
        _, wire = opened()
        await passed(QUIET - 0.1)
        assert not wire.closed
        await passed(0.2)
        assert (wire.closed, wire.written) == (True, b"")

    run(main())


@pytest.mark.parametrize("dribbled", [[HALF], [b"G", b"E", b"T", b" /"], [b"\r\n"]])
def test_a_head_must_be_here_in_time(dribbled):
    """However often a byte of it comes."""

    async def main():
        connection, wire = opened()
        for part in dribbled:
            connection.data_received(part)
            await passed(4)
        await passed(QUIET - 4 * len(dribbled) - 0.1)
        assert not wire.closed
        await passed(0.2)
        assert wire.problem == (408, "the head of the request was not here in time")

    run(main())


def test_a_head_has_at_most_64_kilobytes():
    async def main():
        for more in (0, 1):
            connection, wire = opened()
            head = b"GET / HTTP/1.1\r\nA: "
            connection.data_received(head)
            connection.data_received(b"a" * (65_536 + more - len(head)))
            if more:
                said = "the head of a request has at most 65,536 bytes"
                assert wire.problem == (431, said)
            else:
                assert (wire.closed, wire.written) == (False, b"")

    run(main())


def test_heads_and_bodies_are_measured_one_by_one():
    async def main():
        connection, wire = opened()
        large = b"GET / HTTP/1.1\r\nHost: a\r\nA: %b\r\n\r\n" % (b"a" * 40_000)
        for _ in range(3):
            connection.data_received(large)
            await passed(1)
        connection.data_received(POST % 200_000)
        for _ in range(2):
            connection.data_received(b"b" * 100_000)
            await passed(1)
        assert (wire.answers, wire.closed) == (4, False)

    run(main())


def test_what_is_no_http_is_refused():
    async def main():
        connection, wire = opened()
        connection.data_received(b"nonsense\r\n\r\n")
        assert wire.problem == (400, "this is not a request of HTTP/1.1")
        await passed(3 * QUIET)
        assert wire.problem, "nothing more is written"

    run(main())


def test_a_kept_connection_is_closed_when_nothing_more_comes():
    async def main():
        connection, wire = opened()
        for number in range(3):
            connection.data_received(GET)
            await passed(QUIET - 1)
            assert (wire.answers, wire.closed) == (number + 1, False)
        assert b"connection: close" not in wire.written
        await passed(2)
        assert (wire.answers, wire.closed, wire.aborted) == (3, True, False)
        assert wire.written.endswith(b"\r\n\r\n"), "without a word"

    run(main())


def test_an_answer_may_take_longer_than_a_head():
    async def main():
        connection, wire = opened(App(5 * QUIET))
        connection.data_received(POST % 2 + b"b")
        await passed(1)
        connection.data_received(b"b")
        await passed(4.9 * QUIET)
        assert (wire.answers, wire.closed) == (0, False)
        await passed(QUIET)
        assert (wire.answers, wire.closed) == (1, False)

    run(main())


def test_bytes_after_an_answer_that_begin_nothing_keep_no_connection():
    async def main():
        connection, wire = opened()
        connection.data_received(GET)
        await passed(1)
        answered = wire.written
        connection.data_received(b"\r\n")
        await passed(QUIET - 0.1)
        assert not wire.closed
        await passed(0.2)
        assert (wire.closed, wire.written) == (True, answered)

    run(main())


def test_a_second_head_has_time_until_the_first_answer_is_sent():
    async def main():
        connection, wire = opened(App(1.5 * QUIET))
        connection.data_received(GET + HALF)
        await passed(1.4 * QUIET)
        assert not wire.closed
        await passed(0.2 * QUIET)
        assert (wire.answers, wire.closed) == (1, False)
        await passed(QUIET)
        assert wire.closed
        assert b"HTTP/1.1 408 Request Timeout" in wire.written

    run(main())


@pytest.mark.parametrize("rest", [b"", b"b" * 9])
def test_a_body_that_nobody_reads_must_end(rest):
    async def main():
        connection, wire = opened(App(reads=False))
        connection.data_received(POST % 10 + b"b")
        await passed(QUIET - 1)
        assert (wire.answers, wire.closed) == (1, False)
        connection.data_received(rest)
        await passed(2)
        assert wire.aborted == (not rest)

    run(main())


def test_a_client_must_read_on():
    async def main():
        connection, wire = opened()
        wire.unread = 1000
        connection.pause_writing()
        for unread in (999, 500):
            await passed(QUIET - 1)
            wire.unread = unread
            await passed(1.1)
            assert not wire.aborted
        await passed(QUIET)
        assert wire.aborted, "it has read nothing since the last look"

    run(main())


@pytest.mark.parametrize("resumed", [True, False])
def test_a_client_that_has_read_is_not_watched_any_more(resumed):
    async def main():
        connection, wire = opened()
        await passed(1)
        wire.unread = 1000
        connection.pause_writing()
        assert connection.flow.write_paused
        if resumed:
            connection.resume_writing()
            assert not connection.flow.write_paused
        await passed(1.1 * QUIET)
        assert wire.aborted == (not resumed)

    run(main())


@pytest.mark.parametrize("sent", [b"", HALF, POST % 10])
def test_nothing_is_waited_for_on_a_lost_connection(sent):
    async def main():
        connection, wire = opened(App(reads=False))
        connection.data_received(sent)
        await passed(1)
        connection.pause_writing()
        written = wire.written
        connection.connection_lost(None)
        assert connection not in connection.connections
        await passed(2 * QUIET)
        assert (wire.written, wire.aborted) == (written, False)

    run(main())


def test_who_leaves_answers_each_connection_once_more():
    async def main():
        state = ServerState()
        kept, idle = opened(state=state)
        idle_before, wire = opened(App(5), state)
        kept.data_received(GET)
        idle_before.data_received(GET)
        await passed(1)
        state.connections.add(object())  # of another protocol
        Connection.leave_all(state)
        assert (idle.answers, idle.closed, wire.closed) == (1, False, False)
        await passed(5)
        assert (wire.answers, wire.closed) == (1, True)
        assert b"connection: close" in wire.written
        kept.data_received(GET)
        await passed(1)
        assert (idle.answers, idle.closed) == (2, True)

    run(main())


@pytest.mark.parametrize(
    ("sent", "closed"), [(b"", True), (HALF, False), (GET, False), (POST % 2, False)]
)
def test_the_end_of_a_service_closes_only_quiet_connections(sent, closed):
    async def main():
        connection, wire = opened(App(5))
        connection.data_received(sent)
        await passed(1)
        connection.shutdown()
        assert wire.closed == closed
        if sent == GET:
            await passed(5)
            assert (wire.answers, wire.closed) == (1, True)

    run(main())


def test_the_end_of_a_service_closes_a_connection_that_was_answered():
    async def main():
        connection, wire = opened()
        connection.data_received(GET)
        await passed(1)
        connection.shutdown()
        assert (wire.answers, wire.closed) == (1, True)

    run(main())
