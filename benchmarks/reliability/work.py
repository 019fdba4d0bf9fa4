"""The rounds of crash.py: each does some work, is killed, and tells what it found."""

from __future__ import annotations

import http.client
import json
import shutil
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from kills import Bench, Lost, kill, must, must_be_equal, started

from labelgrove import Tagger
from labelgrove.core.errors import LabelgroveError

CLIENTS = 4
UNHURT = "finished before"  # the work ended by itself before it was to be killed
PATIENCE = 120.0  # seconds until a service must be there
# saves a tagger again and again, with the number of the save among its scores
SAVING = """
import sys
from labelgrove import Tagger
tagger = Tagger.load(sys.argv[1])
for number in range(1, 10**6):
    tagger.scores_ = {"number": float(number)}
    tagger.save(sys.argv[2], overwrite=True)
    print(number, flush=True)
"""


def save(bench: Bench, folder: Path) -> str:
    """Save a tagger over the one before until it is killed; the last one or the next is there."""
    out = folder / "tagger"
    words = [sys.executable, "-c", SAVING, str(bench.tagger), str(out)]
    process = started(words, stdout=subprocess.PIPE, encoding="utf-8")
    assert process.stdout is not None
    told = [process.stdout.readline()]  # it has begun
    bench.kill_during("save", process)
    told += process.stdout.read().splitlines()
    acknowledged = int(told[-1])
    number = int(load(out).scores_["number"])
    if number not in (acknowledged, acknowledged + 1):
        raise Lost(f"{acknowledged} saves were acknowledged, and number {number} is there")
    return "the last acknowledged" if number == acknowledged else "the next"


def train(bench: Bench, folder: Path) -> str:
    """Train, and go on after the kill: the result is the same."""
    out = folder / "tagger"
    killed = bench.kill_during("train", started(bench.training(out)))
    kept = (folder / "tagger.run" / "model").exists()
    if not out.exists():
        must(bench.training(out, "--resume"))
    must_be_equal(out, bench.tagger)
    load(out)
    if not killed:
        return UNHURT
    return "resumed, the same result" if kept else "begun again, the same result"


def tune(bench: Bench, folder: Path) -> str:
    """Search, and go on after the kill: the trials are the same, and nothing else is left."""
    out = folder / "search"
    killed = bench.kill_during("tune", started(bench.searching(out)))
    kept = (out / "study.sqlite3").exists()
    if killed and bench.moments.random() < 0.2:
        must(bench.searching(out, "--overwrite"))
        what = "overwritten"
    else:
        must(bench.searching(out, "--resume"))
        what = "resumed" if kept else "begun again"
    if trials(out) != trials(bench.search):
        raise Lost(f"the search in {out} has other trials than {bench.search}")
    if left := [path.name for path in out.iterdir() if path.name.startswith(".")]:
        raise Lost(f"{out} still holds {left[0]}")
    return f"{what}, the same trials" if killed else UNHURT


def retrain(bench: Bench, folder: Path) -> str:
    """Retrain a tagger in its own place: it loads, and the feedback is there."""
    tagger, feedback = folder / "tagger", folder / "tagger.feedback.jsonl"
    shutil.copytree(bench.tagger, tagger)
    lines = [
        json.dumps({"text": f"a fig in garden {n}", "labels": ["fig"], "id": str(n)})
        for n in range(30)
    ]
    feedback.write_text("\n".join(lines) + "\n")
    before = (tagger / "manifest.json").read_bytes()
    words = [sys.executable, "-m", "labelgrove", "retrain", tagger, bench.corpus, "--out", tagger]
    process = started([*map(str, words), "--overwrite", "--threads", "1"])
    killed = bench.kill_during("retrain", process)
    if not killed and process.returncode:
        raise Lost(f"retrain ended with {process.returncode}")
    load(tagger)
    if feedback.read_text().splitlines() != lines:
        raise Lost(f"{feedback} has changed")
    if not killed:
        return UNHURT
    same = (tagger / "manifest.json").read_bytes() == before
    return "the old tagger" if same else "the new tagger"


def serve(bench: Bench, folder: Path) -> str:
    """Serve a tagger while feedback comes in: what was acknowledged is in the file."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = ["serve", str(bench.tagger), "--port", str(port), "--feedback", str(folder)]
    workers = str(bench.moments.choice((1, 2)))
    process = started([sys.executable, "-m", "labelgrove", *words, "--workers", workers])
    acknowledged: list[str] = []
    try:
        wait_for(port, process)
        clients = [
            threading.Thread(target=send, args=(port, client, acknowledged))
            for client in range(CLIENTS)
        ]
        for client in clients:
            client.start()
        ends = time.monotonic() + PATIENCE
        while not acknowledged and time.monotonic() < ends:
            time.sleep(0.01)
        time.sleep(bench.moments.uniform(0, 2.0))
    finally:
        kill(process)
    for client in clients:
        client.join()
    file = folder / f"{bench.tagger.name}.feedback.jsonl"
    whole = file.read_text().rpartition("\n")[0] if file.exists() else ""
    texts = {json.loads(line)["text"] for line in whole.splitlines()}
    if missing := [text for text in acknowledged if text not in texts]:
        raise Lost(f"{len(missing)} of {len(acknowledged)} acknowledged lines are not in {file}")
    if not acknowledged:
        raise Lost(f"no feedback was acknowledged within {PATIENCE:.0f} seconds")
    return "all acknowledged feedback"


def load(folder: Path) -> Tagger:
    try:
        return Tagger.load(folder)
    except LabelgroveError as error:
        raise Lost(f"{folder} cannot be loaded: {error}") from error


def trials(out: Path) -> list[dict[str, Any]]:
    lines = (out / "trials.jsonl").read_text().splitlines()
    each = [json.loads(line) for line in lines]
    return [{key: trial[key] for key in ("values", "score", "state", "default")} for trial in each]


def wait_for(port: int, process: subprocess.Popen[Any]) -> None:
    ends = time.monotonic() + PATIENCE
    while time.monotonic() < ends and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise Lost(f"no service came up (code {process.poll()})")


def send(port: int, client: int, acknowledged: list[str]) -> None:
    """Send feedback until the service is gone."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        for number in range(10**6):
            text = f"text {number} of {client} " + "word " * 100
            body = json.dumps({"text": text, "labels": ["fig"]})
            connection.request("POST", "/v1/feedback", body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            answer.read()
            if answer.status == 200:
                acknowledged.append(text)
    except (OSError, http.client.HTTPException):
        pass
    finally:
        connection.close()
