"""What the process of a training answers, also where a model breaks."""

import json

import pytest

from labelgrove.leaderboard.files import DataFiles
from labelgrove.leaderboard.worker import _tagger, carry_out
from labelgrove.models import MODELS
from labelgrove.models.contract import known_answer


@pytest.fixture
def order(tmp_path):
    """Return an order for a model."""
    texts, labels = known_answer(200)
    rows = [json.dumps({"text": t, "labels": ls}) for t, ls in zip(texts, labels, strict=True)]
    for name, part in (("train", rows[:150]), ("test", rows[150:])):
        (tmp_path / f"{name}.jsonl").write_text("\n".join(part))
    files = DataFiles(str(tmp_path / "train.jsonl"), str(tmp_path / "test.jsonl")).record()

    def of(model, do="estimate", **settings):
        shared = {"files": files, "encoder": None, "threads": 1, "validation": 0.1, "seed": 0}
        asked = {"do": do, "model": model, "settings": settings, "features": {}}
        return {**shared, **asked, "documents": 150, "limit": 60, "folder": str(tmp_path)}

    return of


def no_reply(message):
    return {}


@pytest.mark.parametrize(
    ("mood", "message"),
    [
        ("fails", "this mood never learns"),
        ("breaks", "ZeroDivisionError: a bug"),
        ("memory", "out of memory"),
    ],
)
def test_what_goes_wrong_is_an_answer(planted, order, mood, message):
    assert carry_out(order("planted", mood=mood), no_reply)["error"] == message


def test_models_tell_what_they_take_or_learn_a_part(order):
    told = carry_out(order("bonsai"), no_reply)
    assert told["how"] == "told by the model"
    assert told["seconds"] > 0
    early = []
    told = carry_out(order("knn"), lambda message: early.append(message) or {})
    assert told["how"] == "from 60 documents"
    assert [each["step"] for each in early] == [1]
    assert early[0]["seconds"] == told["seconds"]


def test_an_encoder_goes_to_the_models_that_need_one(order, tmp_path):
    needs = carry_out(order("label-meaning"), no_reply)["needs"]
    assert needs.endswith("give a pretrained one with --encoder")
    encoder = MODELS.find("transformer").example_settings(tmp_path / "encoder")["encoder"]
    for asked, added in (
        (order("transformer", length=32), {"encoder": encoder}),
        (order("label-meaning"), {"dense": encoder}),
        (order("bonsai"), {}),
        (order("xml-cnn"), {}),
    ):
        assert _tagger({**asked, "encoder": encoder})[1] == added
    own = {**order("label-meaning", dense="static:x"), "encoder": encoder}
    assert _tagger(own)[1] == {}, "settings of its own win"
