"""What must be on the disk before the next step, so that a power cut leaves the old or the new.

A system may write data, names and removals to the disk in any order, or not at all, until it is
asked to wait (fsync). All that labelgrove keeps is therefore written in this order:

1. Files are written under a temporary name beside their place.
2. Every file is flushed, then every folder that holds one of their names (`flush_tree`).
3. The temporary name becomes the real one by a rename, which is never half done.
4. The folder that holds the name is flushed (`flush`). Steps 2 to 4 are `put_in_place`.
5. Only now the write is acknowledged, and what it replaces is removed.

Three more rules follow from it:

- New folders are flushed into the folder above them (`make_folders`): what is inside is lost if
  their own name is.
- What is appended (feedback) is flushed before it is acknowledged, and with the first line the
  folder too.
- A note that gives other files a meaning is written last and removed first, with a flush in
  between.

Searches are kept by SQLite, which has its own order (journal, then file, then the journal is
removed); ``synchronous = EXTRA`` makes it wait for each of the three. Caches are not flushed:
they carry checksums, and what does not fit is made anew.

A kill leaves what was written, flushed or not, so that these rules are more than it needs.
"""

from __future__ import annotations

import errno
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from labelgrove.core import system

FLUSHES = 8  # files flushed at once: a disk takes little longer for several than for one
# errors of folders: Windows and some network drives do not flush them, others may not be read
UNABLE = (errno.EACCES, errno.EINVAL, errno.ENOTSUP)


def flush(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    try:
        system.HERE.flush(path)
    except OSError as error:
        if error.errno not in UNABLE or not path.is_dir():
            raise


def flush_tree(folder: Path) -> None:
    """Wait until a folder and all in it are on the disk."""
    with ThreadPoolExecutor(FLUSHES) as pool:
        list(pool.map(flush, [*folder.rglob("*"), folder]))


def make_folders(folder: Path) -> None:
    """Make a folder, with those above it, and wait until the disk has their names."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for each in reversed(missing):
        flush(each.parent)


def put_in_place(temporary: Path, target: Path) -> None:
    """Give what was written under a temporary name its real one, on the same disk.

    Parameters
    ----------
    temporary
        A file or a folder; on the disk before it is renamed.
    target
        Its name afterwards. A file there is replaced, a folder must be empty.
    """
    if temporary.is_dir():
        flush_tree(temporary)
    else:
        flush(temporary)
    system.HERE.replace(temporary, target)
    flush(target.parent)
