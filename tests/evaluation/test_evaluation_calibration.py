import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.sparse import csr_array
from scipy.special import expit, logit
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import log_loss

from labelgrove.core import storage
from labelgrove.core.errors import InputError
from labelgrove.core.random import generator
from labelgrove.core.ranking import Ranking
from labelgrove.evaluation import (
    Calibration,
    expected_calibration_error,
    fit_calibration,
    reliability,
)


def as_case(scores, hits):
    """One place per document, label 0, so that places and documents are the same."""
    scores, hits = np.asarray(scores, np.float32), np.asarray(hits)
    return csr_array(hits[:, None].astype(int)), Ranking(np.zeros((len(hits), 1)), scores[:, None])


def overconfident(n, seed):
    """Scores whose log-odds are 2.5 times those of the true probability."""
    rng = generator(seed, "overconfident")
    true = rng.beta(1, 2, n)
    return expit(2.5 * logit(np.clip(true, 1e-4, 1 - 1e-4))), rng.random(n) < true


@pytest.mark.parametrize("n", [150, 20_000])  # the logistic curve, and isotonic regression
def test_it_mends_overconfident_scores(n):
    calibration = fit_calibration(*as_case(*overconfident(n, 1)))
    scores, hits = overconfident(20_000, 2)
    Y, raw = as_case(scores, hits)
    mended = raw.with_scores(calibration.apply(raw.scores))
    before, after = (expected_calibration_error(Y, ranking) for ranking in (raw, mended))
    assert before > 0.1
    assert after < before / 2
    assert log_loss(hits, mended.scores[:, 0]) < log_loss(hits, raw.scores[:, 0]) - 0.05


def test_few_hits_choose_a_curve_and_fewer_none():
    misses = np.zeros(5000, bool)
    scores = np.linspace(0.1, 0.9, 5000)
    for n_hits, knots in ((0, 2), (9, 2), (10, 201), (299, 201)):
        hits = misses.copy()
        hits[np.linspace(2000, 4999, n_hits).astype(int)] = True
        assert hits.sum() == n_hits
        assert len(fit_calibration(*as_case(scores, hits)).x) == knots
    hits = misses.copy()
    hits[np.linspace(2000, 4999, 300).astype(int)] = True
    fitted = fit_calibration(*as_case(scores, hits))
    assert fitted.x[1] == np.float32(0.1), "isotonic knots are scores"
    assert fitted.x[-2] == np.float32(0.9)
    assert fitted.x[[0, -1]].tolist() == [0.0, 1.0]


@pytest.mark.parametrize(("n_misses", "knots"), [(299, 201), (300, 4)])
def test_few_misses_choose_a_curve_too(n_misses, knots):
    misses = np.arange(5000) < n_misses  # the lowest scores: two steps, each of one level
    scores = np.where(misses, 0.25, 0.75)
    assert len(fit_calibration(*as_case(scores, ~misses)).x) == knots


def steps(*levels):
    """A case of (score, hits, misses) for each level."""
    scores = np.repeat([level[0] for level in levels], [sum(level[1:]) for level in levels])
    hits = np.concatenate([np.arange(sum(level[1:])) < level[1] for level in levels])
    return as_case(scores, hits)


def test_steps_by_hand():
    """Each step has one more place, of which the overall share is a hit."""
    fitted = fit_calibration(*steps((0.25, 100, 300), (0.5, 210, 90), (0.75, 1, 0)))
    overall = (311 + 0.5) / (701 + 1)
    assert fitted.x.tolist() == [0.0, 0.25, 0.5, 0.75, 1.0]
    expected = [(100 + overall) / 401, (210 + overall) / 301, (1 + overall) / 2]
    assert fitted.y[1:-1] == pytest.approx(expected, rel=1e-12)
    # beyond the known scores: a hundredth of what is left to a millionth from 0 and 1
    assert fitted.y[0] == pytest.approx(0.99 * expected[0], abs=1e-7)
    assert fitted.y[-1] == pytest.approx(expected[-1] + 0.01 * (1 - expected[-1]), abs=1e-7)


def test_scores_out_of_order_are_one_step_and_keep_their_order():
    # of 0.25 more are hits than of 0.375: together 120 of 400, in the middle of both
    fitted = fit_calibration(*steps((0.25, 80, 120), (0.375, 40, 160), (0.75, 200, 100)))
    overall = (320 + 0.5) / (700 + 1)
    low, high = (120 + overall) / 401, (200 + overall) / 301
    assert fitted.x.tolist() == [0.0, 0.25, 0.3125, 0.75, 1.0]
    # as far below the step as the line to the next one is above it at 0.375
    rise = (high - low) * (0.375 - 0.3125) / (0.75 - 0.3125)
    assert fitted.y[1:-1] == pytest.approx([low - rise, low, high], rel=1e-9)
    assert fitted.apply([0.25, 0.375]).mean() == pytest.approx(low, rel=1e-6)


