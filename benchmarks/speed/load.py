"""Asks a server over loopback, as lightly as Python can: prebuilt bytes, plain sockets, epoll.

    python load.py --port 8000 --requests FILE --seconds 5 --clients 16            # closed loop
    python load.py --port 8000 --requests FILE --seconds 600 --rate 900 --every 5  # open loop

FILE holds a JSON line for each request: ``kind`` (a name to count it by), ``data`` (its bytes, as
Latin-1) and what the client does with it, ``manner``: "answer" waits for the answer on a
connection that is kept; "fresh" the same on a connection of its own; "leave" sends it and closes
at once. In a closed loop, which takes only the first manner, every client asks again as soon as
it is answered. In an open loop requests are due at even intervals, whether or not earlier ones
are answered, and their time counts from when they were due. Figures go to standard output as JSON
lines: one every ``--every`` seconds, if asked for, and one at the end, with ``done``.
"""

from __future__ import annotations

import argparse
import json
import select
import socket
import time
from collections import Counter, deque
from itertools import cycle, islice
from pathlib import Path
from typing import Any, NamedTuple

from processes import Tree, busy_seconds

PIECE = 1 << 18
PATIENCE = 5.0  # seconds to wait at the end for what is not answered yet


class Item(NamedTuple):
    """A request, ready to be sent."""

    kind: str
    data: bytes
    manner: str


class Connection:
    """A socket with at most one request on its way."""

    __slots__ = ("answer", "item", "need", "rest", "since", "socket")

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.setblocking(False)
        self.item: Item | None = None
        self.since = 0.0
        self.rest = self.answer = b""
        self.need = 0


