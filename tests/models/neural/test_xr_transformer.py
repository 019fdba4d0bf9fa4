"""XR-Transformer: levels that go on from one another, vectors, both halves resumed and saved."""

from contextlib import contextmanager

import numpy as np
import pytest
import torch

from labelgrove import Tagger, models
from labelgrove.core.errors import InputError
from labelgrove.core.features import TokenSequences, Views
from labelgrove.core.progress import Silent, Task
from labelgrove.core.types import FitContext, Run
from labelgrove.models.contract import Case, known_answer
from labelgrove.models.neural.encoding import unit_vectors
from labelgrove.models.neural.examples import small_bert
from labelgrove.models.neural.readers.base import Batch
from labelgrove.models.neural.texts import Texts
from labelgrove.models.neural.training.batches import padded
from labelgrove.models.neural.training.windows import Windows
from labelgrove.models.neural.xr_transformer import XrTransformer

SMALL = {"length": 32, "batch": 16, "epochs": 1, "device": "cpu", "threads": 1, "max_leaf": 3,
         "branching": 2, "parents": 2, "encoder_rate": 0.005}  # fmt: skip


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    return small_bert(tmp_path_factory.mktemp("encoders"))


@pytest.fixture(scope="module")
def case(encoder, tmp_path_factory):
    def make(_):
        return models.create("xr-transformer", encoder=encoder, **SMALL)

    return Case(make, tmp_path_factory.mktemp("case"))


@pytest.fixture(scope="module")
def data(case):
    X, Y = case.train
    return X[:60], Y[:60]


@pytest.fixture(scope="module")
def fitted(case, data):
    return case.new().fit(*data)


class Watched(XrTransformer):
    """Keeps the networks of all levels to be looked at."""

    def _learn(self, data, belongs, context):
        super()._learn(data, belongs, context)
        self.seen = list(self.networks_)


def test_each_level_goes_on_from_the_encoder_above(encoder, data):
    model = Watched(encoder=encoder, **SMALL, levels=2, level_epochs=0).fit(*data)
    first, *others = (network.reader.state_dict() for network in model.seen)
    assert len(others) == 2, "two levels of clusters, and the labels"
    for other in others:
        assert all(torch.equal(first[name], other[name]) for name in first)
    assert model.reader_ is model.seen[-1].reader
    learned = Watched(encoder=encoder, **SMALL, levels=2).fit(*data)
    other = learned.reader_.state_dict()
    assert any(not torch.equal(first[name], other[name]) for name in first)


@pytest.mark.parametrize(("clusters", "levels"), [(4, 1), (256, 1), (257, 2), (5000, 3)])
def test_the_first_level_is_coarse(clusters, levels):
    assert models.create("xr-transformer", branching=8)._n_levels(clusters) == levels


def test_vectors_are_the_readers_and_have_length_one(fitted, data):
    X = data[0]
    found = fitted.encode(X)
    with torch.inference_mode():
        one = fitted.reader_(Batch(*padded(X["text"], np.array([4])))).pooled[0].numpy()
    np.testing.assert_allclose(found[4], one / np.linalg.norm(one), atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-5)


def test_a_long_text_has_the_mean_of_its_windows_and_an_empty_one_nothing(fitted):
    tokens = TokenSequences(np.arange(10, 18), np.array([0, 8, 8]), fitted.n_terms_)
    device = torch.device("cpu")
    found = unit_vectors(fitted.reader_, Texts(tokens, Windows(4, 2)), 8, device)
    halves = TokenSequences(np.arange(10, 18), np.array([0, 4, 8]), fitted.n_terms_)
    mean = unit_vectors(fitted.reader_, Texts(halves), 8, device).mean(axis=0)
    np.testing.assert_allclose(found[0], mean / np.linalg.norm(mean), atol=1e-5)
    assert not found[1].any()


def test_the_linear_half_ranks_tf_idf_beside_vectors(fitted, data):
    X = data[0]
    assert fitted.linear_.name == "bonsai"
    assert fitted.linear_.dense_weight_ == 1.0
    sides = Views({"text": X["linear"], "dense": fitted.encode(X)})
    wanted, found = fitted.linear_.rank(sides, 5), fitted.rank(X, 5)
    assert np.array_equal(found.labels, wanted.labels)
    turned = Views({"text": X["linear"], "dense": -sides["dense"]})
    assert not np.array_equal(fitted.linear_.rank(turned, 5).scores, wanted.scores)


