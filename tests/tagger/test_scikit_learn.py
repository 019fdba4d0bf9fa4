"""A tagger as an estimator of scikit-learn, asked by scikit-learn itself."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.metrics import f1_score, label_ranking_average_precision_score
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, MultiLabelBinarizer
from sklearn.utils.validation import check_is_fitted

from labelgrove import Tagger, read_corpus
from labelgrove.core.errors import InputError, NotFittedError
from labelgrove.models.contract import known_answer
from stand_ins import Centroid

TEXTS, LABELS = known_answer(300)
BINARIZER = MultiLabelBinarizer()
Y = BINARIZER.fit_transform(LABELS)
NAMES = BINARIZER.classes_
FRAME = pd.DataFrame(Y, columns=NAMES)
N = 200  # documents to learn from
TEST = TEXTS[N:]


def learned(labels, **options):
    return Tagger(Centroid()).fit(TEXTS[:N], labels[:N], **options)


@pytest.fixture(scope="module")
def lists():
    return learned(LABELS)


@pytest.fixture(scope="module")
def dense():
    return learned(Y, label_names=NAMES)


@pytest.fixture(scope="module")
def sparse():
    return learned(sp.csr_array(Y), label_names=NAMES)


def test_labels_go_out_in_the_form_in_which_they_came(lists, dense, sparse):
    given = lists.predict(TEST, threshold=0.3)
    assert given == [[t.label for t in tags] for tags in lists.tag(TEST, k=100, threshold=0.3)]
    matrix, rows = dense.predict(TEST, threshold=0.3), sparse.predict(TEST, threshold=0.3)
    assert isinstance(matrix, np.ndarray)
    assert isinstance(rows, sp.csr_array)
    assert np.array_equal(matrix, rows.toarray())
    assert [{*row} for row in BINARIZER.inverse_transform(matrix)] == [{*row} for row in given]
    assert f1_score(Y[N:], matrix, average="micro") > 0.85


def test_columns_are_those_of_the_training_also_without_documents():
    names = ["zzz", *NAMES[::-1], "aaa"]
    labels = np.hstack([np.zeros((300, 1), int), Y[:, ::-1], np.zeros((300, 1), int)])
    tagger = learned(labels, label_names=names)
    assert tagger.classes_.tolist() == names
    assert tagger.labels_.n_labels == len(NAMES)
    assert f1_score(labels[N:], tagger.predict(TEST), average="micro") > 0.85
    assert tagger.score(TEST, labels[N:]) == learned(Y).score(TEST, Y[N:])


def test_probabilities_are_those_of_the_best_labels(lists, dense, sparse):
    scores = sparse.predict_proba(TEST, k=3)
    assert scores.shape == (100, len(NAMES))
    assert (np.diff(scores.indptr) == 3).all()
    for text, row in zip(TEST[:5], scores.toarray(), strict=False):
        best = {NAMES[j]: row[j] for j in np.flatnonzero(row)}
        assert best == {tag.label: np.float32(tag.score) for tag in sparse.tag(text, k=3)}
    assert (lists.predict_proba(TEST, k=3) != scores).nnz == 0
    assert np.array_equal(dense.predict_proba(TEST, k=3), scores.toarray())
    assert label_ranking_average_precision_score(Y[N:], dense.predict_proba(TEST)) > 0.95


def test_saved_and_loaded_it_answers_alike(dense, sparse, tmp_path, stand_ins_installed):
    for number, tagger in enumerate((dense, sparse)):
        tagger.save(tmp_path / str(number))
        loaded = Tagger.load(tmp_path / str(number))
        assert type(loaded.predict(TEST)) is type(tagger.predict(TEST))
        assert (loaded.predict(TEST) != tagger.predict(TEST)).sum() == 0
        assert loaded.classes_.tolist() == tagger.classes_.tolist()


def test_evaluating_takes_every_form(lists, dense):
    expected = lists.evaluate(TEST, LABELS[N:])
    assert dense.evaluate(TEST, Y[N:]) == dense.evaluate(TEST, LABELS[N:]) == expected
    assert lists.evaluate(TEST, FRAME[N:]) == expected
    assert lists.evaluate(TEST, sp.csr_array(Y[N:]), label_names=NAMES) == expected
    with pytest.raises(InputError, match=r"learned from lists of labels, .* give label_names="):
        lists.evaluate(TEST, Y[N:])
    with pytest.raises(InputError, match="has 3 columns, and 12 labels are known for them"):
        dense.evaluate(TEST, Y[N:, :3])


def test_held_out_documents_have_the_columns_of_the_training():
    tagger = Tagger(Centroid()).fit(TEXTS[:N], Y[:N], label_names=NAMES, validation=(TEST, Y[N:]))
    assert tagger.scores_["P@1"] > 0.9


def test_a_frame_of_texts_and_labels():
    frame = FRAME.astype(bool).assign(text=TEXTS)
    tagger = Tagger(Centroid()).fit(frame[:N])
    assert tagger.classes_.tolist() == [*NAMES]
    assert tagger.predict(frame[N:]).shape == (100, len(NAMES))
    assert tagger.evaluate(frame[N:]) == tagger.evaluate(read_corpus((TEST, LABELS[N:])))


@pytest.mark.parametrize("labels", [Y, FRAME], ids=["array", "frame"])
def test_scores_of_scikit_learn(labels):
    tagger = Tagger(Centroid())
    for scoring in ("f1_micro", "accuracy", "roc_auc", None):
        scores = cross_val_score(tagger, TEXTS, labels, cv=2, scoring=scoring, error_score="raise")
        assert (scores > 0.5).all(), scoring
    assert cross_val_predict(tagger, TEXTS, labels, cv=2).shape == Y.shape


@pytest.mark.parametrize("labels", [Y, sp.csr_array(Y), LABELS], ids=["array", "sparse", "lists"])
def test_searches(labels):
    scoring = None if labels is LABELS else "f1_micro"
    search = GridSearchCV(
        Tagger(Centroid()),
        {"model__power": [1.0, 2.0]},
        cv=2,
        scoring=scoring,
        error_score="raise",
    ).fit(TEXTS, labels)
    assert search.best_score_ > 0.85
    assert len(search.classes_) == len(NAMES)
    assert type(search.predict(TEST)) is type(search.best_estimator_.predict(TEST))


def test_the_last_step_of_a_pipeline():
    def shouted(texts):
        return [text.upper() for text in texts]

    pipeline = Pipeline([("clean", FunctionTransformer(shouted)), ("tagger", Tagger(Centroid()))])
    pipeline.fit(TEXTS[:N], Y[:N], tagger__label_names=NAMES)
    assert pipeline.classes_.tolist() == [*NAMES]
    assert pipeline.score(TEST, Y[N:]) > 0.9
    assert f1_score(Y[N:], pipeline.predict(TEST), average="micro") > 0.85
    searched = GridSearchCV(pipeline, {"tagger__model__power": [1.0]}, cv=2).fit(TEXTS, Y)
    assert searched.best_score_ > 0.85


def test_scikit_learn_knows_whether_it_has_learned(lists):
    check_is_fitted(lists)
    own = clone(lists)
    with pytest.raises(ValueError, match="not fitted"):
        check_is_fitted(own)
    with pytest.raises(NotFittedError):
        own.predict(TEST)


def test_a_wrong_threshold_is_refused(dense):
    with pytest.raises(InputError, match="threshold must be"):
        dense.predict(TEST, threshold="often")


def test_a_matrix_without_names_is_refused_however_it_is_given(lists):
    for given in ((TEST, Y[N:]), ((TEST, Y[N:]),)):
        with pytest.raises(InputError, match="give label_names="):
            lists.evaluate(*given)
