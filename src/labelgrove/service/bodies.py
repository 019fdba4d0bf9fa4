"""Bodies of requests: read within limits of size and time, and parsed once."""

from __future__ import annotations

import asyncio
from typing import TypeVar

from fastapi import Request
from pydantic import BaseModel, ValidationError
from starlette.requests import ClientDisconnect

from labelgrove.service.problems import ProblemError, invalid
from labelgrove.service.settings import Limits

Asked = TypeVar("Asked", bound=BaseModel)
JSON = b"application/json"


async def read(request: Request, kind: type[Asked], limits: Limits) -> Asked:
    """Return what a request asks for."""
    sent = request.headers.get("content-type", "").encode("latin-1")
    if sent.partition(b";")[0].strip().lower() != JSON:
        raise ProblemError(415, "send JSON, with the header 'Content-Type: application/json'")
    body = await _bytes(request, limits)
    try:
        return kind.model_validate_json(body)
    except ValidationError as error:
        errors = error.errors(include_url=False, include_input=False)
        if errors[0]["type"] == "json_invalid":
            why = errors[0]["ctx"]["error"]
            raise ProblemError(400, f"the body is not JSON in UTF-8: {why}") from None
        raise invalid(errors, "the body") from None


async def _bytes(request: Request, limits: Limits) -> bytes:
    length = request.headers.get("content-length", "")
    if length.isdecimal() and int(length) > limits.body:
        raise _too_large(limits, f"{int(length):,}")
    found, size = [], 0
    try:
        async with asyncio.timeout(limits.seconds):
            async for chunk in request.stream():
                size += len(chunk)
                if size > limits.body:
                    raise _too_large(limits, "more")
                found.append(chunk)
    except TimeoutError:
        raise ProblemError(
            408,
            f"the body was not here after {limits.seconds:g} s, only {size:,} bytes of it",
            headers={"Connection": "close"},
        ) from None
    except ClientDisconnect:
        raise ProblemError(400, "the connection ended before the body did") from None
    return b"".join(found)


def _too_large(limits: Limits, size: str) -> ProblemError:
    return ProblemError(
        413,
        f"the body has {size} bytes, at most {limits.body:,} are taken: send fewer or shorter "
        "texts, or start the service with a larger --max-body",
    )


def check_texts(texts: list[str], limits: Limits) -> None:
    """Refuse too many texts, or too long ones."""
    if len(texts) > limits.texts:
        raise ProblemError(
            413,
            f"{len(texts):,} texts in one request, at most {limits.texts:,} are taken: send them "
            "in several, or start the service with a larger --max-texts",
        )
    for number, text in enumerate(texts):
        if len(text) > limits.length:
            raise ProblemError(
                413,
                f"texts[{number}] has {len(text):,} characters, at most {limits.length:,} are "
                "taken: send its beginning, or start the service with a larger --max-length",
                errors=[(f"texts[{number}]", f"{len(text):,} characters")],
            )
