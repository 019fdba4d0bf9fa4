"""A long run of ``labelgrove serve`` at most of its capacity, with requests of all kinds."""

from __future__ import annotations

import json
import shutil
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mixed import Mix, Mixed
from servers import Server, labelgrove

WORKERS = 2
REQUESTS = 20_000  # drawn once, then asked again and again
SHARE = 0.8  # of the capacity
CLIENTS = 64
EVERY = 5.0  # seconds between two looks at memory
BEHIND = ("not sent", "not answered")  # when time was up
TRIAL = 15.0  # seconds to find the capacity


def soak(
    tagger: Path,
    texts: list[str],
    work: Path,
    seconds: float,
    note: Callable[..., None],
    disturb: Callable[[Server, threading.Event], None] | None = None,
    trial: float = TRIAL,
) -> None:
    """Find the capacity for the mix, then ask at 0.8 of it; everything is noted as it comes.

    Parameters
    ----------
    tagger
        To be served.
    texts
        To be sent.
    work
        Folder for requests, feedback and the log.
    seconds
        How long.
    note
        Takes a line of results.
    disturb
        Runs beside the load until the event is set, if there is something to disturb it.
    trial
        Seconds to find the capacity.
    """
    feedback = work / "feedback"
    shutil.rmtree(feedback, ignore_errors=True)
    feedback.mkdir()
    log = work / "logs" / "soak.log"
    with labelgrove(tagger, WORKERS, log, "--feedback", str(feedback)) as server:
        requests = Mix(texts, _labels(server)).requests(REQUESTS)
        polite = [each for each in requests if each.manner == "answer"]
        every, calm = (work / "requests" / f"{name}.jsonl" for name in ("mixed", "polite"))
        _write(every, requests)
        _write(calm, polite)
        tried = server.load(calm, trial, clients=CLIENTS, warm=3)
        note("capacity", **tried)
        rate = SHARE * tried["a_second"]
        print(f"capacity {tried['a_second']:.0f} requests a second; now {rate:.0f}", flush=True)
        written = _lines(feedback)
        before = {each["pid"] for each in server.tree.memory()}
        stop = threading.Event()
        threads = [threading.Thread(target=_watch, args=(server, stop, note))]
        if disturb is not None:
            threads.append(threading.Thread(target=disturb, args=(server, stop)))
        for each in threads:
            each.start()
        try:
            options = {"clients": CLIENTS, "rate": rate, "every": EVERY, "warm": 1}
            for found in server.loading(every, seconds, **options):
                note("soak done" if found.get("done") else "soak", rate=rate, **found)
        finally:
            stop.set()
            for each in threads:
                each.join()
        after = {each["pid"] for each in server.tree.memory()}
    told = log.read_text(errors="replace")
    outcomes = found["warm"] + found["outcomes"] + found["late"]
    answered = sum(n for kind, s, n in outcomes if (kind, s) == ("feedback", "200"))
    note(
        "soak end",
        replaced=len(before - after),
        tracebacks=told.count("Traceback"),
        feedback_answered=answered,
        feedback_written=_lines(feedback) - written,
        right={kind: list(each) for kind, each in rights(requests).items()},
    )


def rights(requests: list[Mixed]) -> dict[str, tuple[str, ...]]:
    return {each.kind: each.right for each in requests}


def wrong(outcomes: list[list[Any]], right: dict[str, list[str]]) -> Counter[tuple[str, str]]:
    """Return what came back and should not have."""
    return Counter(
        {
            (kind, outcome): n
            for kind, outcome, n in outcomes
            if outcome not in right.get(kind, ()) and outcome not in BEHIND
        }
    )


def behind(outcomes: list[list[Any]], right: dict[str, list[str]]) -> int:
    """Return how many requests that were due had no answer when the time was up."""
    late = [each for each in outcomes if each[1] in BEHIND]
    return sum(n for kind, outcome, n in late if outcome not in right.get(kind, ()))


def _labels(server: Server) -> list[str]:
    import http.client

    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    found: list[str] = []
    for letter in "abcdefghijklmnopqrstuvwxyz":
        connection.request("GET", f"/v1/labels?q={letter}&limit=100")
        told = json.loads(connection.getresponse().read())
        found += [each["label"] for each in told["labels"] if each["learned"]]
    connection.close()
    return sorted(set(found))


def _write(path: Path, requests: list[Mixed]) -> None:
    with path.open("w", encoding="utf-8") as file:
        for each in requests:
            print(each.line(), file=file)


def _lines(folder: Path) -> int:
    return sum(len(path.read_bytes().splitlines()) for path in folder.glob("*.jsonl"))


def _watch(server: Server, stop: threading.Event, note: Callable[..., None]) -> None:
    start = time.perf_counter()
    while not stop.wait(EVERY):
        note("soak memory", at=time.perf_counter() - start, **server.tree.total())
