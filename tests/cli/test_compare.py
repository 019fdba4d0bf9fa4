"""Taggers compared from the command line: on one test set, and over records."""

import json
import re
import shutil

import pytest

from browser import DESK, PHONE, open_browser, viewed
from command_line import called, fails, labelgrove
from labelgrove import Tagger


@pytest.fixture(scope="module")
def taggers(data):
    for model in ("bonsai", "knn", "most-frequent"):
        called("train", data / "train.jsonl", "--model", model, "--out", data / model, "-q")
    return [data / "bonsai", data / "knn", data / "most-frequent"]


@pytest.fixture(scope="module")
def compared(taggers, data):
    outputs = {kind: data / f"found.{kind}" for kind in ("json", "md", "tex", "html")}
    done = called(
        *("compare", *taggers, "--test", data / "test.jsonl", "--quiet"),
        *("--json", outputs["json"], "--markdown", outputs["md"]),
        *("--latex", outputs["tex"], "--report", outputs["html"]),
    )
    return done, {kind: path.read_text("utf-8") for kind, path in outputs.items()}


def test_the_terminal_shows_scores_tests_costs_and_overlap(compared):
    done, _ = compared
    assert done.stderr == ""
    assert re.search(r"^bonsai +\*\d+\.\d", done.stdout, re.MULTILINE), "the best has a star"
    assert re.search(r"^P@1 +bonsai +most-frequent +\+\d+\.\d", done.stdout, re.MULTILINE)
    assert re.search(r"^most-frequent +most-frequent +\d.* ms .* kB$", done.stdout, re.MULTILINE)
    assert "Labels that both name, %" in done.stdout
    assert "frequent (" in done.stdout


def test_it_begins_with_who_is_better(compared):
    done, written = compared
    said = done.stdout.splitlines()[0]
    assert re.match(
        r"^\S+ is (the best of 3|ahead of \S+).* points nDCG@5 \(95% interval .*; each was trained "
        r"once, so luck of training is not covered$",
        said,
    )
    verdict = json.loads(written["json"])["verdict"]
    assert verdict["sentence"] == said
    assert verdict["ahead_of"][-1]["system"] == "most-frequent"
    assert verdict["ahead_of"][-1]["low"] > 0
    assert said.split(" (")[0] in written["md"]
    assert f"<p>{said}.</p>" in written["html"]
    assert f"% {said}" in written["tex"]


def test_trainings_with_other_seeds_are_one_system(taggers, data, tmp_path):
    for seed in (1, 2, 3):
        call = ("train", data / "train.jsonl", "--model", "bonsai", "--seed", seed)
        called(*call, "--out", tmp_path / f"bonsai-{seed}", "-q")
    trained = [tmp_path / f"bonsai-{seed}" for seed in (1, 2, 3)]
    call = ("compare", *trained, taggers[2], "--test", data / "test.jsonl", "-q")
    done = called(*call, "--metric", "P@3,P@1", "--json", tmp_path / "found.json")
    said = done.stdout.splitlines()[0]
    assert said.startswith("bonsai is better than most-frequent by ")
    assert " points P@3 (95% interval " in said, "the first metric that was asked for"
    assert said.endswith("and of training (3 and 1 trainings with other seeds)")
    assert re.search(r"^bonsai +3 +\d+\.\d ± \d\.\d\d ", done.stdout, re.MULTILINE)
    verdict = json.loads((tmp_path / "found.json").read_text())["verdict"]
    assert verdict["systems"] == {"bonsai": 3, "most-frequent": 1}
    assert verdict["training_spread"] >= 0
    done = called("compare", *trained, "--test", data / "test.jsonl", "-q")
    assert re.match(r"bonsai: 3 trainings with other seeds, nDCG@5 \d", done.stdout)


def test_word_stems_that_training_chose_do_not_divide_a_system(taggers, data, tmp_path):
    for seed, analyzer in ((1, "snowball:en"), (2, "word"), (3, "word"), (3, "char:3-4")):
        out = tmp_path / ("old" if seed == 1 else f"old-{analyzer[:4]}-{seed}")
        chosen = {"text": {"analyzer": analyzer}}
        Tagger("bonsai", features=chosen, seed=seed).fit(data / "train.jsonl").save(out)
    folders = [*sorted(tmp_path.glob("old*")), taggers[2]]
    call = ("compare", *folders, "--test", data / "test.jsonl", "-q", "--metric", "P@1")
    called(*call, "--json", tmp_path / "found.json")
    verdict = json.loads((tmp_path / "found.json").read_text())["verdict"]
    one = "bonsai (old, old-word-2, old-word-3)"
    assert verdict["systems"] == {one: 3, "old-char-3": 1, "most-frequent": 1}


