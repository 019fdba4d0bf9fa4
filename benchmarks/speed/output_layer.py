"""The last layer alone: clusters of labels against one linear layer, as labels grow.

    python benchmarks/speed/output_layer.py [--labels 1000,10000,100000,1000000] [--hidden 384]
    python benchmarks/speed/output_layer.py --constants

Every figure comes from a process of its own, one system after the other, in rounds. The tables go
to output_layer.md beside this file. ``--constants`` only prints the times that `choose_sizes` is
built on.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shlex
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from machine import installed, machine

HERE = Path(__file__).parent
DOCUMENTS, PER_DOCUMENT, TOP = 1_000_000, 5, 5
SYSTEMS = {
    "linear": "one linear layer",
    "auto": "clusters by `choose_sizes`",
    "even2": "2 even clusters",
    "even4": "4 even clusters",
}
LONGEST, FEWEST, MOST = 1.0, 3, 30  # seconds and steps behind a median, in each process
SURE = 6.0  # logit of a gate that knows


# --- what is measured ---------------------------------------------------------------------------


def chances(n_labels: int) -> Any:
    """Return how often each label occurs, by Zipf, shape (L,)."""
    weights = 1.0 / np.arange(1, n_labels + 1)
    return weights / weights.sum()


def sizes_of(system: str, n_labels: int, hidden: int, batch: int) -> tuple[int, ...]:
    from labelgrove.models.neural.scorers.cluster_sizes import choose_sizes, even_or_given

    if system == "auto":
        counts = DOCUMENTS * PER_DOCUMENT * chances(n_labels)
        return choose_sizes(counts, hidden, 2.0, batch, DOCUMENTS)
    return even_or_given(n_labels, int(system[-1]))


def built(system: str, n_labels: int, hidden: int, batch: int) -> Any:
    import torch

    from labelgrove.models.neural.priors.start import LabelStart
    from labelgrove.models.neural.scorers.label_clusters import LabelClusters
    from labelgrove.models.neural.scorers.outputs import LinearOutput

    torch.manual_seed(0)
    if system == "linear":
        return LinearOutput(hidden, LabelStart(np.zeros(n_labels, np.int64), 0))
    order = np.random.default_rng(0).permutation(n_labels)
    return LabelClusters(hidden, order, sizes_of(system, n_labels, hidden, batch))


def drawn(layer: Any, batch: int, random: Any) -> Any:
    """Return the labels of a batch's documents."""
    import torch

    from labelgrove.models.neural.scorers.base import Positives

    ends = np.cumsum(chances(layer.n_labels))
    places = np.searchsorted(ends, random.random((batch, PER_DOCUMENT)))
    places = np.minimum(places, layer.n_labels - 1)
    rows = np.repeat(np.arange(batch), PER_DOCUMENT)
    rows, places = np.unique(np.stack([rows, places.ravel()]), axis=1)
    labels = torch.from_numpy(places)
    if hasattr(layer, "order"):
        labels = layer.order[labels]
    return Positives(torch.from_numpy(rows), labels)


def train(system: str, n_labels: int, hidden: int, batch: int, fused: bool) -> dict[str, Any]:
    """Time steps: forward, loss, backward, AdamW."""
    import torch

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    layer = built(system, n_labels, hidden, batch)
    optimizer = torch.optim.AdamW(layer.parameters(), 1e-3, fused=fused)
    random = np.random.default_rng(1)
    truths = [drawn(layer, batch, random) for _ in range(8)]
    texts = torch.randn(batch, hidden, requires_grad=True)

    def step(number: int) -> None:
        layer.loss(texts, truths[number % len(truths)]).backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        texts.grad = None

    times = timed(step)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {**times, "MB": (peak - before) / 1024}


