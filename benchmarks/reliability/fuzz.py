"""Alters saved taggers, corpora and label files at random, and reads them.

Every reading must end in a ranking or an error of labelgrove: no signal, no hang, no other
exception. Each reading is done by a process of its own, forked from one that has imported
everything, so that a crash ends one reading only. The same seed makes the same changes::

    make fuzz MINUTES=20
    python benchmarks/reliability/fuzz.py --minutes 3 --seed 7 --models bonsai,knn
"""

from __future__ import annotations

import argparse
import faulthandler
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from random import Random

from folder_changes import change, sealed
from reader_changes import READERS, SEEDS, change_file

from labelgrove import Tagger
from labelgrove.core.errors import LabelgroveError
from labelgrove.labels import Vocabulary
from labelgrove.labels.vocabulary import Concept
from labelgrove.models import MODELS
from labelgrove.models.contract import known_answer

SECONDS = 60  # after which a reading hangs
MEMORY = 6 * 2**30  # bytes that a reading may address beyond what is there already
DOCUMENTS = 120
TEXT = "topic0a topic0b topic3a noise7 noise9 something"
RANKED, REFUSED, BROKEN, SIGNAL, HUNG = "read", "refused", "other exception", "signal", "hang"
BAD = (BROKEN, SIGNAL, HUNG)
EXITS = {0: RANKED, 1: REFUSED, 2: BROKEN}


def main() -> int:
    """Run the campaign and print its table; exit 1 if any reading ended badly."""
    asked = _arguments()
    warnings.simplefilter("ignore")
    counts: dict[str, Counter[str]] = {}
    with tempfile.TemporaryDirectory() as made:
        targets = list(_targets(Path(made), asked.models, asked.readers))
        ends = time.monotonic() + 60 * asked.minutes
        for number in range(sys.maxsize):
            if time.monotonic() > ends or number >= asked.most:
                break
            name, once = targets[number % len(targets)]
            with tempfile.TemporaryDirectory() as place:
                done, outcome, said = once(Path(place), Random(f"{asked.seed} {number}"))
            counts.setdefault(name, Counter())[outcome] += 1
            if outcome in BAD:
                print(f"{outcome}: {name}, number {number}: {done}\n{said}", flush=True)
    _print_table(counts, asked.seed)
    return int(any(each[bad] for each in counts.values() for bad in BAD))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=1.0, help="how long to go on")
    parser.add_argument("--most", type=int, default=sys.maxsize, help="readings at most")
    parser.add_argument("--seed", type=int, default=0, help="of the changes")
    parser.add_argument("--models", default="all", help="names with commas between, all or none")
    parser.add_argument("--readers", default="all", help="endings of files, all or none")
    return parser.parse_args()


Once = Callable[[Path, Random], tuple[str, str, str]]


def _targets(made: Path, models: str, readers: str) -> Iterator[tuple[str, Once]]:
    """Yield what is altered and read: a saved tagger of each model, a file of each kind."""
    for name in _chosen(models, list(MODELS)):
        folder = made / name
        _fit(name, made / "files").save(folder)
        with sealed(folder):  # as every altered one is
            pass
        if (ended := _in_a_fork(lambda: _tag(folder)))[0] != RANKED:  # noqa: B023
            raise SystemExit(f"the tagger {name} is not read as it was saved: {ended}")
        yield f"tagger {name}", _tagger_once(folder)
    for name in _chosen(readers, list(READERS)):
        READERS[name](SEEDS / name)  # imports what it needs before processes are forked
        yield f"file {name}", _file_once(name)


def _chosen(asked: str, known: list[str]) -> list[str]:
    return {"all": known, "none": []}.get(asked, asked.split(","))


def _fit(name: str, files: Path) -> Tagger:
    """Return a small tagger; what its model needs is made in ``files``."""
    files.mkdir(exist_ok=True)
    settings = MODELS.find(name).example_settings(files)
    if "epochs" in settings:
        settings["epochs"] = 1
    if name == "grove":  # with a ranker and its trees, whatever held-out documents say
        settings["keep"] = ["neighbours", "names"]
    texts, labels = known_answer(DOCUMENTS)
    concepts = {each: Concept(f"topic{int(each[-2:])}a") for each in sorted({*chain(*labels)})}
    tagger = Tagger(MODELS.create(name, **settings), validation=0.2, threads=1)
    tagger.fit(texts, labels, vocabulary=Vocabulary(concepts))
    tagger.tag(TEXT)  # compiles the kernels before processes are forked
    return tagger


def _tagger_once(folder: Path) -> Once:
    def once(place: Path, random: Random) -> tuple[str, str, str]:
        copy = place / "tagger"
        shutil.copytree(folder, copy)
        done = change(copy, random)
        outcome, said = _in_a_fork(lambda: _tag(copy))
        return done, outcome, said

    return once


def _tag(folder: Path) -> None:
    tagger = Tagger.load(folder)
    tags = tagger.tag(TEXT, k=5)
    if tags:
        tagger.explain(TEXT, tags[0].label)


def _file_once(name: str) -> Once:
    def once(place: Path, random: Random) -> tuple[str, str, str]:
        path = change_file(name, place, random)
        outcome, said = _in_a_fork(lambda: READERS[name](path))
        return repr(path.read_bytes()[:300]) if path.is_file() else str(path), outcome, said

    return once


# --- one reading ------------------------------------------------------------------------------


def _in_a_fork(work: Callable[[], None]) -> tuple[str, str]:
    """Do some work in a process of its own; return how it ended, and what it said if badly."""
    with tempfile.TemporaryFile() as told:
        child = os.fork()
        if not child:
            _child(work, told.fileno())
        outcome = _ending(child)
        told.seek(0)
        return outcome, told.read().decode(errors="replace")[-3000:]


def _child(work: Callable[[], None], told: int) -> None:
    """Do the work and leave by an exit code of ``EXITS``; never returns."""
    os.dup2(told, 1)
    os.dup2(told, 2)
    faulthandler.enable()
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    code = 2
    try:
        work()
        code = 0
    except LabelgroveError as error:
        print(error)
        code = 1
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        os._exit(code)


def _ending(child: int) -> str:
    """Wait for a process, for a while, and tell how it ended."""
    ends = time.monotonic() + SECONDS
    while time.monotonic() < ends:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            if os.WIFSIGNALED(status):
                return SIGNAL
            return EXITS.get(os.WEXITSTATUS(status), BROKEN)
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return HUNG


def _print_table(counts: dict[str, Counter[str]], seed: int) -> None:
    print(f"\n| what was altered (seed {seed}) | {RANKED} | {REFUSED} | {' | '.join(BAD)} |")
    print("|---|" + "--:|" * 5)
    total: Counter[str] = Counter()
    for name, each in [*counts.items()]:
        print(
            f"| {name} | " + " | ".join(f"{each[how]:,}" for how in (RANKED, REFUSED, *BAD)) + " |"
        )
        total += each
    print("| all | " + " | ".join(f"{total[how]:,}" for how in (RANKED, REFUSED, *BAD)) + " |")


if __name__ == "__main__":
    sys.exit(main())