def test_a_steep_step_at_the_top_goes_half_of_the_way_to_certainty_at_most():
    # 0.5 to 1: nearly all hits, but a few more at 0.5 than at 0.75
    fitted = fit_calibration(*steps((0.25, 0, 900), (0.5, 199, 1), (0.75, 198, 2)))
    overall = (397 + 0.5) / (1300 + 1)
    low, high = overall / 901, (397 + overall) / 401
    assert fitted.apply([0.25, 0.625]) == pytest.approx([low, high], rel=1e-6)
    assert fitted.apply(0.75) == pytest.approx((1 + high) / 2, rel=1e-6)


def test_a_small_step_that_the_prior_puts_below_another_joins_it():
    fitted = fit_calibration(*steps((0.25, 100, 300), (0.5, 270, 30), (0.75, 1, 0)))
    overall = (371 + 0.5) / (701 + 1)
    large, small = (270 + overall) / 301, (1 + overall) / 2
    assert small < large
    both = (300 * large + small) / 301
    middle = (300 * 0.5 + 0.75) / 301
    assert fitted.apply([0.25, middle]) == pytest.approx([(100 + overall) / 401, both], rel=1e-6)
    assert fitted.apply(0.5) < both < fitted.apply(0.75)


def test_no_two_scores_become_equal():
    scores, hits = overconfident(20_000, 7)
    fitted = fit_calibration(*as_case(scores, hits))
    found = fitted.apply(np.linspace(0, 1, 2001, dtype=np.float32))
    assert (np.diff(found) > 0).all()


@pytest.mark.parametrize("certain", [1e-6, 1 - 1e-6])
def test_no_probability_is_nearer_to_0_or_1_than_a_millionth(certain):
    many, few = (0, 20_000), (300, 0)  # hits and misses
    levels = [(0.25, *many), (0.75, *few)]
    if certain > 0.5:
        levels = [(0.25, *few[::-1]), (0.75, *many[::-1])]
    stepwise = fit_calibration(*steps(*levels)).y
    assert stepwise[1 if certain < 0.5 else -2] == certain
    assert stepwise.min() >= 1e-6
    assert stepwise.max() <= 1 - 1e-6
    hits = np.arange(40) % 2 == 0
    curve = fit_calibration(*as_case(np.where(hits, 0.6, 0.4), hits))  # steeper than the scores
    assert curve.x[[0, -1]] == pytest.approx([1e-6, 1 - 1e-6], rel=1e-9)
    assert curve.y[[0, -1]].tolist() == [1e-6, 1 - 1e-6]


def test_scores_of_0_and_1_count_as_nearly_certain():
    # a quarter of either claim is wrong; 1 counts as 1 - 1e-6
    scores = np.repeat([0.0, 1.0], 40)
    hits = np.arange(80) % 4 == 0
    hits[40:] = ~hits[40:]
    fitted = fit_calibration(*as_case(scores, hits))
    odds = logit(1 - 1e-6)
    slope = brentq(lambda s: 80 * odds * (0.75 - expit(s * odds)) - (s - 1) / 10, 0, 1)
    assert fitted.apply([0.0, 0.1, 1.0]) == pytest.approx(
        expit(slope * logit(np.array([1e-6, 0.1, 1 - 1e-6]))), abs=1e-4
    )


def test_isotonic_is_that_of_sklearn_but_for_the_prior():
    scores, hits = overconfident(30_000, 3)
    scores = np.round(scores, 2).astype(np.float32)  # 100 values, each with many places
    calibration = fit_calibration(*as_case(scores, hits))
    reference = IsotonicRegression(out_of_bounds="clip").fit(scores, hits)
    expected = reference.predict(scores)
    for step in np.unique(expected):  # the same share in the middle of each of its steps
        inside = expected == step
        middle = scores[inside].mean(dtype=np.float64)
        assert calibration.apply(middle) == pytest.approx(step, abs=0.01)


@pytest.mark.parametrize("n", [40, 400, 5000])
@pytest.mark.parametrize("share", [0.0, 1.0, 0.5])
@pytest.mark.parametrize("spread", [0.0, 0.5])
def test_extreme_evidence_never_gives_certainty(n, share, spread):
    rng = generator(n, "extreme")
    hits = rng.random(n) < share
    fitted = fit_calibration(*as_case(0.25 + spread * rng.random(n), hits))
    if hits.any():
        found = fitted.apply(np.linspace(0, 1, 1001))
        assert found.dtype == np.float32
        assert found.min() > 0
        assert found.max() < 1
        assert (np.diff(found) >= 0).all()
    else:
        assert fitted.apply(0.25) == np.float32(0.25)
    if share == 1.0:
        assert fitted.apply(0.5) > 0.8


