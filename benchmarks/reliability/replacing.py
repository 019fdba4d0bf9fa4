"""Kill processes that replace a tagger, and load it all the while; print what was counted.

    python benchmarks/reliability/replacing.py --minutes 5

A writer saves two taggers in turn to one folder and is killed (SIGKILL) after a random time; two
readers load it as fast as they can, checksums on. A load must give one of the two taggers, whole.
After each kill the folder must be there and whole, and after the next save nothing beside it.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from labelgrove import Tagger
from labelgrove.core import storage

WRITER = """
import itertools, sys
from labelgrove import Tagger
folder, *sources = sys.argv[1:]
taggers = [Tagger.load(source) for source in sources]
print("ready", flush=True)
for tagger in itertools.cycle(taggers):
    tagger.save(folder, overwrite=True)
"""
READER = """
import signal, sys
from labelgrove import Tagger
going = [True]
signal.signal(signal.SIGTERM, lambda *_: going.clear())
loads = mixtures = errors = 0
while going:
    loads += 1
    try:
        tagger = Tagger.load(sys.argv[1])
        whole = tagger.labels_.n_labels == tagger.model_.n_labels_
        (tags,) = tagger.tag(["text about label3 and label7"], k=1)
        mixtures += not whole or tags[0].label not in tagger.labels_.ids
    except Exception as error:
        errors += 1
        print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
print(loads, mixtures, errors, flush=True)
"""


def main() -> None:
    """Run the campaign and print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        counts = _campaign(Path(place), options.minutes * 60, random.Random(options.seed))
    for what, count in counts.items():
        print(f"| {what} | {count:,} |")


def _campaign(place: Path, seconds: float, chance: random.Random) -> Counter[str]:
    folder, sources = place / "shelf" / "tagger", [place / "few", place / "many"]
    for source, n in zip(sources, (10, 30), strict=True):
        labels = [f"label{i}" for i in range(n)]
        texts = [f"text about {label}, {i}" for i in range(5) for label in labels]
        tagger = Tagger("bonsai").fit(texts, [[label] for label in labels] * 5)
        tagger.save(source)
    tagger.save(folder)
    counts: Counter[str] = Counter()
    readers = [_start(READER, folder) for _ in range(2)]
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        _kill_once(folder, sources, chance, counts)
        tagger.save(folder, overwrite=True)
        counts["leftovers after the next save"] += len([*folder.parent.iterdir()]) - 1
    for reader in readers:
        reader.terminate()
        loads, mixtures, errors = map(int, reader.communicate()[0].split())
        counts.update({"loads": loads, "mixtures": mixtures, "loads that failed": errors})
    return counts


def _kill_once(
    folder: Path, sources: list[Path], chance: random.Random, counts: Counter[str]
) -> None:
    writer = _start(WRITER, folder, *sources)
    assert writer.stdout is not None
    writer.stdout.readline()
    time.sleep(chance.uniform(0, 0.3))
    writer.kill()
    writer.communicate()
    counts["kills"] += 1
    counts["no folder after a kill"] += not (folder / "manifest.json").exists()
    counts["leftovers of kills"] += len([*folder.parent.iterdir()]) - 1
    try:
        storage.read_manifest(folder)
        Tagger.load(folder)
    except Exception as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        counts["damaged after a kill"] += 1
    else:
        counts["damaged after a kill"] += 0


def _start(program: str, *arguments: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", program, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


if __name__ == "__main__":
    main()
