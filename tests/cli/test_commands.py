"""The command line as a user types it; from outside where only that shows something."""

import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from command_line import called, fails, labelgrove
from labelgrove.core import storage

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def trained(data):
    called("train", data / "train.jsonl", "--model", "most-frequent", "--out", data / "tagger")
    return data / "tagger"


def test_train_says_what_it_does(data, tmp_path):
    done = labelgrove("train", data / "train.jsonl", "--out", tmp_path / "t")
    assert "reading: 200 documents in" in done.stderr
    assert "training: 1 group of labels in" in done.stderr
    assert re.search(r"calibrating on held-out documents: \d+ documents in", done.stderr)
    assert "have no label" not in done.stderr
    assert "grove on held-out documents" in done.stdout
    assert f"saved to {tmp_path / 't'}" in done.stdout
    assert not (tmp_path / "t.run").exists()


def test_the_default_model_learns(data, tmp_path):
    called("train", data / "train.jsonl", "--out", tmp_path / "t", "--quiet")
    called("evaluate", tmp_path / "t", data / "test.jsonl", "--json", tmp_path / "s.json", "-q")
    scores = json.loads((tmp_path / "s.json").read_text())["scores"]
    assert scores["P@1"] > 0.95
    done = called("tag", tmp_path / "t", "--text", "topic3a topic3b topic3c", "-k", "1")
    assert json.loads(done.stdout)["labels"][0]["label"] == "label 03"


def test_quiet_is_quiet(data, tmp_path):
    done = labelgrove("train", data / "train.jsonl", "--out", tmp_path / "t", "--quiet")
    assert done.stderr == ""


def test_train_from_csv_with_options(data, tmp_path):
    done = called(
        *("train", data / "train.csv", "--separator", ";", "--validation", "0"),
        *("--out", tmp_path / "t", "--set", "text.ngrams=[1,2]", "--set", "seed=3"),
    )
    assert "held-out" not in done.stdout
    manifest = json.loads((tmp_path / "t" / "manifest.json").read_text())
    assert manifest["features"]["text"]["settings"]["ngrams"] == [1, 2]
    assert manifest["settings"]["seed"] == 3
    assert manifest["labels"] == 12


def test_train_from_a_recipe(data, tmp_path):
    (tmp_path / "r.toml").write_text(
        'model = "most-frequent"\nvalidation = 0\n[settings]\nseed = 5\n'
        "[features.text]\nmin_df = 2\n"
    )
    called("train", data / "train.jsonl", "--recipe", tmp_path / "r.toml", "--out", tmp_path / "t")
    manifest = json.loads((tmp_path / "t" / "manifest.json").read_text())
    assert manifest["settings"]["seed"] == 5
    assert manifest["features"]["text"]["settings"]["min_df"] == 2


def test_tag_prints_json_lines(trained, data):
    done = labelgrove("tag", trained, data / "test.jsonl", "-k", "3")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(lines) == 100
    assert lines[0]["id"] == "1"
    assert [tag["label"] for tag in lines[0]["labels"]] == ["label 00", "label 01", "label 03"]
    assert set(lines[0]["labels"][0]) == {"label", "name", "score"}


def test_tag_takes_one_text_and_texts_without_labels(trained, tmp_path):
    done = called("tag", trained, "--text", "whatever", "-k", "1")
    assert json.loads(done.stdout)["labels"][0]["label"] == "label 00"
    (tmp_path / "new.jsonl").write_text('{"text": "a", "id": "first"}\n{"text": ""}\n')
    done = called("tag", trained, tmp_path / "new.jsonl")
    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == ["first", "2"]


def test_tag_with_a_threshold_and_more_places_than_labels(trained, data):
    done = called("tag", trained, data / "test.jsonl", "-k", "1000")
    assert len(json.loads(done.stdout.splitlines()[0])["labels"]) == 12
    done = called("tag", trained, data / "test.jsonl", "--threshold", "1.0")
    assert json.loads(done.stdout.splitlines()[0])["labels"] == []
    line = fails("tag", trained, data / "test.jsonl", "--threshold", "high")
    assert "threshold must be a number, auto, macro, per-label, own, precision=SHARE or" in line
    assert line.endswith("got 'high'")