def test_scores_are_those_of_evaluate(compared, taggers, data, tmp_path):
    found = json.loads(compared[1]["json"])
    for folder, told in zip(taggers, found["taggers"], strict=True):
        called("evaluate", folder, data / "test.jsonl", "--json", tmp_path / "one.json", "-q")
        scores = json.loads((tmp_path / "one.json").read_text())["scores"]
        assert told["scores"] == pytest.approx({name: scores[name] for name in told["scores"]})
        assert told["size"] == sum(path.stat().st_size for path in folder.rglob("*.*"))
        assert told["memory"] is None or told["memory"] > 10**7
    worst = [pair for pair in found["pairs"] if pair["second"] == "most-frequent"]
    assert all(pair["p"] < 0.05 for pair in worst if pair["metric"] == "P@1")


def test_every_written_form_has_the_same_table(compared):
    _, written = compared
    found = json.loads(written["json"])
    value = f"{100 * found['taggers'][0]['scores']['P@1']:.1f}"
    assert f"| bonsai | **{value}**" in written["md"]
    assert rf"bonsai & \textbf{{{value}}}" in written["tex"]
    assert f"<strong>{value}</strong>" in written["html"]


@pytest.mark.parametrize("width", [PHONE, DESK])
@pytest.mark.parametrize("dark", [False, True])
def test_the_page_in_a_browser(compared, data, width, dark):
    with (
        open_browser() as browser,
        viewed(browser, data / "found.html", width=width, dark=dark) as seen,
    ):
        assert seen.sticking_out() == []
        assert (seen.requests, seen.complaints, seen.dialogs) == ([], [], [])
        assert seen.lowest_contrast()[0] >= 4.5
        assert seen.count("svg") == 7, "a figure for each metric"
        assert seen.count("table") == 9


def test_json_alone_on_standard_output(taggers, data):
    done = called(
        *("compare", *taggers[:2], "--test", data / "test.jsonl", "-q"),
        *("--metric", "P@1", "--threshold", "per-label", "--json", "-"),
    )
    found = json.loads(done.stdout)
    assert [each["tagger"] for each in found["taggers"]] == ["bonsai", "knn"]
    assert any("bonsai by label" in note for note in found["notes"])


def test_combine_shows_the_same_overlap(compared, taggers, data, tmp_path):
    done = called(
        *("combine", *taggers[:2], "--out", tmp_path / "both"),
        *("--test", data / "test.jsonl", "-q"),
    )
    shares = json.loads(compared[1]["json"])["overlap"][0]["top"]
    line = next(line for line in done.stdout.splitlines() if "knn" in line)
    assert line.split()[-5:] == [f"{100 * share:.0f}" for share in shares.values()]


def test_taggers_of_one_name_and_of_other_labels(taggers, data, tmp_path):
    few = tmp_path / "few.jsonl"
    rows = [json.loads(line) for line in (data / "train.jsonl").read_text().splitlines()]
    dropped = max(label for row in rows for label in row["labels"])
    for row in rows:
        row["labels"] = [label for label in row["labels"] if label != dropped]
    few.write_text("".join(json.dumps(row) + "\n" for row in rows))
    called("train", few, "--out", tmp_path / "bonsai", "-q")
    done = called(
        *("compare", taggers[0], tmp_path / "bonsai", "--test", data / "test.jsonl", "-q"),
        *("--metric", "R@3", "--json", tmp_path / "found.json"),
    )
    name = f"{tmp_path.name}/bonsai"
    assert f"{name} knows" in done.stdout
    assert "learned from different documents" in done.stdout
    found = json.loads((tmp_path / "found.json").read_text())
    assert [each["tagger"] for each in found["taggers"]] == [f"{data.name}/bonsai", name]
    called("evaluate", tmp_path / "bonsai", data / "test.jsonl", "--json", tmp_path / "e.json")
    alone = json.loads((tmp_path / "e.json").read_text())["scores"]["R@3"]
    assert found["taggers"][1]["scores"]["R@3"] == pytest.approx(alone), "unknown is a miss"


def test_one_document_is_compared_without_p_values(taggers, data, tmp_path):
    one = tmp_path / "one.jsonl"
    one.write_text((data / "test.jsonl").read_text().splitlines()[0] + "\n")
    done = called(
        *("compare", *taggers, "--test", one, "-q", "--report", tmp_path / "one.html"),
        *("--json", tmp_path / "one.json"),
    )
    assert done.stdout.startswith("1 document cannot tell which is better by nDCG@5, it takes 6")
    assert "1 document cannot tell luck from skill" in done.stdout
    assert {pair["p"] for pair in json.loads((tmp_path / "one.json").read_text())["pairs"]} == {
        None
    }


