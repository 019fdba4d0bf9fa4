import io
import re
from copy import copy
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from labelgrove import LabelSpace, Run, Tagger, read_corpus
from labelgrove.core.errors import InputError, LabelgroveError, NotFittedError, UnknownNameError
from labelgrove.core.progress import Lines
from labelgrove.core.random import text_fraction
from labelgrove.core.types import Document
from labelgrove.evaluation import tune_label_thresholds
from labelgrove.models.contract import known_answer
from labelgrove.models.most_frequent import MostFrequent
from labelgrove.text import Tfidf
from stand_ins import Centroid, Demanding

TEXTS, LABELS = known_answer(600)
TRAIN = TEXTS[:500], LABELS[:500]
TEST = TEXTS[500:], LABELS[500:]


@pytest.fixture(scope="module")
def tagger():
    return Tagger(Centroid()).fit(*TRAIN)


def test_it_learns_and_tags(tagger):
    tags = tagger.tag("topic3a topic3b topic3c", k=3)
    assert tags[0].label == "label 03"
    assert tags[0].name == "label 03"
    assert 0.5 < tags[0].score <= 1
    assert [tag.score for tag in tags] == sorted((tag.score for tag in tags), reverse=True)
    assert tagger.tag(["topic3a topic3b topic3c"], k=3) == [tags]


def test_scores_are_honest(tagger):
    scores = tagger.evaluate(*TEST)
    assert scores["P@1"] > 0.95
    assert scores["micro-F1"] > 0.8
    assert {"nDCG@5", "PSP@3", "macro-F1", "hamming-loss"} <= scores.keys()
    assert tagger.score(*TEST) == pytest.approx(scores["nDCG@5"])
    assert tagger.scores_["P@1"] > 0.9


def test_calibration_changes_no_ranking(tagger):
    learned = tagger.learned_
    raw = learned.model.rank(learned.features(TEST[0]), 5)
    calibrated = tagger.rank(TEST[0], 5)
    assert np.array_equal(raw.labels, calibrated.labels)
    assert not np.array_equal(raw.scores, calibrated.scores)


def test_calibrated_scores_are_probabilities(tagger):
    ranking = tagger.rank(TEST[0], 12)
    hits = ranking.hits(tagger.labels_.encode(TEST[1]))
    assert abs(ranking.scores.mean() - hits.mean()) < 0.03


@pytest.mark.parametrize(("share", "seed"), [(0.1, 0), (0.3, 1)])
def test_documents_are_held_out_by_a_hash_of_their_text(share, seed):
    tagger = Tagger(Centroid(), validation=share, seed=seed).fit(*TRAIN)
    held = [
        labels for text, labels in zip(*TRAIN, strict=True) if text_fraction(text, seed) < share
    ]
    _, Y = tagger.learned_.held_out
    assert (tagger.labels_.encode(held) != Y).nnz == 0


def test_texts_are_hashed_only_where_some_are_held_out():
    corpus = read_corpus((TEXTS, LABELS))
    without, some = (
        Tagger(Centroid(), validation=share)._prepare(corpus, None, None, None)
        for share in (0, 0.1)
    )
    assert len(without.hash_fractions) == 0
    assert len(some.hash_fractions) == some.train[1].shape[0] < len(TEXTS)
    assert some.hash_fractions.min() >= 0.1


def test_the_kept_model_learned_from_everything(tagger):
    assert tagger.labels_.n_documents == 500
    everything = Tagger(Centroid(), validation=0).fit(*TRAIN)
    assert (everything.model_.weights_ != tagger.model_.weights_).nnz == 0
    assert everything.scores_ == {}


def test_copies_of_a_text_fall_on_one_side():
    class Counting(Centroid):
        sizes: list = []  # noqa: RUF012

        def _fit(self, X, Y, context):
            self.sizes.append(X.shape[0])
            super()._fit(X, Y, context)

    Tagger(Counting(), validation=0.5).fit([TEXTS[0]] * 20 + [TEXTS[1]] * 20, [LABELS[0]] * 40)
    assert set(Counting.sizes) <= {20, 40}  # never some of the copies


