"""A leaderboard as one HTML file: tables, intervals, the critical difference, quality and cost."""

from __future__ import annotations

from typing import Any

from labelgrove.core.wording import several
from labelgrove.leaderboard.machine import told
from labelgrove.leaderboard.published import published_notes, published_tables
from labelgrove.leaderboard.standings import OF_SETS, RANKED, Leaderboard
from labelgrove.leaderboard.tables import (
    absence_table,
    cost_table,
    interval_table,
    notes,
    score_table,
    test_table,
)
from labelgrove.report.circumstances import made_with
from labelgrove.report.comparison_page import LONGEST, interval_figure, rank_figure
from labelgrove.report.figures import SERIES, drawn
from labelgrove.report.page import Section, beside, captioned, listed, page, paragraph, text
from labelgrove.report.wording import duration, named

DRAWN = ("P@1", "nDCG@5", "PSP@5", "micro-F1", "macro-F1")


def leaderboard_page(board: Leaderboard, title: str, command: str) -> str:
    """Return the page; ``command`` is the command line that made it."""
    sections = _sections(board) if board.systems else []
    if board.absent:
        sections.append(Section("Not in the tables", absence_table(board).html()))
    sections.append(Section("Notes", listed(notes(board))))
    facts = {"Machine": told(dict(board.machine))}
    sections.append(Section("How this was made", made_with(command, facts)))
    asked = several(board.seeds, "training")
    lead = f"{several(board.documents, 'test document')}, at most {asked} of each model."
    return page(title, sections, lead=paragraph(lead))


def _sections(board: Leaderboard) -> list[Section]:
    tables = score_table(board, RANKED).html() + score_table(board, OF_SETS).html()
    sections = [Section("Scores", tables)]
    if board.systems[0].intervals:
        sections.append(Section("Intervals", _intervals(board)))
    if len(board.systems) > 1 and board.systems[0].intervals:
        sections.append(Section("Differences and ranks", _tests(board)))
    sections.append(Section("Quality and cost", _cost(board) + cost_table(board).html()))
    if board.papers:
        tables = "\n".join(table.html() for table in published_tables(board))
        told = "\n".join(map(paragraph, published_notes(board)))
        sections.append(Section("Tables of papers", told + tables))
    return sections


def _intervals(board: Leaderboard) -> str:
    names = [each.name for each in board.systems]
    figures = [
        interval_figure(
            metric,
            names,
            [each.intervals[metric] for each in board.systems],
            best=board.best(metric),
            level={i for i, each in enumerate(board.systems) if each.is_level(metric)},
        )
        for metric in DRAWN
    ]
    about = (
        "Dots are means, lines their 95% intervals. Blue: the best, filled, and what is not "
        "significantly different from it."
    )
    return paragraph(about) + beside(figures) + interval_table(board).html()


def _tests(board: Leaderboard) -> str:
    body = test_table(board).html()
    if board.ranks is None:
        return body
    names = [each.name for each in board.systems]
    about = (
        "Ranks are over the test documents: they tell of documents like these, not of other data."
    )
    return body + paragraph(about) + rank_figure(names, board.main, board.ranks)


def _cost(board: Leaderboard) -> str:
    """Return quality against the time of training."""
    points = [
        (max(each.cost("train_seconds") or 0.0, 0.01), 100 * each.mean(board.main), each.name)
        for each in board.systems
    ]

    def draw(axes: Any) -> None:
        for number, (seconds, quality, name) in enumerate(points):
            axes.plot(seconds, quality, "o", color=SERIES[number % len(SERIES)], markersize=6)
            axes.annotate(
                named(name, LONGEST),
                (seconds, quality),
                xytext=(6, 3),
                textcoords="offset points",
                fontsize=9,
            )
        axes.set_xscale("log")
        ends = sorted({min(points)[0], max(points)[0]})
        axes.set_xticks(ends, [duration(end) for end in ends])
        axes.minorticks_off()
        axes.set_xlabel("time of training, logarithmic")
        axes.set_ylabel(f"{board.main}, %")
        axes.margins(x=0.25)

    label = f"{board.main} and training time"
    return captioned(drawn(draw, label=label, height=340), text(label))
