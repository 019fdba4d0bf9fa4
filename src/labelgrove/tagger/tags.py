"""From a ranking to tags: which of the ranked labels a text is given, by id and name."""

from __future__ import annotations

from collections.abc import Iterator

from labelgrove.core.ranking import RANKING_DEPTH, Ranking
from labelgrove.core.types import Tag
from labelgrove.tagger.state import FittedState
from labelgrove.tagger.thresholds import PER_LABEL, decide


def needed_depth(learned: FittedState, k: int, threshold: float | str | None) -> int:
    """Return how many labels must be ranked for `name_tags` to give the best k.

    An invalid threshold raises an error here, before anything is ranked.
    """
    if threshold is not None:
        decide(learned, threshold)
    # with thresholds of their own, labels behind the best k may be given instead of these
    return max(k, RANKING_DEPTH) if threshold == PER_LABEL else k


def name_tags(
    learned: FittedState, ranking: Ranking, k: int, threshold: float | str | None
) -> Iterator[list[Tag]]:
    """Yield the tags of each row of a ranking, best first.

    Parameters
    ----------
    learned
        With the labels that the ranking numbers, and the thresholds.
    ranking
        Calibrated, with at least ``needed_depth(learned, k, threshold)`` labels a row.
    k, threshold
        As for `Tagger.tag`.
    """
    ids, names = learned.labels.ids, learned.labels.names
    decision = None if threshold is None else decide(learned, threshold)
    given = ranking.labels >= 0 if decision is None else decision.mask(ranking)
    for row, kept in enumerate(given):
        labels, scores = ranking.labels[row, kept][:k], ranking.scores[row, kept][:k]
        yield [
            Tag(ids[label], names[label], score)
            for label, score in zip(labels.tolist(), scores.tolist(), strict=True)
        ]
