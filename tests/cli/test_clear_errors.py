"""What a user or a file can get wrong is told in a line that says what to do, not as a bug."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from command_line import called, fails

DIGITS = "1" * 5_000
NOBODY = 65534


def complaint(*arguments, code=2):
    line = fails(*arguments, code=code)
    assert "please report it" not in line
    assert len(line) < 1_000
    return line


@pytest.fixture(scope="module")
def tagger(data):
    folder = data / "tagger"
    called("train", data / "train.jsonl", "--model", "most-frequent", "--out", folder)
    return folder


def test_a_manifest_that_nests_too_deep(tmp_path):
    (tmp_path / "manifest.json").write_text("[" * 200_000)
    assert "manifest.json is damaged" in complaint("tag", tmp_path, "--text", "a", code=1)
    record = tmp_path / "record.json"
    record.write_text("[" * 200_000)
    assert "is no JSON" in complaint("compare", record, record)
    rows = tmp_path / "docs.jsonl"
    rows.write_text('{"text":' * 200_000)
    assert "line 1: not JSON that can be read, it nests too deep" in complaint("stats", rows)


def test_a_link_that_leads_back_to_itself(tagger, data, tmp_path):
    loop = tmp_path / "loop"
    loop.symlink_to("loop")
    train = data / "train.jsonl"
    for arguments in (
        ("train", train, "--out", loop),
        ("train", train, "--out", loop / "below"),
        ("combine", tagger, loop, "--out", tmp_path / "out"),
        ("evaluate", tagger, train, "--json", loop),
        ("serve", loop),
    ):
        line = complaint(*arguments)
        assert str(loop) in line
        assert "leads back to itself; remove it" in line


def test_the_root_is_no_folder_for_a_tagger(data):
    line = complaint("train", data / "train.jsonl", "--out", "/")
    assert "--out / is no folder for a tagger; choose a folder in it" in line


@pytest.mark.parametrize(
    ("name", "content", "options", "expected"),
    [
        ("h.svm", f"1 10 {DIGITS}\n0 1:1\n", (), "line 1: a number of 5,000 digits is too long"),
        ("l.svm", f"1 10 3\n{DIGITS} 1:1\n", (), "line 2: a number of 5,000 digits is too long"),
        ("f.svm", f"1 10 3\n0 {DIGITS}:1\n", (), "line 2: feature inf is not below the 10"),
        ("l.txt", f"{DIGITS} 1:1\n", ("--format", "lshtc"), "line 1: a number of 5,000 digits"),
        (
            "t.txt",
            f"<a>\n<b>1</b>\n<c>{DIGITS}</c>\nWind\n</a>\n",
            ("--format", "lshtc-text"),
            "line 1: a number of 5,000 digits",
        ),
        ("d.jsonl", f'{{"text": "a", "labels": [{DIGITS}]}}\n', (), "a number has thousands of"),
    ],
)
def test_numbers_of_thousands_of_digits(tmp_path, name, content, options, expected):
    path = tmp_path / name
    path.write_text(content)
    assert expected in complaint("stats", path, *options)


def test_rcv1_with_numbers_of_thousands_of_digits(tmp_path):
    tokens, topics = tmp_path / "lyrl2004_tokens_train.dat", tmp_path / "rcv1-v2.topics.qrels"
    tokens.write_text(f".I {DIGITS}\n.W\nwind\n")
    topics.write_text(f"E11 {DIGITS} 1\n")
    read = ("stats", tmp_path, "--format", "rcv1-train")
    assert "line 1: a line must be a topic, the number of a document and 1" in complaint(*read)
    topics.write_text("E11 2286 1\n")
    assert "line 1: a number of 5,000 digits is too long" in complaint(*read)


def test_features_with_a_column_of_thousands_of_digits(tmp_path):
    path = tmp_path / "f.txt"
    path.write_text(f"0 {DIGITS}:1\n1 2:1\n" * 5)
    line = complaint("train", path, "--format", "lshtc", "--out", tmp_path / "out")
    assert f"index {DIGITS[:40]} is beyond" in line


@contextlib.contextmanager
def without_rights():
    """Be a user who may not read everything, also where the tests run as root."""
    if os.geteuid():
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def closed(data):
    """A folder that others may enter, with a closed folder and a closed file in it."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    (folder / "closed").mkdir()
    for name in ("closed/docs.jsonl", "closed.jsonl"):
        shutil.copy(data / "train.jsonl", folder / name)
    (folder / "closed.toml").write_text('model = "bonsai"\n')
    (folder / "open.jsonl").write_text(json.dumps({"text": "a", "labels": ["b"]}) + "\n")
    for name in ("closed.jsonl", "closed.toml", "closed"):
        (folder / name).chmod(0)
    yield folder
    (folder / "closed").chmod(0o700)
    shutil.rmtree(folder)


@pytest.mark.skipif(os.name == "nt", reason="no such rights")
def test_files_that_may_not_be_read(closed):
    called("stats", closed / "open.jsonl")  # imports what it needs while it may
    with without_rights():
        inside = fails("stats", closed / "closed" / "docs.jsonl", code=1)
        file = fails("stats", closed / "closed.jsonl")
        recipe = fails(
            *("train", closed / "open.jsonl", "--recipe", closed / "closed.toml"),
            *("--out", closed / "out"),
            code=1,
        )
    for line in (inside, file, recipe):
        assert "please report it" not in line
        assert "Permission denied" in line
    assert f"cannot use {closed / 'closed' / 'docs.jsonl'}" in inside


LITTLE_MEMORY = """
import resource, sys
from pathlib import Path
from labelgrove.cli.app import run
assert run(["stats", sys.argv[1]]) == 0  # all that it needs is imported
used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (100 << 20), -1))
sys.exit(run(["stats", sys.argv[2], "--quiet"]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited by Linux here")
def test_more_memory_than_there_is(data, tmp_path):
    path = tmp_path / "docs.jsonl"
    path.write_text(json.dumps({"text": "a" * 60_000_000, "labels": []}) + "\n")
    done = subprocess.run(
        [sys.executable, "-c", LITTLE_MEMORY, str(data / "test.jsonl"), str(path)],
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert "\nlabelgrove: this needs more memory than there is" in done.stderr
