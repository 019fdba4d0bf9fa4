"""A tagger in memory: how it is read, found labels, the card."""

import json
import logging
from types import SimpleNamespace

import pytest

from labelgrove import Tagger
from labelgrove.core import manifest
from labelgrove.core.errors import DamagedError, LabelgroveError, UnknownNameError
from labelgrove.core.progress import QualityNote
from labelgrove.labels import Concept, Vocabulary
from labelgrove.models import MODELS
from labelgrove.service import served as module
from labelgrove.service.problems import ProblemError
from labelgrove.service.served import Explaining, Served, Tagging, _public
from labelgrove.service.settings import Settings
from labelgrove.text import FEATURIZERS
from services import made


@pytest.fixture(scope="module")
def served(taggers):
    return Served("bonsai", str(taggers / "bonsai"), Settings((), ()))


def test_what_was_checked_before_is_not_checked_again(tmp_path):
    """A folder whose sizes fit and whose checksums do not: only who compares them sees that."""
    folder = tmp_path / "own"
    made(folder, "most-frequent")
    path = folder / "manifest.json"
    said = json.loads(path.read_text())
    for facts in said["files"].values():
        facts["sha256"] = "0" * 64
    path.write_text(json.dumps({**said, "checksum": manifest._own_checksum(said)}))
    settings = Settings((("own", str(folder)),), (None,))
    with pytest.raises(DamagedError):
        Served("own", str(folder), settings)
    found = Served("own", str(folder), settings, verify=False)
    assert found.manifest["model"] == "most-frequent"


def test_each_question_has_its_own_answer(served):
    """Also those that fail, and those that need other depths."""
    answers = served.answer(
        [
            Tagging(["red apples", "a car"], 2, None),
            Explaining("red apples", "shade"),
            Tagging(["red apples"], 4, None),
            Tagging(["red apples"], 2, "no such threshold"),
            Explaining("red apples", "fruit"),
            Tagging(["a car"], 2, None),
        ]
    )
    assert [isinstance(each, Exception) for each in answers] == [0, 1, 0, 1, 0, 0]
    first, _, deep, _, explanation, last = answers
    two = json.loads(b"[" + first + b"]")
    assert [len(each["labels"]) for each in two] == [2, 2]
    assert json.loads(deep)["labels"][:2] == two[0]["labels"]
    assert json.loads(last) == two[1]
    assert json.loads(explanation)["label"] == "fruit"


def test_broader_labels_are_given_too_where_asked_for(tmp_path):
    vocabulary = Vocabulary({"cat": Concept("Cats", ("pet",)), "pet": Concept("Pets")})
    texts, labels = ["a cat purrs", "a cat", "many pets"], [["cat"], ["cat"], ["pet"]]
    tagger = Tagger("most-frequent", validation=0).fit(texts, labels, vocabulary=vocabulary)
    tagger.save(tmp_path / "own")
    own = Served("own", str(tmp_path / "own"), Settings((("own", ""),), (None,)))
    plain, closed = own.answer([Tagging(["a"], 1, None), Tagging(["a"], 1, None, "closed")])
    given = [[each["label"] for each in json.loads(answer)["labels"]] for answer in (plain, closed)]
    assert given == [["cat"], ["cat", "pet"]]
    (refused,) = own.answer([Tagging(["a"], 1, "precision=0.9", "closed")])
    assert "give a number or auto" in str(refused)


def test_one_that_fails_in_a_batch_fails_alone(served, monkeypatch):
    rank = served.tagger.rank

    def ranked(texts, depth):
        if "poison" in texts:
            raise ValueError("bad text")
        return rank(texts, depth)

    monkeypatch.setattr(served.tagger, "rank", ranked)
    good, bad, other = served.answer([Tagging([each], 1, None) for each in ("red", "poison", "a")])
    assert isinstance(bad, ValueError)
    assert len(json.loads(good)["labels"]) == len(json.loads(other)["labels"]) == 1


def test_similar_labels_are_named_where_that_is_fast(served, monkeypatch):
    assert served.number("fruit") == served.labels.ids.index("fruit")
    with pytest.raises(UnknownNameError, match="did you mean 'fruit'"):
        served.number("fruits")
    with pytest.raises(UnknownNameError):
        served.number("f" * 100)
    with pytest.raises(ProblemError, match=r"unknown label 'f{100}'; GET /v1/labels"):
        served.number("f" * 101)
    monkeypatch.setattr(module, "HINTED", len(served.labels))
    with pytest.raises(UnknownNameError):
        served.number("fruits")
    monkeypatch.setattr(module, "HINTED", len(served.labels) - 1)
    with pytest.raises(ProblemError, match="unknown label 'fruits'") as refused:
        served.number("fruits")
    assert refused.value.status == 404
    assert served.number("Fruit of trees") == served.labels.ids.index("fruit")


