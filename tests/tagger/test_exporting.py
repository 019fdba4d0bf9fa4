"""A network as ONNX: what a program without labelgrove gives is what the tagger gives."""

import json
import shutil
import subprocess
import sys
from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest
import torch

from command_line import called, fails
from labelgrove import Tagger
from labelgrove.core.errors import ExportError, InputError, MissingExtraError
from labelgrove.models import MODELS
from labelgrove.models.contract import known_answer
from labelgrove.models.neural.examples import small_bert
from labelgrove.tagger.exporting.check import check_export, made_texts
from labelgrove.tagger.exporting.export import check_target

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

WORDS = {"first": "none", "units": 8, "layers": [8], "vector_size": 8, "epochs": 6, "batch": 16,
         "learning_rate": 0.02, "length": 12, "threads": 1, "device": "cpu"}  # fmt: skip
LONG = " ".join(f"topic{i % 9}a" for i in range(40))
TEXTS = ["topic1a topic1b noise2", "", "nobody knows these", "TOPIC3a, topic3b! 東京", LONG]


def fitted(model, **settings):
    return Tagger(MODELS.create(model, **settings)).fit(*known_answer(150))


def program(folder):
    """Return what the program in an exported folder makes of it."""
    space = {"__name__": "tagging"}
    exec(compile((folder / "tagging.py").read_text(), "tagging.py", "exec"), space)
    return space["ExportedTagger"](folder)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A tagger with label attention behind a BiLSTM, saved and exported by the command."""
    folder = tmp_path_factory.mktemp("exporting")
    fitted("attentionxml", **WORDS).save(folder / "tagger")
    called("train", _corpus(folder), "--model", "bonsai", "--out", folder / "linear")
    out = folder / "out"
    done = called("export", folder / "tagger", "--onnx", out, "--check", 20, "--json", "-")
    return folder, json.loads(done.stdout)


def _corpus(folder):
    rows = [{"text": text, "labels": own} for text, own in zip(*known_answer(60), strict=True)]
    (folder / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder / "train.jsonl"


@pytest.mark.parametrize("threshold", [None, 0.4, "auto", "macro", "per-label"])
def test_the_program_tags_as_the_tagger_does(made, threshold):
    folder, _ = made
    tagger = Tagger.load(folder / "tagger")
    wanted = tagger.tag(TEXTS, k=4, threshold=threshold)
    found = program(folder / "out").tag(TEXTS, k=4, threshold=threshold)
    for tags, own in zip(wanted, found, strict=True):
        assert [tag.label for tag in tags] == [tag["label"] for tag in own]
        assert [tag.name for tag in tags] == [tag["name"] for tag in own]
        np.testing.assert_allclose([t.score for t in tags], [t["score"] for t in own], atol=1e-5)
    assert any(wanted)


def test_the_program_refuses_unknown_thresholds(made):
    with pytest.raises(ValueError, match="auto, macro or per-label, got 'best'"):
        program(made[0] / "out").tag(["a"], threshold="best")


def test_the_folder_tells_all_that_a_program_must_know(made):
    folder, told = made
    about = json.loads((folder / "out" / "export.json").read_text())
    tagger = Tagger.load(folder / "tagger")
    network = onnx.load(folder / "out" / "network.onnx")
    onnx.checker.check_model(network, full_check=True)
    assert network.opset_import[0].version == about["opset"]
    shapes = {
        each.name: [size.dim_param or size.dim_value for size in each.type.tensor_type.shape.dim]
        for each in [*network.graph.input, *network.graph.output]
    }
    parts = {**about["inputs"], **about["outputs"]}
    assert shapes == {name: part["shape"] for name, part in parts.items()}
    assert "LSTM" in {node.op_type for node in network.graph.node}, "unrolled, or in a loop"
    labels = json.loads((folder / "out" / "labels.json").read_text())
    assert [each["label"] for each in labels] == tagger.labels_.ids
    assert about["thresholds"]["auto"] == tagger.learned_.thresholds["micro"]
    assert about["reads"] == {"kind": "words", "tokens": 12, "window": 12, "windows": 1, "pad": 0}
    assert about["check"] == told["check"]
    assert told["check"]["texts"] == 20
    assert told["check"]["difference"] < 1e-4
    assert "## Inputs and outputs" in (folder / "out" / "README.md").read_text()


def test_the_program_runs_by_itself(made):
    folder, _ = made
    done = subprocess.run(
        [sys.executable, "-P", str(folder / "out" / "tagging.py"), TEXTS[0]],
        capture_output=True,
        check=True,
        text=True,
    )
    assert json.loads(done.stdout)["text"] == TEXTS[0]


def test_another_network_than_the_taggers_is_noticed(made):
    folder, _ = made
    exported = program(folder / "out")
    learned = Tagger.load(folder / "tagger").learned_
    texts = made_texts(exported.tokenizer, 12, 8)
    assert check_export(learned, exported, texts).depth == 12
    other = deepcopy(learned.model)
    with torch.no_grad():
        other.networks_[0].scorer.layers.output.weight.add_(0.05)
    with pytest.raises(ExportError, match=r"ranks otherwise .* nothing is written"):
        check_export(replace(learned, model=other), exported, texts)


def test_a_transformer_with_windows(tmp_path):
    tagger = fitted(
        "transformer", encoder=small_bert(tmp_path), length=10, windows=3, epochs=1, batch=16,
        threads=1, device="cpu",
    )  # fmt: skip
    done = tagger.export_onnx(tmp_path / "out", texts=[*TEXTS, *known_answer(9)[0]], check=14)
    assert done.texts == 14
    exported = program(tmp_path / "out")
    assert exported.about["reads"]["windows"] == 3
    assert [len(part) for part in exported.windows(LONG)] == [8, 8, 8]
    found, wanted = exported.tag([LONG], k=3), tagger.tag([LONG], k=3)
    scores = [[tag["score"] for tag in found[0]], [tag.score for tag in wanted[0]]]
    np.testing.assert_allclose(*scores, atol=1e-5)


@pytest.mark.parametrize(
    ("model", "why"),
    [
        ("sgm", "one after the other"),
        ("xr-transformer", "linear classifiers rank"),
        ("treaderxml", "similar documents"),
        ("laco", "together with the text"),
        ("seqtag", "together with the text"),
        ("bonsai", "no neural network"),
        ("grove", "no neural network"),
    ],
)
def test_other_models_say_why_not(model, why):
    assert why in MODELS.create(model).why_no_onnx()


def test_a_first_stage_is_named(tmp_path):
    tagger = fitted("kim-cnn", first="bonsai", epochs=1, vector_size=4, filters=2, threads=1)
    with pytest.raises(InputError, match=r"first=none\. What can be exported .* xml-cnn"):
        tagger.export_onnx(tmp_path / "out")
    assert not any(tmp_path.iterdir())


def test_what_python_writes_beside_the_program_is_in_nobodys_way(made, tmp_path):
    out = tmp_path / "out"
    shutil.copytree(made[0] / "out", out)
    compiled = out / "__pycache__"
    compiled.mkdir()
    (compiled / "tagging.cpython-311.pyc").write_bytes(b"")
    check_target(out, overwrite=True)
    assert not compiled.exists()
    compiled.mkdir()
    (compiled / "mine.txt").write_text("mine")
    with pytest.raises(InputError, match="move that elsewhere"):
        check_target(out, overwrite=True)
    assert (compiled / "mine.txt").exists()


def test_wrong_calls_write_nothing(made, tmp_path, monkeypatch):
    folder, _ = made
    before = sorted(path.name for path in folder.iterdir())
    tagger, out = folder / "tagger", tmp_path / "new"
    assert "no neural network" in fails("export", folder / "linear", "--onnx", out)
    assert "exists already" in fails("export", tagger, "--onnx", folder / "out")
    for taken in (tagger, folder / "linear"):
        told = fails("export", tagger, "--onnx", taken, "--overwrite")
        assert "holds a tagger and no export" in told
    assert "lies in the saved folder" in fails("export", tagger, "--onnx", tagger / "onnx")
    assert "not a tagger" in fails("export", folder / "out", "--onnx", out)
    assert "nowhere" in fails("export", folder / "nowhere", "--onnx", out)
    (tmp_path / "empty.jsonl").write_text("")
    fails("export", tagger, "--onnx", out, "--texts", tmp_path / "empty.jsonl")
    (tmp_path / "file").write_text("")
    fails("export", tagger, "--onnx", tmp_path / "file" / "out", code=1)
    monkeypatch.setitem(sys.modules, "onnxscript", None)
    assert "labelgrove[onnx]" in fails("export", tagger, "--onnx", out)
    with pytest.raises(MissingExtraError):
        Tagger.load(tagger).export_onnx(out)
    assert not out.exists()
    assert sorted(path.name for path in folder.iterdir()) == before
