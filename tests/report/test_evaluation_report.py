"""``labelgrove evaluate --report``, as a browser shows it."""

import json
import re
from html import unescape
from itertools import pairwise

import numpy as np
import pytest
from scipy.sparse import csr_array

from browser import DESK, PHONE, viewed
from command_line import called, fails
from labelgrove import Tagger, read_corpus
from labelgrove.core.estimator import Classifier
from labelgrove.core.ranking import Ranking
from labelgrove.evaluation import score_ranking
from labelgrove.models.contract import known_answer
from labelgrove.report.assessment import assess
from labelgrove.report.choosing import choose
from labelgrove.report.evaluation import evaluation_report
from labelgrove.report.training import networks_of
from stand_ins import Centroid

HOSTILE = "<script>alert('run')</script><img src=x onerror=alert(1)>"
LONG = "a very long name " * 40
OTHER = "漢字と العربية"
NAMES = {"label 00": HOSTILE, "label 01": LONG, "label 02": OTHER, "label 03": "label 04"}
SECTIONS = [
    *("Scores", "Scores by k", "Frequent and rare labels", "How labels are spread"),
    *("Can probabilities be believed?", "The threshold", "Best and worst labels"),
    *("Labels taken for one another", "Documents", "Time and memory", "How this was made"),
]
MOST = 3_000_000  # bytes of a report