def test_a_seed_gives_the_same_again_and_progress_names_the_tagger(taggers, data, tmp_path):
    once = [
        labelgrove(
            *("compare", *taggers[:2], "--test", data / "test.jsonl", "--metric", "P@1,macro-F1"),
            *("--seed", seed, "--json", tmp_path / "found.json"),
        )
        and json.loads((tmp_path / "found.json").read_text())["pairs"]
        for seed in (1, 1, 2)
    ]
    assert once[0] == once[1] != once[2]


def test_wrong_calls_are_told(taggers, data, tmp_path):
    test = data / "test.jsonl"
    assert "give two taggers or more; labelgrove evaluate" in fails(
        "compare", taggers[0], "--test", test
    )
    assert "are one tagger" in fails("compare", taggers[0], taggers[0], "--test", test)
    assert "--test FILE" in fails("compare", *taggers)
    # before the first tagger is asked, which would have been told
    done = called("compare", taggers[0], tmp_path, "--test", test, check=2)
    assert done.stderr.startswith("labelgrove: ")
    assert "is not a saved labelgrove folder" in done.stderr
    assert "give folders of taggers, or records" in fails("compare", taggers[0], test)
    assert "--test is for folders of taggers" in fails("compare", test, test, "--test", test)
    assert "did you mean 'macro-F1'" in fails(
        "compare", *taggers, "--test", test, "--metric", "macro-f1"
    )
    assert "--latex needs a file in a folder that exists" in fails(
        "compare", *taggers, "--test", test, "--latex", tmp_path / "no" / "x.tex"
    )
    empty = tmp_path / "empty.jsonl"
    empty.write_text("")
    assert "there is no document" in fails("compare", *taggers, "--test", empty, "-q")
    assert "holds no scores" in fails("compare", data / "found.json")


@pytest.fixture
def sets(taggers, data, tmp_path):
    """Records of three taggers on six data sets, each a part of the test documents."""
    rows = (data / "test.jsonl").read_text().splitlines()
    files = []
    for number in range(6):
        folder = tmp_path / f"set{number}"
        folder.mkdir()
        (folder / "test.jsonl").write_text("\n".join(rows[number * 15 : number * 15 + 15]) + "\n")
        for tagger in taggers:
            files.append(folder / f"{tagger.name}.json")
            called("evaluate", tagger, folder / "test.jsonl", "--json", files[-1], "-q")
    return files


def test_records_over_six_sets(sets, tmp_path):
    done = called("compare", *sets, "--report", tmp_path / "r.html", "--json", tmp_path / "r.json")
    assert "Friedman's chi-square is" in done.stdout
    assert re.match(
        r"^\S+ has the best average rank by nDCG@5, \d\.\d\d on 6 data sets; its lead over \S+ "
        r"(may be|is more than) luck of the data sets \(Wilcoxon, p ",
        done.stdout,
    )
    assert re.search(r"^ +set0 +set1 .* set5 +average rank", done.stdout, re.MULTILINE)
    found = json.loads((tmp_path / "r.json").read_text())
    assert found["systems"] == ["bonsai", "knn", "most-frequent"]
    ranked = found["standings"]["P@1"]["average_ranks"]
    assert ranked["most-frequent"] == 3
    assert sum(ranked.values()) == pytest.approx(6)
    page = (tmp_path / "r.html").read_text("utf-8")
    assert "critical difference" in page
    with open_browser() as browser, viewed(browser, tmp_path / "r.html", width=PHONE) as seen:
        assert seen.sticking_out() == []
        assert seen.complaints == []


def test_all_metrics_together(sets, taggers, data):
    words = ("--metric", "P@1,P@3,P@5", "--pool-metrics")
    done = called("compare", *sets[:9], *words, "--json", "-")
    found = json.loads(done.stdout)["pooled"]
    assert found["cells"] == 9
    assert found["average_ranks"]["most-frequent"] == pytest.approx(3, abs=0.5)
    assert all(0 < pair["p"] <= pair["corrected"] <= 1 for pair in found["pairs"])
    done = called("compare", *sets[:9], *words)
    assert "Average ranks over 9 cells: P@1, P@3, P@5 on each data set" in done.stdout
    assert "these p-values are too small" in " ".join(done.stdout.split())
    test = data / "test.jsonl"
    assert "is for records" in fails("compare", *taggers, "--test", test, "--pool-metrics")


def test_fewer_records_and_a_missing_one(sets):
    done = called("compare", *sets[:15])
    assert "5 data sets are too few for a p-value, it takes 6" in done.stdout
    assert ": too few data sets to tell whether its lead over " in done.stdout
    done = called("compare", *sets[:-1])
    assert "most-frequent has no result on set5" in done.stdout
    shutil.copy(sets[0], sets[0].with_name("again.json"))
    assert "are both of 'bonsai'" in fails("compare", *sets, sets[0].with_name("again.json"))
