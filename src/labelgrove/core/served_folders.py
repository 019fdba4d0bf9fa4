"""Hidden folders in which a service keeps what it serves, and what a killed service left of them.

Such a folder holds a file that the service has locked and one folder for each snapshot of a tagger.
It is known by its name, by what that file says and by holding nothing else, not by its name alone.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from labelgrove.core import system
from labelgrove.core.errors import StorageError
from labelgrove.core.regular_files import read_regular

PREFIX = ".serving."  # no name that saving gives begins so
LOCK = "lock"
MARK = b"labelgrove serve keeps snapshots of taggers in this folder while it runs\n"


@contextmanager
def served_folder(parent: Path) -> Iterator[Path]:
    """Make such a folder, held as long as it is used; then it goes."""
    place = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
    try:
        with (place / LOCK).open("wb") as held:
            system.HERE.lock(held.fileno(), wait=True)
            held.write(MARK)
            held.flush()
            yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


def left_folders(parent: Path) -> list[Path]:
    """Return the folders that killed services left in a folder: nobody holds their locks."""
    return [place for place in sorted(parent.glob(f"{PREFIX}*")) if _is_left(place)]


def remove_left(parent: Path) -> None:
    """Remove the folders that killed services left in a folder."""
    for place in left_folders(parent):
        shutil.rmtree(place, ignore_errors=True)


def _is_left(place: Path) -> bool:
    """Tell whether a folder is one of a service that has ended."""
    if place.is_symlink():
        return False
    with suppress(OSError, StorageError), os.scandir(place) as entries:
        if any(not each.is_dir(follow_symlinks=False) and each.name != LOCK for each in entries):
            return False
        if read_regular(place / LOCK, len(MARK)) != MARK:
            return False
        with (place / LOCK).open("rb") as held:
            return system.HERE.lock(held.fileno())
    return False
