"""Which makers are worth having: those without which held-out texts are ranked worse."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelgrove.core.random import generator
from labelgrove.core.ranking import ndcg
from labelgrove.models.grove.evidence import LabelFacts, gather
from labelgrove.models.grove.folds import FEW, FoldRankings
from labelgrove.models.grove.makers import FIRST
from labelgrove.models.grove.ranker import Ranker

DOCUMENTS = 2_000  # that decide, at most
DEPTH = 15  # places of each maker that are looked at
LEAST = 0.0005  # nDCG@5 that a maker must add to be kept


def choose_makers(
    folds: FoldRankings, Y: csr_array, facts: LabelFacts, seed: int, keep: Sequence[str] = ()
) -> tuple[list[str], float, float]:
    """Return the makers to keep, the nDCG@5 of their ranker, and that of the first maker alone.

    Makers are given up one by one, the least useful first, as long as the ranker of the others is
    as good. The ranker is learned on half of the documents and judged on the other half, both
    ways.

    Parameters
    ----------
    folds
        Rankings of m training documents.
    Y
        Their labels, shape (m, L).
    facts
        What is known of the labels, counts aside.
    seed
        Of the documents that decide, and of their halves.
    keep
        Makers that are kept anyway.
    """
    few, truth = _deciding(folds, Y, seed)
    alone = float(ndcg(few.rankings[FIRST], truth, 5).mean())
    kinds = list(folds.rankings)
    best = _scores(few, kinds, truth, facts, seed)
    while spare := [kind for kind in kinds if kind != FIRST and kind not in keep]:
        others = [[kind for kind in kinds if kind != out] for out in spare]
        scores = [_scores(few, each, truth, facts, seed) for each in others]
        winner = int(np.argmax([each.mean() for each in scores]))
        lost = best - scores[winner]
        # few documents tell little, and makers cost little then: only what seems to harm goes
        doubt = 0.5 * lost.std() / len(lost) ** 0.5 if len(lost) < FEW else 0.0
        if lost.mean() > LEAST - doubt:
            break
        kinds, best = others[winner], scores[winner]
    score = float(best.mean())
    if score <= alone and not any(kind in keep for kind in kinds):
        return [FIRST], alone, alone
    return kinds, score, alone


def fixed_score(folds: FoldRankings, Y: csr_array, facts: LabelFacts, seed: int) -> float:
    """Return the nDCG@5 of all these makers by a ranker that did not learn.

    Parameters are those of `choose_makers`, and the same documents are ranked.
    """
    few, truth = _deciding(folds, Y, seed)
    evidence = gather(few.rankings, facts._replace(counts=few.counts), few.fold)
    odds = Ranker.unlearned(evidence.columns).log_odds(evidence)
    return float(ndcg(evidence.ranking(odds, truth.shape[0], 5), truth, 5).mean())


def _deciding(folds: FoldRankings, Y: csr_array, seed: int) -> tuple[FoldRankings, csr_array]:
    """Return the rankings of the documents that decide, and their labels."""
    drawn = np.zeros(len(folds.rows), np.bool_)
    drawn[generator(seed, "choosing makers").permutation(len(drawn))[:DOCUMENTS]] = True
    return folds.of_documents(drawn, DEPTH), Y[np.flatnonzero(drawn)]


def _scores(
    folds: FoldRankings, kinds: list[str], Y: csr_array, facts: LabelFacts, seed: int
) -> NDArray[np.float64]:
    """Return the nDCG@5 of each document by a ranker that did not learn from it, shape (m,)."""
    facts = facts._replace(counts=folds.counts)
    evidence = gather(folds.of(kinds).rankings, facts, folds.fold)
    true = evidence.truth(Y)
    half = generator(seed, "halves").permutation(Y.shape[0]) % 2 == 0
    scores = np.zeros(Y.shape[0])
    for held in (half, ~half):
        out: NDArray[np.bool_] = held[evidence.texts]
        ranker = Ranker.learn(evidence[~out], true[~out], seed)
        judged = evidence[out]
        ranking = judged.ranking(ranker.log_odds(judged), Y.shape[0], 5)
        scores[held] = ndcg(ranking, Y, 5)[held]
    return scores
