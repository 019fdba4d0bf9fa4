"""A service under load while it is disturbed: nothing that was acknowledged may be lost.

    python benchmarks/reliability/soak.py --minutes 20

Three parts, each with requests of all kinds (``../speed/mixed.py``) at 0.8 of the capacity and two
workers. In the first the tagger is replaced by good and by damaged ones all the while: every
answer must be right. In the second workers are killed and frozen: requests that a killed worker
held are lost, but no acknowledged feedback. In the third the service is stopped by SIGTERM again
and again while clients ask: no request that was sent may be dropped. A table is printed; the exit
code is 1 if anything went wrong.
"""

from __future__ import annotations

import argparse
import gzip
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SPEED = HERE.parent / "speed"
sys.path.insert(0, str(SPEED))
import steady_load  # noqa: E402
from mixed import post  # noqa: E402
from servers import Server, labelgrove  # noqa: E402

SAMPLE = HERE.parents[1] / "src" / "labelgrove" / "samples" / "arxiv"
SHARES = {"replaced": 0.5, "killed": 0.3, "stopped": 0.2}  # of the minutes
PAUSE = 2.0  # seconds between two disturbances
FREEZE = 3.0  # seconds that a worker is stopped
TRIAL = 8.0  # seconds to find the capacity
ASKING = 2.0  # seconds that clients ask before the service is stopped
CLIENTS = 8
LOST = ("closed", "reset")  # outcomes of requests that a killed worker held


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=20.0, help="default: %(default)s")
    parser.add_argument("--work", type=Path, help="folder for all that is made; default: a new one")
    asked = parser.parse_args()
    work = asked.work or Path(tempfile.mkdtemp(prefix="labelgrove-soak-"))
    for name in ("requests", "logs"):
        (work / name).mkdir(parents=True, exist_ok=True)
    print(f"everything is in {work}", flush=True)
    with gzip.open(SAMPLE / "test.jsonl.gz", "rt", encoding="utf-8") as file:
        texts = [json.loads(line)["text"] for line in file]
    taggers = Taggers(work)
    seconds = {part: 60 * asked.minutes * share for part, share in SHARES.items()}
    rows = [
        disturbed("replaced", taggers, texts, work, seconds["replaced"], Replacing(taggers)),
        disturbed("killed", taggers, texts, work, seconds["killed"], Killing()),
        stopped(taggers, texts, work, seconds["stopped"]),
    ]
    print(
        "| part | minutes | requests | disturbances | wrong | lost with a killed worker | "
        "feedback acknowledged, and missing | tracebacks |\n|---|---|---|---|---|---|---|---|"
    )
    for row in rows:
        print("| " + " | ".join(map(str, row["cells"])) + " |")
    sys.exit(any(row["failed"] for row in rows))


