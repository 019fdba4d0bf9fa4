"""How often a promised precision holds, and what keeping the order of scores does to probabilities.

    python benchmarks/quality/promises.py --data DIR --results FILE.jsonl [--sets ...] [--seeds 5]
    python benchmarks/quality/promises.py --results FILE.jsonl --table

DIR holds a folder for each set with train.jsonl.xz and test.jsonl.xz. bonsai learns from random
training documents and holds a tenth out. Promises are judged on other training documents, which
are drawn as the held-out ones were, and on test documents, which in congress are of later years.
Beside a promise stands what the held-out documents seem to show: the lowest threshold whose labels
are right so often there.

For probabilities the map is compared with the steps of the isotonic regression themselves, by the
first five labels of the same other training documents.

FILE keeps a line of JSON for each training, so that a run that was stopped goes on; promises.md has
what was found on top, written by hand.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from markdown_tables import table, write_below
from numpy.typing import NDArray
from result_lines import Line, ResultLines

from labelgrove import Tagger, read_corpus
from labelgrove.core.errors import InputError
from labelgrove.core.random import generator
from labelgrove.core.ranking import Ranking
from labelgrove.core.types import Document
from labelgrove.evaluation import HeldOutPlaces, expected_calibration_error
from labelgrove.evaluation.calibration import EDGE, ENOUGH

sys.path.append(str(Path(__file__).parents[1] / "speed"))
from machine import installed, machine

PAGE, MARK = Path(__file__).with_name("promises.md"), "<!-- written by promises.py -->"
SETS = ("reuters", "debtags", "arxiv", "congress")
SIZES = (300, 1000, 3000, 8000)
SHARES = (0.7, 0.8, 0.9, 0.95)
JUDGED, PLACES, SHOWN = 3000, 100, 5


def run(data: Path, name: str, size: int, seed: int) -> Line:
    """Train once, and judge every promise."""
    documents = list(read_corpus(data / name / "train.jsonl.xz"))
    order = generator(seed, "promises").permutation(len(documents))
    size = min(size, len(documents) - JUDGED // 2)
    train = [documents[i] for i in order[:size]]
    known = {document.text for document in train}
    pools = {
        "alike": [documents[i] for i in order[size : size + JUDGED]],
        "test": list(read_corpus(data / name / "test.jsonl.xz"))[-JUDGED:],
    }
    tagger = Tagger("bonsai", seed=seed, threads=1)
    tagger.fit([each.text for each in train], [each.labels for each in train])
    places = tagger.learned_.places
    assert places is not None
    line: Line = {"held_out": len(places), "promises": []}
    for where, pool in pools.items():
        pool = [document for document in pool if document.text not in known]
        ranking, Y = ranked(tagger, pool)
        judged = HeldOutPlaces.of(Y, ranking, most=len(pool))
        for share in SHARES:
            line["promises"].append({"where": where, "share": share, **kept(tagger, judged, share)})
        if where == "alike":
            line["probabilities"] = probabilities(tagger, ranking, Y)
    return line


def ranked(tagger: Tagger, pool: Sequence[Document]) -> tuple[Ranking, Any]:
    """Return rankings and true labels of documents."""
    ranking = tagger.rank([each.text for each in pool], PLACES)
    return ranking, tagger.labels_.encode([each.labels for each in pool], unseen="append")


def kept(tagger: Tagger, judged: HeldOutPlaces, share: float) -> Line:
    """Return precision and recall of a promise, and the precision of what held-out ones show."""
    places = tagger.learned_.places
    assert places is not None
    sums = places.sweep
    looks = sums.thresholds[np.flatnonzero(sums.correct / sums.given >= share)[-1:]]
    shown = judged.at(float(looks[0])).precision if len(looks) else None
    try:
        threshold = tagger.decision(f"precision={share}").threshold
    except InputError:
        return {"made": False, "shown": shown}
    assert isinstance(threshold, float)
    outcome = judged.at(threshold)
    return {
        "made": True,
        "precision": outcome.precision,
        "recall": outcome.recall,
        "documents": outcome.documents,
        "first": judged.at(threshold, 5).precision,
        "shown": shown,
    }


def probabilities(tagger: Tagger, ranking: Ranking, Y: Any) -> Line | None:
    """Compare probabilities with those of the level steps; None where there are no steps."""
    from sklearn.isotonic import IsotonicRegression

    assert tagger.learned_.held_out is not None
    held, truth = tagger.learned_.held_out
    filled = held.labels >= 0
    scores, hits = held.scores[filled], held.hits(truth)[filled]
    if min(hits.sum(), (~hits).sum()) < ENOUGH:
        return None
    steps = IsotonicRegression(out_of_bounds="clip").fit(scores, hits)
    shown = ranking.top(SHOWN)
    level = steps.predict(shown.scores.ravel()).reshape(shown.scores.shape)
    level = np.clip(level, EDGE, 1 - EDGE).astype(np.float32)
    found = {}
    for name, each in {"steps": level, "map": shown.scores}.items():
        right = shown.hits(Y)
        found[name] = {
            "error": expected_calibration_error(Y, shown.with_scores(each)),
            "log_loss": log_loss(each.astype(np.float64), right),
            "tied": float((np.diff(each, axis=1) == 0).any(axis=1).mean()),
        }
    return found


def log_loss(scores: NDArray[np.float64], right: NDArray[np.bool_]) -> float:
    """Return the mean negative logarithm of the probability of what is true."""
    return float(-np.log(np.where(right, scores, 1 - scores)).mean())


def tables(lines: Sequence[Line]) -> list[str]:
    """Return what was found, as Markdown."""
    told = [
        "Made with `python benchmarks/quality/promises.py --data DIR --results FILE`, one thread, "
        "on " + machine(installed("labelgrove", "numpy", "scipy", "scikit-learn")),
        "",
    ]
    for where, title in (
        ("alike", "On documents drawn as the held-out ones were"),
        ("test", "On test documents"),
    ):
        told += [f"## {title}", "", *_promises(lines, where)]
    return [*told, "## Probabilities", "", *_probabilities(lines)]


def _promises(lines: Sequence[Line], where: str) -> list[str]:
    head = ["set", "documents", "held out", *(f"{share:g}" for share in SHARES)]
    rows, made, held, looked, looks = [], 0, 0, 0, 0
    for name, size in sorted({(each["set"], each["size"]) for each in lines}):
        own = [each for each in lines if (each["set"], each["size"]) == (name, size)]
        cells = []
        for share in SHARES:
            judged = [
                promise
                for line in own
                for promise in line["promises"]
                if (promise["where"], promise["share"]) == (where, share)
            ]
            kept_ones = [each for each in judged if each["made"]]
            good = sum(each["precision"] >= share for each in kept_ones)
            made, held = made + len(kept_ones), held + good
            looked += len(judged)
            looks += sum(each["shown"] is not None and each["shown"] >= share for each in judged)
            recall = np.mean([each["recall"] for each in kept_ones]) if kept_ones else 0
            cells.append(f"{good}/{len(kept_ones)}, {100 * recall:.0f}" if kept_ones else "–")
        held_out = np.mean([line["held_out"] for line in own])
        rows.append([name, f"{size:,}", f"{held_out:.0f}", *cells])
    return [
        *table(head, rows),
        f"{held} of {made} promises held ({100 * held / max(made, 1):.0f}%). Of the {looked} "
        f"thresholds that looked good enough on the held-out documents, {looks} were "
        f"({100 * looks / max(looked, 1):.0f}%).",
        "",
    ]


def _probabilities(lines: Sequence[Line]) -> list[str]:
    compared = [line for line in lines if line["probabilities"]]
    rows = []
    for name in sorted({line["set"] for line in compared}):
        own = [line["probabilities"] for line in compared if line["set"] == name]
        cells = [
            f"{np.mean([each[way][what] for each in own]) * factor:.{digits}f}"
            for what, factor, digits in (("error", 100, 2), ("log_loss", 1, 4), ("tied", 100, 0))
            for way in ("steps", "map")
        ]
        rows.append([name, str(len(own)), *cells])
    head = ["set", "trainings"]
    head += [f"{what}, {way}" for what in ("error, %", "log loss", "tied, %")
             for way in ("steps", "map")]  # fmt: skip
    better = sum(
        line["probabilities"]["map"]["log_loss"] < line["probabilities"]["steps"]["log_loss"]
        for line in compared
    )
    said = f"The log loss of the map is the smaller one in {better} of {len(compared)} trainings."
    return [*table(head, rows), said, ""]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--table", action="store_true", help="only tables of what is there")
    given = parser.parse_args()
    results = ResultLines(given.results, ("set", "size", "seed"))
    for seed in range(0 if given.table else given.seeds):
        for size in given.sizes:
            for name in given.sets:
                if (name, size, seed) in results.read():
                    continue
                line = {"set": name, "size": size, "seed": seed}
                results.add(line | run(given.data, name, size, seed))
                print(name, size, seed, flush=True)
    write_below(PAGE, MARK, tables([*results.read().values()]))


if __name__ == "__main__":
    main()
