"""The SQLite file of a study: made whole, opened, and told from other files."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from labelgrove.core.durability import put_in_place

NAME = "labelgrove"  # of the study in the file
FACTS = "facts"  # attribute of the study: what the search is made on
# a search that was killed while Optuna made these may have left some of them, and no study
TABLES = (
    "alembic_version",
    "studies",
    "study_directions",
    "study_system_attributes",
    "study_user_attributes",
    "trial_heartbeats",
    "trial_intermediate_values",
    "trial_params",
    "trial_system_attributes",
    "trial_user_attributes",
    "trial_values",
    "trials",
    "version_info",
)


def is_study(path: Path) -> bool:
    """Tell whether a file is there and holds the whole study of a search of ours."""
    return _answer(path, _holds_study)


def is_unfinished(path: Path) -> bool:
    """Tell whether a file is there that a search began to make, and that holds no trials yet."""
    return _answer(path, _holds_nothing)


def _answer(path: Path, ask: Any) -> bool:
    if not path.is_file():
        return False
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=rw", uri=True)) as file:
            return bool(ask(file))
    except sqlite3.Error:  # another's file
        return False


def _holds_study(file: sqlite3.Connection) -> bool:
    rows = file.execute(
        "SELECT 1 FROM studies JOIN study_user_attributes USING (study_id) "
        "WHERE study_name = ? AND key = ?",
        (NAME, FACTS),
    )
    return rows.fetchone() is not None


def _holds_nothing(file: sqlite3.Connection) -> bool:
    tables = {
        name for (name,) in file.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    }
    if not tables <= {*TABLES}:
        return False
    others = "SELECT 1 FROM studies WHERE study_name <> ?"
    if "studies" in tables and file.execute(others, (NAME,)).fetchone():
        return False
    return "trials" not in tables or not file.execute("SELECT 1 FROM trials").fetchone()


def make_study(
    optuna: Any, path: Path, work: Path, facts: Mapping[str, Any], **settings: Any
) -> None:
    """Put a new study at a path, in one step: a crash leaves what was there, or all of it.

    Parameters
    ----------
    optuna
        The library.
    path
        Where the study goes.
    work
        A folder on the same disk.
    facts
        What must be the same when the search goes on.
    settings
        Of the study.
    """
    new = work / path.name
    with connected(optuna, new) as storage:
        study = optuna.create_study(storage=storage, study_name=NAME, **settings)
        study.set_user_attr(FACTS, dict(facts))
    # what was there has been read, so its journal holds nothing; the new file must not meet it
    path.with_name(f"{path.name}-journal").unlink(missing_ok=True)
    put_in_place(new, path)


@contextmanager
def connected(optuna: Any, path: Path) -> Iterator[Any]:
    """Give Optuna's storage in a file, and let go of it afterwards."""
    # a path as it is: in an address ? and { would mean something
    storage = optuna.storages.RDBStorage(
        "sqlite:///study", engine_kwargs={"creator": partial(_connect, path)}
    )
    try:
        yield storage
    finally:
        storage.remove_session()
        storage.engine.dispose()


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, check_same_thread=False)
    # also wait until a journal is gone: else a power cut may undo the last trial
    connection.execute("PRAGMA synchronous = EXTRA")
    return connection
