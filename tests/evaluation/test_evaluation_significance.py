"""Bootstrap, Wilcoxon and Holm: against the metrics themselves, scipy and hand-worked cases."""

from contextlib import contextmanager

import numpy as np
import pytest
from scipy import stats
from scipy.sparse import csr_array

from labelgrove.core.errors import InputError
from labelgrove.core.progress import Silent
from labelgrove.core.random import generator
from labelgrove.core.ranking import Ranking
from labelgrove.evaluation import (
    additive,
    bootstrap,
    evaluate,
    holm,
    paired_bootstrap,
    per_document,
    wilcoxon,
)
from labelgrove.evaluation.resampling import resampled, values
from labelgrove.evaluation.significance import difference, interval

ALL = [
    *(f"{name}@{k}" for name in ("P", "R", "nDCG", "PSP", "PSnDCG") for k in (1, 3)),
    *(f"{kind}-{of}" for kind in ("micro", "macro") for of in ("precision", "recall", "F1")),
    *("samples-F1", "hamming-loss", "subset-accuracy"),
]


def made(n=40, n_labels=9, k=4, seed=0, skill=0.3):
    rng = np.random.default_rng(seed)
    truth = np.random.default_rng(7).random((n, n_labels)) < 0.2
    scores = rng.random((n, n_labels)) * (1 - skill) + skill * truth
    return csr_array(truth.astype(np.float32)), Ranking.from_dense(scores, k)


PROPENSITIES = np.linspace(0.1, 1.0, 9)


def test_values_are_those_of_evaluate():
    Y, ranking = made()
    found = values(additive(Y, ranking, ALL, propensities=PROPENSITIES, threshold=0.6))
    told = evaluate(Y, ranking, ks=(1, 3), propensities=PROPENSITIES, threshold=0.6)
    assert found == pytest.approx({name: told[name] for name in ALL})


def test_a_sample_is_the_metric_of_the_documents_drawn():
    Y, ranking = made()
    metrics = additive(Y, ranking, ALL, propensities=PROPENSITIES, threshold=0.6)
    (found,) = resampled([metrics], resamples=5, seed=3)
    rng = generator(3, "bootstrap")
    for sample in range(5):
        rows = rng.integers(40, size=40)
        told = evaluate(Y[rows], ranking[rows], ks=(1, 3), propensities=PROPENSITIES, threshold=0.6)
        assert {name: found[name][sample] for name in ALL} == pytest.approx(
            {name: told[name] for name in ALL}
        )


def test_samples_do_not_depend_on_how_many_are_drawn_at_once(monkeypatch):
    Y, ranking = made()
    metrics = additive(Y, ranking, ["P@1", "macro-F1"])
    (at_once,) = resampled([metrics], resamples=7)
    monkeypatch.setattr("labelgrove.evaluation.resampling.BLOCK_BYTES", 3000)
    (in_parts,) = resampled([metrics], resamples=7)
    for name in metrics:
        np.testing.assert_allclose(in_parts[name], at_once[name])


class Counting(Silent):
    """Notes how many samples each block has."""

    def __init__(self):
        self.steps = []

    @contextmanager
    def task(self, title, total=None, unit="documents", done=0):
        yield self

    def advance(self, steps=1, **facts):
        self.steps.append(steps)


@pytest.mark.parametrize(
    ("names", "numbers", "blocks"),
    [
        (["P@1"], 4 * 80, [4, 3]),
        (["P@1"], 1, [1] * 7),  # one sample is always drawn
        (["macro-F1"], 3 * (80 + 4 * 9), [3, 3, 1]),
        (["P@1", "macro-F1"], 3 * (80 + 4 * 9) - 1, [2, 2, 2, 1]),
    ],
)
def test_as_many_samples_are_drawn_at_once_as_memory_allows(names, numbers, blocks, monkeypatch):
    """A sample of 40 documents takes 80 numbers, and 4 for each of 9 labels that are summed up."""
    monkeypatch.setattr("labelgrove.evaluation.resampling.BLOCK_BYTES", 8 * numbers)
    progress = Counting()
    resampled([additive(*made(), names)], resamples=7, progress=progress)
    assert progress.steps == blocks


