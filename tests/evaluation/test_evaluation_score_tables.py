"""Methods over cells of a table: Tables 2 and 3 of AttentionXML, with its ranks and p-values."""

import pytest
from scipy import stats

from labelgrove.core.errors import InputError
from labelgrove.evaluation import holm, rank_methods

METHODS = [
    "SLEEC", "AnnexML", "PfastreXML", "PD-Sparse", "Parabel", "XML-CNN", "XML-RNN", "AttentionXML",
]  # fmt: skip
SETS = ["RCV1", "EUR-Lex", "Wiki10-31K", "WikiLSHTC", "AmazonCat-13K"]
# rows: P@1, P@3, P@5 (nDCG@1, nDCG@3, nDCG@5) of each set
TABLE_2 = [
    [94.69, 95.26, 94.11, 93.72, 95.85, 94.79, 95.30, 95.76],
    [78.90, 79.30, 79.59, 78.74, 80.05, 78.93, 80.42, 81.22],
    [54.24, 55.25, 55.80, 54.82, 55.88, 54.59, 55.99, 56.75],
    [79.09, 79.56, 73.14, 74.00, 82.12, 75.32, 74.77, 82.87],
    [64.14, 64.92, 60.16, 60.24, 68.91, 60.14, 61.04, 70.35],
    [52.51, 53.53, 50.54, 49.64, 57.89, 49.21, 50.11, 58.39],
    [85.88, 86.50, 83.57, 75.63, 84.19, 81.41, 82.94, 83.03],
    [72.98, 74.29, 68.61, 62.95, 72.46, 66.23, 69.77, 74.58],
    [62.70, 64.20, 59.10, 52.90, 63.37, 56.11, 59.38, 65.28],
    [48.57, 57.78, 50.85, 53.26, 58.79, 55.17, 57.02, 62.89],
    [27.25, 33.09, 29.62, 30.72, 34.47, 31.09, 31.82, 36.05],
    [18.46, 22.54, 20.17, 20.91, 23.33, 21.13, 21.46, 24.32],
    [90.53, 93.54, 91.75, 88.85, 93.02, 93.26, 94.08, 94.83],
    [76.33, 78.38, 77.97, 73.20, 79.14, 77.06, 78.41, 80.45],
    [61.52, 63.32, 63.68, 59.24, 64.51, 61.40, 62.34, 65.24],
]
TABLE_3 = [
    [94.69, 95.26, 94.11, 93.72, 95.85, 94.79, 95.30, 95.76],
    [90.05, 90.26, 90.16, 89.73, 91.01, 90.13, 91.60, 92.33],
    [90.32, 91.12, 91.31, 90.65, 91.86, 90.73, 92.44, 93.29],
    [79.09, 79.56, 73.14, 74.00, 82.12, 75.32, 74.77, 82.87],
    [67.96, 68.65, 63.51, 63.77, 72.33, 63.95, 64.55, 73.65],
    [61.76, 62.68, 58.71, 58.38, 66.95, 58.11, 58.78, 67.67],
    [85.88, 86.50, 83.57, 75.63, 84.19, 81.41, 82.94, 83.03],
    [76.02, 77.16, 72.00, 65.92, 75.22, 69.78, 72.92, 76.62],
    [68.13, 69.44, 64.54, 58.19, 68.22, 61.83, 64.91, 69.68],
    [48.57, 57.78, 50.85, 53.26, 58.79, 55.17, 57.02, 62.89],
    [47.52, 57.64, 50.77, 53.85, 59.26, 54.28, 55.78, 62.48],
    [49.06, 59.65, 52.57, 55.92, 61.12, 56.21, 57.51, 64.38],
    [90.53, 93.54, 91.75, 88.85, 93.02, 93.26, 94.08, 94.83],
    [84.96, 87.30, 86.48, 81.82, 87.70, 86.20, 87.55, 89.33],
    [82.77, 85.12, 84.96, 79.92, 85.98, 83.43, 84.61, 87.31],
]


def cells(rows):
    names = [(data, k) for data in SETS for k in (1, 3, 5)]
    return {
        method: {name: row[column] for name, row in zip(names, rows, strict=True)}
        for column, method in enumerate(METHODS)
    }


