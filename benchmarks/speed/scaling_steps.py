"""Steps of scaling.py, each in a process of its own: texts, training and tagging on one thread.

    python scaling_steps.py make DOCUMENTS LABELS FOLDER
    python scaling_steps.py train FILE TAGGER
    python scaling_steps.py tag TAGGER FILE OUT
    python scaling_steps.py network FILE
    python scaling_steps.py small FILE

A step prints what it measured as a line of JSON. Seconds are those of the processor.
"""

from __future__ import annotations

import json
import pickle
import sys
import time
from collections import defaultdict, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from itertools import islice
from pathlib import Path
from typing import Any

import psutil

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "peers"))
SETTINGS = {"trees": 1, "cost": 0.3}  # as in the table of growth
NETWORK = "attentionxml"
WARM = 10_000  # documents tagged before anything counts
FEW, MANY = 600, 500  # documents and labels of a first training, which loads what is compiled


class Stopwatch:
    """Processor seconds by part; a part does not count what a part inside it takes."""

    def __init__(self) -> None:
        self.spent: dict[str, float] = defaultdict(float)
        self._parts = ["other"]
        self._mark = time.process_time()

    def _take(self) -> None:
        now = time.process_time()
        self.spent[self._parts[-1]] += now - self._mark
        self._mark = now

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        self._take()
        self._parts.append(name)
        try:
            yield
        finally:
            self._take()
            self._parts.pop()

    def watch(self, owner: Any, attribute: str, name: str) -> None:
        """Count all calls of a function as a part."""
        function = getattr(owner, attribute)

        @wraps(function, updated=())
        def watched(*arguments: Any, **named: Any) -> Any:
            with self.part(name):
                return function(*arguments, **named)

        setattr(owner, attribute, watched)

    def steps(self, items: Iterable[Any], name: str) -> Iterator[Any]:
        """Give what an iterator gives; what that takes is counted as a part."""
        stream, end = iter(items), object()
        while True:
            with self.part(name):
                item = next(stream, end)
            if item is end:
                return
            yield item


class Here:
    """Stands where a cluster would: counts what is sent and come back, and does the work here."""

    cpus = 1

    def __init__(self, watch: Stopwatch) -> None:
        self.watch, self.sent, self.levels = watch, [], []  # type: ignore[var-annotated]

    def put(self, value: Any) -> Any:
        with self.watch.part("pickling"):
            buffers: list[pickle.PickleBuffer] = []
            rest = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
            self.sent.append(len(rest) + sum(each.raw().nbytes for each in buffers))
        return value

    def run(
        self, function: Callable[..., Any], jobs: Iterable[Any], shared: Sequence[Any] = ()
    ) -> Generator[tuple[int, Any], None, None]:
        level, here = shared[1], {"tasks": 0, "units": 0, "largest": 0, "back": 0, "seconds": 0.0}
        self.levels.append(here)
        for number, job in enumerate(jobs):
            began = time.process_time()
            with self.watch.part("tasks"):
                found = function(job, *shared)
            here["seconds"] += time.process_time() - began
            for task, chunk in found[1]:
                units = level.work(task)
                here["tasks"] += 1
                here["units"] += units
                here["largest"] = max(here["largest"], units)
                here["back"] += sum(array.nbytes for array in chunk)
            yield number, found


def make(documents: int, labels: int, folder: Path) -> dict[str, Any]:
    """Write planted documents as texts: train.jsonl, and test.jsonl with 10,000 others."""
    from make_data import planted

    data = planted(documents, labels)
    folder.mkdir(parents=True)
    for name in ("train", "test"):
        X, Y = data[f"X_{name}"], data[f"Y_{name}"]
        with (folder / f"{name}.jsonl").open("w", encoding="utf-8") as file:
            for i in range(X.shape[0]):
                words = X.indices[X.indptr[i] : X.indptr[i + 1]].tolist()
                ids = Y.indices[Y.indptr[i] : Y.indptr[i + 1]].tolist()
                text = " ".join([f"w{word}" for word in words])
                print(json.dumps({"text": text, "labels": [f"l{x}" for x in ids]}), file=file)
    return {"words": data["X_train"].nnz / documents, "given": data["Y_train"].nnz / documents}


def fitted(file: Path, workers: Any, folder: Path) -> Any:
    from labelgrove import Tagger, read_corpus
    from labelgrove.core.types import Run
    from labelgrove.models import create

    tagger = Tagger(create("bonsai", **SETTINGS), validation=0.0, threads=1)
    tagger.model.set_params(threads=1)
    return tagger.fit(read_corpus(file), run=Run(folder, workers=workers))


def small(path: Path) -> Path:
    """Write a file for a training that needs all that is compiled."""
    with path.open("w", encoding="utf-8") as file:
        for i in range(FEW):
            text = " ".join(f"w{(i * k) % 97}" for k in range(1, 9))
            print(json.dumps({"text": text, "labels": [f"l{i % MANY}"]}), file=file)
    return path


