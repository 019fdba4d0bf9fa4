"""Several leaderboards, each of its own data, as one: ranks and tests over data sets."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from labelgrove.core.errors import InputError, MissingExtraError
from labelgrove.core.json_files import as_json
from labelgrove.core.progress import Progress, ProgressLike, as_progress
from labelgrove.core.storage import write_text
from labelgrove.leaderboard.folder import RECORD, TABLES
from labelgrove.report.contestants import distinct
from labelgrove.report.findings import Findings, findings
from labelgrove.report.records import ResultRecord, compare_records

MARK = "joined"  # a file that tells the folder from that of a leaderboard


def join(
    folders: Sequence[str | os.PathLike[str]],
    out: str | os.PathLike[str],
    *,
    overwrite: bool = False,
    command: str = "",
    progress: ProgressLike = None,
) -> Findings:
    """Join leaderboards of different data, and write the result.

    Models that all of them have are ranked on each data set; average ranks, the Friedman test,
    Wilcoxon's and the critical difference are over data sets. Other models are only named.

    Parameters
    ----------
    folders
        Of the leaderboards, two or more.
    out
        Folder for the result: a new one, or an empty one.
    overwrite
        Replace what an earlier call wrote there.
    command
        The command line, for the page.
    progress
        True shows how it goes; or where that is shown.

    Returns
    -------
    Tables, notes and plain values, as `labelgrove compare` has them.
    """
    if len(folders) < 2:
        raise InputError(f"joining takes two leaderboards or more, got {len(folders)}")
    if len({Path(each).resolve() for each in folders}) < len(folders):
        raise InputError("a leaderboard is given twice: join leaderboards of different data")
    boards = dict(zip(distinct(folders), map(_read, map(Path, folders)), strict=True))
    systems = {name: [each["name"] for each in board["systems"]] for name, board in boards.items()}
    everywhere = set.intersection(*map(set, systems.values()))
    if not everywhere:
        raise InputError("no model has results in all of these leaderboards: nothing can be joined")
    records = [
        _result(each, name, board)
        for name, board in boards.items()
        for each in board["systems"]
        if each["name"] in everywhere
    ]
    found = compare_records(records)
    notes = [*found.notes, *_left_out(systems, everywhere), *_same_data(boards)]
    result = findings(replace(found, notes=notes))
    _write(result, Path(out), overwrite, command, as_progress(progress))
    return result


def _read(folder: Path) -> dict[str, Any]:
    file = folder / RECORD
    try:
        found = json.loads(file.read_text("utf-8"))
    except OSError as error:
        raise InputError(
            f"{folder} holds no leaderboard ({RECORD}): give folders that 'labelgrove "
            "leaderboard' wrote"
        ) from error
    except ValueError as error:
        raise InputError(f"{file} is no JSON ({error}): make the leaderboard again") from error
    if not isinstance(found, dict) or not found.get("systems"):
        raise InputError(f"{file} holds no results of a model: go on with it first (--resume)")
    return found


def _result(system: dict[str, Any], name: str, board: dict[str, Any]) -> ResultRecord:
    """Return a system's means on a data set as a record of `labelgrove evaluate`."""
    trainings = system["trainings"]
    seconds = [each["rank_seconds"] for each in trainings]
    sizes = [each["size"] for each in trainings]
    return ResultRecord(
        file=name,
        tagger=system["name"],
        model=system["name"],
        test=name,
        documents=board["data"]["test"]["documents"],
        scores=system["scores"],
        seconds=sum(seconds) / len(seconds),
        size=round(sum(sizes) / len(sizes)),
    )


def _left_out(systems: dict[str, list[str]], everywhere: set[str]) -> list[str]:
    """Return which models some data sets have no results of."""
    names = dict.fromkeys(name for own in systems.values() for name in own)
    return [
        f"{name} has results on {', '.join(d for d, own in systems.items() if name in own)} only, "
        "so it is left out"
        for name in names
        if name not in everywhere
    ]


def _same_data(boards: dict[str, dict[str, Any]]) -> list[str]:
    """Say that two leaderboards have the same test documents: no two data sets then."""
    seen: dict[str, str] = {}
    told = []
    for name, board in boards.items():
        first = seen.setdefault(board["data"]["test"]["checksum"], name)
        if first != name:
            told.append(f"{first} and {name} have the same test documents: they count twice")
    return told


def _write(
    result: Findings, place: Path, overwrite: bool, command: str, progress: Progress
) -> None:
    if place.is_dir() and any(place.iterdir()):
        others = {path.name for path in place.iterdir()} - {RECORD, *TABLES, MARK}
        if others or not (place / MARK).exists():
            raise InputError(f"{place} holds other files: choose a new folder for what is joined")
        if not overwrite:
            raise InputError(f"{place} exists already: choose another folder, or --overwrite")
    place.mkdir(parents=True, exist_ok=True)
    write_text(place / MARK, "")
    write_text(place / RECORD, as_json(result.record))
    write_text(place / "leaderboard.md", result.markdown())
    write_text(place / "leaderboard.tex", result.latex())
    try:
        write_text(place / "leaderboard.html", result.page(command))
    except MissingExtraError as error:
        progress.say(f"no page: {error}")
