import datetime

import numpy as np
import pytest
from scipy.sparse import csr_array

from labelgrove.core.errors import InputError
from labelgrove.corpus.dividing import latest_rows, rows_of_groups


@pytest.mark.parametrize("stratified", [False, True])
def test_groups_stay_whole_and_the_share_is_met(stratified):
    random = np.random.default_rng(1)
    groups = np.concatenate([np.repeat(np.arange(500), 4), np.full(600, 999)])
    Y = csr_array(random.random((len(groups), 20)) < 0.1) if stratified else None
    chosen = rows_of_groups(groups, 0.2, seed=3, Y=Y)
    for group in np.unique(groups):
        assert len(np.unique(chosen[groups == group])) == 1
    assert 0.17 < chosen.mean() < 0.23
    assert not chosen[groups == 999].any(), "a group larger than the test set is for training"
    again = rows_of_groups(groups, 0.2, seed=3, Y=Y)
    assert (chosen == again).all()
    assert (chosen != rows_of_groups(groups, 0.2, seed=4, Y=Y)).any()


def test_rare_labels_are_on_both_sides_where_groups_allow():
    groups = np.repeat(np.arange(300), 2)
    labels = np.arange(600) // 20  # each label in ten groups
    Y = csr_array((np.ones(600, np.int8), (np.arange(600), labels)))
    chosen = rows_of_groups(groups, 0.3, Y=Y)
    for label in range(30):
        assert 0 < chosen[labels == label].mean() < 1


def test_one_group_cannot_be_divided():
    with pytest.raises(InputError, match="one group"):
        rows_of_groups(np.zeros(9, int), 0.2)


def test_the_latest_by_whatever_tells_the_time():
    wanted = [False, False, True, False]
    for times in (
        [1999, 2001, 2020, 2001],
        ["9", "10", "111", "10"],
        ["2001-05", "2001", "2001-05-02", "2001-04-30T10:00:00"],
        [datetime.date(2020, 1, day) for day in (1, 2, 9, 3)],
        [datetime.datetime(2020, 1, day) for day in (1, 2, 9, 3)],
        ["2020-01-01T10:00+09:00", "2020-01-01 01:30", "2020-01-01T02:00Z", "2020-01-01 01:45"],
    ):
        assert latest_rows(times, 0.25, "docs").tolist() == wanted


def test_documents_of_one_time_are_on_one_side():
    years = [2001] * 30 + [2002] * 30 + [2003] * 40
    assert latest_rows(years, 0.2, "docs").sum() == 40
    with pytest.raises(InputError, match="all documents of docs have the time 2001"):
        latest_rows([2001, 2001], 0.5, "docs")


def test_dates_that_do_not_sort_are_refused_with_their_document():
    with pytest.raises(InputError, match=r"document 2 of docs.csv has the time '31.12.2020'"):
        latest_rows(["2020-12-01", "31.12.2020"], 0.5, "docs.csv")


@pytest.mark.parametrize("value", ["nan", float("nan"), "inf"])
def test_a_missing_time_is_not_the_latest(value):
    with pytest.raises(InputError, match=r"document 2 of docs has the time '(nan|inf)'"):
        latest_rows([2001, value, 2003], 0.3, "docs")


@pytest.mark.parametrize("date", ["2020-13", "2020-02-30", "2020-01-02 noon"])
def test_dates_that_there_are_not_are_refused(date):
    with pytest.raises(InputError, match=f"document 2 of docs has the time '{date}'"):
        latest_rows(["2020-01-01", date], 0.5, "docs")


@pytest.mark.parametrize("stratified", [False, True])
def test_more_than_half_of_the_documents_may_be_chosen(stratified):
    Y = csr_array(np.ones((1000, 1), np.int8)) if stratified else None
    chosen = rows_of_groups(np.arange(1000) // 2, 0.7, Y=Y)
    assert 0.68 < chosen.mean() < 0.72


def test_a_few_large_groups_are_divided_as_near_to_the_share_as_they_can_be():
    groups = np.repeat(np.arange(5), [1, 50, 50, 50, 50])
    sizes = {int(rows_of_groups(groups, 0.2, seed=seed).sum()) for seed in range(10)}
    assert sizes <= {50, 51}
