"""The folder of a search: whose it is, what lies there, and where its processes work."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from labelgrove.core import replacing, storage
from labelgrove.core.durability import make_folders
from labelgrove.core.errors import InputError, StorageError
from labelgrove.core.run_folders import run_folder
from labelgrove.tuning.study_file import is_study, is_unfinished

STUDY, TRIALS, RECIPE, REPORT = "study.sqlite3", "trials.jsonl", "recipe.toml", "report.html"
TAGGER, RUN = "tagger", "tagger.run"
WORK = ".work-"  # what the names of the folders begin with in which processes work
MADE = (TRIALS, RECIPE, REPORT, RUN)  # of a study, beside the tagger
PARTS = tuple(
    f".{name}-*.part" for name in (TRIALS, RECIPE, REPORT)
)  # names while they are written


@contextmanager
def workplace(
    folder: str | os.PathLike[str] | None, *, resume: bool, overwrite: bool
) -> Iterator[tuple[Path, Path]]:
    """Give the folder of a search, held against others, and in it an empty one for processes.

    The second is gone afterwards, with the first if nothing else is there.

    Parameters
    ----------
    folder
        Of the search, made if need be; None for one that is gone afterwards.
    resume, overwrite
        Whether a search that is there may go on, or be replaced.
    """
    if folder is None:
        with tempfile.TemporaryDirectory(prefix="labelgrove-") as temporary:
            place = Path(temporary)
            (place / "work").mkdir()
            yield place, place / "work"
        return
    place = Path(folder).resolve()
    with storage.locked(run_folder(place)):  # beside it: a search leaves no lock
        _check(place, resume=resume, overwrite=overwrite)
        made = not place.exists()
        try:
            make_folders(place)
            _tidy(place)
            work = Path(tempfile.mkdtemp(prefix=WORK, dir=place))
        except OSError as error:
            raise StorageError(f"cannot write {place}: {error.strerror or error}") from error
        try:
            yield place, work
        finally:
            shutil.rmtree(work, ignore_errors=True)
            if made and not any(place.iterdir()):
                place.rmdir()


def clear(place: Path) -> None:
    """Remove what was made of a search; the study itself stays until a new one replaces it."""
    tagger = place / TAGGER
    if tagger.is_symlink():
        tagger.unlink()
    elif tagger.exists():
        _check_tagger(place)
        replacing.discard(tagger)
        with suppress(OSError):
            tagger.rmdir()  # if it was empty
        if tagger.exists():
            raise StorageError(
                f"{tagger} is in use, so it was not removed; try again when nobody loads it"
            )
    for name in MADE:
        path = place / name
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def _check_tagger(place: Path) -> None:
    """Refuse to begin anew where the tagger's folder holds what labelgrove did not write."""
    tagger = place / TAGGER
    if tagger.is_dir() and any(tagger.iterdir()):
        replacing.check_replaceable(tagger, tagger)


def _tidy(place: Path) -> None:
    """Remove what searches that were killed left: nobody else works here."""
    for pattern in (f"{WORK}*", *PARTS):
        for path in place.glob(pattern):
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()


def _check(place: Path, *, resume: bool, overwrite: bool) -> None:
    """Refuse a folder of somebody else; neither lose a search nor go on with it unasked."""
    if not place.exists():
        return
    if not place.is_dir():
        raise InputError(f"{place} is a file; a search needs a folder")
    # a search that was killed may have left its processes' folder and nothing else
    names = sorted(path.name for path in place.iterdir() if not path.name.startswith(WORK))
    if names and is_study(place / STUDY):
        if overwrite:
            _check_tagger(place)
        if not (resume or overwrite):
            raise InputError(
                f"{place} holds a search: go on with it (--resume), begin anew "
                "(--overwrite), or choose another folder"
            )
        return
    # or, before this version, a study that was not whole yet
    if others := [name for name in names if name not in (STUDY, f"{STUDY}-journal")]:
        strange = others[0]
    elif names and not is_unfinished(place / STUDY):
        strange = names[0]
    else:
        return
    raise InputError(
        f"{place} holds {strange!r} and no search, so nothing is written there; choose "
        "another folder"
    )
