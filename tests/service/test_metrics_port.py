"""The metrics on a port of their own, of several workers and of one."""

import contextlib
import http.client
import socket

import pytest

from command_line import fails
from labelgrove.service.listening import listen
from labelgrove.service.metrics import CONTENT_TYPE, Metrics
from labelgrove.service.metrics_port import serving_metrics
from processes import PATIENCE
from services import eventually, made, serving

KEY = "a-key-for-what-watches"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("served") / "quick"
    made(place, "most-frequent")
    return place


def asked(port, path="/metrics", method="GET", **headers):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    with contextlib.closing(connection):
        connection.request(method, path, headers=headers)
        got = connection.getresponse()
        return got.status, dict(got.getheaders()), got.read().decode()


def test_all_workers_are_counted_together(folder):
    with serving(folder, "--workers", 2, "--metrics-port", 0, "--no-feedback") as service:
        line = service.process.stdout.readline()
        assert line.startswith("metrics at http://127.0.0.1:")
        assert line.endswith("/metrics\n")
        port = int(line.rpartition(":")[2].partition("/")[0])
        assert service.ask("/metrics").status == 404
        for _ in range(8):  # each on a connection of its own: either worker may answer
            assert service.ask("/v1/tag", {"text": "red apples"}).status == 200
        counted = 'labelgrove_requests_total{route="/v1/tag",status="200"} 8.0'
        eventually(lambda: counted in asked(port)[2])
        assert service.stop() == 0
    with pytest.raises(ConnectionRefusedError):
        asked(port)


@pytest.fixture(scope="module")
def port():
    metrics = Metrics()
    metrics.texts.labels("a").inc(3)
    listening = listen("127.0.0.1", 0)
    with serving_metrics(listening, metrics.text, (KEY,)):
        yield listening.getsockname()[1]


def test_a_key_opens_them(port):
    status, headers, body = asked(port, Authorization=f"Bearer {KEY}")
    assert (status, headers["Content-Type"]) == (200, CONTENT_TYPE)
    assert 'labelgrove_texts_total{model="a"} 3.0' in body
    for given in ("", f"Basic {KEY}", "Bearer another-key-0123456789"):
        status, headers, body = asked(port, Authorization=given)
        assert (status, headers["WWW-Authenticate"]) == (401, "Bearer")
        assert "Authorization: Bearer KEY" in body


def test_nothing_else_is_there(port):
    for path in ("/", "/metrics/", "/v1/models"):
        status, headers, body = asked(port, path)
        assert (status, body) == (404, "only /metrics is here\n")
        assert headers["Server"] == "labelgrove"
    assert asked(port, method="POST")[0] == 501


def test_a_port_in_use_is_named_with_its_option(folder):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        used = taken.getsockname()[1]
        said = fails("serve", folder, "--port", 0, "--metrics-port", used)
        assert f"nothing can listen at 127.0.0.1:{used}" in said
        assert "choose another --metrics-port or --host" in said
