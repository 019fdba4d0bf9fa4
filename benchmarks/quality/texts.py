"""What titles, long texts and word forms ask of tf-idf: bonsai on held-out training documents.

    python benchmarks/quality/texts.py --data DIR --work DIR [--sets ...] [--schemes ...]
    python benchmarks/quality/texts.py --work DIR --table

DIR of --data holds a folder for each set with train.jsonl.xz; no test document is read. Of a set's
training documents the 3,000 with the smallest hash are learned from and the next 1,500 are judged
(tibkat-all: 20,000 and 3,000); the seed is that of the hash and of the model. NAME-long are the
documents of some hundred words or more. A scheme is a way to weigh the words of a text. The
first sentence stands for the title, which it is in arxiv, debtags and congress. DIR of --work keeps
a line of JSON for each run, so that a run that was stopped goes on.
"""

from __future__ import annotations

import argparse
import heapq
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from markdown_tables import table as markdown_table
from numpy.typing import NDArray
from result_lines import ResultLines
from scipy.sparse import csr_array, hstack, vstack

from labelgrove import read_corpus
from labelgrove.core.random import text_fraction
from labelgrove.core.ranking import ndcg
from labelgrove.labels import LabelCollector
from labelgrove.models.linear.bonsai import Bonsai
from labelgrove.text.analysis import Tokens, parse

LEARNED, JUDGED, SEEDS = 3000, 1500, 2
LONG = {"congress-long": 400, "reuters-long": 200}  # least words of a document
LARGE = {"tibkat-all": (20_000, 3000)}  # learned from and judged
SETS = ("arxiv", "debtags", "reuters", "reuters-long", "tibkat", "congress", "congress-long")
SETS += ("finna", *LARGE)
SENTENCE = ". "


class Words(NamedTuple):
    """The words of n texts: numbers, and where each stands in its text."""

    ids: NDArray[np.int64]
    rows: NDArray[np.int64]
    places: NDArray[np.int64]
    in_title: NDArray[np.bool_]
    n_rows: int
    n_terms: int

    def matrix(self, weights: NDArray[np.floating[Any]]) -> csr_array:
        """Return the sum of the weights of each word in each text, shape (n, D)."""
        kept = weights > 0
        cells = (weights[kept], (self.rows[kept], self.ids[kept]))
        found = csr_array(cells, shape=(self.n_rows, self.n_terms))
        found.sum_duplicates()
        return found

    def counts(self) -> csr_array:
        return self.matrix(np.ones(len(self.ids)))


class Case(NamedTuple):
    """What is learned from and judged, ``learned`` texts first."""

    texts: list[str]
    Y: csr_array
    learned: int


@cache
def case(data: Path, name: str, seed: int) -> Case:
    """Read a part of a set."""
    folder, least = name.partition("-")[0], LONG.get(name, 0)
    n_learned, n_judged = LARGE.get(name, (LEARNED, JUDGED))
    corpus = read_corpus(data / folder / "train.jsonl.xz")
    wanted = (each for each in corpus if not least or len(each.text.split()) >= least)
    numbered = ((text_fraction(d.text, seed), i, d) for i, d in enumerate(wanted))
    parts = [d for _, _, d in heapq.nsmallest(n_learned + n_judged, numbered)]
    learned = len(parts) * n_learned // (n_learned + n_judged)
    labels = LabelCollector()
    for document in parts[:learned]:
        labels.add(document.labels)
    space, Y = labels.finish(None)
    judged = space.encode([d.labels for d in parts[learned:]], unseen="append")
    Y.resize(learned, judged.shape[1])
    return Case([d.text for d in parts], csr_array(vstack([Y, judged])), learned)


@cache
def words(data: Path, name: str, seed: int, analyzer: str = "word") -> Words:
    """Return the words of a case; the first sentence is the title."""
    texts = case(data, name, seed).texts
    tokens: Tokens = parse(analyzer, min_length=2).tokens(texts)
    _, ids = np.unique(tokens.hashes, return_inverse=True)
    lengths = np.diff(tokens.offsets)
    rows = np.repeat(np.arange(len(texts)), lengths)
    places = np.arange(len(ids)) - np.repeat(tokens.offsets[:-1], lengths)
    begins = np.cumsum([0, *map(len, texts)])[:-1]
    ends = begins + [text.find(SENTENCE) if SENTENCE in text else 0 for text in texts]
    in_title = tokens.starts < ends[rows]
    return Words(ids, rows, places, in_title, len(texts), int(ids.max()) + 1)


