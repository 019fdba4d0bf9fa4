"""The benchmark of the five systems: what it plans, a short real run, going on, its tables."""

import json
import lzma
import os
import subprocess
import sys
from argparse import Namespace
from pathlib import Path

import pytest
from papers import SETS, Task, expected_seconds, kept, network, planned
from papers_tables import figure, is_flat, tables

from labelgrove import models
from labelgrove.models.contract import known_answer

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "quality" / "papers.py"


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A small set under the name of a real one."""
    folder = tmp_path_factory.mktemp("data")
    (folder / "reuters").mkdir()
    for part, n, seed in (("train", 90, 0), ("test", 30, 1)):
        with lzma.open(folder / "reuters" / f"{part}.jsonl.xz", "wt") as file:
            for text, labels in zip(*known_answer(n, seed), strict=True):
                file.write(json.dumps({"text": text, "labels": labels}) + "\n")
    return folder


def papers(*options):
    done = subprocess.run(
        [sys.executable, str(SCRIPT), *map(str, options)],
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"},
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_short_run_goes_on_and_is_shown(data, tmp_path):
    words = ["--data", data, "--work", tmp_path, "--encoder", data / "none", "--threads", 1]
    words += ["--documents", 80, "--epochs", 2]
    words += ["--only", "reuters,bonsai,attentionxml,seed-0"]
    file = tmp_path / "papers.jsonl"
    # a kill left half a line, and an earlier call one that is done and one that failed
    done = {"where": "reuters", "model": "attentionxml", "form": "on bonsai", "seed": 0}
    failed = done | {"form": "paper", "error": "OSError: disk", "run_s": 1.0}
    done |= {"run_s": 1.0, "kept": True}
    file.write_text(json.dumps(done) + "\n" + json.dumps(failed) + '\n{"where": "reu')
    said = papers(*words)
    found = kept(tmp_path).read()
    forms = {task.form: line for task, line in ((Task(*key), found[key]) for key in found)}
    assert sorted(forms) == ["consensus", "on bonsai", "paper", "plain"]
    assert forms["on bonsai"] == done, "it was there"
    assert "seed 0: attentionxml, on bonsai" not in said
    assert "error" not in forms["paper"]
    assert forms["paper"]["settings"]["epochs"] == 2
    assert {"step", "seconds", "loss", "score"} <= forms["paper"]["history"][-1].keys()
    assert forms["paper"]["cpu_s"] > 0
    assert forms["plain"]["scores"]["P@1"] > 0.9
    low, high = forms["paper"]["intervals"]["nDCG@5"]
    assert 0 <= low <= forms["paper"]["scores"]["nDCG@5"] <= high <= 1
    assert not (tmp_path / "reuters-0" / "attentionxml, paper").exists(), "asked no more"
    before = file.read_text()
    assert papers(*words) == ""
    assert file.read_text() == before


def line(model, form, where, level, seed=0, **more):
    names = ("P@1", "P@3", "P@5", "nDCG@3", "nDCG@5")
    group = {"AUC": level, "AUPR": level}
    return {
        "where": where, "model": model, "form": form, "seed": seed, "run_s": 60.0,
        "documents_per_s": 100.0, "cpu_s": 50.0, "history": [],
        "scores": {name: level - number / 50 for number, name in enumerate(names)},
        "intervals": {name: [level - 0.1, level + 0.1] for name in names},
        "test_groups": [group] * 3, **more,
    }  # fmt: skip


def history(*scores):
    return [
        {"step": 10 * n, "seconds": 1.0 * n, "loss": 0.1, "score": score}
        for n, score in enumerate(scores, 1)
    ]


LINES = [
    *(line("bonsai", "plain", where, 0.7 + n / 100) for n, where in enumerate(SETS)),
    *(line("laco", "on bonsai", where, 0.71 + n / 80) for n, where in enumerate(SETS)),
    line("laco", "paper", "arxiv", 0.5, history=history(0.1, 0.3, 0.4, 0.45, 0.5)),
    line("laco", "paper", "arxiv", 0.6, seed=1, history=history(0.1, 0.5, 0.5, 0.5, 0.5)),
    line("laco", "paper", "reuters", 0.0, error="MemoryError: too much"),
]


def test_tables_tell_spread_curves_ranks_and_failures():
    shown = "\n".join(tables(LINES))
    assert "| laco, paper | 2 | 55.0 ± 5.0 |" in shown
    assert "| 50 | 35 | rising (1 of 2) | 50 | 100 |" in shown
    assert "| bonsai | 1 | 70.0 (60.0 to 80.0) |" in shown
    assert "15 cells" in shown
    assert "| laco, on bonsai | 1.00 | 15 / 0 | 6.1e-05 | 6.1e-05 |" in shown
    assert "and so without a rank: laco, paper" in shown
    assert "- laco, paper on reuters: MemoryError: too much" in shown
    assert shown.count("Table 6 of AttentionXML") == len(SETS)


def test_tables_of_nothing_and_the_figure():
    assert "no methods to compare" in "\n".join(tables([]))
    drawn = figure(LINES)
    assert drawn.count("<polyline") == 1, "the first seed, where there is a curve"
    assert "arxiv, as in its paper" in drawn


@pytest.mark.parametrize(
    ("scores", "flat"),
    [
        ((0.1, 0.5, 0.5, 0.5, 0.501), True),
        ((0.1, 0.5, 0.5, 0.5, 0.503), False),
        ((0.5,), False),
    ],
)
def test_when_a_curve_is_flat(scores, flat):
    assert is_flat({"history": history(*scores)}) == flat


def test_what_is_planned():
    tasks = list(planned())
    assert len(tasks) == len(set(tasks)) == 2 * (5 * 2 + 4 * 5 * 3 + 5 + 2 * 2)
    assert {task.where for task in planned(["laco", "paper"])} == {"reuters", "arxiv"}
    some = list(planned(["arxiv", "bonsai", "treaderxml", "seed-1"]))
    assert [task.form for task in some] == ["plain", "paper", "consensus", "on bonsai"]
    with pytest.raises(SystemExit, match="'bonsay' is none of reuters"):
        list(planned(["bonsay"]))


def test_every_network_takes_its_settings():
    asked = Namespace(encoder="e", tokens=64, frozen=3, precision="bf16", epochs=None)
    for task in planned(["arxiv", "seed-0", "paper", "on bonsai"]):
        model, settings = network(task, asked)
        made = models.create(model, **settings) if isinstance(model, str) else model(**settings)
        made.check_settings()
        assert made.measure == "nDCG@5"
        assert made.first == ("bonsai" if task.form == "on bonsai" else "none")


def test_runs_are_expected_to_take_as_long_as_those_like_them():
    lines = [line("laco", "paper", "arxiv", 0.5), line("laco", "paper", "reuters", 0.5, run_s=90.0)]
    lines.append(line("treaderxml", "on bonsai", "arxiv", 0.5, run_s=900.0, error="killed"))
    assert expected_seconds(Task("congress", "laco", "paper", 1), lines) == 90
    assert expected_seconds(Task("congress", "treaderxml", "paper", 1), lines) == 90
    assert expected_seconds(Task("congress", "treaderxml", "on bonsai", 1), lines) == 0


def test_no_run_is_started_that_would_end_too_late(data, tmp_path):
    (tmp_path / "papers.jsonl").write_text(
        json.dumps(line("attentionxml", "paper", "arxiv", 0.5, run_s=600.0)) + "\n"
    )
    words = ["--data", data, "--work", tmp_path, "--encoder", "e"]
    said = papers(*words, "--minutes", 9, "--only", "reuters,treaderxml,paper,seed-0")
    assert said == "left out, 10 minutes: reuters, seed 0: treaderxml, paper\n"
