"""The temporary folder of a cluster of this machine; what killed commands left is removed."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from labelgrove.core.folder_locks import lock, open_folder

PREFIX = "lg-"
MARK = "labelgrove"  # a file in the folder: others may have names with the same beginning
LONGEST = 50  # characters of a temporary folder: paths of sockets have 107 at most
YOUNG = 60.0  # seconds in which a folder may not be locked yet


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Make a folder for the time of a cluster, and remove those of commands that were killed."""
    base = tempfile.gettempdir()
    folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=base if len(base) < LONGEST else "/tmp"))
    try:
        (folder / MARK).touch()
        with open_folder(folder) as handle:
            lock(handle)
            _remove_left(folder)
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _remove_left(own: Path) -> None:
    """Remove folders of this user beside our own whose process has ended."""
    for folder in own.parent.glob(f"{PREFIX}*"):
        with suppress(OSError):
            if _is_old(folder) and folder.stat().st_uid == own.stat().st_uid:
                with open_folder(folder) as handle:
                    if lock(handle):
                        shutil.rmtree(folder, ignore_errors=True)


def _is_old(folder: Path) -> bool:
    mark = folder / MARK
    return not folder.is_symlink() and time.time() - mark.stat().st_mtime > YOUNG