# --- ways to weigh words ----------------------------------------------------------------------

Scheme = Callable[[Words], csr_array]


def logs(counts: csr_array) -> csr_array:
    """Return 1 + ln of the counts, of which those below 1 count as they are."""
    out = counts.copy()
    out.data = np.where(out.data >= 1, 1 + np.log(np.maximum(out.data, 1)), out.data)
    return out


def rarity(counts: csr_array) -> NDArray[np.float64]:
    documents = np.bincount(counts.indices, minlength=counts.shape[1])
    return np.asarray(np.log((1 + counts.shape[0]) / (1 + documents)) + 1)


def weighed(tf: csr_array, of: csr_array | None = None, norm: bool = True) -> csr_array:
    """Return tf times rarity, rows of length 1; rarity is counted in ``of``."""
    out = tf.copy()
    out.data = out.data * rarity(tf if of is None else of)[out.indices]
    if norm:
        lengths = np.sqrt(np.maximum(out.multiply(out).sum(axis=1), 1e-12))
        out.data = out.data / np.repeat(lengths, np.diff(out.indptr))
    return csr_array(out, dtype=np.float32)


def plain(w: Words) -> csr_array:
    return weighed(logs(w.counts()))


def title_counts(times: float) -> Scheme:
    return lambda w: weighed(logs(w.matrix(np.where(w.in_title, times, 1.0))), w.counts())


def title_factor(factor: float) -> Scheme:
    """A word of the title has its weight multiplied."""

    def scheme(w: Words) -> csr_array:
        tf, titles = logs(w.counts()), w.matrix(w.in_title.astype(float))
        titles.data[:] = factor - 1.0
        return weighed(csr_array(tf + tf.multiply(titles)), w.counts())

    return scheme


def title_apart(share: float) -> Scheme:
    """Words of the title are also features of their own, a row of length ``share`` beside."""

    def scheme(w: Words) -> csr_array:
        titles = w.matrix(w.in_title.astype(float))
        apart = weighed(logs(titles), w.counts()) * np.float32(share)
        both = csr_array(hstack([plain(w), apart]))
        scale = 1 / np.sqrt(np.maximum(both.multiply(both).sum(axis=1), 1e-12))
        both.data = both.data * np.repeat(scale, np.diff(both.indptr)).astype(np.float32)
        return both

    return scheme


def head_only(length: int) -> Scheme:
    return lambda w: weighed(logs(w.matrix((w.places < length).astype(float))))


def head_counts(length: int, times: float) -> Scheme:
    return lambda w: weighed(logs(w.matrix(np.where(w.places < length, times, 1.0))), w.counts())


def decay(length: float) -> Scheme:
    """A word counts the less the later it comes: half at ``length`` words."""
    return lambda w: weighed(logs(w.matrix(1 / (1 + w.places / length))), w.counts())


def first_place(length: float, title: float = 1.0) -> Scheme:
    """1 + ln(count), times 1 / (1 + ln(1 + place of the first occurrence / length)).

    A word of the title counts ``title`` times.
    """

    def scheme(w: Words) -> csr_array:
        tf = logs(w.matrix(np.where(w.in_title, title, 1.0)))
        order = np.lexsort((w.places, w.ids, w.rows))
        rows, ids, places = w.rows[order], w.ids[order], w.places[order]
        new = np.ones(len(rows), bool)
        new[1:] = (rows[1:] != rows[:-1]) | (ids[1:] != ids[:-1])
        firsts = csr_array((places[new] + 1.0, (rows[new], ids[new])), shape=tf.shape)
        tf.sort_indices()
        firsts.sort_indices()
        tf.data = tf.data / (1 + np.log1p((firsts.data - 1) / length))
        return weighed(tf, w.counts())

    return scheme


def bm25(k: float, b: float) -> Scheme:
    def scheme(w: Words) -> csr_array:
        counts = w.counts()
        lengths = np.asarray(counts.sum(axis=1))
        scale = k * (1 - b + b * lengths / lengths.mean())
        tf = counts.copy()
        tf.data = tf.data * (k + 1) / (tf.data + np.repeat(scale, np.diff(tf.indptr)))
        return weighed(tf)

    return scheme


