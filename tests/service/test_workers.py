"""The process that starts the workers: none is left when it fails."""

import subprocess
import sys

import pytest

from labelgrove.service.workers import CALM, LONGEST_ALONE, LONGEST_PAUSE, Pauses
from processes import PATIENCE

# a service that cannot begin, while a worker of it does not listen to SIGTERM
FAILS = """
import multiprocessing, signal, sys, time
import uvicorn
from labelgrove.core.errors import LabelgroveError
from labelgrove.service import workers
from labelgrove.service.settings import Settings
from labelgrove.service.signals import Terminal

def deaf(ready):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    ready.set()
    time.sleep(3600)

class Deaf:
    def __init__(self):
        context = multiprocessing.get_context("fork")
        ready = context.Event()
        self.process = context.Process(target=deaf, args=(ready,))
        self.process.start()
        ready.wait()
    def terminate(self):
        self.process.terminate()

class Failing(workers.Workers):
    def init_processes(self):
        self.processes = [Deaf()]
        raise LabelgroveError("it cannot begin")

workers.LAST_WAIT = 0.2
config = uvicorn.Config("none:none", log_config=None, timeout_graceful_shutdown=0)
found = Failing(config, [], lambda: None, Terminal(False), Settings((), (), shared=sys.argv[1]))
try:
    found.run()
except LabelgroveError as error:
    print(error, [each.process.is_alive() for each in found.processes], flush=True)
    found.processes[0].process.kill()
"""


def test_no_worker_is_left_by_a_service_that_cannot_begin(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", FAILS, tmp_path],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    )
    assert done.stdout == "it cannot begin [False]\n"
    assert "a worker did not end, so it was killed" in done.stderr


def test_pauses_grow_until_it_is_calm_for_a_while():
    now = [0.0]
    pauses = Pauses(clock=lambda: now[0])
    assert pauses.are_over()
    assert [pauses.after_an_end(alone=True) for _ in range(5)] == [0, 1, 3, LONGEST_ALONE, 5]
    assert not pauses.are_over()
    now[0] += LONGEST_ALONE
    assert pauses.are_over()
    now[0] += CALM - LONGEST_ALONE - 1
    assert pauses.after_an_end(alone=False) == LONGEST_PAUSE
    now[0] += CALM
    assert pauses.after_an_end(alone=False) == 0
    assert (LONGEST_ALONE, LONGEST_PAUSE, CALM) == (5.0, 30.0, 60.0)


@pytest.mark.parametrize("n", [30, 2000])
def test_pauses_do_not_overflow(n):
    pauses = Pauses(clock=lambda: 0.0)
    assert {pauses.after_an_end(alone=False) for _ in range(n)} == {0, 1, 3, 7, 15, 30}
