"""TReaderXML: texts read with what their neighbours are about."""

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from labelgrove import Tagger
from labelgrove.core.errors import InputError
from labelgrove.core.features import Views
from labelgrove.core.progress import Silent
from labelgrove.core.random import text_fraction
from labelgrove.core.types import FitContext, Run
from labelgrove.evaluation import Calibration
from labelgrove.labels import LabelSpace
from labelgrove.models.consensus import Consensus
from labelgrove.models.contract import CHECKS, Case, known_answer
from labelgrove.models.neural.examples import small_bert
from labelgrove.models.neural.treader_xml import TReaderXml, on_scale_of
from labelgrove.text import Words

SMALL = {**TReaderXml.example_settings(None), "by": "words"}  # reads one view
QUICK = {**SMALL, "epochs": 1}
ROWS = [  # of Table 3
    {"teacher": False, "reading": []},
    {"reading": []},
    {"reading": ["masked", "residual"]},
    {"reading": ["plain", "residual"]},
    {"reading": ["plain", "residual", "masked"]},
    {"reading": ["masked", "plain"]},
    {"reading": ["masked", "residual", "plain"]},
]


@pytest.fixture(scope="module")
def data():
    texts, labels = known_answer(200)
    words = Words(length=64).fit(texts)
    space = LabelSpace.from_labels(labels)
    return words, space, words.transform(texts), space.encode(labels)


def context_of(data, **more):
    words, space, _, _ = data
    return FitContext(labels=space, featurizers={"text": words}, **more)


class Watched(TReaderXml):
    """Keeps what training documents were taught, and by whom."""

    def _prepare(self, data, context):
        data, belongs = super()._prepare(data, context)
        self.seen = data.texts.lessons.shares.copy()
        self.voted = data.texts.votes.votes.copy()
        self.near = self.memory_.of_training(self.neighbours)
        return data, belongs


def test_no_training_document_is_taught_by_itself_or_its_copy(data):
    """A label that only one text and its copies have must never reach them through neighbours."""
    words, _, X, _ = data
    texts, labels = known_answer(60)
    for i in (3, 17, 40):  # each three times, with a label of their own
        labels[i] = [*labels[i], f"own {i}"]
        texts += [texts[i], texts[i]]
        labels += [labels[i], labels[i]]
    space = LabelSpace.from_labels(labels)
    X, Y = words.transform(texts), space.encode(labels)
    context = FitContext(labels=space, featurizers={"text": words})
    model = Watched(**QUICK).fit(X, Y, context=context)
    rows = np.arange(len(texts))
    assert not (model.near.documents == rows[:, None]).any()
    own = [space.index(f"own {i}") for i in (3, 17, 40)]
    assert Y[:, own].nnz == 9
    for reaches in (model.seen, model.voted):
        assert reaches.nnz
        assert reaches[:, own].multiply(Y[:, own]).nnz == 0
    # the same memory finds the text itself where it is asked as if it were new
    found = model.memory_.nearest(X, 1)
    assert (texts[found.documents[3, 0]], round(float(found.similarities[3, 0]), 4)) == (
        texts[3],
        1,
    )


@pytest.mark.parametrize("row", ROWS, ids=range(7))
def test_every_row_of_the_ablation_is_a_setting(data, row):
    _, _, X, Y = data
    model = TReaderXml(**{**QUICK, **row}).fit(X, Y, context=context_of(data))
    reader = model.networks_[0].reader
    assert (reader.teacher is None) == (row.get("teacher") is False)
    assert [layer.masked for layer in reader.student.layers] == [
        step == "masked" for step in row["reading"] if step != "residual"
    ]
    assert np.isfinite(model.rank(X[:9], 3).scores).all()


def test_the_teacher_makes_a_difference_and_its_absence_is_complete(data):
    _, _, X, Y = data
    model = TReaderXml(**QUICK).fit(X, Y, context=context_of(data))
    alone = TReaderXml(**{**QUICK, "teacher": False}).fit(X, Y, context=context_of(data))
    for each, same in ((model, False), (alone, True)):
        before = each.rank(X[:20], 5).scores
        each.teacher_.words[:] = np.roll(each.teacher_.words, 1, axis=0)  # other lessons
        assert np.array_equal(before, each.rank(X[:20], 5).scores) == same


@pytest.fixture(scope="module")
def by_tfidf(tmp_path_factory):
    folder = tmp_path_factory.mktemp("case")
    return Case(lambda _: TReaderXml(**{**SMALL, "by": "tf-idf", "epochs": 8}), folder)


