"""A class for each set of labels."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from labelgrove import models
from labelgrove.core.errors import InputError
from labelgrove.models.contract import CHECKS, Case
from labelgrove.models.linear.label_powerset import LabelPowerset
from labelgrove.models.linear.label_sets import random_sets, whole_sets

Y = csr_array(
    np.array([[1, 1, 0, 0], [1, 1, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0], [1, 1, 1, 0], [0, 0, 0, 0]])
    .astype(np.float32)
)  # fmt: skip


def test_a_rare_set_counts_for_the_largest_within_it():
    found = whole_sets(Y, least=2)
    assert found.members.toarray().tolist() == [[1, 1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 0]]
    assert found.documents.toarray().tolist() == [
        *([[1, 0, 0]] * 2),
        *([[0, 1, 0]] * 2),
        [1, 1, 1],  # the third has a label that the others lack
        [0, 0, 0],
    ]


def test_every_set_is_kept_where_one_document_is_enough():
    found = whole_sets(Y, least=1)
    assert found.members.sum(axis=1).tolist() == [3, 2, 1, 0]
    assert found.documents.sum(axis=1).tolist() == [1] * 6
    assert ((found.documents @ found.members) != Y).nnz == 0


def test_random_sets_hold_what_documents_have_of_them():
    found = random_sets(Y, 2, 6, np.random.default_rng(0))
    assert found.documents.sum(axis=1).tolist() == [6] * 6
    told = (found.documents @ found.members).toarray()
    assert np.array_equal(told, 3 * Y.toarray())  # 6 sets of 2 out of 4: each label in 3
    assert np.array_equal(np.unique(found.group), np.arange(6))
    sizes = [found.members[found.group == each].toarray().any(axis=0).sum() for each in range(6)]
    assert max(sizes) == 2


def test_a_label_is_as_probable_as_its_sets(tmp_path):
    case = Case(lambda folder: LabelPowerset(), tmp_path)
    model, X = case.fitted, case.test[0]
    scores = model.forest_.rank(X[:1], len(model.group_), 1, 12.0)
    odds = np.empty(len(model.group_))
    odds[scores.labels[0]] = scores.scores[0] / (1 - scores.scores[0])
    shares = (odds / odds.sum()) @ model.members_.toarray()
    ranking = model.rank(X[:1], 12)
    assert np.allclose(ranking.scores[0], np.sort(shares)[::-1], atol=1e-4)


def test_labels_of_random_sets_are_averaged(tmp_path):
    case = Case(lambda folder: LabelPowerset(sets="random", size=2, random=12), tmp_path)
    model, X = case.fitted, case.test[0]
    scores = model.forest_.rank(X[:1], len(model.group_), 1, 3.0)
    odds = np.empty(len(model.group_))
    odds[scores.labels[0]] = scores.scores[0] / (1 - scores.scores[0])
    expected = np.zeros((12, 12))
    for group in range(12):
        own = model.group_ == group
        expected[group] = (odds[own] / odds[own].sum()) @ model.members_[own].toarray()
    ranking = model.rank(X[:1], 12)
    for label, score in ranking.row(0):
        assert score == pytest.approx(expected[:, label].sum() / 2, abs=1e-4)


@pytest.mark.parametrize("check", [*CHECKS])
def test_with_random_sets_it_keeps_the_contract(check, tmp_path):
    CHECKS[check](Case(lambda folder: LabelPowerset(sets="random"), tmp_path))


def test_settings_of_the_other_sets_are_refused():
    for settings in ({"size": 4}, {"random": 9}, {"sets": "random", "least": 4}):
        with pytest.raises(InputError, match="is of sets="):
            models.create("label-powerset", **settings).check_settings()


def test_altered_sets_are_refused(tmp_path):
    model = LabelPowerset(least=1).fit(Y, Y)
    model.check_state()
    for name, value in (
        ("group_", model.group_ + 1),
        ("group_", model.group_[:-1]),
        ("members_", model.members_[:, :2]),
    ):
        kept = getattr(model, name)
        setattr(model, name, value)
        with pytest.raises(ValueError, match=r"group_|members_|children|label"):
            model.check_state()
        setattr(model, name, kept)
