"""Folders of trainings: ``my-tagger.run`` holds what is done until ``my-tagger`` is saved."""

from __future__ import annotations

from pathlib import Path

LOCK = "lock"  # the file by which a process holds such a folder


def run_folder(folder: Path) -> Path:
    """Return where the training of a tagger keeps its work.

    Examples
    --------
    >>> run_folder(Path("taggers/news")).as_posix()
    'taggers/news.run'
    """
    return folder.with_name(f"{folder.name}.run")


def holds_work(folder: Path) -> bool:
    """Tell whether a folder of a training, if it is there, holds anything but its lock."""
    return folder.is_dir() and any(path.name != LOCK for path in folder.iterdir())


def interrupted(folder: Path) -> bool:
    """Tell whether the training of a tagger, to be saved to ``folder``, did not end."""
    run = run_folder(folder)
    return (run / LOCK).is_file() and holds_work(run)
