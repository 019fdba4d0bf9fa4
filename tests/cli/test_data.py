"""`labelgrove data` as a user calls it."""

import json

import pytest

from labelgrove.cli.app import run


def test_the_list_has_every_version(capsys):
    assert run(["data"]) == 0
    out = capsys.readouterr().out
    assert "eur-lex         repository" in out
    assert "15,539" in out


def test_what_is_unknown_is_said_to_be(capsys):
    assert run(["data", "show", "EUR-Lex"]) == 0
    out = capsys.readouterr().out
    assert "15,449 train, 3,865 test; labels: 3,956" in out
    assert "sha256: unknown" in out
    assert run(["data", "show", "aapd", "--json", "-"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["versions"][0]["sha256"] is None


@pytest.fixture
def files(tmp_path):
    for part, end in (("train", "train"), ("valid", "val"), ("test", "test")):
        (tmp_path / f"text_{end}").write_text(f"a paper of {part}\n")
        (tmp_path / f"label_{end}").write_text("cs.it math.it\n")
    return tmp_path


def test_other_files_are_refused_unless_they_are_wanted(files, capsys):
    words = ["data", "convert", "aapd", str(files), "--out", str(files / "out"), "--quiet"]
    assert run(words) == 2
    told = capsys.readouterr().err
    assert "train has 1 document instead of 53,840" in told
    assert "--any-version" in told
    assert run([*words, "--any-version"]) == 0
    out = capsys.readouterr().out
    assert "2 labels; aapd, version sgm, but not as published" in out
    first = json.loads((files / "out" / "train.jsonl").read_text())
    assert first == {"text": "a paper of train", "labels": ["cs.it", "math.it"]}


def test_an_unknown_set_is_told(capsys):
    assert run(["data", "show", "eurlex"]) == 2
    assert "did you mean 'eur-lex'" in capsys.readouterr().err
