"""Nothing that comes from a file is obeyed by the terminal."""

import io
import json
import os
import pty
import re
import subprocess
import sys

import pytest

from command_line import called, fails, labelgrove
from labelgrove.core.progress import Bars, Lines
from labelgrove.models.contract import known_answer

CLEAR, TITLE, CSI, TURN = "\x1b[2J", "\x1b]0;owned\x07", "\x9b31m", "\u202e"
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
COLOURS = re.compile(r"\x1b\[[0-9;]*m")  # what rich writes by itself


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """A tagger and its documents, whose labels and texts hold what a terminal obeys."""
    folder = tmp_path_factory.mktemp("hostile")
    texts, labels = known_answer(300)
    rows = [
        json.dumps(
            {
                "id": f"{number}{CSI}",
                "text": f"{text} evil{CLEAR}word{TURN} \rtail",
                "labels": [f"{label}{CLEAR}{TITLE}{CSI}{TURN}" for label in ls],
            }
        )
        for number, (text, ls) in enumerate(zip(texts, labels, strict=True))
    ]
    (folder / "train.jsonl").write_text("\n".join(rows[:200]) + "\n")
    (folder / "test.jsonl").write_text("\n".join(rows[200:]) + "\n")
    called("train", folder / "train.jsonl", "--model", "knn", "--out", folder / "tagger")
    return folder


def check(done):
    for stream in (done.stdout, done.stderr):
        assert not OBEYED.search(stream), OBEYED.search(stream)
    return done


def test_results_are_free_of_control_characters(hostile):
    tagger, test = hostile / "tagger", hostile / "test.jsonl"
    text = json.loads(test.read_text().splitlines()[0])["text"]
    shown = check(called("explain", tagger, "--text", text, "-k", 2)).stdout
    assert r"\x1b[2J" in shown
    check(called("evaluate", tagger, test))
    check(called("stats", hostile / "train.jsonl"))
    lines = check(called("tag", tagger, test)).stdout.splitlines()
    first = json.loads(lines[0])
    assert first["id"] == f"200{CSI}"
    assert first["labels"][0]["label"].endswith(f"{CLEAR}{TITLE}{CSI}{TURN}")
    told = check(called("explain", tagger, "--text", text, "--json", "-")).stdout
    assert json.loads(told)["text"] == text


def test_errors_are_free_of_control_characters(hostile, tmp_path):
    tagger = hostile / "tagger"
    bad = tmp_path / f"bad{CLEAR}{CSI}.jsonl"
    bad.write_text('{"text": "a", "labels": "' + TURN + CSI + '"}\n')
    for arguments in (
        ("explain", tagger, "--text", "a", "--label", f"none{CLEAR}{CSI}"),
        ("train", bad, "--out", tmp_path / "out"),
        ("stats", tmp_path / f"{TITLE}none{CSI}.jsonl"),
        ("train", hostile / "train.jsonl", "--model", f"x{CSI}", "--out", tmp_path / "out"),
    ):
        line = fails(*arguments)
        assert not OBEYED.search(line), arguments
        assert r"\x9b" in line


def test_a_thesaurus_prints_nothing_by_itself(tmp_path):
    pytest.importorskip("rdflib")
    path = tmp_path / "labels.ttl"
    skos = "http://www.w3.org/2004/02/skos/core#"
    path.write_text(rf'<http://e/\u001b[2J b> a <{skos}Concept> ; <{skos}prefLabel> "b{CSI}" .')
    done = labelgrove("train", "--labels", path, "--out", tmp_path / "out", "--quiet")
    check(done)
    assert "does not look like" not in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals")
def test_a_terminal_gets_colours_only(hostile):
    text = json.loads((hostile / "test.jsonl").read_text().splitlines()[0])["text"]
    command = ["explain", str(hostile / "tagger"), "--text", text, "-k", "1", "--quiet"]
    parent, child = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "labelgrove", *command],
        stdout=child,
        stderr=child,
        env={**os.environ, "TERM": "xterm-256color"},
    ) as process:
        os.close(child)
        written = b""
        while True:
            try:
                piece = os.read(parent, 1 << 16)
            except OSError:  # the other side is closed
                break
            if not piece:
                break
            written += piece
    os.close(parent)
    assert process.returncode == 0, written
    shown = written.decode().replace("\r\n", "\n")
    assert COLOURS.search(shown)
    assert not OBEYED.search(COLOURS.sub("", shown))
    assert r"\x1b[2J" in shown


@pytest.mark.parametrize("kind", [Bars, Lines])
def test_progress_is_free_of_control_characters(kind):
    stream = io.StringIO()
    progress = kind(stream)
    progress.say(f"reading {CLEAR}{CSI}")
    with progress.task(f"loading [/bold]{TITLE}{TURN}", 2) as task:
        task.advance(2)
    shown = stream.getvalue()
    assert not OBEYED.search(shown)
    assert "loading [/bold]" in shown
