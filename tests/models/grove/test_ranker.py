"""The ranker on evidence whose worth is known."""

import sys

import numpy as np
import pytest
from scipy.sparse import csr_array

from labelgrove.core.ranking import ndcg
from labelgrove.models.grove import ranker as module
from labelgrove.models.grove.evidence import CandidateEvidence
from labelgrove.models.grove.ranker import Ranker

TEXTS, EACH = 200, 15
COLUMNS = ("tree score", "neighbours score", "documents")


def judged(odds, seed=0):
    """Return evidence of 200 texts with 15 candidates each, which are right, and labels.

    Parameters
    ----------
    odds
        From a table (m, 3) of random numbers to the log odds that a candidate is right.
    """
    random = np.random.default_rng(seed)
    table = random.normal(size=(TEXTS * EACH, 3)).astype(np.float32)
    true = odds(table) + random.logistic(size=len(table)) > 0
    texts, labels = np.divmod(np.arange(TEXTS * EACH, dtype=np.int64), EACH)
    Y = csr_array(true.reshape(TEXTS, EACH).astype(np.float32))
    return CandidateEvidence(texts, labels, table, COLUMNS), true, Y


def quality(evidence, scores, Y):
    return ndcg(evidence.ranking(scores, TEXTS, 5), Y, 5).mean()


def by_sum(table):
    return 2 * (table[:, 0] + table[:, 1]) - 3


def by_pair(table):
    return 4 * np.sign(table[:, 0] * table[:, 1]) - 2


def test_the_ranker_beats_its_best_column():
    evidence, true, _ = judged(by_sum)
    ranker = Ranker.learn(evidence, true, 0)
    other, _, Y = judged(by_sum, seed=1)
    best = max(quality(other, other.table[:, column], Y) for column in range(3))
    assert quality(other, ranker.chances(other), Y) > best + 0.05


def test_probabilities_are_as_many_as_are_right():
    evidence, true, _ = judged(by_sum)
    chances = Ranker.learn(evidence, true, 0).chances(judged(by_sum, seed=1)[0])
    assert ((chances > 0) & (chances < 1)).all()
    assert chances.mean() == pytest.approx(true.mean(), abs=0.02)


def test_trees_learn_what_no_weight_can():
    evidence, true, Y = judged(by_pair)
    plain = Ranker.learn(evidence, true, 0)
    boosted = plain.boosted(evidence, true, Y, 0)
    other, _, held = judged(by_pair, seed=1)
    assert boosted.trees is not None
    gain = quality(other, boosted.chances(other), held) - quality(other, plain.chances(other), held)
    assert gain > 0.1


def test_without_gain_there_are_no_trees():
    evidence, _, _ = judged(by_sum)
    true = evidence.best(evidence.table[:, 0], 3)  # the first column is right already
    Y = csr_array(true.reshape(TEXTS, EACH).astype(np.float32))
    ranker = Ranker.learn(evidence, true, 0)
    assert quality(evidence, ranker.chances(evidence), Y) > 0.99
    first = Ranker(COLUMNS, np.zeros(3), np.ones(3), np.array([1.0, 0, 0, 0]))
    assert first.boosted(evidence, true, Y, 0) is first


def test_few_documents_grow_no_trees(monkeypatch):
    evidence, true, Y = judged(by_pair)
    ranker = Ranker.learn(evidence, true, 0)
    monkeypatch.setattr(module, "FEWEST", TEXTS + 1)
    assert ranker.boosted(evidence, true, Y, 0) is ranker


def test_trees_judge_the_best_candidates_only(monkeypatch):
    monkeypatch.setattr(module, "BEST", 6)
    evidence, true, Y = judged(by_pair)
    plain = Ranker.learn(evidence, true, 0)
    boosted = plain.boosted(evidence, true, Y, 0)
    assert boosted.trees is not None
    same = plain.chances(evidence) == boosted.chances(evidence)
    assert same.reshape(TEXTS, EACH).sum(axis=1).tolist() == [EACH - 6] * TEXTS


def test_shares_sum_to_the_log_odds_less_what_all_have():
    evidence, true, Y = judged(by_pair)
    plain = Ranker.learn(evidence, true, 0)
    shares = plain.shares(evidence)
    assert shares.sum(axis=1) + plain.weights[-1] == pytest.approx(plain.log_odds(evidence))
    boosted = plain.boosted(evidence, true, Y, 0)
    odds = boosted.log_odds(evidence) + boosted.trees.predict(evidence.table)
    same = boosted.weights[-1] + boosted.trees.value[boosted.trees.roots].sum()
    assert boosted.shares(evidence).sum(axis=1) + same == pytest.approx(odds)


def test_fixed_weights_without_documents():
    evidence, _, _ = judged(by_sum)
    ranker = Ranker.unlearned(COLUMNS)
    wanted = 0.5 * evidence.table[:, 0] + 0.3 * evidence.table[:, 1]
    assert ranker.log_odds(evidence) == pytest.approx(wanted, abs=1e-6)


def test_learning_from_nothing_keeps_the_fixed_weights():
    evidence, true, _ = judged(by_sum)
    fixed = Ranker.unlearned(COLUMNS)
    few = np.arange(len(true)) < 1
    learned = Ranker.learn(evidence[few], true[few], 0)
    nearly, scores = learned.log_odds(evidence[few]), fixed.log_odds(evidence[few])
    assert nearly == pytest.approx(scores, abs=0.1)


def test_a_sample_of_very_many_candidates_is_enough(monkeypatch):
    evidence, true, _ = judged(by_sum)
    whole = Ranker.learn(evidence, true, 0).weights
    monkeypatch.setattr(module, "ROWS", 1500)
    sampled = Ranker.learn(evidence, true, 0).weights
    assert sampled != pytest.approx(whole, abs=1e-9)
    assert sampled == pytest.approx(whole, abs=0.6)


def test_the_state_is_all_there_is():
    evidence, true, Y = judged(by_pair)
    plain = Ranker.learn(evidence, true, 0)
    boosted = plain.boosted(evidence, true, Y, 0)
    for ranker in (plain, boosted):
        again = Ranker.from_state(ranker.state())
        assert again.columns == COLUMNS
        assert np.array_equal(again.chances(evidence), ranker.chances(evidence))
        assert np.array_equal(again.shares(evidence), ranker.shares(evidence))


def test_without_lightgbm_there_are_no_trees(monkeypatch):
    evidence, true, Y = judged(by_pair)
    ranker = Ranker.learn(evidence, true, 0)
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    assert ranker.boosted(evidence, true, Y, 0) is ranker
