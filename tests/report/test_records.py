"""Systems compared over several data sets, from the records that evaluate writes."""

import json

import numpy as np
import pytest
from scipy import stats

from labelgrove.core.errors import InputError
from labelgrove.evaluation import average_ranks, critical_difference, holm
from labelgrove.report.comparison_page import joined
from labelgrove.report.findings import findings
from labelgrove.report.records import ResultRecord, compare_records, read_record

SCORES = np.array(
    [
        [0.91, 0.90, 0.80],
        [0.72, 0.70, 0.71],
        [0.83, 0.80, 0.60],
        [0.64, 0.61, 0.50],
        [0.75, 0.71, 0.65],
        [0.56, 0.51, 0.56],
        [0.97, 0.91, 0.70],
    ]
)
MODELS = ["bonsai", "knn", "parabel"]


def records(scores=SCORES, **facts):
    return [
        ResultRecord(
            file=f"{model}-{i}.json",
            tagger=f"{model}-{i}",
            model=model,
            test=f"data/set{i}/test.jsonl",
            documents=100 + i,
            scores={"P@1": float(value), "hamming-loss": 1 - float(value)},
            **facts,
        )
        for i, row in enumerate(scores)
        for model, value in zip(MODELS, row, strict=True)
    ]


def test_ranks_and_tests_over_sets():
    found = compare_records(records(), ["P@1"])
    assert list(found.systems) == MODELS
    assert list(found.sets) == [f"set{i}" for i in range(7)]
    (standing,) = found.standings
    assert standing.ranks.average.tolist() == average_ranks(SCORES).tolist()
    told = stats.friedmanchisquare(*SCORES.T)
    assert standing.ranks.friedman.p == pytest.approx(told.pvalue)
    assert standing.ranks.critical == pytest.approx(critical_difference(3, 7))
    plain = [
        stats.wilcoxon(np.round(SCORES[:, i] - SCORES[:, j], 12)[SCORES[:, i] != SCORES[:, j]])
        for i, j in standing.pairs
    ]
    assert [each.p for each in standing.pairs.values()] == pytest.approx(
        holm([each.pvalue for each in plain])
    )
    assert (found.wins(0, 1, "P@1"), found.wins(1, 0, "P@1")) == (7, 0)
    assert (found.wins(0, 2, "P@1"), found.wins(2, 0, "P@1")) == (6, 0), "equal is no win"
    assert found.best(5, "P@1") == {0, 2}


def test_a_loss_ranks_the_other_way():
    found = compare_records(records(), ["P@1", "hamming-loss"])
    first, second = found.standings
    assert first.ranks.average.tolist() == second.ranks.average.tolist()
    assert found.wins(0, 1, "hamming-loss") == 7


def test_scores_that_differ_by_rounding_are_equal():
    found = compare_records(records([[0.3, 0.1 + 0.2, 0.2]]), ["P@1"])
    assert found.standings[0].ranks.average.tolist() == [1.5, 1.5, 3.0]
    assert found.best(0, "P@1") == {0, 1}
    assert found.wins(1, 0, "P@1") == 0


def test_fewer_than_six_say_so():
    found = findings(compare_records(records(SCORES[:5])))
    assert any("5 data sets are too few for a p-value, it takes 6" in note for note in found.notes)
    assert found.record["standings"]["P@1"]["friedman"]["p"] is None
    assert {pair["p"] for pair in found.record["standings"]["P@1"]["pairs"]} == {None}
    assert not any("Wilcoxon" in table.title for table in found.tables)


def test_a_missing_combination_is_told_and_its_set_has_no_rank():
    some = [each for each in records() if each.file != "knn-3.json"]
    found = compare_records(some)
    assert list(found.complete) == [0, 1, 2, 4, 5, 6]
    assert found.score(1, 3, "P@1") is None
    kept = np.delete(SCORES, 3, axis=0)
    assert found.standings[0].ranks.average.tolist() == average_ranks(kept).tolist()
    shown = findings(found)
    assert any("knn has no result on set3" in note for note in shown.notes)
    assert shown.tables[0].rows[1][4] == "–"
    # every two are compared on what both have
    pairs = [(kept, 0, 1), (SCORES, 0, 2), (kept, 1, 2)]
    gaps = [np.round(scores[:, i] - scores[:, j], 12) for scores, i, j in pairs]
    plain = [stats.wilcoxon(gap[gap != 0]).pvalue for gap in gaps]
    assert [each.p for each in found.standings[0].pairs.values()] == pytest.approx(holm(plain))


def test_no_set_that_all_have():
    found = findings(compare_records([records()[0], records()[4]]))
    assert any("no data set has results of all systems" in note for note in found.notes)
    assert found.record["standings"]["P@1"]["average_ranks"] is None
    found.page("a command")


