"""Taggers compared on one test set: the same documents, one label space, one judge."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from labelgrove.core.errors import InputError
from labelgrove.core.progress import Lines
from labelgrove.core.ranking import Ranking
from labelgrove.corpus import read_corpus
from labelgrove.evaluation import (
    Decision,
    additive,
    by_frequency,
    evaluate,
    holm,
    overlap,
    paired_bootstrap,
    per_document,
    wilcoxon,
)
from labelgrove.labels import LabelSpace
from labelgrove.report import comparison_tables
from labelgrove.report.comparison import compare, ranking_depth
from labelgrove.report.contestants import Contestant, agreements, alike, distinct, overlap_table
from labelgrove.report.findings import findings

IDS = [f"l{number}" for number in range(8)]


def made(n=60, seed=5):
    """Documents with true labels, and the space of labels with their counts."""
    rng = np.random.default_rng(seed)
    truth = rng.random((n, 8)) < np.linspace(0.6, 0.1, 8)
    lists = [[IDS[j] for j in np.flatnonzero(row)] for row in truth]
    space = LabelSpace(IDS, [90, 70, 50, 40, 20, 10, 5, 3], 100)
    return read_corpus(([f"text {i}" for i in range(n)], lists)), truth, space


def contestant(name, truth, space, skill, seed):
    rng = np.random.default_rng(seed)
    scores = rng.random(truth.shape) * (1 - skill) + skill * truth
    ranking = Ranking.from_dense(scores, truth.shape[1])
    return Contestant(name, "made", space, ranking, Decision(threshold=0.5), 0.5, 2_000_000, 9)


@pytest.fixture(scope="module")
def three():
    corpus, truth, space = made()
    skills = {"good": (0.3, 1), "fair": (0.3, 2), "poor": (0.05, 3)}
    return corpus, [
        contestant(name, truth, space, skill, seed) for name, (skill, seed) in skills.items()
    ]


METRICS = ("P@1", "R@3", "PSP@3", "micro-F1", "macro-F1", "hamming-loss")


def test_scores_are_those_of_evaluate(three):
    corpus, asked = three
    found = compare(asked, corpus, metrics=METRICS)
    space = asked[0].labels
    Y = space.encode([document.labels for document in corpus])
    for each, scores in zip(asked, found.scores, strict=True):
        told = evaluate(
            Y, each.ranking, ks=(1, 3), threshold=each.decision, propensities=space.propensities()
        )
        assert {name: scores[name].value for name in METRICS} == pytest.approx(
            {name: told[name] for name in METRICS}
        )
        assert all(scores[name].low < scores[name].value < scores[name].high for name in METRICS)


def test_pairs_have_the_tests_of_both_kinds_corrected(three):
    corpus, asked = three
    found = compare(asked, corpus, metrics=METRICS, seed=4)
    Y = asked[0].labels.encode([document.labels for document in corpus])
    own = [pair for pair in found.pairs if pair.metric == "R@3"]
    gaps, plain = [], []
    for pair in own:
        first, second = asked[pair.first].ranking, asked[pair.second].ranking
        both = (additive(Y, ranking, ["R@3"]) for ranking in (first, second))
        gaps.append(paired_bootstrap(*both, resamples=found.resamples, seed=4)["R@3"])
        scores = [per_document(Y, ranking, "R@3") for ranking in (first, second)]
        plain.append(wilcoxon(*scores).p)
        assert pair.better == (scores[0] > scores[1]).sum()
        assert pair.worse == (scores[0] < scores[1]).sum()
        assert pair.value > 0, "the better one is first"
    assert [pair[3:6] for pair in own] == [pytest.approx(gap[:3]) for gap in gaps]
    assert [pair.p for pair in own] == pytest.approx(holm([gap.p for gap in gaps]))
    assert [pair.wilcoxon for pair in own] == pytest.approx(holm(plain))
    averages = [pair for pair in found.pairs if pair.metric == "micro-F1"]
    assert {pair.wilcoxon for pair in averages} == {None}, "no mean over documents"


def test_the_best_and_what_is_level_with_it(three):
    corpus, asked = three
    found = compare(asked, corpus, metrics=METRICS)
    assert found.best("R@3") == {0}
    assert found.level_with_best("R@3") == {1}
    assert found.best("hamming-loss") == {0}, "a small loss is a good one"
    assert all(pair.value < 0 for pair in found.pairs if pair.metric == "hamming-loss")
    twins = [asked[0], replace(asked[0], name="twin"), asked[2]]
    same = compare(twins, corpus, metrics=["P@1"])
    assert same.best("P@1") == {0, 1}
    assert same.level_with_best("P@1") == set()
    assert same.pairs[0].p == same.pairs[0].wilcoxon == 1.0


def test_labels_are_matched_by_id_and_unknown_ones_are_misses(three):
    corpus, asked = three
    few = LabelSpace(["l3", "l0", "z"], [400, 30, 2], 500)  # other numbers, other counts
    numbers = np.array([3, 0])
    ranking = asked[0].ranking
    own = np.where(ranking.labels == 3, 0, np.where(ranking.labels == 0, 1, -1))
    known = np.argsort(own < 0, axis=1, kind="stable")
    least = np.array([0.6, 0.2, 0.9], np.float32)
    other = Contestant(
        "few",
        "made",
        few,
        Ranking(
            np.take_along_axis(own, known, 1),
            np.where(
                np.take_along_axis(own, known, 1) >= 0,
                np.take_along_axis(ranking.scores, known, 1),
                0,
            ),
        ),
        Decision(threshold=least),
        0.1,
    )
    first, second = alike([asked[0], other])
    assert first.labels.ids == [*IDS, "z"]
    assert first.labels.counts.tolist() == [90, 70, 50, 400, 20, 10, 5, 3, 2]
    assert first.labels.n_documents == 500
    assert set(second.ranking.labels.ravel().tolist()) == {-1, *numbers.tolist()}
    assert second.decision.threshold[[0, 3]].tolist() == pytest.approx([0.2, 0.6])
    assert (second.decision.mask(second.ranking) == other.decision.mask(other.ranking)).all()
    found = compare([asked[0], other], corpus, metrics=["R@3"])
    Y = first.labels.encode([document.labels for document in corpus])
    assert found.scores[1]["R@3"].value == pytest.approx(
        per_document(Y, second.ranking, "R@3").mean()
    )
    told = " ".join(found.notes)
    assert "good knows 8 of the 9 labels" in told
    assert "few knows 3 of the 9 labels" in told
    assert "learned from different documents" in told


def test_labels_that_nobody_knows_are_told(three):
    corpus, asked = three
    lists = [list(document.labels) for document in corpus]
    lists[0], lists[1] = ["unheard"], []
    found = compare(asked, read_corpus((["x"] * 60, lists)), metrics=["P@1"])
    told = " ".join(found.notes)
    assert "1 label (" in told
    assert "1 document without a label" in told


def test_concepts_that_nobody_uses_are_no_labels_of_the_hamming_loss(three):
    corpus, asked = three
    wide = LabelSpace([*IDS, "c1", "c2", "c3"], asked[0].labels.counts, 100)  # three concepts
    lists = [list(document.labels) for document in corpus]
    lists[0], lists[1] = ["c2", "unheard"], ["unheard"]
    with_concepts = [replace(each, labels=wide) for each in asked]
    given = read_corpus((["x"] * 60, lists))
    found = compare(with_concepts, given, metrics=["hamming-loss"])
    Y = wide.encode(lists, unseen="append")
    for each, scores in zip(asked, found.scores, strict=True):
        told = evaluate(Y, each.ranking, threshold=each.decision)["hamming-loss"]
        # of 12 columns, c1 and c3 are of no document
        assert scores["hamming-loss"].value == pytest.approx(told * Y.shape[1] / 10)


def test_areas_do_not_depend_on_how_many_places_a_metric_asks_for(monkeypatch, three):
    corpus, asked = three
    monkeypatch.setattr("labelgrove.report.comparison.RANKING_DEPTH", 3)
    cut = [replace(each, ranking=each.ranking.top(3)) for each in asked]
    for one, other in zip(compare(asked, corpus).groups, compare(cut, corpus).groups, strict=True):
        for key in ("AUC", "AUPR"):
            assert [group[key] for group in one] == [group[key] for group in other]


def test_groups_of_frequency(three):
    corpus, asked = three
    found = compare(asked, corpus, metrics=["P@1"])
    Y = asked[0].labels.encode([document.labels for document in corpus])
    told = by_frequency(
        Y, asked[1].ranking, asked[1].labels.counts, n_groups=3, threshold=Decision(top=5)
    )
    assert [group["found"] for group in found.groups[1]] == pytest.approx(
        [group["micro-recall"] for group in told]
    )
    assert list(found.group_sizes) == [group["labels"] for group in told]


def test_overlap_table(three):
    _, asked = three
    table = overlap_table(agreements(alike(asked[:2])))
    shares = overlap(asked[0].ranking, asked[1].ranking, (1, 2, 3, 4, 5))
    assert table.rows == [["good", "fair", *(f"{100 * share:.0f}" for share in shares)]]


@pytest.mark.parametrize("n", [1, 5, 6])
def test_few_documents_have_scores_but_no_p_values(n):
    corpus, truth, space = made(n=n)
    asked = [contestant(name, truth, space, 0.5, seed) for seed, name in enumerate("ab")]
    found = findings(compare(asked, corpus))
    found_pairs = found.record["pairs"]
    told = any("cannot tell luck from skill" in note for note in found.notes)
    assert told == (n < 6)
    assert all((pair["p"] is None) == (n < 6) for pair in found_pairs)
    assert all(tagger["scores"]["P@1"] >= 0 for tagger in found.record["taggers"])
    json.dumps(found.record, allow_nan=False)
    assert "<svg" in found.page("a command") or n < 6
    assert ("†" in found.markdown()) <= (n >= 6)


def test_nothing_above_the_threshold(three):
    corpus, asked = three
    silent = [replace(each, decision=Decision(threshold=1.0)) for each in asked]
    found = compare(silent, corpus, metrics=["micro-F1", "macro-F1"])
    assert all(scores["micro-F1"] == (0, 0, 0) for scores in found.scores)
    assert found.best("macro-F1") == {0, 1, 2}


def test_the_score_table_has_bold_and_marks(three):
    corpus, asked = three
    found = compare(asked, corpus, metrics=["R@3"])
    table = comparison_tables.score_table(found)
    assert table.bold == {(0, 1)}
    marked = [row[1].endswith("†") for row in table.rows]
    assert marked == [False, True, False]
    (missing,) = {
        row[6]
        for row in comparison_tables.pair_table(
            compare(asked[:2], corpus, metrics=["macro-F1"])
        ).rows
    }
    assert missing == "–"


def test_what_is_wrong_is_told(three):
    corpus, asked = three
    with pytest.raises(InputError, match="two taggers or more, got 1"):
        compare(asked[:1], corpus)
    with pytest.raises(InputError, match="resamples must be at least 1, got 0"):
        compare(asked, corpus, resamples=0)
    with pytest.raises(InputError, match="unknown metric 'P@x'"):
        compare(asked, corpus, metrics=["P@x"])


def test_names_are_as_long_as_it_takes_to_tell_them_apart():
    assert distinct(["x/a", "y/a", "y/b"]) == ["x/a", "y/a", "b"]
    assert distinct(["a", "b/a"])[1] == "b/a"


def test_more_pairs_draw_more_samples(three):
    corpus, asked = three
    many = [replace(asked[0], name=str(number)) for number in range(5)]
    assert compare(many, corpus, metrics=["P@1"]).resamples == 2000
    assert compare(asked, corpus, metrics=["P@1"], resamples=50).resamples == 50
    assert ranking_depth(["P@5", "micro-F1"]) == 100


def test_many_documents_draw_fewer_samples_and_progress_is_shown(monkeypatch, three, capsys):
    corpus, asked = three
    monkeypatch.setattr("labelgrove.evaluation.resampling.MANY", 59)
    assert compare(asked[:2], corpus, metrics=["P@1"], progress=Lines()).resamples == 200
    assert "drawing: 200 samples in" in capsys.readouterr().err


def test_an_area_without_labels_is_no_number_in_the_table_and_none_in_json():
    _, truth, space = made(n=8)
    rare = truth & (np.cumsum(truth, axis=0) <= 4)  # no label has five documents
    asked = [contestant(name, rare, space, 0.5, seed) for seed, name in enumerate("ab")]
    lists = [[IDS[j] for j in np.flatnonzero(row)] for row in rare]
    found = compare(asked, read_corpus((["x"] * 8, lists)), metrics=["P@1"])
    assert math.isnan(found.groups[0][0]["AUC"])
    assert comparison_tables.frequency_table(found, "AUC").rows[0][1] == "–"
    assert comparison_tables.record(found)["taggers"][0]["groups"]["rare"]["AUC"] is None
