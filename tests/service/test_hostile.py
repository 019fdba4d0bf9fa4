"""What nobody should send: every answer is a clear 4xx, and the service goes on."""

import contextlib
import json
import socket
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from processes import PATIENCE
from services import serving

HEAD = b"POST /v1/tag HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
MEGABYTE = 10**6


@pytest.fixture(scope="module")
def strict(taggers, tmp_path_factory):
    """A service with small limits."""
    with serving(
        taggers / "bonsai",
        *("--feedback", tmp_path_factory.mktemp("feedback")),
        *("--max-body", "0.1", "--max-texts", "5", "--max-length", "1000", "--timeout", "1"),
    ) as found:
        yield found


def status(answer):
    assert answer.startswith(b"HTTP/1.1 "), answer[:100]
    return int(answer.split()[1])


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"nothing", "not JSON"),
        (b'{"text": "\xff\xfe"}', "not JSON in UTF-8"),
        (b'{"text": "\\ud800"}', "not JSON"),
        (b"\xef\xbb\xbf", "not JSON"),
        (b"[" * 50_000, "not JSON"),
        (b'{"text":' * 10_000, "not JSON"),
        (b'{"texts":' + b"[" * 20_000 + b"]" * 20_000 + b"}", "not JSON"),
        (b'{"text": "a", "k": 1' + b"0" * 50_000 + b"}", ""),
        (b'{"text": "a", "threshold": NaN}', ""),
        (b'{"text": "a", "threshold": 1e999}', ""),
        (b'{"text": "a", "text": 3}', ""),
        (b"\x00" * 1000, "not JSON"),
    ],
)
def test_bodies_that_are_nothing(strict, body, said):
    got = strict.ask("/v1/tag", body)
    assert got.status in (400, 422)
    assert said in got.detail
    assert len(got.body) < 2_000
    assert strict.is_well()


@settings(max_examples=150, suppress_health_check=list(HealthCheck))
@given(
    st.sampled_from(["/v1/tag", "/v1/explain", "/v1/feedback"]),
    st.one_of(
        st.binary(max_size=300),
        st.recursive(
            st.none() | st.booleans() | st.floats() | st.text() | st.integers(),
            lambda inner: (
                st.lists(inner, max_size=4)
                | st.dictionaries(
                    st.sampled_from(["text", "texts", "k", "threshold", "model", "label", "labels"])
                    | st.text(max_size=5),
                    inner,
                    max_size=5,
                )
            ),
            max_leaves=10,
        ).map(lambda value: json.dumps(value).encode()),
    ),
)
def test_made_up_bodies(strict, path, body):
    assert strict.ask(path, body).status in (200, 400, 404, 413, 422)


@settings(max_examples=100, suppress_health_check=list(HealthCheck))
@given(st.binary(min_size=1, max_size=400))
def test_made_up_requests(strict, data):
    answer = strict.raw(data + b"\r\n\r\n")
    assert answer == b"" or 400 <= status(answer) < 500 or answer.startswith(b"HTTP/1.1 2")
    assert strict.is_well()


def test_a_body_full_of_faults_is_refused_for_the_first(service):
    """A million faults take no longer to tell, and no more memory, than one."""
    memory = peak(service)
    for body in (
        b'{"texts": [' + b"0," * 900_000 + b"0]}",
        b'{"labels": [' + b"0," * 900_000 + b'0], "text": "a"}',
        b'{"text": "a"' + b"".join(b',"%d":0' % i for i in range(300_000)) + b"}",
    ):
        got = service.ask("/v1/feedback" if b"labels" in body else "/v1/tag", body)
        assert got.status in (413, 422)
        assert len(got.body) < 2_000
    assert peak(service) - memory < 150 * MEGABYTE


def test_origins_and_hosts_that_are_none(strict):
    for origin in ("http://[", "http://]", "://", "x", "\x80"):
        got = strict.ask("/v1/tag", {"text": "a"}, headers={"Origin": origin})
        assert got.status == 403
    two = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n"
    assert status(strict.raw(two)) == 400
    assert status(strict.raw(b"GET /healthz HTTP/1.1\r\n\r\n")) == 400


