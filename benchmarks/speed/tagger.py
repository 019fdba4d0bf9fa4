"""From raw text: what `labelgrove train` and `Tagger.tag` cost beside tf-idf and solver.

    python benchmarks/speed/tagger.py --data DIR [--sets debtags,congress,tibkat,finna]

DIR holds a folder for each set with train.jsonl.xz and test.jsonl.xz. Every figure comes from a
process of its own; commands are run as a user would. The tables go to tagger.md beside this
file, with what is counted.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

from machine import installed, machine  # this process stays small: see `command`

HERE = Path(__file__).parent
SETS = ("debtags", "congress", "tibkat", "finna")
TURNS, PATIENCE = 3, 60.0  # turns whose median counts; none is begun after so many seconds
SINGLES, WARM = 500, 50  # texts tagged one by one, and some before them that do not count
RATIO, LATENCY = 1.3, 0.5  # the goals: a ratio of times, and milliseconds
# as after an installation: modules are not compiled anew each time
ENVIRONMENT = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}


# --- steps, each in a process of its own --------------------------------------------------------


def parts(file: Path) -> dict[str, float]:
    """Read, featurize and fit in plain Python, after everything that is compiled has been used."""
    sys.path.insert(0, str(HERE / "peers"))
    from measuring import peak_bytes

    from labelgrove.corpus import read_corpus
    from labelgrove.labels import LabelCollector
    from labelgrove.models import create
    from labelgrove.text import Tfidf

    def fit(documents: Any) -> dict[str, float]:
        marks = [time.perf_counter()]
        texts, labels = [], LabelCollector()
        for document in documents:
            texts.append(document.text)
            labels.add(document.labels)
        _, Y = labels.finish()
        marks.append(time.perf_counter())
        X = Tfidf().fit_transform(texts)
        marks.append(time.perf_counter())
        create("bonsai").fit(X, Y)
        marks.append(time.perf_counter())
        spent = [end - start for start, end in pairwise(marks)]
        sizes = {"documents": X.shape[0], "labels": Y.shape[1]}
        return {**dict(zip(("read", "tf-idf", "solver"), spent, strict=True)), **sizes}

    with tempfile.TemporaryDirectory() as folder:
        fit(read_corpus(made_up(Path(folder))))
    return {**fit(read_corpus(file)), "bytes": peak_bytes()}


def tagging(folder: Path, file: Path) -> dict[str, float]:
    """Tag texts one by one, then all together."""
    from labelgrove.corpus import read_corpus
    from labelgrove.tagger import Tagger

    texts = list(read_corpus(file).texts())
    random.Random(0).shuffle(texts)
    start = time.perf_counter()
    tagger = Tagger.load(folder)
    loaded = time.perf_counter() - start
    for text in texts[-WARM:]:
        tagger.tag(text)
    singles = []
    for text in texts[:SINGLES]:
        start = time.perf_counter()
        tagger.tag(text)
        singles.append(time.perf_counter() - start)
    tagger.tag(texts[:WARM])
    start = time.perf_counter()
    tagger.tag(texts)
    many = (time.perf_counter() - start) / len(texts)
    return {
        "load": loaded,
        "median": statistics.median(singles),
        "most": statistics.quantiles(singles, n=100)[98],
        "many": many,
        "texts": len(texts),
        "words": statistics.median(len(text.split()) for text in texts),
    }


def made_up(folder: Path) -> Path:
    """Write a small file that needs all that is compiled: enough labels for a label tree."""
    draw = random.Random(0)
    path = folder / "made-up.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for i in range(600):
            words = [f"word{draw.randrange(200)}" for _ in range(8)]
            print(json.dumps({"text": " ".join(words), "labels": [f"label{i % 500}"]}), file=file)
    return path


# --- running them -------------------------------------------------------------------------------


def step(name: str, *paths: Path) -> dict[str, float]:
    words = [sys.executable, __file__, "--step", name, *map(str, paths)]
    done = subprocess.run(words, stdout=subprocess.PIPE, env=ENVIRONMENT, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def command(file: Path, out: Path, *options: str) -> dict[str, float]:
    """Run ``labelgrove train`` and return its seconds from start to end and its peak memory.

    The system counts the memory of the process that starts a command as the command's own until
    the command takes over, so this process must stay smaller.
    """
    words = [sys.executable, "-m", "labelgrove", "train", str(file), "--out", str(out)]
    words += ["--model", "bonsai"]
    start = time.perf_counter()
    process = subprocess.Popen(
        [*words, "--overwrite", "--quiet", *options], stdout=subprocess.DEVNULL, env=ENVIRONMENT
    )
    _, status, used = os.wait4(process.pid, 0)
    spent = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(words)} ended with {process.returncode}")
    return {"seconds": spent, "bytes": used.ru_maxrss * (1 if sys.platform == "darwin" else 1024)}


def median(turns: list[dict[str, float]]) -> dict[str, float]:
    return {key: statistics.median(turn[key] for turn in turns) for key in turns[0]}


def measure(data: Path, work: Path) -> dict[str, dict[str, float]]:
    """Return the figures of a set; the ways to train take turns, so that all share a busy time."""
    train, test, out = data / "train.jsonl.xz", data / "test.jsonl.xz", work / "tagger"
    turns: dict[str, list[dict[str, float]]] = {"parts": [], "train": [], "calibrated": []}
    start = time.perf_counter()
    while len(turns["parts"]) < TURNS and time.perf_counter() - start < PATIENCE:
        turns["parts"].append(step("parts", train))
        turns["train"].append(command(train, out, "--validation", "0"))
        turns["calibrated"].append(command(train, out))
    found = {name: median(each) for name, each in turns.items()}
    return {**found, "tag": step("tag", out, test)}


# --- tables -------------------------------------------------------------------------------------

TOLD = f"""\
Bonsai in its default settings, on all cores; seconds. The median of up to {TURNS} turns, as many as
are begun within a minute.

