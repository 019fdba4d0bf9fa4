"""In a real browser: the page about the API, and pages of other origins that ask the service.

Colours and contrast of what Swagger UI draws are its own; here it must follow light and dark.
"""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from browser import looking, viewed
from services import made, serving

KEY = "a-key-of-more-than-sixteen-letters"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    place = tmp_path_factory.mktemp("docs")
    made(place / "quick", "most-frequent")
    (place / "keys").write_text(KEY)
    (place / "keys").chmod(0o600)
    return place


class _Empty(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>a catalogue</title><link rel=icon href=data:,>")

    def log_message(self, *arguments):
        pass


@pytest.fixture(scope="module")
def elsewhere():
    """The addresses of two pages of other origins; the first may ask the service."""
    servers = [ThreadingHTTPServer(("127.0.0.1", 0), _Empty) for _ in range(2)]
    for server in servers:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    yield [f"http://127.0.0.1:{server.server_port}" for server in servers]
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture(scope="module")
def served(place, elsewhere):
    options = ("--api-keys", place / "keys", "--no-feedback", "-q", "--allow-origin", elsewhere[0])
    with serving(place / "quick", *options) as service:
        yield service


ASKING = """async ([address, key]) => {
  const body = JSON.stringify({text: "red apples", k: 1});
  const headers = {"Content-Type": "application/json", "Authorization": `Bearer ${key}`};
  try {
    const got = await fetch(`${address}/v1/tag`, {method: "POST", headers, body});
    return [got.status, (await got.json()).detail ?? null, got.headers.get("Tagger-Version")];
  } catch (error) { return String(error) }
}"""


def test_a_page_of_an_allowed_origin_asks_and_reads_answers_and_refusals(
    served, browser, elsewhere
):
    with viewed(browser, elsewhere[0]) as seen:
        status, detail, version = seen.page.evaluate(ASKING, [served.address, KEY])
        assert (status, detail) == (200, None)
        assert len(version) == 12
        status, detail, version = seen.page.evaluate(ASKING, [served.address, "another-key"])
        assert (status, version) == (401, None)
        assert "this API key is not known" in detail


def test_a_page_of_another_origin_is_told_nothing(served, browser, elsewhere):
    with viewed(browser, elsewhere[1]) as seen:
        assert "Failed to fetch" in seen.page.evaluate(ASKING, [served.address, KEY])


def test_a_request_is_tried_in_the_browser(served, browser):
    with looking(browser, served.address) as look:
        page = look("docs").page
        assert page.title() == "labelgrove: API"
        page.get_by_role("button", name="Authorize").click()
        page.get_by_label("auth-bearer-value").fill(KEY)
        page.get_by_role("button", name="Apply credentials").click()
        page.get_by_role("button", name="Close", exact=True).last.click()
        way = page.locator("#operations-labelgrove-tag_v1_tag_post")
        way.get_by_role("button", name="POST /v1/tag").first.click()
        way.get_by_role("button", name="Try it out").click()
        way.locator("textarea").fill('{"text": "red apples", "k": 1}')
        way.get_by_role("button", name="Execute").click()
        answer = way.locator(".live-responses-table")
        answer.locator(".response-col_status", has_text="200").wait_for()
        assert '"model": "quick"' in answer.inner_text()
        assert "tagger-version" in answer.inner_text()


def test_every_way_is_listed(served, browser):
    with looking(browser, served.address) as look:
        page = look("docs").page
        page.locator(".opblock").first.wait_for()
        schema = served.ask("/openapi.json").json
        ways = sum(len(methods) for methods in schema["paths"].values())
        assert page.locator(".opblock").count() == ways


@pytest.mark.parametrize("dark", [False, True])
def test_it_is_light_or_dark_as_the_reader_likes(served, browser, dark):
    with looking(browser, served.address) as look:
        page = look("docs", dark=dark, width=390).page
        title = page.locator(".swagger-ui .info .title")
        title.wait_for()
        ink, paper = page.evaluate(
            "title => [getComputedStyle(title).color, getComputedStyle(document.body)"
            ".backgroundColor].map(each => Number(each.match(/[0-9]+/)[0]))",
            title.element_handle(),
        )
        assert (ink > 150) == dark
        assert (paper < 50) == dark
        assert abs(ink - paper) > 100


def test_a_key_that_the_page_knows_is_used(served, browser):
    with looking(browser, served.address) as look:
        page = look("docs").page
        page.evaluate("key => sessionStorage.setItem('labelgrove-key', key)", KEY)
        page.reload()
        page.get_by_role("button", name="Authorize").click()
        page.get_by_role("button", name="Remove authorization").wait_for()
