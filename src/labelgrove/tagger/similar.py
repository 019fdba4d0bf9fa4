"""Documents of a corpus that are like a text: a tagger itself keeps no texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from labelgrove.core.errors import InputError
from labelgrove.core.progress import Progress
from labelgrove.corpus import Corpus
from labelgrove.labels import LabelMatcher
from labelgrove.tagger import batches
from labelgrove.tagger.explaining import Reasons, SimilarDocument
from labelgrove.tagger.incremental import check_kind
from labelgrove.tagger.reading import beginning
from labelgrove.tagger.state import FittedState
from labelgrove.text import Tfidf

MOST = 30  # documents that are looked for


class LabelledNeighbour(NamedTuple):
    """A document that is like a text.

    Parameters
    ----------
    text
        How it begins.
    similarity
        The cosine of both as tf-idf, at most 1.
    labels
        Ids of its labels.
    """

    text: str
    similarity: float
    labels: tuple[str, ...]


def similar_documents(
    learned: FittedState, text: str, corpus: Corpus, progress: Progress, k: int = MOST
) -> list[LabelledNeighbour]:
    """Return the k documents that share the most words with a text, the most similar first.

    Words are weighted by the tagger's tf-idf, else, where its model reads the text in another way,
    by one that is fitted on the corpus, which is then read twice. Documents without a common word
    are left out, and only k of them are held in memory.

    Parameters
    ----------
    learned
        The tagger's state; it names the labels.
    text
        The text.
    corpus
        Documents with labels.
    progress
        Where progress is shown.
    k
        So many documents.
    """
    check_kind(learned, corpus)
    if corpus.featurizer is not None:
        raise InputError(f"{corpus.name} holds features, in which no text can be shown: give texts")
    featurizer = _featurizer(learned, corpus, progress)
    match = LabelMatcher.of_space(learned.labels)
    query = featurizer.transform([text])
    best: list[LabelledNeighbour] = []
    for batch in batches.of_documents(progress.track(corpus, "looking for similar documents")):
        rows = featurizer.transform([document.text for document in batch])
        cosines = (rows @ query.T).toarray().ravel()
        order = np.argsort(-cosines, kind="stable")[:k]
        for i in order[cosines[order] > 0].tolist():
            document = batch[i]
            near = (beginning(document.text), float(cosines[i]), tuple(match(document.labels)))
            best.append(LabelledNeighbour(*near))
        best = sorted(best, key=lambda each: -each.similarity)[:k]
    return best


def with_neighbours(
    learned: FittedState, reasons: Reasons, near: Sequence[LabelledNeighbour], label: str
) -> Reasons:
    """Return reasons for a label, given by its id, beside these documents instead of their own."""
    space = learned.labels

    def name(own: str) -> str:
        return space.names[space.index(own)] if own in space else own

    documents = []
    for each in near:
        names = tuple(map(name, each.labels))
        documents.append(SimilarDocument(each.text, each.similarity, names, label in each.labels))
    return Reasons(reasons, documents, reasons.parts)


def _featurizer(learned: FittedState, corpus: Corpus, progress: Progress) -> Tfidf:
    for part in learned.featurizers.values():
        if isinstance(part, Tfidf) and part.norm == "l2":
            return part
    texts = (document.text for document in progress.track(corpus, "counting words"))
    return Tfidf().fit(texts)
