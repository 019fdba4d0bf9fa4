"""The page of scaling.py: what was measured, how the model does beside it, what it foretells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from machine import installed, machine
from scaling_model import THREADED, Costs, Line, Nodes, Tagging, Training

HERE = Path(__file__).parent
NODES = (8, 64, 512)
CORES = 2  # of the machine on which the check ran
DOCUMENTS = 100_000_000
TAGGERS = ((100_000, 1_000), (1_000_000, 100_000), (100_000_000, 10_000_000))  # trained on, labels
TRAININGS = ((10_000_000, 1_000_000), (100_000_000, 10_000_000))
SPARE = 0.9  # of a machine's memory, the rest is for Ray and the system
STORE = 0.3  # of a machine's memory is Ray's object store, unless it is told otherwise
FINNA = (522_540, 24_824)  # documents and labels
START = 30.0  # seconds until all workers run, an assumption
BOUNDS = {"work": "workers", "drive": "shared drive", "driver": "driver, file by file"}
TREES = 2  # bonsai's own choice from 200,000 documents on


def page(lines: Sequence[Line]) -> str:
    """Return the page for all results there are."""
    by: dict[str, list[Line]] = {}
    for line in lines:
        by.setdefault(line["kind"], []).append(line)
    checked = {(line["documents"], line["labels"]) for line in by.get("start tagging", [])}
    trained = [line for line in by["train"] if size(line) not in checked]
    tagged = [line for line in by["tag"] if size(line) not in checked]
    costs = Costs(trained, tagged)
    parts = [
        f"# Costs by documents and labels, and what they make of a cluster\n\n"
        f"{machine(installed('labelgrove', 'numpy', 'numba', 'ray'))} Made with `python "
        "benchmarks/speed/scaling.py --work DIR`; planted documents (`peers/make_data.py`) as "
        f"texts of {words(trained):.0f} words, bonsai with one tree and `cost=0.3`. Seconds are "
        "those of the processor, since other work shared the two cores; load averages meanwhile "
        f"went from {min(map(load, lines)):.1f} to {max(map(load, lines)):.1f}.\n",
        measured(trained, tagged, costs),
        checks(by, costs),
        network(by.get("network", [])),
        foretold(by, costs),
    ]
    return "\n".join(parts).rstrip() + "\n"


def words(trained: Sequence[Line]) -> float:
    """Return the features of a document: 8 bytes each, and 4 or 8 for its row."""
    return max(line["features"] / line["documents"] for line in trained) / 8


def load(line: Line) -> float:
    return float(line["load"])


def size(line: Line) -> tuple[int, int]:
    return line["documents"], line["labels"]


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---:"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


# --- measured -------------------------------------------------------------------------------------


def groups(line: Line) -> dict[str, float]:
    """Return the seconds of a training that divide, that threads share, and the rest."""
    parts = dict(line["parts"])
    divided = parts.pop("tasks")
    threaded = sum(parts.pop(name) for name in THREADED)
    return {"divided": divided, "threaded": threaded, "serial": sum(parts.values())}


def measured(trained: Sequence[Line], tagged: Sequence[Line], costs: Costs) -> str:
    rows = []
    for line in trained:
        found = groups(line)
        rows.append(
            [f"{line['documents']:,}", f"{line['labels']:,}"]
            + [f"{found[name]:.1f}" for name in ("divided", "threaded", "serial")]
            + [f"{found['divided'] / sum(found.values()):.0%}"]
            + [f"{line[name] / 1e6:,.0f}" for name in ("features", "sent", "memory", "disk")]
        )
    head = ["documents", "labels", "divided s", "threads s", "one CPU s", "divided"]
    head += ["features MB", "levels MB", "memory MB", "tagger MB"]
    laws = [
        [name, *(f"{law(*size(trained[-1])):.2f}", f"{law.a:.2f}", f"{law.b:.2f}")]
        for name, law in sorted(costs.parts.items(), key=lambda each: -each[1](*size(trained[-1])))
    ]
    for name, law in (("classifiers of the root, ns", costs.root),
                      ("classifiers below, ns", costs.below)):  # fmt: skip
        laws.append([name, f"{law(*size(trained[-1])) * 1e9:.1f}", f"{law.a:.2f}", f"{law.b:.2f}"])
    for name, law in (
        ("features, GB", costs.features),
        ("a level, GB", costs.level),
        ("tagger, GB", costs.disk),
    ):
        laws.append([name, f"{law(*size(trained[-1])) / 1e9:.2f}", f"{law.a:.2f}", f"{law.b:.2f}"])
    tags = [
        [f"{line['documents']:,}", f"{line['labels']:,}", f"{line['tagged']:,}"]
        + [f"{line['parts'][name] * 1e6:.0f}" for name in ("ranking", "rest")]
        + [f"{line['loading']:.2f}", f"{line['memory'] / 1e6:.0f}"]
        for line in tagged
    ]
    return "\n".join(
        [
            "## Training\n",
            "*divided*: the classifiers, which a cluster trains; *threads*: tf-idf, clustering and "
            "ranking for negatives, which threads of the driver's machine share; *one CPU*: "
            "reading, vocabulary, label vectors, levels, putting the forest together, "
            "checkpoints, saving. *features* and *levels* are sent to every node. *memory*: of "
            "driver and worker in one process, beyond the program itself.\n",
            table(head, rows),
            f"Parts at {trained[-1]['documents']:,} documents and {trained[-1]['labels']:,} labels "
            "as the fitted laws have them, and their exponents:\n",
            table(["part", "seconds", "by documents", "by labels"], laws),
            "## Tagging\n",
            "Microseconds for a document on one thread, from JSON lines to JSON lines: *ranking*, "
            "and all the rest (reading, tf-idf, writing). *loading*: seconds until a worker has "
            "the tagger, checksums compared; *memory*: its own, beside the mapped files.\n",
            table(
                ["trained on", "labels", "tagged", "ranking", "rest", "loading s", "memory MB"],
                tags,
            ),
            f"Ranking grows with the documents of the training to the power {costs.ranking.a:.2f} "
            f"and with the labels to the power {costs.ranking.b:.2f}. A worker holds "
            f"{costs.owned[0] / 1e6:.0f} MB and {costs.owned[1]:.0f} bytes for each label; it "
            f"loads in {costs.loaded[0]:.2f} s and {costs.loaded[1] * 1e9:.2f} s for each GB "
            f"of the tagger. A training holds {costs.held[0] / 1e6:.0f} MB, {costs.held[1]:.1f} "
            f"times its features and {costs.held[2]:.1f} times its tagger.\n",
        ]
    )


# --- checked --------------------------------------------------------------------------------------


def beside(name: str, predicted: float, found: float, unit: str = "") -> list[str]:
    shown = [f"{value:,.2f}" if value < 10 else f"{value:,.0f}" for value in (predicted, found)]
    return [name, *(f"{each}{unit}" for each in shown), f"{predicted / found - 1:+.0%}"]


HEAD = ["", "predicted", "measured", "error"]


def checks(by: Mapping[str, Sequence[Line]], costs: Costs) -> str:
    known = {size(line) for line in costs.tagged}
    both = [line for line in costs.trained if size(line) in known]
    largest = max(both, key=lambda line: line["documents"] * line["labels"])
    smaller = [line for line in costs.trained if size(line) != size(largest)]
    without = Costs(smaller, [line for line in costs.tagged if size(line) != size(largest)])
    out = ["## The model beside what was measured\n"]
    out += ["### The largest size, from all smaller ones\n"]
    out += [table(HEAD, sizes_beside(without, by, *size(largest)))]
    starts = by.get("start tagging", [])
    if starts:
        out += [
            "### A size that the laws do not know\n",
            "The rule that tells the shape of its tree was mended after a look at this size.\n",
        ]
        out += [table(HEAD, sizes_beside(costs, by, *size(starts[0])))]
    if million := row("linear.md", "1,000,000", "1,000,000"):
        guess = costs.training(1_000_000, 1_000_000)
        fit = guess.divided + guess.threaded + guess.serial
        fit -= sum(costs.parts[name](1_000_000, 1_000_000) for name in BESIDE_FIT)
        out += [
            "### A million of both\n",
            "Beside [linear.md](linear.md#growth), measured at another time, from features "
            "instead of texts, on two threads, with an older source:\n",
            table(
                HEAD,
                [
                    beside("fit, processor s", fit, million[3]),
                    beside(
                        "memory, MB",
                        (costs.base + costs.memory(1_000_000, 1_000_000)) / 1e6,
                        million[4],
                    ),
                ],
            ),
        ]
    out += ["### The runs of two nodes on a quiet machine\n", quiet(costs)]
    if by.get("tagging"):
        out += ["### Tagging on Ray nodes\n", tagging_beside(by, costs)]
    if by.get("training"):
        out += ["### Training on Ray nodes\n", training_beside(by, costs)]
    return "\n".join(out)


BESIDE_FIT = ("reading", "tf-idf", "vocabulary", "saving", "checkpoints")


def sizes_beside(
    costs: Costs, by: Mapping[str, Sequence[Line]], documents: int, labels: int
) -> list[list[str]]:
    trained = next(line for line in by["train"] if size(line) == (documents, labels))
    tagged = next(line for line in by["tag"] if size(line) == (documents, labels))
    guess, found = costs.training(documents, labels), groups(trained)
    parts = tagged["parts"]
    title = f"{documents:,} documents, {labels:,} labels: "
    return [
        beside(title + "divided, s", guess.divided, found["divided"]),
        beside("threads, s", guess.threaded, found["threaded"]),
        beside("one CPU, s", guess.serial, found["serial"]),
        beside("memory, MB", costs.memory(documents, labels) / 1e6, trained["memory"] / 1e6),
        beside("features, MB", guess.features / 1e6, trained["features"] / 1e6),
        beside("levels, MB", guess.sent / 1e6, trained["sent"] / 1e6),
        beside("tagger, MB", costs.disk(documents, labels) / 1e6, trained["disk"] / 1e6),
        beside(
            "tagging, µs",
            costs.per_document(documents, labels) * 1e6,
            (parts["ranking"] + parts["rest"]) * 1e6,
        ),
    ]


def row(name: str, *begins: str) -> list[float]:
    """Return the numbers of the first row of a page's tables that begins with some cells."""
    for line in (HERE / name).read_text("utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("| ").split("|")]
        if tuple(cells[: len(begins)]) == begins:
            return [number(cell) for cell in cells]
    return []


def number(cell: str) -> float:
    try:
        return float(cell.replace(",", ""))
    except ValueError:
        return 0.0


def quiet(costs: Costs) -> str:
    """Compare what a second node brings with the tables of real titles, made on a quiet machine."""
    one, two = (row("cluster.md", name) for name in ("1 node", "2 nodes"))
    rows = [beside("tagging", 2.0, one[2] / two[2])]
    one, two = (
        row("cluster_training.md", name) for name in ("1 node of 1 CPU", "2 nodes of 1 CPU")
    )
    guess = costs.training(*FINNA, TREES)
    here = sum(TREES * costs.parts[name](*FINNA) for name in ("negatives", "levels", "forest"))
    times = [here + sum(level.on(n) for level in guess.levels) for n in (1, 2)]
    rows.append(beside("training of the classifiers", times[0] / times[1], one[2] / two[2]))
    return (
        "[Tagging](cluster.md) and [training](cluster_training.md) of finna: how many times as "
        "fast two nodes of one CPU are as one. Both nodes, Ray's own processes and the command "
        "share two cores, which the model leaves out. Its titles have 11 words, and the laws are "
        "of longer texts.\n\n" + table(HEAD, rows)
    )


def start_of(lines: Sequence[Line], nodes: int, what: str) -> float:
    """Return what a start takes on some nodes, by a line through one node and two."""
    one, two = (next(line for line in lines if line["nodes"] == n) for n in (1, 2))
    return float(one[what] + (nodes - 1) * max(two[what] - one[what], 0.0))


def tagging_beside(by: Mapping[str, Sequence[Line]], costs: Costs) -> str:
    lines = by["tagging"]
    files = lines[0]["files"]
    starts = [line for line in by["start tagging"] if line["files"] == files]
    each, n = costs.per_document(*size(lines[0])), lines[0]["tagged"]
    rows = []
    for line in sorted(lines, key=lambda line: (line["turn"], line["nodes"])):
        nodes = line["nodes"]
        spent = start_of(starts, nodes, "workers") + start_of(starts, nodes, "driver") + n * each
        shown = beside("", spent, line["workers"] + line["driver"])[1:]
        faster = files / (-(-files // nodes) * max(nodes / CORES, 1))
        rows.append([str(nodes), *shown, f"{faster:.2f}", *walls(line, lines)])
    head = ["workers", "predicted s", "measured s", "error"]
    return (
        f"{n:,} documents in {files} files, {lines[0]['labels']:,} labels; processor seconds of "
        "the command and the workers. What starting takes is measured with files of one document "
        "on 1 and 2 nodes, and continued by a line. *free cores*: how many times as fast as one "
        "worker the model says they are on two cores that nothing else uses, starts left out; "
        "*wall*: what the wall clock said, with *others*, the CPUs that all other processes of the "
        "machine held meanwhile. Where these are near 2, the wall clock tells nothing.\n\n"
        + table([*head, *WALLS], rows)
    )


WALLS = ["free cores", "wall", "wall s", "others", "load"]


def walls(line: Line, lines: Sequence[Line]) -> list[str]:
    """Return what the wall clock said, as a ratio within a turn and in seconds."""
    one = next(each for each in lines if (each["turn"], each["nodes"]) == (line["turn"], 1))
    spent = [f"{one['wall'] / line['wall']:.2f}", f"{line['wall']:.0f}"]
    return [*spent, f"{line['others']:.1f}", f"{line['load']:.1f}"]


def training_beside(by: Mapping[str, Sequence[Line]], costs: Costs) -> str:
    lines, starts = by["training"], by["start training"]
    guess = costs.training(*size(lines[0]))
    here = guess.serial + guess.threaded
    rows = []
    for line in sorted(lines, key=lambda line: (line["turn"], line["nodes"])):
        nodes = line["nodes"]
        driver = start_of(starts, 1, "driver") + here
        workers = start_of(starts, nodes, "workers") + guess.divided
        one, some = (here + sum(level.on(n) for level in guess.levels) for n in (1, nodes))
        shown = [*beside("", driver, line["driver"])[1:], *beside("", workers, line["workers"])[1:]]
        rows.append([str(nodes), *shown, f"{one / some:.2f}", *walls(line, lines)])
    head = ["workers", "driver predicted s", "measured s", "error"]
    head += ["workers predicted s", "measured s", "error"]
    sizes = f"{lines[0]['documents']:,} documents, {lines[0]['labels']:,} labels"
    return f"{sizes}, `--threads 1`; columns as above.\n\n" + table([*head, *WALLS], rows)


def network(lines: Sequence[Line]) -> str:
    """Tell what processes of a network exchange; their time was measured beside other work."""
    if not lines:
        return ""
    rows = []
    for line in lines:
        cable = [2 * (n - 1) / n * line["exchanged"] / Nodes(n).cable for n in (2, 4, 8)]
        shown = [f"{line['exchanged'] / 1e9:,.0f}", *(f"{seconds:,.0f}" for seconds in cable)]
        rows.append([f"{line['labels']:,}", *shown])
    return (
        "## Networks\n\n"
        f"What `attentionxml` exchanges in a whole training on {lines[0]['documents']:,} "
        "documents, as `--estimate` counts it: gradients of each process, and the seconds that "
        "they take over 10 Gbit/s. What share of the time that is, only a quiet machine tells: "
        "`--estimate` times steps by the wall clock.\n\n"
        + table(
            ["labels", "gradients GB", "2 processes, s", "4 processes, s", "8 processes, s"], rows
        )
    )


# --- foretold -------------------------------------------------------------------------------------


def foretold(by: Mapping[str, Sequence[Line]], costs: Costs) -> str:
    out = ["## What that makes of large clusters\n"]
    one = Nodes(1)
    out += [
        f"Nodes of {one.cpus} CPUs like this one, {one.memory / 1e9:.0f} GB, a cable of 10 Gbit/s, "
        f"a shared drive that gives all nodes together 1.25 GB/s, {START:.0f} s until all workers "
        "run. Every copy of features and levels goes through the cable of the driver.\n"
    ]
    if by.get("start tagging"):
        out += [tagging_tables(by, costs)]
    out += [training_tables(costs)]
    return "\n".join(out)


def clock(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 48 * 3600 else f"{seconds / 86400:.1f} days"


def tagging_tables(by: Mapping[str, Sequence[Line]], costs: Costs) -> str:
    starts = by["start tagging"]
    few, many = (
        next(line for line in starts if line["files"] == n and line["nodes"] == 1)
        for n in sorted({line["files"] for line in starts})
    )
    each_file = max(many["driver"] - few["driver"], 0.0) / (many["files"] - few["files"])
    rows = []
    for documents, labels in TAGGERS:
        made = Tagging(
            each=costs.per_document(documents, labels),
            loading=costs.loading(documents, labels),
            disk=costs.disk(documents, labels),
            own=costs.own(labels),
            driver=each_file,
            bytes=BYTES,
        )
        for count in NODES:
            nodes = Nodes(count)
            parts = made.seconds(DOCUMENTS, 4 * nodes.workers, nodes, START)
            bound = [*parts][-1]
            needed = made.memory(nodes)
            rows.append(
                [
                    f"{labels:,}",
                    f"{documents:,}",
                    f"{count:,}",
                    clock(sum(parts.values())),
                    *(clock(parts["tagger"]), clock(parts[bound]), BOUNDS[bound]),
                    f"{made.disk / 1e9:.1f}",
                    f"{needed / 1e9:.0f}",
                    "yes" if needed < SPARE * nodes.memory else "no: memory of a node",
                ]
            )
    head = ["labels", "trained on", "nodes", "time", "tagger to nodes", "documents", "bound by"]
    head += ["tagger GB", "GB a node", "works"]
    return (
        f"### Tagging {DOCUMENTS:,} documents\n\nIn four files for each CPU. The driver takes "
        f"{each_file * 1e3:.1f} ms for a file.\n\n" + table(head, rows)
    )


BYTES = 600.0  # of a planted text with its tags


def training_tables(costs: Costs) -> str:
    rows = []
    for documents, labels in TRAININGS:
        made = costs.training(documents, labels, TREES)
        for count in (1, *NODES):
            nodes = Nodes(count)
            parts = made.seconds(nodes, START)
            rows.append(
                [f"{documents:,}", f"{labels:,}", f"{count:,}", clock(sum(parts.values()))]
                + [clock(value) for name, value in parts.items() if name != "start"]
                + [clock(max(level.longest for level in made.levels))]
                + [f"{each / 1e9:,.0f}" for each in (made.driver, made.store, made.worker)]
                + [verdict(made, nodes)]
            )
    head = ["documents", "labels", "nodes", "time", "one CPU", "driver's CPUs", "classifiers"]
    head += ["cable", "longest task", "driver GB", "object store GB", "worker GB", "works"]
    return f"### Training `bonsai`, {TREES} trees\n\n" + table(head, rows)


def verdict(made: Training, nodes: Nodes) -> str:
    """Return whether a training works today, and if not, why."""
    if made.driver > SPARE * nodes.memory:
        return "no: memory of the driver"
    if made.store > STORE * nodes.memory:
        return "no: object store"
    if made.store + made.worker > SPARE * nodes.memory:
        return "no: memory of a worker"
    return "yes"
