"""What a trial learns from, is stopped by and is judged by."""

import gc
from weakref import WeakSet

import numpy as np
import pytest

from labelgrove.core.errors import GivenUpError, InputError
from labelgrove.core.progress import Silent
from labelgrove.core.types import Run
from labelgrove.corpus import read_corpus
from labelgrove.tagger.learning import new_featurizers, prepare
from labelgrove.tuning.dataset import Dataset
from labelgrove.tuning.dataset_cache import DatasetCache
from labelgrove.tuning.metric import Metric
from labelgrove.tuning.trial import attempt
from tuning_stand_ins import BEST, Planted, Watching


def prepared(corpus, validation=0.1, texts=None):
    found = read_corpus(texts or corpus)
    model = Planted()
    parts = new_featurizers(model.views(), None, found, 1)
    return prepare(found, model, parts, vocabulary=None, validation=validation, seed=0, run=Run())


@pytest.fixture(scope="module")
def dataset(corpus):
    return Dataset.of(prepared(corpus))


def test_parts_of_the_training_documents_are_apart_from_those_that_judge(dataset):
    n = len(dataset.hash_fractions)
    train, own = dataset.own_part()
    assert train[0].shape[0] + own[0].shape[0] == n
    assert 0.05 * n < own[0].shape[0] < 0.15 * n
    quarter = dataset.first_part()
    assert 0.2 * n < quarter[0].shape[0] < 0.3 * n
    assert dataset.whole()[0].shape[0] == n
    assert n + dataset.held_out()[0].shape[0] == 400


def test_copies_fall_on_one_side(corpus):
    texts, labels = corpus
    twice = ([*texts, *texts], [*labels, *labels])
    train, own = Dataset.of(prepared(None, texts=twice)).own_part()
    # every row of either part stands there an even number of times
    for X, _ in (train, own):
        _, counts = np.unique(X.toarray().round(5), axis=0, return_counts=True)
        assert (counts % 2 == 0).all()


def test_a_dataset_comes_back_from_the_disk(dataset, tmp_path):
    dataset.write(tmp_path / "dataset")
    found = Dataset.read(tmp_path / "dataset")
    assert found.checksum() == dataset.checksum()
    assert (found.train[0] != dataset.train[0]).nnz == 0
    assert np.array_equal(found.hash_fractions, dataset.hash_fractions)


def test_other_documents_have_another_checksum(dataset, corpus):
    texts, labels = corpus
    changed = ([*texts[:-1], texts[-1] + " topic0a"], labels)
    assert Dataset.of(prepared(None, texts=changed)).checksum() != dataset.checksum()


def test_nothing_to_judge_by_is_refused(corpus):
    with pytest.raises(InputError, match="needs documents to judge by"):
        Dataset.of(prepared(corpus, validation=0.0))


def test_a_model_that_does_not_stop_early_reports_from_a_quarter(dataset):
    told = []
    scores, _ = attempt(dataset, Planted(BEST), Metric("P@1"), lambda *each: told.append(each))
    ((step, score),) = told
    assert (step, scores["P@1"] > 0.9, 0.5 < score <= 1) == (1, True, True)
    silent, _ = attempt(dataset, Planted(BEST), Metric("P@1"), None)
    assert silent == scores


def test_a_model_that_stops_early_is_given_documents_of_its_own(dataset):
    told, model = [], Watching(BEST)
    attempt(dataset, model, Metric(), lambda *each: told.append(each))
    assert told == [(1, 0.1), (2, 0.2)], "only the first network is compared"
    attempt(dataset, Watching(), Metric("hamming-loss"), lambda *each: told.append(each))
    assert told[2:] == [(1, -0.1), (2, -0.2)], "less is better in this search"
    X, _, validation = model.given_
    assert X.shape[0] + validation[0].shape[0] == len(dataset.hash_fractions)


def test_a_report_can_end_a_trial(dataset):
    def stop(step, score):
        raise GivenUpError("enough")

    for model in (Planted(), Watching()):
        with pytest.raises(GivenUpError):
            attempt(dataset, model, Metric(), stop)


def test_material_that_was_half_written_is_made_anew(corpus, tmp_path):
    words = {"seed": 0, "threads": 1, "folder": tmp_path, "progress": Silent()}
    folder = DatasetCache(read_corpus(corpus), None, 0.1, **words).find(Planted(), {})
    whole = Dataset.read(folder)
    half = folder.rename(folder.with_suffix(".part"))
    (half / "values.json").unlink()
    assert DatasetCache(read_corpus(corpus), None, 0.1, **words).find(Planted(), {}) == folder
    assert Dataset.read(folder).checksum() == whole.checksum()
    assert [*tmp_path.iterdir()] == [folder]


def test_the_model_of_a_part_is_gone_when_the_whole_is_learned(dataset):
    class Noted(Planted):
        def _fit(self, X, Y, context):
            gc.collect()
            others = len(alive - {self})
            alive.add(self)
            counts.append((X.shape[0], others))
            super()._fit(X, Y, context)

    alive, counts = WeakSet(), []
    attempt(dataset, Noted(), Metric("nDCG@5"), lambda step, score: None)
    (part, _), (whole, others) = counts
    assert part < whole
    assert others == 0
