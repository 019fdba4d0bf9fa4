"""Kills labelgrove at random moments, and looks at what is left.

    python benchmarks/reliability/crash.py --minutes 20

Five kinds of work take turns: a tagger is saved again and again, trained, searched for, retrained
in its own place, and served while feedback comes in. Each is killed (SIGKILL, with all that it
started). Then what must be there is looked for: a whole tagger, the old or the new; a training and
a search that go on to the same result; all feedback that was acknowledged. Exits with 1 if
anything is lost. ``--seed`` draws other moments, ``--json FILE`` keeps the counts.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from kills import Bench, Lost
from work import UNHURT, retrain, save, serve, train, tune

ROUNDS: dict[str, Callable[[Bench, Path], str]] = {
    "save": save,
    "train": train,
    "tune": tune,
    "retrain": retrain,
    "feedback": serve,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=3.0, help="how long to go on")
    parser.add_argument("--seed", type=int, default=None, help="of the moments; any by default")
    parser.add_argument("--only", choices=ROUNDS, action="append", help="kinds of work")
    parser.add_argument("--json", type=Path, help="file for the counts")
    options = parser.parse_args()
    seed = random.randrange(2**31) if options.seed is None else options.seed
    print(f"seed {seed}", flush=True)
    place = Path(tempfile.mkdtemp(prefix="labelgrove-crash-"))
    counts, lost = campaign(
        Bench(place, random.Random(seed)), options.only or [*ROUNDS], 60 * options.minutes
    )
    show(counts, lost)
    if options.json:
        record = {"seed": seed, "found": counts, "lost": lost}
        options.json.write_text(json.dumps(record, indent=1) + "\n")
    if lost:
        print(f"what is left of the last loss is in {place}")
        return 1
    shutil.rmtree(place)
    return 0


def campaign(
    bench: Bench, kinds: list[str], seconds: float
) -> tuple[dict[str, Counter[str]], dict[str, list[str]]]:
    """Let the kinds of work take turns until time is up.

    Returns what was found after the kills of each kind, and what was lost.
    """
    counts: dict[str, Counter[str]] = {kind: Counter() for kind in kinds}
    lost: dict[str, list[str]] = {}
    bench.prepare()
    ends, number = time.monotonic() + seconds, 0
    while time.monotonic() < ends:
        kind = kinds[number % len(kinds)]
        folder = bench.place / f"{kind}-{number}"
        folder.mkdir()
        try:
            found = ROUNDS[kind](bench, folder)
        except Lost as error:
            found = "LOST"
            lost.setdefault(kind, []).append(str(error))
        else:
            shutil.rmtree(folder)
        counts[kind][found] += 1
        number += 1
        print(f"{number}: {kind}: {found}", file=sys.stderr, flush=True)
    return counts, lost


def show(counts: dict[str, Counter[str]], lost: dict[str, list[str]]) -> None:
    """Print the table, and every loss."""
    print("\n| work | rounds | kills | found afterwards | lost |\n|---|---:|---:|---|---:|")
    rounds = kills = 0
    for kind, found in counts.items():
        told = ", ".join(f"{what} {n}" for what, n in sorted(found.items()) if what != "LOST")
        killed = found.total() - found[UNHURT]
        print(f"| {kind} | {found.total()} | {killed} | {told} | {found['LOST']} |")
        rounds, kills = rounds + found.total(), kills + killed
    print(f"| all | {rounds} | {kills} | | {sum(map(len, lost.values()))} |")
    for kind, errors in lost.items():
        for error in errors:
            print(f"{kind}: {error}")


if __name__ == "__main__":
    sys.exit(main())