def written(file, documents):
    rows = (json.dumps(dict(zip(("text", "labels"), each, strict=True))) for each in documents)
    file.write_text("\n".join(rows) + "\n")
    return file


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A tagger that has learned from 300 documents, and 100 others."""
    folder = tmp_path_factory.mktemp("report")
    documents = list(zip(*known_answer(400), strict=True))
    written(folder / "train.jsonl", documents[:300])
    written(folder / "test.jsonl", documents[300:])
    rows = [f"{label}\t{name}\t" for label, name in NAMES.items()]
    (folder / "names.tsv").write_text("\n".join(["id\tname\tparents", *rows]) + "\n")
    called(
        *("train", folder / "train.jsonl", "--model", "one-vs-rest", "--out", folder / "tagger"),
        *("--labels", folder / "names.tsv", "-q"),
    )
    return folder


@pytest.fixture(scope="module")
def report(data):
    file = data / "report.html"
    called("evaluate", data / "tagger", data / "test.jsonl", "--report", file, "-q")
    return file


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [PHONE, DESK])
def test_all_is_there_readable_and_inside_the_window(browser, report, width, dark):
    with viewed(browser, report, width=width, dark=dark) as seen:
        assert seen.sticking_out() == []
        assert seen.requests == seen.dialogs == seen.complaints == []
        assert seen.lowest_contrast()[0] >= 4.5
        assert seen.page.locator("h2").all_inner_texts() == SECTIONS
        assert seen.count("figure svg[role=img][aria-label]") == 9
        assert seen.count(".card") == 8
        assert seen.count("article mark.for") > 3
        assert seen.count("table") >= 8
        letters = seen.page.evaluate(
            "Math.min(...[...document.querySelectorAll('svg text')]"
            ".map(each => each.getBoundingClientRect().height))"
        )
        assert letters > 8  # as high as a line of the smallest letters that can be read


def test_a_page_has_one_heading_of_each_level_in_order_and_ids_of_their_own(browser, report):
    with viewed(browser, report) as seen:
        levels = seen.page.evaluate(
            "[...document.querySelectorAll('h1,h2,h3')].map(each => +each.tagName[1])"
        )
        ids = seen.page.evaluate("[...document.querySelectorAll('[id]')].map(each => each.id)")
        links = seen.page.evaluate(
            "[...document.querySelectorAll('nav a')].every(each => "
            "document.getElementById(decodeURIComponent(each.hash.slice(1))))"
        )
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    assert len(ids) == len(set(ids))
    assert links


def test_text_in_figures_can_be_selected(browser, report):
    with viewed(browser, report) as seen:
        selected = seen.page.evaluate(
            "(() => { getSelection().selectAllChildren(document.querySelector('figure'));"
            "return getSelection().toString() })()"
        )
    assert "nDCG" in selected
    assert "k, labels looked at" in selected


def test_it_prints_in_black_on_white_on_a_few_pages(browser, report):
    with viewed(browser, report, dark=True) as seen:
        printed = seen.page.pdf(format="A4")
        seen.page.emulate_media(media="print", color_scheme="dark")
        colour = seen.page.evaluate("getComputedStyle(document.body).color")
    assert colour == "rgb(27, 31, 36)"
    assert 3 <= len(re.findall(rb"/Type\s*/Page\b", printed)) <= 16


def test_the_numbers_are_those_of_evaluate(data, report):
    scores = Tagger.load(data / "tagger").evaluate(read_corpus(data / "test.jsonl"))
    cards = re.findall(r'class="card"><span>([^<]+)</span><b>([\d.]+)%</b>', report.read_text())
    assert {name: float(value) for name, value in cards} == {
        name: pytest.approx(100 * scores[name], abs=0.051) for name, _ in cards
    }
    assert len(cards) == 8


def test_it_tells_the_command_and_names_as_they_are(data, report):
    found = unescape(report.read_text())
    command = f"labelgrove evaluate {data / 'tagger'} {data / 'test.jsonl'} --report {report} -q"
    assert command in found
    assert HOSTILE in found, "escaped in the file"
    assert OTHER in found
    assert "label 04 (label 03)" in found, "two labels of one name"
    assert LONG.strip() not in found
    assert LONG[:80] in found


def degenerate(data, file, documents, *options, tagger="tagger"):
    test = written(file.with_suffix(".jsonl"), documents)
    called("evaluate", data / tagger, test, "--report", file, "-q", *options)
    assert file.stat().st_size < MOST
    return file.read_text()


@pytest.mark.parametrize(
    ("documents", "options", "expected"),
    [
        (known_answer(30), ("--threshold", "1"), "no document is given any label"),
        (known_answer(30), ("--threshold", "per-label"), "With a threshold for each label, from"),
        (known_answer(30), ("--at", "1,2,3,4,5,6,7,8,9,10,11,99"), "10 of 12 places are listed"),
        (known_answer(1), (), "One document says nothing about luck"),
        (
            (["topic1a"] * 3, [["unheard of"]] * 3),
            (),
            "100.0% of the occurrences",
        ),
        ((["", "   ", "nothing known"], [["label 05"], [], ["label 06"]]), (), "has no label"),
        ((["text"] * 2, [[], []]), (), "No test document has a label"),
        (([HOSTILE] * 2, [["label 00", HOSTILE * 9]] * 2), (), "not in training"),
        ((["topic5a filler " * 50_000], [["label 05"]]), (), "Characters 1 to 1,200 of 750,000"),
        ((["漢字" * 900, "قطار " * 900], [["label 02"]] * 2), (), "of 1,800."),
    ],
    ids=[
        *(
            "nothing-above-the-threshold",
            "a-threshold-each",
            "many-places",
            "one-document",
            "labels-never-predicted",
            "empty-texts",
        ),
        *("no-labels", "hostile-texts", "a-hundred-thousand-words", "other-scripts"),
    ],
)
def test_degenerate_test_sets_give_a_sane_report(
    browser, data, tmp_path, documents, options, expected
):
    file = tmp_path / "report.html"
    found = degenerate(data, file, zip(*documents, strict=True), *options)
    assert expected in unescape(found)
    assert "nan" not in re.sub(r"<[^>]+>", " ", found).lower().split()
    with viewed(browser, file, width=PHONE) as seen:
        assert seen.sticking_out() == []
        assert seen.requests == seen.dialogs == seen.complaints == []
        assert seen.page.locator("h2").all_inner_texts() == SECTIONS


def test_a_tagger_with_one_label_gives_a_sane_report(browser, data, tmp_path):
    documents = [("red apples", ["fruit"]), ("a car", [])] * 20
    written(data / "one.jsonl", documents)
    called("train", data / "one.jsonl", "--out", data / "one", "-q")
    file = tmp_path / "report.html"
    degenerate(data, file, documents, tagger="one")
    with viewed(browser, file, width=PHONE) as seen:
        assert seen.sticking_out() == seen.complaints == []
        assert seen.page.locator("h2").all_inner_texts() == SECTIONS


class Mute(Centroid):
    """As good as its parent, and silent about its reasons."""

    name = "mute"
    explain, _explain = Classifier.explain, Classifier._explain


def test_a_model_that_cannot_explain_says_so_once(tmp_path):
    texts, labels = known_answer(100)
    tagger = Tagger(Mute(), validation=0).fit(texts, labels)
    tagger.save(tmp_path / "mute")
    found = evaluation_report(assess(tagger, read_corpus((texts, labels))), tmp_path / "mute")
    assert found.count("cannot explain its rankings") == 1
    assert "<mark" not in found
    assert "No documents were held out" in found


def test_a_training_history_is_drawn_network_by_network(data):
    tagger = Tagger.load(data / "tagger")
    events = [{"step": n, "seconds": n / 2, "loss": 1 / n, "score": n / 10} for n in (1, 2, 3)]
    start = {"step": 0, "seconds": 0.0, "score": 0.05}  # scored before it learned: no loss yet
    tagger.model_.history_ = [start, *events, *events[:2]]
    assert [len(each) for each in networks_of(tagger.model_.history_)] == [4, 2]
    found = evaluation_report(assess(tagger, read_corpus(data / "test.jsonl")), data / "tagger")
    assert "Training took 2.5 s and 5 steps for 2 networks." in found
    assert "Best score on held-out documents: 30.0, 20.0%." in found
    assert found.count(">network 2</text>") == 2


def test_documents_are_chosen_evenly_and_by_kind():
    true = csr_array(np.array([[1, 0], [1, 1], [0, 1], [0, 0]] * 10))
    ranking = Ranking(np.zeros((40, 1)), np.ones((40, 1)))
    chosen = choose(score_ranking(true, ranking), np.ones((40, 1), bool))
    assert [each.row for each in chosen] == [4, 20, 32, 5, 21, 33, 6, 22, 34]
    assert [each.kind for each in chosen[::3]] == ["all right", "partly right", "badly wrong"]


def test_a_place_that_cannot_be_written_is_told_before_the_work(data, tmp_path):
    wrong = tmp_path / "no" / "report.html"
    told = fails("evaluate", data / "tagger", data / "nothing.jsonl", "--report", wrong)
    assert "--report needs a file in a folder that exists" in told
