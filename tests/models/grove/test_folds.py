"""Rankings of training documents by makers that did not learn from them."""

import numpy as np
import pytest
from scipy.sparse import csr_array, eye_array

from grove_corpora import Said
from labelgrove import LabelSpace, Run
from labelgrove.core.errors import InputError
from labelgrove.core.features import Views
from labelgrove.core.types import FitContext
from labelgrove.models.grove.folds import MOST, fold_rows, rank_folds
from labelgrove.models.grove.makers import Maker
from labelgrove.models.shares import copies_of
from labelgrove.text import Words

N = 60
X = csr_array(eye_array(N, dtype=np.float32))  # no document is like another
Y = csr_array(eye_array(N, dtype=np.float32))  # and each has a label of its own


def maker(kind):
    return Maker.new(kind, "", {"seed": 0, "threads": 1})


def ranked(kinds=("tree", "neighbours"), about="", X=X, Y=Y, **context):
    makers = [maker(kind) for kind in kinds]
    folds = fold_rows(Y, copies_of(X), 0)
    return rank_folds(makers, X, Y, folds, FitContext(**context), about)


def test_a_maker_that_learned_from_a_document_would_know_its_label():
    for kind in ("tree", "neighbours"):
        fitted = maker(kind).fit(X, Y, FitContext(), kind)
        assert fitted.rank(X, 1).hits(Y).mean() > 0.9


def test_every_document_is_ranked_by_makers_that_did_not_learn_from_it():
    folds = ranked()
    assert folds.rows.tolist() == list(range(N))
    assert folds.rankings.keys() == {"tree", "neighbours"}
    for ranking in folds.rankings.values():
        assert len(ranking) == N
        assert not ranking.hits(Y).any()


def test_counts_are_those_that_the_makers_of_a_fold_saw():
    folds = ranked()
    assert folds.counts.shape == (5, N)
    assert folds.counts.sum(axis=0).tolist() == [4] * N  # each is left out once
    assert not folds.counts[folds.fold, folds.rows].any()


@pytest.mark.parametrize(
    ("n", "folds", "learn", "rank"),
    [
        (50, 5, 40, 50),
        (3_000, 3, 2_000, 3_000),
        (20_000, 1, 15_000, 5_000),
        (300_000, 1, 270_000, MOST),
    ],
)
def test_how_many_documents_learn_and_are_ranked(n, folds, learn, rank):
    labels = np.arange(n) % 7
    Y = csr_array((np.ones(n, np.float32), labels, np.arange(n + 1)), shape=(n, 7))
    X = csr_array((np.arange(1, n + 1, dtype=np.float32), np.zeros(n, int), np.arange(n + 1)))
    pairs = fold_rows(Y, copies_of(X), 0)
    assert len(pairs) == folds
    assert {len(rest) for rest, _ in pairs} == {learn}
    assert sum(len(left) for _, left in pairs) == rank
    for rest, left in pairs:
        assert not np.intersect1d(rest, left).size
        assert (np.diff(left) > 0).all()
    assert max(left.max() for _, left in pairs) > 0.9 * n  # of all: a corpus may be sorted


def test_no_fold_ranks_what_it_has_learned_a_copy_of():
    X = csr_array(np.repeat(np.eye(10, dtype=np.float32), 5, axis=0))
    pairs = fold_rows(csr_array(np.ones((50, 1), np.float32)), copies_of(X), 0)
    assert len(pairs) == 5
    for rest, left in pairs:
        assert not {*(rest // 5)} & {*(left // 5)}
    two = csr_array(np.repeat(np.eye(2, dtype=np.float32), 25, axis=0))
    assert len(fold_rows(csr_array(np.ones((50, 1), np.float32)), copies_of(two), 0)) == 2


def test_a_maker_with_nothing_to_say_is_left_out_and_says_why():
    texts = ["sun", "rain"] * (N // 2)
    words = Words().fit(texts)
    space = LabelSpace([f"label{i:02d}" for i in range(N)], np.ones(N, int), N)
    said = Said()
    folds = ranked(
        ("tree", "names"),
        X=Views({"text": X, "words": words.transform(texts)}),
        labels=space,
        featurizers={"words": words},
        run=Run(progress=said),
    )
    assert folds.rankings.keys() == {"tree"}
    (line,) = said.lines
    assert line.startswith("without names: no label's name, such as 'label00'")


def test_finished_rankings_are_not_made_again(tmp_path):
    first = ranked(run=Run(tmp_path))
    steps = sorted((tmp_path / "rankings").iterdir())
    assert len(steps) == 10
    times = [step.stat().st_mtime_ns for step in steps]
    again = ranked(run=Run(tmp_path, resume=True))
    assert [step.stat().st_mtime_ns for step in steps] == times
    for kind, ranking in first.rankings.items():
        assert np.array_equal(again.rankings[kind].labels, ranking.labels)
        assert np.array_equal(again.rankings[kind].scores, ranking.scores)
    ranked(run=Run(tmp_path))  # not resumed
    assert all(step.stat().st_mtime_ns > time for step, time in zip(steps, times, strict=True))


def test_a_ranking_that_was_being_written_is_made_again(tmp_path):
    ranked(run=Run(tmp_path))
    step = tmp_path / "rankings" / "neighbours-fold3"
    step.rename(step.with_name(".neighbours-fold3"))
    ranked(run=Run(tmp_path, resume=True))
    assert step.exists()
    assert not step.with_name(".neighbours-fold3").exists()


def test_other_settings_or_data_are_not_resumed(tmp_path):
    ranked(run=Run(tmp_path), about="seed 0")
    run = Run(tmp_path, resume=True)
    with pytest.raises(InputError, match="holds a training on other data or with other settings"):
        ranked(run=run, about="seed 1")
    with pytest.raises(InputError, match="on other data"):
        ranked(run=run, about="seed 0", Y=csr_array(Y[::-1]))
    with pytest.raises(InputError, match="on other data"):
        ranked(run=run, about="seed 0", X=csr_array(2 * X))
