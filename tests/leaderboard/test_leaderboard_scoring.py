"""Means, ranks and tests of a leaderboard, worked by hand."""

import numpy as np
import pytest

from labelgrove.core import storage
from labelgrove.evaluation import holm, wilcoxon
from labelgrove.labels import LabelSpace
from labelgrove.leaderboard.entrants import Entrant
from labelgrove.leaderboard.files import Survey
from labelgrove.leaderboard.folder import BoardFolder
from labelgrove.leaderboard.scoring import standings
from labelgrove.leaderboard.tables import record, score_table, tables

RIGHT = {"all": 10, "most": 7, "few": 2}  # documents, from the first on, whose label comes first


@pytest.fixture(params=["", "c"], ids=["labels", "concepts"])
def board(request, tmp_path):
    """Ten documents with one of two labels; each system ranks one label, or a concept."""
    space = LabelSpace(["a", "b", *request.param], [5, 5], 10)
    wrong = len(space) - 1  # the last label, or the concept, on even documents
    truth = np.arange(10) % 2
    Y = space.encode(([space.ids[i]] for i in truth), unseen="append")
    facts = {
        **{"name": "ten", "labels": len(space), "labels_a_document": 1.0},
        **{part: {"documents": 10} for part in ("train", "test")},
    }
    folder, found = BoardFolder(tmp_path), Survey(space, Y, facts, ("a note",))
    entrants = [Entrant(name, "knn") for name in RIGHT]
    for entrant in entrants:
        labels = np.where(np.arange(10) < RIGHT[entrant.name], truth, np.where(truth, 0, wrong))[
            :, None
        ]
        place = folder.renewed(entrant, 0)
        scores = np.full((10, 1), 0.9, np.float32)
        storage.write_values(
            place / "ranking", {"labels": labels.astype(np.int32), "scores": scores}
        )
        note = {"status": "finished", "threshold": 0.5, "train_seconds": 2.0, "rank_seconds": 1.0}
        folder.write_note(entrant, 0, {**note, "memory": None, "size": 10})
    return standings(folder, entrants[::-1], found, [], 1)


def test_scores_ranks_and_order(board):
    assert [each.name for each in board.systems] == ["all", "most", "few"]
    for metric in ("P@1", "nDCG@5", "micro-F1", "micro-recall"):
        assert [each.mean(metric) for each in board.systems] == pytest.approx([1, 0.7, 0.2])
    loss = np.array([0, 0.6, 1.6]) / board.facts["labels"]
    assert [s.mean("hamming-loss") for s in board.systems] == pytest.approx(loss)
    # two documents: all three share 2; five: 1.5, 1.5, 3; three: 1, 2.5, 2.5
    assert board.ranks.average.tolist() == pytest.approx([1.45, 1.9, 2.65])
    assert board.ranks.friedman.p < 0.05


def test_what_is_behind_the_best(board):
    first, *others = board.systems
    assert "nDCG@5" not in first.leads
    hits = {name: (np.arange(10) < n).astype(float) for name, n in RIGHT.items()}
    expected = holm([wilcoxon(hits["all"], hits[each.name]).p for each in others])
    assert [each.leads["nDCG@5"].wilcoxon for each in others] == pytest.approx(expected)
    assert [each.leads["nDCG@5"].gap.value for each in others] == pytest.approx([0.3, 0.8])
    assert others[0].leads["hamming-loss"].gap.value < 0
    assert others[0].leads["micro-F1"].wilcoxon is None
    assert others[1].leads["nDCG@5"].gap.p < 0.01
    assert board.best("hamming-loss") == {0}


def test_tables_have_two_digits_and_the_loss_four(board):
    table = score_table(board, ("P@1", "hamming-loss"))
    cells = [[cell.removesuffix("†") for cell in row] for row in table.rows]
    assert cells[1] == ["most", "70.00", "0.3000" if board.facts["labels"] == 2 else "0.2000"]
    assert table.bold == {(0, 1), (0, 2)}
    assert [each.title.partition(":")[0] for each in tables(board)][:2] == [
        "Rankings",
        "Label sets",
    ]
    assert record(board)["systems"][2]["average_rank"] == pytest.approx(2.65)
    assert record(board)["notes"][-1] == "a note"
