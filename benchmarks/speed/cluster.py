"""What a cluster of Ray nodes on this machine brings, costs and survives.

    python benchmarks/speed/cluster.py --data DIR --work DIR [--parts speed,memory,kills]

DIR of the data holds finna/train.jsonl.xz. The nodes are real ones (`ray start`), on loopback,
with one CPU each. A part is a function that returns lines of Markdown; each replaces its own
section of cluster.md, so parts can be run one by one.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import lzma
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from pathlib import Path

import psutil
from cluster_page import table, write_section
from ray_nodes import RayNodes

HERE = Path(__file__).parent
TRAINED = 20_000  # documents of the tagger
POINTS = 12  # rows of the table of memory


@dataclass(frozen=True)
class Setup:
    """What the parts share.

    Parameters
    ----------
    data, work
        The folder of the data sets, and one for what is made.
    documents, files
        How many titles are tagged, and of how many files.
    turns
        How often each way is timed.
    kills
        How many processes are killed.
    seed
        When and which.
    """

    data: Path
    work: Path
    documents: int
    files: int
    turns: int
    kills: int
    seed: int

    def tagger(self) -> Path:
        """Return a tagger of some titles, trained once."""
        folder, source = self.work / "tagger", self.work / "train.jsonl"
        if not folder.exists():
            with source.open("w", encoding="utf-8") as file:
                file.writelines(itertools.islice(self.titles(), TRAINED))
            subprocess.run(
                [*COMMAND, "train", source, "--model", "bonsai", "--out", folder, "--quiet"],
                check=True,
                stdout=subprocess.DEVNULL,
            )
        return folder

    def inputs(self) -> list[str]:
        """Return files that hold the titles, again and again."""
        folder = self.work / f"inputs-{self.documents}-{self.files}"
        if not folder.exists():
            made = folder.with_name("making")
            made.mkdir()
            titles, each = itertools.cycle(self.titles()), self.documents // self.files
            for number in range(self.files):
                with (made / f"{number:04}.jsonl").open("w", encoding="utf-8") as file:
                    file.writelines(itertools.islice(titles, each))
            made.rename(folder)
        return sorted(map(str, folder.iterdir()))

    def titles(self) -> Iterator[str]:
        """Give the lines of finna's training file."""
        with lzma.open(self.data / "finna/train.jsonl.xz", "rt", encoding="utf-8") as file:
            yield from file

    def out(self, name: str) -> Path:
        """Return a place for results where nothing is."""
        place = self.work / name
        shutil.rmtree(place, ignore_errors=True)
        return place


COMMAND = [sys.executable, "-m", "labelgrove"]


def tag(setup: Setup, out: Path, *options: str) -> list[str]:
    """Return the command that tags all inputs."""
    tagger, inputs = setup.tagger(), setup.inputs()
    return [*COMMAND, "tag", str(tagger), *inputs, "--out", str(out), "--quiet", *options]


def checksum(out: Path) -> str:
    """Return a checksum of all parts in their order."""
    total = hashlib.sha256()
    for path in sorted(out.glob("part-*")):
        total.update(path.read_bytes())
    return total.hexdigest()


# --- parts --------------------------------------------------------------------------------------


def speed(setup: Setup) -> list[str]:
    """Time tagging without Ray, on one node and on two, in turns."""
    names = ("without Ray, one thread", "1 node", "2 nodes")
    first = replace(setup, documents=setup.files, files=setup.files)  # what is compiled, is then
    subprocess.run(tag(first, setup.out("out")), check=True, stdout=subprocess.DEVNULL)
    turns: dict[str, list[Timed]] = {name: [] for name in names}
    for _, (nodes, name) in itertools.product(range(setup.turns), enumerate(names)):
        out = setup.out("out")
        if nodes == 0:
            turns[name].append(timed(tag(setup, out, "--threads", "1"), None, out))
            continue
        with RayNodes(nodes) as cluster:
            words = tag(setup, out, "--cluster", cluster.address)
            turns[name].append(timed(words, cluster, out))
    best = {name: min(each, key=lambda turn: turn.tagging) for name, each in turns.items()}
    base = best[names[0]]
    rows = [
        [
            name,
            f"{turn.command:.1f}",
            f"{turn.tagging:.1f}",
            f"{setup.documents / turn.tagging:,.0f}",
            f"{base.tagging / turn.tagging:.2f}",
            f"{turn.processor:.1f}",
        ]
        for name, turn in best.items()
    ]
    same = len({turn.checksum for each in turns.values() for turn in each}) == 1
    return [
        f"{setup.documents:,} titles in {setup.files} files, {TRAINED:,} documents learned by "
        f"`bonsai`; of {setup.turns} turns the one with the fastest tagging. *command*: from its "
        "start to its end; *tagging*: from the first finished part to the last, stretched to all "
        "parts, which leaves out starts and connections; *processor*: user and system time of the "
        "command and, with Ray, of all that its nodes ran meanwhile. Load average of the machine "
        "meanwhile: "
        f"{os.getloadavg()[1]:.1f} on {os.cpu_count()} cores.",
        "",
        *table(
            [
                *("", "command, s", "tagging, s", "documents/s", "speed-up"),
                "processor, s",
            ],
            rows,
        ),
        f"Bytes of all parts: {'the same in all turns' if same else 'DIFFERENT'}.",
        "",
    ]