def test_a_head_has_an_end(strict):
    with strict.socket() as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Long: ")
        with contextlib.suppress(ConnectionError):
            for _ in range(20):
                connection.sendall(b"x" * 10_000)
        answer = connection.recv(1 << 16)
    assert status(answer) == 431
    assert b"application/problem+json" in answer
    assert b"content-security-policy" in answer


def test_what_is_no_http_is_refused_like_all_else(strict):
    answer = strict.raw(b"not a request\r\n\r\n")
    assert status(answer) == 400
    assert b"application/problem+json" in answer
    assert b"nosniff" in answer


@pytest.mark.parametrize(
    "sent",
    [
        HEAD.replace(b"json", b"xml") + b"Content-Length: 100\r\n\r\n{",  # answered at once
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ],
)
def test_a_connection_ends_though_its_client_does_not(strict, sent):
    with strict.socket() as connection:
        connection.sendall(sent)
        answer = connection.recv(1 << 16)
        assert answer.startswith(b"HTTP/1.1 ")
        with contextlib.suppress(ConnectionError):
            connection.sendall(b"\r\n")
            while part := connection.recv(1 << 16):  # until it is closed
                answer += part
    assert answer.count(b"HTTP/1.1 ") == 1, "what was not asked is not answered"
    assert strict.is_well()


def test_who_reads_on_slowly_gets_all_of_it(service):
    texts = ["red apples in green cars"] * 1_000
    whole = service.ask("/v1/tag", {"texts": texts, "k": 1000}).body
    body = json.dumps({"texts": texts, "k": 1000}).encode()
    found = b""
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(PATIENCE)
        connection.connect(("127.0.0.1", service.port))
        connection.sendall(HEAD + b"Content-Length: %d\r\nConnection: close\r\n\r\n" % len(body))
        connection.sendall(body)
        time.sleep(1)
        while part := connection.recv(4096):
            found += part
    assert found.partition(b"\r\n\r\n")[2] == whole


def test_limits_are_told_with_the_way_out(strict):
    got = strict.ask("/v1/tag", {"texts": ["a"] * 6})
    assert got.status == 413
    assert "6 texts in one request, at most 5 are taken" in got.detail
    assert "--max-texts" in got.detail
    got = strict.ask("/v1/tag", {"texts": ["a", "b" * 1001]})
    assert got.status == 413
    assert "texts[1] has 1,001 characters, at most 1,000" in got.detail
    for path, more in (("/v1/explain", {"label": "fruit"}), ("/v1/feedback", {"labels": []})):
        assert strict.ask(path, {"text": "b" * 1001, **more}).status == 413
    got = strict.ask("/v1/tag", {"text": "b" * 110_000})
    assert got.status == 413
    assert "at most 100,000 are taken" in got.detail
    assert strict.ask("/v1/tag", {"texts": ["a" * 1000] * 5}).status == 200


