import io
import shutil

import numpy as np
import pytest

import tokenizer_folders
from labelgrove import Run, Tagger
from labelgrove.core.errors import InputError
from labelgrove.core.progress import Lines
from labelgrove.core.types import Estimate, ViewSpec
from labelgrove.corpus import Corpus
from labelgrove.models.contract import known_answer
from stand_ins import Centroid

TEXTS, LABELS = known_answer(300)
TRAIN, VALID = (TEXTS[:200], LABELS[:200]), (TEXTS[200:], LABELS[200:])


class Reads(Centroid):
    """Learns from the counts of subwords; stops before it has learned if it is told to."""

    def __init__(self, stop=False, by_name=False, *, seed=0, threads=None):
        super().__init__(seed=seed, threads=threads)
        self.stop = stop
        self.by_name = by_name

    @property
    def ranks_by_name(self):
        return self.by_name

    def views(self):
        return {"text": ViewSpec("subwords", reads_names=self.by_name)}

    def _fit(self, X, Y, context):
        self.given_ = X
        if self.stop:
            raise KeyboardInterrupt
        super()._fit(X.bag(), Y, context)

    def _rank(self, X, k):
        return super()._rank(X.bag(), k)


class TwoViews(Reads):
    def views(self):
        return {"text": ViewSpec("subwords"), "bag": ViewSpec("tf-idf")}

    def _fit(self, X, Y, context):
        super()._fit(X["text"], Y, context)

    def _rank(self, X, k):
        return super()._rank(X["text"], k)


class Counted(Corpus):
    """A corpus that counts how often it is read."""

    name = "counted"

    def __init__(self, texts, labels):
        self.documents, self.readings = list(Corpus.from_lists(texts, labels)), 0

    def __iter__(self):
        self.readings += 1
        return iter(self.documents)


@pytest.fixture
def tokenizer(tmp_path):
    return tokenizer_folders.roberta(tmp_path / "tokenizer")


@pytest.fixture
def fit(tmp_path, tokenizer):
    """Fit with a run in a folder; returns the tagger and what was said."""

    def fit(train=TRAIN, *, model=None, resume=False, folder=True, view=None, **more):
        told = io.StringIO()
        run = Run(tmp_path / "run" if folder else None, resume, Lines(told))
        features = {"text": {"tokenizer": str(tokenizer), **(view or {})}}
        tagger = Tagger(model or Reads(), features=features)
        corpus = train if isinstance(train, Corpus) else Counted(*train)
        return tagger.fit(corpus, run=run, **more), told.getvalue()

    return fit


def interrupted(fit, *args, model=None, **more):
    with pytest.raises(KeyboardInterrupt):
        fit(*args, model=model or Reads(stop=True), **more)


def same(one, two):
    a, b = one.rank(VALID[0], 5), two.rank(VALID[0], 5)
    assert np.array_equal(a.labels, b.labels)
    assert np.array_equal(a.scores, b.scores)
    assert one.scores_ == two.scores_
    assert one.labels_ == two.labels_
    if one.learned_.held_out is not None:
        assert (one.learned_.held_out[1] != two.learned_.held_out[1]).nnz == 0


def test_nothing_is_tokenized_again(fit, tokenizer, tmp_path):
    straight, told = fit(folder=False)
    assert "already" not in told
    interrupted(fit)
    shutil.rmtree(tokenizer)
    corpus = Counted(*TRAIN)
    resumed, told = fit(corpus, resume=True)
    assert "subwords of 200 documents are there already" in told
    assert corpus.readings == 1
    same(resumed, straight)
    shutil.rmtree(tmp_path / "run")  # the tagger does without it
    resumed.save(tmp_path / "saved")
    with pytest.raises(InputError, match="no such folder"):
        fit()


def test_kept_features_stay_on_the_disk(fit, tmp_path):
    interrupted(fit)
    resumed, _ = fit(resume=True, validation=VALID)
    base = resumed.model_.given_.tokens
    while isinstance(base, np.ndarray) and not isinstance(base, np.memmap):
        base = base.base
    assert isinstance(base, np.memmap)
    state = resumed.learned_.featurizers["text"].tokenizer_
    assert state.base is None  # in memory: the folder may go


def test_a_validation_corpus_is_kept_too(fit, tokenizer):
    straight, _ = fit(folder=False, validation=VALID)
    interrupted(fit, validation=VALID)
    shutil.rmtree(tokenizer)
    held = Counted(*VALID)
    resumed, told = fit(resume=True, validation=held)
    assert "subwords of 200 documents are there already" in told
    assert "subwords of 100 documents are there already" in told
    assert held.readings == 1
    same(resumed, straight)
    other = [*VALID[0][:-1], "other"], VALID[1]
    resumed, told = fit(resume=True, validation=other)
    assert "of 200 documents are there already" in told
    assert "of 100 documents" not in told
    assert resumed.scores_ != straight.scores_