def test_thresholds(tagger):
    many = tagger.tag(TEST[0][0], k=12)
    some = tagger.tag(TEST[0][0], k=12, threshold="auto")
    assert 0 < len(some) < len(many)
    assert all(tag.score >= tagger.thresholds_["micro"] for tag in some)
    assert tagger.tag(TEST[0][0], k=12, threshold=1.0) == [tag for tag in many if tag.score >= 1]
    with pytest.raises(InputError, match="threshold must be between 0 and 1, got 3"):
        tagger.tag("x", threshold=3)
    with pytest.raises(InputError, match="recall=SHARE, got 'high'"):
        tagger.tag("x", threshold="high")


def test_the_models_own_decision(tagger):
    raw = tagger.model_.rank(tagger.learned_.features(TEST[0]), 12)
    wanted = (raw.scores >= 0.5).sum(axis=1)
    assert wanted.min() < wanted.max()
    assert [len(tags) for tags in tagger.tag(TEST[0], k=12, threshold="own")] == [*wanted]


def test_thresholds_of_labels(tagger):
    thresholds = tagger.label_thresholds_
    assert thresholds.shape == (12,)
    assert len(set(thresholds.tolist())) > 6
    ids = tagger.labels_.ids
    for many, some in zip(
        tagger.tag(TEST[0], k=12), tagger.tag(TEST[0], k=12, threshold="per-label"), strict=True
    ):
        assert some == [tag for tag in many if tag.score >= thresholds[ids.index(tag.label)]]
    scores = tagger.evaluate(*TEST, threshold="per-label")
    assert scores["macro-F1"] > 0.8
    assert re.search(r"probability of at least 0\.\d+ to 0\.\d+, by label", scores.notes[0])
    assert [*tagger.learned_.by_label] == pytest.approx(
        [
            *tune_label_thresholds(
                *reversed(tagger.learned_.held_out), 12, tagger.thresholds_["macro"]
            )
        ]
    )


def test_a_label_of_low_threshold_is_given_though_it_is_not_among_the_best(tagger):
    first, second = tagger.tag(TEST[0][0], k=2)
    strict = np.ones(12, np.float32)
    strict[tagger.labels_.find(second.label)] = 0.0
    picky = copy(tagger)
    picky.learned_ = replace(tagger.learned_, by_label=strict)
    assert picky.tag(TEST[0][0], k=1, threshold="per-label") == [second]
    assert picky.tag(TEST[0][0], k=1, threshold=0.0) == [first]
    documents = [Document(TEST[0][0])]
    assert [*picky.stream(documents, 1, threshold="per-label")] == [(documents[0], [second])]


def test_without_held_out_documents_there_are_no_tuned_thresholds(tmp_path, stand_ins_installed):
    bare = Tagger(Centroid(), validation=0).fit(*TRAIN)
    bare.save(tmp_path / "t")
    assert not (tmp_path / "t" / "thresholds").exists()
    for each in (bare, Tagger.load(tmp_path / "t")):
        with pytest.raises(InputError, match=r"no thresholds of single labels.* or call calibrate"):
            each.tag("x", threshold="per-label")
        assert "nothing was held out to tune a threshold on, so auto is 0.5" in " ".join(
            each.evaluate(*TEST).notes
        )
        assert "nothing was held out" not in " ".join(each.evaluate(*TEST, threshold=0.5).notes)
    both = Tagger.combine([bare, bare])
    with pytest.raises(InputError, match="call calibrate with documents that its partners"):
        both.evaluate(*TEST, threshold="per-label")
    both.calibrate(*TRAIN)
    assert both.label_thresholds_.shape == (12,)
    assert both.evaluate(*TEST, threshold="per-label")["macro-F1"] > 0.8


def test_save_and_load(tagger, tmp_path, stand_ins_installed):
    tagger.save(tmp_path / "t")
    loaded = Tagger.load(tmp_path / "t")
    before, after = tagger.rank(TEST[0], 5), loaded.rank(TEST[0], 5)
    assert np.array_equal(before.labels, after.labels)
    assert np.array_equal(before.scores, after.scores)
    assert loaded.thresholds_ == tagger.thresholds_
    assert np.array_equal(loaded.label_thresholds_, tagger.label_thresholds_)
    assert loaded.scores_ == tagger.scores_
    assert loaded.evaluate(*TEST) == tagger.evaluate(*TEST)
    assert isinstance(clone(loaded).fit(*TRAIN).model_, Centroid)


