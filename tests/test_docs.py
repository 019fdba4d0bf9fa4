"""The README and the documentation: examples run, links lead somewhere, the site builds."""

import os
import re
import shutil
import subprocess
import sys
from xml.etree import ElementTree

import pytest

from browser import DESK, PHONE, viewed
from documented import ROOT, alike, examples, goes_on_from, pages, run
from labelgrove import models

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
ELSEWHERE = re.compile(r"""<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)=["'](?:https?:)?//""")
OF_STYLES = re.compile(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//")
LOOKED_AT = ["index", "tutorial", "metrics", "models/laco", "reference/commands", "reference/text"]
TRIED = [page for page in pages() if any(each.runs and not each.reason for each in examples(page))]
NOT_RUN = {
    "downloads an encoder from the hub": 8,
    "downloads static vectors from the hub": 4,
    "goes on from a tagger of your own": 1,
    "it would listen on all addresses of the machine": 2,
    "needs a repository on the Hugging Face hub": 3,
    "needs annif-client": 1,
    "needs a language model behind a server": 1,
    "needs an object store": 1,
    "needs records of several data sets": 1,
    "needs MLflow": 3,
    "needs the extra neural, and takes minutes": 8,
    "needs the extra neural, and its answer depends on the machine": 1,
    "needs the published files": 1,
    "shows the forms of a command": 1,
    "takes hours": 2,
    "trains six taggers": 1,
}


@pytest.fixture(scope="session")
def left_by(tmp_path_factory):
    """What a page that others go on from leaves behind, run once."""
    folders = {}

    def folder_of(page):
        if page not in folders:
            folders[page] = tmp_path_factory.mktemp("before")
            with pytest.MonkeyPatch.context() as patch:
                patch.chdir(folders[page])
                run(page, folders[page])
        return folders[page]

    return folder_of


@pytest.mark.parametrize("page", TRIED)
def test_examples_run_and_print_what_is_shown(page, left_by, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    before = goes_on_from(page)
    if before:
        shutil.copytree(left_by(before), tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    run(page, tmp_path)


def test_what_is_not_run_says_why():
    reasons = [each.reason for page in pages() for each in examples(page) if each.reason]
    assert {reason: reasons.count(reason) for reason in reasons} == NOT_RUN


@pytest.mark.parametrize(
    ("printed", "shown", "same"),
    [
        ("a 0.501 b\n", "a 0.500 b\n", True),
        ("a 0.56 b\n", "a 0.50 b\n", False),
        ("a 5 b\n", "a 6 b\n", False),
        ("first\nsecond\nlast\n", "first\n...\nlast\n", True),
        ("first\nsecond\n", "first\n...\nlast\n", False),
        ("a   10.00\n", "a  9.99\n", True),
        ("more\na\n", "a\n", False),
    ],
)
def test_what_counts_as_shown(printed, shown, same):
    assert alike(printed, shown) == same


def test_every_model_has_a_page_and_a_line_in_both_tables():
    names = models.names()
    assert sorted(path.stem for path in (ROOT / "docs/models").glob("*.md")) == sorted(names)
    for page, line in (
        ("README.md", r"^\| `([\w-]+)` \|"),
        ("docs/models.md", r"^\| \[([\w-]+)\]"),
    ):
        assert re.findall(line, (ROOT / page).read_text(encoding="utf-8"), re.M) == names
    for name in names:
        page = (ROOT / f"docs/models/{name}.md").read_text(encoding="utf-8")
        assert f"```{{settings}} {name}\n" in page
        assert f"](../pictures/{name}.svg)" in page


@pytest.mark.parametrize("page", [*pages(), "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_links_lead_to_files_and_headings(page):
    text = re.sub(r"```.*?```", "", (ROOT / page).read_text(encoding="utf-8"), flags=re.S)
    for link in LINK.findall(text):
        if "://" in link:
            continue
        target, _, heading = link.partition("#")
        file = ((ROOT / page).parent / target).resolve() if target else ROOT / page
        assert file.exists(), f"{page} links to {link}"
        if heading:
            assert heading in _anchors(file), f"{page} links to {link}"


def _anchors(file):
    """Return the headings of a page as they are linked to."""
    titles = re.findall(r"^#+ (.+)$", file.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", title).strip().lower().replace(" ", "-") for title in titles}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, built as ``make docs`` does it: a warning is an error."""
    folder = tmp_path_factory.mktemp("site")
    call = ["-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html", "-c", "docs"]
    done = subprocess.run(
        [sys.executable, *call, "-d", str(folder / "doctrees"), ".", str(folder / "html")],
        capture_output=True,
        cwd=ROOT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder / "html"


def test_nothing_is_loaded_from_elsewhere(site):
    for file in site.rglob("*"):
        if file.suffix in (".html", ".css"):
            found = file.read_text(encoding="utf-8")
            assert not ELSEWHERE.search(found), file
            assert not OF_STYLES.search(found), file


def test_the_first_page_leads_to_every_other(site):
    first = (site / "docs/index.html").read_text("utf-8")
    listed = {"index", *re.findall(r'href="([^"#]+)\.html"', first)}
    for page in (ROOT / "docs").rglob("*.md"):
        name = page.relative_to(ROOT / "docs").with_suffix("").as_posix()
        assert name in listed, f"{page} is in no table of contents"


def test_what_is_generated_is_there(site):
    assert "--labels-field" in (site / "docs/reference/commands.html").read_text("utf-8")
    assert "<math" in (site / "docs/metrics.html").read_text("utf-8")
    for name in models.names():
        page = (site / f"docs/models/{name}.html").read_text("utf-8")
        assert all(setting in page for setting in models.MODELS.find(name).setting_names())


@pytest.mark.parametrize(("width", "dark"), [(PHONE, False), (DESK, True)])
@pytest.mark.parametrize("page", LOOKED_AT)
def test_pages_fit_a_phone_and_a_desk(site, browser, page, width, dark):
    with viewed(browser, site / "docs" / f"{page}.html", width=width, dark=dark) as seen:
        assert seen.page.evaluate("document.documentElement.scrollWidth") <= width
        assert all(request.startswith(("file:", "data:")) for request in seen.requests)
        assert not seen.complaints


def test_the_picture_of_attention_is_drawn_from_the_demos_documents(tmp_path):
    file = tmp_path / "drawn.svg"
    script = [sys.executable, str(ROOT / "docs/pictures/attention_of_labels.py")]
    done = subprocess.run(
        [*script, "--documents", "60", "--epochs", "1", "--out", str(file)],
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    shown = (ROOT / "docs/pictures/attention-of-labels.svg").read_text(encoding="utf-8")
    for picture in (file.read_text(encoding="utf-8"), shown):
        root = ElementTree.fromstring(picture)
        assert len(root.findall("{*}text[@class='name']")) == 2
        assert root.findall("{*}rect[@class='for']")
        assert not root.findall("{*}rect[@class='against']"), "attention never speaks against"
        assert "prefers-color-scheme: dark" in root.find("{*}style").text
    page = (ROOT / "docs/models/attentionxml.md").read_text(encoding="utf-8")
    assert re.search(r"!\[\w[^\]]{40,}\]\(\.\./pictures/attention-of-labels\.svg\)", page)
