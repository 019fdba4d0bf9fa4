"""Refusals in Annif's form, for every request to one of Annif's paths.

The statuses are those of Annif 1.4; so is the plain text where a body is too large.
"""

from __future__ import annotations

from typing import Any

from fastapi import Request, Response
from pydantic_core import to_json

from labelgrove.service.problems import MEDIA_TYPE, ProblemError, as_problem

PATHS = ("/v1/projects", "/v1/vocabs", "/v1/detect-language")
ROOT = "/v1/"
STATUSES = {408: 503, 409: 503, 422: 400, 507: 503}  # ours, and what Annif answers
BAD, UNAVAILABLE = "Bad Request", "Service unavailable"


class AnnifProblemError(ProblemError):
    """A refusal as Annif words it: problem details, but plain text where a body is too large."""

    def __init__(self, status: int, title: str, detail: str, **more: Any) -> None:
        super().__init__(status, detail, **more)
        self.title = title

    def response(self) -> Response:
        """Return the answer."""
        if self.status == 413:
            return Response(self.detail, 413, self.headers, "text/plain")
        body = {
            "type": "about:blank",
            "title": self.title,
            "detail": self.detail,
            "status": self.status,
        }
        return Response(to_json(body), self.status, self.headers, MEDIA_TYPE)


def is_annifs(path: str) -> bool:
    """Tell whether a path is one of Annif's, or lies below one.

    Examples
    --------
    >>> [is_annifs(path) for path in ("/v1/", "/v1/projects/a/b", "/v1/tag", "/v1/projects-x")]
    [True, True, False, False]
    """
    return path == ROOT or any(path == each or path.startswith(f"{each}/") for each in PATHS)


def problem_of(request: Request, error: Exception) -> ProblemError:
    """Return what a request is told of an error, in the form that its path has."""
    problem = as_problem(request, error)
    if isinstance(problem, AnnifProblemError) or not is_annifs(request.url.path):
        return problem
    status = STATUSES.get(problem.status, problem.status)
    plain = ProblemError(status, problem.detail).title
    title = {400: BAD, 503: UNAVAILABLE}.get(status, plain)
    return AnnifProblemError(status, title, problem.detail, headers=problem.headers)
