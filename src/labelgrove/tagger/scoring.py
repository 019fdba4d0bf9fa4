"""How good a ranking of documents with known labels is, and what a reader should know of that."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy.sparse import csr_array

from labelgrove.core.ranking import Ranking
from labelgrove.evaluation import Decision, capped_rows, evaluate, labels_in_use
from labelgrove.labels import LabelSpace


class Scores(dict[str, float]):
    """Metrics by name, with ``notes`` on what a reader should know about them.

    ``documents`` tells how many were scored, ``seconds`` how long it took to tag them.
    """

    def __init__(
        self, values: Mapping[str, float], notes: list[str], documents: int, seconds: float = 0.0
    ) -> None:
        super().__init__(values)
        self.notes, self.documents, self.seconds = notes, documents, seconds


def judge(
    space: LabelSpace,
    Y: csr_array,
    ranking: Ranking,
    decision: Decision,
    ks: tuple[int, ...],
    counted: LabelSpace | None = None,
) -> Scores:
    """Return the metrics of a ranking.

    Parameters
    ----------
    space
        The labels that the tagger knows.
    Y
        True labels, shape (n, M); columns from L on are those that it does not know.
    ranking
        Of the n documents.
    decision
        From which probability on a label counts as given.
    ks
        The places at which rankings are cut.
    counted
        By whose counts labels are rare for PSP, and whose labels the Hamming loss is over;
        ``space`` by default.
    """
    whole = counted or space
    values = evaluate(
        Y, ranking, ks=ks, threshold=decision,
        propensities=whole.propensities(n_columns=Y.shape[1]),
        n_labels=labels_in_use(Y, whole.n_labels),
    )  # fmt: skip
    notes = [f"F1 and its kin count labels with a probability of at least {_told(decision)}"]
    if capped := capped_rows(ranking, decision, space.n_labels):
        notes.append(
            f"{capped:,} documents may have more than {ranking.k} labels above the "
            f"threshold; F1 and its kin count the best {ranking.k}"
        )
    if unseen := labels_in_use(Y, space.n_labels) - space.n_labels:
        share = (Y.indices >= space.n_labels).mean()
        notes.append(
            f"{unseen:,} labels ({share:.1%} of the occurrences) are not in the training data "
            "and count as misses"
        )
    if bare := int((np.diff(Y.indptr) == 0).sum()):
        notes.append(f"{bare:,} documents have no label and count 0 in P, R and nDCG")
    return Scores(values, notes, len(ranking))


def _told(decision: Decision) -> str:
    if isinstance(decision.threshold, np.ndarray):
        return f"{decision.threshold.min():.3g} to {decision.threshold.max():.3g}, by label"
    return f"{decision.threshold:.3g}"