def test_a_tagger_of_a_model_that_is_not_installed(tagger, tmp_path):
    tagger.save(tmp_path / "t")
    with pytest.raises(InputError, match="a model that is not installed: unknown model 'centroid'"):
        Tagger.load(tmp_path / "t")


def test_only_taggers_are_loaded(tagger, tmp_path):
    tagger.model_.save(tmp_path / "m")
    with pytest.raises(InputError, match="holds a 'centroid', not a tagger"):
        Tagger.load(tmp_path / "m")


def test_labels_that_only_the_test_knows_are_misses(tagger):
    scores = tagger.evaluate(TEST[0][:2], [["never seen"], ["never seen", "nor this"]])
    assert scores["P@1"] == 0
    assert any("2 labels (100.0% of the occurrences)" in note for note in scores.notes)


def test_documents_without_labels_are_said(tagger):
    scores = tagger.evaluate(TEST[0][:2], [[], LABELS[501]])
    assert any("1 document has no label" in note for note in scores.notes)


def test_explanations_are_words(tagger):
    text = "Noise1 TOPIC3a noise2 topic3b topic3a"
    evidence = tagger.explain(text, "label 03")
    assert {found.text for found in evidence[:2]} == {"TOPIC3a", "topic3b"}
    first = next(found for found in evidence if found.text == "TOPIC3a")
    assert [text[start:end] for start, end in first.places] == ["TOPIC3a", "topic3a"]
    with pytest.raises(UnknownNameError, match="unknown label 'label 3'"):
        tagger.explain(text, "label 3")


def test_names_and_concepts_of_a_vocabulary(tmp_path):
    rows = [f"label {i:02d}\tName {i}\tgroup" for i in range(12)]
    (tmp_path / "labels.tsv").write_text("\n".join([*rows, "group\tThe group\t"]) + "\n")
    tagger = Tagger("most-frequent").fit(*TRAIN, vocabulary=tmp_path / "labels.tsv")
    assert tagger.tag("x", k=1)[0].name == "Name 0"
    assert tagger.labels_.n_labels == 12
    with pytest.raises(InputError, match="'The group' had no document in training"):
        tagger.explain("x", "The group")


class ByName(Demanding):
    """Remembers what it is given, as a model that ranks labels by their names."""

    ranks_by_name = True

    def views(self):
        views = super().views()
        return views | {"words": replace(views["words"], reads_names=True)}

    def _fit(self, X, Y, context):
        super()._fit(X, Y, context)
        self.given_ = [len(X["words"]), X["bag"].shape[0], *Y.shape, context.labels.n_labels]


def test_a_model_that_ranks_by_name_gets_the_labels_without_documents(tmp_path):
    rows = [f"label {i:02d}\tName {i}\t\t\tzero|Null {i}" for i in range(14)]
    (tmp_path / "labels.tsv").write_text("\n".join(rows) + "\n")
    told = io.StringIO()
    tagger = Tagger(ByName(), validation=0).fit(
        *TRAIN,
        vocabulary=tmp_path / "labels.tsv",
        run=Run(folder=tmp_path / "run", progress=Lines(told)),
    )
    assert tagger.model_.given_ == [500, 500, 500, 14, 14]
    words = tagger.learned_.featurizers["words"]
    assert {"name", "13", "zero", "null"} <= set(words.vocabulary)
    bag = tagger.learned_.featurizers["bag"]
    assert not bag.transform(["name null"]).nnz  # a view that does not ask for names
    assert tagger.labels_.counts[12:].tolist() == [0, 0]
    assert "2 of the labels have no document yet" in told.getvalue()


def test_every_demand_of_a_model_is_met(tmp_path, stand_ins_installed):
    tagger = Tagger("demanding").fit(*TRAIN, run=Run(folder=tmp_path / "run"))
    model = tagger.model_
    assert 20 < model.validated_on_ < 80  # about a tenth
    words = tagger.learned_.featurizers["words"]
    # label names went through the vocabulary: "label 03" is two words nobody used, so UNK
    assert model.name_tokens_.shape[0] == 12
    assert model.name_tokens_.shape[1] == words.transform(["x"]).shape[1]
    assert (tmp_path / "run" / "model" / "state.json").exists()
    assert [found.text for found in tagger.explain("topic1a zzz topic1b", "label 01")] == [
        "topic1a",
        "zzz",
        "topic1b",
    ]
    tagger.save(tmp_path / "t")
    loaded = Tagger.load(tmp_path / "t")
    assert np.array_equal(loaded.rank(TEST[0], 3).scores, tagger.rank(TEST[0], 3).scores)