def test_the_system_with_the_most_labels_says_how_many_samples_are_drawn_at_once(monkeypatch):
    Y = csr_array(np.eye(2, 5))  # labels 0 and 1 are true; the second system gives all five
    rankings = Ranking.empty(2, 5), Ranking.from_dense(np.ones((2, 5)), 5)
    systems = [additive(Y, ranking, ["macro-F1"]) for ranking in rankings]
    monkeypatch.setattr("labelgrove.evaluation.resampling.BLOCK_BYTES", 8 * 2 * (4 + 4 * 5))
    progress = Counting()
    resampled(systems, resamples=4, progress=progress)
    assert progress.steps == [2, 2]


def test_1000_samples_with_the_seed_0_unless_told_otherwise():
    Y, ranking = made()
    metrics = additive(Y, ranking, ["P@1"])
    (usual,), (told,) = resampled([metrics]), resampled([metrics], resamples=1000, seed=0)
    assert usual["P@1"].tolist() == told["P@1"].tolist()
    assert usual["P@1"].shape == (1000,)
    first = resampled([metrics], resamples=1)[0]["P@1"]
    assert first.tolist() == told["P@1"][:1].tolist(), "one sample is enough"
    settings = {"resamples": 1000, "level": 0.95, "seed": 0}
    assert bootstrap(metrics) == bootstrap(metrics, **settings)
    other = additive(Y, made(seed=1)[1], ["P@1"])
    assert paired_bootstrap(metrics, other) == paired_bootstrap(metrics, other, **settings)


def test_a_level_is_the_share_of_samples_inside():
    samples = np.arange(101) / 100
    assert interval(0.5, samples, 0.9) == pytest.approx((0.5, 0.05, 0.95))
    assert interval(0.5, samples) == pytest.approx((0.5, 0.025, 0.975))
    assert difference(0.5, samples, 0.9)[:3] == pytest.approx((0.5, 0.05, 0.95))
    assert difference(0.5, samples)[:3] == pytest.approx((0.5, 0.025, 0.975))


@pytest.mark.parametrize("sign", [1, -1])
def test_a_sample_moved_to_no_difference_counts_for_the_other_sign(sign):
    samples = sign * np.array([0.1, *[0.3] * 18, 0.5])  # moved by 0.1: 0, 0.2 and 0.4
    assert difference(sign * 0.2, samples).p == pytest.approx(2 * (1 + 1) / 21)


def test_gaps_below_half_of_10_to_the_minus_12_are_rounding():
    assert wilcoxon([0.5 + 4e-13], [0.5]).different == 0
    assert wilcoxon([0.5 + 6e-13], [0.5]).different == 1


def test_metrics_are_taken_once():
    Y, ranking = made()
    assert list(additive(Y, ranking, ["P@1", "micro-F1", "P@1"])) == ["P@1", "micro-F1"]


def test_labels_given_once_or_true_once_are_in_the_mean():
    # label 0 is right, label 1 only true, label 2 only given, label 3 neither
    Y = csr_array(np.array([[1, 1, 0, 0]]))
    ranking = Ranking(np.array([[0, 2, 3]]), np.array([[0.9, 0.5, 0.4]]))
    found = values(additive(Y, ranking, ["macro-precision", "macro-recall", "macro-F1"]))
    assert list(found.values()) == pytest.approx([1 / 3] * 3)