def test_tag_stops_when_its_reader_does(trained, tmp_path):
    rows = [json.dumps({"text": "apples", "labels": []})] * 20_000  # more than a pipe holds
    (tmp_path / "many.jsonl").write_text("\n".join(rows))
    command = (
        f"set -o pipefail; {sys.executable} -m labelgrove tag {trained} {tmp_path}/many.jsonl -q"
        " | head -n 1"
    )
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert done.stdout.count("\n") == 1
    assert done.stderr == ""


def test_evaluate_prints_and_writes_scores(trained, data, tmp_path):
    done = labelgrove("evaluate", trained, data / "test.jsonl", "--json", tmp_path / "s.json")
    assert re.search(r"nDCG\s+\d+\.\d\d", done.stdout)
    assert "micro-F1" in done.stdout
    record = json.loads((tmp_path / "s.json").read_text())
    assert record["model"] == "most-frequent"
    assert 0 < record["scores"]["P@1"] < 1
    shown = re.search(r"^P\s+(\d+\.\d\d)", done.stdout, re.M)
    assert float(shown[1]) == pytest.approx(100 * record["scores"]["P@1"], abs=0.01)


def test_evaluate_at_other_places(trained, data):
    done = called("evaluate", trained, data / "test.jsonl", "--at", "2,10")
    assert re.search(r"@2\s+@10", done.stdout)
    line = fails("evaluate", trained, data / "test.jsonl", "--at", "0")
    assert "--at takes numbers from 1" in line


def test_stats_prints_the_table(data):
    done = labelgrove("stats", data / "train.jsonl", data / "test.jsonl")
    assert "N_train" in done.stdout
    assert "200" in done.stdout
    assert "100" in done.stdout


def test_models_lists_them():
    assert "most-frequent" in labelgrove("models").stdout


def test_models_lists_the_settings_of_one():
    told = labelgrove("models", "bonsai").stdout
    beam = next(line.split() for line in told.splitlines() if line.startswith("beam"))
    assert beam[:4] == ["beam", "10", "5..30:log", "Nodes"]
    assert beam[-6:] == ["Allowed:", "a", "whole", "number", "from", "1."]
    stems = next(line for line in told.splitlines() if line.startswith("text.analyzer"))
    assert stems.split()[1] == "word"
    assert "snowball:de" in stems
    assert "held-out documents choose text.analyzer, text.first_line, text.fade_after." in told
    assert "did you mean 'bonsai'" in labelgrove("models", "bonsay", check=2).stderr


def test_version_and_help():
    assert re.fullmatch(r"labelgrove \d+\.\d+\.\d+\n", labelgrove("--version").stdout)
    assert "train" in labelgrove("--help").stdout


def test_demo_shows_the_main_job(tmp_path, monkeypatch):
    done = labelgrove("demo", cwd=tmp_path)
    assert "1,000 abstracts it has not seen" in done.stdout
    assert "nDCG" in done.stdout
    assert done.stdout.count("probability") == 2
    assert re.search("What spoke for Computation and Language: .*sentences", done.stdout)
    assert (tmp_path / "labelgrove-demo" / "manifest.json").exists()
    monkeypatch.chdir(tmp_path)
    called("demo", "--quiet")  # a second time replaces the first


# --- bad calls and input ----------------------------------------------------------------------


