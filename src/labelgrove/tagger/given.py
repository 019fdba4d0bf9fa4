"""Which of the ranked labels a text is given: the one place that decides.

The threshold comes first, then the best k are taken, and then a hierarchy is kept whole.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from labelgrove.core.errors import InputError, UnknownNameError
from labelgrove.core.ranking import Ranking, largest_pairs
from labelgrove.labels.hierarchy import above
from labelgrove.tagger.promises import is_promise
from labelgrove.tagger.state import FittedState
from labelgrove.tagger.thresholds import PER_LABEL, decide

HIERARCHIES = ("closed", "leaf")


def check_hierarchy(
    learned: FittedState, hierarchy: str | None, threshold: float | str | None = None
) -> None:
    """Raise an error for an unknown choice, for labels without a hierarchy, and for a promise."""
    if hierarchy is None:
        return
    if not isinstance(hierarchy, str) or hierarchy not in HIERARCHIES:
        raise UnknownNameError("choice of --hierarchy", str(hierarchy), HIERARCHIES)
    if not len(learned.labels.parents.indices):
        raise InputError(
            f"--hierarchy {hierarchy} needs to know which labels are broader than others, but "
            "this tagger knows no hierarchy: train it with --labels FILE, a table with a column "
            "of parents or a SKOS file"
        )
    if is_promise(threshold):
        raise InputError(
            f"{threshold} is promised for the labels that the threshold gives, not for those that "
            f"--hierarchy {hierarchy} adds or removes: give a number or auto as threshold"
        )


def given_labels(
    learned: FittedState,
    ranking: Ranking,
    k: int,
    threshold: float | str | None,
    hierarchy: str | None = None,
) -> Ranking:
    """Return the labels that each text is given, best first.

    Parameters
    ----------
    learned
        With the labels that the ranking numbers, and the thresholds.
    ranking
        Calibrated, of n texts.
    k, threshold
        The best k of the labels that reach the threshold are chosen.
    hierarchy
        None: these are given. ``"closed"``: and so are all labels above them, each with its own
        score or that of the best label below it, whichever is larger. ``"leaf"``: but for those
        that stand above another one.
    """
    given = ranking.labels >= 0 if threshold is None else decide(learned, threshold).mask(ranking)
    if threshold == PER_LABEL:  # else those that are given come first
        order = np.argsort(~given, axis=1, kind="stable")
        ranked, given = _reordered(ranking, order), np.take_along_axis(given, order, axis=1)
    else:
        ranked = ranking
    labels = np.where(given, ranked.labels, -1)[:, :k]
    chosen = Ranking(labels, np.where(given, ranked.scores, 0.0)[:, :k])
    if hierarchy is None:
        return chosen
    check_hierarchy(learned, hierarchy)
    return _closed(learned, chosen, ranking) if hierarchy == "closed" else _leaves(learned, chosen)


def _reordered(ranking: Ranking, order: NDArray[np.intp]) -> Ranking:
    labels = np.take_along_axis(ranking.labels, order, axis=1)
    return Ranking(labels, np.take_along_axis(ranking.scores, order, axis=1))


def _closed(learned: FittedState, chosen: Ranking, ranking: Ranking) -> Ranking:
    """Return the chosen labels with all labels above them; the chosen come first among equals."""
    rows, labels, scores = _pairs(chosen)
    more_rows, more, more_scores = above(learned.labels.parents, rows, labels, scores)
    known = more < learned.labels.n_labels  # what no document has is no label, what is above may be
    more_rows, more, more_scores = more_rows[known], more[known], more_scores[known]
    own_rows, own, own_scores = _pairs(ranking)  # of broader labels that were not chosen, too
    width = len(learned.labels)
    wanted = np.isin(own_rows * width + own, more_rows * width + more)
    found = largest_pairs(
        np.concatenate([rows, more_rows, own_rows[wanted]]),
        np.concatenate([labels, more, own[wanted]]),
        np.concatenate([scores, more_scores, own_scores[wanted]]),
    )
    added = ~np.isin(found[0] * width + found[1], rows * width + labels)
    return _ranked(*found, added, len(chosen))


def _leaves(learned: FittedState, chosen: Ranking) -> Ranking:
    """Return the chosen labels without those above another one."""
    rows, labels, scores = _pairs(chosen)
    above_rows, broader, _ = above(learned.labels.parents, rows, labels, scores)
    width = len(learned.labels)
    kept = ~np.isin(rows * width + labels, above_rows * width + broader)
    added = np.zeros(np.count_nonzero(kept), np.bool_)
    return _ranked(rows[kept], labels[kept], scores[kept], added, len(chosen))


def _pairs(ranking: Ranking) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
    """Return row, label and score of each place that is filled, each of shape (m,)."""
    rows, places = np.nonzero(ranking.labels >= 0)
    return rows, ranking.labels[rows, places].astype(np.int64), ranking.scores[rows, places]


def _ranked(
    rows: NDArray[np.int64],
    labels: NDArray[np.int64],
    scores: NDArray[np.float32],
    added: NDArray[np.bool_],
    n: int,
) -> Ranking:
    """Return a ranking of n rows from pairs of a row and a label, each of shape (m,)."""
    order = np.lexsort((labels, added, -scores, rows))
    rows = rows[order]
    places = np.arange(len(rows)) - np.searchsorted(rows, rows)
    found = Ranking.empty(n, int(places.max(initial=-1)) + 1)
    found.labels[rows, places], found.scores[rows, places] = labels[order], scores[order]
    return found