def test_resume_goes_on_where_it_stopped(tmp_path):
    run = Run(folder=tmp_path / "run")
    with pytest.raises(KeyboardInterrupt):
        Tagger(Demanding(stop_after=2)).fit(*TRAIN, run=run)
    again = Tagger(Demanding()).fit(*TRAIN, run=Run(folder=tmp_path / "run", resume=True))
    assert again.model_.seen_ == [0, 1, 2, 3]


def test_a_failed_fit_leaves_the_old_state(tagger):
    class Failing(Centroid):
        def _fit(self, X, Y, context):
            raise InputError("no")

    own = clone(tagger).fit(*TRAIN)
    before = own.rank(TEST[0], 3)
    own.model = Failing()
    with pytest.raises(InputError, match="no"):
        own.fit(TEXTS[:50], [["other"]] * 50)
    assert np.array_equal(own.rank(TEST[0], 3).labels, before.labels)


def test_given_validation_documents(tagger):
    lines = []

    class Recorded(Lines):
        def say(self, message):
            lines.append(message)

    given = Tagger(Centroid()).fit(*TRAIN, validation=TEST, run=Run(progress=Recorded()))
    assert any(line.startswith("calibrating on held-out documents: 100 doc") for line in lines)
    assert (given.model_.weights_ != tagger.model_.weights_).nnz == 0
    assert given.scores_["P@1"] == given.evaluate(*TEST)["P@1"]


def test_same_seed_same_tagger_and_threads_do_not_matter():
    one = Tagger(Centroid(), threads=1).fit(*TRAIN)
    two = Tagger(Centroid(), threads=2).fit(*TRAIN)
    assert np.array_equal(one.rank(TEST[0], 5).scores, two.rank(TEST[0], 5).scores)


def test_scikit_learn_searches_and_clones():
    tagger = Tagger(Centroid(), validation=0)
    assert tagger.get_params()["model__power"] == 1.0
    search = GridSearchCV(tagger, {"model__power": [1.0, 2.0]}, cv=2).fit(*TRAIN)
    assert search.best_score_ > 0.9
    named = Tagger("most-frequent").set_params(model__seed=7)
    assert isinstance(named.model, MostFrequent)
    assert named.model.seed == 7
    assert Tagger("most-frequent").get_params()["model__seed"] == 0
    assert clone(Tagger("most-frequent", seed=3)).seed == 3


def test_features_can_be_chosen():
    tagger = Tagger(Centroid(), features=Tfidf(ngrams=(1, 2)), validation=0).fit(*TRAIN)
    plain = Tagger(Centroid(), features="tf-idf", validation=0).fit(*TRAIN)
    assert tagger.model_.weights_.shape[1] > plain.model_.weights_.shape[1]
    with pytest.raises(InputError, match="no view 'words'; it has text"):
        Tagger(Centroid(), features={"words": "tf-idf"}).fit(*TRAIN)
    with pytest.raises(InputError, match="several ways"):
        Tagger(Demanding(), features="tf-idf").fit(*TRAIN)


def test_features_of_the_repository_form(tmp_path):
    lines = [f"{i % 3} {i % 3}:1.0 {3 + i % 5}:0.5" for i in range(60)]
    (tmp_path / "data.svm").write_text("\n".join(["60 8 3", *lines]) + "\n")
    corpus = read_corpus(tmp_path / "data.svm", format="svmlight")
    tagger = Tagger(Centroid()).fit(corpus)
    assert tagger.evaluate(corpus)["P@1"] == 1
    assert tagger.tag("2:1.0", k=1)[0].label == "2"
    with pytest.raises(InputError, match="holds features instead of texts"):
        Tagger(Demanding()).fit(corpus)


@pytest.mark.parametrize(
    ("texts", "labels", "message"),
    [
        ([], [], "the list of texts is empty"),
        (["apples", "pears"], [[], []], "label"),
        (["a", "b"], [["x"]], "2.*1|1.*2"),
        (["a"], ["x"], "list"),
    ],
)
def test_nothing_to_learn_from(texts, labels, message):
    with pytest.raises(InputError, match=message):
        Tagger().fit(texts, labels)


