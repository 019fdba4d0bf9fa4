"""Two folders change names in one step, where the system can do that."""

from __future__ import annotations

import errno
import os
import sys
from functools import cache
from pathlib import Path
from typing import Any

AT_FDCWD, RENAME_EXCHANGE = -100, 2  # of Linux, from fcntl.h and linux/fs.h
UNABLE = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EPERM}  # a kernel or drive without it


def exchange(one: Path, other: Path) -> bool:
    """Exchange two paths in one step, or tell that the system cannot.

    At no moment is one of them missing, whatever happens to the process.
    """
    call = _renameat2()
    if call is None:
        return False
    import ctypes

    if call(AT_FDCWD, os.fsencode(one), AT_FDCWD, os.fsencode(other), RENAME_EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in UNABLE:
        return False
    raise OSError(number, os.strerror(number), str(one), None, str(other))


@cache
def _renameat2() -> Any:
    """Return the C library's function, or None where there is none."""
    if not sys.platform.startswith("linux"):
        return None
    import ctypes

    try:
        call = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):  # before glibc 2.28
        return None
    call.argtypes = (
        *(ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p),
        ctypes.c_uint,
    )
    return call
