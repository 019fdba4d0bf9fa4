"""The networks that papers compare with, beside their neighbours and bonsai, on few documents.

    python benchmarks/quality/baselines.py --data DIR --work DIR [--sets ...] [--systems ...]

DIR of --data holds a folder for each set with train.jsonl.xz and test.jsonl.xz. All systems have
their default settings, but for the length of the text and a first stage, which a column names.
Every system is saved in DIR of --work with its scores: what is there is not run again, and the
table in baselines.md grows as results come.
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import Any

from trial import TEST, Case, measure, read, score_table, told_machine, trained

HERE = Path(__file__).parent
TRAIN = 2000  # documents at most
LENGTH = 64  # words
SETS = ("debtags", "reuters")
ALONE = ("xml-cnn", "kim-cnn", "ml-reasoner", "cornet", "leam", "attentionxml", "lsan")
BEHIND = " behind bonsai"
SYSTEMS = ("bonsai", *ALONE, *(f"{name}{BEHIND}" for name in ("leam", "attentionxml", "lsan")))


def settings(system: str) -> dict[str, Any]:
    """Return what is not default."""
    if system == "bonsai":
        return {}
    first = "bonsai" if system.endswith(BEHIND) else "none"
    return {"length": LENGTH, "first": first}


def report(work: Path) -> str:
    lines = [
        "# Networks that papers compare with",
        "",
        f"{TRAIN:,} training documents, of which a tenth is held out to stop networks early and "
        f"to calibrate, {LENGTH} words of each for the networks; at most {TEST:,} test documents; "
        "both drawn at random, one seed. All settings are the defaults, but for the length and the "
        "first stage. After calibration bonsai learns from the held-out tenth too. Per cent. Made "
        "with `python benchmarks/quality/baselines.py --data DIR --work DIR --threads 1`, on "
        + told_machine()
        + " Other work ran at the same time: times are good for their ratios only.",
        "",
    ]
    for where in SETS:
        found = {system: read(work, where, system, (0,)) for system in SYSTEMS}
        if any(found.values()):
            lines += [f"## {where}", "", *score_table(found)]
    return "\n".join(lines).rstrip() + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    parser.add_argument("--work", type=Path, required=True, help="folder for all that is made")
    parser.add_argument("--sets", default=",".join(SETS), help="default: %(default)s")
    parser.add_argument("--systems", default=",".join(SYSTEMS), help="default: %(default)s")
    parser.add_argument("--threads", type=int, help="default: all cores")
    parser.add_argument("--out", type=Path, default=HERE / "baselines.md", help="the tables")
    asked = parser.parse_args()
    for where in asked.sets.split(","):
        case = Case(where, 0, TRAIN, asked.data, asked.work, asked.threads)
        for system in asked.systems.split(","):
            name = system.removesuffix(BEHIND)
            measure(case, system, partial(trained, case, system, name, settings(system)))
            asked.out.write_text(report(asked.work), encoding="utf-8")


if __name__ == "__main__":
    main()
