"""Who may ask, how often, and what is told of it."""

import re

import pytest

from asgi import in_process
from labelgrove.service.bodies import HELD, HeldBytes
from labelgrove.service.problems import ProblemError
from labelgrove.service.settings import Limits
from services import bearer, made

KEY, OTHER = "first-key-0123456789", "Second-Key-0123456789"


@pytest.fixture(scope="module")
def service(folder):
    with in_process(folder) as found:
        yield found


# --- names ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("host", "status"),
    [
        *(("localhost", 200), ("LocalHost:8000", 200), ("127.0.0.1:80", 200), ("[::1]:8000", 200)),
        *(("[::1]", 200), ("127.0.0.2", 400), ("example.org", 400), ("", 400), (None, 400)),
    ],
)
def test_only_this_machine_is_called_by_default(service, host, status):
    assert service.ask("/v1/models", host=host).status == status


def test_a_name_that_is_not_ours_is_told_in_part(service):
    said = service.ask("/v1/models", host="x" * 300).detail
    assert said == f"this service is not called {'x' * 100!r}; --allow-host gives it another name"


def test_any_address_where_addresses_are_allowed(folder):
    with in_process(folder, hosts=("Tags.example.org",), addresses=True) as service:
        for host in ("192.0.2.1", "192.0.2.1:8000", "[2001:db8::1]:8000", "tags.example.ORG"):
            assert service.ask("/v1/models", host=host).status == 200
        for host in ("localhost", "192.0.2", "tags.example.org.evil.example"):
            assert service.ask("/v1/models", host=host).status == 400
    with in_process(folder, hosts=(), addresses=True) as service:
        assert service.ask("/v1/models", host="192.0.2.1").status == 200
        assert service.ask("/v1/models", host="example.org").status == 400


def test_any_name_where_none_is_given(folder):
    with in_process(folder, hosts=()) as service:
        for host in ("example.org", "192.0.2.1", ""):
            assert service.ask("/v1/models", host=host).status == 200


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        *(("http://localhost:8000", 200), ("https://LOCALHOST:8000", 200), ("", 200)),
        *(("http://localhost", 403), ("http://localhost:8001", 403), ("localhost:8000", 403)),
    ],
)
def test_a_page_may_ask_where_it_comes_from(service, origin, status):
    got = service.ask("/v1/models", host="localhost:8000", headers={"Origin": origin})
    assert got.status == status


# --- keys -----------------------------------------------------------------------------------------


def test_a_key_is_named_as_missing_or_unknown(folder):
    with in_process(folder, keys=(KEY, OTHER)) as service:
        assert "this service wants an API key" in service.ask("/v1/models").detail
        got = service.ask("/v1/models", headers=bearer("x"))
        assert "this API key is not known" in got.detail
        for key in (KEY, OTHER):
            assert service.ask("/v1/models", headers=bearer(key)).status == 200
        for given in (f"Basic {KEY}", KEY, f"Bearer{KEY}", f"Bearer {KEY} {OTHER}"):
            assert service.ask("/v1/models", headers={"Authorization": given}).status == 401
        for given in (f"bearer {KEY}", f"BEARER   {KEY} "):
            assert service.ask("/v1/models", headers={"Authorization": given}).status == 200
        got = service.ask("/v1/models")
        assert (got.status, got.headers["www-authenticate"]) == (401, "Bearer")
        for path in ("/static/main.js", "/", "/healthz", "/openapi.json"):
            assert service.ask(path).status == 200
        for path in ("/static", "/metrics", "/v1/unknown"):
            assert service.ask(path).status == 401


def test_a_request_has_one_name_for_the_service(service):
    got = service.ask("/v1/models", headers={"Host": "localhost"})
    assert (got.status, got.detail) == (400, "a request has one Host header")


# --- rates ----------------------------------------------------------------------------------------


def allowed(service, n=9, path="/v1/models", **options):
    """Return how many of n requests are not sent away."""
    return sum(service.ask(path, **options).status != 429 for _ in range(n))


def test_each_client_has_its_own_rate(folder):
    with in_process(folder, limits=Limits(rate=3)) as service:
        assert allowed(service, client="192.0.2.1") == 3
        assert allowed(service, client="192.0.2.2") == 3
        assert allowed(service, client="2001:db8:0:1::1") == 3
        assert allowed(service, client="2001:db8:0:1:ffff::2") == 0, "the same network"
        assert allowed(service, client="2001:db8:0:2::1") == 3
        assert allowed(service, client="fe80::1%eth0") == 3
        assert allowed(service, client=None) == 3