def test_one_single_label_and_one_single_document():
    assert Tagger().fit(["apples", "pears"], [["x"], ["x"]]).tag("c", k=99)[0].label == "x"
    assert Tagger().fit(["apples"], [["x"]]).tag("c")[0].label == "x"


def test_a_wrong_share_is_refused():
    with pytest.raises(InputError, match=r"validation must be .* got 1.5"):
        Tagger(validation=1.5).fit(*TRAIN)


def test_an_unfitted_tagger_says_so(tmp_path):
    for use in (
        lambda: Tagger().tag("x"),
        lambda: Tagger().evaluate(["x"], [["y"]]),
        lambda: Tagger().save(tmp_path / "t"),
        lambda: Tagger().explain("x", "y"),
        lambda: Tagger().labels_,
    ):
        with pytest.raises(NotFittedError, match="call fit, or"):
            use()


def test_one_text_where_several_are_expected(tagger):
    with pytest.raises(LabelgroveError, match="several texts, got 'one text': put it in a list"):
        tagger.rank("one text")
    with pytest.raises(LabelgroveError, match="a text or several texts, got None"):
        tagger.tag(None)
    with pytest.raises(LabelgroveError, match="a text or several texts, got b'one'"):
        tagger.tag(b"one")
    with pytest.raises(LabelgroveError, match="k must be a whole number from 1, got True"):
        tagger.tag("one", k=True)


def test_streaming_keeps_order_and_needs_no_list(tagger, monkeypatch):
    monkeypatch.setattr("labelgrove.tagger.batches.FIRST_DOCUMENTS", 7)
    documents = (document for document in read_corpus(TEST))
    streamed = list(tagger.stream(documents, k=2))
    assert [document.text for document, _ in streamed] == list(TEST[0])
    assert [tags for _, tags in streamed] == tagger.tag(TEST[0], k=2)


def test_the_label_space_is_that_of_the_corpus(tagger):
    assert tagger.labels_ == LabelSpace.from_labels(TRAIN[1])


def test_tables_and_corpora_can_be_tagged(tagger):
    import pandas as pd

    wanted = tagger.tag(TEST[0], k=2)
    assert tagger.tag(pd.DataFrame({"text": TEST[0], "labels": TEST[1]}), k=2) == wanted
    assert tagger.tag(read_corpus(TEST), k=2) == wanted
    assert tagger.tag(pd.Series(TEST[0]), k=2) == wanted
    assert tagger.tag(iter(TEST[0]), k=2) == wanted


def test_numbers_of_numpy_are_saved(tmp_path):
    Tagger("most-frequent", seed=np.int64(3)).fit(*TRAIN).save(tmp_path / "t")
    assert Tagger.load(tmp_path / "t").model_.seed == 3


def test_settings_of_a_view():
    tagger = Tagger(Centroid(), features={"text": {"min_df": 20}}, threads=1).fit(*TRAIN)
    assert tagger.learned_.featurizers["text"].min_df == 20
    assert tagger.learned_.featurizers["text"].threads == 1


@pytest.mark.parametrize(
    "settings", [{"seed": "x"}, {"seed": -1}, {"threads": 0}, {"validation": None}]
)
def test_wrong_settings_are_refused(settings):
    with pytest.raises(InputError, match=next(iter(settings))):
        Tagger("most-frequent", **settings).fit(*TRAIN)


def test_concepts_that_nobody_uses_do_not_make_the_hamming_loss_smaller(tmp_path):
    texts, labels = ["red apple", "red car", "green apple", "green car"] * 5, [["a"], ["b"]] * 10
    (tmp_path / "few.tsv").write_text("a\tA\t\nb\tB\t\n")
    (tmp_path / "many.tsv").write_text(
        "a\tA\t\nb\tB\t\n" + "".join(f"{i}\tX\t\n" for i in range(50))
    )
    test = (["red apple", "blue boat"], [["b"], ["new"]])
    found = [
        Tagger(validation=0).fit(texts, labels, vocabulary=tmp_path / name).evaluate(*test)
        for name in ("few.tsv", "many.tsv")
    ]
    assert found[0]["hamming-loss"] == found[1]["hamming-loss"] > 0
