"""How many planted mistakes an audit finds: labels that were deleted, labels that were added.

    python benchmarks/quality/audit.py --data DIR --work DIR [--sets NAME,...] [--seeds 10,11]
    python benchmarks/quality/audit.py --work DIR --table

DIR of --data holds a folder for each set with train.jsonl.xz. Of each set some random documents
are taken; a tenth of their labels is deleted, and a twentieth as many are added, each to a random
document, drawn from all labels alike. Systems rank what they hold for missing and for wrong, and
are judged by the share of planted mistakes among the first 100 and 1,000, or among as many as they
find. A label that was really missing before counts against them, and so does an added one that
happens to be right: the figures are lower bounds. In debtags:usual frequent labels are added more
often, each in proportion to its documents. cleanlab (pip install cleanlab) needs a matrix of
documents x labels, and so do plain probabilities: both are asked where labels are few. With
--slow, logistic regressions, one for each label and fold, are asked too.
How labelgrove judges was chosen with seeds 0 and 1 on debtags and arxiv; the table has others.
--work keeps a line of JSON for each result, so that a run that was stopped goes on; audit.md has
what was found on top, written by hand.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from audit_tables import AT, EDGES, KINDS, OWN, write_page
from result_lines import Line, ResultLines

from labelgrove import models, read_corpus
from labelgrove.core.progress import Silent
from labelgrove.core.random import generator
from labelgrove.corpus import Corpus
from labelgrove.tagger.audit import AuditOptions
from labelgrove.tagger.audit.run import Gathered, gather
from labelgrove.tagger.audit.suspicions import find

SIZE = 8_000  # documents
DELETED, ADDED = 0.1, 0.05
SLOW = "cleanlab, logistic regression"
MOST_LABELS = 1_000  # of sets where others are asked, who need every pair's probability
USUAL = ":usual"  # behind the name of a set: labels are added as often as they are given


class Ranked(NamedTuple):
    """What a system finds of one kind, best first: a document and a label each, and scores."""

    pairs: list[tuple[int, str]]
    scores: list[float]


class Planted(NamedTuple):
    """Documents with mistakes, and which these are."""

    corpus: Corpus
    mistakes: dict[str, set[tuple[int, str]]]


def planted(folder: Path, size: int, seed: int, usual: bool) -> Planted:
    """Return random documents of a set in which labels were deleted and added."""
    random = generator(seed, "planted mistakes")
    documents = list(read_corpus(folder / "train.jsonl.xz"))
    documents = [documents[i] for i in np.sort(random.permutation(len(documents))[:size])]
    known = sorted({label for each in documents for label in each.labels})
    labels = [list(each.labels) for each in documents]
    given = [(i, label) for i, own in enumerate(labels) for label in own]
    missing = {pair for pair, drawn in zip(given, random.random(len(given)), strict=True)
               if drawn < DELETED}  # fmt: skip
    before, wrong = set(given), set[tuple[int, str]]()
    if usual:
        known = [label for _, label in given]
    while len(wrong) < ADDED * len(given):
        pair = int(random.integers(len(documents))), known[random.integers(len(known))]
        if pair not in before:
            wrong.add(pair)
    for i, label in missing:
        labels[i].remove(label)
    for i, label in sorted(wrong):
        labels[i].append(label)
    corpus = Corpus.from_lists([each.text for each in documents], labels)
    return Planted(corpus, {"missing": missing, "wrong": wrong})


def named(gathered: Gathered, rows: Any, columns: Any, scores: Any) -> Ranked:
    """Return numbers of documents and labels with the labels' ids."""
    ids = gathered.task.learned.labels.ids
    pairs = [(int(i), ids[j]) for i, j in zip(rows, columns, strict=True)]
    return Ranked(pairs, [float(score) for score in scores])


def by_audit(gathered: Gathered, seed: int) -> dict[str, Ranked]:
    """Return what `labelgrove audit` suggests."""
    everything = np.ones(gathered.evidence.Y.shape[0], np.bool_)
    least = dict.fromkeys(KINDS, 0.0)
    found = find(gathered.evidence, everything, max(AT), least, seed, Silent())
    suspicions = {kind: found.of(kind) for kind in KINDS}
    return {
        kind: named(gathered, *zip(*((f.document, f.label, f.score) for f in own), strict=True))
        for kind, own in suspicions.items()
    }


def by_probability(gathered: Gathered, seed: int) -> dict[str, Ranked]:
    """Return the labels that bonsai alone, out of fold, finds most or least probable."""
    return _ranked(gathered, _dense(gathered))


def by_cleanlab(gathered: Gathered, seed: int) -> dict[str, Ranked]:
    """Return what confident learning finds with the same probabilities."""
    return _confident(gathered, _dense(gathered))


def by_regression(gathered: Gathered, seed: int) -> dict[str, Ranked]:
    """Return what confident learning finds with logistic regressions, one for each label."""
    from sklearn.linear_model import LogisticRegression

    X, Y, shares = gathered.task.train[0], gathered.evidence.Y, gathered.evidence.scores.shares
    chances = np.zeros(Y.shape, np.float32)
    for fold in range(int(shares.max()) + 1):
        rest, left = np.flatnonzero(shares != fold), np.flatnonzero(shares == fold)
        wanted = Y[rest].tocsc()
        for label in range(Y.shape[1]):
            y = np.zeros(len(rest), np.int8)
            y[wanted.indices[wanted.indptr[label] : wanted.indptr[label + 1]]] = 1
            if y.any():
                learned = LogisticRegression(solver="liblinear").fit(X[rest], y)
                chances[left, label] = learned.predict_proba(X[left])[:, 1]
    return _confident(gathered, chances)


