"""Middleware before the app: API keys, rate limits, hosts, headers, metrics and the log."""

from __future__ import annotations

import hashlib
import hmac
import json
import math
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from labelgrove.service.bodies import NOTES, ROUTE, HeldBytes
from labelgrove.service.headers import HEADERS, UNKEPT
from labelgrove.service.metrics import Metrics
from labelgrove.service.problems import ProblemError, as_problem
from labelgrove.service.rates import Rates
from labelgrove.service.settings import Settings

OPEN = frozenset({"/", "/healthz", "/openapi.json"})  # for those without a key; so is /static
FREE = frozenset({"/", "/healthz", "/metrics"})  # not counted; neither is /static
SPEND = "spend"  # the note by which a costly request counts for more than one
NEAR_IPV6 = 64  # bits that a client's addresses have in common


class ServiceMiddleware:
    """Wraps an ASGI app: checks keys, rates, hosts and origins; adds headers; counts and logs.

    Parameters
    ----------
    app
        What answers.
    settings
        Who may ask, and how often.
    metrics
        Where answers are counted.
    routes
        The paths there are; requests of any other count as ``other``.
    direct
        Answers to requests that are asked most, by method and path: the app knows them too, but
        its way to them takes nearly as long as the answer.
    held
        Bytes of requests that are being answered.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        settings: Settings,
        metrics: Metrics,
        routes: frozenset[str],
        direct: Mapping[tuple[str, str], Callable[[Request], Awaitable[Response]]],
        held: HeldBytes,
    ) -> None:
        self._held = held
        self._app = app
        self._direct = direct
        self._keys = [hashlib.sha256(key.encode()).digest() for key in settings.keys]
        self._hosts = frozenset(host.lower() for host in settings.hosts)
        self._addresses = settings.addresses
        self._log = settings.log
        self._metrics = metrics
        self._routes = routes
        rate = settings.limits.rate
        shared = Path(settings.shared) if settings.shared else None
        self._rates = None if rate is None else Rates(rate, shared)
        self._counted: dict[tuple[str, int], Any] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = time.perf_counter()
        status = 500
        notes: dict[str, Any] = {}
        scope[NOTES] = notes

        async def sent(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = list(message.get("headers", ()))
                headers.extend(HEADERS)
                if not any(name == UNKEPT[0] for name, _ in headers):
                    headers.append(UNKEPT)
                message = {**message, "headers": headers}
            await send(message)

        try:
            await self._answer(scope, receive, sent)
        finally:
            self._held.release(notes)
            self._tell(scope, status, time.perf_counter() - started, notes)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            self._check(scope)
        except Exception as error:
            problem = as_problem(Request(scope), error)
            await problem.response()(scope, receive, send)
            return
        answer = self._direct.get((scope["method"], scope["path"]))
        if answer is None:
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        try:
            response = await answer(request)
        except Exception as error:
            response = as_problem(request, error).response()
        await response(scope, receive, send)

    def _check(self, scope: Scope) -> None:
        """Refuse who may not ask."""
        headers = dict(scope["headers"])
        path = scope["path"]
        host = headers.get(b"host", b"").decode("latin-1").lower()
        if sum(name == b"host" for name, _ in scope["headers"]) != 1:
            raise ProblemError(400, "a request has one Host header")
        if not self._is_ours(_name(host)):
            raise ProblemError(
                400,
                f"this service is not called {host[:100]!r}; --allow-host gives it another name",
            )
        origin = headers.get(b"origin", b"").decode("latin-1").lower()
        if origin and origin.partition("://")[2] != host:
            raise ProblemError(403, "pages of other origins may not ask")
        static = path.startswith("/static/")
        counts = self._rates is not None and not (static or path in FREE)
        client = _client(scope["client"][0] if scope.get("client") else "")
        if self._keys and not (static or path in OPEN):
            try:
                client = self._keyed(headers.get(b"authorization", b""))
            except ProblemError:
                if self._rates is not None:  # whoever tries keys is counted too
                    self._count(client)
                raise
        if counts:
            self._count(client)
            assert self._rates is not None
            scope[NOTES][SPEND] = partial(self._rates.spend, client)

    def _is_ours(self, name: str) -> bool:
        """Tell whether a request that calls this service so is meant for it."""
        if name in self._hosts or not (self._hosts or self._addresses):
            return True
        return self._addresses and _is_address(name)

    def _count(self, client: str) -> None:
        """Refuse who asks too often."""
        assert self._rates is not None
        wait = self._rates.wait(client)
        if wait > 0:
            seconds = math.ceil(wait)
            raise ProblemError(
                429,
                f"too many requests: ask again in {seconds} s",
                headers={"Retry-After": str(seconds)},
            )

    def _keyed(self, given: bytes) -> str:
        """Return a name for the key of a request, comparing it with all keys in constant time."""
        scheme, _, key = given.partition(b" ")
        digest = hashlib.sha256(key.strip()).digest()
        known_key = False
        for known in self._keys:
            known_key |= hmac.compare_digest(known, digest)
        if scheme.lower() != b"bearer" or not known_key:
            said = "this API key is not known" if key else "this service wants an API key"
            raise ProblemError(
                401,
                f"{said}: send the header 'Authorization: Bearer KEY'",
                headers={"WWW-Authenticate": "Bearer"},
            )
        return digest.hex()

    def _tell(self, scope: Scope, status: int, seconds: float, notes: dict[str, Any]) -> None:
        path = scope["path"]
        route = notes.get(ROUTE) or (path if path in self._routes else "other")
        counted = self._counted.get((route, status))
        if counted is None:
            counted = (
                self._metrics.requests.labels(route, str(status)),
                self._metrics.seconds.labels(route),
            )
            self._counted[route, status] = counted
        counted[0].inc()
        counted[1].observe(seconds)
        if self._log == "nothing":
            return
        client = scope["client"][0] if scope.get("client") else "-"
        where = scope.get("raw_path", b"").decode("ascii", "replace")[:200]
        told = f"{client} {scope['method']} {where} {status} {1000 * seconds:.1f} ms"
        texts: Sequence[str] | None = notes.get("texts")
        if texts is not None:
            told += f" texts={len(texts)}"
            if self._log == "texts":  # as JSON: no text can look like another line
                told += " " + json.dumps(list(texts))
        with suppress(OSError):  # nobody reads the log any more
            # as logging does, but for what looking up the caller takes
            sys.stderr.write(f"{time.strftime('%Y-%m-%dT%H:%M:%S')} {told}\n")


@lru_cache(1_000)
def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


@lru_cache(1_000)
def _client(address: str) -> str:
    """Return whom an address stands for: whoever has one of version 6 has many near it.

    Examples
    --------
    >>> _client("127.0.0.1"), _client("2001:db8::1:2")
    ('127.0.0.1', '2001:db8::/64')
    """
    if ":" not in address:
        return address
    return str(ip_network(f"{address.partition('%')[0]}/{NEAR_IPV6}", strict=False))


def _name(host: str) -> str:
    """Return the host of a Host header without its port.

    Examples
    --------
    >>> _name("localhost:8000"), _name("[::1]:8000")
    ('localhost', '::1')
    """
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]
