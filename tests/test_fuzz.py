"""A short run of ``make fuzz``: altered taggers and files end in a ranking or a clean error."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "reliability" / "fuzz.py"
needs_fork = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="forks on Linux")


def fuzz(*options):
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--minutes", "5", *options],
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"},
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (total,) = re.findall(r"^\| all \| (.*) \|$", done.stdout, re.MULTILINE)
    return [int(each.replace(",", "")) for each in total.split(" | ")]


@needs_fork
def test_altered_taggers_are_ranked_by_or_refused():
    read, refused, *bad = fuzz(
        *("--models", "bonsai,classifier-chain,knn,label-match"),
        *("--readers", "none", "--most", "40", "--seed", "1"),
    )
    assert bad == [0, 0, 0]
    assert read + refused == 40
    assert read
    assert refused


@needs_fork
def test_altered_files_are_read_or_refused():
    read, refused, *bad = fuzz("--models", "none", "--most", "60", "--seed", "1")
    assert bad == [0, 0, 0]
    assert read + refused == 60
    assert read
    assert refused