def test_levels_are_sorted_by_name_and_cut(served):
    ids = served.labels.ids

    def below(*asked):
        return [ids[number] for number in served.below(*asked)]

    assert below(None, 0, 9) == ["colour", "thing"]
    assert below(None, 1, 1) == ["thing"]
    assert below(ids.index("thing"), 0, 1) == ["fruit"]
    assert below(ids.index("thing"), 1, 9) == ["vehicle"]


def test_paths_of_this_machine_are_not_told():
    given = {"model": "/home/me/secret/mini", "names": ["/a/b", "c/d"], "k": 3, "on": True}
    assert _public(given) == {"model": "mini", "names": ["b", "c/d"], "k": 3, "on": True}


def test_a_card_tells_size_and_hierarchy(served, taggers):
    files = [each for each in (taggers / "bonsai").rglob("*") if each.is_file()]
    assert served.card["bytes"] == sum(each.stat().st_size for each in files)
    assert served.card["hierarchy"] is True
    assert served.card["summary"]


def test_a_card_without_hierarchy_or_thresholds(tmp_path):
    Tagger("bonsai", validation=0).fit(["one two", "three four"], [["x"], ["y"]]).save(
        tmp_path / "plain"
    )
    card = Served("plain", str(tmp_path / "plain"), Settings((), ())).card
    assert (card["hierarchy"], card["thresholds"], card["labels"]) == (False, None, 2)


@pytest.mark.parametrize(
    ("threads", "workers", "cores", "expected"), [(3, 1, 8, 3), (None, 2, 8, 4), (None, 9, 8, 1)]
)
def test_workers_share_the_cores(taggers, monkeypatch, threads, workers, cores, expected):
    monkeypatch.setattr(module, "workers", lambda _: cores)
    settings = Settings((), (), threads=threads, workers=workers)
    found = Served("knn", str(taggers / "knn"), settings)
    assert found.tagger.model_.threads == expected


def test_who_has_checked_a_signature_needs_no_key(taggers, tmp_path):
    settings = Settings((), (), signed_by=str(tmp_path / "none.pub"))
    folder = str(taggers / "knn")
    assert Served("knn", folder, settings, verify=False).name == "knn"
    with pytest.raises(LabelgroveError):
        Served("knn", folder, settings)


def test_a_first_text_is_tagged_and_explained_when_a_tagger_is_loaded(taggers, monkeypatch):
    """What is compiled or read by then keeps nobody waiting."""
    asked = []
    for name in ("tag", "explain"):
        plain = getattr(Tagger, name)

        def noted(tagger, *given, plain=plain, name=name, **options):
            asked.append(name)
            return plain(tagger, *given, **options)

        monkeypatch.setattr(Tagger, name, noted)
    Served("bonsai", str(taggers / "bonsai"), Settings((), ()))
    assert asked == ["tag", "explain"]


def test_entries_tell_what_was_learned(served):
    def entry(label):
        found = served.entry(served.number(label))
        assert found["label"] == label
        path = [each["label"] for each in found["path"]]
        return found["documents"], found["learned"], path, found["children"]

    assert entry("cake") == (25, True, ["thing", "fruit"], 0)
    assert entry("colour") == (75, True, [], 1)
    assert entry("thing") == (0, False, [], 2)
    assert entry("shade") == (0, False, ["colour"], 0)
    assert module.HINTED == 10_000, "labels among which similar names are looked for"


def is_concurrent(model, *features):
    manifest = {"model": model, "features": {each: {"name": each} for each in features}}
    return Served.concurrent.func(SimpleNamespace(manifest=manifest))


def test_two_threads_ask_only_what_is_known_to_allow_it(served, fragile):
    features = [part["name"] for part in served.manifest["features"].values()]
    needy = [name for name, each in FEATURIZERS.entries().items() if each.extra]
    neural = [name for name, each in MODELS.entries().items() if each.extra]
    assert features
    assert is_concurrent("bonsai", *features) is True
    for model in ("consensus", "no-such-model", "fragile", neural[0]):
        assert not is_concurrent(model, *features), model
    for name in ("no-such-features", needy[0]):
        assert not is_concurrent("bonsai", *features, name), name


def test_names_of_labels_are_known_when_a_tagger_is_loaded(taggers, monkeypatch):
    found = Served("knn", str(taggers / "knn"), Settings((), ()))
    monkeypatch.setattr("labelgrove.labels.space.NameIndex", None)  # nobody waits for one
    assert found.number("Fruit of trees") == found.labels.ids.index("fruit")


def test_notes_of_a_model_go_to_the_log_and_lost_quality_as_a_warning(served, monkeypatch, caplog):
    notes = ["2 requests to a server", QualityNote("2 texts keep the ranking of the first stage")]
    monkeypatch.setattr(served.tagger.model_, "take_notes", lambda: notes, raising=True)
    with caplog.at_level(logging.INFO, "labelgrove.service"):
        served.answer([Tagging(["red apples"], 2, None)])
    told = [(each.levelname, each.getMessage()) for each in caplog.records]
    assert told == [
        ("INFO", "bonsai: 2 requests to a server"),
        ("WARNING", "bonsai: 2 texts keep the ranking of the first stage"),
    ]
