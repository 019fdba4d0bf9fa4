"""`choose_documents`: a batch of documents that are worth labelling."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from labelgrove.core.errors import InputError, UnknownNameError
from labelgrove.core.progress import Progress, Silent
from labelgrove.core.random import generator
from labelgrove.core.types import Document, Tag
from labelgrove.corpus import Corpus, read_corpus, read_like
from labelgrove.tagger import batches
from labelgrove.tagger.choosing.criteria import label_profiles, rarity, shares, uncertainty
from labelgrove.tagger.choosing.pool import PoolSample, draw_sample
from labelgrove.tagger.choosing.spread import best_rows, spread_rows, unit_rows
from labelgrove.tagger.incremental import check_kind
from labelgrove.tagger.state import FittedState
from labelgrove.tagger.tagger import Tagger
from labelgrove.text import Tfidf
from labelgrove.text.copies import distinct_hashes, text_hash

STRATEGIES = {
    "labels": "documents whose probable labels differ, rare ones above all",
    "mixed": "the same, and rather those of whose labels the tagger is not sure",
    "uncertainty": "documents of whose labels the tagger is least sure",
    "diversity": "documents whose words differ",
    "rare": "documents that probably have labels with few documents",
    "random": "a fair sample",
}
DEFAULT, WITHOUT_TAGGER = "labels", "diversity"
ASKED = ("labels", "mixed", "uncertainty", "rare")  # those for which a tagger must have learned
EACH, LEAST = 20, 2000  # documents drawn from the pool: so many for each of the batch, at least
DEPTH = 50  # labels ranked of each


class NextDocument(NamedTuple):
    """A document to label, and what the tagger proposes.

    Parameters
    ----------
    document
        The document; without an id of its own it has the number of its row.
    tags
        Labels that may be right, best first; empty without a tagger.
    score
        How uncertain the tagger is, or with ``"rare"`` what the document may add to rare labels;
        0 where documents were chosen without asking the tagger.
    """

    document: Document
    tags: tuple[Tag, ...]
    score: float


@dataclass(frozen=True)
class NextBatch:
    """Documents to label next, and where they come from.

    Parameters
    ----------
    documents
        The documents, in an order in which the first ones are a good batch too.
    by
        The strategy.
    sample
        Among which they were chosen.
    """

    documents: tuple[NextDocument, ...]
    by: str
    sample: PoolSample

    def __iter__(self) -> Iterator[NextDocument]:
        return iter(self.documents)

    def __len__(self) -> int:
        return len(self.documents)


def choose_documents(
    tagger: Tagger | None,
    pool: Any,
    n: int = 50,
    *,
    by: str | None = None,
    k: int = 10,
    known: Iterable[str] = (),
    sample: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> NextBatch:
    """Choose the documents of a pool that should be labelled next.

    The pool is read once, and a random part of it is kept in memory; the batch is chosen in
    that. Texts that the tagger has learned from are left out. The same tagger, pool and seed
    give the same batch.

    Parameters
    ----------
    tagger
        What has been learned so far; None if there is nothing yet.
    pool
        Documents; labels that they may have are not looked at. A corpus, anything that
        `read_corpus` takes, or a list of texts.
    n
        How many.
    by
        A name of `STRATEGIES`; None for the best one that the tagger allows.
    k
        Labels proposed for each document at most.
    known
        Other texts that are left out: they have labels already.
    sample
        Documents of the pool among which the batch is chosen; by default 20 for each of the
        batch, at least 2,000.
    seed
        Another seed gives another batch.
    progress
        Where progress is shown.

    Examples
    --------
    >>> tagger = Tagger("knn", validation=0).fit(["a red car", "apple pie"], [["car"], ["pie"]])
    >>> texts = ["a car", "a new car", "red apples", "wind and rain"]
    >>> batch = choose_documents(tagger, texts, 1, by="uncertainty", k=1)
    >>> [(chosen.document.text, chosen.score) for chosen in batch]
    [('wind and rain', 0.5)]
    """
    by, progress = strategy_for(tagger, by), progress or Silent()
    for what, number in (("documents to choose", n), ("proposed labels", k)):
        if number < 1:
            raise InputError(f"the number of {what} must be at least 1, got {number}")
    size = max(EACH * n, LEAST) if sample is None else max(sample, n)
    corpus = _unlabelled(pool, tagger)
    hashes = distinct_hashes(map(text_hash, known))
    if tagger is not None and tagger.learned_.text_hashes is not None:
        hashes = np.union1d(hashes, tagger.learned_.text_hashes)
    drawn = draw_sample(corpus, size, known=hashes, seed=seed, progress=progress)
    texts = [document.text for document in drawn.documents]
    rows, scores = _choose(tagger, texts, n, by, seed, progress) if texts else ([], np.zeros(0))
    tags: Sequence[list[Tag]] = [[]] * len(rows)
    if tagger is not None and rows:
        tags = tagger.tag([texts[row] for row in rows], k)
    documents = [
        NextDocument(drawn.documents[row], tuple(proposed), float(scores[row]))
        for row, proposed in zip(rows, tags, strict=True)
    ]
    return NextBatch(tuple(documents), by, drawn)


def strategy_for(tagger: Tagger | None, by: str | None) -> str:
    """Return the strategy that is used; one that needs a trained tagger is refused without."""
    if by is not None and by not in STRATEGIES:
        raise UnknownNameError("way to choose documents", by, STRATEGIES)
    if tagger is not None and tagger.labels_.n_documents:
        return by or DEFAULT
    if by in ASKED:
        raise InputError(
            f"{by!r} needs a tagger that has learned from documents: choose the first ones by "
            "diversity or random"
        )
    return by or WITHOUT_TAGGER


def _unlabelled(pool: Any, tagger: Tagger | None) -> Corpus:
    """Return a pool as a corpus of texts, read as the files of the tagger's training were."""
    if isinstance(pool, list | tuple):
        corpus: Corpus = Corpus.from_lists(pool)
    elif isinstance(pool, str | os.PathLike):
        remembered = {} if tagger is None else tagger.learned_.reading
        corpus = read_like(pool, remembered, {}, labelled=False)
    else:
        corpus = read_corpus(pool, labelled=False)
    if tagger is not None:
        check_kind(tagger.learned_, corpus)
    if corpus.featurizer is not None:
        raise InputError(f"{corpus.name} holds features: people can only label texts")
    return corpus