def test_scores_that_say_nothing_of_the_slope_leave_it_at_one():
    fitted = fit_calibration(*as_case(np.full(40, 0.5), np.arange(40) % 2 == 0))
    assert fitted.apply([0.1, 0.5, 0.8]) == pytest.approx([0.1, 0.5, 0.8], abs=1e-3)


def test_the_prior_bounds_the_slope_where_scores_part_hits_from_misses():
    """Without a prior the slope would be infinite; with it one equation tells the slope."""
    hits = np.arange(40) % 2 == 0
    fitted = fit_calibration(*as_case(np.where(hits, 0.6, 0.4), hits))
    odds = logit(0.6)
    # the 40 places pull the slope up, the prior of variance 10 pulls it back to 1
    slope = brentq(lambda s: 40 * odds * expit(-s * odds) - (s - 1) / 10, 1, 100)
    assert fitted.apply([0.4, 0.6]) == pytest.approx(expit([-slope * odds, slope * odds]), abs=2e-3)


@pytest.mark.parametrize("seed", range(12))
def test_the_curve_is_the_most_probable_one(seed):
    """Slope and shift by Newton's method, with a prior of variance 10 around 1 and 0."""
    rng = generator(seed, "curve")
    n = int(rng.choice([11, 30, 200]))
    hits = rng.permutation(n) < max(10, n // 3)
    spread, gap = rng.choice([0.05, 1.0, 8.0]), rng.choice([-3.0, 0.0, 6.0])
    scores = expit(spread * rng.standard_normal(n) + gap * hits).astype(np.float32)
    odds = logit(np.clip(scores.astype(float), 1e-6, 1 - 1e-6))
    A, shape = np.column_stack([odds, np.ones(n)]), np.array([1.0, 0.0])
    for _ in range(200):
        p = expit(A @ shape)
        slope = A.T @ (p - hits) + (shape - [1, 0]) / 10
        step = np.linalg.solve((A.T * (p * (1 - p))) @ A + np.eye(2) / 10, slope)
        shape -= step / max(1.0, np.abs(step).max())
    fitted = fit_calibration(*as_case(scores, hits))
    at = np.array([0.02, 0.3, 0.7, 0.98])
    if shape[0] > 0:  # else a larger score would mean a smaller probability
        expected = np.clip(expit(shape[0] * logit(at) + shape[1]), 1e-6, 1 - 1e-6)
        assert fitted.apply(at) == pytest.approx(expected, abs=2e-3)
    else:
        assert np.ptp(fitted.apply(at)) < 1e-6


def test_all_scores_equal():
    hits = np.arange(2000) % 4 == 0
    fitted = fit_calibration(*as_case(np.full(2000, 0.9), hits))
    assert fitted.apply(0.9) == pytest.approx(0.25, abs=1e-6)
    assert fitted.apply([0.1, 1.0]) == pytest.approx(0.25, abs=0.01)


def test_a_lone_hit_at_the_top_is_not_believed():
    # 0.5 to 0.6 are hit half the time, one place at 0.99 is a hit
    scores = np.append(np.linspace(0.5, 0.6, 2000), 0.99)
    hits = np.append(np.arange(2000) % 2 == 0, True)
    assert fit_calibration(*as_case(scores, hits)).apply(0.99) < 0.8


def test_padding_is_no_evidence():
    scores, hits = overconfident(3000, 4)
    Y, ranking = as_case(scores, hits)
    padded = fit_calibration(Y, ranking.pad(5))
    plain = fit_calibration(Y, ranking)
    assert padded.x.tolist() == plain.x.tolist()
    assert padded.y.tolist() == plain.y.tolist()


def test_order_of_a_ranking_is_kept():
    rng = generator(5, "rankings")
    ranking = Ranking.from_dense(rng.random((500, 8)) ** 3, 8)
    Y = csr_array((rng.random((500, 8)) < 0.3).astype(int))
    mended = ranking.with_scores(fit_calibration(Y, ranking).apply(ranking.scores))
    assert (np.diff(mended.scores, axis=1) <= 0).all()


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.floats(0, 1, width=32), min_size=1, max_size=8, unique=True),
    st.lists(st.floats(0, 1), min_size=8, max_size=8),
    st.lists(st.floats(-0.5, 1.5, width=32), min_size=1, max_size=40),
)
def test_any_map_is_monotone_and_meets_its_knots(x, y, scores):
    x, y = np.sort(x), np.sort(y)[: len(x)]
    calibration = Calibration(x, y)
    found = calibration.apply(np.sort(np.array(scores, np.float32)))
    assert (np.diff(found) >= 0).all()
    assert found.min() >= np.float32(y[0])
    assert found.max() <= np.float32(y[-1])
    assert calibration.apply(x).tolist() == y.astype(np.float32).tolist()
    assert calibration.apply([-9.0, 9.0]).tolist() == y[[0, -1]].astype(np.float32).tolist()
    inner = np.array(scores, np.float32)
    assert calibration.apply(inner) == pytest.approx(np.interp(inner, x, y), abs=1e-6)


