"""Several taggers become one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from labelgrove.core.errors import InputError
from labelgrove.core.estimator import Featurizer
from labelgrove.labels import LabelSpace
from labelgrove.models.consensus import Consensus, Partner
from labelgrove.tagger.learning import Learned


def combine(taggers: Sequence[Learned]) -> Learned:
    """Return the consensus of what several taggers have learned.

    Labels are matched by id; each partner keeps its own features and calibration.
    """
    if len(taggers) < 2:
        raise InputError(f"a consensus needs two taggers or more, got {len(taggers)}")
    space = together([learned.labels for learned in taggers])
    numbers = {label: number for number, label in enumerate(space.ids[: space.n_labels])}
    partners: list[Partner] = []
    featurizers: dict[str, Featurizer] = {}
    for number, learned in enumerate(taggers, start=1):
        views = {view: f"{number}-{view}" for view in learned.featurizers}
        featurizers |= {views[view]: part for view, part in learned.featurizers.items()}
        own = learned.labels.ids[: learned.labels.n_labels]
        labels = np.array([numbers[label] for label in own], np.int32)
        partners.append(Partner(learned.model, views, labels, learned.calibration))
    return Learned(space, featurizers, Consensus.of(partners, space.n_labels))


def together(spaces: Sequence[LabelSpace]) -> LabelSpace:
    """Return one space with the labels of all; the first that knows a label tells of it.

    Of different counts of a label, and of documents, the largest is taken.
    """
    first: dict[str, tuple[LabelSpace, int]] = {}
    counts: dict[str, int] = {}
    for space in spaces:
        for number, label in enumerate(space.ids[: space.n_labels]):
            first.setdefault(label, (space, number))
            counts[label] = max(counts.get(label, 0), int(space.counts[number]))
    ids = sorted(first)
    return LabelSpace(
        ids,
        [counts[label] for label in ids],
        max(space.n_documents for space in spaces),
        names=[first[label][0].names[first[label][1]] for label in ids],
        descriptions=[first[label][0].descriptions[first[label][1]] for label in ids],
        alternatives=[first[label][0].alternatives[first[label][1]] for label in ids],
    )