def test_wrong_calls(data, tmp_path):
    assert "No such command" in fails("trian", by=labelgrove)
    assert "No such option" in fails("train", data / "train.jsonl", "--nothing")
    assert "--out" in fails("train", data / "train.jsonl")
    out = ["--out", tmp_path / "t"]
    assert "did you mean 'most-frequent'" in fails(
        "train", data / "train.jsonl", *out, "--model", "most-freqent"
    )
    assert "setting of 'grove' 'bream'" in fails(
        "train", data / "train.jsonl", *out, "--set", "bream=3"
    )
    assert "more: 'labelgrove models laco' lists them" in fails(
        *("train", data / "train.jsonl", *out, "--model", "laco", "--set", "qqqq=3")
    )
    assert "--set takes KEY=VALUE, got 'beam'" in fails(
        "train", data / "train.jsonl", *out, "--set", "beam"
    )
    assert "no view 'title'" in fails(
        "train", data / "train.jsonl", *out, "--set", "title.length=3"
    )
    assert "give either" in fails("tag", tmp_path)
    assert not (tmp_path / "t").exists()


def test_an_output_folder_that_exists(trained, data):
    line = fails("train", data / "train.jsonl", "--out", trained)
    assert "exists already" in line
    called("train", data / "train.jsonl", "--out", trained, "--overwrite")


def test_an_interrupted_training_is_neither_lost_nor_resumed_unasked(data, tmp_path):
    train = ("train", data / "train.jsonl", "--model", "most-frequent", "--out", tmp_path / "t")
    (tmp_path / "t.run" / "model").mkdir(parents=True)
    (tmp_path / "t.run" / "lock").touch()
    assert "--resume goes on with it, --overwrite starts anew" in fails(*train)
    called(*train, "--overwrite")
    assert f"{tmp_path / 't'} is finished, there is nothing to resume" in fails(*train, "--resume")
    done = called(*train[:-1], tmp_path / "new", "--resume")
    assert "nothing to resume in" in done.stderr
    with storage.locked(tmp_path / "t.run"):
        assert "another process works in" in fails(*train, "--overwrite", by=labelgrove)
    assert not (tmp_path / "t.run").exists(), "nothing was in it but the lock"


