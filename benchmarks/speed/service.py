"""`labelgrove serve` over loopback: against Annif, in a long run, and its memory.

    python benchmarks/speed/service.py --data DIR --work DIR --annif VENV
    python benchmarks/speed/service.py --data DIR --work DIR --soak 10
    python benchmarks/speed/service.py --work DIR --table

DIR holds a folder for each set with train.jsonl.xz and test.jsonl.xz; VENV is a virtual
environment with Annif (see peers/run_annif.py). Without it labelgrove is measured alone. The
tables go to service.md beside this file, with what is counted.
"""

from __future__ import annotations

import argparse
import json
import lzma
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from machine import installed, machine
from mixed import http
from servers import Server, free_port, labelgrove
from service_page import ANNIF, ONE, OURS, report
from steady_load import soak

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "peers"))
import run_annif  # noqa: E402

SET, LARGE = "debtags", "finna"  # what is compared, and what shows whether memory is shared
CLIENTS = (1, 2, 4, 8, 16, 32, 64)
TEXTS, K = 2000, 10  # texts asked in turn, and labels of each
FEWER = (1, 8, 64)  # clients of a single worker
SCORED = 1000  # texts whose answers are scored
TRIAL = 8  # clients when ways to serve are compared
PARTS = ("speed", "memory")


class System(NamedTuple):
    """A server that is up, with what it is asked."""

    name: str
    server: Server
    requests: Path


class Bench:
    """What is measured, in a folder.

    Parameters
    ----------
    work
        Folder for taggers, requests, logs and results.
    data
        Folder of the sets.
    annif
        Annif's environment, or None.
    """

    def __init__(self, work: Path, data: Path, annif: Path | None) -> None:
        self.work, self.data, self.annif = work, data, annif
        for name in ("taggers", "requests", "logs"):
            (work / name).mkdir(parents=True, exist_ok=True)

    def note(self, part: str, **line: Any) -> None:
        """Append a line to the results."""
        with (self.work / "results.jsonl").open("a", encoding="utf-8") as file:
            print(json.dumps({"part": part, **line}), file=file, flush=True)

    def begin(self, what: str) -> None:
        """Note that lines of some kind begin anew."""
        versions = installed("labelgrove", "uvicorn", "fastapi", "uvloop", "httptools")
        if self.annif is not None:
            found = run_annif.versions(self.annif)
            found["uvicorn of Annif"] = found.pop("uvicorn")
            versions.update(found)
        when = time.strftime("%Y-%m-%d", time.gmtime())
        self.note("begin", what=what, machine=machine(versions), when=when)

    def documents(self, name: str, part: str) -> Iterator[dict[str, Any]]:
        with lzma.open(self.data / name / f"{part}.jsonl.xz", "rt", encoding="utf-8") as file:
            yield from map(json.loads, file)

    def asked(self, name: str) -> list[dict[str, Any]]:
        """Return the test documents that are asked, the same every time."""
        return random.Random(0).sample(list(self.documents(name, "test")), TEXTS)

    def tagger(self, name: str) -> Path:
        """Return a bonsai of all training documents, trained once."""
        out = self.work / "taggers" / name
        if not out.exists():
            say(f"training on {name}")
            words = [sys.executable, "-m", "labelgrove", "train", "--out", str(out), "--quiet"]
            words += [str(self.data / name / "train.jsonl.xz"), "--model", "bonsai"]
            if name == LARGE:
                words += ["--validation", "0"]
            elif (labels := self.data / name / "labels.tsv").exists():
                words += ["--labels", str(labels)]
            subprocess.run(words, stdout=subprocess.DEVNULL, check=True)
        return out

    def requests(self, name: str, each: list[tuple[str, str, bytes]]) -> Path:
        """Write requests for load.py."""
        path = self.work / "requests" / f"{name}.jsonl"
        with path.open("w", encoding="utf-8") as file:
            for where, kind, body in each:
                data = http("POST", where, body, kind).decode("latin-1")
                print(json.dumps({"kind": "tag", "data": data, "manner": "answer"}), file=file)
        return path

    def log(self, name: str) -> Path:
        return self.work / "logs" / f"{name}.log"


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


