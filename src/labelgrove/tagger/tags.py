"""From a ranking to tags: the labels that a text is given, by id and name."""

from __future__ import annotations

from collections.abc import Iterator

from labelgrove.core.ranking import RANKING_DEPTH, Ranking
from labelgrove.core.types import Tag
from labelgrove.tagger.given import check_hierarchy, given_labels
from labelgrove.tagger.state import FittedState
from labelgrove.tagger.thresholds import PER_LABEL, decide


def needed_depth(
    learned: FittedState, k: int, threshold: float | str | None, hierarchy: str | None = None
) -> int:
    """Return how many labels must be ranked for `name_tags` to give the best k.

    An invalid threshold or hierarchy raises an error here, before anything is ranked.
    """
    check_hierarchy(learned, hierarchy, threshold)
    if threshold is not None:
        decide(learned, threshold)
    # with thresholds of their own, labels behind the best k may be given instead of these
    return max(k, RANKING_DEPTH) if threshold == PER_LABEL else k


def name_tags(
    learned: FittedState,
    ranking: Ranking,
    k: int,
    threshold: float | str | None,
    hierarchy: str | None = None,
) -> Iterator[list[Tag]]:
    """Yield the tags of each row of a ranking, best first.

    Parameters
    ----------
    learned
        With the labels that the ranking numbers, and the thresholds.
    ranking
        Calibrated, with at least ``needed_depth(learned, k, threshold)`` labels a row.
    k, threshold, hierarchy
        As for `Tagger.tag`.
    """
    ids, names = learned.labels.ids, learned.labels.names
    given = given_labels(learned, ranking, k, threshold, hierarchy)
    for row in range(len(given)):
        yield [Tag(ids[label], names[label], score) for label, score in given.row(row)]
