"""The folder of a leaderboard: what was asked for, and what came of each training."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labelgrove.core import storage
from labelgrove.core.errors import InputError, StorageError
from labelgrove.core.json_files import as_json
from labelgrove.core.ranking import Ranking
from labelgrove.core.run_folders import run_folder
from labelgrove.leaderboard.entrants import Entrant
from labelgrove.leaderboard.files import Survey

PLAN, LABELS, TRAININGS, TAGGERS = "plan.json", "labels", "trainings", "taggers"
ESTIMATES, RECORD = "estimates.json", "leaderboard.json"
TABLES = tuple(f"leaderboard.{form}" for form in ("md", "tex", "csv", "html"))
NOTE, RANKING, LOG = "note.json", "ranking", "process-0.log"
MADE = (PLAN, LABELS, TRAININGS, TAGGERS, ESTIMATES, RECORD, *TABLES)


@dataclass(frozen=True)
class BoardFolder:
    """Where a leaderboard keeps what is finished."""

    path: Path

    def begin(self, plan: Mapping[str, Any], survey: Survey) -> None:
        """Note what is asked for, or refuse other data or settings than those that were."""
        file = self.path / PLAN
        if not file.exists():
            storage.write_values(self.path / LABELS, {"ids": list(survey.space.ids)})
            storage.write_text(file, as_json(plan))
            return
        before = _read(file)
        for key, value in json.loads(as_json(plan)).items():
            if before.get(key) != value:
                raise InputError(
                    f"{self.path} holds a leaderboard with other {key}: give the same files and "
                    "settings to go on, choose another folder, or begin again (--overwrite)"
                )

    def training(self, entrant: Entrant, seed: int) -> Path:
        """Return the folder of a training."""
        return self.path / TRAININGS / f"{entrant.folder}-{seed}"

    def note(self, entrant: Entrant, seed: int) -> dict[str, Any] | None:
        """Return what came of a training, or None if it has not ended."""
        file = self.training(entrant, seed) / NOTE
        if not file.exists():
            return None
        found: dict[str, Any] = _read(file)
        if found["entrant"] != json.loads(as_json(entrant.record())):
            raise InputError(
                f"{self.path} holds trainings of {entrant.name} with other settings: give it "
                "another name, or choose another folder"
            )
        return found

    def write_note(self, entrant: Entrant, seed: int, note: Mapping[str, Any]) -> None:
        """Note what came of a training: from then on it is finished."""
        about = {"entrant": entrant.record(), "seed": seed}
        storage.write_text(self.training(entrant, seed) / NOTE, as_json({**about, **note}))

    def renewed(self, entrant: Entrant, seed: int) -> Path:
        """Return the folder of a training, emptied."""
        folder = self.training(entrant, seed)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        return folder

    def ranking(self, entrant: Entrant, seed: int) -> Ranking:
        """Return how a training's model ranked the test documents."""
        found = storage.read_values(self.training(entrant, seed) / RANKING)
        return Ranking(found["labels"], found["scores"])

    def estimates(self) -> dict[str, Any]:
        """Return the estimates that were made."""
        file = self.path / ESTIMATES
        return _read(file) if file.exists() else {}

    def write_estimates(self, estimates: Mapping[str, Any]) -> None:
        """Keep estimates."""
        storage.write_text(self.path / ESTIMATES, as_json(estimates))

    def spent(self) -> float:
        """Return the seconds that earlier runs spent on estimates and trainings."""
        notes = [_read(file) for file in (self.path / TRAININGS).glob(f"*/{NOTE}")]
        made = [*notes, *self.estimates().values()]
        return float(sum(each["wall"] for each in made))


@contextmanager
def opened(
    folder: str | os.PathLike[str], *, resume: bool, overwrite: bool
) -> Iterator[BoardFolder]:
    """Give the folder of a leaderboard, held against other processes.

    Parameters
    ----------
    folder
        New, empty, or one that holds a leaderboard.
    resume, overwrite
        Whether a leaderboard that is there may go on, or be replaced.
    """
    place = Path(folder).resolve()
    with storage.locked(run_folder(place)):
        _check(place, resume=resume, overwrite=overwrite)
        made = not place.exists()
        try:
            if overwrite:
                _clear(place)
            place.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StorageError(f"cannot write {place}: {error.strerror or error}") from error
        try:
            yield BoardFolder(place)
        finally:
            if made and not any(place.iterdir()):
                place.rmdir()


def _check(place: Path, *, resume: bool, overwrite: bool) -> None:
    """Refuse a folder of somebody else; neither lose a leaderboard nor go on with it unasked."""
    if not place.exists():
        return
    if not place.is_dir():
        raise InputError(f"{place} is a file; a leaderboard needs a folder")
    names = sorted(path.name for path in place.iterdir())
    if strange := [name for name in names if name not in MADE and not name.endswith(".part")]:
        raise InputError(
            f"{place} holds {strange[0]!r}, which is no part of a leaderboard, so nothing is "
            "written there; choose another folder"
        )
    if names and not (resume or overwrite):
        raise InputError(
            f"{place} holds a leaderboard: go on with it (--resume), begin again (--overwrite), "
            "or choose another folder"
        )


def _clear(place: Path) -> None:
    for name in MADE:
        path = place / name
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def _read(file: Path) -> Any:
    try:
        return json.loads(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise StorageError(
            f"cannot read {file}: {error}; begin again (--overwrite), or choose another folder"
        ) from error