def own_request(text: str) -> tuple[str, str, bytes]:
    return "/v1/tag", "application/json", json.dumps({"text": text, "k": K}).encode()


def own_labels(answer: Any) -> list[str]:
    return [each["label"] for each in answer["results"][0]["labels"]]


# --- against Annif ------------------------------------------------------------------------------


def speed(bench: Bench, seconds: float, turns: int) -> None:
    """Ask labelgrove with two workers and with one, and Annif, in turns."""
    tagger, documents = bench.tagger(SET), bench.asked(SET)
    own = bench.requests("labelgrove", [own_request(each["text"]) for each in documents])
    if bench.annif is not None:
        say("preparing Annif")
        train = bench.documents(SET, "train")
        sizes = run_annif.prepare(bench.annif, bench.work / "annif", train, bench.log("annif"))
    bench.begin("speed")
    way = None
    if bench.annif is not None:
        bench.note("size", system="Annif", bytes=sizes["bonsai"])
        way = best_way(bench, documents, seconds)
    size = sum(path.stat().st_size for path in tagger.rglob("*") if path.is_file())
    bench.note("size", system="labelgrove", bytes=size)
    with (
        labelgrove(tagger, 2, bench.log("labelgrove-2"), "--no-feedback") as two,
        labelgrove(tagger, 1, bench.log("labelgrove-1"), "--no-feedback") as one,
    ):
        systems = [
            System(OURS, two, own),
            System(ONE, one, own),
        ]
        quality(bench, "labelgrove", two, documents)
        if bench.annif is None or way is None:
            compare(bench, systems, seconds, turns)
            return
        with annif_server(bench, way) as other:
            quality(bench, "Annif", other, documents, way.project)
            requests = annif_requests(bench, way.project, documents)
            compare(bench, [*systems, System(ANNIF, other, requests)], seconds, turns)


def compare(bench: Bench, systems: list[System], seconds: float, turns: int) -> None:
    for turn in range(turns):
        for number, clients in enumerate(CLIENTS):
            for name, server, requests in systems if (turn + number) % 2 == 0 else systems[::-1]:
                if name == ONE and clients not in FEWER:
                    continue
                first = turn * 7 * clients  # not always the same texts at the same time
                found = server.load(requests, seconds, clients=clients, first=first)
                bench.note("speed", system=name, clients=clients, turn=turn, **found)
                say(f"{name}, {clients} clients: {told(found)}")
    for name, server, _ in systems:
        bench.note("taken", system=name, **server.tree.total())


def told(found: dict[str, Any]) -> str:
    cpu = 1e3 * found["server_cpu"] / max(found["answered"], 1)
    p50, p99 = (1e3 * found["times"].get(key, 0) for key in ("p50", "p99"))
    bad = [each for each in found["outcomes"] if each[1] != "200"]
    rest = f", not 200: {bad}" if bad else ""
    return f"{found['a_second']:.0f}/s, {p50:.1f} and {p99:.1f} ms, {cpu:.2f} ms CPU each{rest}"


def quality(
    bench: Bench, name: str, server: Server, documents: list[dict[str, Any]], project: str = ""
) -> None:
    """Note P@k of what a server answers; this warms it up too."""
    documents = documents[:SCORED]
    texts = [each["text"] for each in documents]
    each = [run_annif.request(project, x, K) if project else own_request(x) for x in texts]
    path, kind, _ = each[0]
    read = run_annif.labels if project else own_labels
    given = list(map(read, server.ask(path, kind, [body for _, _, body in each])))
    scores = {
        f"P@{k}": statistics.fmean(
            len(set(labels[:k]) & set(right["labels"])) / k
            for labels, right in zip(given, documents, strict=True)
        )
        for k in (1, 3, 5)
    }
    places = statistics.fmean(map(len, given))
    bench.note("quality", system=name, texts=len(given), places=places, **scores)
    say(f"{name}: {scores}")


