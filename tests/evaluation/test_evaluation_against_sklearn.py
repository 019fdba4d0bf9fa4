"""The same values as scikit-learn's dense metrics, on random rankings."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.metrics import (
    accuracy_score,
    hamming_loss,
    ndcg_score,
    precision_recall_fscore_support,
    recall_score,
)

from labelgrove.core.random import generator
from labelgrove.core.ranking import Ranking, ndcg
from labelgrove.evaluation import Decision, evaluate, per_document


@st.composite
def cases(draw):
    """Truth (n, M), scores (n, M) with test-only labels last, and a ranking of k places."""
    n, known, unseen = (draw(st.integers(*span)) for span in ((1, 12), (2, 8), (0, 3)))
    rng = generator(draw(st.integers(0, 10_000)), "cases")
    truth = rng.random((n, known + unseen)) < rng.uniform(0.05, 0.7)
    # distinct scores: ties are ordered by us, averaged by scikit-learn
    scores = rng.permuted(np.linspace(0.05, 0.95, n * known)).reshape(n, known)
    k = draw(st.integers(1, known + 1))
    wide = np.hstack([scores, np.tile(-np.arange(1.0, unseen + 1), (n, 1))])
    return truth, wide, Ranking.from_dense(scores.astype(np.float32), k)


@settings(max_examples=60, deadline=None)
@given(cases(), st.sampled_from([0.0, 0.3, 0.5, 0.9, 1.0]), st.booleans())
def test_set_metrics(case, threshold, at_least_one):
    truth, _, ranking = case
    decision = Decision(threshold=threshold, at_least_one=at_least_one)
    sets = decision.to_csr(ranking, truth.shape[1]).toarray().astype(int)
    truth = truth.astype(int)
    found = evaluate(csr_array(truth), ranking, threshold=decision)
    occurring = np.flatnonzero(truth.any(axis=0) | sets.any(axis=0))
    for name in ("micro", "macro"):
        expected = (0.0, 0.0, 0.0)
        if len(occurring):
            expected = precision_recall_fscore_support(
                truth, sets, labels=occurring, average=name, zero_division=0
            )[:3]
        values = [found[f"{name}-{metric}"] for metric in ("precision", "recall", "F1")]
        assert values == pytest.approx(expected)
    samples = precision_recall_fscore_support(truth, sets, average="samples", zero_division=0)
    assert found["samples-F1"] == pytest.approx(samples[2])
    assert found["hamming-loss"] == pytest.approx(hamming_loss(truth, sets))
    assert found["subset-accuracy"] == pytest.approx(accuracy_score(truth, sets))


@settings(max_examples=60, deadline=None)
@given(cases(), st.integers(1, 10))
def test_ranking_metrics(case, k):
    truth, scores, ranking = case
    Y = csr_array(truth)
    full = Ranking.from_dense(scores.astype(np.float32), scores.shape[1])
    found = evaluate(Y, full, ks=(k,))
    assert found[f"nDCG@{k}"] == pytest.approx(ndcg_score(truth, scores, k=k, ignore_ties=True))
    assert per_document(Y, ranking, f"nDCG@{k}").tolist() == ndcg(ranking, Y, k).tolist()
    # the first k places as a set have the same recall per document, and precision over k
    first = Decision(top=k).to_csr(ranking, truth.shape[1]).toarray().astype(int)
    truth = truth.astype(int)
    found = evaluate(Y, ranking, ks=(k,))
    assert found[f"R@{k}"] == pytest.approx(
        recall_score(truth, first, average="samples", zero_division=0)
    )
    assert found[f"P@{k}"] == pytest.approx((truth & first).sum() / (k * len(truth)))


@settings(max_examples=40, deadline=None)
@given(cases(), st.integers(1, 6), st.integers(0, 1000))
def test_propensity_metrics_against_loops(case, k, seed):
    truth, _, ranking = case
    propensities = generator(seed, "propensities").uniform(0.05, 1.0, truth.shape[1])
    gained, best = {False: 0.0, True: 0.0}, {False: 0.0, True: 0.0}
    for i, labels in enumerate(truth):
        ideal = sorted((1 / propensities[labels]).tolist(), reverse=True)[:k]
        here = [1 / propensities[label] if labels[label] else 0.0 for label, _ in ranking.row(i)][
            :k
        ]
        for discounted in (False, True):
            for sums, values in ((gained, here), (best, ideal)):
                sums[discounted] += sum(
                    value / (np.log2(place + 2) if discounted else 1)
                    for place, value in enumerate(values)
                )
    found = evaluate(csr_array(truth), ranking, ks=(k,), propensities=propensities)
    for name, discounted in (("PSP", False), ("PSnDCG", True)):
        expected = gained[discounted] / best[discounted] if best[discounted] else 0.0
        assert found[f"{name}@{k}"] == pytest.approx(expected)


@settings(max_examples=40, deadline=None)
@given(cases())
def test_all_values_are_fractions_and_padding_changes_none(case):
    truth, _, ranking = case
    Y = csr_array(truth)
    propensities = np.linspace(0.1, 1.0, truth.shape[1])
    found = evaluate(Y, ranking, propensities=propensities)
    assert all(0.0 <= value <= 1.0 + 1e-12 for value in found.values())
    assert evaluate(Y, ranking.pad(12), propensities=propensities) == pytest.approx(found)
