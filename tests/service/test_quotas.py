"""No client takes what others need: memory, time of a tagger, requests of a minute."""

import gzip
import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from services import TEXTS, eventually, serving

HEAD = b"POST /v1/tag HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
MEGABYTE = 10**6


@pytest.fixture(scope="module")
def frugal(taggers):
    with serving(
        taggers / "bonsai",
        *("--no-feedback", "--quiet", "--rate", "10000"),
        *("--max-body", "1", "--max-bodies", "1", "--batch-size", "8"),
    ) as found:
        yield found


def test_bodies_on_their_way_have_a_common_limit(frugal):
    large = {"text": "red apples " * 50_000}
    with frugal.socket() as connection:
        connection.sendall(HEAD + b"Content-Length: 900000\r\n\r\n" + b" " * 600_000)
        eventually(lambda: frugal.ask("/v1/tag", large).status == 429)
        got = frugal.ask("/v1/tag", large)
        assert got.status == 429
        assert "--max-bodies" in got.detail
        assert got.headers["retry-after"] == "1"
        assert frugal.ask("/v1/tag", {"text": "red apples"}).status == 200
    eventually(lambda: frugal.ask("/v1/tag", large).status == 200)
    assert {frugal.ask("/v1/tag", large).status for _ in range(4)} == {200}, "nothing is left over"


def test_a_compressed_body_is_refused(frugal):
    body = gzip.compress(json.dumps({"text": " " * 10**8}).encode())
    got = frugal.ask("/v1/tag", body, headers={"Content-Encoding": "gzip"})
    assert got.status == 415
    assert "'gzip'" in got.detail
    plain = frugal.ask("/v1/tag", {"text": "red"}, headers={"Content-Encoding": "identity"})
    assert plain.status == 200


def test_a_long_explanation_does_not_keep_tags_waiting(frugal):
    text = " ".join(f"{text} w{number}" for number, text in enumerate(TEXTS * 300))[:990_000]
    with ThreadPoolExecutor(1) as pool:
        explained = pool.submit(frugal.ask, "/v1/explain", {"text": text, "label": "fruit"})
        connection = frugal.connect()
        tagged = 0
        while not explained.done():
            assert frugal.ask("/v1/tag", {"text": "red"}, connection=connection).status == 200
            tagged += not explained.done()
        connection.close()
        assert explained.result().status == 200
    assert tagged >= 8


def test_a_request_with_many_texts_counts_for_several(taggers):
    with serving(taggers / "bonsai", "--no-feedback", "--quiet", "--rate", "10") as service:
        assert service.ask("/v1/tag", {"texts": ["red"] * 1000}).status == 200
        got = service.ask("/v1/tag", {"text": "red"})
        assert got.status == 429
        assert int(got.headers["retry-after"]) > 300