def test_explanations_name_words_and_the_meaning(fitted, data):
    X, Y = data
    told = fitted.explain(X, 3, int(Y[[3]].indices[0]))
    assert told.view == "linear"
    assert {*told.ids.tolist()} <= {*X["linear"][[3]].indices.tolist()}
    ((name, weight),) = told.parts
    assert name == "meaning"
    assert np.isfinite(weight)


def test_one_encoder_and_the_linear_half_are_saved(fitted, data, tmp_path):
    fitted.save(tmp_path / "m")
    assert (tmp_path / "m" / "linear").is_dir()
    loaded = XrTransformer.load(tmp_path / "m")
    assert "networks_" not in vars(loaded)
    assert {*fitted.state()} == {*loaded.state()}
    before, after = fitted.rank(data[0], 5), loaded.rank(data[0], 5)
    assert np.array_equal(before.scores, after.scores)
    loaded.save(tmp_path / "again")
    again = XrTransformer.load(tmp_path / "again").rank(data[0], 5)
    assert np.array_equal(again.scores, before.scores)


class Killed(Silent):
    """Ends a training at the first step of the task with this title; keeps what is said."""

    def __init__(self, title=None):
        self.title, self.said = title, []

    def say(self, message):
        self.said.append(message)

    @contextmanager
    def task(self, title, total=None, unit="documents", done=0):
        yield Last(title == self.title)


class Last(Task):
    """A task that may not be finished."""

    def __init__(self, killed):
        self.killed = killed

    def advance(self, steps=1, **facts):
        if self.killed:
            raise KeyboardInterrupt


@pytest.mark.parametrize("title", ["training tree 1 level 2", "encoding", "training"])
def test_a_kill_in_either_half_is_made_up_for(case, data, fitted, title, tmp_path):
    run = Run(tmp_path, progress=Killed(title))
    with pytest.raises(KeyboardInterrupt):
        case.new().fit(*data, context=FitContext(run=run))
    progress = Killed()
    resumed = case.new().fit(
        *data, context=FitContext(run=Run(tmp_path, resume=True, progress=progress))
    )
    assert [each for each in progress.said if each.startswith("resuming after 4 steps")]
    found, wanted = resumed.rank(data[0], 5), fitted.rank(data[0], 5)
    assert np.array_equal(found.labels, wanted.labels)
    assert np.array_equal(found.scores, wanted.scores)


def test_a_tagger_trains_explains_and_tells_what_training_takes(encoder, tmp_path):
    texts, labels = known_answer(80)
    model = models.create("xr-transformer", encoder=encoder, **SMALL)
    tagger = Tagger(model).fit(texts, labels)
    tagger.save(tmp_path / "t")
    loaded = Tagger.load(tmp_path / "t")
    assert loaded.tag(texts[:5], k=4) == tagger.tag(texts[:5], k=4)
    assert loaded.explain(texts[0], labels[0][0])


def test_time_and_memory_are_estimated(case, data):
    told = case.new().estimate(*data, FitContext())
    assert told.seconds > 0
    assert told.memory > 0


def test_few_labels_are_learned_without_a_tree(case, data):
    model = case.new().set_params(max_leaf=12).fit(*data)
    assert len(model.rank(data[0], 3)) == 60


def test_words_may_be_read_by_a_recurrent_network(tmp_path):
    settings = {**SMALL, "encoder": "words", "units": 8, "vector_size": 8, "learning_rate": 0.01}
    del settings["encoder_rate"]
    case = Case(lambda _: models.create("xr-transformer", **settings), tmp_path)
    X, Y = case.train
    model = case.new().fit(X[:60], Y[:60])
    model.save(tmp_path / "m")
    before, after = model.rank(X[:9], 5), XrTransformer.load(tmp_path / "m").rank(X[:9], 5)
    assert np.array_equal(before.scores, after.scores)


def test_what_makes_no_sense_is_refused(case, data):
    with pytest.raises(InputError, match="first='bonsai' has no effect: xr-transformer ranks"):
        case.new().set_params(first="bonsai").check_settings()
    with pytest.raises(InputError, match="X must be Views of 'text'"):
        case.new().fit(data[0]["text"], data[1])
    with pytest.raises(InputError, match="dense_weight must be"):
        models.create("xr-transformer", dense_weight=0.0)