- *read*: the compressed file to a list of texts and a matrix of labels. *tf-idf*: texts to
  features. *solver*: label tree and classifiers, from features. All three in plain Python, one
  after the other; importing, compiling and reading what was compiled before are not counted.
- *train*: `labelgrove train FILE --out DIR --validation 0`, from the start of the command to its
  end: interpreter, reading (while words are counted), training, saving, checksums. *MB* is the
  most memory it held.
- *start*: the same command on 600 made-up documents of eight words: nearly all of it is importing
  and reading what was compiled before. It is the same for every set, and part of *train*.
- *calibration*: what the command takes longer with its default, a tenth held out: a model trained
  on the rest, ranking and calibrating on the tenth, and the training on everything.
"""


def table(head: list[str], rows: list[list[str]]) -> list[str]:
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *rows]
    return [f"| {' | '.join(line)} |" for line in lines] + [""]


def against(value: float, goal: float, digits: int = 2) -> str:
    return f"{value:.{digits}f}{'' if value <= goal else ' (short)'}"


def report(results: dict[str, dict[str, dict[str, float]]], start: float, sets: str) -> str:
    training, ratios, tags = [], [], []
    for name, found in results.items():
        own, train = found["parts"], found["train"]["seconds"]
        both, extra = own["tf-idf"] + own["solver"], found["calibrated"]["seconds"] - train
        sizes = [f"{own['documents']:,.0f}", f"{own['labels']:,.0f}"]
        spent = [own["read"], own["tf-idf"], own["solver"], train, extra]
        memory = [found["train"]["bytes"], found["calibrated"]["bytes"]]
        seconds = [f"{each:.2f}" for each in spent]
        training.append([name, *sizes, *seconds, *(f"{each / 1e6:,.0f}" for each in memory)])
        without = (train - start) / both
        ratios.append(
            [
                name,
                against(train / both, RATIO),
                f"{without:.2f}",
                f"{train / (both + own['read']):.2f}",
                f"{(train - start) / (both + own['read']):.2f}",
            ]
        )
        tag = found["tag"]
        single = against(1e3 * tag["median"], LATENCY if name == "debtags" else 1e9, 3)
        rest = [f"{1e3 * tag[key]:.3f}" for key in ("most", "many", "load")]
        tags.append([name, f"{tag['texts']:,.0f}", f"{tag['words']:.0f}", single, *rest])
    versions = installed("labelgrove", "numba", "numpy", "scipy")
    lines = [
        "# From raw text",
        "",
        f"{machine(versions)} Made with `python benchmarks/speed/tagger.py --data DIR "
        f"--sets {sets}`.",
        "",
        "## Training",
        "",
        TOLD,
        *table(
            [
                *("data", "documents", "labels", "read", "tf-idf", "solver", "train"),
                *("calibration", "MB", "MB with calibration"),
            ],
            training,
        ),
        f"*start* is {start:.2f} s. The goal: *train* takes at most {RATIO} times as long as "
        "*tf-idf* and *solver* together.",
        "",
        *table(
            [
                *("data", "train / (tf-idf + solver)", "without start"),
                *("train / (read + tf-idf + solver)", "without start"),
            ],
            ratios,
        ),
        "## Tagging",
        "",
        "`Tagger.tag` with a calibrated tagger, after warming up; milliseconds. One text: "
        f"{SINGLES} texts of the test set, one by one (the goal: a median below {LATENCY} ms on "
        "debtags). Many: all texts of the test set in one call, time by their number.",
        "",
        *table(
            [
                *("data", "texts", "words a text, median", "one text, median"),
                *("one text, 99th percentile", "many, each", "load"),
            ],
            tags,
        ),
    ]
    return "\n".join(lines).rstrip() + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder of the data sets")
    parser.add_argument("--sets", default=",".join(SETS[:3]), help="default: %(default)s")
    parser.add_argument("--out", type=Path, default=HERE / "tagger.md", help="the tables")
    parser.add_argument("--step", nargs="+", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.step:
        name, *paths = asked.step
        print(json.dumps({"parts": parts, "tag": tagging}[name](*map(Path, paths))))
        return
    if asked.data is None:
        parser.error("give --data")
    sets = asked.sets.split(",")
    if unknown := set(sets) - set(SETS):
        parser.error(f"unknown set {unknown.pop()!r}; known: {', '.join(SETS)}")
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        small = made_up(work)
        starts = [command(small, work / "small", "--validation", "0") for _ in range(TURNS + 1)]
        start = statistics.median(each["seconds"] for each in starts[1:])  # the first may compile
        command(small, work / "small")  # nor should what only calibration needs be compiled later
        for name in sets:
            results[name] = measure(asked.data / name, work)
            print(name, json.dumps(results[name]), flush=True)
    asked.out.write_text(report(results, start, asked.sets), encoding="utf-8")


if __name__ == "__main__":
    main()
