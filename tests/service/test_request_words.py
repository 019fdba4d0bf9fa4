"""Refusals and notes of the service name fields of a request, never options of a command."""

import pytest

from asgi import in_process
from labelgrove import Tagger
from labelgrove.service.request_words import WAYS_OUT, in_fields

TEXTS, LABELS = ["red apples", "a green car"] * 6, [["fruit"], ["vehicle"]] * 6


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    """A tagger that knows no hierarchy and has no held-out documents."""
    folder = tmp_path_factory.mktemp("bare") / "bare"
    Tagger("most-frequent", validation=0).fit(TEXTS, LABELS).save(folder)
    with in_process(folder) as found:
        yield found


@pytest.fixture(autouse=True)
def of_a_command(monkeypatch):
    """As in ``labelgrove serve``, whose messages have options."""
    monkeypatch.setenv("LABELGROVE_READER", "command")


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"hierarchy": "closed"}, "hierarchy='closed' needs to know which labels are broader"),
        ({"hierarchy": "leaf"}, "it has to be trained with a vocabulary that has parents"),
        ({"threshold": "per-label"}, "it has to be trained with documents held out"),
        ({"threshold": "precision=0.9"}, "this tagger cannot promise precision=0.9"),
        ({"hierarchy": "broad"}, "hierarchy: "),
        ({"threshold": "high"}, "threshold: "),
        ({"k": 0}, "k: "),
    ],
)
def test_a_refusal_names_fields(service, asked, said):
    got = service.ask("/v1/tag", {"text": "red", **asked})
    assert got.status in (409, 422)
    assert said in got.detail
    assert "--" not in got.detail


def test_a_note_names_no_option(service):
    (note,) = service.ask("/v1/tag", {"text": "red", "threshold": "auto"}).json["notes"]
    assert note.endswith("it has to be trained with documents held out")


def test_every_way_out_is_said_without_options():
    for way in WAYS_OUT:
        assert "--" not in in_fields(way)
        assert "Tagger." not in in_fields(way)


def test_the_words_of_the_tagger_are_still_those_that_are_replaced():
    """A message that is worded anew must be worded anew here too."""
    from pathlib import Path

    import labelgrove.tagger as package

    source = "".join(
        " ".join(path.read_text("utf-8").replace('"\n', "").split())
        for path in sorted(Path(package.__file__).parent.glob("*.py"))
    )
    for way in WAYS_OUT:
        assert way.replace(" ", "") in source.replace('"', "").replace(" ", ""), way
