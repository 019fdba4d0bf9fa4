"""What a request is refused with: problem details (RFC 9457) that name value, place and way out."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel
from pydantic_core import to_json
from starlette.exceptions import HTTPException

from labelgrove.core.errors import (
    FullDiskError,
    InputError,
    LabelgroveError,
    StorageError,
    UnknownNameError,
)
from labelgrove.service.request_words import in_fields

SHORT = 50  # characters of a value that is told
MEDIA_TYPE = "application/problem+json"
log = logging.getLogger("labelgrove.service")


class Place(BaseModel):
    """Something that is wrong in a request."""

    where: str
    message: str


class ProblemDetails(BaseModel):
    """Why a request was refused."""

    title: str
    status: int
    detail: str
    errors: list[Place] = []


class ProblemError(Exception):
    """A request that is refused.

    Parameters
    ----------
    status
        The HTTP status.
    detail
        A sentence that names the value, the place and the way out.
    errors
        Where and what, for a request with several faults.
    headers
        More headers of the answer, such as ``Retry-After``.
    """

    def __init__(
        self,
        status: int,
        detail: str,
        *,
        errors: Sequence[tuple[str, str]] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.title = HTTPStatus(status).phrase
        self.detail = detail
        self.errors = errors
        self.headers = dict(headers or {})

    def response(self) -> Response:
        """Return the answer."""
        body: dict[str, Any] = {
            "title": self.title,
            "status": self.status,
            "detail": self.detail,
        }
        if self.errors:
            body["errors"] = [{"where": where, "message": said} for where, said in self.errors]
        return Response(to_json(body), self.status, self.headers, MEDIA_TYPE)


def invalid(errors: Sequence[Mapping[str, Any]], what: str) -> ProblemError:
    """Return the problem of values that pydantic refused; ``what`` names the whole."""
    problems = [(place(error["loc"]) or what, _said(error)) for error in errors[:20]]
    where, said = problems[0]
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    return ProblemError(422, f"{where}: {said}{more}", errors=problems)


def place(location: Sequence[str | int]) -> str:
    """Return where something is in a request.

    Examples
    --------
    >>> place(("texts", 3))
    'texts[3]'
    """
    path = ""
    for step in location:
        path += f"[{step}]" if isinstance(step, int) else f".{step}" if path else str(step)
    return path


def _said(error: Mapping[str, Any]) -> str:
    if error["type"] == "extra_forbidden":
        return "there is no such field"
    if error["type"] == "string_pattern_mismatch":
        return f"it is empty, or has a NUL character{_got(error)}"
    if error["type"] == "value_error":
        return str(error["msg"]).removeprefix("Value error, ") + _got(error)
    return str(error["msg"]).replace("Input should be", "it should be") + _got(error)


def _got(error: Mapping[str, Any]) -> str:
    """Return the value that is wrong, where it is short."""
    value = error.get("input")
    if not (value is None or isinstance(value, bool | int | float | str)):
        return ""
    shown = json.dumps(value, ensure_ascii=False)
    return f", got {shown}" if len(shown) <= SHORT else ""


def answer_problems(app: FastAPI, problem_of: Callable[[Request, Exception], ProblemError]) -> None:
    """Let an app answer every error with the problem that it is."""

    async def answer(request: Request, error: Exception) -> Response:
        return problem_of(request, error).response()

    for kind in (ProblemError, RequestValidationError, HTTPException, LabelgroveError, Exception):
        app.add_exception_handler(kind, answer)


def as_problem(request: Request, error: Exception) -> ProblemError:
    """Return what a request is told of an error; one that nobody expected goes to the log."""
    if isinstance(error, ProblemError):
        return error
    if isinstance(error, RequestValidationError):
        errors = [{**each, "loc": each["loc"][1:]} for each in error.errors()]
        return invalid(errors, "the query")
    if isinstance(error, HTTPException):
        return _without_a_route(request, error)
    if isinstance(error, LabelgroveError):
        problem = from_error(error)
    else:
        problem = ProblemError(500, "something failed here; the service's log tells what")
    if isinstance(error, StorageError):  # its message tells all
        log.error("%s %s failed: %s", request.method, request.url.path, error)
    elif problem.status >= 500:
        log.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return problem


def _without_a_route(request: Request, error: HTTPException) -> ProblemError:
    detail = str(error.detail)
    if error.status_code == 404:
        detail = f"there is nothing at {request.url.path[:200]}; /openapi.json tells what is"
    elif error.status_code == 405:
        allowed = (error.headers or {}).get("Allow", "another method")
        detail = f"{request.method} does not work here, {allowed} does"
    return ProblemError(error.status_code, detail, headers=error.headers)


def from_error(error: LabelgroveError) -> ProblemError:
    """Return the problem behind an error of labelgrove's.

    An unknown name is a 404; what a tagger cannot do, though it was asked rightly, a 409; a full
    disk a 507.
    """
    if isinstance(error, FullDiskError):
        return ProblemError(507, f"{error}; make room there, then send it again")
    said = in_fields(str(error))
    if isinstance(error, UnknownNameError):
        return ProblemError(404, said)
    return ProblemError(409 if isinstance(error, InputError) else 500, said)
