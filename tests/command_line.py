"""Calls of the real command: from outside, or of its entry point in this process.

A process of its own costs seconds of imports. It is for what only it can show: streams, signals,
the environment, exit codes, what one command imports by itself. All else is `called`.
"""

import contextlib
import io
import os
import subprocess
import sys

from labelgrove.cli.app import run


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


def called(*arguments, check=0):
    """Do the same in this process, with streams that are no terminals, as pipes are."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", newline="") for _ in range(2))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run([*map(str, arguments)])
    said = []
    for stream in (out, err):
        stream.flush()
        said.append(stream.buffer.getvalue().decode())
    assert code == check, said[1] or said[0]
    return subprocess.CompletedProcess(arguments, code, *said)


def fails(*arguments, code=2, by=called, **options):
    """Make a call that must fail with one line on stderr, and return that line."""
    done = by(*arguments, check=code, **options)
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("labelgrove: ")
    assert "Traceback" not in done.stderr
    return last