def predict(system: str, n_labels: int, hidden: int, batch: int, gates: str) -> dict[str, Any]:
    """Time rankings with gates that are all open, or that know what a text has.

    The first number of a text's vector is 1 and makes labels rare; the next ones tell the gates.
    """
    import torch

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    layer = built(system, n_labels, hidden, batch).eval()
    texts = torch.randn(batch, hidden) / 2
    if system != "linear":
        K, n = len(layer.tails), layer.sizes[0]
        rows, labels = drawn(layer, batch, np.random.default_rng(1))
        texts[:, 0] = 1.0
        texts[:, 1 : K + 1] = 1.0 if gates == "open" else -1.0
        clusters = torch.bucketize(layer.places[labels], layer.ends, right=True)
        texts[rows, clusters] = 1.0  # the head's is number 0
        with torch.no_grad():
            layer.head.weight[:n, 0] -= SURE
            layer.head.weight[n:] = 0.0
            layer.head.weight[range(n, n + K), range(1, K + 1)] = SURE
    times = timed(lambda _: layer.rank(texts, TOP))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {**times, "MB": (peak - before) / 1024}


def timed(step: Callable[[int], object]) -> dict[str, list[float]]:
    """Return milliseconds by the clock and of all cores, for each step behind two to warm up."""
    clock, cores = [], []
    step(0), step(1)
    began = time.perf_counter()
    while len(clock) < MOST and (len(clock) < FEWEST or time.perf_counter() - began < LONGEST):
        first, used = time.perf_counter(), time.process_time()
        step(len(clock))
        clock.append(1000 * (time.perf_counter() - first))
        cores.append(1000 * (time.process_time() - used))
    return {"ms": clock, "cpu": cores}


# --- what choose_sizes is built on --------------------------------------------------------------


def constants() -> None:
    """Print PRODUCT, WEIGHT, SCORE and CLUSTER in nanoseconds of one core."""
    import torch

    from labelgrove.models.neural.scorers.base import Positives
    from labelgrove.models.neural.scorers.label_clusters import LabelClusters, gated_loss

    torch.set_num_threads(1)
    n, few = 50_000, (4, 16, 32, 64)

    def least(step: Callable[[int], object]) -> float:
        return min(timed(step)["cpu"]) * 1e6

    for width in (384, 96, 48):
        weight = torch.nn.Parameter(torch.randn(n, width) / 100)
        optimizer = torch.optim.AdamW([weight], 1e-3, fused=True)
        found = []
        for m in few:
            x, outer = torch.randn(m, width, requires_grad=True), torch.randn(m, n)

            def step(_: int, x: Any = x, outer: Any = outer, weight: Any = weight,
                     optimizer: Any = optimizer) -> None:  # fmt: skip
                (x @ weight.t()).backward(outer)
                optimizer.step()
                optimizer.zero_grad()

            found.append(least(step) / weight.numel())
        slope, height = np.polyfit(few, found, 1)
        print(f"width {width}: PRODUCT {slope:.4f}, WEIGHT {height:.2f}", flush=True)
    logits, gates = torch.randn(20, n, requires_grad=True), torch.randn(20, requires_grad=True)
    rows = torch.arange(20)
    score = least(lambda _: gated_loss(logits, gates, rows, rows).backward()) / logits.numel()
    print(f"SCORE {score:.1f}", flush=True)
    texts, found = torch.randn(32, 64, requires_grad=True), []
    for sizes in ((1003,), (1000, 1, 1, 1)):
        layer = LabelClusters(64, torch.arange(1003), sizes)
        optimizer = torch.optim.AdamW(layer.parameters(), 1e-3, fused=True)
        truth = Positives(rows, torch.arange(983, 1003))

        def whole(_: int, layer: Any = layer, optimizer: Any = optimizer) -> None:
            layer.loss(texts, truth).backward()  # noqa: B023
            optimizer.step()
            optimizer.zero_grad()

        found.append(least(whole))
    print(f"CLUSTER {(found[1] - found[0]) / 3:.0f}")


# --- the tables -------------------------------------------------------------------------------


