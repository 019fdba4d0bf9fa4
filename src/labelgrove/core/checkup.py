"""A check of saved folders and of what killed processes left beside them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from labelgrove.core import replacing, storage
from labelgrove.core.errors import InputError, LabelgroveError, StorageError
from labelgrove.core.json_files import LARGEST
from labelgrove.core.manifest import MANIFEST, foreign_files, is_ours, named, parse_manifest
from labelgrove.core.progress import Progress
from labelgrove.core.regular_files import read_regular
from labelgrove.core.replacing import Leftover
from labelgrove.core.run_folders import interrupted, run_folder
from labelgrove.core.served_folders import left_folders, remove_left


@dataclass(frozen=True)
class Finding:
    """What there is to say of a folder.

    Parameters
    ----------
    path
        The folder.
    state
        ``"whole"``, ``"damaged"``, ``"moved aside"``, ``"left over"``, ``"in use"``,
        ``"interrupted"`` of a training, or, of what was repaired, ``"brought back"`` and
        ``"removed"``.
    detail
        What that means and what to do, in a sentence.
    """

    path: Path
    state: str
    detail: str

    @property
    def wrong(self) -> bool:
        """Whether somebody should do something about it."""
        return self.state in ("damaged", "moved aside", "left over")


def check_up(folder: Path, *, repair: bool, verify: bool, progress: Progress) -> list[Finding]:
    """Check a saved folder, or all that a folder holds, and what was left beside them.

    Parameters
    ----------
    folder
        A saved folder, or a folder of such folders.
    repair
        Bring back folders that were moved aside, and remove leftovers in which no process can be
        at work.
    verify
        Compare checksums, not only names and sizes.
    progress
        Where it is shown that a large folder is read.
    """
    place = folder.resolve()
    alone = (place / MANIFEST).is_file() or not place.exists()
    around, name = (place.parent, place.name) if alone else (place, None)
    rest = replacing.leftovers(around, name)
    trainings = _check_trainings(around, name)
    if alone and not place.exists() and not rest and not trainings:
        raise InputError(f"no such folder: {folder}")
    findings = [_check_leftover(each, repair) for each in rest]
    back = [around / each.name for each in rest if each.old]
    saved = {place} if alone else {path for path in around.iterdir() if _looks_saved(path)}
    saved |= {path for path in back if _looks_saved(path)}
    return [
        *(_check_saved(path, verify, progress) for path in sorted(saved) if path.exists()),
        *findings,
        *trainings,
        *_check_served(around, repair),
    ]


def _check_trainings(around: Path, name: str | None) -> list[Finding]:
    """Tell which trainings did not end: of one tagger, or of all in a folder."""
    runs = [run_folder(around / name)] if name else sorted(around.glob("*.run"))
    return [_check_training(run) for run in runs if interrupted(run.with_suffix(""))]


def _check_training(run: Path) -> Finding:
    try:
        with storage.locked(run):
            pass
    except InputError:
        return Finding(run, "in use", f"a process is training {run.with_suffix('')}")
    except StorageError:  # it cannot be written to, so nobody trains there
        pass
    return Finding(
        run,
        "interrupted",
        f"the training of {run.with_suffix('')} did not end: 'labelgrove train' goes on with "
        "--resume, and starts anew with --overwrite",
    )


def _check_served(around: Path, repair: bool) -> list[Finding]:
    """Tell what killed services left in a folder, and remove it if that is wanted."""
    left = left_folders(around)
    if repair:
        remove_left(around)
        gone = "it was left by a service that was stopped"
        return [Finding(path, "removed", gone) for path in left if not path.exists()]
    advice = "a service that was stopped left it: the next 'labelgrove serve', or --repair, removes"
    return [Finding(path, "left over", f"{advice} it") for path in left]


def _looks_saved(path: Path) -> bool:
    """Tell whether a folder is ours, or was before its manifest was damaged."""
    if path.name.startswith(".") or not (path / MANIFEST).is_file():
        return False
    if is_ours(path):
        return True
    try:
        return b'"labelgrove"' in read_regular(path / MANIFEST, LARGEST)
    except (OSError, StorageError):
        return True  # what it is cannot be told: it is looked at, and found damaged


def _check_saved(path: Path, verify: bool, progress: Progress) -> Finding:
    try:
        manifest = storage.read_manifest(path, verify=verify, progress=progress)
    except LabelgroveError as error:
        return Finding(path, "damaged", str(error))
    files = len(manifest["files"])
    compared = "names, sizes and checksums fit" if verify else "names and sizes fit"
    return Finding(path, "whole", f"{files:,} files, {compared}; saved {manifest.get('created')}")


def _check_leftover(leftover: Leftover, repair: bool) -> Finding:
    path, target = leftover.path, leftover.path.parent / leftover.name
    with leftover.held() as free:
        sure = free and leftover.is_old_enough()
    if not free:
        return Finding(path, "in use", f"a process is saving or loading {target}")
    if leftover.old and not target.exists():
        if repair and replacing.bring_back(target):
            return Finding(target, "brought back", f"it was moved aside to {path.name}")
        return Finding(
            path, "moved aside", f"it was {target}: the next load, or --repair, brings it back"
        )
    if strange := _strange(leftover):
        return Finding(
            path,
            "left over",
            f"it also holds what labelgrove did not write: {named(strange)}; look at it, then "
            "remove it yourself",
        )
    if repair and replacing.clear(leftover):
        return Finding(path, "removed", f"it was left by a process that was stopped, of {target}")
    if not sure:
        return Finding(
            path,
            "left over",
            "another machine may be writing it: it is removed a day after its last change",
        )
    return Finding(
        path,
        "left over",
        f"a process that was stopped left it: the next save of {target}, or --repair, removes it",
    )


def _strange(leftover: Leftover) -> list[str]:
    """Return what a complete leftover holds and does not list."""
    if not leftover.old:
        return []
    try:
        return foreign_files(leftover.path, parse_manifest(leftover.path))
    except LabelgroveError:
        return ["a manifest that is damaged or of another program"]
