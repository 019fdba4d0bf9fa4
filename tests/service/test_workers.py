"""The process that starts the workers: none is left when it fails."""

import itertools
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
import uvicorn
from uvicorn.supervisors import multiprocess

from labelgrove.core.errors import LabelgroveError
from labelgrove.service import workers as module
from labelgrove.service.leaving import LeavingServer
from labelgrove.service.settings import Settings
from labelgrove.service.signals import Terminal
from labelgrove.service.versions import Version, Versions
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


# --- the supervisor, with processes that only seem to be there ------------------------------------


class Clock:
    def __init__(self):
        self.now = 1000.0

    def monotonic(self):
        return self.now


class Seeming:
    """A worker that does as it is told here; ``deaf`` ones end only when they are killed."""

    def __init__(self, config, sockets):
        self.process = self
        self.pid, self.exitcode = None, None
        self.alive = self.answers = True
        self.deaf, self.ready_after = False, 0
        self.done = []

    def start(self):
        blocked = signal.SIGHUP in signal.pthread_sigmask(signal.SIG_BLOCK, [])
        self.pid = next(Seeming.numbers)
        self.done.append("started" if blocked else "started, but SIGHUP would end it")

    def is_alive(self):
        return self.alive

    def ping(self, timeout):
        assert timeout == 0.1
        return self.answers

    def wait_until_ready(self, timeout, should_exit):
        assert timeout == 1.0, "seconds between two looks at signals"
        self.ready_after -= 1
        return self.ready_after < 0

    def terminate(self):
        self.done.append("terminated")
        self.alive = self.deaf

    def kill(self):
        self.done.append("killed")
        self.alive = False

    def join(self, timeout=None):
        self.done.append(("joined", timeout))
        if self.alive:
            Seeming.clock.now += timeout

    def ends(self, code):
        self.alive, self.exitcode = False, code


@pytest.fixture
def supervisor(tmp_path, monkeypatch):
    """Two workers, and what happens around them."""
    kept = {name: signal.getsignal(name) for name in multiprocess.SIGNALS}
    clock = Seeming.clock = Clock()
    Seeming.numbers = itertools.count(900_001)
    monkeypatch.setattr(module, "time", clock)
    monkeypatch.setattr(module, "_ServiceWorker", Seeming)
    for kind in (Pauses, Versions):
        monkeypatch.setattr(module, kind.__name__, partial(kind, clock=clock.monotonic))
    config = uvicorn.Config("none:none", workers=2, log_config=None, timeout_graceful_shutdown=7)
    (tmp_path / "place").mkdir()
    settings = Settings(
        (("own", "folder"),), (None,), shared=str(tmp_path), snapshots=(str(tmp_path / "place"),)
    )
    told = []
    found = module.Workers(
        config, ["socket"], lambda: told.append("ready"), Terminal(False), settings
    )
    found.told, found.clock = told, clock
    found._versions.begin("own", Version(str(tmp_path / "place" / "old"), "1"))
    for name in ("old", "new"):
        (tmp_path / "place" / name).mkdir()
    monkeypatch.setattr(module.metrics, "forget", lambda process: told.append(("forgot", process)))
    monkeypatch.setattr(module.os, "kill", lambda process, name: told.append((process, name)))
    monkeypatch.setattr(module, "ignore_new_connections", lambda each: told.append(("shut", each)))
    yield found
    for name, handler in kept.items():
        signal.signal(name, handler)


@pytest.fixture
def started(supervisor):
    supervisor.init_processes()
    assert supervisor.told == ["ready"]
    supervisor.told.clear()
    return supervisor


def renewed(supervisor):
    """Take a new tagger, as a worker does."""
    place = supervisor._settings.snapshot_place("own")
    supervisor._versions.publish("own", Version(f"{place}/new", "2"), keep=True)


def snapshots_of(supervisor):
    return sorted(each.name for each in Path(supervisor._settings.snapshot_place("own")).iterdir())


def test_workers_are_started_and_all_of_them_awaited(started):
    assert [each.done for each in started.processes] == [["started"], ["started"]]
    assert signal.SIGHUP not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


def late(monkeypatch, then):
    """Let the second worker be late; ``then`` is done with it when it is looked at again."""
    plain = Seeming.start

    def start(process):
        plain(process)
        if process.pid == 900_002:
            process.ready_after = 2
            then(process)

    monkeypatch.setattr(Seeming, "start", start)


def test_a_worker_may_take_its_time_to_begin(supervisor, monkeypatch):
    late(monkeypatch, lambda _: None)
    supervisor.init_processes()
    assert supervisor.processes[1].ready_after == -1
    assert supervisor.told == ["ready"]


def test_a_service_that_is_stopped_while_it_begins_is_never_ready(supervisor, monkeypatch):
    late(monkeypatch, lambda _: supervisor.signal_queue.append(signal.SIGTERM))
    supervisor.init_processes()
    assert supervisor.should_exit.is_set()
    assert supervisor.told == []


def test_a_worker_that_ends_while_it_begins_ends_the_service(supervisor, monkeypatch):
    late(monkeypatch, lambda process: process.ends(3))
    with pytest.raises(LabelgroveError, match="a worker ended before it was ready"):
        supervisor.run()
    first = supervisor.processes[0]
    assert "terminated" in first.done
    assert ("joined", 12.0) in first.done, "nobody is left"
    assert supervisor.told == [("shut", "socket")]