def raw(w: Words) -> csr_array:
    return weighed(w.counts())


def once(w: Words) -> csr_array:
    """Whether a word is there at all."""
    counts = w.counts()
    counts.data[:] = 1
    return weighed(counts)


def root(w: Words) -> csr_array:
    counts = w.counts()
    counts.data = np.sqrt(counts.data)
    return weighed(counts)


SCHEMES: dict[str, Scheme] = {
    "plain": plain,
    **{f"title x{n}": title_counts(n) for n in (2, 4, 8)},
    **{f"title weight {n}": title_factor(n) for n in (1.5, 2, 3)},
    **{f"title apart {n}": title_apart(n) for n in (0.5, 1)},
    **{f"first {n} words": head_only(n) for n in (100, 200, 400)},
    **{f"first 200 words x{n}": head_counts(200, n) for n in (2, 4)},
    **{f"decay {n}": decay(n) for n in (100, 200)},
    **{f"first place {n}": first_place(n) for n in (5, 10, 20, 50, 100, 200)},
    **{f"first place 50, title x{n}": first_place(50, n) for n in (2, 4)},
    **{f"bm25 {k} {b}": bm25(k, b) for k, b in ((1.2, 0.75), (1.2, 0.3), (3.0, 0.75))},
    "counts": raw,
    "once": once,
    "root": root,
}
STEMS = "snowball:en"


def run(data: Path, name: str, seed: int, scheme: str) -> dict[str, Any]:
    """Train and score once."""
    documents = case(data, name, seed)
    n = documents.learned
    if scheme == "stems":
        X = plain(words(data, name, seed, STEMS))
    else:
        X = SCHEMES[scheme](words(data, name, seed))
    started = time.process_time()
    Y = documents.Y
    known = csr_array(Y[:n])
    model = Bonsai(seed=seed, threads=1).fit(X[:n], known)
    ranking, truth = model.rank(X[n:], 10), csr_array(Y[n:])
    score = float(ndcg(ranking, truth, 5).mean())
    hits = ranking.top(3).hits(truth)
    return {
        "nDCG@5": score,
        "P@1": float(ranking.top(1).hits(truth).mean()),
        "P@3": float(hits.sum() / (3 * len(hits))),
        "cpu": time.process_time() - started,
    }


def table(lines: ResultLines) -> str:
    """Return nDCG@5 of each scheme on each set: the gain over plain, mean of the seeds."""
    found = lines.read()
    sets = [name for name in SETS if any(key[0] == name for key in found)]
    schemes = [s for s in (*SCHEMES, "stems") if any(key[2] == s for key in found)]
    rows = []
    for scheme in schemes:
        row = [scheme]
        for name in sets:
            own = {k[1]: v["nDCG@5"] for k, v in found.items() if (k[0], k[2]) == (name, scheme)}
            base = {k[1]: v["nDCG@5"] for k, v in found.items() if (k[0], k[2]) == (name, "plain")}
            if scheme == "plain":
                row.append(" ".join(f"{100 * v:.1f}" for _, v in sorted(own.items())))
            else:
                both = sorted(own.keys() & base.keys())
                row.append(" ".join(f"{100 * (own[s] - base[s]):+.1f}" for s in both))
        rows.append(row)
    return "\n".join(markdown_table(["scheme", *sets], rows))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--schemes", default=";".join((*SCHEMES, "stems")))
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--table", action="store_true")
    given = parser.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    lines = ResultLines(given.work / "texts.jsonl", ("set", "seed", "scheme"))
    if given.table:
        print(table(lines))
        return
    for seed, name in _cases(given):
        for scheme in given.schemes.split(";"):
            if (name, seed, scheme) in lines.read():
                continue
            line = {"set": name, "seed": seed, "scheme": scheme}
            lines.add(line | run(given.data, name, seed, scheme))
            print(lines.read()[name, seed, scheme], flush=True)


def _cases(given: argparse.Namespace) -> Iterator[tuple[int, str]]:
    for name in given.sets.split(","):
        for seed in range(given.seeds):
            yield seed, name
            case.cache_clear()
            words.cache_clear()


if __name__ == "__main__":
    main()
