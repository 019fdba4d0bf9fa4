"""Other origins, probes, keys for the metrics: who else may ask, and what they are told."""

import pytest

from asgi import in_process
from command_line import fails
from labelgrove.core.errors import InputError
from labelgrove.service import app
from labelgrove.service.settings import Limits, hosts_of, origins_of
from services import bearer

KEY, WATCHES = "first-key-0123456789", "a-key-for-what-watches"
CATALOGUE = "https://catalogue.example.org"
HOSTS = ("tags.example.org",)


@pytest.fixture(scope="module")
def service(folder, tmp_path_factory):
    """A service with a name, a key for each purpose and an origin that may ask."""
    with in_process(
        folder,
        feedback=tmp_path_factory.mktemp("feedback"),
        hosts=HOSTS,
        keys=(KEY,),
        metrics_keys=(WATCHES,),
        origins=(CATALOGUE, "http://localhost:3000"),
        limits=Limits(length=100),
    ) as found:
        yield found


def ask(service, path, body=None, *, origin=CATALOGUE, key=KEY, host=HOSTS[0], **options):
    headers = {**({"Origin": origin} if origin else {}), **(bearer(key) if key else {})}
    headers.update(options.pop("headers", {}))
    return service.ask(path, body, host=host, headers=headers, **options)


# --- other origins --------------------------------------------------------------------------------


def preflight(service, path="/v1/tag", method="POST", headers="authorization,content-type", **more):
    asked = {"Access-Control-Request-Method": method, "Access-Control-Request-Headers": headers}
    return ask(service, path, method="OPTIONS", key=None, headers=asked, **more)


def test_a_page_of_an_allowed_origin_is_asked_in_advance(service):
    for origin in (CATALOGUE, "http://localhost:3000"):
        got = preflight(service, origin=origin)
        assert got.status == 200
        assert got.headers["access-control-allow-origin"] == origin
        assert "POST" in got.headers["access-control-allow-methods"]
        assert "Authorization" in got.headers["access-control-allow-headers"]
        assert "Origin" in got.headers["vary"]
        assert "access-control-allow-credentials" not in got.headers
    assert preflight(service, method="DELETE").status == 400
    assert preflight(service, headers="x-other").status == 400


@pytest.mark.parametrize(
    "origin",
    [
        *("https://evil.example", "https://catalogue.example.org.evil.example", "null"),
        *("http://catalogue.example.org", "https://catalogue.example.org:8443"),
    ],
)
def test_other_origins_are_refused_and_told_nothing(service, origin):
    for got in (preflight(service, origin=origin), ask(service, "/v1/models", origin=origin)):
        assert got.status == 403
        assert got.detail == "pages of other origins may not ask"
        assert "access-control-allow-origin" not in got.headers


def test_answers_and_refusals_can_be_read_by_the_page(service):
    long, unknown = {"text": "a" * 101}, {"text": "a", "model": "none"}
    asked = [
        (200, ask(service, "/v1/tag", {"text": "red apples"})),
        (200, ask(service, "/healthz", key=None)),
        (413, ask(service, "/v1/tag", long)),
        (404, ask(service, "/v1/tag", unknown)),
        (401, ask(service, "/v1/tag", {"text": "a"}, key=None)),
        (404, ask(service, "/nothing")),
        (400, ask(service, "/v1/models", host="example.org")),
        (401, ask(service, "/v1/projects", key=None)),
    ]
    for status, got in asked:
        assert got.status == status
        assert got.headers["access-control-allow-origin"] == CATALOGUE
        assert "Tagger-Version" in got.headers["access-control-expose-headers"]
        assert got.headers["x-frame-options"] == "DENY"


def test_a_form_of_an_allowed_origin_is_taken(service):
    form = {"Content-Type": "application/x-www-form-urlencoded", "Sec-Fetch-Site": "cross-site"}
    path = "/v1/projects/quick/suggest"
    assert ask(service, path, "text=red+apples", headers=form).status == 200
    got = ask(service, path, "text=red+apples", headers=form, origin=None)
    assert got.status == 403, "no origin is told, so none is allowed"


def test_own_pages_ask_as_before(service):
    got = ask(service, "/v1/models", origin="https://tags.example.org")
    assert got.status == 200
    assert "access-control-allow-origin" not in got.headers


def test_every_origin_may_ask_where_that_is_wanted_but_without_credentials(folder):
    with in_process(folder, origins=("*",)) as service:
        for origin in ("https://anything.example", "null"):
            got = service.ask("/v1/models", headers={"Origin": origin})
            assert got.status == 200
            assert got.headers["access-control-allow-origin"] == "*"
            assert "access-control-allow-credentials" not in got.headers
        # a name that is not ours is still refused: DNS rebinding
        got = service.ask("/v1/models", headers={"Origin": "http://a.example"}, host="a.example")
        assert got.status == 400