def test_documents_that_say_nothing_are_not_calibrated_on(data, tmp_path):
    lines = (data / "train.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "few.jsonl").write_text("".join(lines[:12]))
    done = called("train", tmp_path / "few.jsonl", "--out", tmp_path / "t")
    assert "holding out 0.1 of 12 documents by their texts gives" in done.stderr
    (tmp_path / "bare.jsonl").write_text('{"text": "a", "labels": []}\n' * 9)
    train = ("train", data / "train.jsonl", "--out", tmp_path / "u", "--valid")
    assert "no document has a label of the training data" in fails(*train, tmp_path / "bare.jsonl")
    labelled = (data / "train.jsonl", tmp_path / "bare.jsonl")
    (tmp_path / "both.jsonl").write_text("".join(path.read_text() for path in labelled))
    done = called("train", tmp_path / "both.jsonl", "--out", tmp_path / "v")
    assert "9 documents have no label: learned as without labels" in done.stderr
    assert "no text" not in done.stderr
    (tmp_path / "empty.jsonl").write_text(
        labelled[0].read_text() + '{"text": "", "labels": ["a"]}\n{"text": " ", "labels": ["a"]}\n'
    )
    done = called("train", tmp_path / "empty.jsonl", "--out", tmp_path / "w")
    assert "2 documents have no text: only labels are counted" in done.stderr


def test_settings_out_of_range_are_told_before_the_corpus_is_read(tmp_path):
    (tmp_path / "train.jsonl").write_text('{"text": "a", "labels": ["b"]}\nnot JSON\n')
    train = ("train", tmp_path / "train.jsonl", "--out", tmp_path / "t")
    train += ("--model", "bonsai", "--set")
    assert "threshold must be a number from 0 to 1, got 1000" in fails(*train, "threshold=1000")
    assert "tree must be 'k-means', 'hierarchy' or" in fails(*train, "tree=k-mean")


def test_missing_files_and_folders(data, tmp_path):
    assert str(tmp_path / "none.jsonl") in fails(
        "train", tmp_path / "none.jsonl", "--out", tmp_path / "t"
    )
    assert "no such folder" in fails("tag", tmp_path / "none", "--text", "x")
    assert "cannot read the recipe" in fails(
        "train", data / "train.jsonl", "--out", tmp_path / "t", "--recipe", tmp_path / "r.toml"
    )


BAD = {
    "empty file": ("", "empty|no documents"),
    "not json": ('{"text": "a", "labels": ["x"]}\nnot json\n', "line 2"),
    "missing field": ('{"body": "a", "labels": ["x"]}\n', "line 1.*text"),
    "labels as a string": ('{"text": "a", "labels": "x"}\n', "line 1.*list"),
    "no labels anywhere": ('{"text": "a", "labels": []}\n', "label"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_rows_are_named(case, tmp_path):
    content, message = BAD[case]
    (tmp_path / "bad.jsonl").write_text(content)
    line = fails("train", tmp_path / "bad.jsonl", "--out", tmp_path / "t")
    assert "bad.jsonl" in line or case == "no labels anywhere"
    assert re.search(message, line)
    assert not (tmp_path / "t").exists()


def test_invalid_utf8_and_skipping(tmp_path):
    good = b'{"text": "apples", "labels": ["x"]}\n'
    (tmp_path / "bad.jsonl").write_bytes(good * 3 + b'{"text": "\xff", "labels": ["x"]}\n' + good)
    line = fails("train", tmp_path / "bad.jsonl", "--out", tmp_path / "t")
    assert "line 4" in line
    done = called("train", tmp_path / "bad.jsonl", "--out", tmp_path / "t", "--skip-bad")
    assert "1 bad row skipped" in done.stderr
    manifest = json.loads((tmp_path / "t" / "manifest.json").read_text())
    assert manifest["documents"] == 4


def test_odd_but_good_documents(tmp_path):
    rows = [
        {"text": "", "labels": ["x"]},
        {"text": "word " * 1_000_000, "labels": ["x", "x"]},
        {"text": "no labels here", "labels": []},
        {"text": "nul \x00 byte", "labels": ["y"]},
    ]
    path = tmp_path / "odd.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    called(
        *("train", path, "--out", tmp_path / "t", "--validation", "0"),
        *("--model", "most-frequent"),
    )
    manifest = json.loads((tmp_path / "t" / "manifest.json").read_text())
    assert manifest["documents"] == 4
    assert manifest["labels"] == 2
    done = called("tag", tmp_path / "t", path, "-k", "1")
    empty, first = (json.loads(line)["labels"] for line in done.stdout.splitlines()[:2])
    assert empty == []
    assert first == [{"label": "x", "name": "x", "score": 0.5}]


def test_a_label_only_the_test_set_has(trained, tmp_path):
    (tmp_path / "test.jsonl").write_text('{"text": "a", "labels": ["brand new"]}\n')
    done = called("evaluate", trained, tmp_path / "test.jsonl")
    assert "1 label (100.0% of the occurrences) is not in the training data" in done.stdout


def test_damaged_and_newer_models(data, tmp_path):
    called("train", data / "train.jsonl", "--out", tmp_path / "t", "-q", "--model", "bonsai")
    array = tmp_path / "t" / "model" / "entry_value.npy"
    whole = array.read_bytes()
    array.write_bytes(whole[:-4])
    assert "cut short" in fails("tag", tmp_path / "t", "--text", "x", code=1)
    array.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    assert "was altered" in fails("tag", tmp_path / "t", "--text", "x", code=1)
    array.write_bytes(whole)
    manifest = tmp_path / "t" / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"format": 1', '"format": 2'))
    assert "pip install --upgrade" in fails("tag", tmp_path / "t", "--text", "x", code=1)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk_for_the_results(trained, data):
    command = f"{sys.executable} -m labelgrove tag {trained} {data / 'test.jsonl'} -q > /dev/full"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "no space left on the disk" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_model_whose_extra_is_missing(data, tmp_path):
    """A package of models is installed, the library it needs is not."""
    info = tmp_path / "other-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[labelgrove.models]\nbig = other_models:Big\n")
    (tmp_path / "other_models.py").write_text("import a_library_nobody_has\n")
    line = fails(
        *("train", data / "train.jsonl", "--model", "big", "--out", tmp_path / "t"),
        by=labelgrove,
        PYTHONPATH=str(tmp_path),
    )
    assert "'big' needs a_library_nobody_has" in line
    assert "big" in labelgrove("models", PYTHONPATH=str(tmp_path)).stdout


def test_internal_errors_are_one_line_with_a_way_to_see_more(data, tmp_path):
    info = tmp_path / "other-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[labelgrove.models]\nbad = other_models:Bad\n")
    (tmp_path / "other_models.py").write_text(
        "from labelgrove.models.most_frequent import MostFrequent\n"
        "class Bad(MostFrequent):\n    def _fit(self, *a):\n        1 / 0\n"
    )
    call = ["train", data / "train.jsonl", "--model", "bad", "--out", tmp_path / "t"]
    line = fails(*call, code=1, by=labelgrove, PYTHONPATH=str(tmp_path))
    assert "ZeroDivisionError" in line
    assert "LABELGROVE_TRACEBACK=1" in line
    done = labelgrove(*call, check=1, PYTHONPATH=str(tmp_path), LABELGROVE_TRACEBACK="1")
    assert "Traceback" in done.stderr


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("text.lowercase=False", "lowercase must be true or false, got 'False'"),
        ("text.sublinear=maybe", "true or false"),
        ("text.min_length=abc", "min_length must be a whole number from 1, got 'abc'"),
        ("text.min_length=-1", "min_length must be a whole number from 1, got -1"),
        ("text.max_features=abc", "max_features must be a whole number from 1, or None, got 'abc'"),
        ("seed=abc", "seed"),
        ("seed=-1", "seed must be a whole number from 0"),
        ("threads=0", "threads must be a whole number from 1, or None"),
        ("loss=cubic", "loss must be 'squared-hinge' or 'logistic', got 'cubic'"),
    ],
)
def test_settings_of_the_wrong_type_are_refused(setting, message, data, tmp_path):
    train = ("train", data / "train.jsonl", "--out", tmp_path / "t", "--model", "bonsai")
    assert message in fails(*train, "--set", setting)