class Taggers:
    """A served tagger and what takes its place: two good ones, and a damaged one.

    Parameters
    ----------
    work
        Folder for them.
    """

    def __init__(self, work: Path) -> None:
        self.served = work / "taggers" / "served"
        self.good = [self._trained(work / "taggers" / f"good-{seed}", seed) for seed in (0, 1)]
        self.put(0)

    def put(self, number: int) -> None:
        """Put a good tagger in the place of the served one, by renaming."""
        self._exchange(self.good[number])

    def put_damaged(self) -> None:
        """Put a tagger there whose largest file has another byte in its middle."""
        copy = self._exchange(self.good[0])
        largest = max(copy.rglob("*.npy"), key=lambda path: path.stat().st_size)
        data = bytearray(largest.read_bytes())
        data[len(data) // 2] ^= 0xFF
        changed = largest.with_suffix(".new")
        changed.write_bytes(data)
        changed.replace(largest)

    def _exchange(self, source: Path) -> Path:
        new, old = self.served.with_name("new"), self.served.with_name("old")
        shutil.copytree(source, new)
        if self.served.exists():
            self.served.rename(old)
        new.rename(self.served)
        shutil.rmtree(old, ignore_errors=True)
        return self.served

    def _trained(self, out: Path, seed: int) -> Path:
        if not out.exists():
            words = [
                "train",
                str(SAMPLE / "train.jsonl.gz"),
                "--labels",
                str(SAMPLE / "labels.tsv"),
            ]
            words += ["--out", str(out), "--model", "bonsai"]
            words += ["--quiet", "--seed", str(seed)]
            command = [sys.executable, "-m", "labelgrove", *words]
            subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        return out


class Replacing:
    """Replaces the tagger by good and damaged ones in turn, and lets the service reload."""

    def __init__(self, taggers: Taggers) -> None:
        self.taggers = taggers
        self.counts: Counter[str] = Counter()

    def __call__(self, server: Server, stop: threading.Event) -> None:
        number = 0
        while not stop.wait(PAUSE):
            number += 1
            if number % 3 == 0:
                self.taggers.put_damaged()
            else:
                self.taggers.put(number % 2)
            if number % 2:
                os.kill(server.process.pid, signal.SIGHUP)
                self.counts["SIGHUP"] += 1
            else:
                self.counts[f"reload {_reload(server)}"] += 1


class Killing:
    """Kills one worker and freezes another, in turn."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def __call__(self, server: Server, stop: threading.Event) -> None:
        while not stop.wait(PAUSE):
            workers = _workers(server)
            if len(workers) < 2:
                continue
            if sum(self.counts.values()) % 2:
                os.kill(workers[0], signal.SIGKILL)
                self.counts["killed"] += 1
            else:
                os.kill(workers[-1], signal.SIGSTOP)
                stop.wait(FREEZE)
                os.kill(workers[-1], signal.SIGCONT)
                self.counts["frozen"] += 1


def disturbed(
    part: str,
    taggers: Taggers,
    texts: list[str],
    work: Path,
    seconds: float,
    disturb: Replacing | Killing,
) -> dict[str, Any]:
    """Return a row of the table about a service under load that is disturbed."""
    taggers.put(0)
    lines: list[tuple[str, dict[str, Any]]] = []

    def note(kind: str, **line: Any) -> None:
        lines.append((kind, line))

    steady_load.soak(taggers.served, texts, work, seconds, note, disturb, TRIAL)
    shutil.copy(work / "logs" / "soak.log", work / "logs" / f"{part}.log")
    done = next(line for kind, line in lines if kind == "soak done")
    end = next(line for kind, line in lines if kind == "soak end")
    outcomes = done["warm"] + done["outcomes"] + done["late"]
    wrong = steady_load.wrong(outcomes, end["right"])
    lost = 0
    if part == "killed":
        lost = sum(n for (_, outcome), n in wrong.items() if outcome in LOST)
        wrong = Counter({key: n for key, n in wrong.items() if key[1] not in LOST})
    missing = max(0, end["feedback_answered"] - end["feedback_written"])
    return _row(
        part,
        seconds,
        sum(n for _, _, n in outcomes),
        disturb.counts,
        wrong,
        lost,
        f"{end['feedback_answered']:,}, {missing:,}",
        end["tracebacks"],
        missing,
    )


def stopped(taggers: Taggers, texts: list[str], work: Path, seconds: float) -> dict[str, Any]:
    """Return a row of the table about a service that is stopped while clients ask."""
    taggers.put(0)
    ends = time.monotonic() + seconds
    counts: Counter[str] = Counter()
    wrong: Counter[tuple[str, str]] = Counter()
    tracebacks = 0
    log = work / "logs" / "stopped.log"
    while not counts["SIGTERM"] or time.monotonic() < ends:
        with labelgrove(taggers.served, 2, log, "--no-feedback") as server:
            stop = threading.Event()
            with ThreadPoolExecutor(CLIENTS) as pool:
                ways = (_ask_afresh, _ask_on) * (CLIENTS // 2)
                asking = [pool.submit(way, server.port, texts, stop) for way in ways]
                time.sleep(ASKING)
                server.process.terminate()
                code = server.process.wait(120)
                stop.set()
                for each in asking:
                    for outcome, n in each.result().items():
                        if outcome == "200":
                            counts["answered"] += n
                        else:
                            wrong["tag", outcome] += n
        counts["SIGTERM"] += 1
        wrong["exit", str(code)] += code != 0
        tracebacks += log.read_text(errors="replace").count("Traceback")
    answered = counts.pop("answered")
    return _row("stopped", seconds, answered, counts, +wrong, 0, "-", tracebacks, 0)


def _row(
    part: str,
    seconds: float,
    requests: int,
    counts: Counter[str],
    wrong: Counter[tuple[str, str]],
    lost: int,
    feedback: str,
    tracebacks: int,
    missing: int,
) -> dict[str, Any]:
    did = ", ".join(f"{n:,} {what}" for what, n in sorted(counts.items()))
    bad = ", ".join(f"{n:,} {kind}: {outcome}" for (kind, outcome), n in sorted(wrong.items()))
    cells = [part, f"{seconds / 60:.1f}", f"{requests:,}", did, bad or "none", f"{lost:,}"]
    failed = bool(wrong) or bool(missing) or bool(tracebacks)
    return {"cells": [*cells, feedback, tracebacks], "failed": failed}


def _ask_afresh(port: int, texts: list[str], stop: threading.Event) -> Counter[str]:
    """Ask on a new connection each time, until none is taken."""
    outcomes: Counter[str] = Counter()
    while not stop.is_set():
        data = post("/v1/tag", {"text": texts[sum(outcomes.values()) % len(texts)]})
        try:
            connection = socket.create_connection(("127.0.0.1", port), timeout=60)
        except OSError:  # refused: it was never sent
            break
        with connection:
            try:
                connection.sendall(data)
                outcomes[connection.recv(1 << 16)[9:12].decode("latin-1") or "closed"] += 1
            except OSError:
                outcomes["reset"] += 1
    return outcomes


def _ask_on(port: int, texts: list[str], stop: threading.Event) -> Counter[str]:
    """Ask on one connection, until an answer says that it is closed."""
    outcomes: Counter[str] = Counter()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        while not stop.is_set():
            body = json.dumps({"text": texts[sum(outcomes.values()) % len(texts)]})
            connection.request("POST", "/v1/tag", body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            answer.read()
            outcomes[str(answer.status)] += 1
            if answer.getheader("connection") == "close":
                break
    except (OSError, http.client.HTTPException):
        outcomes["closed"] += 1
    finally:
        connection.close()
    return outcomes


def _reload(server: Server) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=120)
    try:
        connection.request("POST", "/v1/reload")
        return connection.getresponse().status
    finally:
        connection.close()


def _workers(server: Server) -> list[int]:
    return [
        each.pid
        for each in server.tree.top.children()
        if any("spawn_main" in word for word in each.cmdline())
    ]


if __name__ == "__main__":
    main()
