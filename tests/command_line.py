"""Calls of the real command, from outside."""

import os
import subprocess
import sys


def labelgrove(*arguments, cwd=None, check=0, **environment):
    done = subprocess.run(
        [sys.executable, "-m", "labelgrove", *map(str, arguments)],
        capture_output=True,
        cwd=cwd,
        encoding="utf-8",
        env={**os.environ, **environment},
        check=False,
    )
    assert done.returncode == check, done.stderr or done.stdout
    return done


def fails(*arguments, code=2, **options):
    """Run a call that must fail with one line on stderr, and return that line."""
    done = labelgrove(*arguments, check=code, **options)
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("labelgrove: ")
    assert "Traceback" not in done.stderr
    return last