def test_what_is_free_is_not_counted(folder):
    with in_process(folder, limits=Limits(rate=3)) as service:
        for path in ("/", "/healthz", "/metrics", "/static/main.js"):
            assert allowed(service, path=path) == 9
        assert allowed(service) == 3
        for path in ("/", "/healthz", "/metrics", "/static/main.js"):
            assert allowed(service, path=path) == 9
        assert allowed(service, path="/openapi.json") == 0


def test_who_is_sent_away_is_told_for_how_long(folder):
    with in_process(folder, limits=Limits(rate=1)) as service:
        assert allowed(service, 1) == 1
        got = service.ask("/v1/models")
    assert got.status == 429
    assert got.headers["retry-after"] in ("59", "60")
    assert got.detail == f"too many requests: ask again in {got.headers['retry-after']} s"


def test_wrong_keys_are_counted_by_address_and_right_ones_by_key(folder):
    with in_process(folder, keys=(KEY, OTHER), limits=Limits(rate=3)) as service:
        codes = [service.ask("/v1/models", headers=bearer(f"no-{i}")).status for i in range(6)]
        assert codes == [401] * 3 + [429] * 3
        assert allowed(service, headers=bearer(KEY)) == 3
        assert allowed(service, headers=bearer(KEY), client="192.0.2.1") == 0, "the same key"
        assert allowed(service, headers=bearer(OTHER)) == 3
        assert service.ask("/openapi.json").status == 429, "open, but counted"
        assert service.ask("/healthz").status == 200
    with in_process(folder, keys=(KEY,)) as service:
        assert {service.ask("/v1/models").status for _ in range(9)} == {401}


# --- what is told ---------------------------------------------------------------------------------


LINE = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d %s \d+\.\d ms%s\n"


def test_a_request_is_logged_in_one_line(folder, capsys):
    with in_process(folder) as service:
        service.ask("/v1/tag", {"texts": ["private", "b"]}, client="192.0.2.9")
        said = capsys.readouterr().err
        assert re.fullmatch(LINE % (r"192\.0\.2\.9 POST /v1/tag 200", " texts=2"), said)
        seconds = float(re.search(r"(\d+\.\d) ms", said)[1]) / 1000
        assert seconds < 60
        service.ask("/v1/models", client=None)
        assert re.fullmatch(LINE % ("- GET /v1/models 200", ""), capsys.readouterr().err)
        service.ask("/" + "a" * 300)
        where = re.search(r"GET (\S+) 404", capsys.readouterr().err)[1]
        assert where == "/" + "a" * 199
        service.ask("/v1/explain", {"text": "private", "label": "fruit"})
        assert re.search(r"POST /v1/explain 200 \S+ ms texts=1\n", capsys.readouterr().err)


def test_texts_are_logged_only_where_that_is_wanted(folder, capsys):
    with in_process(folder, log="texts") as service:
        service.ask("/v1/tag", {"texts": ["a\nb", "c"]})
        assert capsys.readouterr().err.endswith(' texts=2 ["a\\nb", "c"]\n')
    with in_process(folder, log="nothing") as service:
        service.ask("/v1/tag", {"text": "a"})
        assert capsys.readouterr().err == ""


def test_requests_are_counted_by_route_and_status(folder):
    with in_process(folder, log="nothing") as service:
        for _ in range(3):
            service.ask("/v1/models")
        service.ask("/v1/unknown")
        service.ask("/elsewhere")
        service.ask("/v1/tag", {})
        counted = "labelgrove_requests_total"
        assert service.count(f'{counted}{{route="/v1/models",status="200"}}') == 3
        assert service.count(f'{counted}{{route="other",status="404"}}') == 2
        assert service.count(f'{counted}{{route="/v1/tag",status="422"}}') == 1
        assert service.count('labelgrove_request_seconds_count{route="/v1/models"}') == 3
        took = service.count('labelgrove_request_seconds_sum{route="/v1/models"}')
        assert 0 < took < 60


