"""How much dense columns count beside tf-idf, chosen on held-out documents."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelgrove.core.progress import Progress
from labelgrove.core.random import generator
from labelgrove.core.ranking import ndcg
from labelgrove.core.types import Run
from labelgrove.labels import LabelTree
from labelgrove.models.linear.solver import Solver
from labelgrove.models.linear.training import train_forest

WEIGHTS = (0.0, 0.25, 0.5, 1.0)
MOST_DOCUMENTS = 4_000
MOST_LABELS = 1_024  # the most frequent ones, so that the trials stay short
FEWEST = 20  # documents below which nothing can be told
HELD_OUT = 0.25
K = 5


def choose_dense_weight(
    X: csr_array,
    dense: NDArray[np.float32],
    Y: csr_array,
    solver: Solver,
    progress: Progress,
    threads: int | None,
) -> float:
    """Return the weight of unit dense vectors beside unit tf-idf rows, one of `WEIGHTS`.

    For each weight, classifiers of the most frequent labels learn from a part of at most
    `MOST_DOCUMENTS` documents; the best nDCG@5 on the other part wins. 0 wins unless another
    weight is better by more than chance.

    Parameters
    ----------
    X
        Features, shape (n, D).
    dense
        Unit vectors, shape (n, d).
    Y
        Labels, shape (n, L).
    solver
        How a classifier is trained.
    progress
        Is told what was chosen.
    threads
        Threads; None for all cores.
    """
    n = X.shape[0]
    if n < FEWEST:
        progress.say(f"dense_weight 0.5, unchecked: {n} documents are too few to hold out some")
        return 0.5
    rows = generator(solver.seed, "dense weight").permutation(n)[:MOST_DOCUMENTS]
    cut = int(len(rows) * HELD_OUT)
    held, kept = np.sort(rows[:cut]), np.sort(rows[cut:])
    labels = _frequent(csr_array(Y[kept]))
    learned, truth = csr_array(Y[kept][:, labels]), csr_array(Y[held][:, labels])
    trees = [LabelTree([np.zeros(len(labels), np.int32)])]
    found: dict[float, NDArray[np.floating]] = {}
    with progress.task("choosing dense_weight", len(WEIGHTS), "weights") as shown:
        for weight in WEIGHTS:
            own = dense * np.float32(weight) if weight else None
            forest = train_forest(
                *(X[kept], learned, trees, solver, Run(), threads),
                dense=None if own is None else own[kept],
            )
            ranking = forest.rank(
                *(X[held], min(K, len(labels)), 1, solver.sharpness, threads),
                dense=None if own is None else own[held],
            )
            found[weight] = ndcg(ranking, truth, K)
            shown.advance()
    return _told(found, progress)


def _frequent(Y: csr_array) -> NDArray[np.int64]:
    """Return the labels that most documents have, at most `MOST_LABELS`, ascending."""
    counts = np.bincount(Y.indices, minlength=Y.shape[1])
    first = np.argsort(-counts, kind="stable")[:MOST_LABELS]
    return np.sort(first[counts[first] > 0] if counts.any() else first[:1])


def _told(found: dict[float, NDArray[np.floating]], progress: Progress) -> float:
    """Return the weight with the best nDCG of the held-out documents, and say so."""
    best = max(found, key=lambda weight: float(found[weight].mean()))
    gain = found[best] - found[0.0]
    if gain.mean() <= gain.std() / np.sqrt(len(gain)):
        best = 0.0
    told = ", ".join(f"{weight:g}: {scores.mean():.3f}" for weight, scores in found.items())
    end = "" if best else "; the dense view does not help and is not used"
    progress.say(f"dense_weight {best:g} chosen, held-out nDCG@{K} by weight {told}{end}")
    return best