def test_the_interval_is_that_of_scipys_bootstrap():
    Y, ranking = made(n=200)
    found = bootstrap(additive(Y, ranking, ["nDCG@3"]), resamples=4000)["nDCG@3"]
    scores = per_document(Y, ranking, "nDCG@3")
    told = stats.bootstrap(
        (scores,), np.mean, n_resamples=4000, method="percentile", rng=np.random.default_rng(1)
    ).confidence_interval
    assert found.value == pytest.approx(scores.mean())
    assert found.low == pytest.approx(told.low, abs=0.005)
    assert found.high == pytest.approx(told.high, abs=0.005)
    narrow = bootstrap(additive(Y, ranking, ["nDCG@3"]), level=0.5)["nDCG@3"]
    assert found.low < narrow.low < narrow.value < narrow.high < found.high


def test_the_paired_bootstrap_draws_the_same_documents():
    Y, first = made(skill=0.5)
    _, second = made(seed=1)
    one, other = (additive(Y, ranking, ["P@1", "macro-F1"]) for ranking in (first, second))
    found = paired_bootstrap(one, other, resamples=300)
    gaps = per_document(Y, first, "P@1") - per_document(Y, second, "P@1")
    rng = generator(0, "bootstrap")
    samples = np.array([gaps[rng.integers(40, size=40)].mean() for _ in range(300)])
    assert found["P@1"] == pytest.approx(difference(gaps.mean(), samples))
    same = paired_bootstrap(one, one)
    assert all(tuple(each) == (0, 0, 0, 1) for each in same.values())
    turned = paired_bootstrap(other, one, resamples=300)["macro-F1"]
    assert turned.value == pytest.approx(-found["macro-F1"].value)
    assert turned.low == pytest.approx(-found["macro-F1"].high)
    assert turned.p == found["macro-F1"].p


def frequent_and_single(frequent, single):
    """20 labels with 30 documents each and 200 with one; which shares of both are given."""
    labels = np.concatenate([np.repeat(np.arange(20), 30), np.arange(20, 220)])
    found = np.concatenate([np.arange(20) < frequent * 20, np.arange(200) < single * 200])
    ranking = Ranking(np.where(found[labels], labels, -1)[:, None], found[labels][:, None])
    Y = csr_array((np.ones(800), (np.arange(800), labels)), shape=(800, 220))
    return additive(Y, ranking, [f"macro-{of}" for of in ("precision", "recall", "F1")])


def test_an_interval_of_a_macro_average_holds_its_value_with_many_labels_of_one_document():
    for name, each in bootstrap(frequent_and_single(1.0, 0.0)).items():
        assert each.value == pytest.approx(20 / 220), name
        assert 0 <= each.low < each.value < each.high < 0.11, name


def test_an_interval_of_macro_f1_holds_its_value_where_every_label_has_a_hit_and_a_miss():
    # 2 a / (2 a + b) is curved in the weights a and b of the two documents
    labels = np.repeat(np.arange(300), 2)
    found = np.where(np.arange(600) % 2, labels, -1)[:, None]
    Y = csr_array((np.ones(600), (np.arange(600), labels)), shape=(600, 300))
    ranking = Ranking(found, (found >= 0).astype(np.float32))
    low, high = bootstrap(additive(Y, ranking, ["macro-F1"]))["macro-F1"][1:]
    assert low < 2 / 3 < high


def test_equal_macro_averages_do_not_differ_whether_frequent_or_rare_labels_are_found():
    frequent, rare = frequent_and_single(1.0, 0.0), frequent_and_single(0.0, 0.1)
    for name, each in paired_bootstrap(frequent, rare).items():
        assert each.value == pytest.approx(0), name
        assert each.low < 0 < each.high, name
        assert each.p > 0.5, name


def test_one_document_that_differs_is_no_significant_difference():
    one = paired_bootstrap(frequent_and_single(1.0, 0.0), frequent_and_single(1.0, 0.005))
    assert one["macro-F1"].value == pytest.approx(-1 / 220)
    assert all(each.p > 0.5 for each in one.values()), "37 of 100 samples do not have it"


