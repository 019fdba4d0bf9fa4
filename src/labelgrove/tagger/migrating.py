"""A new version of the vocabulary is carried over to a fitted tagger, without training."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from labelgrove.core.errors import BadRowError, InputError, UnknownNameError
from labelgrove.core.files import check_file, lines
from labelgrove.corpus import MatrixColumns
from labelgrove.labels import LabelSpace, Vocabulary
from labelgrove.labels.hierarchy import IntLists
from labelgrove.labels.vocabulary import bare
from labelgrove.models.relabelled import relabelled
from labelgrove.tagger.migration import Migration, compared
from labelgrove.tagger.state import FittedState

ONE_PAIR = "write an old and a new id on each line"
HEADER = ("old", "new")
Pairs = Mapping[str, Sequence[str]]


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
        told = [cell for cell in cells[1:] if cell]
        if cells[0] in found and not (told and found[cells[0]]):
            raise BadRowError(
                f"{cells[0]!r} is removed on one line and given on another; keep one of them",
                str(path),
                number,
            )
        new = found.setdefault(cells[0], [])
        new += [cell for cell in told if cell not in new]
    if not found:
        raise InputError(f"{path} holds no pair of ids: {ONE_PAIR}, with a tab between them")
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
    migration = compared(old, space, became)
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
            near = old.near(before, old.ids)
            raise UnknownNameError("old id in the map", before, near, total=len(old))
        for label in after:
            if label not in current.concepts:
                near = old.near(label, current.concepts)
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