def _choose(
    tagger: Tagger | None, texts: Sequence[str], n: int, by: str, seed: int, progress: Progress
) -> tuple[list[int], NDArray[np.float64]]:
    """Return the numbers of the chosen texts, and the score of every text, shape (m,)."""
    scores = np.zeros(len(texts))
    if by == "random":
        return list(range(min(n, len(texts)))), scores
    profiles = None
    if by in ASKED and tagger is not None:
        scores, profiles = _asked(tagger.learned_, texts, by, progress)
    progress.say(f"comparing {len(texts):,} documents with one another")
    X = unit_rows(Tfidf(threads=tagger.threads if tagger else None).fit_transform(texts))
    if by in ("uncertainty", "rare"):
        return best_rows(X, scores, n), scores
    far = X if profiles is None else unit_rows(profiles)
    weights = shares(scores) if by == "mixed" else np.ones(len(texts))
    random = generator(seed, "documents to label")
    return spread_rows(far, X, weights, n, random), scores


def _asked(
    learned: FittedState, texts: Sequence[str], by: str, progress: Progress
) -> tuple[NDArray[np.float64], csr_array]:
    """Return the score of each text, shape (m,), and its probable labels, shape (m, L)."""
    counts, scores = learned.labels.counts, np.zeros(len(texts))
    profiles = []
    with progress.task("tagging the sample", len(texts)) as shown:
        for rows in batches.of_rows(len(texts)):
            ranking = learned.rank(texts[rows], DEPTH)
            scores[rows] = rarity(ranking, counts) if by == "rare" else uncertainty(ranking)
            profiles.append(label_profiles(ranking, counts))
            shown.advance(len(ranking))
    return scores, csr_array(vstack(profiles))