@pytest.mark.parametrize(
    ("rows", "ranks", "p"),
    [
        (
            TABLE_2,
            [5.73, 3.20, 5.73, 7.20, 2.53, 6.13, 4.13, 1.33],
            [8.55e-4, 4.27e-3, 1.22e-4, 6.10e-5, 1.53e-3, 6.10e-5, 6.10e-5],
        ),
        (
            TABLE_3,
            [5.80, 3.00, 6.00, 7.33, 2.53, 5.87, 4.07, 1.40],
            [6.10e-4, 5.37e-3, 1.22e-4, 6.10e-5, 6.10e-4, 6.10e-5, 6.10e-5],
        ),
    ],
)
def test_published_ranks_and_p_values(rows, ranks, p):
    found = rank_methods(cells(rows), against="AttentionXML")
    assert len(found.cells) == 15
    assert found.missing == ()
    assert [found.average[method] for method in METHODS] == pytest.approx(ranks, abs=0.005)
    assert [(test.first, test.second) for test in found.tests] == [
        ("AttentionXML", method) for method in METHODS[:-1]
    ]
    assert [test.p for test in found.tests] == pytest.approx(
        p, rel=0.005
    )  # three digits are printed
    # the paper does not correct; all stay below 0.05
    assert [test.corrected for test in found.tests] == pytest.approx(
        holm([test.p for test in found.tests])
    )
    assert max(test.corrected for test in found.tests) < 0.05


def test_every_two_methods_with_wins_and_losses():
    found = rank_methods(cells(TABLE_2))
    assert len(found.tests) == 28
    best = {(test.first, test.second): test for test in found.tests}["XML-CNN", "XML-RNN"]
    assert (best.wins, best.losses) == (1, 14)
    backwards = rank_methods(cells(TABLE_2), lower_is_better=True)
    assert backwards.average["AttentionXML"] == pytest.approx(9 - 4 / 3)
    worst = {(test.first, test.second): test for test in backwards.tests}["XML-CNN", "XML-RNN"]
    assert (worst.wins, worst.losses, worst.p) == (14, 1, best.p)


def test_cells_without_a_difference_are_left_out_and_equal_scores_share_a_rank():
    first = {cell: 0.5 + cell / 100 for cell in range(8)}
    second = first | {cell: 0.5 - cell / 100 for cell in range(2, 8)}
    found = rank_methods({"a": first, "b": second})
    assert found.average == {"a": (6 * 1 + 2 * 1.5) / 8, "b": (6 * 2 + 2 * 1.5) / 8}
    assert found.tests[0].p == pytest.approx(2 / 2**6)
    assert (found.tests[0].wins, found.tests[0].losses, found.tests[0].statistic) == (6, 0, 0)
    turned = rank_methods({"b": second, "a": first}).tests[0]
    assert (turned.wins, turned.losses) == (0, 6)
    same = rank_methods({"a": first, "b": dict(first)})
    assert same.tests[0][2:] == (0, 0, 0.0, 1.0, 1.0)


def test_many_cells_have_the_normal_distribution():
    first = {cell: (cell * 37 % 101) / 101 for cell in range(60)}
    second = {cell: (cell * 53 % 97) / 97 for cell in range(60)}
    (test,) = rank_methods({"a": first, "b": second}).tests
    gaps = [round(first[cell] - second[cell], 12) for cell in range(1, 60)]
    assert test.p == pytest.approx(stats.wilcoxon(gaps, method="asymptotic").pvalue)


@pytest.mark.parametrize(("n", "method"), [(50, "exact"), (51, "asymptotic")])
def test_up_to_50_differences_have_the_exact_distribution(n, method):
    first = {cell: (cell * 37 % 101) / 101 for cell in range(n)}
    second = {cell: (cell * 53 % 97 + 1) / 99 for cell in range(n)}
    gaps = [first[cell] - second[cell] for cell in range(n)]
    assert all(gaps)
    same = {"equal": 0.5}  # a cell without a difference is none of them
    (test,) = rank_methods({"a": first | same, "b": second | same}).tests
    assert test.p == pytest.approx(stats.wilcoxon(gaps, method=method).pvalue, rel=1e-9)


def test_too_few_cells_have_ranks_only():
    found = rank_methods({"a": {1: 0.2, 2: 0.3}, "b": {1: 0.1, 2: 0.2, 3: 0.4}})
    assert found.cells == (1, 2)
    assert found.missing == (3,)
    assert found.average == {"a": 1.0, "b": 2.0}
    assert (found.tests[0].p, found.tests[0].corrected) == (None, None)
    same = rank_methods({"a": {1: 0.2}, "b": {1: 0.2}})
    assert same.tests[0].p is None


def test_what_cannot_be_ranked_is_told():
    with pytest.raises(InputError, match=r"two methods or more, got \['a'\]"):
        rank_methods({"a": {1: 0.2}})
    with pytest.raises(InputError, match="no cell has a score of all of a, b"):
        rank_methods({"a": {1: 0.2}, "b": {2: 0.2}})
    with pytest.raises(InputError, match="unknown method 'c'"):
        rank_methods({"a": {1: 0.2}, "b": {1: 0.2}}, against="c")
    with pytest.raises(InputError, match="score of b in cell 1 is nan"):
        rank_methods({"a": {1: 0.2}, "b": {1: float("nan")}})
    with pytest.raises(InputError, match="score of b in cell 2 is inf"):
        rank_methods(
            {"a": {1: 1, 2: 2, 3: 3}, "b": {1: 1, 2: float("inf"), 3: float("nan")}},
            lower_is_better=True,
        )
