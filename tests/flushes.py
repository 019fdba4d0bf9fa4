"""Which files a process flushes to the disk, and when: a script runs with os.fsync observed."""

import json
import subprocess
import sys

OBSERVED = """
import json, os, sys

flushes, watched = [], sys.argv[1]

def inode_of_watched():
    try:
        return os.stat(watched).st_ino
    except FileNotFoundError:
        return None

def observed(flush):
    def fsync(handle):
        flush(handle)
        facts = os.fstat(handle)
        flushes.append(
            {"inode": facts.st_ino, "bytes": facts.st_size, "watched": inode_of_watched()}
        )
    return fsync

os.fsync, os.fdatasync = observed(os.fsync), observed(os.fdatasync)
"""


def flushes_of(script, watched, *arguments):
    """Run a script and return its flushes in order: inode, its bytes, inode of ``watched`` then.

    A script may append what it likes to ``flushes`` itself, and has arguments from
    ``sys.argv[2]`` on.
    """
    program = OBSERVED + script + "\nprint(json.dumps(flushes))"
    done = subprocess.run(
        [sys.executable, "-c", program, str(watched), *map(str, arguments)],
        capture_output=True,
        check=True,
        encoding="utf-8",
    )
    return json.loads(done.stdout)
