"""Commands about one text read kernels as plain Python: the same answers, without numba."""

import json
import subprocess
import sys

import pytest

from command_line import called
from labelgrove import Tagger, models
from labelgrove.cli import small_jobs
from labelgrove.models.contract import known_answer
from labelgrove.text import Tfidf

TEXTS, LABELS = known_answer(300)
MODELS = (
    *("grove", "one-vs-rest", "knn", "fastxml", "fasttext", "pd-sparse", "sleec"),
    *("label-powerset", "classifier-chain"),
)
FEATURES = {  # whose words are read by other kernels
    "stems": Tfidf(analyzer="snowball:en", first_line=3, fade_after=20.0),
    "characters": Tfidf(analyzer="char:2-4"),
}
NAMES = (*MODELS, *FEATURES)
PROGRAM = """
import json, sys
from labelgrove.cli.app import run
from labelgrove.core import one_command
one_command.begin()
codes = [run(words) for words in json.loads(sys.argv[1])]
print(json.dumps({"codes": codes, "numba": "numba" in sys.modules}))
"""


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A saved tagger of each model, and of words that are cut otherwise."""
    root = tmp_path_factory.mktemp("taggers")
    for name in MODELS:
        model = models.create(name, **models.MODELS.find(name).example_settings(root))
        Tagger(model, validation=0).fit(TEXTS, LABELS).save(root / name)
    for name, features in FEATURES.items():
        Tagger("bonsai", features=features, validation=0).fit(TEXTS, LABELS).save(root / name)
    return root


def in_a_process(*commands):
    """Run commands one after another in a new process, and return what it printed."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(commands)],
        capture_output=True,
        check=True,
        encoding="utf-8",
    )
    *lines, told = done.stdout.splitlines()
    return [json.loads(line) for line in lines], json.loads(told)


def test_they_answer_as_compiled_kernels_do(folders):
    texts = [" ".join(TEXTS[7].split() * 2), "x", f"{TEXTS[8]} 東京タワー 😀 naïve"]
    words = [word for text in texts for word in ("--text", text)]
    commands = [["tag", str(folders / name), *words] for name in NAMES]
    lines, told = in_a_process(*commands)
    assert told == {"codes": [0] * len(NAMES), "numba": False}
    wanted = [json.loads(line) for words in commands for line in called(*words).stdout.splitlines()]
    assert len(lines) == len(wanted) == len(texts) * len(NAMES)
    for own, compiled in zip(lines, wanted, strict=True):
        assert [each["label"] for each in own["labels"]] == [
            each["label"] for each in compiled["labels"]
        ]
        for ours, theirs in zip(own["labels"], compiled["labels"], strict=True):
            assert ours["score"] == pytest.approx(theirs["score"], abs=2e-6)
    assert any(own["labels"] for own in lines)


def test_long_texts_and_large_taggers_are_worth_compiling(folders, monkeypatch):
    begun = []
    monkeypatch.setattr(small_jobs, "interpret", lambda: begun.append(1))
    small_jobs.begin_small_job(folders / "knn", ["x" * small_jobs.CHARACTERS])
    assert len(begun) == 1
    small_jobs.begin_small_job(folders / "knn", ["x" * small_jobs.CHARACTERS, "y"])
    monkeypatch.setattr(small_jobs, "BYTES", 100)
    small_jobs.begin_small_job(folders / "knn", ["x"])
    assert len(begun) == 1


def test_a_file_of_documents_is_worth_compiling(folders, tmp_path):
    (tmp_path / "texts.jsonl").write_text(json.dumps({"text": TEXTS[0]}) + "\n")
    command = ["tag", str(folders / "knn"), str(tmp_path / "texts.jsonl"), "-q"]
    _, told = in_a_process(command)
    assert told == {"codes": [0], "numba": True}
