"""How much of a score is luck of the training, and how often a retraining looks better by luck.

    python benchmarks/quality/training_noise.py --data DIR --results FILE.jsonl [--sets ...]
    python benchmarks/quality/training_noise.py --results FILE.jsonl --table

DIR holds a folder for each set with train.jsonl.xz. A tagger learns from random training documents
and is retrained as `labelgrove retrain` does it: with other seeds on the same documents, and with
one document more each time, as if there were feedback on one. All are judged by other training
documents. None of these trainings is better than another, so what differs is luck. Test documents
have no part in this.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from markdown_tables import table
from result_lines import Line, ResultLines

from labelgrove import Tagger, read_corpus
from labelgrove.core.random import generator
from labelgrove.core.types import Document
from labelgrove.corpus import Corpus
from labelgrove.evaluation import additive
from labelgrove.evaluation.resampling import AVERAGES, Additive, resampled, values
from labelgrove.evaluation.significance import difference
from labelgrove.evaluation.training_luck import training_luck, with_training_luck
from labelgrove.report.contestants import alike, ask
from labelgrove.report.luck import LEVEL

SETS, MODELS = ("debtags", "arxiv"), ("bonsai", "grove")
METRICS = ("P@1", "nDCG@5", "micro-F1", "macro-F1")
JUDGED, SUBSETS = 4000, {300: 10, 1000: 4, 4000: 1}
RESAMPLES, REFITS = 200, 4


def corpus(documents: Sequence[Document]) -> Corpus:
    """Return documents in memory as a corpus."""
    return Corpus.from_lists([each.text for each in documents], [each.labels for each in documents])


def run(data: Path, name: str, model: str, size: int, draw: int, trainings: int) -> Line:
    """Train several times on one draw of documents, and judge every retraining."""
    found = read_corpus(data / name / "train.jsonl.xz")
    unique = list({each.text: each for each in found}.values())
    order = generator(draw, "training noise").permutation(len(unique))
    train = [unique[i] for i in order[:size]]
    more = [unique[i] for i in order[size : size + trainings]]
    judged = [unique[i] for i in order[size + trainings :][:JUDGED]]
    first = Tagger(model, seed=0, threads=1).fit(corpus(train))
    with TemporaryDirectory() as folder:  # a loaded tagger keeps its settings of texts
        first.save(Path(folder) / "tagger")
        loaded = Tagger.load(Path(folder) / "tagger")
        taggers = [loaded.retrain(corpus(train), seed=seed) for seed in range(trainings)]
        taggers += [loaded.retrain(corpus([*train, each])) for each in more]
        return dict(_luck(taggers, judged, draw))


def _luck(
    taggers: Sequence[Tagger], judged: Sequence[Document], draw: int
) -> Iterator[tuple[str, Line]]:
    """Yield for each metric how trainings differ, and how often a difference seems none of luck."""
    asked = alike([ask(each, corpus(judged), name=str(i)) for i, each in enumerate(taggers)])
    Y = asked[0].labels.encode([each.labels for each in judged], unseen="append")
    seeds = len(asked) // 2

    def sums(rows: np.ndarray) -> list[Mapping[str, Additive]]:
        return [
            additive(Y[rows], each.ranking[rows], METRICS, threshold=each.decision)
            for each in asked
        ]

    whole = sums(np.arange(len(judged)))
    wrong: dict[str, dict[str, list[float]]] = {metric: {} for metric in METRICS}
    for n, times in SUBSETS.items():
        for time in range(times):
            own = sums(generator(draw, "judged", n, time).permutation(len(judged))[:n])
            samples = resampled(own, resamples=RESAMPLES, seed=time)
            told = [values(each) for each in own]
            for metric in METRICS:
                rates = _wrong([x[metric] for x in told], [x[metric] for x in samples])
                for kind, rate in rates.items():
                    wrong[metric].setdefault(f"{kind} {n}", []).append(rate)
    for metric in METRICS:
        scores = [values(each)[metric] for each in whole]
        line: Line = {"seed": scores[:seeds], "document": scores[seeds:]}
        if metric not in AVERAGES:
            line |= _parts(np.array([each[metric].part for each in whole]))
        rates = {key: float(np.mean(found)) for key, found in wrong[metric].items()}
        yield metric, line | {"wrong": rates}


def _wrong(scores: Sequence[float], samples: Sequence[np.ndarray]) -> dict[str, float]:
    """Return how often a retraining seems better or worse, by documents alone and with refits.

    Every tagger of a seed is the one before and every tagger of a document the one after; taggers
    of other seeds are the refits.
    """
    documents, refits, seeds = [], [], range(len(scores) // 2)
    for before, after in product(seeds, range(len(seeds), len(scores))):
        value, gaps = scores[after] - scores[before], samples[after] - samples[before]
        documents.append(difference(value, gaps).p < LEVEL)
        own = [after, *[i for i in seeds if i != before][:REFITS]]
        luck = training_luck([[scores[i] for i in own]], [[samples[i] for i in own]])
        refits.append(difference(value, with_training_luck(gaps, luck, (1, 1))).p < LEVEL)
    return {"documents": float(np.mean(documents)), "refits": float(np.mean(refits))}


def _parts(scores: np.ndarray) -> Line:
    """Divide the variance of scores (trainings, n): common to all documents, and of single ones."""
    trainings, n = scores.shape
    rest = scores - scores.mean(0) - scores.mean(1, keepdims=True) + scores.mean()
    single = (rest**2).sum() / ((trainings - 1) * (n - 1))
    return {"common": float(scores.mean(1).var(ddof=1) - single / n), "single": float(single)}


def tables(lines: Sequence[Line]) -> str:
    """Return what was found, as Markdown."""
    rows = []
    for name, model, size in sorted({(x["set"], x["model"], x["size"]) for x in lines}):
        own = [x for x in lines if (x["set"], x["model"], x["size"]) == (name, model, size)]
        for metric in METRICS:
            told = [x[metric] for x in own]
            spread = [
                f"{100 * np.sqrt(np.mean([np.var(x[kind], ddof=1) for x in told])):.2f}"
                for kind in ("seed", "document")
            ]
            parts = ["", ""]
            if "common" in told[0]:
                common, single = (np.mean([x[of] for x in told]) for of in ("common", "single"))
                parts = [f"{100 * np.sqrt(max(common, 0)):.2f}", f"{100 * np.sqrt(single):.1f}"]
            wrong = [
                " / ".join(
                    f"{100 * np.mean([x['wrong'][f'{by} {n}'] for x in told]):.0f}"
                    for by in ("documents", "refits")
                )
                for n in SUBSETS
            ]
            rows.append([name, model, f"{size:,}", metric, str(len(own)), *spread, *parts, *wrong])
    heads = ["set", "model", "documents", "metric", "draws", "seeds", "one document more",
             "common", "of a document", *(f"wrong on {n:,}, %" for n in SUBSETS)]  # fmt: skip
    return "\n".join(table(heads, rows))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--models", nargs="+", default=MODELS)
    parser.add_argument("--sizes", nargs="+", type=int, default=[2000])
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--trainings", type=int, default=6)
    parser.add_argument("--table", action="store_true", help="print the table of what is there")
    given = parser.parse_args()
    results = ResultLines(given.results, ("set", "model", "size", "draw"))
    if given.table:
        print(tables([*results.read().values()]))
        return
    for draw in range(given.draws):
        for model in given.models:
            for size in given.sizes:
                for name in given.sets:
                    if (name, model, size, draw) in results.read():
                        continue
                    line = {"set": name, "model": model, "size": size, "draw": draw}
                    found = run(given.data, name, model, size, draw, given.trainings)
                    results.add(line | found)
                    print(*line.values(), flush=True)


if __name__ == "__main__":
    main()