class Runs:
    """Runs of each figure in processes of their own, and what they found together."""

    def __init__(self, asked: argparse.Namespace) -> None:
        self._asked = asked
        self._found: dict[tuple[str, ...], dict[str, list[float]]] = {}

    def add(self, *words: object) -> None:
        key = tuple(map(str, words))
        print(*key, end=": ", flush=True)
        command = [sys.executable, __file__, "--step", *key]
        for name in ("hidden", "batch", "threads"):
            if (value := getattr(self._asked, name)) is not None:
                command += [f"--{name}", str(value)]
        done = subprocess.run(command, stdout=subprocess.PIPE, encoding="utf-8", check=True)
        found = json.loads(done.stdout.splitlines()[-1])
        together = self._found.setdefault(key, {"ms": [], "cpu": [], "MB": []})
        together["ms"] += found["ms"]
        together["cpu"] += found["cpu"]
        together["MB"].append(found["MB"])
        print(f"{np.median(found['ms']):.1f} ms, {found['MB']:.0f} MB", flush=True)

    def ran(self, *words: object) -> bool:
        return tuple(map(str, words)) in self._found

    def median(self, name: str, *words: object) -> float:
        return float(np.median(self._found[tuple(map(str, words))][name]))


def fits(n_labels: int, hidden: int) -> bool:
    """Tell whether weights, gradient and two moments of a linear layer fit in free memory."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        free = next(1024 * int(x.split()[1]) for x in lines if x.startswith("MemAvailable"))
    except (OSError, StopIteration):
        return True
    return 4 * 4 * n_labels * hidden < 0.8 * free


def measure(asked: argparse.Namespace, sizes: list[int]) -> Runs:
    runs = Runs(asked)
    for n_labels in sizes:
        for _ in range(asked.rounds):
            for system in SYSTEMS:
                if system == "linear" and not fits(n_labels, asked.hidden):
                    print(f"{n_labels:,} labels: too little free memory for the linear layer")
                    continue
                runs.add("train", system, n_labels, "fused")
                if n_labels == asked.plain and system in ("linear", "auto"):
                    runs.add("train", system, n_labels, "plain")
                for gates in ("open", "knowing") if system == "auto" else ("open",):
                    runs.add("predict", system, n_labels, gates)
    return runs


def training_table(runs: Runs, asked: argparse.Namespace, sizes: list[int]) -> list[str]:
    from labelgrove.models.neural.scorers.cluster_sizes import cluster_costs

    lines = [
        "| labels | layer | sizes | step, ms | CPU ms | peak MB | times as fast (by CPU) "
        "| equation 14 | with p = 1 | visitors only |",
        "|---:|---|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for n_labels in sizes:
        counts = DOCUMENTS * PER_DOCUMENT * chances(n_labels)
        for system, title in SYSTEMS.items():
            words = ("train", system, n_labels, "fused")
            if not runs.ran(*words):
                lines.append(f"| {n_labels:,} | {title} | | too large here | | | | | | |")
                continue
            shown = told = ""
            if system != "linear":
                own = sizes_of(system, n_labels, asked.hidden, asked.batch)
                shown = ", ".join(f"{size:,}" for size in own)
                costs = cluster_costs(counts, own, asked.hidden, 2.0, asked.batch, DOCUMENTS)
                ways = (costs.speedup, costs.shrinkage, costs.linear_step / costs.expected)
                told = " | ".join(f"{way:.2f}" for way in ways)
            lines.append(
                f"| {n_labels:,} | {title} | {shown} | {runs.median('ms', *words):,.1f} "
                f"| {runs.median('cpu', *words):,.1f} | {runs.median('MB', *words):,.0f} "
                f"| {ratio(runs, words)} | {told or ' | | '} |"
            )
    return lines


def ranking_table(runs: Runs, sizes: list[int]) -> list[str]:
    lines = [
        "| labels | layer | gates | ms | CPU ms | peak MB | times as fast (by CPU) |",
        "|---:|---|---|---:|---:|---:|---:|",
    ]
    for n_labels in sizes:
        for system, title in SYSTEMS.items():
            for gates in ("open", "knowing"):
                words = ("predict", system, n_labels, gates)
                if runs.ran(*words):
                    lines.append(
                        f"| {n_labels:,} | {title} | {gates if system != 'linear' else ''} "
                        f"| {runs.median('ms', *words):,.2f} | {runs.median('cpu', *words):,.2f} "
                        f"| {runs.median('MB', *words):,.0f} | {ratio(runs, words)} |"
                    )
    return lines


def ratio(runs: Runs, words: tuple[Any, ...]) -> str:
    """Return how many times as fast as the linear layer."""
    what, system, n_labels, how = words
    base = (what, "linear", n_labels, "open" if what == "predict" else how)
    if system == "linear" or not runs.ran(*base):
        return ""
    clock, cores = (runs.median(name, *base) / runs.median(name, *words) for name in ("ms", "cpu"))
    return f"**{clock:.2f}** ({cores:.2f})"


def plain_lines(runs: Runs, n_labels: int) -> list[str]:
    linear, auto = (("train", system, n_labels, "plain") for system in ("linear", "auto"))
    if not runs.ran(*linear):
        return []
    first, second = (runs.median("ms", *words) for words in (linear, auto))
    return [
        f"With AdamW as torch has it unless told otherwise, not fused, at {n_labels:,} labels: "
        f"{first:,.1f} ms the linear layer, {second:,.1f} ms clusters by `choose_sizes`, "
        f"{ratio(runs, auto)} times as fast.",
        "",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--labels", default="1000,10000,100000,1000000", help="default: %(default)s"
    )
    parser.add_argument("--hidden", type=int, default=384, help="default: %(default)s")
    parser.add_argument("--batch", type=int, default=32, help="default: %(default)s")
    parser.add_argument("--threads", type=int, help="default: all cores")
    parser.add_argument("--rounds", type=int, default=2, help="default: %(default)s")
    parser.add_argument(
        "--plain", type=int, default=100_000, help="labels for AdamW not fused: %(default)s"
    )
    parser.add_argument("--constants", action="store_true", help="print those of choose_sizes")
    parser.add_argument("--step", nargs=4, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.constants:
        constants()
        return
    if asked.step:
        import torch

        if asked.threads:
            torch.set_num_threads(asked.threads)
        what, system, n_labels, how = asked.step
        own = (system, int(n_labels), asked.hidden, asked.batch)
        found = train(*own, how == "fused") if what == "train" else predict(*own, how)
        print(json.dumps(found))
        return
    sizes = [int(size) for size in asked.labels.split(",")]
    load = os.getloadavg()[0]
    runs = measure(asked, sizes)
    threads = "all cores" if asked.threads is None else f"{asked.threads} thread(s)"
    lines = [
        "# The last layer",
        "",
        f"Vectors of {asked.hidden} numbers, batches of {asked.batch}, {threads}; labels by Zipf, "
        f"about {PER_DOCUMENT} of each document, clusters with q = 2. Medians of all steps of "
        f"{asked.rounds} processes for each figure, systems in turn. Peak MB is what the layer "
        "added to its process. CPU ms are those of all threads: a neighbour on the machine "
        f"disturbs them less than the clock. Load of the machine before: {load:.1f}.",
        "",
        "## A training step\n\nForward pass, loss, backward pass, fused AdamW. Beside the measured "
        "ratio: equation 14 of the paper with p_i of these labels, with p_i = 1, and with the "
        "share of the documents that visit a cluster in place of p_i.",
        "",
        *training_table(runs, asked, sizes),
        "",
        *plain_lines(runs, asked.plain),
        f"## The best {TOP} labels of {asked.batch} texts\n\n*open*: the gates of all clusters are "
        "open, so that nothing can be left out. *knowing*: gates are open where a text has a label "
        "of the cluster and shut elsewhere, as those of a good model would be.",
        "",
        *ranking_table(runs, sizes),
        "",
        machine(installed("labelgrove", "torch", "numpy"))
        + f" Made with `python benchmarks/speed/output_layer.py {shlex.join(sys.argv[1:])}`.",
        "",
    ]
    (HERE / "output_layer.md").write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
