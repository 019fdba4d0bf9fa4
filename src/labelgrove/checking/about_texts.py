"""What a check finds out about the texts of one file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from labelgrove.checking.facts import NO_ID, FileFacts
from labelgrove.checking.findings import CHECK, NOTE, SERIOUS, FileFinding
from labelgrove.checking.near_copies import NearCopies
from labelgrove.checking.wording import Wording, verb
from labelgrove.core.wording import several
from labelgrove.text.copies import BLANK
from labelgrove.text.language import NO_LANGUAGE

MANY = 0.01  # share of documents from which on a fault is serious
MANY_BLANK = 0.05
COPIES = 0.01  # share of copies from which on they are worth a line
NEAR = 0.05
OTHER_LANGUAGE = 0.1


def about_reading(facts: FileFacts, wording: Wording) -> Iterator[FileFinding]:
    """Find rows that cannot be read, and letters that were read wrongly."""
    n = len(facts)
    if facts.skipped:
        yield FileFinding(
            "bad-rows",
            SERIOUS,
            facts.skipped / (n + facts.skipped),
            f"{several(facts.skipped, 'row')} of {facts.title} cannot be read",
            "correct them, or leave them out: --skip-bad",
            examples=[str(facts.first_bad)],
            numbers={"file": facts.name, "rows": facts.skipped},
        )
    for kind, rows, verbs, title, advice in (
        (
            "replaced-characters",
            facts.replaced,
            ("has", "have"),
            "the sign � in place of letters",
            "letters were lost when the file was written: export it again, as UTF-8",
        ),
        (
            "decoded-twice",
            facts.twice_encoded,
            ("has", "have"),
            "letters such as Ã¼ in place of ü",
            "the file was decoded twice on its way: export it again, as UTF-8",
        ),
    ):
        if rows:
            share = len(rows) / n
            yield FileFinding(
                kind,
                SERIOUS if share >= MANY else CHECK,
                share,
                f"{several(len(rows), 'text')} of {facts.title} {verb(len(rows), *verbs)} {title}",
                advice,
                places=wording.places(facts, rows),
                total=len(rows),
                numbers={"file": facts.name, "documents": len(rows)},
            )


def about_texts(facts: FileFacts, wording: Wording) -> Iterator[FileFinding]:
    """Find empty texts, and texts in other languages than most."""
    n = len(facts)
    blank = np.flatnonzero(facts.hashes == BLANK)
    if len(blank):
        yield FileFinding(
            "empty-texts",
            SERIOUS if len(blank) >= MANY_BLANK * n else CHECK,
            len(blank) / n,
            f"{several(len(blank), 'document')} of {facts.title} "
            f"{verb(len(blank), 'has', 'have')} no text",
            "a model learns nothing from them: name another column (--text-field), or remove them",
            places=wording.places(facts, blank),
            total=len(blank),
            numbers={"file": facts.name, "documents": len(blank)},
        )


def about_ids(facts: FileFacts, wording: Wording) -> Iterator[FileFinding]:
    """Find documents with the id of another one."""
    known = np.flatnonzero(facts.ids != NO_ID)
    pairs = _repeated(facts.ids, known)
    if len(pairs):
        yield FileFinding(
            "same-ids",
            CHECK,
            len(pairs) / len(facts),
            f"{several(len(pairs), 'row')} of {facts.title} {verb(len(pairs), 'has', 'have')} the "
            "id of another row",
            "results and feedback name documents by their ids: give each its own, or name another "
            "column (--id-field)",
            places=wording.pairs(facts, pairs),
            total=len(pairs),
            numbers={"file": facts.name, "documents": len(pairs)},
        )


def about_languages(facts: FileFacts, shares: Mapping[str, float]) -> Iterator[FileFinding]:
    """Find texts in another language than most.

    Parameters
    ----------
    facts
        The file.
    shares
        The share of each language, the largest first.
    """
    others = [code for code in list(shares)[1:] if code != NO_LANGUAGE]
    if others and shares[others[0]] >= OTHER_LANGUAGE:
        shown = ", ".join(
            f"{code} {shares[code]:.0%}" for code in [next(iter(shares)), *others[:2]]
        )
        yield FileFinding(
            "languages",
            CHECK,
            shares[others[0]],
            f"the texts of {facts.title} are in several languages: about {shown}",
            "words of one language tell nothing of another: train a tagger for each, or a model "
            "with a multilingual encoder ('labelgrove models')",
            numbers={
                "file": facts.name,
                "shares": {c: round(s, 3) for c, s in shares.items() if s >= 0.01},
            },
        )


def about_copies(
    facts: FileFacts, near: NearCopies, first: int, wording: Wording
) -> Iterator[FileFinding]:
    """Find texts that occur more than once in a file.

    Parameters
    ----------
    facts
        The file.
    near
        Near copies of the texts of both files.
    first
        The number there of the file's first document.
    wording
        Of the advice.
    """
    n = len(facts)
    pairs = _repeated(facts.hashes, np.flatnonzero(facts.hashes != BLANK))
    sets = _label_sets(facts)
    other = pairs[sets[pairs[:, 0]] != sets[pairs[:, 1]]]
    if len(other):
        share = len(other) / n
        yield FileFinding(
            "copies-with-other-labels",
            SERIOUS if share >= MANY else CHECK,
            share,
            f"{several(len(other), 'text')} of {facts.title} "
            f"{verb(len(other), 'occurs', 'occur')} again, with other labels",
            "a model cannot learn both: keep the right row of each, or one row with all labels",
            places=wording.pairs(facts, other),
            total=len(other),
            numbers={"file": facts.name, "documents": len(other)},
        )
    if len(pairs) - len(other) >= COPIES * n:
        same = pairs[sets[pairs[:, 0]] == sets[pairs[:, 1]]]
        yield FileFinding(
            "copies",
            CHECK,
            len(same) / n,
            f"{several(len(same), 'row')} of {facts.title} "
            f"{verb(len(same), 'repeats', 'repeat')} another row, with the same labels",
            "copies count twice in training: remove them",
            places=wording.pairs(facts, same),
            total=len(same),
            numbers={"file": facts.name, "documents": len(same)},
        )
    exact = np.zeros(n, np.bool_)
    exact[pairs.ravel()] = True
    yield from _about_near_copies(facts, near, first, exact, wording)


def _about_near_copies(
    facts: FileFacts, near: NearCopies, first: int, exact: NDArray[np.bool_], wording: Wording
) -> Iterator[FileFinding]:
    """Find texts that are nearly those of others; ``exact`` copies, shape (n,), do not count."""
    n, real = len(facts), facts.hashes != BLANK
    mine = slice(first, first + n)
    twins = np.flatnonzero((near.best[mine, 0] >= 0) & real & ~exact)
    if len(twins) >= NEAR * n:
        least = twins[np.argmin(near.similarity[mine, 0][twins])]
        order = np.concatenate([[least], twins[twins != least]])
        yield FileFinding(
            "near-copies",
            NOTE,
            len(twins) / n,
            f"{several(len(twins), 'text')} of {facts.title} ({len(twins) / n:.0%}) "
            f"{verb(len(twins), 'has', 'have')} a near copy in it",
            "a test set drawn at random would hold copies of training texts: keep them together",
            wording.split("--group", "near"),
            places=wording.pairs(
                facts, np.stack([order, near.best[mine, 0][order] - first], axis=1)
            ),
            shown=1,
            total=len(order),
            numbers={"file": facts.name, "documents": len(twins)},
        )


def _repeated(hashes: NDArray[np.integer], rows: NDArray[np.integer]) -> NDArray[np.integer]:
    """Return pairs of rows with equal hashes, the first in the file first; shape (m, 2).

    Each row that repeats others stands behind the last one before it.
    """
    order = rows[np.argsort(hashes[rows], kind="stable")]
    again = np.flatnonzero(hashes[order[1:]] == hashes[order[:-1]])
    pairs = np.stack([order[again], order[again + 1]], axis=1)
    return pairs[np.argsort(pairs[:, 1])]


def _label_sets(facts: FileFacts) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    """Return a number for the set of labels of each document: equal for equal sets."""
    random = np.random.default_rng(0)
    of_labels = random.integers(0, 2**64, facts.Y.shape[1], np.uint64)
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(of_labels[facts.Y.indices])])
    return np.asarray(sums[facts.Y.indptr[1:]] - sums[facts.Y.indptr[:-1]])
