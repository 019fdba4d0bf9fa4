"""The parts of an audit: folds, what goes together, the judge, the best findings."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from labelgrove.core.errors import InputError
from labelgrove.corpus import Corpus
from labelgrove.models import create
from labelgrove.models.contract import known_answer
from labelgrove.models.logistic import logistic
from labelgrove.models.neighbours.memory import Nearest
from labelgrove.tagger.audit import AuditOptions, find_suggestions
from labelgrove.tagger.audit.companions import SMOOTHING, LabelCompanions
from labelgrove.tagger.audit.evidence import LabelPairs
from labelgrove.tagger.audit.folds import near_copies
from labelgrove.tagger.audit.suspicions import (
    Suspicion,
    Suspicions,
    _forgotten_if_absent,
    _right_if_given,
    in_turn,
)


def nearest(*similar, n=20):
    """Neighbours of n documents: those given are alike, each so much."""
    documents = np.full((n, 1), -1, np.int32)
    similarities = np.zeros((n, 1), np.float32)
    for first, second, cosine in similar:
        documents[first], similarities[first] = second, cosine
    return Nearest(documents, similarities)


def test_copies_of_copies_are_copies_and_others_are_not():
    near = nearest((0, 1, 0.95), (1, 2, 0.91), (3, 4, 0.89), n=40)
    found = near_copies(near, np.arange(40))
    assert found[:5].tolist() == [0, 0, 0, 3, 4]


def test_of_too_many_near_copies_only_equal_documents_stay_together():
    chain = [(i, i + 1, 0.95) for i in range(15)]
    exact = np.arange(20)
    exact[7] = 3
    found = near_copies(nearest(*chain), exact)
    assert found.tolist() == exact.tolist()


def test_companions_by_hand():
    Y = csr_array(np.array([[1, 1, 0], [1, 1, 0], [1, 0, 0], [0, 0, 1]]))
    companions = LabelCompanions.of(Y)
    # does document 2, with label 0, lack label 1?
    most, lift, usual = companions.columns(Y, np.array([2]), np.array([1]))[0]
    frequency = 2.5 / 5
    share = (2 + SMOOTHING * frequency) / (3 + SMOOTHING)
    assert np.exp(most) == pytest.approx(share, rel=1e-3)
    assert lift == pytest.approx(np.log(share / frequency), rel=1e-5)
    assert np.exp(usual) == pytest.approx(frequency)


def test_a_label_alone_is_as_usual_as_it_is():
    Y = csr_array(np.array([[1, 0], [0, 1]]))
    most, lift, usual = LabelCompanions.of(Y).columns(Y, np.array([0]), np.array([0]))[0]
    assert (most, lift) == (pytest.approx(usual, abs=1e-3), 0)


def test_rows_that_stand_for_several_count_so_often():
    X = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 1.0], [1.0, 0.0]])
    y = np.array([0.0, 1.0, 0.0, 1.0])
    counts = np.array([3.0, 2.0, 1.0, 1.0])
    repeated = np.repeat(np.arange(4), counts.astype(int))
    found = logistic(X, y, np.zeros(2), 0.5, counts)
    assert found == pytest.approx(logistic(X[repeated], y[repeated], np.zeros(2), 0.5))


def test_the_best_of_each_kind_are_kept():
    found = Suspicions(2, {"missing": 0.5, "wrong": 0.5})
    for start in (0, 3):
        pairs = LabelPairs(
            np.arange(start, start + 3),
            np.zeros(3, np.int64),
            np.array([False, False, True]),
            np.empty((3, 0), np.float32),
        )
        chances = np.array([0.6, 0.4, 0.3]) + 0.01 * start
        found.add(pairs, {"missing": chances, "wrong": chances})
    assert [(each.document, round(each.score, 2)) for each in found.of("missing")] == [
        (3, 0.63),
        (0, 0.6),
    ]
    assert [(each.document, round(each.score, 2)) for each in found.of("wrong")] == [
        (2, 0.7),
        (5, 0.67),
    ]


def test_lists_take_turns():
    a, b = ([Suspicion(i, 0, kind, 0.5) for i in range(n)] for kind, n in (("a", 1), ("b", 3)))
    assert [(each.kind, each.document) for each in in_turn(a, b)] == [
        ("a", 0), ("b", 0), ("b", 1), ("b", 2),
    ]  # fmt: skip


def audited(corpus, folder, **changed):
    options = AuditOptions(**{"folds": 3, "threads": 1, "most": 20, **changed})
    return find_suggestions(corpus, create("bonsai", threads=1), folder, options=options)


@pytest.fixture(scope="module")
def corpus():
    texts, labels = known_answer(120)
    return Corpus.from_lists(texts, labels)


def test_an_audit_goes_on_from_its_models_and_finds_the_same(corpus, tmp_path):
    whole = audited(corpus, tmp_path / "models")
    times = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}
    assert audited(corpus, tmp_path / "models") == whole
    same = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}
    assert same == times, "nothing is trained twice"
    (tmp_path / "models" / "fold2").rename(tmp_path / "lost")
    assert audited(corpus, tmp_path / "models") == whole


def test_models_of_another_audit_are_refused(corpus, tmp_path):
    audited(corpus, tmp_path / "models")
    with pytest.raises(InputError, match="holds an audit of other documents"):
        audited(corpus, tmp_path / "models", seed=1)
    with pytest.raises(InputError, match="with other settings"):
        audited(corpus, tmp_path / "models", features={"text": {"ngrams": (1, 2)}})


def test_texts_that_come_twice_and_empty_ones_are_suggested_once_or_never(tmp_path):
    texts, labels = known_answer(120)
    texts, labels = [*texts, texts[0], " "], [*labels, ["label 09"], ["label 08"]]
    labels[0] = ["label 09"]  # wrong in both
    found = audited(Corpus.from_lists(texts, labels), tmp_path, least={"missing": 0, "wrong": 0},
                    most=1_000)  # fmt: skip
    shown = [item.text for item in found.items]
    assert len(set(shown)) == len(shown)
    assert texts[0] in shown
    assert " " not in shown
    assert found.hidden > 0
    assert all(texts[int(item.id) - 1] == item.text for item in found.items), "ids are rows"


def test_given_labels_are_right_as_bayes_rule_says():
    """100 documents, labels of 30, 10 and 0; 3% of what is given is a mistake.

    40 given labels are 40 / 3 a label, so a mistake strikes a pair of the first label with
    0.03 * (40 / 3 + 30) / 200 = 0.0065 and one of the second with 0.0035.
    """
    Y = csr_array(np.repeat([[1, 1, 0], [1, 0, 0], [0, 0, 0]], [10, 20, 70], axis=0))
    probable, labels = np.array([0.01, 0.5, 0.0, 0.2]), np.array([0, 1, 0, 2])
    found = _right_if_given(probable, LabelCompanions.of(Y), labels, 0.03)
    first, second = 0.01 / (0.01 + 0.0065 * 0.99), 0.5 / (0.5 + 0.0035 * 0.5)
    assert found.tolist() == pytest.approx([first, second, 0.0, 1.0])  # nobody else has the last


def test_absent_labels_are_forgotten_as_bayes_rule_says():
    found = _forgotten_if_absent(np.array([0.0, 0.5, 0.9, 1.0]), 0.1)
    assert found.tolist() == pytest.approx([0.0, 0.05 / 0.55, 0.09 / 0.19, 1.0])


def test_more_expected_mistakes_make_labels_less_certain(corpus, tmp_path):
    few, many = (
        audited(corpus, tmp_path / "models", mistakes=share, least={"missing": 1, "wrong": 0})
        for share in (0.01, 0.2)
    )
    scores = [
        {(item.text, each.label): each.score for item in found.items for each in item.suggestions}
        for found in (few, many)
    ]
    assert scores[0].keys() == scores[1].keys()
    assert all(scores[0][key] < scores[1][key] for key in scores[0])


def test_what_most_leaves_out_is_counted(corpus, tmp_path):
    found = audited(corpus, tmp_path / "models", least={"missing": 1, "wrong": 0}, most=5)
    assert found.wrong == 5
    assert found.beyond == found.assignments - 5 - found.hidden