def test_an_interval_stays_within_0_and_1():
    assert interval(1.0, np.array([0.2, 0.4, 0.9])).high == 1.0
    assert interval(0.0, np.array([0.2, 0.4, 0.9])).low == 0.0
    assert difference(0.0, np.array([0.2, 0.4, 0.9])).low < 0


def test_p_is_twice_the_share_on_the_other_side_with_one_more_sample():
    samples = np.array([-0.1, 0.0, *[0.2] * 97])
    assert difference(0.2, samples).p == pytest.approx(2 * 3 / 100)
    assert difference(-0.2, -samples).p == pytest.approx(2 * 3 / 100)
    assert difference(0.2, np.full(99, 0.2)).p == pytest.approx(2 / 100), "never 0"
    assert difference(0.0, np.array([-1.0, 1.0])).p == 1.0


def test_one_document_has_an_interval_of_no_width():
    Y, ranking = made(n=1)
    for each in bootstrap(additive(Y, ranking, ALL, propensities=PROPENSITIES)).values():
        assert each.low == each.value == each.high


def test_nothing_given_and_nothing_true_is_0():
    ranking = Ranking.empty(3, 2)
    found = bootstrap(additive(csr_array((3, 4)), ranking, ALL, propensities=np.ones(4)))
    assert found["subset-accuracy"] == (1, 1, 1)
    assert {tuple(each) for name, each in found.items() if name != "subset-accuracy"} == {(0, 0, 0)}


def test_what_cannot_be_resampled_is_told():
    Y, ranking = made()
    with pytest.raises(InputError, match="unknown metric 'coverage@5'"):
        additive(Y, ranking, ["coverage@5"])
    with pytest.raises(InputError, match="PSP@1 needs propensities"):
        additive(Y, ranking, ["PSP@1"])
    one, other = additive(Y, ranking, ["P@1"]), additive(Y[:9], ranking[:9], ["P@1"])
    with pytest.raises(InputError, match="the same documents for all systems, got 9 and 40"):
        paired_bootstrap(one, other)
    with pytest.raises(InputError, match="both need the same metrics"):
        paired_bootstrap(one, additive(Y, ranking, ["P@3"]))
    with pytest.raises(InputError, match="resamples must be at least 1, got 0"):
        bootstrap(one, resamples=0)
    with pytest.raises(InputError, match="got no metric"):
        resampled([{}])
    for level in (95, 1, 0):
        with pytest.raises(InputError, match=f"level must be above 0 and below 1, got {level}"):
            interval(0.5, np.ones(3), level)


def test_wilcoxon_is_scipys_on_the_pairs_that_differ():
    rng = np.random.default_rng(0)
    first, second = rng.integers(0, 6, (2, 80)) / 5
    found = wilcoxon(first, second)
    gaps = np.round(first - second, 12)
    told = stats.wilcoxon(gaps[gaps != 0])
    assert (found.statistic, found.p) == (told.statistic, told.pvalue)
    assert found.different == (first != second).sum() < 80


def test_wilcoxon_by_hand():
    # six gaps of one sign: the smaller sum of ranks is 0, and 2 of 2**6 signs are as extreme
    found = wilcoxon([0.1, 0.3, 0.6, 1.0, 1.5, 2.1], np.zeros(6))
    assert found == (0.0, pytest.approx(2 / 64), 6)
    assert wilcoxon([0.3, 0.1 + 0.2], [0.1 + 0.2, 0.3]) == (0.0, 1.0, 0), "rounding is no gap"
    assert wilcoxon([1.0], [0.5]).p == 1.0
    with pytest.raises(InputError, match=r"two arrays of one shape"):
        wilcoxon([1.0, 2.0], [1.0])
    with pytest.raises(InputError, match=r"\(1, 2\), \(1, 2\)"):
        wilcoxon([[1.0, 2.0]], [[2.0, 1.0]])


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.6, 0.9]) == [1.0, 1.0], "1.2 is no probability"
    assert holm([0.2]) == [0.2]
    assert holm([]) == []