def train(file: Path, folder: Path) -> dict[str, Any]:
    """Train on one thread, as the driver and the workers of a cluster would together."""
    from tempfile import TemporaryDirectory

    import numpy as np
    from measuring import peak_bytes
    from scipy.sparse import csr_array

    from labelgrove.labels import growing
    from labelgrove.labels.clustering import k_means
    from labelgrove.models.linear import bonsai, node_training, training
    from labelgrove.tagger import reading
    from labelgrove.text import Tfidf, tfidf

    with TemporaryDirectory() as first:
        one = fitted(small(Path(first) / "small.jsonl"), Here(Stopwatch()), Path(first) / "run")
        one.save(Path(first) / "tagger")
    k_means(csr_array(np.eye(40, dtype=np.float32)), 4, balanced=True, threads=1)
    base = peak_bytes()
    watch = Stopwatch()
    for owner, attribute, name in (
        (Tfidf, "fit_transform", "tf-idf"),
        (tfidf.GrowingVocabulary, "add", "vocabulary"),
        (Tfidf, "_learn", "vocabulary"),
        (bonsai, "label_vectors", "label vectors"),
        (growing, "grow_k_means", "clusters"),
        (training, "FrequentFirst", "order of features"),
        (training, "Level", "levels"),
        (node_training.Level, "add", "levels"),
        (training, "_likely", "negatives"),
        (training, "build_forest", "forest"),
        (training, "fingerprint", "checkpoints"),
        (training.TaskCheckpoint, "flush", "checkpoints"),
    ):
        watch.watch(owner, attribute, name)
    read = reading.TrainingTexts.__iter__
    reading.TrainingTexts.__iter__ = lambda self: watch.steps(read(self), "reading")  # type: ignore[method-assign]
    here = Here(watch)
    tagger = fitted(file, here, folder.with_name("run"))
    with watch.part("saving"):
        tagger.save(folder)
    model = tagger.learned_.model
    state = model.forest_.state().values()
    # what `Here` does beside a cluster's work is no part of it
    parts = {name: spent for name, spent in watch.spent.items() if name != "pickling"}
    return {
        "parts": parts,
        "levels": here.levels,
        "features": here.sent[0],
        "sent": sum(here.sent[1:]),
        "largest_sent": max(here.sent[1:]),
        "forest": sum(getattr(array, "nbytes", 0) for array in state),
        "disk": size(folder),
        "memory": peak_bytes() - base,
        "base": base,
    }


def size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def tag(tagger: Path, file: Path, out: Path) -> dict[str, Any]:
    """Load a tagger as a worker does, and tag a file on one thread."""
    from labelgrove import Tagger, read_corpus
    from labelgrove.models import create
    from labelgrove.tagger.bulk import PartResult, PartTask, tag_files, tag_part

    create("bonsai")
    before, began = own_bytes(), time.process_time()
    loaded = Tagger.load(tagger)
    loading = time.process_time() - began
    loaded.set_threads(1)
    few = out.with_name("few.jsonl")
    with file.open(encoding="utf-8") as lines:
        few.write_text("".join(islice(lines, WARM)), encoding="utf-8")
    deque(loaded.stream(read_corpus(few)), maxlen=0)
    memory = own_bytes() - before
    watch = Stopwatch()
    watch.watch(type(loaded.learned_.model), "rank", "ranking")

    def timed(task: PartTask) -> PartResult:
        with watch.part("rest"):
            return tag_part(loaded, task)

    @contextmanager
    def parts(saved: Any, tasks: Sequence[PartTask], *_: Any) -> Iterator[Iterable[PartResult]]:
        yield map(timed, tasks)

    found = tag_files(tagger, [str(file)], out, tag_parts=parts, threads=1)
    spent = {name: watch.spent[name] / found.documents for name in ("ranking", "rest")}
    return {"tagged": found.documents, "loading": loading, "memory": memory, "parts": spent}


def own_bytes() -> int:
    """Return the memory of this process without files that others map too."""
    facts = psutil.Process().memory_info()
    return int(facts.rss - facts.shared)


def network(file: Path) -> dict[str, Any]:
    """Ask what a network takes; nothing is trained to its end."""
    from labelgrove import Tagger, read_corpus
    from labelgrove.models import create

    model = create(NETWORK)
    found = Tagger(model, validation=0.0, threads=1).estimate(read_corpus(file))
    each = {str(n): found.on_cluster(n, 1) for n in (1, 2, 4, 8)}
    return {
        "seconds": found.divisible,
        "exchanged": found.exchanged,
        "memory": found.memory,
        "processes": found.processes,
        "on": each,
    }


def main() -> None:
    step, *words = sys.argv[1:]
    began = psutil.getloadavg()[0]
    found: dict[str, Any]
    if step == "make":
        found = make(int(words[0]), int(words[1]), Path(words[2]))
    elif step == "small":
        found = {"file": str(small(Path(words[0])))}
    else:
        found = {"train": train, "tag": tag, "network": network}[step](*map(Path, words))
    print(json.dumps({**found, "load": round(max(began, psutil.getloadavg()[0]), 1)}))


if __name__ == "__main__":
    main()
