"""LightAttention as labels grow: a step judges some of them only, whatever their number.

    python benchmarks/speed/sampled.py [--labels 1000,10000,100000,1000000]

Every figure comes from a process of its own. The table goes to sampled.md beside this file.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path

from machine import installed, machine
from neural import BATCH, planted

HERE = Path(__file__).parent
STEPS = 40  # of each of two epochs, of which the second counts
MOST_DENSE = 10_000  # labels up to which all are judged too


def sampled(n_labels: int, sampler: str) -> dict[str, float]:
    """Train for two short epochs, then rank."""
    from labelgrove import models

    X, Y = planted(n_labels)
    few = STEPS * BATCH
    model = models.create(
        *("lightattention",), units=64, layers=[64, 64, 64], vector_size=64, epochs=2, batch=BATCH,
        sampler=sampler, evaluate_every=2**31, device="cpu",
    )  # fmt: skip
    began = time.perf_counter()
    model.fit(X[:few], Y[:few])
    spent = time.perf_counter() - began
    first, second = (event["seconds"] for event in model.history_)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    model.rank(X[:BATCH], 5)
    began = time.perf_counter()
    model.rank(X[:400], 5)
    ranked = 400 / (time.perf_counter() - began)
    weights = sum(each.numel() for net in model.networks_ for each in net.parameters())
    return {
        "ms": 1000 * (second - first) / STEPS,
        "before": spent - second,
        "rank": ranked,
        "MB": peak / 1024,
        "weights": 4 * weights / 2**20,
    }


def measured(n_labels: int, sampler: str) -> dict[str, float]:
    print(n_labels, sampler, flush=True)
    command = [sys.executable, __file__, "--step", str(n_labels), sampler]
    done = subprocess.run(command, stdout=subprocess.PIPE, encoding="utf-8", check=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    print("  " + ", ".join(f"{key} {value:.4g}" for key, value in found.items()), flush=True)
    return found


def report(sizes: list[int]) -> str:
    lines = [
        "# Labels that a step does not judge",
        "",
        f"LightAttention on planted documents of 30 words and five labels, 64 units per direction, "
        f"three layers of 64, batches of {BATCH}; about 500 labels are judged for each text, or "
        "all. A step: the mean of forty. Tree: seconds before the first step, most of them for "
        "growing it. Memory holds the weights about five times at its peak (themselves, two means "
        "of Adam, the best so far and the best before); what is left is the interpreter, the data "
        "and the batch.",
        "",
        "| labels | judged | ms a step | tree, s | ranks, documents/s | peak MB | weights, MB "
        "| peak less 5 x weights |",
        "|---:|---|---:|---:|---:|---:|---:|---:|",
    ]
    for n_labels in sizes:
        for sampler in ("all", "generated") if n_labels <= MOST_DENSE else ("generated",):
            found = measured(n_labels, sampler)
            judged = "all" if sampler == "all" else "about 500"
            grown = "" if sampler == "all" else f"{found['before']:.0f}"
            lines.append(
                f"| {n_labels:,} | {judged} | {found['ms']:.0f} | {grown} | {found['rank']:.0f} "
                f"| {found['MB']:,.0f} | {found['weights']:,.0f} "
                f"| {found['MB'] - 5 * found['weights']:,.0f} |"
            )
    told = machine(installed("labelgrove", "torch", "lightning-fabric", "numpy", "scipy"))
    return "\n".join([*lines, "", f"{told} Made with `python benchmarks/speed/sampled.py`.", ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--labels", default="1000,10000,100000,1000000", help="%(default)s")
    parser.add_argument("--step", nargs=2, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.step:
        print(json.dumps(sampled(int(asked.step[0]), asked.step[1])))
        return
    sizes = [int(size) for size in asked.labels.split(",")]
    (HERE / "sampled.md").write_text(report(sizes), encoding="utf-8")


if __name__ == "__main__":
    main()
