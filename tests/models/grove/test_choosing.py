"""Makers of known worth are kept or dropped."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from labelgrove.core.ranking import Ranking, ndcg
from labelgrove.labels.hierarchy import IntLists
from labelgrove.models.grove import choosing
from labelgrove.models.grove.choosing import choose_makers, fixed_score
from labelgrove.models.grove.evidence import LabelFacts
from labelgrove.models.grove.folds import FoldRankings

N, LABELS = 300, 20
FACTS = LabelFacts(np.zeros(LABELS), np.ones(LABELS, np.int64), IntLists.of([()] * LABELS))


def truth():
    labels = np.random.default_rng(0).integers(LABELS, size=N)
    return csr_array((np.ones(N, np.float32), labels, np.arange(N + 1)), shape=(N, LABELS))


def maker(Y, signal, seed):
    """Return a ranking of ten labels by random numbers, to which right labels add ``signal``."""
    scores = np.random.default_rng(seed).normal(size=(N, LABELS)) + signal * Y.toarray()
    return Ranking.from_dense(1 / (1 + np.exp(-scores)), 10)


def chosen(keep=(), **signals):
    Y = truth()
    kinds = {kind.replace("_", "-"): signal for kind, signal in signals.items()}
    rankings = {kind: maker(Y, signal, seed) for seed, (kind, signal) in enumerate(kinds.items())}
    counts = np.full((1, LABELS), 10)
    folds = FoldRankings(np.arange(N), np.zeros(N, np.int64), counts, rankings)
    return choose_makers(folds, Y, FACTS, 0, keep)


def test_a_useful_maker_is_kept_and_one_of_noise_is_dropped():
    kinds, score, alone = chosen(tree=2.0, neighbours=2.0, names=0.0)
    assert kinds == ["tree", "neighbours"]
    assert score > alone + 0.05


def test_several_useful_makers_are_kept():
    kinds, score, _ = chosen(tree=2.0, neighbours=2.0, names=2.0)
    assert kinds == ["tree", "neighbours", "names"]
    assert score > chosen(tree=2.0, neighbours=2.0)[1]


def test_the_tree_is_used_alone_where_nothing_helps():
    kinds, score, alone = chosen(tree=20.0, neighbours=0.0, names=0.0)
    assert kinds == ["tree"]
    assert score == alone == pytest.approx(1.0)


def test_the_first_maker_is_never_dropped():
    kinds, score, alone = chosen(tree=0.0, neighbours=20.0)
    assert kinds == ["tree", "neighbours"]
    assert alone < 0.5 < 0.99 < score


def test_some_documents_are_enough_to_decide(monkeypatch):
    monkeypatch.setattr(choosing, "DOCUMENTS", 100)
    assert chosen(tree=2.0, neighbours=3.0, names=0.0)[0][:2] == ["tree", "neighbours"]


def test_documents_that_are_many_drop_what_few_would_keep(monkeypatch):
    worth_little = {"tree": 2.0, "neighbours": 2.0, "names": 0.4}
    few = chosen(**worth_little)[0]
    monkeypatch.setattr(choosing, "FEW", 0)
    many = chosen(**worth_little)[0]
    assert few == ["tree", "neighbours", "names"]
    assert many == ["tree", "neighbours"]


def test_what_is_to_be_kept_is_kept():
    kinds, score, alone = chosen(["names"], tree=20.0, neighbours=0.0, names=0.0)
    assert kinds == ["tree", "names"]
    assert score <= alone


def test_a_ranker_of_the_tree_alone_may_be_better_than_the_tree():
    rare = np.arange(LABELS) < LABELS // 2
    Y = csr_array(truth().toarray() * rare)  # labels with documents are the right ones
    rankings = {"tree": maker(Y, 1.0, 0)}
    counts = np.where(rare, 50, 0)[None]
    folds = FoldRankings(np.arange(N), np.zeros(N, np.int64), counts, rankings)
    kinds, score, alone = choose_makers(folds, Y, FACTS, 0)
    assert kinds == ["tree"]
    assert score > alone + 0.02


def test_fixed_weights_add_up_what_makers_say():
    """Two makers with noise of their own are better together; one that is never right is not."""
    Y = truth()
    counts = np.full((1, LABELS), 10)

    def score(**signals):
        named = {kind: maker(Y, signal, n) for n, (kind, signal) in enumerate(signals.items())}
        return fixed_score(FoldRankings(np.arange(N), np.zeros(N, np.int64), counts, named), Y,
                           FACTS, 0)  # fmt: skip

    tree = float(ndcg(maker(Y, 2.0, 0), Y, 5).mean())
    assert score(tree=2.0) == pytest.approx(tree, abs=1e-6), "in its own order"
    assert score(tree=2.0, neighbours=2.0) > tree + 0.05
    assert score(tree=-20.0) < 0.05
