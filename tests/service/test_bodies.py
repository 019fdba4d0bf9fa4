"""Bodies: their form, their size, the time they take."""

import asyncio
import json

import pytest
from fastapi import Request

from labelgrove.service.bodies import HELD, NOTES, HeldBytes, check_length, read
from labelgrove.service.problems import ProblemError
from labelgrove.service.schemas import TagRequest
from labelgrove.service.settings import Limits
from virtual_time import run

JSON = {"content-type": "application/json"}
PLAIN = Limits()


def received(body, headers=JSON, limits=PLAIN, most=10**9, then="http.request"):
    """Return what a body asks for; ``then`` comes after it, or nothing at all."""
    chunks = body if isinstance(body, list) else [body]
    messages = [{"type": "http.request", "body": each, "more_body": True} for each in chunks]
    if then:
        messages.append({"type": then, "body": b"", "more_body": False})

    async def receive():
        if not messages:
            await asyncio.sleep(10**6)
        return messages.pop(0)

    sent = [(name.encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "headers": sent, NOTES: {}}
    held = HeldBytes(most)
    return run(read(Request(scope, receive), TagRequest, limits, held))


def refused(*given, **more):
    with pytest.raises(ProblemError) as error:
        received(*given, **more)
    return error.value.status, error.value.detail


def test_a_body_comes_in_parts():
    asked = received([b'{"te', b'xt": "a",', b'"k": 3}'])
    assert (asked.text, asked.k) == ("a", 3)


@pytest.mark.parametrize("headers", [{}, {"content-type": "text/plain"}])
def test_only_json_is_read(headers):
    said = "send JSON, with the header 'Content-Type: application/json'"
    assert refused(b'{"text": "a"}', headers) == (415, said)


def test_a_packed_body_is_not_read():
    assert refused(b"", {**JSON, "content-encoding": "br"})[0] == 415
    assert received(b'{"text": "a"}', {**JSON, "content-encoding": "Identity"}).text == "a"


def test_what_is_no_json_or_no_object_is_told():
    status, said = refused(b"{")
    assert (status, said[:29]) == (400, "the body is not JSON in UTF-8")
    assert refused(b"\xff")[0] == 400
    status, said = refused(b"[1]")
    assert (status, said[:10]) == (422, "the body: ")


def test_a_body_that_ends_early_is_told_so():
    said = "the connection ended before the body did"
    assert refused(b'{"text": "a"}', then="http.disconnect") == (400, said)


def test_a_body_has_as_long_as_an_answer():
    limits = Limits(seconds=3.5)
    status, said = refused([b"12345", b"678"], limits=limits, then=None)
    assert (status, said) == (408, "the body was not here after 3.5 s, only 8 bytes of it")


def test_a_length_that_is_told_is_believed_if_it_is_too_large():
    limits = Limits(body=13)
    body = b'{"text": "a"}'
    for told, status in (("13", 200), ("14", 413), ("-1", 200), ("1e9", 200)):
        given = body, {**JSON, "content-length": told}, limits
        if status == 200:
            assert received(*given).text == "a"
        else:
            found = refused(*given)
            assert found[0] == status
            assert found[1].startswith("the body has 14 bytes, at most 13 are taken: ")


def test_a_body_is_too_large_or_the_service_holds_too_much():
    body = b'{"text": "a"}'
    assert received(body, limits=Limits(body=13), most=13).text == "a"
    status, said = refused([body[:6], body[6:]], limits=Limits(body=12))
    assert (status, said[:23]) == (413, "the body has more bytes")
    status, said = refused([body[:6], body[6:]], most=12)
    assert (status, said[:36]) == (429, "this service holds 6 bytes of reques")


def test_who_is_sent_away_for_memory_may_come_back():
    held, notes = HeldBytes(3), {}
    held.take(3, notes)
    with pytest.raises(ProblemError) as error:
        held.take(1, {})
    assert error.value.status == 429
    assert error.value.headers == {"Retry-After": "1", "Connection": "close"}
    assert notes == {HELD: 3}
    held.release(notes)
    held.take(3, {})


def test_many_texts_or_fields_are_refused_by_their_number():
    limits = Limits(texts=2)
    assert received(json.dumps({"texts": ["a", "b"]}).encode(), limits=limits).texts == ["a", "b"]
    status, said = refused(json.dumps({"texts": ["a"] * 3}).encode(), limits=limits)
    assert (status, said[:26]) == (413, "3 texts in one request, at")
    assert refused(b'{"texts": "aaa"}', limits=limits)[0] == 422, "a text is no list"
    status, said = refused(json.dumps({f"f{i}": 0 for i in range(51)}).encode())
    assert (status, said) == (422, "the body has 51 fields, which is none of these")


def test_the_text_that_is_too_long_is_named():
    limits = Limits(length=2)
    check_length(limits, ["ab", "a", ""])
    with pytest.raises(ProblemError) as error:
        check_length(limits, ["ab", "abc", "abcd"], "texts[{}]")
    assert error.value.status == 413
    said = "has 3 characters, at most 2 are taken"
    assert error.value.detail.startswith(f"texts[1] {said}: ")
    assert error.value.errors == [("texts[1]", f"it {said}")]
    with pytest.raises(ProblemError, match=r"^text has 3"):
        check_length(limits, ["abc"])
