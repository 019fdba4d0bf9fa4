"""What a check finds out about a training file and a test file together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from scipy.special import ndtri

from labelgrove.checking.facts import FileFacts
from labelgrove.checking.findings import CHECK, LISTED, SERIOUS, FileFinding
from labelgrove.checking.near_copies import NearCopies
from labelgrove.checking.wording import Wording, names_of, verb
from labelgrove.core.wording import several
from labelgrove.text.copies import BLANK, are_among, distinct_hashes

LEAK = 0.01  # share of test texts from which on scores are visibly too high
UNSEEN, MOSTLY_UNSEEN = 0.01, 0.2  # shares of the labels' occurrences in the test file
NEW_WORDS = 0.02  # share of words, beside what documents of the first file would have
LONGER = 1.5  # times as many words
CERTAIN = 5.0  # standard deviations
CHANCE = 0.01  # of one label or more seeming to differ where none does
TIMES = 2.0  # by which a label's share must differ to be worth a line
FEWEST = 1000  # words that tell something
SHOWN = 3


def about_leaks(
    train: FileFacts, test: FileFacts, near: NearCopies, wording: Wording
) -> Iterator[FileFinding]:
    """Find texts of the test file that the training file has too, exactly or nearly."""
    n = len(test)
    known = distinct_hashes(train.hashes)
    exact = are_among(test.hashes, known)
    twins = (near.best[len(train) :, 1] >= 0) & ~exact & (test.hashes != BLANK)
    n_exact, n_near = int(exact.sum()), int(twins.sum())
    if not n_exact + n_near:
        return
    share = (n_exact + n_near) / n
    told = [f"{several(n_exact, 'text')}"] if n_exact else []
    told += [f"{n_near:,} nearly the same"] if n_near and n_exact else []
    told += [f"{several(n_near, 'near copy', 'near copies')}"] if n_near and not n_exact else []
    order = np.argsort(train.hashes, kind="stable")
    rows = np.flatnonzero(exact)[:LISTED]
    first = order[np.searchsorted(train.hashes, test.hashes[rows], sorter=order)]
    same = [[(1, int(row)), (0, int(other))] for row, other in zip(rows, first, strict=True)]
    rows = np.flatnonzero(twins)[:LISTED]
    alike = [[(1, int(row)), (0, int(near.best[len(train) + row, 1]))] for row in rows]
    places = [*same[:1], *alike[:1], *same[1:], *alike[1:]]
    yield FileFinding(
        "in-both-files",
        SERIOUS if share >= LEAK else CHECK,
        share,
        f"{' and '.join(told)} of the {n:,} in {test.title} "
        f"{verb(n_exact + n_near, 'is', 'are')} in {train.title} too ({share:.1%})",
        "scores on them are too high: divide the documents again, copies on one side",
        wording.split("--group", "near"),
        places=places[:LISTED],
        total=n_exact + n_near,
        numbers={"documents": n_exact, "near_copies": n_near, "of": n},
    )


def about_unseen_labels(
    train: FileFacts, test: FileFacts, ids: Sequence[str], wording: Wording
) -> Iterator[FileFinding]:
    """Find labels that only the test file has."""
    known = np.zeros(len(ids), np.bool_)
    known[train.Y.indices] = True
    counts = np.bincount(test.Y.indices, minlength=len(ids))
    unseen = np.flatnonzero((counts > 0) & ~known)
    share = float(counts[unseen].sum() / max(counts.sum(), 1))
    if share < UNSEEN:
        return
    most = unseen[np.argsort(-counts[unseen], kind="stable")]
    mostly = share >= MOSTLY_UNSEEN
    yield FileFinding(
        "unseen-labels",
        SERIOUS if mostly else CHECK,
        share,
        f"{several(len(unseen), 'label')} of {test.title} ({share:.1%} of the occurrences) "
        f"{verb(len(unseen), 'is', 'are')} not in {train.title}",
        "check that both files name labels alike, by id or by name: a tagger cannot find labels "
        "that it has not seen"
        if mostly
        else "a tagger cannot find them, and they count as misses: divide the documents so that "
        "rare labels are on both sides",
        "" if mostly else wording.split(),
        examples=[names_of(ids[label] for label in most.tolist())],
        numbers={"labels": len(unseen), "share": share},
    )


def about_drift(train: FileFacts, test: FileFacts, ids: Sequence[str]) -> Iterator[FileFinding]:
    """Find differences of the files in labels, words and lengths beyond chance."""
    yield from _labels_drift(train, test, ids)
    yield from _words_drift(train, test)
    logs = [np.log1p(facts.words) for facts in (train, test)]
    means = [float(facts.words.mean()) for facts in (train, test)]
    error = np.sqrt(sum(each.var() / max(len(each), 1) for each in logs))
    gap = abs(logs[0].mean() - logs[1].mean())
    if gap > np.log(LONGER) and gap > CERTAIN * error:
        yield FileFinding(
            "lengths-differ",
            CHECK,
            float(min(gap / 3, 1)),
            f"texts of {test.title} have {means[1]:,.0f} words on average, those of {train.title} "
            f"{means[0]:,.0f}",
            "train on texts as they will come: the same columns, as long as those to be tagged",
            numbers={"words": means},
        )


def _labels_drift(train: FileFacts, test: FileFacts, ids: Sequence[str]) -> Iterator[FileFinding]:
    sizes = np.array([len(train), len(test)])
    counts = np.stack([np.bincount(each.Y.indices, minlength=len(ids)) for each in (train, test)])
    shares = counts / sizes[:, None]
    common = counts.sum(axis=0) / sizes.sum()
    error = np.sqrt(np.maximum(common * (1 - common), 1e-12) * (1 / sizes).sum())
    z = (shares[1] - shares[0]) / error
    limit = -ndtri(CHANCE / 2 / max(len(ids), 1))
    expected = common * sizes.min()  # a few documents are no normal distribution
    ratio = (np.max(shares, axis=0) + 1e-12) / (np.min(shares, axis=0) + 1e-12)
    other = np.flatnonzero((np.abs(z) > limit) & (expected >= 5) & (ratio >= TIMES))
    if not len(other):
        return
    most = other[np.argsort(-np.abs(z[other]), kind="stable")]
    moved = float(np.abs(shares[1] - shares[0])[other].sum() / max(shares.sum(), 1e-12))
    yield FileFinding(
        "labels-drift",
        CHECK,
        moved,
        f"{several(len(other), 'label')} {verb(len(other), 'is', 'are')} at least {TIMES:g} "
        "times as frequent in one file as in the other",
        "if the test file is newer, that is how it will be in use; else divide the documents again",
        examples=[
            "; ".join(
                f"'{ids[label]}' {shares[0, label]:.1%} → {shares[1, label]:.1%}"
                for label in most[:SHOWN].tolist()
            )
        ],
        numbers={"labels": len(other)},
    )


def _words_drift(train: FileFacts, test: FileFacts) -> Iterator[FileFinding]:
    aside, others = train.word_counts, test.word_counts
    if min(aside.sum(), others.sum()) < FEWEST:
        return
    usual = float(aside[~train.known_words].sum() / aside.sum())
    new = float(others[~train.known_words].sum() / others.sum())
    if new - usual < NEW_WORDS or new < 1.5 * usual:
        return
    yield FileFinding(
        "new-words",
        CHECK,
        new - usual,
        f"{new:.1%} of the words of {test.title} are new; in {train.title} itself it would be "
        f"{usual:.1%}",
        "the texts are of another kind or time: train on some that are like those to be tagged",
        examples=[names_of((word for word, _ in test.new_words.most_common(6)), 6)],
        numbers={"share": new, "usual": usual},
    )


def about_other_language(
    train: FileFacts,
    test: FileFacts,
    shares: Sequence[Mapping[str, float]],
) -> Iterator[FileFinding]:
    """Find a test file in another language than the training file.

    Parameters
    ----------
    train, test
        The files.
    shares
        The shares of the languages of both, the largest first.
    """
    first, second = (next(iter(each), None) for each in shares)
    if first is None or second is None or first == second:
        return
    if shares[0].get(second, 0) < 0.1 and shares[1][second] >= 0.6 <= shares[0][first]:
        yield FileFinding(
            "other-language",
            SERIOUS,
            1.0,
            f"most texts of {test.title} are in another language ({second}) than those of "
            f"{train.title} ({first})",
            "train on texts in the language of those to be tagged",
            numbers={"languages": [first, second]},
        )
