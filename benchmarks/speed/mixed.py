"""A mix of requests such as a service meets in a long life, with what should come back."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

JSON = "application/json"


@dataclass
class Mixed:
    """A request with its kind, its bytes, what the client does (see load.py), and what is right."""

    kind: str
    data: bytes
    right: tuple[str, ...]
    manner: str = "answer"

    def line(self) -> str:
        data = self.data.decode("latin-1")
        return json.dumps({"kind": self.kind, "data": data, "manner": self.manner})


def http(method: str, path: str, body: bytes = b"", kind: str = JSON, length: int = -1) -> bytes:
    """Return the bytes of a request; ``length`` is what it claims to be, where that is a lie."""
    head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    if body or length >= 0:
        head += f"Content-Type: {kind}\r\nContent-Length: {len(body) if length < 0 else length}\r\n"
    return head.encode() + b"\r\n" + body


def post(path: str, asked: Any) -> bytes:
    return http("POST", path, json.dumps(asked).encode())


class Mix:
    """Draws requests of all kinds.

    Parameters
    ----------
    texts
        To be tagged.
    labels
        Of the tagger.
    length
        Characters of a text that are one too many.
    """

    def __init__(self, texts: list[str], labels: list[str], length: int = 1_000_001) -> None:
        self.texts, self.labels = texts, labels
        self.draw = random.Random(0)
        self.long = post("/v1/tag", {"text": "word " * (length // 5) + "x" * (length % 5)})
        self.kinds: list[tuple[int, Callable[[], Mixed]]] = [
            *self._usual(),
            *self._malformed(),
            *self._impolite(),
        ]

    def requests(self, n: int) -> list[Mixed]:
        """Return n requests, kinds as frequent as their weights and no kind missing."""
        weights = [weight for weight, _ in self.kinds]
        drawn = self.draw.choices(self.kinds, weights, k=n - len(self.kinds)) + self.kinds
        self.draw.shuffle(drawn)
        return [make() for _, make in drawn]

    def text(self) -> str:
        return self.draw.choice(self.texts)

    def label(self) -> str:
        return self.draw.choice(self.labels)

    def _usual(self) -> list[tuple[int, Callable[[], Mixed]]]:
        def tag(kind: str, n: int = 0, **more: Any) -> Callable[[], Mixed]:
            def make() -> Mixed:
                given = {"texts": [self.text() for _ in range(n)]} if n else {"text": self.text()}
                return Mixed(kind, post("/v1/tag", {**given, **more}), ("200",))

            return make

        def chunked() -> Mixed:
            body = json.dumps({"text": self.text()}).encode()
            head = b"POST /v1/tag HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            half = len(body) // 2
            parts = b"".join(b"%x\r\n%s\r\n" % (len(x), x) for x in (body[:half], body[half:], b""))
            return Mixed("tag, chunked", head + b"Transfer-Encoding: chunked\r\n\r\n" + parts, OK)

        def explain() -> Mixed:
            asked = {"text": self.text(), "label": self.label()}
            return Mixed("explain", post("/v1/explain", asked), OK)

        def search() -> Mixed:
            word = self.label().rpartition(":")[2][: self.draw.randrange(1, 4)]
            query = "".join(c for c in word if c.isalnum()) or "a"
            return Mixed("labels, search", http("GET", f"/v1/labels?q={query}&limit=20"), OK)

        def feedback() -> Mixed:
            asked = {"text": self.text(), "labels": [self.label()], "rejected": []}
            return Mixed("feedback", post("/v1/feedback", asked), OK)

        def get(path: str) -> Callable[[], Mixed]:
            return lambda: Mixed(f"GET {path}", http("GET", path), OK)

        return [
            (560, tag("tag", k=10)),
            (60, tag("tag, threshold", threshold="auto")),
            (20, tag("tag, per label", threshold="per-label")),
            (40, tag("tag, 8 texts", 8)),
            (10, tag("tag, 64 texts", 64)),
            (10, chunked),
            (50, explain),
            (60, search),
            (20, get("/v1/labels")),
            (15, get("/v1/models")),
            (30, feedback),
            (25, get("/healthz")),
            (8, get("/metrics")),
            (8, get("/")),
        ]

    def _malformed(self) -> list[tuple[int, Callable[[], Mixed]]]:
        def bad(kind: str, status: str, data: Callable[[], bytes]) -> Callable[[], Mixed]:
            return lambda: Mixed(kind, data(), (status,))

        def wrong(kind: str, status: str, **asked: Any) -> Callable[[], Mixed]:
            path = "/v1/explain" if "label" in asked else "/v1/tag"
            return bad(kind, status, lambda: post(path, {"text": self.text(), **asked}))

        many = post("/v1/tag", {"texts": ["a"] * 1001})
        deep = http("POST", "/v1/tag", b'{"text":' + b"[" * 5000 + b"]" * 5000 + b"}")
        return [
            (10, bad("not JSON", "400", lambda: http("POST", "/v1/tag", b'{"text": "unclosed'))),
            (6, bad("not UTF-8", "400", lambda: http("POST", "/v1/tag", b'{"text": "\xff\xfe"}'))),
            (3, bad("too deep", "400", lambda: deep)),
            (3, bad("empty body", "400", lambda: http("POST", "/v1/tag", b"", length=0))),
            (6, wrong("wrong type", "422", text=[1, None, {}])),
            (5, wrong("unknown field", "422", colour="red")),
            (5, wrong("k out of range", "422", k=0)),
            (5, wrong("bad threshold", "422", threshold="much")),
            (5, wrong("unknown model", "404", model="nobody")),
            (5, wrong("unknown label", "404", label="no such label")),
            (2, bad("too many texts", "413", lambda: many)),
            (1, bad("text too long", "413", lambda: self.long)),
            (5, bad("wrong method", "405", lambda: http("GET", "/v1/tag"))),
            (5, bad("wrong content type", "415", self._plain)),
            (5, bad("unknown page", "404", lambda: http("GET", "/v1/nothing"))),
            (3, bad("bad query", "422", lambda: http("GET", "/v1/labels?limit=many"))),
        ]

    def _impolite(self) -> list[tuple[int, Callable[[], Mixed]]]:
        def cut() -> Mixed:
            data = post("/v1/tag", {"text": self.text()})
            return Mixed("cut off and gone", data[:-20], ("left",), "leave")

        def gone() -> Mixed:
            data = post("/v1/tag", {"texts": [self.text()] * 4})
            return Mixed("gone before the answer", data, ("left",), "leave")

        def head() -> Mixed:
            return Mixed("cut off in the head", b"POST /v1/tag HTT", ("left",), "leave")

        def stalled() -> Mixed:
            data = post("/v1/tag", {"text": self.text()})[:-20]
            return Mixed("stalled in the body", data, ("408", "closed", "not answered"), "fresh")

        def claimed() -> Mixed:
            data = http("POST", "/v1/tag", b"{", length=50_000_000)
            return Mixed("too large a body claimed", data, ("413",), "fresh")

        def garbage() -> Mixed:
            data = bytes(self.draw.randrange(256) for _ in range(60)) + b"\r\n\r\n"
            return Mixed("not HTTP", data, ("400", "closed", "reset"), "fresh")

        return [(8, cut), (8, gone), (4, head), (1, stalled), (3, claimed), (4, garbage)]

    def _plain(self) -> bytes:
        return http("POST", "/v1/tag", self.text().encode(), kind="text/plain")


OK = ("200",)
