"""The page of a search, as code reads it and as a browser shows it."""

import re
from dataclasses import replace

import pytest

from browser import DESK, PHONE, viewed
from labelgrove.core.ranges import Choice, Real, Whole
from labelgrove.report.search import search_report
from labelgrove.tuning import Metric, Search, Space, Trial

KEYS = {
    "cost": Real(0.01, 10.0, log=True),
    "beam": Whole(1, 50),
    "loss": Choice(("hinge", "<b>logistic</b>")),
    "text.ngrams": Choice(([1, 1], [1, 2])),
}
START = {"cost": 1.0, "beam": 10, "loss": "hinge", "text.ngrams": (1, 1)}
FACTS = {"documents to judge by": 320, "seed": 0, "settings": {"trees": 2}}


def trial(number, score=None, **facts):
    values = {"cost": 0.02 * 1.3**number, "beam": number + 1, "loss": "hinge",
              "text.ngrams": [1, 1 + number % 2]}  # fmt: skip
    scores = {} if score is None else {"nDCG@5": score, "P@1": score, "R@1": 0.5}
    state = "pruned" if score is None else "finished"
    found = Trial(number, state, values, score, scores, seconds=1.5 * number)
    return replace(found, **facts)


def search(*trials, metric="nDCG@5", **facts):
    space = Space("bonsai", KEYS, {"trees": 2}, {}, START)
    return Search(space, Metric(metric), trials, facts=FACTS, **facts)


@pytest.fixture(scope="module")
def found():
    failed = trial(20, state="failed", message="<script>alert('no')</script> " * 9)
    trials = [trial(n, None if n in (5, 9) else 0.5 + 0.03 * (n % 7)) for n in range(1, 14)]
    first = trial(0, 0.5, default=True, values=START)
    return search(
        first, *trials, trial(15, 0.6, repeats=4), failed,
        importances={"beam": 0.5, "cost": 0.3, "text.ngrams": 0.2, "loss": 0.0},
    )  # fmt: skip


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [PHONE, DESK])
def test_the_page_in_a_browser(browser, found, tmp_path, width, dark):
    file = tmp_path / "report.html"
    file.write_text(search_report(found, "labelgrove tune train.csv --out tuned"), "utf-8")
    assert file.stat().st_size < 3e6
    with viewed(browser, file, width=width, dark=dark) as seen:
        assert seen.sticking_out() == []
        assert seen.requests == seen.dialogs == seen.complaints == []
        assert seen.lowest_contrast()[0] >= 4.5
        assert seen.count("svg[role=img]") == 2 + len(KEYS)
        assert seen.count("table") == 3
        labels = seen.page.locator("svg text").all_text_contents()
        assert {"cost", "beam", "nDCG@5, %", "0.1", "[1, 2]"} <= {*labels}
        assert not any("mathdefault" in label for label in labels)


def rows(page, title):
    section = re.search(rf"<h2[^>]*>{title}</h2>(.*?)</section>", page, re.S)[1]
    found = re.findall(r"<tr>(.*?)</tr>", section)
    return [[re.sub("<[^>]+>", "", cell) for cell in re.findall(r"<t[hd].*?</t[hd]>", row)]
            for row in found]  # fmt: skip


def test_what_the_page_says(found):
    page = search_report(found, "labelgrove tune train.csv")
    assert "The best of 16 trials has nDCG@5 68.00%" in page
    assert "the default settings 50.00% (+18.00 points)" in page
    assert "same 320 held-out documents, so this score is optimistic" in page
    assert "13 trials finished, 2 given up early (pruned), 1 failed." in page
    assert "labelgrove tune train.csv" in page
    best = rows(page, "Best settings")
    assert best[1:3] == [
        ["cost", "1.0", "0.09654", "0.01..10:log"], ["beam", "10", "7", "1..50"]
    ]  # fmt: skip
    assert ["P@1", "50.00", "68.00", "+18.00"] in best
    assert not any(row[0] == "R@1" for row in best), "too many metrics"
    trials = rows(page, "All trials")
    assert trials[1][:4] == ["6", "finished", "68.00", "9 s"]
    assert [row[0] for row in trials[-3:]] == ["5", "9", "20"], "those without a score are last"
    assert ["15", "as trial 4"] in [row[:2] for row in trials]
    assert trials[-1][1].startswith("failed: &lt;script&gt;")


@pytest.mark.parametrize("metric", ["nDCG@5", "hamming-loss"])
def test_a_single_trial_has_a_page(metric):
    only = trial(0, 0.5, default=True, values=START, scores={metric: 0.5})
    page = search_report(search(only, metric=metric))
    assert f"The best of 1 trial has {metric} 50.00%" in page
    assert "10 finished trials or more can tell which settings mattered." in page


def test_less_can_be_better():
    page = search_report(search(trial(0, 0.5), trial(1, 0.4), metric="hamming-loss"))
    assert "has hamming-loss 40.00%" in page
    assert rows(page, "All trials")[1][0] == "1"
