"""The schema tells what each way takes and answers, and no more."""

import pytest

from asgi import in_process
from services import made

ALWAYS = {"400", "403", "404", "409", "422", "429"}
WITH_A_BODY = {"408", "413", "415", "507"}
BODIES = {"/v1/tag", "/v1/explain", "/v1/feedback"}


@pytest.fixture(scope="module")
def schemas(tmp_path_factory):
    """The schema without keys, and with them."""
    folder = tmp_path_factory.mktemp("served") / "quick"
    made(folder, "most-frequent")
    found = []
    for keys in ((), ("a-key-of-more-than-sixteen-letters",)):
        with in_process(folder, keys=keys) as service:
            first, second = (service.ask("/openapi.json").json for _ in range(2))
            assert first == second
            found.append(first)
    return found


ANNIF = {"400", "403", "404", "429", "503"}
ANNIF_BODIES = {
    "/v1/projects/{project_id}/suggest",
    "/v1/projects/{project_id}/suggest-batch",
    "/v1/projects/{project_id}/learn",
    "/v1/detect-language",
}


def operations(schema, *, annif=False):
    """Return our operations by path, or Annif's."""
    every = {path: each for path, ways in schema["paths"].items() for each in ways.values()}
    return {
        path: each for path, each in every.items() if ("annif" in each.get("tags", ())) == annif
    }


def test_answers_of_a_tagger_have_its_version(schemas):
    every = {**operations(schemas[0]), **operations(schemas[0], annif=True)}
    for path, each in every.items():
        answer = each["responses"].get("200") or each["responses"]["204"]
        named = "Tagger-Version" in answer.get("headers", {})
        of_one = path in BODIES or path in ("/v1/labels", "/v1/review") or "{project_id}" in path
        assert named == of_one, path


def test_operations_are_called_by_what_they_do(schemas):
    tag = schemas[0]["paths"]["/v1/tag"]["post"]
    assert tag["summary"] == "Rank labels for one text or several"
    for each in operations(schemas[0]).values():
        assert " " in each["summary"]


def test_annifs_operations_have_its_answers(schemas):
    plain, keyed = (operations(schema, annif=True) for schema in schemas)
    assert plain.keys() == ANNIF_BODIES | {
        *("/v1/", "/v1/vocabs", "/v1/projects", "/v1/projects/{project_id}"),
    }
    for path, each in plain.items():
        body = path in ANNIF_BODIES
        done = "204" if path.endswith("/learn") else "200"
        expected = {done} | ANNIF | ({"413", "415"} if body else set())
        assert set(each["responses"]) == expected
        assert set(keyed[path]["responses"]) == expected | {"401"}
        assert ("requestBody" in each) == body
        if body:
            assert set(each["responses"]["413"]["content"]) == {"text/plain"}
            kind = "x-www-form-urlencoded" if path.endswith("/suggest") else "json"
            assert set(each["requestBody"]["content"]) == {f"application/{kind}"}


def test_every_answer_is_listed(schemas):
    plain, keyed = map(operations, schemas)
    for path, each in plain.items():
        more = WITH_A_BODY if path in BODIES else set()
        assert set(each["responses"]) == {"200"} | ALWAYS | more
        assert ("requestBody" in each) == (path in BODIES)
        assert "security" not in each
        guarded = set() if path == "/healthz" else {"401"}
        assert set(keyed[path]["responses"]) == {"200"} | ALWAYS | more | guarded
        assert keyed[path].get("security") == ([{"key": []}] if guarded else None)
    assert "securitySchemes" not in schemas[0]["components"]
    assert schemas[1]["components"]["securitySchemes"] == {
        "key": {"type": "http", "scheme": "bearer"}
    }


def test_only_metrics_are_plain_text(schemas):
    for path, each in operations(schemas[0]).items():
        kinds = set(each["responses"]["200"]["content"])
        assert kinds == ({"text/plain"} if path == "/metrics" else {"application/json"}), path


def test_a_refusal_is_a_problem(schemas):
    for each in operations(schemas[1]).values():
        for status in ALWAYS:
            assert each["responses"][status]["content"] == {
                "application/problem+json": {
                    "schema": {"$ref": "#/components/schemas/ProblemDetails"}
                }
            }
    parts = schemas[1]["components"]["schemas"]
    assert {"ProblemDetails", "Place"} <= set(parts)
    assert not {"HTTPValidationError", "ValidationError"} & set(parts)


def test_bodies_are_required_and_have_limits(schemas):
    bodies = {
        path: each["requestBody"]
        for path, each in operations(schemas[0]).items()
        if "requestBody" in each
    }
    assert all(each["required"] is True for each in bodies.values())
    fields = bodies["/v1/tag"]["content"]["application/json"]["schema"]
    assert fields["additionalProperties"] is False
    k = fields["properties"]["k"]
    assert (k["default"], k["minimum"], k["maximum"]) == (5, 1, 1000)
    assert fields["properties"]["texts"]["minItems"] == 1
    assert fields["properties"]["threshold"]["anyOf"][0] == {
        "type": "number",
        "minimum": 0,
        "maximum": 1,
    }
    fields = bodies["/v1/feedback"]["content"]["application/json"]["schema"]
    assert fields["properties"]["allow_new"]["default"] is False
    assert fields["properties"]["text"]["minLength"] == 1
    score = schemas[0]["components"]["schemas"]["GivenLabel"]["properties"]["score"]
    assert (score["minimum"], score["maximum"]) == (0, 1)


def test_a_query_has_limits(schemas):
    told = operations(schemas[0])["/v1/labels"]["parameters"]
    fields = {each["name"]: each["schema"] for each in told}
    limit, offset = fields["limit"], fields["offset"]
    assert (limit["default"], limit["minimum"], limit["maximum"]) == (50, 1, 1000)
    assert (offset["default"], offset["minimum"], offset["maximum"]) == (0, 0, 100_000)
    assert {fields[name]["maxLength"] for name in ("q", "parent", "id", "model")} == {1000}
