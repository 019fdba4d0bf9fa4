"""One sentence on a comparison: who is better, by how much, and whether it may be luck."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, takewhile
from typing import Any, NamedTuple

import numpy as np

from labelgrove.core.wording import several
from labelgrove.evaluation import LOWER_IS_BETTER, holm
from labelgrove.evaluation.resampling import Floats
from labelgrove.evaluation.significance import FEWEST, Difference, difference, without_noise
from labelgrove.evaluation.training_luck import TrainingLuck, training_luck, with_training_luck
from labelgrove.report.contestants import Contestant
from labelgrove.report.luck import better_by, is_luck, points
from labelgrove.report.wording import percent

LISTED = 3  # names of trainings that are all shown
Systems = Mapping[str, Sequence[int]]


class SystemGap(NamedTuple):
    """How much the best system is better than another; ``gap`` has a plus where it is better."""

    other: str
    gap: Difference


@dataclass(frozen=True)
class Verdict:
    """Who is better by one metric.

    Parameters
    ----------
    metric
        Its name.
    documents
        Number of test documents.
    systems
        Numbers of the taggers of each system, the best system first, as of `systems_of`.
    gaps
        The lead of the best over each other system, the smallest first; p-values after Holm's
        correction for all pairs of systems.
    luck
        That of training, as far as several trainings tell of it.
    scores
        The metric of each tagger.
    """

    metric: str
    documents: int
    systems: Systems
    gaps: Sequence[SystemGap]
    luck: TrainingLuck
    scores: Sequence[float]

    @property
    def sentence(self) -> str:
        """The verdict in a sentence."""
        first = next(iter(self.systems))
        if self.documents < FEWEST:
            n = several(self.documents, "document")
            return f"{n} cannot tell which is better by {self.metric}, it takes {FEWEST}"
        if not self.gaps:
            return (
                f"{first}: {several(len(self.scores), 'training')} with other seeds, {self.metric} "
                f"{percent(min(self.scores))} to {percent(max(self.scores))}"
            )
        other, gap = self.gaps[0]
        if gap.value == 0:
            return f"{first} and {other} are equal by {self.metric}"
        if is_luck(gap):
            lead = f"{first} is ahead of {other} by {points(self.metric, gap)}"
            return f"{lead}, which may be luck {self._of_what}"
        lead = f"{first} is better than {other}"
        if len(self.systems) > 2:
            lead = f"{first} is the best of {len(self.systems)}, ahead of {other}"
        return f"{lead} by {points(self.metric, gap)}: more than luck {self._of_what}"

    @property
    def _of_what(self) -> str:
        """What luck the intervals cover."""
        if not self.luck.degrees:
            return (
                "of the test documents; each was trained once, so luck of training is not covered"
            )
        counts = [f"{len(own)}" for own in self.systems.values()]
        trainings = f"{', '.join(counts[:-1])} and {counts[-1]} trainings"
        if len({*counts}) == 1:
            trainings = f"{counts[0]} trainings of each"
        return f"of the test documents and of training ({trainings} with other seeds)"

    def record(self) -> dict[str, Any]:
        """Return it as plain values, for JSON."""
        return {
            "sentence": self.sentence,
            "metric": self.metric,
            "systems": {name: len(own) for name, own in self.systems.items()},
            "best": next(iter(self.systems)),
            "ahead_of": [{"system": each.other, **each.gap._asdict()} for each in self.gaps],
            "training_spread": self.luck.spread if self.luck.degrees else None,
        }


def judge(
    metric: str,
    contestants: Sequence[Contestant],
    scores: Sequence[float],
    samples: Sequence[Floats],
    documents: int,
) -> Verdict:
    """Return who is better by a metric.

    Parameters
    ----------
    metric
        Its name.
    contestants
        The taggers.
    scores
        The metric of each.
    samples
        The same on samples of the documents, each (resamples,).
    documents
        Number of the documents.
    """
    sign = -1 if metric in LOWER_IS_BETTER else 1
    found = systems_of(contestants)
    means = {name: float(np.mean([scores[i] for i in own])) for name, own in found.items()}
    order = sorted(found, key=lambda name: -sign * means[name])
    systems = {name: found[name] for name in order}
    luck = training_luck(
        [[scores[i] for i in own] for own in systems.values()],
        [[samples[i] for i in own] for own in systems.values()],
    )
    drawn = {name: np.mean([samples[i] for i in own], axis=0) for name, own in systems.items()}
    gaps = {}
    for pair in combinations(order, 2):
        counts = [len(systems[name]) for name in pair]
        varied = with_training_luck(drawn[pair[0]] - drawn[pair[1]], luck, counts)
        ahead = float(without_noise(means[pair[0]] - means[pair[1]]))
        gaps[pair] = better_by(metric, difference(ahead, varied))
    for (pair, gap), p in zip(gaps.items(), holm([gap.p for gap in gaps.values()]), strict=True):
        gaps[pair] = gap._replace(p=p)
    lead = [SystemGap(other, gaps[order[0], other]) for other in order[1:]]
    return Verdict(metric, documents, systems, lead, luck, scores)


def systems_of(contestants: Sequence[Contestant]) -> dict[str, list[int]]:
    """Return numbers of the contestants by system: those that differ by their seed only are one.

    What training chose by itself divides a system only where its seeds are not all different, as
    where word stems were given to three taggers and words to three others.
    """
    numbers = range(len(contestants))
    groups = []
    for own in _grouped(numbers, lambda i: contestants[i].training or f"={i}"):
        for part in [own] if _seeds_differ(contestants, own) else _by_choice(contestants, own):
            groups += [part] if _seeds_differ(contestants, part) else [[i] for i in part]
    taken = {each.name for each in contestants}
    systems: dict[str, list[int]] = {}
    for group in groups:
        name = _name([contestants[i] for i in group], taken)
        taken.add(name)
        systems[name] = group
    return systems


def _grouped(numbers: Iterable[int], key: Callable[[int], str]) -> list[list[int]]:
    """Return numbers with the same key together."""
    groups: dict[str, list[int]] = {}
    for number in numbers:
        groups.setdefault(key(number), []).append(number)
    return [*groups.values()]


def _by_choice(contestants: Sequence[Contestant], own: Sequence[int]) -> list[list[int]]:
    return _grouped(own, lambda i: contestants[i].chosen)


def _seeds_differ(contestants: Sequence[Contestant], own: Sequence[int]) -> bool:
    return len({contestants[i].seed for i in own}) == len(own)


def _name(trainings: Sequence[Contestant], taken: Container[str]) -> str:
    """Return what trainings of one system are called together; none of the names that are taken."""
    names = [each.name for each in trainings]
    if len(names) == 1:
        return names[0]
    shared = _beginning(names)
    if shared and shared not in taken:
        return shared
    listed = ", ".join(names) if len(names) <= LISTED else f"{names[0]} and {len(names) - 1} more"
    return f"{trainings[0].model} ({listed})"


def _beginning(names: Sequence[str]) -> str:
    """Return how all names begin, without a number at its end.

    Examples
    --------
    >>> _beginning(["bonsai-0", "bonsai-1"]), _beginning(["a", "b"])
    ('bonsai', '')
    """
    alike = takewhile(lambda letters: len({*letters}) == 1, zip(*names, strict=False))
    return "".join(letters[0] for letters in alike).rstrip("-_./ 0123456789")
