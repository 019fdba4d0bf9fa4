"""What a check finds out about the labels of a file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelgrove.checking.companions import companions
from labelgrove.checking.facts import FileFacts
from labelgrove.checking.findings import CHECK, LISTED, NOTE, SERIOUS, FileFinding
from labelgrove.checking.spelling import Spelling, spellings
from labelgrove.checking.wording import Wording, names_of, verb
from labelgrove.core.wording import several

MANY_BARE = 0.2  # share of documents without labels from which on they are serious
EVERYWHERE = 0.98  # of all documents: a label that tells nothing
LISTS = 0.1  # share of labels that look like several
SINGLE = 0.25  # share of labels with one document, or with few
FEW = 5  # documents: a label with fewer is hard to learn
TOGETHER = 0.1  # share of the rarer label's documents that have both, so both are meant
MARKS = (";", "|")
SHOWN = 3
EMPTY = {"n/a", "#n/a", "na", "nan", "none", "null", "nil", "-", "--", "–", "—", "?", "."}
DATE = re.compile(r"\d{4}-\d\d?-\d\d?([ T]\d\d?:\d\d(:\d\d)?)?|\d\d?([./])\d\d?\3\d{4}")


def spelled_alike(Y: csr_array, ids: Sequence[str], language: str | None) -> list[Spelling]:
    """Return labels that seem to be others, spelled differently; see `spellings`.

    Parameters
    ----------
    Y
        Labels, shape (n, L).
    ids
        The L labels.
    language
        The language of the texts.
    """
    columns = Y.tocsc()
    counts = np.diff(columns.indptr)

    def documents(label: int) -> NDArray[np.int32]:
        return np.asarray(columns.indices[columns.indptr[label] : columns.indptr[label + 1]])

    def apart(one: int, other: int) -> bool:
        both = len(np.intersect1d(documents(one), documents(other)))
        return bool(both > TOGETHER * min(counts[one], counts[other]))

    return spellings(ids, counts, language, apart)


def about_spellings(
    found: Sequence[Spelling], ids: Sequence[str], counts: NDArray[np.int64], wording: Wording
) -> Iterator[FileFinding]:
    """Tell of labels that are spelled in several ways; plurals are less sure than the rest."""
    for kind, level, part, verbs, what in (
        (
            "spellings",
            SERIOUS,
            [each for each in found if each.reason != "number"],
            ("differs", "differ"),
            "from another label only in case, spaces or punctuation",
        ),
        (
            "plurals",
            CHECK,
            [each for each in found if each.reason == "number"],
            ("looks", "look"),
            "like the singular or plural of another label",
        ),
    ):
        if not part:
            continue
        shown = [
            " and ".join(f"'{ids[i]}' ({counts[i]:,})" for i in (each.label, each.other))
            for each in part[:SHOWN]
        ]
        advice, command = wording.merging()
        yield FileFinding(
            kind,
            level,
            float(sum(counts[each.label] for each in part) / max(counts.sum(), 1)),
            f"{several(len(part), 'label')} {verb(len(part), *verbs)} {what}",
            advice,
            command,
            examples=shown,
            numbers={"labels": len(part)},
        )


def about_labels(facts: FileFacts, ids: Sequence[str], wording: Wording) -> Iterator[FileFinding]:
    """Find documents without labels, labels that are lists, and labels that tell nothing."""
    n = len(facts)
    bare = np.flatnonzero(np.diff(facts.Y.indptr) == 0)
    if len(bare) and len(bare) < n:
        share = len(bare) / n
        yield FileFinding(
            "no-labels",
            SERIOUS if share >= MANY_BARE else CHECK,
            share,
            f"{several(len(bare), 'document')} of {facts.title} ({share:.1%}) "
            f"{verb(len(bare), 'has', 'have')} no labels",
            "they count as having none of the labels; leave them out if nobody has labelled them",
            places=wording.places(facts, bare),
            shown=1,
            total=len(bare),
            numbers={"file": facts.name, "documents": len(bare)},
        )
    counts = np.bincount(facts.Y.indices, minlength=len(ids))
    used = np.flatnonzero(counts)
    for mark in MARKS:
        lists = [ids[label] for label in used.tolist() if mark in ids[label]]
        if lists and len(lists) >= LISTS * len(used):
            yield FileFinding(
                "lists",
                SERIOUS,
                1.0,
                f"{several(len(lists), 'label')} of {facts.title} "
                f"{verb(len(lists), 'holds', 'hold')} '{mark}' and may be several labels in one",
                *_separated(facts, wording, mark),
                examples=[names_of(lists, 2)],
                numbers={"file": facts.name, "labels": len(lists)},
            )
    yield from _about_no_labels(facts, ids, counts, used.tolist())
    everywhere = used[counts[used] >= EVERYWHERE * n]
    if len(everywhere) and n >= 20:
        yield FileFinding(
            "everywhere",
            CHECK,
            1.0,
            f"{several(len(everywhere), 'label')} on nearly every document of {facts.title}: "
            + names_of(ids[label] for label in everywhere.tolist()),
            "a label that all documents have cannot be learned: leave it out",
            numbers={
                "file": facts.name,
                "labels": [ids[label] for label in everywhere[:100].tolist()],
            },
        )


def _about_no_labels(
    facts: FileFacts, ids: Sequence[str], counts: NDArray[np.int64], used: Sequence[int]
) -> Iterator[FileFinding]:
    """Find what stands where a label is missing, and dates; ``used`` are numbers of labels."""
    for kind, what, advice, odd in (
        (
            "placeholders",
            ("seems to stand for no label", "seem to stand for no label"),
            "a tagger would learn them as labels: empty these cells",
            [each for each in used if ids[each].strip().casefold() in EMPTY],
        ),
        (
            "dates",
            ("looks like a date", "look like dates"),
            "check that the columns of these rows have not shifted",
            [each for each in used if DATE.fullmatch(ids[each].strip())],
        ),
    ):
        if odd:
            names = [ids[each] for each in odd]
            yield FileFinding(
                kind,
                CHECK,
                float(counts[odd].sum() / max(counts.sum(), 1)),
                f"{several(len(odd), 'label')} of {facts.title} {verb(len(odd), *what)}",
                advice,
                examples=["; ".join(f"'{ids[i]}' ({counts[i]:,})" for i in odd[:SHOWN])],
                numbers={"file": facts.name, "labels": names[:LISTED]},
            )


def about_frequencies(facts: FileFacts, ids: Sequence[str]) -> Iterator[FileFinding]:
    """Tell of labels with one document only, or else of those with few."""
    counts = np.bincount(facts.Y.indices, minlength=len(ids))
    n_labels, single = int((counts > 0).sum()), np.flatnonzero(counts == 1)
    if len(single) >= SINGLE * n_labels and n_labels > 1:
        yield FileFinding(
            "one-document",
            NOTE,
            len(single) / n_labels,
            f"{len(single):,} of the {n_labels:,} labels ({len(single) / n_labels:.0%}) have one "
            "document only",
            "nothing can be learned from one document; with names of the labels (--labels) they "
            "can be found in the text, and 'split' keeps documents of rare labels on both sides",
            examples=[names_of(ids[label] for label in single.tolist())],
            numbers={"labels": len(single)},
        )
        return
    few = np.flatnonzero((counts > 0) & (counts < FEW))
    if len(few) >= SINGLE * n_labels and n_labels > 1:
        yield FileFinding(
            "few-documents",
            NOTE,
            len(few) / n_labels,
            f"{len(few):,} of the {n_labels:,} labels ({len(few) / n_labels:.0%}) have fewer than "
            f"{FEW} documents",
            "little can be learned from so few; names of the labels (--labels) help to find them",
            examples=[names_of(ids[label] for label in few.tolist())],
            numbers={"labels": len(few)},
        )


def _separated(facts: FileFacts, wording: Wording, mark: str) -> tuple[str, str]:
    """Return what to do about labels that hold a mark, and the command for it."""
    if "--separator" not in wording.options:
        return "say what separates labels", wording.command(
            "check", facts.name, "--separator", mark
        )
    return (
        f"a file is read with one separator: if '{mark}' separates labels too, put the separator "
        "that was given in its place in the file",
        "",
    )


def about_companions(facts: FileFacts, ids: Sequence[str]) -> Iterator[FileFinding]:
    """Tell of labels that always stand together, and of labels that bring a broader one along."""
    found = companions(facts.Y)
    counts = np.bincount(facts.Y.indices, minlength=len(ids))
    n_labels = max(int((counts > 0).sum()), 1)
    for kind, pairs, what, sign, advice in (
        (
            "together",
            found.same,
            ("always stands together", "always stand together"),
            "and",
            "keep one label of each pair, unless both are needed: they cannot be told apart",
        ),
        (
            "hierarchy",
            found.narrower,
            (
                "looks like a hierarchy: the first nearly always brings the second along",
                "look like a hierarchy: the first nearly always brings the second along",
            ),
            "→",
            "if it is one, write it down as parents of the labels (--labels FILE)",
        ),
    ):
        if pairs:
            yield FileFinding(
                kind,
                NOTE,
                len({one for one, _ in pairs}) / n_labels,
                f"{several(len(pairs), 'pair')} of labels {verb(len(pairs), *what)}",
                advice,
                examples=[
                    "; ".join(f"'{ids[one]}' {sign} '{ids[other]}'" for one, other in pairs[:SHOWN])
                ],
                numbers={
                    "pairs": len(pairs),
                    "first": [[ids[one], ids[other]] for one, other in pairs[:100]],
                },
            )