@pytest.fixture(scope="module")
def as_published(tmp_path_factory):
    paper = {"by": "words", "votes": False}
    return Case(lambda _: TReaderXml(**{**SMALL, **paper}), tmp_path_factory.mktemp("paper"))


@pytest.mark.parametrize("check", CHECKS)
def test_the_contract_holds_for_the_papers_form(as_published, check):
    CHECKS[check](as_published)


def test_neighbours_may_be_found_by_a_sentence_encoder(tmp_path):
    texts, labels = known_answer(60)
    settings = {**QUICK, "by": "encoder", "neighbour_encoder": small_bert(tmp_path)}
    tagger = Tagger(TReaderXml(**settings)).fit(texts, labels)
    assert tagger.model_.form == "words"  # the text itself is read as before
    assert [*tagger.learned_.featurizers] == ["text", "near"]
    tagger.save(tmp_path / "saved")
    assert Tagger.load(tmp_path / "saved").tag(texts[0]) == tagger.tag(texts[0])
    with pytest.raises(InputError, match="sentence encoder"):
        TReaderXml(**{**QUICK, "by": "encoder"}).check_needs()


def test_a_transformer_may_read_text_and_lessons(tmp_path):
    texts, labels = known_answer(60)
    settings = {name: value for name, value in QUICK.items() if name != "vector_size"}
    model = TReaderXml(**{**settings, "encoder": small_bert(tmp_path), "length": 32})
    tagger = Tagger(model).fit(texts, labels)
    assert [*tagger.learned_.featurizers] == ["text", "near"]  # its subwords have no vectors yet
    assert np.isfinite(tagger.rank(texts[:9], 5).scores).all()
    assert tagger.explain(texts[0], labels[0][0])
    tagger.save(tmp_path / "saved")
    assert Tagger.load(tmp_path / "saved").tag(texts[0]) == tagger.tag(texts[0])


@pytest.mark.parametrize("votes", [True, False])
def test_labels_may_begin_at_random_with_votes_or_without(data, votes):
    _, _, X, Y = data
    model = TReaderXml(**{**SMALL, "prior": "none", "votes": votes, "epochs": 6})
    model.fit(X, Y, context=context_of(data))
    assert (model.networks_[0].votes_weight is not None) == votes
    assert model.score(X, Y) > 0.75


def test_a_network_begins_with_what_the_neighbours_say():
    """Short texts with many labels: by default it is no worse than they are from the start."""
    random = np.random.default_rng(0)
    drawn = random.integers(0, 60, 400)
    words = [random.permutation([f"q{i}a", f"q{i}b", f"q{i}c"])[:2] for i in drawn]
    noise = random.integers(0, 40, (400, 3))
    texts = [
        " ".join([*own, *map("what{}".format, more)])
        for own, more in zip(words, noise, strict=True)
    ]
    labels = [[f"about {i}"] for i in drawn]
    settings = {"epochs": 1, "learning_rate": 1e-6, "vector_size": 24, "bottleneck": 24}
    tagger = Tagger(TReaderXml(**settings, threads=1)).fit(texts[:300], labels[:300])
    knn = Tagger("knn", validation=0).fit(texts[:300], labels[:300])
    own, theirs = (each.evaluate(texts[300:], labels[300:])["P@1"] for each in (tagger, knn))
    assert theirs > 0.5  # of which the label frequencies know nothing
    assert own > theirs - 0.1


def test_votes_are_added_to_what_a_first_stage_says(tmp_path):
    texts, labels = known_answer(120)
    settings = {**QUICK, "by": "tf-idf", "first": "knn", "candidates": 6, "folds": 2}
    tagger = Tagger(TReaderXml(**settings)).fit(texts, labels)
    network = tagger.model_.networks_[0]
    before = tagger.rank(texts[:9], 6)
    with torch.no_grad():
        assert network.prior_weight.item() != network.votes_weight.item()
        network.votes_weight += (
            3.0  # learned from zero, so that training begins with the first stage
        )
    after = tagger.rank(texts[:9], 6)
    assert not np.allclose(before.scores, after.scores)
    told = tagger.explain(texts[0], labels[0][0])
    assert "neighbours" in dict(told.parts)
    tagger.save(tmp_path / "saved")
    again = Tagger.load(tmp_path / "saved").rank(texts[:9], 6)
    assert np.array_equal(again.scores, after.scores)


def test_votes_are_left_out_with_label_clusters(data):
    class Heard(Silent):
        def say(self, text):
            said.append(text)

    said = []
    _, _, X, Y = data
    settings = {**QUICK, "output": "clusters", "clusters": [0.5, 0.5]}
    context = context_of(data, run=Run(progress=Heard()))
    model = TReaderXml(**settings).fit(X, Y, context=context)
    assert model.networks_[0].votes_weight is None
    assert any("votes of neighbours are not added" in each for each in said)


@pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
def test_words_may_be_told_their_places(data, tmp_path, positions):
    _, _, X, Y = data
    model = TReaderXml(**{**QUICK, "votes": False, "positions": positions})
    model.fit(X, Y, context=context_of(data))
    model.save(tmp_path / "saved")
    again = TReaderXml.load(tmp_path / "saved")
    assert np.array_equal(again.rank(X[:9], 3).scores, model.rank(X[:9], 3).scores)
    assert any("positions" in name for name, _ in model.networks_[0].named_parameters())


def test_another_view_must_be_given(by_tfidf):
    X, Y = by_tfidf.train
    with pytest.raises(InputError, match="near"):
        by_tfidf.new().fit(Views({"text": X["text"]}), Y)


def test_rare_labels_may_stand_in_clusters(data):
    _, _, X, Y = data
    settings = {**SMALL, "output": "clusters", "clusters": [0.5, 0.5], "epochs": 6}
    model = TReaderXml(**settings).fit(X, Y, context=context_of(data))
    assert model.networks_[0].scorer.clusters == (6, 6)
    assert model.score(X, Y) > 0.75


def test_a_label_that_came_later_is_found_by_its_neighbours(data, tmp_path):
    _, space, X, Y = data
    texts = ["topic0a topic1b fjord glacier noise1", "topic2c fjord glacier noise2"]
    vocabulary = Words(length=64).fit([*known_answer(200)[0], *texts])
    X = vocabulary.transform(known_answer(200)[0])
    context = FitContext(labels=space, featurizers={"text": vocabulary})
    settings = {**SMALL, "vectors": "random", "neighbours": 3, "epochs": 3}
    model = TReaderXml(**settings).fit(X, Y, context=context)
    before = model.rank(X[:30], 12)
    new = csr_array(([1.0, 1.0], ([0, 1], [12, 12])), shape=(2, 13))
    more = model.remember(vocabulary.transform(texts), new)
    asked = vocabulary.transform(["glacier fjord"])
    found = more.rank(asked, 13)
    assert 12 in found.labels[0, :3]
    chance = float(found.scores[0][found.labels[0] == 12][0])
    votes = more.memory_.votes(more.memory_.nearest(asked, 3), 1.0).toarray()[0, 12]
    assert chance == pytest.approx(float(more.votes_.apply(votes)), rel=1e-5)
    told = more.explain(asked, 0, 12)
    assert {*told.ids.tolist()} == {0, 1}
    assert sum(12 in each.labels for each in told.neighbours) == 2
    # what was known before is as it was
    after = model.rank(X[:30], 12)
    assert model.n_labels_ == 12
    assert np.array_equal(before.scores, after.scores)
    more.save(tmp_path / "more")
    again = TReaderXml.load(tmp_path / "more").rank(asked, 13)
    assert np.array_equal(again.labels, found.labels)
    assert np.array_equal(again.scores, found.scores)


def test_a_label_of_held_out_documents_only_is_found_by_votes(data):
    words, space, X, Y = data
    label = space.index("label 11")
    without = Y.copy().tolil()
    without[:, label] = 0
    has = np.flatnonzero(Y[:, [label]].toarray().ravel())
    rest = np.setdiff1d(np.arange(len(X)), has)
    settings = {**SMALL, "epochs": 4, "neighbours": 3}
    context = context_of(data)
    model = TReaderXml(**settings).fit(X[rest], csr_array(without)[rest], context=context)
    assert not model.taught_[label]
    asked = words.transform(["topic11a topic11b topic11c noise3"])
    before = model.rank(asked, 12)
    more = model.remember(X[has], Y[has], context=context)
    after = more.rank(asked, 12)
    assert after.labels[0].tolist().index(label) < before.labels[0].tolist().index(label)
    assert after.labels[0, 0] == label
    assert {*after.labels[0].tolist()} == {*range(12)}
    assert {*more.explain(asked, 0, label).ids.tolist()} >= {0, 1, 2}


def test_votes_are_ranked_on_the_scale_of_the_network():
    network = Calibration(np.array([0.0, 0.2, 0.6, 1.0]), np.array([0.0, 0.5, 0.9, 1.0]))
    votes = Calibration(np.array([0.0, 0.5, 1.0]), np.array([0.05, 0.5, 0.95]))
    both = on_scale_of(network, votes)
    np.testing.assert_allclose(network.apply(both.apply(votes.x)), votes.y, rtol=1e-6)


