"""The files of a leaderboard: Markdown and JSON as results come, all forms at the end."""

from __future__ import annotations

import csv
from dataclasses import replace
from io import StringIO
from pathlib import Path

from labelgrove.core.errors import MissingExtraError
from labelgrove.core.json_files import as_json
from labelgrove.core.progress import Progress
from labelgrove.core.storage import write_text
from labelgrove.core.wording import several
from labelgrove.leaderboard.folder import RECORD
from labelgrove.leaderboard.page import leaderboard_page
from labelgrove.leaderboard.standings import METRICS, Leaderboard
from labelgrove.leaderboard.tables import notes, record, tables
from labelgrove.report.tables import in_markdown, latex_tables


def title(board: Leaderboard) -> str:
    """Return what the leaderboard is called."""
    return f"{several(len(board.systems), 'model')} on {board.facts['name']}"


def markdown(board: Leaderboard) -> str:
    """Return all tables and notes as a Markdown file."""
    parts = [f"# {in_markdown(title(board))}", *(table.markdown() for table in tables(board))]
    told = "\n".join(f"- {in_markdown(note)}" for note in notes(board))
    return "\n\n".join([*parts, told]) + "\n"


def latex(board: Leaderboard) -> str:
    """Return all tables as LaTeX, to be put into a document, and the notes as comments."""
    found = tables(replace(board, absent=()))  # sentences are too wide for a table on paper
    missing = [f"{each.name} is missing: {each.why}" for each in board.absent]
    return latex_tables([title(board)], found, [*notes(board), *missing])


def as_csv(board: Leaderboard) -> str:
    """Return a row for each training with all its metrics and costs."""
    rows = StringIO()
    writer = csv.writer(rows, lineterminator="\n")
    costs = ("train_seconds", "rank_seconds", "memory", "size")
    writer.writerow(["name", "model", "seed", *METRICS, *costs])
    for each in board.systems:
        for training, scores in zip(each.trainings, each.scores, strict=True):
            own = [scores[metric] for metric in METRICS] + [training[key] for key in costs]
            writer.writerow([each.name, each.entrant.model, training["seed"], *own])
    return rows.getvalue()


def write_quickly(board: Leaderboard, folder: Path) -> None:
    """Write what is there so far, as Markdown, CSV and JSON."""
    write_text(folder / "leaderboard.md", markdown(board))
    write_text(folder / "leaderboard.csv", as_csv(board))
    write_text(folder / RECORD, as_json(record(board)))


def write(board: Leaderboard, folder: Path, command: str, progress: Progress) -> None:
    """Write all forms; the page needs the extra ``report``."""
    write_quickly(board, folder)
    write_text(folder / "leaderboard.tex", latex(board))
    try:
        write_text(folder / "leaderboard.html", leaderboard_page(board, title(board), command))
    except MissingExtraError as error:
        progress.say(f"no page: {error}")