@pytest.mark.parametrize(
    "wrong",
    [
        *("https://a.example/", "https://a.example/page", "a.example", "ftp://a.example", ""),
        *("null", "https://", "https://a.example:99999", "https://bücher.example", "https://*.a"),
        *("https://a.example?x", "https://user@a.example", "http://[::zz]"),
    ],
)
def test_what_is_no_origin_is_named(wrong):
    with pytest.raises(InputError) as error:
        origins_of([wrong])
    said = str(error.value)
    assert said.startswith(f"--allow-origin {wrong!r} is no origin: write scheme, host")


@pytest.mark.parametrize(
    "wrong",
    ["http://x.org", "x.org:8000", "*", "", "x.org/page", "a b", "[::zz]", "bücher.example"],
)
def test_what_is_no_name_of_a_machine_is_named(wrong):
    with pytest.raises(InputError) as error:
        hosts_of([wrong])
    assert str(error.value).startswith(f"--allow-host {wrong!r} is no name of a machine")


def test_names_of_machines_are_written_as_they_are_compared():
    given = ["Tags.Example.org", "[::1]", "::1", "10.0.0.7", "my_host"]
    assert hosts_of(given) == ("tags.example.org", "::1", "10.0.0.7", "my_host")


def test_origins_are_written_as_browsers_send_them():
    given = ["HTTPS://Tags.Example.org:443", "http://[::1]:8080", "http://localhost:80", "*"]
    expected = ("https://tags.example.org", "http://[::1]:8080", "http://localhost", "*")
    assert origins_of([*given, given[0]]) == expected


def test_the_command_refuses_bad_values_in_one_line(folder):
    assert "--allow-origin 'a.example' is no origin" in fails(
        "serve", folder, "--allow-origin", "a.example"
    )
    assert "--metrics-port 8123 is --port too" in fails(
        "serve", folder, "--port", 8123, "--metrics-port", 8123
    )


# --- probes ---------------------------------------------------------------------------------------


def test_a_probe_may_call_the_service_by_any_name(service):
    for host in ("10.42.0.17:8000", "example.org", "", "[fd00::7]:8000"):
        for method in ("GET", "HEAD"):
            got = service.ask("/healthz", host=host, method=method)
            assert got.status == 200
            assert got.json == {"status": "ok", "models": []}, "a stranger is told no names"
        assert service.ask("/v1/models", host=host, headers=bearer(KEY)).status == 400
    assert ask(service, "/healthz", key=None).json["models"] == ["quick"]


def test_a_page_of_others_is_no_probe(service):
    got = service.ask("/healthz", host="a.example", headers={"Origin": "http://b.example"})
    assert got.status == 403


# --- keys for the metrics -------------------------------------------------------------------------


def test_the_metrics_have_keys_of_their_own(service):
    assert ask(service, "/metrics", key=WATCHES, origin=None).status == 200
    for key in (KEY, None, "another-key-0123456789"):
        assert ask(service, "/metrics", key=key, origin=None).status == 401
    assert ask(service, "/v1/models", key=WATCHES).status == 401, "it opens nothing else"


def test_keys_for_the_metrics_alone(folder):
    with in_process(folder, metrics_keys=(WATCHES,)) as service:
        assert service.ask("/v1/models").status == 200
        assert service.ask("/metrics").status == 401
        assert service.ask("/metrics", headers=bearer(WATCHES)).status == 200
        schema = service.ask("/openapi.json").json
        assert "401" in schema["paths"]["/metrics"]["get"]["responses"]
        assert "401" not in schema["paths"]["/v1/tag"]["post"]["responses"]


def test_metrics_with_a_port_of_their_own_are_not_here(folder):
    with in_process(folder, metrics_port=0) as service:
        assert service.ask("/metrics").status == 404
        assert "/metrics" not in service.ask("/openapi.json").json["paths"]


# --- the page about the API -----------------------------------------------------------------------


def test_the_page_about_the_api_needs_no_key_and_says_what_is_missing(service, folder, monkeypatch):
    for method in ("GET", "HEAD"):
        got = ask(service, "/docs", method=method, key=None, origin=None)
        assert got.status == 200
        assert "unsafe" not in got.headers["content-security-policy"]
    monkeypatch.setattr(app, "files", dict)
    with in_process(folder) as bare:
        assert "fastapi-offline" in bare.ask("/docs").detail