@pytest.mark.parametrize("told", [True, False])
def test_a_hundred_megabytes_are_refused_and_not_kept(strict, told):
    size = 100 * MEGABYTE
    memory = peak(strict)
    with strict.socket() as connection:
        length = f"Content-Length: {size}\r\n\r\n" if told else "Transfer-Encoding: chunked\r\n\r\n"
        connection.sendall(HEAD + length.encode())
        part = b"x" * MEGABYTE
        sent = part if told else b"%x\r\n%s\r\n" % (len(part), part)
        try:
            for _ in range(size // MEGABYTE):
                connection.sendall(sent)
            if not told:
                connection.sendall(b"0\r\n\r\n")
        except (ConnectionError, TimeoutError):
            pass  # it has heard enough
        answer = connection.recv(1 << 16)
    assert status(answer) == 413
    assert b"at most 100,000 are taken" in answer
    assert strict.is_well()
    assert peak(strict) - memory < 20 * MEGABYTE


@pytest.mark.parametrize(("chunks", "code"), [(4, 200), (6, 413)])
def test_a_body_in_chunks_is_measured_as_a_whole(strict, chunks, code):
    """Each chunk of 20 kB is small enough; what counts is their sum."""
    blanks = b" " * 20_000
    with strict.socket() as connection:
        connection.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
        with contextlib.suppress(ConnectionError):  # it may have heard enough
            for _ in range(chunks):
                connection.sendall(b"%x\r\n%s\r\n" % (len(blanks), blanks))
                time.sleep(0.02)  # so that they mostly arrive one by one
            connection.sendall(b'f\r\n{"text": "red"}\r\n0\r\n\r\n')
        answer = connection.recv(1 << 16)
    assert status(answer) == code
    assert code == 200 or b"at most 100,000 are taken" in answer


def peak(service):
    with open(f"/proc/{service.process.pid}/status") as file:  # noqa: PTH123
        line = next(line for line in file if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


@pytest.mark.parametrize(
    "sent",
    [
        b"POST /v1/tag HT",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: ",
        HEAD + b'Content-Length: 100\r\n\r\n{"text": ',
    ],
)
def test_a_client_that_stops_half_way_is_let_go(strict, sent):
    with strict.socket() as connection:
        connection.sendall(sent)
        answer = b""
        while part := connection.recv(1 << 16):
            answer += part
    assert status(answer) == 408
    assert strict.is_well()


def test_a_connection_that_asks_nothing_is_closed_without_a_word(strict):
    with strict.socket() as connection:
        assert connection.recv(1 << 16) == b""


def test_clients_that_dribble_do_not_keep_others_out(strict):
    slow = [strict.socket() for _ in range(50)]
    try:
        for connection in slow:
            connection.sendall(HEAD + b"Content-Length: 1000\r\n\r\n{")
        ends = time.monotonic() + PATIENCE
        open_ones = set(slow)
        while open_ones and time.monotonic() < ends:
            assert strict.ask("/v1/tag", {"text": "red"}).status == 200
            for connection in list(open_ones):
                try:
                    connection.sendall(b" ")  # a byte now and then does not help them
                    connection.settimeout(0.005)
                    answer = connection.recv(1 << 16)
                    assert status(answer) == 408
                    open_ones.discard(connection)
                except TimeoutError:
                    continue
                except OSError:
                    open_ones.discard(connection)
        assert not open_ones
    finally:
        for connection in slow:
            connection.close()


def test_a_client_that_goes_away_leaves_nothing_behind(strict):
    for _ in range(20):
        with strict.socket() as connection:
            connection.sendall(HEAD + b'Content-Length: 15\r\n\r\n{"text": "red"}')
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    assert "Traceback" not in strict.log()


def test_paths_lead_nowhere(strict):
    for path in (
        "/static/../app.py",
        "/static/%2e%2e/app.py",
        "/static/..%2fapp.py",
        "/static//etc/passwd",
        "/static/index.html%00",
        "/../../etc/passwd",
    ):
        answer = strict.raw(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        assert status(answer) in (400, 404)
    got = strict.ask("/v1/tag", {"text": "a", "model": "../../etc"})
    assert got.status == 404


def test_pages_of_others_may_not_ask(strict):
    for origin in ("http://example.org", "null", f"http://localhost:{strict.port + 1}"):
        got = strict.ask("/v1/tag", {"text": "a"}, headers={"Origin": origin})
        assert got.status == 403
    own = {"Origin": f"http://127.0.0.1:{strict.port}"}
    assert strict.ask("/v1/tag", {"text": "a"}, headers=own).status == 200
    got = strict.ask("/v1/models", headers={"Host": "rebound.example.org"})
    assert got.status == 400
    assert "rebound.example.org" in got.detail


def test_lines_of_the_log_cannot_be_made_up(strict):
    strict.raw(b"GET /%0aforged HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert "forged" in strict.log()
    assert not any(line.startswith("forged") for line in strict.told)