def test_two_taggers_of_one_model_are_told_apart_by_their_folders():
    twice = [
        ResultRecord(f"{name}.json", name, "bonsai", "test.jsonl", 9, {"P@1": score})
        for name, score in (("small", 0.4), ("large", 0.5))
    ]
    assert list(compare_records(twice).systems) == ["small", "large"]
    with pytest.raises(InputError, match=r"small.json and again.json are both of 'small'"):
        compare_records(
            [*twice, ResultRecord("again.json", "small", "bonsai", "test.jsonl", 9, {"P@1": 1})]
        )


def test_files_of_one_name_are_told_apart_by_their_documents():
    same = [
        ResultRecord(f"{n}.json", "bonsai", "bonsai", "test.jsonl", n, {"P@1": 0.5})
        for n in (9, 1000)
    ]
    assert list(compare_records(same).sets) == [
        "test.jsonl (9 documents)",
        "test.jsonl (1,000 documents)",
    ]


def test_metrics_that_not_all_have():
    some = [
        ResultRecord("a", "a", "a", "t", 1, {"P@1": 0.5}),
        ResultRecord("b", "b", "b", "t", 1, {"P@2": 1}),
    ]
    with pytest.raises(InputError, match="no metric in common"):
        compare_records(some)
    with pytest.raises(InputError, match="unknown metric of all records 'P@3'"):
        compare_records(records(), ["P@3"])
    with pytest.raises(InputError, match="no records"):
        compare_records([])


def test_reading_records(tmp_path):
    file = tmp_path / "a.json"
    file.write_text(json.dumps({"model": "knn", "test": "t.jsonl", "scores": {"P@1": 0.5}}))
    found = read_record(file)
    assert (found.model, found.tagger, found.scores, found.seconds) == (
        "knn", "knn", {"P@1": 0.5}, None,
    )  # fmt: skip
    for wrong in ("[]", '{"model": "knn"}', '{"model": "a", "scores": {"P@1": "high"}}'):
        file.write_text(wrong)
        with pytest.raises(InputError, match="holds no scores of a tagger"):
            read_record(file)
    for name, wrong in {
        "documents is '9', not a whole number": '"scores": {"P@1": 0.5}, "documents": "9"',
        "documents is 9.5, not a whole number": '"scores": {"P@1": 0.5}, "documents": 9.5',
        "seconds is 'long', not a number": '"scores": {"P@1": 0.5}, "seconds": "long"',
        "P@1 is nan, not a number": '"scores": {"P@1": NaN}',
    }.items():
        file.write_text('{"model": "knn", ' + wrong + "}")
        with pytest.raises(InputError, match=f"a.json: {name}"):
            read_record(file)
    file.write_text("{")
    with pytest.raises(InputError, match="is no JSON"):
        read_record(file)
    with pytest.raises(InputError, match="cannot read"):
        read_record(tmp_path / "none.json")


def test_pages_have_the_critical_difference():
    found = findings(compare_records(records(seconds=1.5, size=2_000_000), ["P@1"]))
    page = found.page("labelgrove compare <a>")
    assert "critical difference" in page
    assert "bonsai 1.07" in page
    assert "labelgrove compare &lt;a&gt;" in page
    assert "2.0 MB" in page
    assert "average rank" in found.latex()
    assert "% needs \\usepackage{booktabs}" in found.latex()
    json.dumps(found.record, allow_nan=False)


def test_which_ranks_are_joined():
    assert joined([1.0, 1.2, 1.4], 1.0) == [(0, 2)]
    assert joined([1.0, 2.0, 3.0], 1.0) == [], "just the critical difference is significant"
    assert joined([1.0, 1.5, 2.5, 4.0], None) == []


def test_all_metrics_of_all_sets_together():
    found = compare_records(records(SCORES[:3]), ["P@1", "hamming-loss"], pool_metrics=True)
    twice = np.concatenate([SCORES[:3], SCORES[:3]])
    assert list(found.pooled.average.values()) == pytest.approx(average_ranks(twice).tolist())
    assert len(found.pooled.cells) == 6
    shown = findings(found)
    (test,) = [each for each in found.pooled.tests if each.second == "knn"]
    assert (test.first, test.wins, test.losses) == ("bonsai", 6, 0)
    assert test.p == pytest.approx(2 / 2**6)
    assert shown.record["pooled"]["pairs"][0]["corrected"] == pytest.approx(3 * 2 / 2**6)
    assert any("Wilcoxon's test over 6 cells" in table.title for table in shown.tables)
    assert any("not independent" in note for note in shown.notes)
    assert "Average ranks over 6 cells" in shown.page("a command")
    few = findings(compare_records(records(SCORES[:3]), ["P@1"], pool_metrics=True))
    assert any("3 cells are too few for a p-value, it takes 6" in note for note in few.notes)
    assert not any("Wilcoxon's test over" in table.title for table in few.tables)
    assert findings(compare_records(records())).record["pooled"] is None
