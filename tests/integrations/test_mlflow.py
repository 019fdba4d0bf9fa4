"""What MLflow asks of a tagger, as far as it can be asked without MLflow.

`benchmarks/ecosystem/mlflow_flavour.py` asks it with the real one.
"""

import sys

import numpy as np
import pandas as pd
import pytest

from labelgrove import Tagger, __version__
from labelgrove.core.errors import InputError, MissingExtraError
from labelgrove.integrations import mlflow as flavour

TEXTS = ["red apples and green apples", "a red car", "green cars drive"] * 4
LABELS = [["fruit", "colour"], ["colour", "vehicle"], ["colour", "vehicle"]] * 4


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mlflow") / "tagger"
    Tagger("one-vs-rest", validation=0).fit(TEXTS, LABELS).save(folder)
    return folder


@pytest.fixture(scope="module")
def model(saved):
    return flavour._load_pyfunc(str(saved))


def test_a_frame_of_texts_gets_labels_and_probabilities(model):
    asked = pd.DataFrame({"id": [1, 2], "text": ["blue apples", "fast cars"]}, index=["x", "y"])
    found = model.predict(asked, params={"top": 2})
    wanted = model.tagger.tag([*asked["text"]], k=2)
    assert found.index.tolist() == ["x", "y"]
    assert found["labels"].tolist() == [[tag.label for tag in tags] for tags in wanted]
    assert found["names"].tolist() == [[tag.name for tag in tags] for tags in wanted]
    np.testing.assert_allclose(
        found["probabilities"].tolist(), [[t.score for t in g] for g in wanted]
    )


@pytest.mark.parametrize("threshold", [0.7, "0.7", "auto", "none", None])
def test_thresholds_may_be_numbers_and_names(model, threshold):
    found = model.predict(["blue apples"], params={"threshold": threshold})
    own = {"0.7": 0.7, "none": None}.get(threshold, threshold)
    wanted = model.tagger.tag("blue apples", threshold=own)
    assert found["labels"][0] == [tag.label for tag in wanted]


@pytest.mark.parametrize(
    "texts", ["blue apples", ["blue apples"], {"text": ["blue apples"]}, pd.Series(["blue apples"])]
)
def test_texts_come_in_several_forms(model, texts):
    assert len(model.predict(texts)) == 1


def test_no_texts_are_no_rows(model):
    assert model.predict(pd.DataFrame({"text": []})).columns.tolist() == [
        "labels", "names", "probabilities",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("asked", "params", "told"),
    [
        (pd.DataFrame({"title": ["a"]}), None, "no column 'text'; its columns: title"),
        (pd.DataFrame({"text": ["a", None]}), None, "row 1 of the input has no text"),
        (["a"], {"k": 3}, "unknown parameter 'k'; known: top, threshold"),
        (["a"], {"top": 0}, "top must be a whole number from 1, got 0"),
        (["a"], {"threshold": "best"}, "got 'best'"),
        (["a"], {"threshold": 2.0}, "between 0 and 1"),
    ],
)
def test_wrong_questions_are_refused(model, asked, params, told):
    with pytest.raises(InputError, match=told):
        model.predict(asked, params=params)


def test_requirements_name_the_extras_of_the_model(model):
    assert flavour.requirements(model.tagger) == [f"labelgrove[mlflow]=={__version__}"]


def test_without_mlflow_the_extra_is_named_and_nothing_is_written(model, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "mlflow", None)
    with pytest.raises(MissingExtraError, match=r"labelgrove\[mlflow\]"):
        flavour.save_model(model.tagger, tmp_path / "model")
    with pytest.raises(MissingExtraError, match=r"labelgrove\[mlflow\]"):
        flavour.load_model("models:/tagger/1")
    assert not any(tmp_path.iterdir())
