"""Middleware before the app: who may ask, other origins, headers, metrics and the log."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from labelgrove.service.access import Access
from labelgrove.service.annif_problems import problem_of
from labelgrove.service.bodies import NOTES, ROUTE, VERSION, HeldBytes
from labelgrove.service.headers import EXPOSED, HEADERS, TAGGER_VERSION, UNKEPT
from labelgrove.service.metrics import Metrics
from labelgrove.service.settings import Settings

ASKING = ("GET", "HEAD", "POST")  # methods of pages of other origins that may ask
SENDING = ("Authorization", "Content-Type")  # headers of theirs


class ServiceMiddleware:
    """Wraps an ASGI app: refuses who may not ask; adds headers; counts and logs.

    Preflights of allowed origins, and the headers by which their pages read answers and refusals,
    are Starlette's. They pass through here as all else does, so they are counted and logged.

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
        self._access = Access(settings)
        self._cors: ASGIApp | None = None
        if settings.origins:
            self._cors = CORSMiddleware(
                self._answer,
                allow_origins=settings.origins,
                allow_methods=ASKING,
                allow_headers=SENDING,
                expose_headers=EXPOSED,
            )
        self._log = settings.log
        self._metrics = metrics
        self._routes = routes
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
                if version := notes.get(VERSION):
                    headers.append((TAGGER_VERSION, version.encode()))
                message = {**message, "headers": headers}
            await send(message)

        foreign = self._cors is not None and self._access.allows_origin(scope)
        answer = self._cors if self._cors is not None and foreign else self._answer
        try:
            await answer(scope, receive, sent)
        finally:
            self._held.release(notes)
            self._tell(scope, status, time.perf_counter() - started, notes)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            self._access.check(scope)
        except Exception as error:
            problem = problem_of(Request(scope), error)
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
            response = problem_of(request, error).response()
        await response(scope, receive, send)

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