def test_a_request_that_fails_is_counted_as_such(folder, caplog, capsys):
    with in_process(folder) as service:
        service.taggers.queue("").served.tagger = None
        service.taggers.queue("").served.card = None
        for path, body in (("/v1/tag", {"text": "a"}), ("/v1/models", None)):
            if path == "/v1/tag":
                got = service.ask(path, body)
            else:  # starlette raises again what it has answered
                with pytest.raises(TypeError):
                    service.ask(path, body)
                continue
            assert got.status == 500
            assert got.detail == "something failed here; the service's log tells what"
            assert f"POST {path} failed" in caplog.text
            assert "Traceback" in caplog.text
        assert service.count('labelgrove_requests_total{route="/v1/models",status="500"}') == 1
    assert "GET /v1/models 500" in capsys.readouterr().err


def test_every_answer_has_the_headers_once(service):
    for path in ("/", "/v1/models", "/nothing"):
        headers = service.ask(path).headers
        assert headers["x-frame-options"] == "DENY"
        assert headers["cache-control"] == ("no-cache" if path == "/" else "no-store")


# --- bodies ---------------------------------------------------------------------------------------


def test_a_body_may_be_as_large_as_the_limit(folder):
    body = b'{"text": "red"}'
    for limit, status in ((len(body), 200), (len(body) - 1, 413)):
        with in_process(folder, limits=Limits(body=limit)) as service:
            assert service.ask("/v1/tag", body).status == status
            length = {"Content-Length": str(len(body))}
            got = service.ask("/v1/tag", body, headers=length)
            assert got.status == status
            if status == 413:
                assert f"the body has {len(body)} bytes, at most {limit} are taken" in got.detail
                assert "the body has more bytes" in service.ask("/v1/tag", body).detail
            assert service.ask("/v1/tag", [body[:5], body[5:]]).status == status


def test_all_bodies_together_may_be_as_large_as_their_limit(folder):
    """The limit of all is at least that of one."""
    body = b'{"text": "red"}'
    with in_process(folder, limits=Limits(body=len(body), bodies=1)) as service:
        assert [service.ask("/v1/tag", body).status for _ in range(3)] == [200] * 3


def test_held_bytes_are_counted_and_released():
    held, one, other = HeldBytes(10), {}, {}
    held.take(4, one)
    held.take(2, one)
    held.take(4, other)
    assert (one, other) == ({HELD: 6}, {HELD: 4})
    with pytest.raises(ProblemError, match="holds 10 bytes of requests already, at most 10"):
        held.take(1, other)
    held.release(one)
    assert one == {}
    held.release(one)
    held.take(6, one)
    with pytest.raises(ProblemError):
        held.take(1, other)


def test_fields_and_texts_have_a_number(service):
    many = {f"f{i}": 0 for i in range(51)}
    got = service.ask("/v1/tag", many)
    assert got.status == 422
    assert "the body has 51 fields" in got.detail
    del many["f0"]
    assert "there is no such field" in service.ask("/v1/tag", many).detail
    assert service.ask("/v1/tag", {"texts": ["a"] * 1_000}).status == 200
    got = service.ask("/v1/tag", {"texts": ["a"] * 1_001})
    assert got.status == 413
    assert "1,001 texts in one request, at most 1,000 are taken" in got.detail


def test_a_text_may_be_as_long_as_the_limit(folder):
    with in_process(folder, limits=Limits(length=10)) as service:
        assert service.ask("/v1/tag", {"text": "a" * 10}).status == 200
        got = service.ask("/v1/tag", {"text": "a" * 11})
        assert got.status == 413
        assert got.detail.startswith("text has 11 characters, at most 10 are taken: ")
        assert got.json["errors"] == [
            {"where": "text", "message": "it has 11 characters, at most 10 are taken"}
        ]
        got = service.ask("/v1/tag", {"texts": ["a", "b", "a" * 11]})
        assert got.json["errors"][0]["where"] == "texts[2]"
        got = service.ask("/v1/explain", {"text": "a" * 11, "label": "fruit"})
        assert got.json["errors"][0]["where"] == "text"


def test_a_body_is_json_as_it_is(service):
    for kind in ("application/json; charset=utf-8", " Application/JSON ;x"):
        got = service.ask("/v1/tag", {"text": "a"}, headers={"Content-Type": kind})
        assert got.status == 200
    got = service.ask("/v1/tag", {"text": "a"}, headers={"Content-Encoding": "g" * 60})
    assert got.status == 415
    assert got.detail == f"send the body as it is, not as {'g' * 50!r}"
    assert service.ask("/v1/tag", "{").detail.startswith("the body is not JSON in UTF-8: ")