def test_a_place_that_cannot_be_written_is_told_before_the_work(data, tmp_path):
    done = called("train", data / "train.jsonl", "-o", data / "train.jsonl" / "x", check=1)
    assert "cannot write" in done.stderr
    assert "reading" not in done.stderr
    done = called("train", data / "train.jsonl", "-o", "/proc/x", check=1)
    assert "reading" not in done.stderr


def test_a_link_as_output_folder_keeps_the_link(data, tmp_path):
    called("train", data / "train.jsonl", "-o", tmp_path / "t", "-q")
    (tmp_path / "link").symlink_to(tmp_path / "t")
    called("train", data / "train.jsonl", "-o", tmp_path / "link", "--overwrite", "-q")
    assert (tmp_path / "link").is_symlink()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "t"]


def test_the_current_folder_as_output(data, tmp_path):
    (tmp_path / "new").mkdir()
    labelgrove("train", data / "train.jsonl", "-o", ".", "-q", cwd=tmp_path / "new")
    assert (tmp_path / "new" / "manifest.json").exists()


def test_skipped_rows_keep_their_numbers(trained, tmp_path):
    (tmp_path / "rows.jsonl").write_text('{"text": "a"}\nbad\n{"text": "b"}\n')
    done = called("tag", trained, tmp_path / "rows.jsonl", "--skip-bad")
    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == ["1", "3"]


def test_tagging_does_not_mind_labels(trained, tmp_path):
    (tmp_path / "rows.jsonl").write_text('{"text": "a", "labels": "x"}\n')
    called("tag", trained, tmp_path / "rows.jsonl")


