"""Learning more documents without training, with a model that remembers documents."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from labelgrove.core.errors import InputError
from labelgrove.core.progress import Progress
from labelgrove.core.types import FitContext, Run
from labelgrove.core.wording import several
from labelgrove.corpus import Corpus
from labelgrove.labels import LabelMatcher, Vocabulary
from labelgrove.tagger.reading import beginning
from labelgrove.tagger.state import FittedState
from labelgrove.text.copies import text_hash


def remember(
    learned: FittedState, corpus: Corpus, vocabulary: Vocabulary | None, progress: Progress
) -> FittedState:
    """Return the fitted state with a model that remembers more documents.

    Featurizers, calibration and thresholds are the same; ``learned`` is not changed.

    Parameters
    ----------
    learned
        With a model that remembers.
    corpus
        Documents with labels; those without are left out.
    vocabulary
        Names and hierarchy of labels that are not known yet.
    progress
        Where progress is shown.
    """
    check_kind(learned, corpus)
    known = learned.labels if vocabulary is None else learned.labels.widened(vocabulary)
    match = LabelMatcher.of_space(known)
    reader = _Labelled(corpus, match, progress)
    X = learned.features(reader)
    if not reader.truth:
        raise InputError(
            f"{corpus.name}: none of the {reader.bare:,} documents has a label, so there is "
            "nothing to learn"
        )
    space, Y = known.with_more(reader.truth)
    if note := match.note(unmatched=vocabulary is not None):
        progress.say(note)
    before = np.zeros(space.n_labels, np.int64)
    before[: learned.labels.n_labels] = learned.labels.counts
    new = int(((before == 0) & (space.counts > 0)).sum())
    progress.say(
        f"{len(reader.truth):,} more documents to remember; {new:,} of their labels had no "
        "document before"
    )
    if reader.bare:
        progress.say(f"{several(reader.bare, 'document has', 'documents have')} no label: left out")
    beginnings = set(reader.beginnings)
    beginnings.intersection_update(learned.model.remembered())
    beginnings.discard("")
    if copies := sum(text in beginnings for text in reader.beginnings):
        progress.say(
            f"{copies:,} of them begin as documents do that it remembers already: what is learned "
            "twice counts twice"
        )
    context = FitContext(
        labels=space,
        featurizers=learned.featurizers,
        documents=reader.beginnings,
        run=Run(progress=progress),
    )
    model = learned.model.remember(X, Y, context=context)
    more = learned.with_texts(reader.text_hashes)
    return replace(more, labels=space, model=model, held_out=None)


def check_retrains(learned: FittedState) -> None:
    """Raise an error for a tagger combined of saved ones: it does not know their settings."""
    if learned.featurizers.keys() <= learned.model.fresh().views().keys():
        return
    raise InputError(
        f"this {learned.model.name} was combined of taggers, whose settings it does not know: "
        "retrain each of them, then combine them anew"
    )


def check_kind(learned: FittedState, corpus: Corpus) -> None:
    """Raise an error if a tagger of texts is given features, or the other way round."""
    given = all(part.name == "given" for part in learned.featurizers.values())
    if given and corpus.featurizer is None:
        raise InputError(
            f"{corpus.name} holds texts, but this tagger was trained on features: give it features "
            "that were made in the same way"
        )
    if not given and corpus.featurizer is not None:
        raise InputError(
            f"{corpus.name} holds features, but this tagger was trained on texts: give it the texts"
        )


class _Labelled:
    """Texts of the documents that have labels; each reading collects the rest about them."""

    def __init__(self, corpus: Corpus, match: LabelMatcher, progress: Progress) -> None:
        self._corpus, self._match, self._progress = corpus, match, progress
        self.truth: list[Sequence[str]] = []
        self.beginnings: list[str] = []
        self.text_hashes = array("Q")
        self.bare = 0

    def __iter__(self) -> Iterator[str]:
        self.truth, self.beginnings, self.bare = [], [], 0
        self.text_hashes = array("Q")
        for document in self._progress.track(self._corpus, "reading"):
            if not document.labels:
                self.bare += 1
                continue
            self.truth.append(self._match(document.labels))
            self.beginnings.append(beginning(document.text))
            self.text_hashes.append(text_hash(document.text))
            yield document.text
