"""A new version of the vocabulary is carried over to a fitted tagger, without training."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.core.errors import BadRowError, InputError, UnknownNameError
from labelgrove.core.files import check_file, lines
from labelgrove.corpus import MatrixColumns
from labelgrove.labels import LabelSpace, Vocabulary
from labelgrove.labels.hierarchy import IntLists
from labelgrove.labels.vocabulary import bare
from labelgrove.models.relabelled import relabelled
from labelgrove.tagger.state import FittedState

ENOUGH = 0.5  # share of the labels below which a new version is perhaps another vocabulary
ONE_PAIR = "write an old and a new id on each line"
HEADER = ("old", "new")
Pairs = Mapping[str, Sequence[str]]


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
        return (
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


def read_map(path: str | os.PathLike[str]) -> dict[str, list[str]]:
    """Return the new ids of old ones, from a table with an old and a new id between tabs.

    An old id may stand on several lines (it is split), and so may a new one (old ones are merged);
    an old id without a new one is removed. A first line ``old``, ``new`` is a header.
    """
    path = Path(path)
    check_file(path)
    found: dict[str, list[str]] = {}
    for number, raw in enumerate(lines(path, ONE_PAIR), 1):
        try:
            cells = [bare(cell) for cell in raw.decode().rstrip("\r\n").split("\t")]
        except UnicodeDecodeError as error:
            raise BadRowError(f"this is not UTF-8: {error.reason}", str(path), number) from error
        if not any(cells) or (number == 1 and tuple(map(str.lower, cells)) == HEADER):
            continue
        if len(cells) > len(HEADER) or not cells[0]:
            raise BadRowError(f"expected an old and a new id; {ONE_PAIR}", str(path), number)
        new = found.setdefault(cells[0], [])
        new += [cell for cell in cells[1:] if cell and cell not in new]
    if not found:
        raise InputError(f"{path} is empty: {ONE_PAIR}, with a tab between them")
    return found


def migrate(
    learned: FittedState, vocabulary: Vocabulary, mapping: Pairs | None = None
) -> tuple[FittedState, Migration]:
    """Return the fitted state under a new version of its vocabulary, and what became of labels.

    Parameters
    ----------
    learned
        Not changed.
    vocabulary
        The new version.
    mapping
        New ids of old ones, none where an id is gone; they win over what the vocabulary says.
    """
    old, current = learned.labels, vocabulary.in_use()
    mapping = mapping or {}
    _check_map(mapping, old, current)
    became = {
        label: tuple(_successors(label, vocabulary, current, mapping))
        for label in old.ids[: old.n_labels]
    }
    ids = list(dict.fromkeys(new for each in became.values() for new in each))
    if not ids:
        raise InputError(
            f"{vocabulary.source} shares no label with the tagger, neither by id nor by what it "
            f"says of older ids: the tagger has {_examples(old.ids)}, the vocabulary "
            f"{_examples([*current.concepts])}; --map FILE tells which id became which"
        )
    numbers = {label: number for number, label in enumerate(ids)}
    targets = IntLists.of([[numbers[new] for new in each] for each in became.values()])
    counts = np.zeros(len(ids), np.int64)
    np.add.at(counts, targets.indices, np.repeat(old.counts, np.diff(targets.offsets)))
    counts = np.minimum(counts, old.n_documents)
    space = LabelSpace(ids, counts, old.n_documents).with_vocabulary(current)
    migration = _compared(old, space, became)
    one_to_one = not (migration.merged or migration.split or migration.removed)
    return (
        replace(
            learned,
            labels=space,
            model=relabelled(learned.model, targets, len(ids)),
            by_label=_thresholds(learned, targets, len(ids)),
            columns=_columns(learned.columns, became),
            places=learned.places if one_to_one else None,  # they do not know their labels
            held_out=None,
        ),
        migration,
    )


def _check_map(mapping: Pairs, old: LabelSpace, current: Vocabulary) -> None:
    """Raise an error for ids of a map that the tagger or the new version does not have."""
    known = {bare(label) for label in old.ids}
    for before, after in mapping.items():
        if before not in known:
            near = old._near(before, old.ids)
            raise UnknownNameError("old id in the map", before, near, total=len(old))
        for label in after:
            if label not in current.concepts:
                near = old._near(label, current.concepts)
                raise UnknownNameError("new id in the map", label, near, total=len(current))


def _successors(
    label: str, vocabulary: Vocabulary, current: Vocabulary, mapping: Pairs
) -> Iterator[str]:
    """Yield what a label has become, each once, by the map or through any number of successors."""
    key = label if label in vocabulary.concepts or label in mapping else bare(label)
    if key in mapping:
        yield from mapping[key]
        return
    if key in current.concepts:
        yield label  # documents may have it in angle brackets
        return
    seen, waiting = {key}, [key]
    while waiting:
        for new in vocabulary.successors.get(waiting.pop(0), ()):
            if new in seen:
                continue
            seen.add(new)
            if new in current.concepts:
                yield new
            else:
                waiting.append(new)


def _compared(old: LabelSpace, new: LabelSpace, became: Mapping[str, tuple[str, ...]]) -> Migration:
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


def _thresholds(
    learned: FittedState, targets: IntLists, n_labels: int
) -> NDArray[np.float32] | None:
    """Return a threshold for each new label: the lowest of those that became it, shape (n_labels,).

    So a document that was given one of the old labels is given the new one.
    """
    if learned.by_label is None:
        return None
    own = np.full(learned.labels.n_labels, learned.thresholds["macro"], np.float32)
    own[: len(learned.by_label)] = learned.by_label
    found = np.full(n_labels, np.inf, np.float32)
    np.minimum.at(found, targets.indices, np.repeat(own, np.diff(targets.offsets)))
    return found


def _columns(columns: MatrixColumns | None, became: Pairs) -> MatrixColumns | None:
    """Return the columns of a label matrix under their new ids, each once."""
    if columns is None:
        return None
    names = [new for name in columns.names for new in became.get(name, (name,))]
    return replace(columns, names=tuple(dict.fromkeys(names)))


def _examples(ids: Sequence[str]) -> str:
    return ", ".join(repr(label) for label in ids[:3]) + (", ..." if len(ids) > 3 else "")