def test_knots_may_be_lists_of_any_numbers():
    given = Calibration([0, 1], [np.float32(0.25), 1])
    for knots, expected in ((given.x, [0.0, 1.0]), (given.y, [0.25, 1.0])):
        assert isinstance(knots, np.ndarray)
        assert (knots.dtype, knots.tolist()) == (np.float64, expected)


def test_identity_and_shapes():
    scores = generator(0, "identity").random((3, 4), dtype=np.float32)
    same = Calibration.identity().apply(scores)
    assert same.tolist() == scores.tolist()
    assert Calibration.identity().apply(0.5).shape == ()


def test_it_survives_storage(tmp_path):
    fitted = fit_calibration(*as_case(*overconfident(3000, 6)))
    storage.write_values(tmp_path / "c", {"x": fitted.x, "y": fitted.y})
    again = Calibration(**storage.read_values(tmp_path / "c"))
    grid = np.linspace(0, 1, 101)
    assert again.apply(grid).tolist() == fitted.apply(grid).tolist()


@pytest.mark.parametrize(
    ("x", "y", "words"),
    [
        ([], [], "one shape"),
        ([0.0, 1.0], [0.5], "one shape"),
        ([[0.0, 1.0]], [[0.0, 1.0]], "one shape"),
        (0.5, 0.5, "one shape"),
        ([0.0, 0.0], [0.1, 0.2], "strictly increasing"),
        ([0.0, np.nan], [0.1, 0.2], "strictly increasing"),
        ([0.0, np.inf], [0.1, 0.2], "finite"),
        ([0.0, 1.0], [0.5, 0.4], "never decrease"),
        ([0.0, 1.0], [-0.1, 0.5], "in \\[0, 1\\]"),
        ([0.0, 1.0], [0.5, 1.4], "in \\[0, 1\\]"),
        ([0.0, 1.0], [np.nan, 1.0], "in \\[0, 1\\]"),
    ],
)
def test_wrong_knots(x, y, words):
    with pytest.raises(InputError, match=words):
        Calibration(np.array(x), np.array(y))


def test_reliability_by_hand():
    # bins of a quarter: [0.1, 0.2*], [], [0.7*, 0.6], [0.75*, 1.0*]
    Y, ranking = as_case([0.1, 0.2, 0.7, 0.6, 0.75, 1.0], np.array([0, 1, 1, 0, 1, 1]) > 0)
    found = reliability(Y, ranking, bins=4)
    assert found.edges.tolist() == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert found.counts.tolist() == [2, 0, 2, 2]
    assert found.scores == pytest.approx([0.15, 0, 0.65, 0.875])
    assert found.hits.tolist() == [0.5, 0, 0.5, 1]
    # 2/6 |0.15 - 0.5| + 2/6 |0.65 - 0.5| + 2/6 |0.875 - 1|
    assert expected_calibration_error(Y, ranking, bins=4) == pytest.approx(0.625 / 3)


def test_one_bin_holds_all_scores():
    Y, ranking = as_case([0.2, 0.6], np.array([0, 1]) > 0)
    found = reliability(Y, ranking, bins=1)
    assert (found.edges.tolist(), found.counts.tolist()) == ([0.0, 1.0], [2])
    assert found.scores == pytest.approx([0.4])
    assert found.hits.tolist() == [0.5]


def test_calibration_error_of_nothing_and_wrong_bins():
    Y = csr_array(np.eye(2))
    assert expected_calibration_error(Y, Ranking.empty(2, 3)) == 0.0
    with pytest.raises(InputError, match="bins must be at least 1"):
        reliability(Y, Ranking.empty(2, 3), bins=0)


def test_scores_outside_0_and_1_count_as_0_and_1():
    found = reliability(*as_case([-0.5, 0.25, 1.5], np.array([0, 1, 1]) > 0), bins=2)
    assert found.counts.tolist() == [2, 1]
    assert found.scores == pytest.approx([0.125, 1.0])


def test_there_are_15_bins_unless_others_are_asked_for():
    # 0.06 and 0.066 are in one bin of 15, and in two of 16
    case = as_case([0.06, 0.066], np.array([0, 1]) > 0)
    assert len(reliability(*case).counts) == 15
    assert expected_calibration_error(*case) == pytest.approx(0.5 - 0.063)