def test_workers_that_answer_are_left_alone(started):
    before = list(started.processes)
    for _ in range(5):
        started.clock.now += 20
        started.keep_subprocess_alive()
    assert started.processes == before
    assert [each.done for each in before] == [["started"]] * 2


def test_a_worker_is_silent_for_half_a_minute_before_it_is_replaced(started):
    first, second = started.processes
    started.clock.now += 100
    started.keep_subprocess_alive()
    second.answers = False
    started.clock.now += 29.9
    started.keep_subprocess_alive()
    assert started.processes == [first, second]
    started.clock.now += 0.1
    started.keep_subprocess_alive()
    assert started.processes[0] is first
    assert started.processes[1].pid == 900_003
    assert second.done == ["started", "killed", ("joined", None)]
    assert started.told == [("forgot", 900_002)]
    started.keep_subprocess_alive()
    assert started.processes[1].pid == 900_003


@pytest.mark.parametrize(("workers", "longest"), [(2, "in 7 s"), (1, "in 5 s")])
def test_a_worker_that_ends_again_and_again_is_replaced_later_each_time(
    started, caplog, workers, longest
):
    """But not so late if no other answers."""
    started.processes = started.processes[:workers]
    for number, wait in enumerate(["now", "in 1 s", "in 3 s", longest]):
        caplog.clear()
        ended = started.processes[0]
        ended.ends(number)
        started.keep_subprocess_alive()
        said = f"a worker ended with code {number}; another takes its place {wait}"
        assert [each.getMessage() for each in caplog.records] == [said]
        seconds = float(wait.split()[1]) if wait != "now" else 0.0
        if seconds:
            started.clock.now += seconds - 0.01
            started.keep_subprocess_alive()
            assert started.processes[0] is ended, "its time has not come"
            started.clock.now += 0.01
            started.keep_subprocess_alive()
        assert started.processes[0] is not ended


def test_nobody_is_replaced_in_a_service_that_ends(started):
    before = list(started.processes)
    before[0].ends(-11)
    started.should_exit.set()
    started.keep_subprocess_alive()
    assert started.processes == before
    assert started.told == []


@pytest.mark.parametrize("code", [0, -signal.SIGTERM, -signal.SIGINT, 1, -signal.SIGSEGV, -9])
def test_a_worker_that_crashes_soon_after_a_reload_brings_the_old_tagger_back(
    started, caplog, code
):
    renewed(started)
    started.processes[0].ends(code)
    started.keep_subprocess_alive()
    crashed = code in (1, -signal.SIGSEGV, -9)
    assert ("the old one comes back" in caplog.text) == crashed
    assert snapshots_of(started) == (["old"] if crashed else ["new", "old"])
    hung_up = [each for each in started.told if each[1] == signal.SIGHUP]
    assert hung_up == ([(900_002, signal.SIGHUP)] if crashed else []), "the other one loads it"


def test_a_crash_long_after_a_reload_takes_nothing_back(started, caplog):
    renewed(started)
    started.clock.now += 60
    started.keep_subprocess_alive()
    assert snapshots_of(started) == ["new"], "the old one is not needed any more"
    started.processes[0].ends(-11)
    started.keep_subprocess_alive()
    assert "comes back" not in caplog.text
    assert started.told == [("forgot", 900_001)]


@pytest.mark.parametrize("name", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_to_end_closes_the_door_at_once(started, name):
    signal.raise_signal(name)
    assert started.told == [("shut", "socket")]
    assert started.signal_queue == [name]
    started.handle_signals()
    assert started.should_exit.is_set()


def test_workers_have_time_to_answer_before_they_are_killed(started, caplog):
    """So long as all of them may take together."""
    good, deaf = started.processes
    deaf.deaf = True
    started.terminate_all()
    assert started.told == [("shut", "socket")]
    started.processes = [deaf, good]
    started.join_all()
    assert deaf.done == ["started", "terminated", ("joined", 12.0), "killed", ("joined", None)]
    assert good.done == ["started", "terminated", ("joined", 0.0)]
    assert caplog.text.count("a worker did not end, so it was killed") == 1


def test_without_a_time_for_answers_workers_have_five_seconds(started):
    started.config.timeout_graceful_shutdown = None
    started.join_all()
    assert started.processes[0].done[1] == ("joined", 5.0)


def test_a_hangup_reaches_all_workers_that_live(started, monkeypatch):
    started.handle_hup()
    assert started.told == [(900_001, signal.SIGHUP), (900_002, signal.SIGHUP)]
    started.told.clear()
    started.processes[0].ends(0)
    started.processes.append(Seeming(None, None))  # not started yet
    started.handle_hup()
    assert started.told == [(900_002, signal.SIGHUP)]
    assert not started.should_exit.is_set()

    def kill(process, name):
        raise ProcessLookupError

    monkeypatch.setattr(module.os, "kill", kill)
    started.handle_hup()


def test_a_service_whose_terminal_was_closed_ends(started, monkeypatch):
    monkeypatch.setattr(Terminal, "is_gone", lambda _: True)
    started.handle_hup()
    assert started.should_exit.is_set()
    assert started.told == []


def test_a_worker_drops_no_request_when_it_stops():
    worker = module._ServiceWorker(uvicorn.Config("none:none", log_config=None), [])
    assert isinstance(worker.server, LeavingServer)
    assert worker.server is worker.server