def test_threads_of_now_are_those_of_the_search(data):
    _, _, X, Y = data
    model = TReaderXml(**QUICK).fit(X, Y, context=context_of(data))
    model.set_params(threads=2).rank(X[:3], 2)
    assert model.memory_.threads == 2


def test_explanations_name_words_and_neighbours(data):
    words, space, X, Y = data
    model = TReaderXml(**SMALL).fit(X, Y, context=context_of(data, documents=["a text"] * len(X)))
    text = words.transform(["noise1 topic3a topic3b noise2 noise5 topic3c"])
    told = model.explain(text, 0, space.index("label 03"))
    heaviest = told.ids[np.argsort(-told.weights)[:2]]
    assert {*heaviest.tolist()} <= {1, 2, 5}
    assert len(told.neighbours) == 5
    assert told.neighbours[0].text == "a text"
    similar = [each.similarity for each in told.neighbours]
    assert similar == sorted(similar, reverse=True)
    voted = dict(told.parts)["neighbours"]
    assert voted > 0
    assert dict(model.explain(text, 0, space.index("label 07")).parts)["neighbours"] < voted
    without = TReaderXml(**{**QUICK, "votes": False}).fit(X, Y, context=context_of(data))
    assert not without.explain(text, 0, 3).parts
    with pytest.raises(InputError, match="label 99"):
        model.explain(text, 0, 99)


def test_an_interrupted_training_belongs_to_its_teacher(data, tmp_path):
    _, _, X, Y = data
    settings = {**SMALL, "epochs": 2, "checkpoint_minutes": 0}
    run = Run(folder=tmp_path / "run")
    TReaderXml(**settings).fit(X, Y, context=context_of(data, run=run))
    again = Run(folder=tmp_path / "run", resume=True)
    fresh = context_of(data, run=again)
    with pytest.raises(InputError, match="described was 4 and is 2"):
        TReaderXml(**{**settings, "described": 2}).fit(X, Y, context=fresh)
    words, space, _, _ = data
    renamed = LabelSpace(space.ids, space.counts, space.n_documents, names=["noise1"] * 12)
    other = FitContext(labels=renamed, featurizers={"text": words}, run=again)
    with pytest.raises(InputError, match="checksum of the teacher"):
        TReaderXml(**settings).fit(X, Y, context=other)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"reading": "masked"}, "reading"),
        ({"reading": ["skim"]}, "reading"),
        ({"by": "sound"}, "by"),
        ({"neighbours": 0}, "neighbours must be a whole number from 1"),
        ({"copies": 1.5}, "copies must be a cosine"),
        ({"heads": 0}, "heads"),
        ({"described": 0}, "described"),
        ({"positions": "spiral"}, "positions"),
        ({"output": "clusters", "first": "bonsai"}, "first='bonsai' has no effect with clusters"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, message):
    with pytest.raises(InputError, match=message):
        TReaderXml(**settings).check_settings()


def test_documents_without_neighbours_or_labels_are_learned_from():
    texts, labels = known_answer(40)
    texts += ["", "word", "!!"]
    labels += [["label 00"], [], ["label 01"]]
    tagger = Tagger(TReaderXml(**QUICK), validation=0).fit(texts, labels)
    assert len(tagger.tag("never seen before", k=3)) == 3
    single = Tagger(TReaderXml(**QUICK), validation=0).fit(["one text"], [["a"]])
    assert single.tag("one text")[0].label == "a"


def test_held_out_documents_are_remembered_after_calibration():
    texts, labels = known_answer(120)
    tagger = Tagger(TReaderXml(**QUICK)).fit(texts, labels)
    held = [text for text in texts if text_fraction(text, 0) < 0.1]
    begin = tagger.model_.memory_.memory.texts
    assert len(begin) == 120
    assert all(
        text.startswith(some.rstrip(" …"))
        for text, some in zip(held, begin[-len(held) :], strict=True)
    )
    ranking, _ = tagger.learned_.held_out  # of a model that did not find each of them
    assert len(ranking) == len(held)
    assert not np.allclose(tagger.rank(held, 12).scores, ranking.scores)


def test_it_is_a_partner_in_a_consensus(data):
    texts, labels = known_answer(120)
    one = Tagger(TReaderXml(**QUICK)).fit(texts, labels)
    two = Tagger("bonsai").fit(texts, labels)
    both = Tagger.combine([one, two])
    assert isinstance(both.model_, Consensus)
    chances = [each.rank(texts[:5], 12) for each in (one, two, both)]
    for row in range(5):
        p, q, r = (dict(each.row(row)) for each in chances)
        for label in p.keys() & q.keys():
            assert r[label] == pytest.approx(1 - (1 - p[label]) * (1 - q[label]), abs=1e-4)
