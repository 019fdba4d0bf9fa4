"""Label clusters (APLC) against a linear layer behind the same pretrained encoder, and bonsai.

    python benchmarks/quality/clusters.py --data DIR --work DIR --encoder FOLDER [--sets ...]

DIR of --data holds a folder for each set with train.jsonl.xz and test.jsonl.xz. The encoder is
fine-tuned; the heads' own ablations are in cluster_shapes.py. Results are kept in DIR of --work,
and the tables in clusters.md grow as they come; see trial.py.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

from trial import (
    TEST,
    Case,
    Result,
    group_table,
    measure,
    read,
    score_table,
    table,
    told_machine,
    trained,
)

HERE = Path(__file__).parent
TRAIN = 4000
SETS = ("reuters", "debtags", "congress")
SYSTEMS = {
    "bonsai": ("bonsai", {}),
    "linear layer": ("transformer", {}),
    "clusters, auto": ("aplc-xlnet", {"clusters": "auto"}),
    "clusters, halves": ("aplc-xlnet", {"clusters": [0.5, 0.5]}),
}
LENGTH, EPOCHS, BATCH, HIDDEN = 64, 2, 8, 384


def settings(system: str, encoder: str) -> dict[str, Any]:
    """Return what is not default: the same for all heads, with a hidden layer for both."""
    model, own = SYSTEMS[system]
    if model == "bonsai":
        return {}
    return {
        "encoder": encoder, "length": LENGTH, "hidden": HIDDEN, "batch": BATCH, "epochs": EPOCHS,
        "encoder_rate": 1e-4, "hidden_rate": 1e-3, "learning_rate": 2e-3, "patience": 100, **own,
    }  # fmt: skip


def results(work: Path, where: str) -> dict[str, list[Result]]:
    return {name: read(work, where, name, (0,)) for name in SYSTEMS}


def cost_table(found: dict[str, list[Result]]) -> list[str]:
    """Return the time of a step and the peak of memory of networks."""
    rows = []
    for system, results in found.items():
        for each in results:
            if each["history"]:
                last = each["history"][-1]
                step = f"{1000 * last['seconds'] / last['step']:.0f}"
                rows.append([system, f"{each['labels']:,}", step, f"{each['peak_mb']:,.0f}"])
    return table(["system", "labels", "ms a step", "peak MB"], rows)


def report(work: Path, encoder: str) -> str:
    lines = [
        "# Label clusters behind a pretrained encoder",
        "",
        f"{Path(encoder).parent.name or encoder}, fine-tuned with {TRAIN:,} documents, of which a "
        f"tenth is held out, the first {LENGTH} tokens of each, {EPOCHS} epochs, batches of "
        f"{BATCH}, a hidden layer of {HIDDEN} in front of both kinds of output; {TEST:,} test "
        "documents; both drawn at random, one seed. bonsai reads whole texts, and after "
        "calibration learns from the held-out tenth too. Per cent. Made with `python "
        "benchmarks/quality/clusters.py --data DIR --work DIR --encoder FOLDER`, on "
        + told_machine()
        + " Times with one thread for each of two runs at once: good for their ratios only.",
        "",
    ]
    for where in SETS:
        found = results(work, where)
        if any(found.values()):
            lines += [f"## {where}", "", *score_table(found)]
            lines += ["Labels with five test documents or more, in three groups:", ""]
            lines += group_table(found)
            lines += ["What training takes, evaluations included:", "", *cost_table(found)]
    return "\n".join(lines).rstrip() + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    parser.add_argument("--work", type=Path, required=True, help="folder for all that is made")
    parser.add_argument("--encoder", required=True, help="folder or name of the encoder")
    parser.add_argument("--sets", default=",".join(SETS), help="default: %(default)s")
    parser.add_argument("--systems", default=";".join(SYSTEMS), help="default: %(default)s")
    parser.add_argument("--threads", type=int, help="default: all cores")
    parser.add_argument("--out", type=Path, default=HERE / "clusters.md", help="the tables")
    asked = parser.parse_args()
    jobs = [(where, name) for where in asked.sets.split(",") for name in asked.systems.split(";")]
    if len(jobs) > 1:  # a process each, for their peaks of memory
        given = [f"--{name}={value}" for name, value in vars(asked).items() if value is not None]
        for where, name in jobs:
            one = [sys.executable, __file__, *given, f"--sets={where}", f"--systems={name}"]
            subprocess.run(one, check=True)
        return
    where, name = jobs[0]
    case = Case(where, 0, TRAIN, asked.data, asked.work, asked.threads)
    own = settings(name, asked.encoder)
    measure(case, name, partial(trained, case, name, SYSTEMS[name][0], own))
    asked.out.write_text(report(asked.work, asked.encoder), encoding="utf-8")


if __name__ == "__main__":
    main()
