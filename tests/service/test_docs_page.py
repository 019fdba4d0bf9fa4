"""The page about the API in a real browser: it asks no other host, and every request can be tried.

Colours and contrast of what Swagger UI draws are its own; here it must follow light and dark.
"""

import pytest

from browser import looking
from services import made, serving

KEY = "a-key-of-more-than-sixteen-letters"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    place = tmp_path_factory.mktemp("docs")
    made(place / "quick", "most-frequent")
    (place / "keys").write_text(KEY)
    (place / "keys").chmod(0o600)
    return place


@pytest.fixture(scope="module")
def served(place):
    with serving(place / "quick", "--api-keys", place / "keys", "--no-feedback", "-q") as service:
        yield service


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