def test_ctrl_c_is_answered_in_one_line(tmp_path):
    rows = [
        json.dumps({"text": f"word{i} other{i % 97}", "labels": [f"l{i % 5000}"]})
        for i in range(60_000)
    ]
    (tmp_path / "many.jsonl").write_text("\n".join(rows))
    command = [sys.executable, "-m", "labelgrove", "train", "many.jsonl", "-o", "t"]
    with subprocess.Popen(
        command, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        for line in process.stderr:
            if line.startswith("60,000 documents"):
                process.send_signal(signal.SIGINT)
                break
        rest = process.stderr.read()
    assert process.returncode == 130
    assert rest.strip().splitlines()[-1].startswith("labelgrove: stopped")
    assert "Traceback" not in rest
    assert not (tmp_path / "t").exists()


def test_output_is_utf8_whatever_the_locale(trained, tmp_path):
    done = labelgrove("stats", tmp_path.parent / "nothing.jsonl", check=2, PYTHONIOENCODING="ascii")
    (tmp_path / "d.jsonl").write_text('{"text": "äpfel", "labels": ["ä"]}\n')
    done = labelgrove("stats", tmp_path / "d.jsonl", PYTHONIOENCODING="ascii")
    assert "L̄" in done.stdout


def test_closed_streams(trained, data):
    command = f"{sys.executable} -m labelgrove tag {trained} {data / 'test.jsonl'} 2>&-"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
    assert done.stdout.count("\n") == 100


def test_scores_go_to_a_file_that_can_be_written(trained, data, tmp_path):
    for place in (tmp_path, tmp_path / "none" / "s.json"):
        line = fails("evaluate", trained, data / "test.jsonl", "--json", place)
        assert "--json needs a file in a folder that exists" in line


@pytest.mark.parametrize(
    ("recipe", "message"),
    [
        ("settings = 5", "settings cannot be 5"),
        ("model = 5", "model cannot be 5"),
        ('validation = "x"', "validation cannot be 'x'"),
        ('[features]\ntext = "tf-idf"', "features.text must be a table"),
        ("nothing = 1", "unknown key 'nothing'"),
        ("= 1", "is not a TOML file"),
    ],
)
def test_wrong_recipes(recipe, message, data, tmp_path):
    (tmp_path / "r.toml").write_text(recipe)
    out = ["--out", tmp_path / "t", "--recipe", tmp_path / "r.toml"]
    assert message in fails("train", data / "train.jsonl", *out)


# --- thresholds -------------------------------------------------------------------------------


def test_train_tells_the_thresholds_and_evaluate_uses_them(data, tmp_path):
    done = called("train", data / "train.jsonl", "--out", tmp_path / "t", "-q")
    told = re.search(
        r"^thresholds: auto (\S+) \(best micro-F1\), macro (\S+), per-label for (\d+) of 12 lab",
        done.stdout,
        re.MULTILINE,
    )
    assert int(told[3]) > 0
    said = called("evaluate", tmp_path / "t", data / "test.jsonl", "--threshold", "macro").stdout
    assert f"labels with a probability of at least {told[2]}\n" in said
    said = called("evaluate", tmp_path / "t", data / "test.jsonl", "--threshold", "per-label")
    assert re.search(r"probability of at least \S+ to \S+, by label", said.stdout)
    text = json.loads((data / "test.jsonl").read_text().splitlines()[0])["text"]
    tagged = called("tag", tmp_path / "t", "--text", text, "--threshold", "per-label")
    assert json.loads(tagged.stdout)["labels"]


def test_thresholds_that_were_never_tuned(data, tmp_path):
    train = ("train", data / "train.jsonl", "--model", "most-frequent", "--validation", "0")
    done = called(*train, "--out", tmp_path / "t")
    assert "thresholds:" not in done.stdout
    line = fails("tag", tmp_path / "t", "--text", "x", "--threshold", "per-label")
    assert "train again with --validation 0.1 or --valid FILE" in line
    done = called("tag", tmp_path / "t", data / "test.jsonl", "--threshold", "auto")
    assert "nothing was held out to tune a threshold on, so auto is 0.5" in done.stderr
    done = called("evaluate", tmp_path / "t", data / "test.jsonl", "-q")
    assert "so auto is 0.5" in done.stdout
    called(*train, "--out", tmp_path / "u", "-q")
    called("combine", tmp_path / "t", tmp_path / "u", "--out", tmp_path / "both", "-q")
    line = fails("evaluate", tmp_path / "both", data / "test.jsonl", "--threshold", "per-label")
    assert "combine again with --valid FILE" in line


# --- progress ---------------------------------------------------------------------------------


def test_compiling_is_told_once(data, tmp_path):
    kept = {"NUMBA_CACHE_DIR": str(tmp_path / "kernels")}
    first = labelgrove("stats", data / "train.jsonl", **kept)
    told = "compiling for this machine, once"
    assert first.stderr.count(told) == 1
    assert told not in labelgrove("stats", data / "train.jsonl", **kept).stderr


def test_names_of_labels_are_enough_to_begin_with(tmp_path):
    (tmp_path / "labels.tsv").write_text("s\tsolar panel\nf\tfarm\n")
    done = called("train", "--labels", tmp_path / "labels.tsv", "--out", tmp_path / "t")
    assert "0 different documents with labels are too few to learn how to rank" in done.stderr
    assert "this tagger rests on names" in done.stderr
    done = called("tag", tmp_path / "t", "--text", "a solar panel", "-k", "1")
    assert json.loads(done.stdout)["labels"][0]["label"] == "s"


def test_who_gives_neither_documents_nor_names_is_told_so(tmp_path):
    assert "or --labels with a vocabulary" in fails("train", "--out", tmp_path / "t")
    (tmp_path / "labels.tsv").write_text("s\tsolar panel\n")
    told = fails(
        "train", "--labels", tmp_path / "labels.tsv", "--model", "bonsai", "--out", tmp_path / "t"
    )
    assert "learns from documents: give a file of them" in told


def test_tag_writes_a_part_for_each_input_and_goes_on(trained, data, tmp_path):
    out = tmp_path / "out"
    done = called("tag", trained, data / "t*.jsonl", "-k", "3", "--out", out)
    assert done.stdout == f"300 documents in 2 parts, written to {out}\n"
    assert "tagging: 2 parts in" in done.stderr
    assert "left" not in done.stderr
    part = (out / "part-00000.jsonl").read_text()
    assert part == called("tag", trained, data / "test.jsonl", "-k", "3").stdout
    again = called("tag", trained, data / "t*.jsonl", "-k", "3", "--out", out)
    assert again.stdout == done.stdout
    line = fails("tag", trained, data / "test.jsonl", "-k", "2", "--out", out)
    assert "holds another run, with other inputs" in line
    called("tag", trained, data / "test.jsonl", "--out", out, "--overwrite", "--out-format", "csv")
    assert sorted(path.name for path in out.iterdir()) == ["part-00000.csv", "parts.json"]


def test_tag_names_what_it_could_not_read(trained, data, tmp_path):
    (tmp_path / "bad.jsonl").write_text('{"text": 7}\n{"text": "good"}\n')
    words = ["tag", trained, data / "test.jsonl", tmp_path / "bad.jsonl", "--out", tmp_path / "out"]
    done = called(*words, "-q", check=1)
    assert done.stdout.startswith("100 documents in 1 part,")
    first, last = done.stderr.splitlines()
    assert first.startswith(f"not tagged: {tmp_path / 'bad.jsonl'}, line 1: the text must be")
    assert last.startswith("labelgrove: 1 of 2 inputs could not be read, the others are tagged")
    done = called(*words, "-q", "--skip-bad", "--overwrite")
    assert done.stderr == "1 bad row skipped\n"


def test_tag_refuses_what_makes_no_sense(trained, data, tmp_path):
    documents = data / "test.jsonl"
    for words in (["--cluster", "local:1"], ["--overwrite"], ["--out-format", "csv"]):
        assert "need --out FOLDER" in fails("tag", trained, documents, *words)
    assert "several inputs need --out" in fails("tag", trained, documents, data / "train.jsonl")
    assert "--text is printed" in fails("tag", trained, "--text", "a", "--out", tmp_path / "out")
    line = fails("tag", trained, documents, "--out", tmp_path / "out", "--out-format", "xml")
    assert "unknown form of the output 'xml'" in line
