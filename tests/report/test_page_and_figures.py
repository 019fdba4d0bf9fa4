"""Pages and figures, as code reads them and as a browser shows them."""

import re

import pytest

from browser import DESK, PHONE, viewed
from labelgrove.report.figures import SERIES, drawn, grouped
from labelgrove.report.page import Section, beside, captioned, page, paragraph, text
from labelgrove.report.tables import Table

HOSTILE = "<script>alert('run')</script><img src=x onerror=alert(1)>\"'&"


def curve(axes):
    axes.plot([1, 10, 1000], [3, 2, 1], marker="o", label="$a$ <b> & 漢字")
    axes.fill_between([1, 10, 1000], [2, 1, 0], [4, 3, 2], alpha=0.2, color=SERIES[1])
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(grouped)
    axes.set_xlabel("documents")
    axes.legend()


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    cells = [f"a wide cell {number}" for number in range(60)]
    body = (
        paragraph(HOSTILE, kind="note")
        + beside([captioned(drawn(curve, label=f"Curve {n}"), text(HOSTILE)) for n in range(2)])
        + Table(cells, [cells], title="Wide").html()
        + f"<p>{text('long' * 500)}</p>"
    )
    found = tmp_path_factory.mktemp("page") / "page.html"
    sections = [Section(HOSTILE, body), Section("Same", ""), Section("Same", "", id="same")]
    found.write_text(page(HOSTILE, sections, lead=paragraph("Lead")), "utf-8")
    return found


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [PHONE, DESK])
def test_nothing_overflows_runs_or_is_fetched(browser, file, width, dark):
    with viewed(browser, file, width=width, dark=dark) as seen:
        assert seen.sticking_out() == []
        assert seen.requests == seen.dialogs == seen.complaints == []
        assert seen.count("svg[role=img]") == 2
        assert seen.lowest_contrast()[0] >= 4.5
        first = seen.page.locator("svg").first.bounding_box()
        assert first["width"] > 280


def test_the_browser_test_would_notice_what_is_wide_pale_fetched_or_run(browser, tmp_path):
    bad = tmp_path / "bad.html"
    bad.write_text(
        "<body><div style='width: 2000px'>wide</div><p style='color: #bbb'>pale</p>"
        "<img src='missing.png'><script>alert('run')</script>"
    )
    with viewed(browser, bad) as seen:
        assert seen.sticking_out() == ["DIV wide", "the page itself"]
        assert seen.lowest_contrast() == (pytest.approx(1.92, abs=0.02), "pale")
        assert [url.rpartition("/")[2] for url in seen.requests] == ["missing.png"]
        assert seen.dialogs == ["run"]


def test_a_script_that_slipped_in_would_not_run(browser, tmp_path):
    file = tmp_path / "page.html"
    file.write_text(page("T", [Section("S", "<script>alert('run')</script>")]))
    with viewed(browser, file) as seen:
        assert seen.dialogs == []


def test_sections_have_ids_of_their_own_and_links(file):
    found = file.read_text("utf-8")
    ids = re.findall(r'<h2 id="([^"]+)"', found)
    assert ids[1:] == ["same", "same-2"]
    assert re.findall(r'<li><a href="#([^"]+)"', found) == ids


def test_colours_of_a_figure_are_variables_and_its_text_is_text():
    svg = drawn(curve, label="Curve & co")
    assert "var(--series-1, #1d6fb8)" in svg
    assert not re.findall(r"(?<!, )#[0-9a-f]{6}\b", svg)
    assert "$a$ &lt;b&gt; &amp; 漢字</text>" in svg
    assert ">1,000</text>" in svg
    assert svg.startswith('<svg viewBox="0 0 400 270" role="img" aria-label="Curve &amp; co">')


def test_a_figure_is_the_same_every_time_and_shares_no_id_with_another():
    first, again, other = (drawn(curve, label=label) for label in ("a", "a", "b"))
    assert first == again
    ids = [set(re.findall(r'id="([^"]+)"', svg)) for svg in (first, other)]
    assert ids[0]
    assert not ids[0] & ids[1]
    for svg, own in zip((first, other), ids, strict=True):
        assert set(re.findall(r'(?:href="#|url\(#)([^")]+)', svg)) == own