SYSTEMS: dict[str, Callable[[Gathered, int], dict[str, Ranked]]] = {
    "labelgrove audit": by_audit,
    "bonsai's probabilities alone": by_probability,
    "cleanlab, bonsai's probabilities": by_cleanlab,
    SLOW: by_regression,
}


def _dense(gathered: Gathered) -> Any:
    """Return the out-of-fold probability of every pair, (n, L): small sets only."""
    X, Y = gathered.models.own_views(gathered.task.train[0]), gathered.evidence.Y
    chances = np.zeros(Y.shape, np.float32)
    for fold in range(gathered.evidence.scores.folds):
        rows = np.flatnonzero(gathered.evidence.scores.shares == fold)
        ranking = gathered.models.read(fold).rank(X[rows], Y.shape[1])
        chances[rows] = ranking.to_csr(Y.shape[1]).toarray()
    return chances


def _ranked(gathered: Gathered, chances: Any, among: Any = None) -> dict[str, Ranked]:
    """Rank pairs by how far the probability is from what is given."""
    given = gathered.evidence.Y.toarray() > 0
    found = {}
    for kind, fits, score in (("missing", ~given, chances), ("wrong", given, -chances)):
        rows, columns = np.nonzero(fits if among is None else fits & among)
        order = np.argsort(-score[rows, columns], kind="stable")[: max(AT)]
        rows, columns = rows[order], columns[order]
        found[kind] = named(gathered, rows, columns, score[rows, columns])
    return found


def _confident(gathered: Gathered, chances: Any) -> dict[str, Ranked]:
    from cleanlab.multilabel_classification.filter import find_multilabel_issues_per_class

    Y = gathered.evidence.Y
    given = [Y.indices[Y.indptr[i] : Y.indptr[i + 1]].tolist() for i in range(Y.shape[0])]
    masks = find_multilabel_issues_per_class(given, chances.astype(np.float64), n_jobs=1)
    return _ranked(gathered, chances, np.asarray(masks).reshape(Y.shape))


def measure(data: Path, results: ResultLines, name: str, seed: int, slow: bool) -> None:
    """Measure what is not there yet of one set and seed."""
    wanted = [
        system
        for system in SYSTEMS
        if (slow or system != SLOW) and (name, seed, system) not in results.read()
    ]
    if not wanted:
        return
    folder = name.removesuffix(USUAL)
    case = planted(data / folder, SIZE, seed, usual=folder != name)
    with TemporaryDirectory() as folder:
        began = time.process_time()
        options = AuditOptions(seed=seed, threads=1)
        model = models.create("bonsai", seed=seed, threads=1)
        gathered = gather(case.corpus, model, Path(folder), None, options, Silent())
        shared = time.process_time() - began
        for system in wanted:
            if system != OWN and gathered.evidence.Y.shape[1] > MOST_LABELS:
                continue
            began = time.process_time()
            found = SYSTEMS[system](gathered, seed)
            seconds = time.process_time() - began
            line = {"set": name, "seed": seed, "system": system, "documents": SIZE}
            line |= {"labels": gathered.evidence.Y.shape[1], "given": gathered.evidence.Y.nnz}
            line |= {"seconds": round(seconds, 1), "shared_seconds": round(shared, 1)}
            for kind in KINDS:
                line |= judged(kind, found[kind], case.mistakes[kind])
            results.add(line)
            print(line, flush=True)


def judged(kind: str, found: Ranked, mistakes: set[tuple[int, str]]) -> Line:
    """Return how many of the findings of a kind are planted, also by score."""
    hits = np.array([pair in mistakes for pair in found.pairs], np.bool_)
    line: Line = {f"planted {kind}": len(mistakes), f"found {kind}": len(hits)}
    for k in AT:
        line[f"{kind}@{k}"] = 100 * float(hits[:k].mean()) if len(hits) else 0.0
    places = np.digitize(found.scores, EDGES[kind])
    line[f"{kind} by score"] = [
        [int((places == place).sum()), int(hits[places == place].sum())]
        for place in range(len(EDGES[kind]) + 1)
    ]
    return line


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--sets", default="debtags,congress,debtags:usual")
    parser.add_argument("--seeds", default="10,11")
    parser.add_argument("--slow", action="store_true", help="ask logistic regressions too")
    parser.add_argument("--table", action="store_true")
    given = parser.parse_args()
    results = ResultLines(given.work / "audit.jsonl", ("set", "seed", "system"))
    if not given.table:
        given.work.mkdir(parents=True, exist_ok=True)
        for seed in map(int, given.seeds.split(",")):
            for name in given.sets.split(","):
                measure(given.data, results, name, seed, given.slow)
    write_page([*results.read().values()], SYSTEMS)


if __name__ == "__main__":
    main()
