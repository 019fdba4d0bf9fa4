"""Code that a model or a tagger brings along is never run, whatever is answered to a prompt."""

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from folder_changes import sealed

import labelgrove
from labelgrove import Tagger, models
from labelgrove.core.errors import InputError
from labelgrove.models.contract import known_answer
from labelgrove.models.neural.examples import small_bert
from labelgrove.models.neural.readers import huggingface

SOURCES = sorted(Path(labelgrove.__file__).parent.rglob("*.py"))
UNPICKLING = {"torch.load", "pickle.load", "pickle.loads", "joblib.load", "dill.load"}
EVIL = """
import pathlib

pathlib.Path({mark!r}).write_text("it ran")
from transformers import BertModel as Evil
"""


def calls(name):
    """Yield the calls of functions or methods of a name in all of the package's sources."""
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] == name:
                yield f"{path.name}:{node.lineno}", node


def given(call, keyword):
    """Return the value that a call gives to a keyword, as it is written; None without it."""
    found = [each.value for each in call.keywords if each.arg == keyword]
    return ast.unparse(found[0]) if found else None


def test_every_call_of_transformers_refuses_code_of_the_model():
    found = {
        place: call
        for name in ("from_pretrained", "from_config")
        for place, call in calls(name)
        # ours takes JSON; model2vec has no code to run and reads safetensors only
        if ast.unparse(call.func)
        not in ("huggingface.from_config", "library.StaticModel.from_pretrained")
        # a config made in the source itself
        and not place.startswith("examples.py")
    }
    assert len(found) == 3
    for place, call in found.items():
        assert given(call, "trust_remote_code") == "False", place


def test_weights_are_read_from_safetensors_only():
    models = [
        (place, call)
        for place, call in calls("load_pretrained")
        if "'AutoModel'" in [ast.unparse(each) for each in call.args]
    ]
    assert models
    for place, call in models:
        assert given(call, "use_safetensors") == "True", place


def test_nothing_is_unpickled():
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call):
                place = f"{path.name}:{node.lineno}"
                assert ast.unparse(node.func) not in UNPICKLING, place
                if ast.unparse(node.func) == "np.load":
                    assert given(node, "allow_pickle") == "False", place


def test_an_encoder_with_pickled_weights_is_refused(tmp_path):
    folder = Path(small_bert(tmp_path))
    weights = huggingface.load_encoder(str(folder)).state_dict()
    (folder / "model.safetensors").unlink()
    torch.save(weights, folder / "pytorch_model.bin")
    with pytest.raises(InputError, match=r"weights in other files, such as pytorch_model\.bin"):
        huggingface.load_encoder(str(folder))


@pytest.fixture
def brings_code(tmp_path):
    """A tagger whose encoder asks for code, which would write a file; and that file."""
    texts, labels = known_answer(60)
    model = {"encoder": small_bert(tmp_path), "length": 16, "epochs": 1, "threads": 1}
    folder, mark = tmp_path / "tagger", tmp_path / "mark"
    Tagger(models.create("transformer", **model), validation=0).fit(texts, labels).save(folder)
    code = tmp_path / "code"
    code.mkdir()
    (code / "evil.py").write_text(EVIL.format(mark=str(mark)))
    with sealed(folder):
        path = folder / "model" / "values.json"
        values = json.loads(path.read_text("utf-8"))
        config = json.loads(values["built"][1]["input"]["config"])
        # the library has no model of this type, so that it would ask for the code
        config |= {"model_type": "altclip_text_model", "auto_map": {"AutoModel": "evil.Evil"}}
        config |= {"name_or_path": str(code), "_name_or_path": str(code)}
        values["built"][1]["input"]["config"] = json.dumps(config)
        path.write_text(json.dumps(values), "utf-8")
    return folder, mark


def test_a_tagger_cannot_bring_code_even_if_somebody_says_yes(brings_code):
    folder, mark = brings_code
    done = subprocess.run(
        [sys.executable, "-m", "labelgrove", "tag", str(folder), "--text", "red suns"],
        input="yes\n" * 20,
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "HF_HUB_OFFLINE": "1"},
        check=False,
    )
    assert not mark.exists()
    assert done.returncode == 1, done.stderr
    assert f"labelgrove: {folder / 'model'} is damaged" in done.stderr
    assert "custom code" not in done.stdout + done.stderr  # nobody was asked


def test_an_encoder_cannot_bring_code_even_if_somebody_says_yes(tmp_path):
    folder, mark = Path(small_bert(tmp_path)), tmp_path / "mark"
    config = json.loads((folder / "config.json").read_text("utf-8"))
    config |= {"model_type": "altclip_text_model", "auto_map": {"AutoModel": "evil.Evil"}}
    (folder / "config.json").write_text(json.dumps(config), "utf-8")
    (folder / "evil.py").write_text(EVIL.format(mark=str(mark)))
    code = (
        "from labelgrove.models.neural.readers import huggingface as h\n"
        f"try: h.skeleton({str(folder)!r})\n"
        "except Exception as error: print(type(error).__name__)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        input="yes\n" * 20,
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "HF_HUB_OFFLINE": "1"},
        check=False,
    )
    assert not mark.exists()
    assert "custom code" not in done.stdout + done.stderr
    assert done.stdout.strip() == "InputError"
