"""A real service in a process of its own, asked over a socket."""

import http.client
import itertools
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labelgrove import Tagger
from labelgrove.labels import read_vocabulary
from processes import PATIENCE

JSON = {"Content-Type": "application/json"}
NUMBERS = itertools.count()
KINDS = {
    "red apples and green apples": ["fruit", "colour"],
    "a red car": ["colour", "vehicle"],
    "green cars drive": ["colour", "vehicle"],
    "apple pie and cake": ["fruit", "cake"],
}
TEXTS = [f"{text}, the {i}th" for i in range(25) for text in KINDS]
LABELS = list(KINDS.values()) * 25
NAMES = """id\tname\tparents
thing\tThing\t
fruit\tFruit of trees\tthing
vehicle\tVehicle\tthing
cake\tCake <b>& more\tfruit
colour\tColour\t
shade\tShade of colour\tcolour
"""


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def detail(self):
        """What a refusal says."""
        assert self.headers["content-type"] == "application/problem+json", self.body
        problem = self.json
        assert problem["status"] == self.status
        assert problem["title"]
        return problem["detail"]


@dataclass
class Service:
    process: Any
    address: str
    told: list[str]  # lines of its log

    @property
    def port(self):
        return int(self.address.rpartition(":")[2])

    def connect(self, timeout=PATIENCE):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)

    def socket(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)

    def ask(self, path, body=None, *, method=None, headers=(), connection=None):
        """Make a request; a body that is no string becomes JSON."""
        sent = dict(headers)
        if body is not None:
            if not isinstance(body, str | bytes):
                body = json.dumps(body)
            sent = {**JSON, **sent}
        used = connection or self.connect()
        try:
            used.request(method or ("GET" if body is None else "POST"), path, body, sent)
            got = used.getresponse()
            names = {name.lower(): value for name, value in got.getheaders()}
            return Answer(got.status, names, got.read())
        finally:
            if connection is None:
                used.close()

    def raw(self, data):
        """Send bytes and return all that comes back."""
        with self.socket() as connection:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            found = b""
            while part := connection.recv(1 << 16):
                found += part
            return found

    def log(self):
        """Return all that was logged so far."""
        mark = f"/mark-{next(NUMBERS)}"
        self.ask(mark)
        ends = time.monotonic() + PATIENCE
        while not any(mark in line for line in self.told):
            assert time.monotonic() < ends
            time.sleep(0.01)
        return "".join(self.told)

    def is_well(self):
        return self.ask("/healthz").status == 200

    def stop(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        return self.process.wait(PATIENCE)


@contextmanager
def serving(*arguments, **environment):
    """Start ``labelgrove serve`` and wait until it answers; what it logs is kept."""
    process = subprocess.Popen(
        [sys.executable, "-m", "labelgrove", "serve", *map(str, arguments), "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
        env={**os.environ, **environment},
    )
    told = []
    reader = threading.Thread(target=lambda: told.extend(process.stderr), daemon=True)
    reader.start()
    try:
        line = process.stdout.readline()
        found = re.fullmatch(r"serving at (http://\S+)\n", line)
        if not found:
            process.kill()
            reader.join(PATIENCE)
        assert found, (line, "".join(told))
        yield Service(process, found[1], told)
    finally:
        process.terminate()
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        finally:
            reader.join(PATIENCE)
            process.stdout.close()
            process.stderr.close()


def eventually(holds):
    ends = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < ends
        time.sleep(0.02)


def started_by(service, what):
    """Return the processes that a service has started and whose command line has these bytes."""
    process = service.process.pid
    found = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return [int(each) for each in found if what in Path(f"/proc/{each}/cmdline").read_bytes()]


def workers_of(service):
    return started_by(service, b"spawn_main")


def bearer(key):
    """The header that brings an API key."""
    return {"Authorization": f"Bearer {key}"}


def made(folder, model="bonsai", texts=TEXTS, labels=LABELS, *, overwrite=False):
    """Save a small tagger with a hierarchy."""
    names = folder.parent / "labels.tsv"
    names.write_text(NAMES, "utf-8")
    tagger = Tagger(model).fit(texts, labels, vocabulary=read_vocabulary(names))
    tagger.save(folder, overwrite=overwrite)
    return tagger
