"""What OpenAPI tells beyond what FastAPI knows: bodies that are read by hand, problems, keys."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel

from labelgrove.service.middleware import OPEN
from labelgrove.service.problems import MEDIA_TYPE, ProblemDetails

PROBLEM = "#/components/schemas/ProblemDetails"
ALWAYS = {
    "400": "Not a request, or not by a name of this service.",
    "403": "Not allowed here.",
    "404": "A model or label that is not known.",
    "409": "What this tagger cannot do, or contradicts itself.",
    "422": "A value that cannot be.",
    "429": "Too many requests, or too many texts waiting.",
}
WITH_A_BODY = {
    "408": "The body came too slowly, or the answer took too long.",
    "413": "Too large: the body, the number of texts, or a text.",
    "415": "Not JSON, or compressed.",
    "507": "The disk is full, so feedback was not kept.",
}
KEYED = {"401": "No API key, or one that is not known."}


def operation(body: type[BaseModel] | None = None, *, text: bool = False) -> dict[str, Any]:
    """Return what a route is told beside its path: its body, or that it answers plain text."""
    told: dict[str, Any] = {}
    if body is not None:
        content = {"application/json": {"schema": body.model_json_schema()}}
        told["openapi_extra"] = {"requestBody": {"required": True, "content": content}}
    if text:
        told["responses"] = {200: {"content": {"text/plain": {"schema": {"type": "string"}}}}}
    return told


def complete(app: FastAPI, *, keyed: bool) -> None:
    """Let the app's schema have all answers that there are."""
    made = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema:
            return app.openapi_schema
        schema = made()
        parts = schema.setdefault("components", {})
        for name in ("HTTPValidationError", "ValidationError"):
            parts.get("schemas", {}).pop(name, None)
        parts.setdefault("schemas", {}).update(_problem())
        if keyed:
            parts["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
        for path, methods in schema["paths"].items():
            for method in methods.values():
                _complete(method, keyed=keyed and path not in OPEN)
        return schema

    app.openapi = openapi  # type: ignore[method-assign]


def _complete(method: dict[str, Any], *, keyed: bool) -> None:
    answers = method["responses"]
    said = ALWAYS | (WITH_A_BODY if "requestBody" in method else {}) | (KEYED if keyed else {})
    for status, description in said.items():
        content = {MEDIA_TYPE: {"schema": {"$ref": PROBLEM}}}
        answers[status] = {"description": description, "content": content}
    if keyed:
        method["security"] = [{"key": []}]


def _problem() -> dict[str, Any]:
    schema = ProblemDetails.model_json_schema(ref_template="#/components/schemas/{model}")
    inner = schema.pop("$defs", {})
    return {"ProblemDetails": schema, **inner}
