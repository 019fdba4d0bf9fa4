"""Several taggers become one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from labelgrove.core.errors import InputError
from labelgrove.core.estimator import Featurizer
from labelgrove.labels import LabelSpace
from labelgrove.models.consensus import Consensus, Partner
from labelgrove.tagger.state import FittedState


def combine(taggers: Sequence[FittedState]) -> FittedState:
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
    first = taggers[0].reading  # of files that all were trained on, unless they differ
    reading = first if all(learned.reading == first for learned in taggers) else {}
    model = Consensus.of(partners, space.n_labels)
    texts = [learned.text_hashes for learned in taggers]
    known = [each for each in texts if each is not None]
    return FittedState(
        space,
        featurizers,
        model,
        reading=reading,
        text_hashes=np.unique(np.concatenate(known)) if len(known) == len(texts) else None,
    )


def together(spaces: Sequence[LabelSpace]) -> LabelSpace:
    """Return one space with the labels and concepts of all; the first that knows one tells of it.

    Of different counts of a label, and of documents, the largest is taken. Whatever stands above
    a concept is known to the space that tells of it, so no circle can come about.
    """
    first: dict[str, tuple[LabelSpace, int]] = {}
    counts: dict[str, int] = {}
    for space in spaces:
        for number, label in enumerate(space.ids):
            first.setdefault(label, (space, number))
        for label, count in zip(
            space.ids, space.counts.tolist(), strict=False
        ):  # labels come first
            counts[label] = max(counts.get(label, 0), count)
    ids = [*sorted(counts), *sorted(first.keys() - counts.keys())]
    told = [first[label] for label in ids]
    numbers = {label: number for number, label in enumerate(ids)}
    return LabelSpace(
        ids,
        [counts[label] for label in ids[: len(counts)]],
        max(space.n_documents for space in spaces),
        names=[space.names[number] for space, number in told],
        descriptions=[space.descriptions[number] for space, number in told],
        alternatives=[space.alternatives[number] for space, number in told],
        parents=[
            [numbers[space.ids[above]] for above in space.parents[number]] for space, number in told
        ],
    )


def beside(own: LabelSpace, other: LabelSpace) -> LabelSpace:
    """Return the space of both, in which the labels of ``own`` come first, numbered as there.

    Examples
    --------
    >>> own, other = (LabelSpace.from_labels([ids]) for ids in (["b", "c"], ["a", "c"]))
    >>> beside(own, other).ids
    ['b', 'c', 'a']
    """
    both = together([own, other])
    known = dict.fromkeys(own.ids[: own.n_labels])
    others = [label for label in both.ids[: both.n_labels] if label not in known]
    return both.with_labels([both.index(label) for label in (*known, *others)])
