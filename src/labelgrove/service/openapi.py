"""What OpenAPI tells beyond what FastAPI knows: bodies that are read by hand, problems, keys."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel

from labelgrove.service.access import HEALTH, METRICS, OPEN
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
ANNIF = "annif"  # the tag of Annif's operations
OURS = "labelgrove"  # the tag of all others
OF_ANNIF = {
    "400": "Not a request, not by a name of this service, or a value that cannot be.",
    "403": "Not allowed here.",
    "404": "A project that is not known.",
    "429": "Too many requests, or too many texts waiting.",
    "503": "What this tagger cannot do, the disk is full, or the answer took too long.",
}
OF_ANNIF_WITH_A_BODY = {"415": "Not the kind of body that is wanted, or compressed."}
# answers that no single tagger gives
OF_NO_TAGGER = frozenset(
    {"/v1/models", "/v1/reload", HEALTH, METRICS, "/v1/", "/v1/vocabs", "/v1/projects"}
    | {"/v1/detect-language"}
)
VERSION_HEADER = {
    "description": "The saved tagger that gave this answer: `version` in `/v1/models`.",
    "schema": {"type": "string"},
}
KEYED = {"401": "No API key, or one that is not known."}


def operation(
    body: type[BaseModel] | None = None, *, form: bool = False, text: bool = False
) -> dict[str, Any]:
    """Return what a route is told beside its path: its body, or that it answers plain text."""
    told: dict[str, Any] = {}
    if body is not None:
        kind = "application/x-www-form-urlencoded" if form else "application/json"
        schema = body.model_json_schema()
        content = {kind: {"schema": _inlined(schema, schema.pop("$defs", {}))}}
        told["openapi_extra"] = {"requestBody": {"required": True, "content": content}}
    if text:
        told["responses"] = {200: {"content": {"text/plain": {"schema": {"type": "string"}}}}}
    return told


def _inlined(part: Any, definitions: dict[str, Any]) -> Any:
    """Return a schema with what it refers to in place of the references."""
    if isinstance(part, list):
        return [_inlined(each, definitions) for each in part]
    if not isinstance(part, dict):
        return part
    if reference := part.get("$ref"):
        return _inlined(definitions[reference.rpartition("/")[2]], definitions)
    return {name: _inlined(each, definitions) for name, each in part.items()}


def complete(app: FastAPI, *, keyed: bool, metrics_keyed: bool = False) -> None:
    """Let the app's schema have all answers that there are, and say what needs a key."""
    made = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema:
            return app.openapi_schema
        schema = made()
        parts = schema.setdefault("components", {})
        for name in ("HTTPValidationError", "ValidationError"):
            parts.get("schemas", {}).pop(name, None)
        parts.setdefault("schemas", {}).update(_problem())
        if keyed or metrics_keyed:
            parts["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
        for path, methods in schema["paths"].items():
            for method in methods.values():
                wants = (keyed and path not in OPEN) or (metrics_keyed and path == METRICS)
                _complete(method, keyed=wants)
                if path not in OF_NO_TAGGER:
                    _give_version(method["responses"])
        return schema

    app.openapi = openapi  # type: ignore[method-assign]


def _complete(method: dict[str, Any], *, keyed: bool) -> None:
    answers = method["responses"]
    method.setdefault("tags", [OURS])
    first, _, rest = method.get("description", "").partition("\n")
    if first:  # what it does says more than the name of a function
        method["summary"], method["description"] = first.rstrip("."), rest.strip()
    body, annif = "requestBody" in method, ANNIF in method.get("tags", ())
    always, with_a_body = (OF_ANNIF, OF_ANNIF_WITH_A_BODY) if annif else (ALWAYS, WITH_A_BODY)
    said = always | (with_a_body if body else {}) | (KEYED if keyed else {})
    if annif:
        answers.pop("422", None)  # FastAPI's own, which is a 400 there
    if annif and body:
        plain = {"text/plain": {"schema": {"type": "string"}}}
        answers["413"] = {"description": WITH_A_BODY["413"], "content": plain}
    for status, description in said.items():
        content = {MEDIA_TYPE: {"schema": {"$ref": PROBLEM}}}
        answers[status] = {"description": description, "content": content}
    if keyed:
        method["security"] = [{"key": []}]


def _give_version(answers: dict[str, Any]) -> None:
    for status, answer in answers.items():
        if status.startswith("2"):
            answer.setdefault("headers", {})["Tagger-Version"] = VERSION_HEADER


def _problem() -> dict[str, Any]:
    schema = ProblemDetails.model_json_schema(ref_template="#/components/schemas/{model}")
    inner = schema.pop("$defs", {})
    return {"ProblemDetails": schema, **inner}
