"""Why a label is suggested, in sentences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from labelgrove.core.estimator import Classifier, Featurizer
from labelgrove.core.features import Features, Views
from labelgrove.corpus.review import MISSING
from labelgrove.labels import LabelSpace
from labelgrove.tagger.audit.evidence import AuditEvidence
from labelgrove.tagger.audit.folds import COPY
from labelgrove.tagger.audit.suspicions import Suspicion
from labelgrove.tagger.explaining import words_behind
from labelgrove.tagger.reading import beginning

WORDS = 5  # that are named
NEAR = 10  # similar documents that are counted
OFTEN = 0.5  # share of another label's documents from which on it is a reason
FEW = 10  # other documents with a label up to which their number is a reason to doubt


class ReasonWriter:
    """Writes the reasons of suspicions.

    Parameters
    ----------
    evidence
        What they were judged by.
    labels
        Names of the labels.
    model
        Its name.
    featurizers
        By view.
    """

    def __init__(
        self,
        evidence: AuditEvidence,
        labels: LabelSpace,
        model: str,
        featurizers: Mapping[str, Featurizer],
    ) -> None:
        self._evidence, self._names, self._model = evidence, labels.names, model
        self._featurizers = featurizers
        self._documents = csc_array(evidence.Y)  # of each label

    def of_words(self, suspicion: Suspicion, model: Classifier, X: Features, text: str) -> str:
        """Return the words that spoke for a missing label, or against a wrong one; "" if none did.

        Parameters
        ----------
        suspicion
            A suspicion.
        model
            The model that left its document out.
        X
            Features of all documents.
        text
            Of the document.
        """
        row = X[np.array([suspicion.document])]
        told = model.explain(row, 0, suspicion.label)
        view = row[told.view] if isinstance(row, Views) else row
        sign = 1.0 if suspicion.kind == MISSING else -1.0
        words = words_behind(self._featurizers[told.view], text, told, view)
        spoke = [each.text for each in words if each.weight * sign > 0][:WORDS]
        if not spoke:
            return "" if suspicion.kind == MISSING else "no word of the text speaks for it"
        side = "for" if suspicion.kind == MISSING else "against"
        return f"words that speak {side} it: {', '.join(spoke)}"

    def of_model(self, suspicion: Suspicion) -> str:
        """Return how probable the model, without this document, finds the label."""
        row = np.array([suspicion.document])
        width = self._evidence.Y.shape[1]
        key = row * width + suspicion.label
        score, named = self._evidence.scores_of(row, key)
        if not named[0]:
            return f"{self._model}, without this document, does not name it"
        return f"{self._model}, without this document, gives it {score[0]:.2f}"

    def of_rarity(self, suspicion: Suspicion) -> str:
        """Return how few other documents have a label, which then nobody knows; "" if many do."""
        own = suspicion.kind != MISSING
        others = len(self._having(suspicion.label)) - own
        if others > FEW:
            return ""
        return f"only {others} of the other documents {'has' if others == 1 else 'have'} it"

    def of_companions(self, suspicion: Suspicion) -> str:
        """Return the other label of the document with which a missing one comes most often."""
        if suspicion.kind != MISSING:
            return ""
        Y, mine = self._evidence.Y, self._having(suspicion.label)
        others = Y.indices[Y.indptr[suspicion.document] : Y.indptr[suspicion.document + 1]]
        best, most = -1, OFTEN
        for other in others.tolist():
            theirs = self._having(other)
            both = len(np.intersect1d(mine, theirs, assume_unique=True))
            share = both / max(len(theirs) - 1, 1)
            if share >= most and len(theirs) > 2:
                best, most = other, share
        if best < 0:
            return ""
        return f"{most:.0%} of the documents with {self._names[best]} have it"

    def of_neighbours(self, suspicion: Suspicion, texts: Mapping[int, str]) -> list[str]:
        """Return how many similar documents have the label, and one that tells the most."""
        nearest = self._evidence.nearest
        near = nearest.documents[suspicion.document][:NEAR]
        near = near[near >= 0]
        if not len(near):
            return []
        has = np.isin(near, self._having(suspicion.label))
        told = [f"{int(has.sum())} of the {len(near)} most similar documents have it"]
        places = np.flatnonzero(has == (suspicion.kind == MISSING))
        if len(places) and int(near[places[0]]) in texts:
            place = places[0]
            similarity = float(nearest.similarities[suspicion.document, place])
            verb = "has" if suspicion.kind == MISSING else "lacks"
            like = "nearly the same text" if similarity >= COPY else f"{similarity:.2f} alike"
            text = beginning(texts[int(near[place])])
            told.append(f"a document {verb} it that is {like}: “{text}”")
        return told

    def shown_neighbours(self, suspicion: Suspicion) -> set[int]:
        """Return the documents whose texts `of_neighbours` may show."""
        near = self._evidence.nearest.documents[suspicion.document][:NEAR]
        return set(near[near >= 0].tolist())

    def _having(self, label: int) -> NDArray[np.integer[Any]]:
        """Return the documents that have a label."""
        first, last = self._documents.indptr[label : label + 2]
        having: NDArray[np.integer[Any]] = self._documents.indices[first:last]
        return having
