"""What routes share: requests that cost more count for more, answers have a time limit."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable
from typing import TypeVar

from fastapi import Request, Response

from labelgrove.service.access import SPEND
from labelgrove.service.bodies import NOTES, VERSION
from labelgrove.service.problems import ProblemError
from labelgrove.service.served import Served

T = TypeVar("T")
FOR_ONE = 10  # texts that a request may have to count once


def spend(request: Request, weight: int) -> None:
    """Count a request once for each ten texts, if the requests of clients are counted."""
    counted = request.scope[NOTES].get(SPEND)
    if counted is not None and weight > FOR_ONE:
        counted(math.ceil(weight / FOR_ONE) - 1)


def answered_by(request: Request, served: Served) -> Served:
    """Let the answer say which version of a tagger gave it, also if a reload comes meanwhile."""
    request.scope[NOTES][VERSION] = served.version
    return served


async def in_time(answer: Awaitable[T], seconds: float) -> T:
    """Return an answer that comes within so many seconds."""
    try:
        async with asyncio.timeout(seconds):
            return await answer
    except TimeoutError:
        raise ProblemError(
            408,
            f"there was no answer after {seconds:g} s: send fewer or shorter texts, or start the "
            "service with a larger --timeout",
        ) from None


def json_answer(body: bytes) -> Response:
    """Return an answer whose body is JSON already."""
    return Response(body, media_type="application/json")
