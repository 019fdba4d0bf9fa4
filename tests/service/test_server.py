"""How a service begins: where it listens, what it tells, what uvicorn is given."""

import asyncio
import contextlib
import errno
import logging
import os
import re
import resource
import shutil
import signal
import socket
from pathlib import Path
from types import SimpleNamespace

import pytest
import uvicorn
from uvicorn.config import STARTUP_FAILURE

from labelgrove.core import storage, system
from labelgrove.core.errors import DamagedError, InputError
from labelgrove.core.progress import Silent
from labelgrove.service import metrics, server
from labelgrove.service.listening import listen, shown
from labelgrove.service.settings import Limits, Settings
from labelgrove.service.versions import Versions
from services import made


class Told(Silent):
    def __init__(self):
        self.lines = []

    def say(self, message):
        self.lines.append(message)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("served") / "own"
    made(place, "most-frequent")
    return place


@pytest.fixture
def restored():
    """Put back what a service sets for its whole process."""
    ours, theirs = logging.getLogger("labelgrove.service"), logging.getLogger("uvicorn")
    kept = ours.handlers, ours.propagate, ours.level, theirs.level
    files = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield
    ours.handlers, ours.propagate = kept[:2]
    ours.setLevel(kept[2])
    theirs.setLevel(kept[3])
    resource.setrlimit(resource.RLIMIT_NOFILE, files)


