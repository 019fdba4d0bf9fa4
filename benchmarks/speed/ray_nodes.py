"""Real Ray nodes on this machine's loopback, one CPU each; only what was started here is ended."""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

STORE = 150 * 2**20  # bytes of a node's object store
PATIENCE = 120.0  # seconds for a node to start
TRIES = 5
FIRST, LAST = 6400, 9999  # ports of the head; workers listen above


class RayNodes:
    """A head and further nodes, each a process with its own raylet.

    Parameters
    ----------
    nodes
        How many, the head included.
    store
        Bytes of each node's object store.
    """

    def __init__(self, nodes: int, store: int = STORE) -> None:
        self._wanted, self._store = nodes, store
        self.folder = Path(tempfile.mkdtemp(prefix="lg-", dir="/tmp"))  # short: it holds sockets
        self.environment = {
            **{k: v for k, v in os.environ.items() if k != "RAY_ADDRESS"},
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": secrets.token_hex(32),
            "RAY_USAGE_STATS_ENABLED": "0",
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        }
        self.address = f"127.0.0.1:{_free_port()}"
        self.nodes: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> RayNodes:
        try:
            self._start("--head", f"--port={self.address.partition(':')[2]}")
            for _ in range(self._wanted - 1):
                self.add()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for node in range(len(self.nodes)):
            self.end(node)
        shutil.rmtree(self.folder, ignore_errors=True)

    def add(self) -> None:
        """Start one more node."""
        self._start(f"--address={self.address}")

    def _start(self, *words: str) -> None:
        """Start a node; again if the machine was so busy that Ray gave it up after 30 s."""
        for left in reversed(range(TRIES)):
            try:
                self._try_to_start(*words)
            except RuntimeError:
                self.end(len(self.nodes) - 1)
                if not left:
                    raise
                self.nodes.pop()
            else:
                return

    def _try_to_start(self, *words: str) -> None:
        before = self.alive()
        log = (self.folder / f"node-{len(self.nodes)}.log").open("wb")
        command = [str(Path(sys.executable).with_name("ray")), "start", "--block", *words]
        command += ["--node-ip-address=127.0.0.1", "--num-cpus=1"]
        command += [f"--object-store-memory={self._store}"]
        if "--head" in words:
            command += [f"--temp-dir={self.folder}", "--include-dashboard=false"]
        self.nodes.append(
            subprocess.Popen(
                command,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        )
        log.close()
        ends = time.monotonic() + PATIENCE
        while (now := self.alive()) <= before:
            before = min(before, now)  # one that was killed may still have been counted
            if self.nodes[-1].poll() is not None or time.monotonic() > ends:
                text = Path(log.name).read_text(errors="replace")
                raise RuntimeError(f"a node did not start: {text[-2000:]}")
            time.sleep(0.5)

    def alive(self) -> int:
        """Return how many nodes the cluster says are alive, 0 if it does not answer."""
        asking = (
            "import sys; from ray._raylet import GcsClient; "
            "nodes = GcsClient(address=sys.argv[1]).get_all_node_info(timeout=5).values(); "
            "print(sum(each.state == 0 for each in nodes))"
        )
        if not self.nodes:
            return 0
        done = subprocess.run(
            [sys.executable, "-c", asking, self.address],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        return int(done.stdout) if done.returncode == 0 else 0

    def processes(self, node: int, name: str) -> list[psutil.Process]:
        """Return the processes of a node whose command has a word, such as raylet or ray::."""
        try:
            each = psutil.Process(self.nodes[node].pid).children(recursive=True)
        except psutil.NoSuchProcess:
            return []
        return [process for process in each if name in _command(process)]

    def workers(self, title: str = "ray::") -> list[psutil.Process]:
        """Return the workers of all nodes whose title begins so; by default idle ones too."""
        nodes = range(len(self.nodes))
        each = [process for node in nodes for process in self.processes(node, title)]
        return [process for process in each if _is_worker(process, title)]

    def replace_last(self) -> None:
        """Kill the last node with all that it started, and start another."""
        self.end(len(self.nodes) - 1)
        self.add()

    def seconds(self) -> dict[tuple[int, float], float]:
        """Return the processor time of each process of the nodes, by its id and beginning."""
        found = {}
        for node in self.nodes:
            try:
                processes = psutil.Process(node.pid).children(recursive=True)
            except psutil.NoSuchProcess:
                continue
            for each in processes:
                try:
                    spent = each.cpu_times()
                    key = (each.pid, each.create_time())
                except psutil.Error:
                    continue
                found[key] = spent.user + spent.system
        return found

    def end(self, node: int) -> None:
        """Kill a node with all that it started."""
        try:
            top = psutil.Process(self.nodes[node].pid)
            each = [top, *top.children(recursive=True)]
        except psutil.NoSuchProcess:
            each = []
        for process in each:
            try:
                process.kill()
            except psutil.NoSuchProcess:
                continue
        self.nodes[node].wait()


def _command(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline()[:1])
    except psutil.Error:
        return ""


def _is_worker(process: psutil.Process, title: str) -> bool:
    """Tell whether a process is a worker of that title, and none of Ray's own agents."""
    name = _command(process)
    return name.startswith(title) and "Agent" not in name


def _free_port() -> int:
    for port in range(FIRST, LAST):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise RuntimeError(f"no port is free from {FIRST} to {LAST}")
