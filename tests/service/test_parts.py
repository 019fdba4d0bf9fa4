"""Parts of the service that need no server to be looked at."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelgrove import Tagger
from labelgrove.core.errors import InputError
from labelgrove.labels import LabelSpace
from labelgrove.service.label_search import LabelSearch, _plain
from labelgrove.service.served import Served
from labelgrove.service.settings import Limits, Settings, name_taggers


def plain_search(space, beginning):
    """The same by trying every name."""
    wanted = f" {_plain(beginning)}"
    counts = [*space.counts.tolist(), *[0] * (len(space) - space.n_labels)]
    exact = [f" {_plain(name)}" == wanted for name in space.names]
    order = sorted(range(len(space)), key=lambda i: (not exact[i], -counts[i]))
    return [i for i in order if wanted in f" {_plain(space.names[i])}"] if wanted != " " else []


@given(
    st.lists(st.text("aAbß é-_.\n", min_size=1, max_size=6), min_size=1, max_size=20, unique=True),
    st.text("aAbß é-", max_size=3),
    st.integers(0, 3),
    st.integers(1, 5),
)
def test_a_search_finds_what_trying_every_name_finds(ids, beginning, offset, limit):
    counts = list(range(len(ids)))
    random.Random(0).shuffle(counts)
    space = LabelSpace(ids, counts, 100)
    found = LabelSearch(space).find(beginning, offset, limit)
    assert found == plain_search(space, beginning)[offset : offset + limit]


def test_a_search_finds_ids_too():
    space = LabelSpace(["cs.DS", "cs.CL"], [1, 2], 3, names=["Structures", "Language"])
    search = LabelSearch(space)
    assert search.find("CS.d", 0, 9) == [0]
    assert search.find("cs", 0, 9) == [1, 0]
    assert search.find("cs ds", 0, 9) == [0]


def test_what_is_exactly_a_name_or_an_id_comes_before_what_is_frequent():
    names = ["Energy policy", "Energy", "Nuclear energy"]
    space = LabelSpace(["energy", "a", "b"], [1, 2, 3], 3, names=names)
    assert LabelSearch(space).find("energy", 0, 9) == [1, 0, 2]
    assert LabelSearch(space).find("energy", 1, 1) == [0]
    assert LabelSearch(space).find("energ", 0, 9) == [2, 1, 0]


def test_settings_reach_workers_as_they_are():
    settings = Settings(
        taggers=(("a", "b"), ("c", "d")),
        feedback=("f", None),
        limits=Limits(rate=5),
        keys=("k",),
        hosts=(),
    )
    assert Settings.from_json(settings.to_json()) == settings


@pytest.mark.parametrize("given", [["="], ["a="], ["=b"], ["x/a", "y/a"]])
def test_names_that_cannot_be(given):
    with pytest.raises(InputError):
        name_taggers(given)


def test_a_folder_may_have_an_equals_sign(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cost=0.2").mkdir()
    assert name_taggers(["cost=0.2", "other=cost=0.2"]) == (
        ("cost=0.2", "cost=0.2"),
        ("other", "cost=0.2"),
    )


@pytest.mark.parametrize(
    "name", ["body", "bodies", "texts", "length", "seconds", "waiting", "rate"]
)
def test_limits_are_above_nothing(name):
    with pytest.raises(InputError, match=name):
        Limits(**{name: 0})


def test_only_taggers_of_which_it_is_known_are_asked_by_two_threads(tmp_path):
    texts, labels = ["red apple", "blue whale"] * 20, [["fruit"], ["sea"]] * 20
    partners = [Tagger(name, seed=0).fit(texts, labels) for name in ("bonsai", "knn")]
    taggers = {"one": partners[0], "two": Tagger.combine(partners)}
    for name, tagger in taggers.items():
        tagger.save(tmp_path / name)
    folders = tuple((name, str(tmp_path / name)) for name in taggers)
    settings = Settings(folders, (None, None))
    found = {name: Served(name, folder, settings).concurrent for name, folder in folders}
    assert found == {"one": True, "two": False}, "a consensus may hold any model"