def few_files():
    """Let this process open few more files; return how many it could have open at most."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    opened = len(list(Path("/proc/self/fd").iterdir()))  # also by tests before this one
    few = opened + 256
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(few, most), most))
    return most


def test_a_port_is_taken_once_and_free_at_once():
    listening = listen("127.0.0.1", 0)
    port = listening.getsockname()[1]
    said = rf"nothing can listen at 127\.0\.0\.1:{port} \({os.strerror(errno.EADDRINUSE)}\)"
    with pytest.raises(InputError, match=said + ": choose another --port or --host"):
        listen("127.0.0.1", port)
    with socket.create_connection(("127.0.0.1", port)) as client:
        accepted, _ = listening.accept()
        accepted.close()  # the side that closes first keeps the port for a minute
        assert client.recv(1) == b""
    listening.close()
    listen("127.0.0.1", port).close()
    with pytest.raises(InputError, match=r"127\.0\.0\.1:70000 \(.*0-65535"):
        listen("127.0.0.1", 70_000)


def test_an_address_of_version_6():
    assert shown("::1") == "[::1]"
    assert shown("localhost") == "localhost"
    try:
        listening = listen("::1", 0)
    except InputError:
        pytest.skip("this machine has no addresses of version 6")
    with listening:
        assert listening.family == socket.AF_INET6
        socket.create_connection(listening.getsockname()[:2]).close()


@pytest.mark.parametrize(
    ("seconds", "quiet", "ending"), [(60.0, 20, 61), (20.0, 20, 21), (1.2, 2, 2), (0.1, 1, 1)]
)
def test_a_quiet_connection_is_kept_no_longer_than_a_request_may_take(seconds, quiet, ending):
    config = server._config(None, Settings((), (), limits=Limits(seconds=seconds), workers=3))
    assert (config.timeout_keep_alive, config.timeout_graceful_shutdown) == (quiet, ending)
    assert (config.workers, config.factory) == (3, False)
    assert [config.proxy_headers, config.access_log, config.server_header] == [False] * 3
    app = server.WorkerApp(Settings((), ()))
    assert server._config(app, app.settings).factory is True


def test_the_log_has_requests_unless_it_is_quiet(restored, capsys):
    log = logging.getLogger("labelgrove.service")
    for kind, told in (("requests", "goes well\ngoes wrong\n"), ("nothing", "goes wrong\n")):
        server._log(Settings((), (), log=kind))
        log.info("goes well")
        log.warning("goes wrong")
        lines = capsys.readouterr().err.splitlines()
        assert "".join(line.split(" ", 1)[1] + "\n" for line in lines) == told
        assert all(line[4] == "-" and line[10] == "T" for line in lines), "when it was"
    assert not logging.getLogger("uvicorn").isEnabledFor(logging.WARNING)
    assert logging.getLogger("uvicorn").isEnabledFor(logging.ERROR)


def test_all_connections_that_the_system_allows(restored):
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(256, most), most))
    server._allow_connections()
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == (most, most)


@pytest.mark.parametrize(("workers", "more"), [(1, ""), (2, ", in 2 workers")])
def test_a_service_begins_with_what_it_has_checked(folder, tmp_path, workers, more):
    told = Told()
    settings = Settings(
        *((("own", str(folder)),), (None,)), shared=str(tmp_path), snapshots=("",), workers=workers
    )
    server._begin(settings, told)
    assert told.lines == [f"loading {folder}{more}"]
    version = Versions(tmp_path).get("own").current
    assert version.folder == str(folder)
    assert version.checksum == storage.read_manifest(folder)["checksum"]
    server._begin(settings, None)


def test_feedback_is_checked_before_anything_is_loaded(folder, tmp_path):
    nowhere = str(tmp_path / "none" / "own.feedback.jsonl")
    settings = Settings((("own", "no such folder"),), (nowhere,), shared=str(tmp_path))
    with pytest.raises(InputError, match="--feedback"):
        server._begin(settings, None)


def test_a_worker_that_cannot_begin_says_why(tmp_path, capsys, restored):
    settings = Settings((("own", str(tmp_path / "none")),), (None,))
    with pytest.raises(SystemExit) as ended:
        server.WorkerApp(settings)()
    assert ended.value.code == STARTUP_FAILURE
    assert capsys.readouterr().err.startswith("labelgrove: no such folder: ")


def test_several_workers_need_a_socket_that_they_can_share(folder, monkeypatch, restored):
    monkeypatch.setattr(system, "HERE", system.WindowsSystem(lambda *_: None))
    settings = Settings((("own", str(folder)),), (None,), workers=2)
    with pytest.raises(InputError, match=r"--workers 2: .* leave out --workers"):
        server.serve(settings, host="127.0.0.1", port=0, ready=print)


def test_macos_allows_fewer_open_files_than_it_says(monkeypatch):
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    asked = []

    def refuse_more(what, limits):
        asked.append(limits)
        if limits[0] > server.MACOS_FILES:
            raise ValueError("current limit exceeds maximum limit")

    monkeypatch.setattr(resource, "getrlimit", lambda _: (256, most + server.MACOS_FILES))
    monkeypatch.setattr(resource, "setrlimit", refuse_more)
    server._allow_connections()
    assert asked[-1] == (server.MACOS_FILES, most + server.MACOS_FILES)
    assert len(asked) == 2


def test_what_processes_share_is_in_memory_where_there_is_such_a_folder():
    there = os.access("/dev/shm", os.W_OK | os.X_OK)
    assert server._memory() == ("/dev/shm" if there else None)


# --- a service whose server does not run ------------------------------------------------------


def stand_in(told):
    """Return what takes the place of a server: it only tells how it was started."""

    class Server:
        def __init__(self, config, *more):
            told.config, told.more = config, more

        def run(self, sockets=None):
            told.blocked = signal.SIGHUP in signal.pthread_sigmask(signal.SIG_BLOCK, [])
            told.folder = os.environ.get(metrics.FOLDER)
            told.listening = (sockets or told.more[0])[0]
            told.open = told.listening.fileno() >= 0
            shared = told.more[3].shared if len(told.more) > 1 else None
            told.shared = shared and Path(shared).is_dir()
            told.snapshots = [each.name for each in Path(told.place).iterdir()]
            (told.more[1] if len(told.more) > 1 else told.more[0])()

    return Server


@pytest.mark.parametrize("workers", [1, 2])
def test_a_service_from_its_begin_to_its_end(folder, monkeypatch, restored, caplog, workers):
    told, said = SimpleNamespace(place=folder.parent), []
    most = few_files()
    name = "_Single" if workers == 1 else "Workers"
    monkeypatch.setattr(server, name, stand_in(told))
    monkeypatch.delenv(metrics.FOLDER, raising=False)
    before = {each.name for each in folder.parent.iterdir()}
    log = logging.getLogger("labelgrove.service")
    settings = Settings((("own", str(folder)),), (None,), workers=workers)
    server.serve(settings, host="127.0.0.1", port=0, ready=said.append)
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == most
    assert (log.level, log.propagate) == (logging.INFO, False)
    assert told.blocked, "until there is a tagger to load anew"
    assert told.open
    assert told.listening.fileno() == -1, "closed again"
    assert set(told.snapshots) > before
    assert {each.name for each in folder.parent.iterdir()} == before
    assert len(said) == 1
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+", said[0])
    if workers > 1:
        _, _, terminal, given = told.more
        assert (given.supervisor, given.terminal) == (os.getpid(), terminal.was)
        assert told.shared
        assert told.folder == given.shared, "where workers count together"
        assert not Path(given.shared).exists()
        assert isinstance(told.config.app, server.WorkerApp)
        assert told.config.app.settings == given
    assert metrics.FOLDER not in os.environ


def test_many_connections_may_wait():
    assert server._config(None, Settings((), ())).backlog == 2_048


def test_a_damaged_tagger_is_told_before_it_is_served(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "own")
    file = max((tmp_path / "own").rglob("*.npy"), key=lambda each: each.stat().st_size)
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    settings = Settings((("own", str(tmp_path / "own")),), (None,), shared=str(tmp_path))
    with pytest.raises(DamagedError, match="checksum"):
        server._begin(settings, None)


def test_a_worker_may_have_all_connections_and_tells_what_goes_wrong(folder, restored):
    most = few_files()
    log = logging.getLogger("labelgrove.service")
    log.handlers = []
    server.WorkerApp(Settings((("own", str(folder)),), (None,)))()
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == most
    assert len(log.handlers) == 1


def test_a_single_server_is_ready_once_it_listens_and_shuts_its_door(monkeypatch):
    told = []

    async def startup(self, sockets=None):
        told.append(("startup", sockets))

    async def shutdown(self, sockets=None):
        told.append(("shutdown", sockets))

    monkeypatch.setattr(uvicorn.Server, "startup", startup)
    monkeypatch.setattr(server.LeavingServer, "shutdown", shutdown)
    monkeypatch.setattr(server, "ignore_new_connections", lambda each: told.append(each))
    single = server._Single(uvicorn.Config("a:b", log_config=None), lambda: told.append("ready"))
    asyncio.run(single.startup(["a"]))
    asyncio.run(single.shutdown(["a", "b"]))
    asyncio.run(single.shutdown())
    assert told == [
        ("startup", ["a"]),
        "ready",
        "a",
        "b",
        ("shutdown", ["a", "b"]),
        ("shutdown", None),
    ]


@pytest.mark.parametrize("fails", [True, False])
def test_a_single_server_ends_without_the_signal_that_ended_it(monkeypatch, fails):
    ran = []

    def run(self, sockets=None):
        for name in (signal.SIGINT, signal.SIGTERM):
            signal.raise_signal(name)
        ran.append(sockets)
        if fails:
            raise KeyError

    def theirs(*_):
        raise AssertionError("it was sent to the service")

    monkeypatch.setattr(uvicorn.Server, "run", run)
    kept = {name: signal.signal(name, theirs) for name in (signal.SIGINT, signal.SIGTERM)}
    try:
        single = server._Single(uvicorn.Config("a:b", log_config=None), lambda: None)
        with pytest.raises(KeyError) if fails else contextlib.nullcontext():
            single.run(["a"])
        assert ran == [["a"]]
        assert [signal.getsignal(name) for name in kept] == [theirs, theirs]
    finally:
        for name, handler in kept.items():
            signal.signal(name, handler)
