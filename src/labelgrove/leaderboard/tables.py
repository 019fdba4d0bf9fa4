"""A leaderboard as tables, in the forms of the papers, and as plain values for JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from labelgrove.core.wording import several
from labelgrove.leaderboard.machine import told
from labelgrove.leaderboard.published import published_notes, published_tables
from labelgrove.leaderboard.standings import LOSS, METRICS, OF_SETS, RANKED, Leaderboard, System
from labelgrove.report.comparison_tables import NONE, p_value
from labelgrove.report.luck import LEVEL
from labelgrove.report.tables import MARK, Table
from labelgrove.report.wording import duration, size

HEADS = {"hamming-loss": "Hamming loss"} | {
    f"{kind}-{of}": f"{kind}-{short}"
    for kind in ("micro", "macro")
    for of, short in (("precision", "P"), ("recall", "R"), ("F1", "F1"))
}


def tables(board: Leaderboard) -> list[Table]:
    """Return all that was found, the most important first."""
    found = []
    if board.systems:
        found += [score_table(board, RANKED), score_table(board, OF_SETS)]
        if board.systems[0].intervals:
            found.append(interval_table(board))
        if len(board.systems) > 1 and board.systems[0].intervals:
            found.append(test_table(board))
        found.append(cost_table(board))
        found += published_tables(board)
    if board.absent:
        found.append(absence_table(board))
    return found


def score_table(board: Leaderboard, metrics: Sequence[str]) -> Table:
    """Return the means of some metrics, the best in bold, marks on what is level with it."""
    bold = {(row, column) for column, m in enumerate(metrics, 1) for row in board.best(m)}
    rows = [
        [each.name, *(score(each, m, best=(i, j) in bold) for j, m in enumerate(metrics, 1))]
        for i, each in enumerate(board.systems)
    ]
    what = "Rankings" if metrics == RANKED else "Label sets"
    spread = " ± standard deviation over trainings" if board.repeated else ""
    title = f"{what}: {several(board.documents, 'test document')}, %{spread}"
    if LOSS in metrics:
        title += "; Hamming loss as a share of all labels"
    return Table(["", *(HEADS.get(m, m) for m in metrics)], rows, title=title, bold=bold)


def score(system: System, metric: str, *, best: bool) -> str:
    """Return a mean as papers print it: two digits, for the Hamming loss four."""
    scale, digits = (1, 4) if metric == LOSS else (100, 2)
    deviation = system.deviation(metric)
    spread = "" if deviation is None else f" ± {scale * deviation:.{digits}f}"
    mark = MARK if system.is_level(metric) and not best else ""
    return f"{scale * system.mean(metric):.{digits}f}{mark}{spread}"


def interval_table(board: Leaderboard) -> Table:
    """Return where the means lie in 95 of 100 samples."""
    metrics = ("P@1", "P@3", "P@5", board.main, "PSP@5", "micro-F1")
    rows = [
        [
            each.name,
            *(
                f"{100 * each.intervals[m].low:.1f} to {100 * each.intervals[m].high:.1f}"
                for m in metrics
            ),
        ]
        for each in board.systems
    ]
    return Table(["", *metrics], rows, title="95% intervals, %")


def test_table(board: Leaderboard) -> Table:
    """Return how far each is behind the best by the main metric, and its average rank."""
    ranked = dict(zip((s.name for s in board.systems), _ranks(board), strict=True))
    rows = []
    for each in board.systems:
        lead = each.leads.get(board.main)
        if lead is None:
            rows.append([each.name, ranked[each.name], *[NONE] * 4])
            continue
        gap = lead.gap
        within = f"{100 * gap.low:.2f} to {100 * gap.high:.2f}"
        tests = [p_value(gap.p), p_value(lead.wilcoxon)]
        rows.append([each.name, ranked[each.name], f"{100 * gap.value:.2f}", within, *tests])
    heads = ["", "average rank", "behind the best", "95% interval", "p, bootstrap", "p, Wilcoxon"]
    return Table(heads, rows, title=f"Differences from the best by {board.main}, in points")


def _ranks(board: Leaderboard) -> list[str]:
    if board.ranks is None:
        return [NONE] * len(board.systems)
    return [f"{rank:.2f}" for rank in board.ranks.average]


def cost_table(board: Leaderboard) -> Table:
    """Return what training and ranking took."""
    rows = []
    for each in board.systems:
        ranked = each.cost("rank_seconds")
        per = NONE if ranked is None else f"{1000 * ranked / board.documents:.3g} ms"
        memory, disk = each.cost("memory"), each.cost("size")
        rows.append(
            [
                each.name,
                f"{len(each.trainings)}",
                duration(each.cost("train_seconds") or 0.0),
                per,
                NONE if memory is None else size(memory),
                NONE if disk is None else size(disk),
            ]
        )
    heads = ["", "trainings", "training", "ranking a document", "peak memory", "on disk"]
    return Table(heads, rows, title=f"Cost: means over trainings, on {told(dict(board.machine))}")


def absence_table(board: Leaderboard) -> Table:
    """Return what is missing, and why."""
    rows = [[each.name, each.why] for each in board.absent]
    return Table(["", "why"], rows, title="Not in the tables, or with fewer trainings", words=2)


def notes(board: Leaderboard) -> list[str]:
    """Return what marks and numbers mean, and what else a reader should know."""
    facts = board.facts
    found = [
        f"data: {several(facts['train']['documents'], 'training document')}, "
        f"{several(board.documents, 'test document')}, {several(facts['labels'], 'label')}, "
        f"{facts['labels_a_document']:.1f} a document"
    ]
    if any(each.is_level(m) for each in board.systems for m in METRICS):
        found.append(
            f"{MARK}: not significantly different from the best (bootstrap, p of at least "
            f"{LEVEL:g} after Holm's correction for the systems of a metric)"
        )
    if board.systems and board.systems[0].intervals:
        luck = "of the test documents" + (" and of training" if board.repeated else "")
        found.append(
            f"intervals and p-values of the bootstrap cover luck {luck}; Wilcoxon's and "
            "Friedman's tests are over documents, so they cover that of the documents only"
        )
    if board.ranks is not None and board.ranks.critical is not None:
        found.append(
            f"average ranks are over documents by {board.main}: Friedman's chi-square is "
            f"{board.ranks.friedman.statistic:.1f}, p {p_value(board.ranks.friedman.p)}; ranks "
            f"that differ by less than {board.ranks.critical:.2f} are not told apart (Nemenyi, "
            "0.05)"
        )
    if any(len(each.trainings) < board.seeds for each in board.systems):
        found.append(
            f"not every model has {several(board.seeds, 'training')}: the table of costs tells how "
            "many there are"
        )
    found += [
        f"{', '.join(names)} have exactly the same scores. Networks that stand on a first stage, "
        "as they do with few documents, keep its ranking where held-out documents show no gain "
        "('--set *.first=none' trains them alone)"
        for names in board.equals
    ]
    found.append(
        "sets of labels are cut at the threshold with the best micro-F1 on held-out training "
        "documents; nothing was chosen on test documents"
    )
    found.append(
        "training includes reading the documents; peak memory is that of the whole process while "
        "it trains"
    )
    return [*found, *published_notes(board), *board.notes]


def record(board: Leaderboard) -> dict[str, Any]:
    """Return the leaderboard as plain values."""
    ranked = board.ranks
    return {
        "data": dict(board.facts),
        "seeds": board.seeds,
        "main": board.main,
        "machine": dict(board.machine),
        "systems": [_system(board, number) for number in range(len(board.systems))],
        "absent": [each._asdict() for each in board.absent],
        "ranks": None
        if ranked is None
        else {
            "over": "documents",
            "metric": board.main,
            "friedman": ranked.friedman._asdict(),
            "critical_difference": ranked.critical,
        },
        "notes": notes(board),
    }


def _system(board: Leaderboard, number: int) -> dict[str, Any]:
    each = board.systems[number]
    return {
        **each.entrant.record(),
        "scores": {m: each.mean(m) for m in METRICS},
        "deviations": {m: each.deviation(m) for m in METRICS},
        "intervals": {m: [i.low, i.high] for m, i in each.intervals.items()},
        "behind_the_best": {
            m: {"best": lead.best, **lead.gap._asdict(), "wilcoxon": lead.wilcoxon}
            for m, lead in each.leads.items()
        },
        "average_rank": None if board.ranks is None else float(board.ranks.average[number]),
        "trainings": [
            {**training, "scores": dict(scores)}
            for training, scores in zip(each.trainings, each.scores, strict=True)
        ],
    }