@pytest.mark.parametrize(
    "other",
    [
        {"train": ([*TRAIN[0][:-1], "another"], TRAIN[1])},
        {"train": (TRAIN[0][::-1], TRAIN[1][::-1])},
        {"view": {"length": 9}},
    ],
    ids=["text", "order", "setting"],
)
def test_other_texts_or_settings_are_tokenized(fit, other):
    interrupted(fit)
    resumed, told = fit(resume=True, **other)
    assert "already" not in told
    straight, _ = fit(folder=False, **other)
    same(resumed, straight)
    _, told = fit(resume=True, **other)  # and take the place of the old ones
    assert "already" in told


@pytest.mark.parametrize(
    "other",
    [{"train": ([*TRAIN[0][:-1], "another"], TRAIN[1])}, {"view": {"length": 9}}],
    ids=["text", "setting"],
)
def test_features_of_a_begun_training_are_not_replaced(fit, other, tmp_path):
    interrupted(fit)
    checkpoint = tmp_path / "run" / "model" / "checkpoint"
    checkpoint.mkdir(parents=True)
    with pytest.raises(InputError, match=r"run holds a training on other documents .*resume=False"):
        fit(resume=True, **other)
    _, told = fit(resume=True)
    assert "are there already" in told


def test_threads_may_differ(fit):
    interrupted(fit, view={"threads": 1})
    _, told = fit(resume=True, view={"threads": 2})
    assert "already" in told


def test_a_run_that_starts_anew_replaces_them(fit, tokenizer):
    interrupted(fit)
    shutil.rmtree(tokenizer)
    with pytest.raises(InputError, match="no such folder"):
        fit()
    tokenizer_folders.xlnet(tokenizer)  # another tokenizer under the same name
    tagger, told = fit()
    assert "already" not in told
    resumed, told = fit(resume=True)
    assert "already" in told
    assert resumed.learned_.featurizers["text"].specials == (
        tagger.learned_.featurizers["text"].specials
    )


def test_the_corpus_is_read_once_where_nothing_is_kept(fit):
    corpus, held = Counted(*TRAIN), Counted(*VALID)
    fit(corpus, validation=held)
    assert (corpus.readings, held.readings) == (1, 1)
    fit(corpus, validation=held, resume=True)
    assert (corpus.readings, held.readings) == (2, 2)


def test_damaged_features_are_made_anew(fit, tmp_path):
    straight, _ = fit(folder=False)
    interrupted(fit)
    path = tmp_path / "run" / "features" / "text" / "train" / "values" / "X.tokens.npy"
    data = bytearray(path.read_bytes())
    data[-4] ^= 1
    path.write_bytes(data)
    resumed, told = fit(resume=True)
    assert "features are made anew: " in told
    assert "X.tokens.npy was altered" in told
    same(resumed, straight)


def test_names_of_labels_are_among_the_texts(fit, tmp_path):
    rows = [f"label {i:02d}\tName {i}" for i in range(14)]
    (tmp_path / "labels.tsv").write_text("\n".join(rows) + "\n")
    named = {"vocabulary": tmp_path / "labels.tsv"}
    straight, _ = fit(folder=False, model=Reads(by_name=True), **named)
    interrupted(fit, model=Reads(stop=True, by_name=True), **named)
    resumed, told = fit(resume=True, model=Reads(by_name=True), **named)
    assert "already" in told
    same(resumed, straight)
    (tmp_path / "labels.tsv").write_text("\n".join([*rows, "more\tMore"]) + "\n")
    _, told = fit(resume=True, model=Reads(by_name=True), **named)
    assert "already" not in told


def test_other_views_are_made_as_ever(fit, tokenizer, tmp_path):
    straight, _ = fit(folder=False, model=TwoViews(), validation=VALID)
    interrupted(fit, model=TwoViews(stop=True), validation=VALID)
    assert [path.name for path in (tmp_path / "run" / "features").iterdir()] == ["text"]
    shutil.rmtree(tokenizer)
    resumed, told = fit(resume=True, model=TwoViews(), validation=VALID)
    assert told.count("already") == 2
    same(resumed, straight)


def test_other_featurizers_keep_nothing(tmp_path):
    Tagger(Centroid()).fit(*TRAIN, run=Run(tmp_path / "run"))
    assert not (tmp_path / "run" / "features").exists()


def test_an_estimate_keeps_nothing(tokenizer, tmp_path):
    class Telling(Reads):
        def estimate(self, X, Y, context):
            return Estimate(1.0, X.tokens.nbytes, None)

    tagger = Tagger(Telling(), features={"text": {"tokenizer": str(tokenizer)}})
    assert tagger.estimate(*TRAIN, run=Run(tmp_path / "run")).memory > 0
    assert not (tmp_path / "run").exists()
