"""What requests are told of errors, and what the log is."""

import logging

import pytest
from fastapi import Request
from starlette.exceptions import HTTPException

from labelgrove.core.errors import (
    FullDiskError,
    InputError,
    LabelgroveError,
    StorageError,
    UnknownNameError,
)
from labelgrove.service.problems import ProblemError, as_problem, invalid, place

REQUEST = Request({"type": "http", "method": "PUT", "path": "/v1/x", "headers": []})


@pytest.mark.parametrize(
    ("error", "status", "detail", "logged", "traced"),
    [
        (ProblemError(418, "said"), 418, "said", False, False),
        (UnknownNameError("model", "a", ["b"]), 404, "a", False, False),
        (InputError("not so"), 409, "not so", False, False),
        (FullDiskError("no room"), 507, "no room; make room there, then send it", True, False),
        (StorageError("damaged"), 500, "damaged", True, False),
        (LabelgroveError("broken"), 500, "broken", True, True),
        (ZeroDivisionError("secret"), 500, "something failed here", True, True),
    ],
)
def test_an_error_has_a_status_and_is_logged_if_it_is_ours(
    caplog, error, status, detail, logged, traced
):
    found = as_problem(REQUEST, error)
    assert found.status == status
    assert detail in found.detail
    assert "secret" not in found.detail
    lines = [each for each in caplog.records if each.levelno == logging.ERROR]
    assert len(lines) == logged
    assert ("PUT /v1/x failed" in caplog.text) == logged
    assert any(each.exc_info for each in lines) == traced


def test_what_is_not_there_names_what_is():
    long = Request({"type": "http", "method": "PUT", "path": "/" + "x" * 300, "headers": []})
    found = as_problem(long, HTTPException(404))
    assert (found.status, found.errors) == (404, ())
    assert found.detail == f"there is nothing at /{'x' * 199}; /openapi.json tells what is"
    found = as_problem(REQUEST, HTTPException(405, headers={"Allow": "GET"}))
    assert (found.status, found.detail) == (405, "PUT does not work here, GET does")
    assert found.headers == {"Allow": "GET"}
    assert as_problem(REQUEST, HTTPException(405)).detail.endswith("another method does")
    found = as_problem(REQUEST, HTTPException(400, "odd"))
    assert (found.status, found.detail, found.headers) == (400, "odd", {})


def test_an_answer_has_all_that_is_known():
    problem = ProblemError(429, "later", errors=[("a", "b")], headers={"Retry-After": "7"})
    answer = problem.response()
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "7")
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.body == (
        b'{"title":"Too Many Requests","status":429,"detail":"later",'
        b'"errors":[{"where":"a","message":"b"}]}'
    )
    assert b"errors" not in ProblemError(400, "x").response().body
    assert str(problem) == "later"


def fault(kind, said, *where, **more):
    return {"type": kind, "msg": said, "loc": where, **more}


def test_faults_are_told_with_place_and_value():
    def told(*error, **more):
        return invalid([fault(*error, **more)], "the body").detail

    assert told("x", "Input should be whole", "k", input=1.5) == "k: it should be whole, got 1.5"
    assert told("x", "Input should be whole", input=[1]) == "the body: it should be whole"
    assert told("x", "odd", "k", input=None) == "k: odd, got null"
    assert told("x", "odd", "k", input=True) == "k: odd, got true"
    assert told("value_error", "Value error, odd", "a", "b", 2, input="ö") == 'a.b[2]: odd, got "ö"'
    assert told("extra_forbidden", "any", "f", input=1) == "f: there is no such field"
    empty = told("string_pattern_mismatch", "any", "f", input="")
    assert empty == 'f: it is empty, or has a NUL character, got ""'


def test_places_of_values():
    assert [place(each) for each in ((), ("a",), (0,), ("a", "b"), (0, "a", 1))] == [
        *("", "a", "[0]", "a.b", "[0].a[1]"),
    ]


def test_twenty_faults_are_listed_and_all_are_counted():
    for n, said, listed in ((1, "f0: odd", 1), (2, "f0: odd (and 1 more)", 2), (21, "20 more", 20)):
        found = invalid([fault("x", "odd", f"f{i}", input=[]) for i in range(n)], "it")
        assert found.status == 422
        assert said in found.detail
        assert len(found.errors) == listed
    assert "more" not in invalid([fault("x", "odd", input=[])], "it").detail
