"""What became of the labels of a tagger under a new version of their vocabulary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from labelgrove.core.reader_words import for_reader
from labelgrove.labels import LabelSpace
from labelgrove.labels.vocabulary import bare

ENOUGH = 0.5  # share of the labels below which a new version is perhaps another vocabulary


@dataclass(frozen=True)
class Migration:
    """What became of the labels of a tagger; each old label is in one of the first six.

    Parameters
    ----------
    unchanged
        Labels with the same id and name.
    renamed
        Labels with another name: id, old name, new name.
    renumbered
        Labels with another id: the old one and the new one.
    merged
        New ids with the old ones that became them, two or more.
    split
        Old ids with the new ones that they became, two or more.
    removed
        Old ids that nothing stands for now; they are never given any more.
    moved
        Of the labels that stay alone: those with other parents than before.
    new
        Concepts of the new version that the tagger did not know.
    became
        All old ids with what became of them.
    """

    unchanged: tuple[str, ...]
    renamed: tuple[tuple[str, str, str], ...]
    renumbered: tuple[tuple[str, str], ...]
    merged: Mapping[str, tuple[str, ...]]
    split: Mapping[str, tuple[str, ...]]
    removed: tuple[str, ...]
    moved: tuple[str, ...]
    new: tuple[str, ...]
    became: Mapping[str, tuple[str, ...]]

    @property
    def warning(self) -> str:
        """What to check before the new tagger is used; empty where nothing is conspicuous."""
        kept, total = len(self.became) - len(self.removed), len(self.became)
        if kept >= ENOUGH * total:
            return ""
        return for_reader(
            f"the new version covers only {kept:,} of {total:,} labels ({kept / total:.0%}), the "
            "others are never given any more: is it the same vocabulary? --map FILE may tell what "
            "became of them"
        )

    def rows(self, examples: int = 3) -> list[list[str]]:
        """Return what happened, how often, and examples, for a table."""
        merged = [f"{', '.join(old)} -> {new}" for new, old in self.merged.items()]
        split = [f"{old} -> {', '.join(new)}" for old, new in self.split.items()]
        renamed = [f"{label}: {old} -> {new}" for label, old, new in self.renamed]
        found = {
            "unchanged": self.unchanged,
            "renamed": renamed,
            "another id": [f"{old} -> {new}" for old, new in self.renumbered],
            "merged": merged,
            "split": split,
            "removed": self.removed,
            "other parents": self.moved,
            "new concepts": self.new,
        }
        return [
            [what, f"{len(each):,}", "; ".join(each[:examples]) if what != "unchanged" else ""]
            for what, each in found.items()
        ]

    def record(self) -> dict[str, Any]:
        """Return the same as plain values, for JSON."""
        lists: dict[str, Any] = {
            "renamed": [
                {"label": label, "old_name": old, "new_name": new}
                for label, old, new in self.renamed
            ],
            "renumbered": [{"old": old, "new": new} for old, new in self.renumbered],
            "merged": [{"old": list(old), "new": new} for new, old in self.merged.items()],
            "split": [{"old": old, "new": list(new)} for old, new in self.split.items()],
            "removed": list(self.removed),
            "moved": list(self.moved),
            "new": list(self.new),
            "unchanged": list(self.unchanged),
        }
        return {
            "counts": {name: len(each) for name, each in lists.items()},
            **lists,
            "warning": self.warning or None,
        }


def compared(old: LabelSpace, new: LabelSpace, became: Mapping[str, tuple[str, ...]]) -> Migration:
    """Return what happened to each old label, and which concepts are new."""
    sources: dict[str, list[str]] = {}
    for label, each in became.items():
        for after in each:
            sources.setdefault(after, []).append(label)
    merged = {after: tuple(each) for after, each in sources.items() if len(each) > 1}
    alone = [
        (label, each[0])
        for label, each in became.items()
        if len(each) == 1 and each[0] not in merged
    ]
    stay = [label for label, after in alone if label == after]
    names = {label: (old.names[old.index(label)], new.names[new.index(label)]) for label in stay}
    known = {bare(label) for label in old.ids}
    return Migration(
        unchanged=tuple(label for label in stay if names[label][0] == names[label][1]),
        renamed=tuple(
            (label, *names[label]) for label in stay if names[label][0] != names[label][1]
        ),
        renumbered=tuple((label, after) for label, after in alone if label != after),
        merged=merged,
        split={label: each for label, each in became.items() if len(each) > 1},
        removed=tuple(label for label, each in became.items() if not each),
        moved=tuple(
            after for label, after in alone if _above(old, label, became) != _above(new, after, {})
        ),
        new=tuple(each for each in new.ids if bare(each) not in known and each not in sources),
        became=became,
    )


def _above(space: LabelSpace, label: str, became: Mapping[str, Sequence[str]]) -> set[str]:
    """Return the ids of a label's parents, by what became of them."""
    parents = [space.ids[number] for number in space.parents[space.index(label)]]
    return {bare(after) for each in parents for after in became.get(each, (each,))}
