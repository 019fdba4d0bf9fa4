"""A tagger before and after it learned more: what changed, and whether that may be luck."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from labelgrove.core.progress import Progress
from labelgrove.core.wording import several
from labelgrove.corpus import Corpus
from labelgrove.evaluation import Difference, additive, labels_in_use
from labelgrove.evaluation.resampling import Additive, enough_samples, resampled, values
from labelgrove.evaluation.significance import FEWEST, difference
from labelgrove.evaluation.training_luck import (
    NOTHING_KNOWN,
    TrainingLuck,
    training_luck,
    with_training_luck,
)
from labelgrove.report.luck import MAIN, better_by, is_luck, points
from labelgrove.report.tables import Table
from labelgrove.tagger import Scores, Tagger
from labelgrove.tagger.combining import beside
from labelgrove.tagger.scoring import score_corpus

NONE = "–"
NO_SUMS = ("coverage", "hierarchical")  # how metrics begin that add up over no documents
Parts = Mapping[str, Additive]


@dataclass(frozen=True, eq=False)
class BeforeAfter:
    """The scores of a tagger before and after it learned more, on the same documents.

    Parameters
    ----------
    before, after
        The scores, over the labels of both.
    changes
        For each metric how much the score is higher after, with interval and p-value; empty with
        too few documents. ``coverage@k`` and hierarchical metrics have none.
    refits
        How many trainings with other seeds the intervals rest on; with 0 they cover the luck of
        the documents only.
    luck
        The luck of training in the main metric.
    """

    before: Scores
    after: Scores
    changes: Mapping[str, Difference]
    refits: int = 0
    luck: TrainingLuck = NOTHING_KNOWN

    @property
    def verdict(self) -> str:
        """One sentence: better, worse, or ahead by what may be luck."""
        if MAIN not in self.changes:
            return (
                f"{several(self.after.documents, 'document')} cannot tell whether the new tagger "
                f"is better: that takes {FEWEST} at least, and some hundreds to tell much"
            )
        found = better_by(MAIN, self.changes[MAIN])
        if found.value == 0:
            return f"the new tagger and the old one are equal by {MAIN}"
        turned = Difference(-found.value, -found.high, -found.low, found.p)
        if is_luck(found):
            first, second, lead = "new tagger", "old one", found
            if found.value < 0:
                first, second, lead = "old tagger", "new one", turned
            said = f"the {first} is ahead of the {second} by {points(MAIN, lead)}"
            return f"{said}, which may be luck"
        if found.value > 0:
            return f"the new tagger is better by {points(MAIN, found)}"
        return f"the new tagger is worse by {points(MAIN, turned)}"

    @property
    def about_intervals(self) -> str:
        """What the intervals cover; empty where there are none."""
        if not self.changes:
            return ""
        n = several(self.after.documents, "test document")
        if not self.refits:
            return f"intervals cover the luck of the {n}, and not that of training"
        return (
            f"intervals cover the luck of the {n} and that of training, by "
            f"{several(self.refits, 'more training')} with other seeds"
        )

    def table(self, title: str) -> Table:
        """Return the metrics before and after, and their differences."""
        rows = []
        for name in self.after:
            was, now = self.before[name], self.after[name]
            row = [name, f"{100 * was:.2f}", f"{100 * now:.2f}", _change(now - was)]
            if self.changes:
                found = self.changes.get(name)
                row.append(NONE if found is None else f"{_change(found.low)} to "
                           f"{_change(found.high)}")  # fmt: skip
            rows.append(row)
        columns = ["", "before", "after", "change", *(["95% interval"] * bool(self.changes))]
        return Table(columns, rows, title=title)

    def record(self) -> dict[str, Any]:
        """Return what changed as plain values, for JSON."""
        return {
            "metrics": {name: found._asdict() for name, found in self.changes.items()},
            "refits": self.refits,
            "training_spread": {MAIN: self.luck.spread} if self.luck.degrees else None,
            "verdict": self.verdict,
        }


def score_before_and_after(
    before: Tagger,
    after: Tagger,
    judged: Corpus,
    refits: Iterable[Tagger] = (),
    *,
    threshold: float | str = "auto",
    progress: Progress | None = None,
) -> BeforeAfter:
    """Score two taggers over the labels of both, and tell which differences may be luck.

    Parameters
    ----------
    before, after
        The taggers.
    judged
        Documents with labels that neither has learned from.
    refits
        Taggers trained as ``after`` was, with other seeds; asked for one by one, and none with
        fewer than six documents.
    threshold
        From which probability on a label counts as given.
    progress
        Where progress is shown.
    """
    was, old = _scored(before, after, judged, threshold, progress)
    now, new = _scored(after, before, judged, threshold, progress)
    if was.documents < FEWEST:
        return BeforeAfter(was, now, {})
    more = [_scored(each, before, judged, threshold, None)[1] for each in refits]
    changes, luck = _changes([old, new, *more], progress)
    return BeforeAfter(was, now, changes, len(more), luck[MAIN])


def _changes(
    parts: Sequence[Parts], progress: Progress | None
) -> tuple[dict[str, Difference], dict[str, TrainingLuck]]:
    """Return how much the second is above the first; the others are more trainings of it."""
    n_documents = parts[0][MAIN].part.shape[-1]
    told = [values(each) for each in parts]
    samples = resampled(parts, resamples=enough_samples(n_documents), progress=progress)
    changes, luck = {}, {}
    for name in parts[0]:
        own = [each[name] for each in samples]
        luck[name] = training_luck([[each[name] for each in told[1:]]], [own[1:]])
        varied = with_training_luck(own[1] - own[0], luck[name], (1, 1))
        changes[name] = difference(told[1][name] - told[0][name], varied)
    return changes, luck


def _scored(
    tagger: Tagger,
    other: Tagger,
    judged: Corpus,
    threshold: float | str,
    progress: Progress | None,
) -> tuple[Scores, Parts]:
    """Return the scores of a tagger over the labels of both, and what they add up from."""
    counted = beside(tagger.labels_, other.labels_)
    ranking, Y, scores = score_corpus(
        tagger.learned_, judged, threshold=threshold, counted=counted, progress=progress
    )
    parts = additive(
        Y,
        ranking,
        [name for name in scores if not name.startswith(NO_SUMS)],
        propensities=counted.propensities(n_columns=Y.shape[1]),
        threshold=tagger.decision(threshold),
        n_labels=labels_in_use(Y, counted.n_labels),
    )
    return scores, parts


def _change(value: float) -> str:
    return f"{round(100 * value, 2) + 0.0:+.2f}"  # a sum, since -0.0 would keep its sign
