"""Processes that end as they should not: the search hears of it, and nothing of them is left."""

import os

import pytest

from labelgrove.tuning import pool as pool_module
from labelgrove.tuning.pool import WorkerPool
from processes import PATIENCE, gone, needs_proc

DIES_INSIDE_A_LINE = """
import os
os.write(2, b"the end")
os.write(1, b'{"scores": {"nDC')
os._exit(3)
"""
TALKS_NONSENSE = """
import time
print("warning: nonsense", flush=True)
time.sleep(1000)
"""
HAS_A_CHILD = """
import os, time
child = os.fork()
if child:
    print(f'{{"step": {child}}}', flush=True)
time.sleep(1000)
"""


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (DIES_INSIDE_A_LINE, "its process ended with code 3: the end"),
        (TALKS_NONSENSE, "its process was killed: there may not be enough memory for it"),
    ],
)
def test_a_process_that_breaks_off_is_heard_of(program, message, tmp_path, monkeypatch):
    monkeypatch.setattr(pool_module, "BEGIN", program)
    with WorkerPool(1, 1, tmp_path) as pool:
        for task in (7, 8):  # another takes its place
            pool.submit(task, {})
            assert pool.receive(PATIENCE) == (task, {"error": message})
            assert not pool.busy


@needs_proc
def test_what_a_process_started_ends_with_it(tmp_path, monkeypatch):
    monkeypatch.setattr(pool_module, "BEGIN", HAS_A_CHILD)
    with WorkerPool(1, 1, tmp_path) as pool:
        pool.submit(0, {})
        _, message = pool.receive(PATIENCE)
        os.kill(message["step"], 0)  # it lives
    assert gone(message["step"])