# --- values ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "status"),
    [
        *(({"k": 1}, 200), ({"k": 1_000}, 200), ({"k": 0}, 422), ({"k": 1_001}, 422)),
        *(({"threshold": 0}, 200), ({"threshold": 1}, 200), ({"threshold": 1.01}, 422)),
        *(({"threshold": -0.01}, 422), ({"threshold": True}, 422), ({"threshold": None}, 200)),
        *(({"model": "m" * 1_000}, 404), ({"model": "m" * 1_001}, 422)),
    ],
)
def test_values_at_their_limits(service, change, status):
    assert service.ask("/v1/tag", {"text": "a", **change}).status == status


def test_five_labels_unless_asked(tmp_path):
    texts = [f"text {i}" for i in range(8)]
    made(tmp_path / "many", "most-frequent", texts, [["fruit", f"label {i}"] for i in range(8)])
    with in_process(tmp_path / "many") as service:
        (result,) = service.ask("/v1/tag", {"text": "a"}).json["results"]
        assert len(result["labels"]) == 5
        (result,) = service.ask("/v1/tag", {"text": "a", "k": 7}).json["results"]
        assert len(result["labels"]) == 7


@pytest.mark.parametrize(
    ("query", "status"),
    [
        *(("limit=1", 200), ("limit=1000", 200), ("limit=0", 422), ("limit=1001", 422)),
        *(("offset=0", 200), ("offset=100000", 200), ("offset=-1", 422), ("offset=100001", 422)),
        *((f"q={'q' * 1000}", 200), (f"q={'q' * 1001}", 422)),
        *((f"id={'q' * 1000}", 404), (f"id={'q' * 1001}", 422)),
        *((f"parent={'q' * 1000}", 404), (f"parent={'q' * 1001}", 422)),
    ],
)
def test_queries_at_their_limits(service, query, status):
    assert service.ask(f"/v1/labels?{query}").status == status


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"labels": [f"l{i}" for i in range(1_000)]}, 200),
        ({"labels": [f"l{i}" for i in range(1_001)]}, 422),
        ({"rejected": [f"l{i}" for i in range(1_000)]}, 200),
        ({"rejected": [f"l{i}" for i in range(1_001)]}, 422),
        ({"labels": ["l" * 1_000]}, 200),
        ({"labels": ["l" * 1_001]}, 422),
        *(({"id": "i" * 1_000}, 200), ({"id": "i" * 1_001}, 422)),
        *(({"text": ""}, 422), ({"text": "a"}, 200)),
    ],
)
def test_feedback_at_its_limits(folder, tmp_path, change, status):
    with in_process(folder, feedback=tmp_path) as service:
        asked = {"text": "a", "labels": [], "allow_new": True, **change}
        got = service.ask("/v1/feedback", asked)
        assert got.status == status, got.body
        assert service.ask("/v1/feedback", {**asked, "labels": ["none"], "allow_new": 1}).status


def test_no_label_is_new_unless_that_is_said(folder, tmp_path):
    with in_process(folder, feedback=tmp_path) as service:
        assert service.ask("/v1/feedback", {"text": "a", "labels": ["new"]}).status == 404


def test_faults_are_told_with_their_number(service):
    got = service.ask("/v1/tag", {f"f{i}": 0 for i in range(30)} | {"text": "a"})
    assert "(and 29 more)" in got.detail
    assert len(got.json["errors"]) == 20
    got = service.ask("/v1/tag", {"text": "a", "f": 0})
    assert got.detail == "f: there is no such field"
    shown = "x" * 48  # fifty characters with its quotes
    for value, told in ((shown, f', got "{shown}"'), (shown + "x", "")):
        said = service.ask("/v1/tag", {"text": "a", "k": value}).detail
        assert said.endswith(f"it should be a valid integer{told}"), said
    said = service.ask("/v1/tag", {"text": "a", "threshold": [1]}).detail
    assert said.endswith("or a promise such as precision=0.9 or recall=0.9")
    said = service.ask("/v1/explain", {"text": "a", "label": " "}).detail
    assert said == 'label: it is empty, or has a NUL character, got " "'
    assert service.ask("/v1/labels?limit=x").detail.startswith("limit: it should be")