@dataclass(frozen=True)
class Timed:
    """What a command took, in seconds."""

    command: float
    tagging: float
    processor: float
    checksum: str


def timed(words: list[str], cluster: RayNodes | None, out: Path) -> Timed:
    """Run a command and watch what it and the nodes take."""
    before = {} if cluster is None else cluster.seconds()
    latest = dict(before)
    environment = dict(os.environ) if cluster is None else cluster.environment
    start = time.perf_counter()
    driver = subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL)
    while True:
        ended, status, used = os.wait4(driver.pid, os.WNOHANG)
        if ended:
            break
        if cluster is not None:  # workers end with the command
            latest.update(cluster.seconds())
        time.sleep(0.2)
    spent = time.perf_counter() - start
    driver.returncode = os.waitstatus_to_exitcode(status)
    if driver.returncode:
        raise SystemExit(f"tagging ended with {driver.returncode}")
    own = used.ru_utime + used.ru_stime
    nodes = sum(now - before.get(key, 0.0) for key, now in latest.items())
    times = sorted(path.stat().st_mtime for path in out.glob("part-*"))
    return Timed(
        spent,
        (times[-1] - times[0]) * len(times) / (len(times) - 1),
        own + nodes,
        checksum(out),
    )


def memory(setup: Setup) -> list[str]:
    """Watch the memory of driver and workers."""
    out, seen = setup.out("out"), []
    with RayNodes(2) as cluster:
        words = tag(setup, out, "--cluster", cluster.address)
        start = time.perf_counter()
        driver = subprocess.Popen(words, env=cluster.environment, stdout=subprocess.DEVNULL)
        while driver.poll() is None:
            workers = max((own_bytes(each) for each in cluster.workers()), default=0)
            finished = len(list(out.glob("part-*"))) if out.exists() else 0
            own = own_bytes(psutil.Process(driver.pid)) if driver.poll() is None else 0
            seen.append((time.perf_counter() - start, finished, own, workers))
            time.sleep(1)
        if driver.returncode:
            raise SystemExit(f"tagging ended with {driver.returncode}")
    seen = [each for each in seen if each[1] > 0 and each[2]]
    step = max(1, len(seen) // POINTS)
    each_file = setup.documents // setup.files
    rows = [
        [f"{at:.0f}", f"{finished * each_file:,}", f"{own / 2**20:,.0f}", f"{most / 2**20:,.0f}"]
        for at, finished, own, most in [*seen[::step], seen[-1]]
    ]
    return [
        f"{setup.documents:,} titles in {setup.files} files on 2 nodes; memory of its own (RSS "
        "without what is shared with others, such as the object store) of the driver and of the "
        "largest worker.",
        "",
        *table(["seconds", "documents in finished parts", "driver, MB", "worker, MB"], rows),
    ]


def own_bytes(process: psutil.Process) -> int:
    """Return the resident memory of a process without files and memory that others map too."""
    try:
        facts = process.memory_info()
    except psutil.Error:
        return 0
    return int(facts.rss - facts.shared)


def kills(setup: Setup) -> list[str]:
    """Kill workers, a node and the driver at random; compare with an undisturbed run."""
    draw = random.Random(setup.seed)
    calm, out = setup.out("calm"), setup.out("out")
    subprocess.run(tag(setup, calm), check=True, stdout=subprocess.DEVNULL)
    done = {"worker": 0, "node": 0, "driver": 0}
    first: dict[str, int] = {}  # when each part was seen finished for the first time
    twice: set[str] = set()
    kinds = [draw.choice(list(done)) for _ in range(setup.kills)]
    with RayNodes(2) as cluster:
        words = tag(setup, out, "--cluster", cluster.address)
        driver = run(words, cluster)
        while kinds:
            wait(driver, draw.uniform(4, 12), out, first, twice)
            if driver.poll() is not None:  # it had ended: begin again, so that there is work
                check(driver, out, calm)
                shutil.rmtree(out)
                first.clear()
                driver = run(words, cluster)
                wait(driver, draw.uniform(8, 12), out, first, twice)
            if (kind := kinds[-1]) == "driver":
                driver.kill()
                driver.wait()
                note(out, first, twice)
                driver = run(words, cluster)
            elif kind == "node":
                cluster.replace_last()
            else:
                while not (busy := cluster.workers("ray::_work")) and driver.poll() is None:
                    time.sleep(0.01)
                if not busy:
                    continue
                draw.choice(busy).kill()
            done[kinds.pop()] += 1
        wait(driver, 3600, out, first, twice)
        check(driver, out, calm)
    counts = ", ".join(f"{number} of a {kind}" for kind, number in done.items())
    return [
        f"{setup.documents:,} titles in {setup.files} files on 2 nodes; kills: {counts}. Parts are "
        f"those of an undisturbed run, byte for byte; parts written again after they were noted as "
        f"finished: {len(twice)}.",
        "",
    ]


def run(words: list[str], cluster: RayNodes) -> subprocess.Popen[str]:
    return subprocess.Popen(
        words, env=cluster.environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )


def wait(
    driver: subprocess.Popen[str],
    seconds: float,
    out: Path,
    first: dict[str, int],
    twice: set[str],
) -> None:
    """Wait until a time or the driver's end, and look at what is finished."""
    ends = time.monotonic() + seconds
    while driver.poll() is None and time.monotonic() < ends:
        note(out, first, twice)
        time.sleep(0.2)


def note(out: Path, first: dict[str, int], twice: set[str]) -> None:
    """Note the parts that are finished, and those written again."""
    for path in out.glob(".finished-*/*.json"):
        part = next(iter(out.glob(f"part-{path.stem}.*")), None)
        if part is not None:
            when = part.stat().st_mtime_ns
            if first.setdefault(part.name, when) != when:
                twice.add(part.name)


def check(driver: subprocess.Popen[str], out: Path, calm: Path) -> None:
    """Raise unless a run has ended well, with the parts of the undisturbed one."""
    said = driver.communicate()[1]
    if driver.returncode or checksum(out) != checksum(calm):
        raise SystemExit(f"lost: the driver ended with {driver.returncode}: {said[-2000:]}")
    listed = json.loads((out / "parts.json").read_text())["parts"]
    if len({each["part"] for each in listed}) != len(list(calm.glob("part-*"))):
        raise SystemExit("lost: a part is not listed, or is listed twice")


PARTS: dict[str, tuple[str, Callable[[Setup], list[str]]]] = {
    "speed": ("Tagging: speed", speed),
    "memory": ("Tagging: memory", memory),
    "kills": ("Tagging: kills", kills),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    parser.add_argument("--work", type=Path, required=True, help="folder for what is made")
    parser.add_argument("--parts", default=",".join(PARTS), help="default: %(default)s")
    parser.add_argument("--documents", type=int, default=2_000_000, help="default: %(default)s")
    parser.add_argument("--files", type=int, default=40, help="default: %(default)s")
    parser.add_argument("--turns", type=int, default=3, help="default: %(default)s")
    parser.add_argument("--kills", type=int, default=20, help="default: %(default)s")
    parser.add_argument("--seed", type=int, default=0, help="default: %(default)s")
    parser.add_argument("--out", type=Path, default=HERE / "cluster.md", help="the tables")
    asked = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that nodes are ended
    asked.work.mkdir(parents=True, exist_ok=True)
    settings = {field.name: getattr(asked, field.name) for field in fields(Setup)}
    setup = Setup(**settings)
    for name in asked.parts.split(","):
        title, part = PARTS[name]
        command = (
            f"python benchmarks/speed/cluster.py --data DIR --work DIR --parts {name} "
            f"--documents {setup.documents} --files {setup.files}"
        )
        if part is speed:
            command += f" --turns {setup.turns}"
        if part is kills:
            command += f" --kills {setup.kills} --seed {setup.seed}"
        write_section(asked.out, title, part(setup), command)


if __name__ == "__main__":
    main()