class Figures:
    """Counts by kind and outcome, and times of what was answered on connections that are kept."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, str]] = Counter()
        self.times: dict[str, list[float]] = {}
        self.opened = 0

    def told(self, seconds: float) -> dict[str, Any]:
        every = sorted(time for times in self.times.values() for time in times)
        answered = sum(n for (_, outcome), n in self.counts.items() if outcome.isdigit())
        return {
            "seconds": seconds,
            "answered": answered,
            "a_second": answered / seconds,
            "opened": self.opened,
            "outcomes": [[*key, count] for key, count in sorted(self.counts.items())],
            "times": quantiles(every),
            "kinds": {kind: quantiles(sorted(t)) for kind, t in sorted(self.times.items())},
        }


def quantiles(times: list[float]) -> dict[str, float]:
    """Return places of sorted times, in seconds."""
    if not times:
        return {}
    last = len(times) - 1
    places = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p999": 0.999, "max": 1.0}
    return {name: times[round(place * last)] for name, place in places.items()}


class Load:
    """Clients and what they have seen so far.

    Parameters
    ----------
    port
        Of the server, on 127.0.0.1.
    items
        Asked one after another, then from the beginning again.
    clients
        Connections that are kept; so many requests at most are on their way on these.
    rate
        Requests due a second; 0: as fast as they are answered.
    """

    def __init__(self, port: int, items: list[Item], clients: int, rate: float) -> None:
        self.port, self.rate = port, rate
        self.items = cycle(items)
        self.epoll = select.epoll()
        self.open: dict[int, Connection] = {}
        self.free: list[Connection] = []
        self.waiting: deque[tuple[Item, float]] = deque()
        self.figures = Figures()
        self.clients = clients

    def begin(self, seconds: float) -> None:
        """Connect the clients one after another, while those before are asking already.

        Workers that share a socket are given connections evenly only so: of many that come at
        once, the first worker to wake takes all.
        """
        for _ in range(self.clients):
            self.free.append(self._connect())
            self.run(seconds / self.clients)

    def run(self, seconds: float) -> None:
        """Ask for so long; what is on its way then is left to the next run."""
        start = now = time.perf_counter()
        end, due = start + seconds, start
        while now < end:
            if self.rate:
                while due <= now:
                    self.waiting.append((next(self.items), due))
                    due += 1 / self.rate
            else:
                self.waiting.extend((next(self.items), now) for _ in self.free)
            self._send()
            until = min(due, end) if self.rate else end
            self._poll(max(until - time.perf_counter(), 0))
            now = time.perf_counter()

    def finish(self) -> None:
        """Wait for what is still on its way, and count what is not answered in time."""
        end = time.perf_counter() + PATIENCE
        while time.perf_counter() < end and (self.waiting or self._asked()):
            self._send()
            self._poll(0.1)
        for connection in self._asked():
            assert connection.item is not None
            self.figures.counts[connection.item.kind, "not answered"] += 1
        for item, _ in self.waiting:
            self.figures.counts[item.kind, "not sent"] += 1

    def _asked(self) -> list[Connection]:
        return [each for each in self.open.values() if each.item is not None]

    def _connect(self) -> Connection:
        connection = Connection(self.port)
        self.epoll.register(connection.socket.fileno(), select.EPOLLIN)
        self.open[connection.socket.fileno()] = connection
        self.figures.opened += 1
        return connection

    def _send(self) -> None:
        """Send what is waiting, as far as clients are free."""
        while self.waiting:
            item, due = self.waiting[0]
            if item.manner == "answer":
                if not self.free:
                    return
                connection = self.free.pop()
            else:
                connection = self._connect()
            self.waiting.popleft()
            connection.item, connection.since = item, due if self.rate else time.perf_counter()
            connection.answer, connection.need = b"", 0
            self._write(connection, item.data)

    def _write(self, connection: Connection, data: bytes) -> None:
        assert connection.item is not None
        try:
            sent = connection.socket.send(data)
        except BlockingIOError:
            sent = 0
        except OSError:  # closed by the server meanwhile: perhaps with an answer, to be read
            sent = len(data)
        rest = data[sent:]
        if bool(rest) != bool(connection.rest):
            events = select.EPOLLIN | (select.EPOLLOUT if rest else 0)
            self.epoll.modify(connection.socket.fileno(), events)
        connection.rest = rest
        if not rest and connection.item.manner == "leave":
            self._outcome(connection, "left")
            self._close(connection)

    def _poll(self, seconds: float) -> None:
        for number, event in self.epoll.poll(seconds):
            connection = self.open.get(number)
            if connection is None:
                continue
            if event & ~select.EPOLLOUT:
                self._read(connection)
            elif connection.rest:
                self._write(connection, connection.rest)

    def _read(self, connection: Connection) -> None:
        try:
            data = connection.socket.recv(PIECE)
        except BlockingIOError:
            return
        except OSError:
            self._lost(connection, "reset")
            return
        if not data:
            self._lost(connection, "closed")
            return
        if connection.item is None:  # nothing was asked
            self.figures.counts["nothing", f"said {data[9:12].decode('latin-1')}"] += 1
            self._lost(connection, "")
            return
        connection.answer += data
        if not connection.need:
            connection.need = length(connection.answer)
        if connection.need and len(connection.answer) >= connection.need:
            self._answered(connection)

    def _answered(self, connection: Connection) -> None:
        self._outcome(connection, connection.answer[9:12].decode("latin-1"))
        head = connection.answer[: connection.answer.find(b"\r\n\r\n")].lower()
        kept = b"connection: close" not in head and not connection.rest
        assert connection.item is not None
        again = connection.item.manner == "answer"
        if not kept or not again:
            self._close(connection)
            if again:
                self.free.append(self._connect())
            return
        connection.item = None
        self.free.append(connection)

    def _outcome(self, connection: Connection, outcome: str) -> None:
        assert connection.item is not None
        kind = connection.item.kind
        self.figures.counts[kind, outcome] += 1
        if outcome.isdigit() and connection.item.manner == "answer":
            spent = time.perf_counter() - connection.since
            self.figures.times.setdefault(kind, []).append(spent)

    def _lost(self, connection: Connection, outcome: str) -> None:
        """Note that the server has closed; an idle connection may be, and is opened again."""
        asked = connection.item
        if asked is not None:
            self._outcome(connection, outcome)
        self._close(connection)
        if asked is None:
            self.free.remove(connection)
        if asked is None or asked.manner == "answer":
            self.free.append(self._connect())

    def _close(self, connection: Connection) -> None:
        number = connection.socket.fileno()
        self.epoll.unregister(number)
        del self.open[number]
        connection.socket.close()
        connection.item = None


def length(answer: bytes) -> int:
    """Return how many bytes the answer has with its head, or 0 when that cannot be told yet."""
    end = answer.find(b"\r\n\r\n")
    if end < 0:
        return 0
    head = answer[:end].lower()
    place = head.find(b"content-length:")
    if place >= 0:
        stop = head.find(b"\r\n", place)
        return end + 4 + int(head[place + 15 : stop if stop >= 0 else end])
    if b"transfer-encoding: chunked" in head:
        return len(answer) if answer.endswith(b"0\r\n\r\n") else 0
    return 0  # until the server closes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--requests", type=Path, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument(
        "--warm", type=float, default=0.5, help="seconds to connect, and again before it counts"
    )
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--first", type=int, default=0, help="request to begin with")
    parser.add_argument("--rate", type=float, default=0, help="requests a second: an open loop")
    parser.add_argument("--every", type=float, default=0, help="seconds between figures")
    parser.add_argument("--pid", type=int, help="of the server, whose processor time is counted")
    asked = parser.parse_args()
    with asked.requests.open(encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    items = [Item(x["kind"], x["data"].encode("latin-1"), x["manner"]) for x in lines]
    first = asked.first % len(items)
    items = list(islice(cycle(items), first, first + len(items)))
    if not asked.rate and any(item.manner != "answer" for item in items):
        parser.error("a closed loop takes only requests whose manner is 'answer'")
    load = Load(asked.port, items, asked.clients, asked.rate)
    server = Tree(asked.pid) if asked.pid else None
    load.begin(asked.warm)
    load.run(asked.warm)
    warm = load.figures.told(1)["outcomes"]
    busy, own, theirs = busy_seconds(), time.process_time(), server.seconds() if server else 0.0
    start = last = time.perf_counter()
    total = load.figures = Figures()
    while (left := asked.seconds - (last - start)) > 1e-3:
        load.run(min(left, asked.every or left))
        now = time.perf_counter()
        if asked.every:
            print(json.dumps({"at": now - start, **load.figures.told(now - last)}), flush=True)
            total = merged(total, load.figures)
            load.figures = Figures()
        last = now
    found = {"done": True, **total.told(last - start), "own_cpu": time.process_time() - own}
    if server:
        found["server_cpu"] = server.seconds() - theirs
        rest = busy_seconds() - busy - found["server_cpu"] - found["own_cpu"]
        found["others_cpu"] = max(rest, 0.0)
    load.figures = Figures()
    load.finish()
    found |= {"warm": warm, "late": load.figures.told(1)["outcomes"]}
    print(json.dumps(found))


def merged(total: Figures, more: Figures) -> Figures:
    """Return all figures so far; the first are the total themselves."""
    if more is not total:
        total.counts.update(more.counts)
        total.opened += more.opened
        for kind, times in more.times.items():
            total.times.setdefault(kind, []).extend(times)
    return total


if __name__ == "__main__":
    main()
