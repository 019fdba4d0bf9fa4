"""Bodies of requests: read within limits of size and time, and parsed once."""

from __future__ import annotations

import asyncio
from typing import Any, TypeVar
from urllib.parse import parse_qsl

from fastapi import Request
from pydantic import BaseModel, ValidationError
from pydantic_core import from_json
from starlette.requests import ClientDisconnect

from labelgrove.service.problems import ProblemError, invalid
from labelgrove.service.settings import Limits

Asked = TypeVar("Asked", bound=BaseModel)
JSON = b"application/json"
FORM = b"application/x-www-form-urlencoded"
NOTES = "labelgrove"  # where a request's scope has what the middleware is to know of it
HELD, ROUTE = "held", "route"
VERSION = "version"  # the note on the tagger that answers
FOREIGN = "foreign"  # the note on a request of a page of another origin that may ask
MOST_FIELDS = 50  # of a body; no request has nearly as many
OWN_PAGES = ("same-origin", "none")  # what browsers say of a request that no other page makes


class HeldBytes:
    """Counts the bytes of requests that a process holds, from their arrival to their answer.

    Parameters
    ----------
    most
        So many at most.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._held = 0

    def take(self, size: int, notes: dict[str, Any]) -> None:
        """Count bytes of the request with these notes; refuse it if there are too many."""
        if self._held + size > self._most:
            raise ProblemError(
                429,
                f"this service holds {self._held:,} bytes of requests already, at most "
                f"{self._most:,}: ask again, or start it with a larger --max-bodies",
                headers={"Retry-After": "1", "Connection": "close"},
            )
        self._held += size
        notes[HELD] = notes.get(HELD, 0) + size

    def release(self, notes: dict[str, Any]) -> None:
        """Forget the bytes of a request that was answered."""
        self._held -= notes.pop(HELD, 0)


async def read(request: Request, kind: type[Asked], limits: Limits, held: HeldBytes) -> Asked:
    """Return what a request asks for in JSON."""
    _check_kind(request, JSON, "JSON, with the header 'Content-Type: application/json'")
    body = await _bytes(request, limits, held)
    try:
        value = from_json(body)
    except ValueError as error:
        raise ProblemError(400, f"the body is not JSON in UTF-8: {error}") from None
    if isinstance(value, dict):
        _check_size(value, limits)
    return _validated(kind, value)


async def read_form(request: Request, kind: type[Asked], limits: Limits, held: HeldBytes) -> Asked:
    """Return what a request asks for in the fields of a form; of a field given twice, the last.

    A browser sends forms of any page without asking first. The middleware refuses them by their
    header ``Origin``; here they are refused by ``Sec-Fetch-Site`` too.
    """
    sender = request.headers.get("sec-fetch-site", "none").lower()
    if sender not in OWN_PAGES and FOREIGN not in request.scope[NOTES]:
        raise ProblemError(403, "pages of other origins may not ask")
    _check_kind(request, FORM, f"a form, with the header 'Content-Type: {FORM.decode()}'")
    body = await _bytes(request, limits, held)
    return _validated(kind, await asyncio.to_thread(_fields, body))


def _check_kind(request: Request, kind: bytes, wanted: str) -> None:
    packed = request.headers.get("content-encoding", "identity")
    if packed.lower() != "identity":
        raise ProblemError(415, f"send the body as it is, not as {packed[:50]!r}")
    sent = request.headers.get("content-type", "").encode("latin-1")
    if sent.partition(b";")[0].strip().lower() != kind:
        raise ProblemError(415, f"send {wanted}")


def _fields(body: bytes) -> dict[str, str]:
    try:
        pairs = parse_qsl(
            body.decode(), keep_blank_values=True, errors="strict", max_num_fields=MOST_FIELDS
        )
    except UnicodeDecodeError as error:
        raise ProblemError(400, f"the form is not UTF-8: {error.reason}") from None
    except ValueError:
        raise ProblemError(400, f"the form has more than {MOST_FIELDS} fields") from None
    return dict(pairs)


def _validated(kind: type[Asked], value: Any) -> Asked:
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        raise invalid(error.errors(), "the body") from None


def _check_size(value: dict[str, Any], limits: Limits) -> None:
    """Refuse what would take long to be refused value by value."""
    if len(value) > MOST_FIELDS:
        raise ProblemError(422, f"the body has {len(value):,} fields, which is none of these")
    texts = value.get("texts")
    if isinstance(texts, list) and len(texts) > limits.texts:
        raise too_many(len(texts), limits)


async def _bytes(request: Request, limits: Limits, held: HeldBytes) -> bytes:
    length = request.headers.get("content-length", "")
    if length.isdecimal() and int(length) > limits.body:
        raise _too_large(limits, f"{int(length):,}")
    chunks, size = [], 0
    try:
        async with asyncio.timeout(limits.seconds):
            async for chunk in request.stream():
                size += len(chunk)
                if size > limits.body:
                    raise _too_large(limits, "more")
                held.take(len(chunk), request.scope[NOTES])
                chunks.append(chunk)
    except TimeoutError:
        raise ProblemError(
            408,
            f"the body was not here after {limits.seconds:g} s, only {size:,} bytes of it",
            headers={"Connection": "close"},
        ) from None
    except ClientDisconnect:
        raise ProblemError(400, "the connection ended before the body did") from None
    return b"".join(chunks)


def _too_large(limits: Limits, size: str) -> ProblemError:
    return ProblemError(
        413,
        f"the body has {size} bytes, at most {limits.body:,} are taken: send fewer or shorter "
        "texts, or start the service with a larger --max-body",
    )


def too_many(texts: int, limits: Limits) -> ProblemError:
    """Return the problem of a request with more texts than are taken."""
    return ProblemError(
        413,
        f"{texts:,} texts in one request, at most {limits.texts:,} are taken: send them in "
        "several, or start the service with a larger --max-texts",
    )


def check_length(limits: Limits, texts: list[str], place: str = "text") -> None:
    """Refuse texts that are too long; ``place`` is where they stand, with ``{}`` for a number."""
    for number, text in enumerate(texts):
        if len(text) > limits.length:
            where = place.format(number)
            said = f"has {len(text):,} characters, at most {limits.length:,} are taken"
            raise ProblemError(
                413,
                f"{where} {said}: send its beginning, or start the service with a larger "
                "--max-length",
                errors=[(where, f"it {said}")],
            )