def annif_server(bench: Bench, way: run_annif.Way) -> Server:
    assert bench.annif is not None
    port = free_port()
    words = run_annif.command(bench.annif, way, port)
    folder, log = bench.work / "annif", bench.log("annif-server")
    return Server(words, port, log, run_annif.READY, way.workers, folder, own=False)


def annif_requests(bench: Bench, project: str, documents: list[dict[str, Any]]) -> Path:
    each = [run_annif.request(project, document["text"], K) for document in documents]
    return bench.requests(f"annif-{project}", each)


def best_way(bench: Bench, documents: list[dict[str, Any]], seconds: float) -> run_annif.Way:
    """Return the way to serve Annif that answers most; all are noted."""
    found: list[tuple[float, run_annif.Way]] = []
    for way in run_annif.WAYS:
        requests = annif_requests(bench, way.project, documents)
        with annif_server(bench, way) as server:
            figures = server.load(requests, seconds, clients=TRIAL, warm=1.5)
        found.append((figures["a_second"], way))
        title = f"{way.project}, {way.told}"
        bench.note("way", way=title, clients=TRIAL, **figures)
        say(f"Annif as {title}: {told(figures)}")
    best = max(found, key=lambda each: each[0])[1]
    bench.note("best way", way=f"{best.project}, {best.told}")
    return best


# --- memory -------------------------------------------------------------------------------------


def memory(bench: Bench) -> None:
    """Note what processes take with one, two and four workers, after all have been asked."""
    tagger = bench.tagger(LARGE)
    texts = [each["text"] for each in bench.asked(LARGE)]
    requests = bench.requests(LARGE, [own_request(text) for text in texts])
    bench.begin("memory")
    size = sum(path.stat().st_size for path in tagger.rglob("*") if path.is_file())
    for workers in (1, 2, 4):
        log = bench.log(f"memory-{workers}")
        with labelgrove(tagger, workers, log, "--no-feedback") as server:
            server.load(requests, 6, clients=64)
            each, mapped = server.tree.memory(), server.tree.mapped(tagger.parent)
        bench.note("memory", workers=workers, each=each, mapped=mapped, bytes=size)
        say(f"{workers} workers: {sum(one['pss'] for one in each) / 1e6:.0f} MB")


# --- command line -------------------------------------------------------------------------------


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", type=Path, required=True, help="folder for all that is made")
    parser.add_argument("--data", type=Path, help="folder of the data sets")
    parser.add_argument("--annif", type=Path, help="virtual environment of Annif")
    parser.add_argument("--parts", default=",".join(PARTS), help="default: %(default)s")
    parser.add_argument("--seconds", type=float, default=4, help="for each point")
    parser.add_argument("--turns", type=int, default=3, help="of which the median counts")
    parser.add_argument("--soak", type=float, metavar="MINUTES", help="this alone: a long run")
    parser.add_argument("--table", action="store_true", help="this alone: the tables anew")
    parser.add_argument("--out", type=Path, default=HERE / "service.md", help="the tables")
    asked = parser.parse_args()
    if asked.data is None and not asked.table:
        parser.error("give --data, or --table")
    parts = asked.parts.split(",")
    if unknown := set(parts) - set(PARTS):
        parser.error(f"unknown part {unknown.pop()!r}; known: {', '.join(PARTS)}")
    if not asked.table:
        annif = asked.annif.resolve() if asked.annif else None
        bench = Bench(asked.work.resolve(), asked.data.resolve(), annif)
        if asked.soak:
            texts = [each["text"] for each in bench.asked(SET)]
            bench.begin("soak")
            soak(bench.tagger(SET), texts, bench.work, 60 * asked.soak, bench.note)
        elif "speed" in parts:
            speed(bench, asked.seconds, asked.turns)
        if not asked.soak and "memory" in parts:
            memory(bench)
    with (asked.work / "results.jsonl").open(encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    asked.out.write_text(report(lines), encoding="utf-8")
    say(f"tables in {asked.out}")


if __name__ == "__main__":
    main()
