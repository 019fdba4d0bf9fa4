"""`FittedState`: all that a tagger has learned."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelgrove.core import checks
from labelgrove.core.estimator import Classifier, Featurizer
from labelgrove.core.features import Features, Views
from labelgrove.core.ranking import Ranking
from labelgrove.corpus import MatrixColumns
from labelgrove.evaluation import Calibration, HeldOutPlaces
from labelgrove.evaluation.threshold import FALLBACK
from labelgrove.labels import LabelSpace
from labelgrove.text.copies import are_among, distinct_hashes

UNTUNED = {"micro": FALLBACK, "macro": FALLBACK}  # thresholds where nothing is held out


@dataclass(frozen=True)
class FittedState:
    """All that a tagger has learned.

    Parameters
    ----------
    labels
        The label space.
    featurizers
        A fitted featurizer for each view.
    model
        The fitted classifier.
    calibration
        The monotone map from the model's scores to probabilities.
    thresholds
        The thresholds with the best micro- and macro-F1 on held-out documents.
    by_label
        A threshold for each label, tuned there too, shape (L,), or fewer: labels that were
        learned later have none. None where nothing was held out.
    reading
        How the files were read that it learned from: `Corpus.reading`.
    source
        Name of the file that it learned from, without folders; empty where it was no file.
    text_hashes
        Hashes of the texts that it learned from or was calibrated on, sorted, each once; shape
        (texts,), uint64. None where they are not known, as in folders saved before there were any.
    columns
        What the columns of a label matrix are, if it learned from one; None for lists of labels.
    places
        Scores and hits of the held-out documents, from which promises are made; None without
        them, or in a folder that was saved before there were any.
    held_out
        Calibrated ranking and true labels of the held-out documents; None without them, and
        not saved.
    """

    labels: LabelSpace
    featurizers: Mapping[str, Featurizer]
    model: Classifier
    calibration: Calibration = field(default_factory=Calibration.identity)
    thresholds: Mapping[str, float] = field(default_factory=lambda: dict(UNTUNED))
    by_label: NDArray[np.float32] | None = None
    reading: Mapping[str, Any] = field(default_factory=dict)
    source: str = ""
    text_hashes: NDArray[np.uint64] | None = None
    columns: MatrixColumns | None = None
    places: HeldOutPlaces | None = None
    held_out: tuple[Ranking, csr_array] | None = None

    @property
    def tuned(self) -> bool:
        """Whether the thresholds come from held-out documents (older folders have no others)."""
        return self.by_label is not None or self.thresholds != UNTUNED

    @property
    def n_own_thresholds(self) -> int:
        """Number of labels whose threshold differs from that of macro-F1."""
        macro = np.float32(self.thresholds["macro"])
        return 0 if self.by_label is None else int((self.by_label != macro).sum())

    def told_thresholds(self) -> str:
        """Return in one line which thresholds were found."""
        micro, macro = self.thresholds["micro"], self.thresholds["macro"]
        return (
            f"thresholds: auto {micro:.3g} (best micro-F1), macro {macro:.3g}, per-label for "
            f"{self.n_own_thresholds:,} of {self.labels.n_labels:,} labels"
        )

    def features(self, texts: Iterable[str]) -> Features:
        """Turn texts into what the model reads."""
        if len(self.featurizers) > 1 and not isinstance(texts, list | tuple):
            texts = list(texts)
        return join_views({view: part.transform(texts) for view, part in self.featurizers.items()})

    def rank(self, texts: Iterable[str], k: int) -> Ranking:
        """Return the best k labels of each text, with probabilities."""
        return self.calibrated(self.model.rank(self.features(texts), k))

    def check(self) -> None:
        """Refuse parts of a saved folder that do not belong to each other."""
        n_labels = self.model.n_labels_
        if n_labels > len(self.labels) or not self.featurizers:
            raise ValueError(
                f"a model of {n_labels:,} labels with {len(self.labels):,} labels and "
                f"{len(self.featurizers):,} views of the text"
            )
        if self.labels.n_labels != n_labels:
            raise ValueError(
                f"a model of {n_labels:,} labels with counts of {self.labels.n_labels:,} labels"
            )
        for name in UNTUNED:
            checks.number(f"thresholds {name}", self.thresholds[name])
        if self.by_label is not None:
            checks.array("by_label", self.by_label, np.float32, (None,))
            checks.whole("by_label", len(self.by_label), most=len(self.labels))
            checks.finite("by_label", self.by_label)
        if self.places is not None:
            self.places.check()
        if self.text_hashes is not None:
            checks.array("text_hashes", self.text_hashes, np.uint64, (None,))
            if (self.text_hashes[1:] <= self.text_hashes[:-1]).any():
                raise ValueError("hashes of learned texts that are not sorted")

    def are_learned(self, hashes: Sequence[int]) -> NDArray[np.bool_] | None:
        """Tell which of n texts it has learned from, by their hashes, shape (n,); None: unknown."""
        if self.text_hashes is None:
            return None
        return are_among(np.array(hashes, np.uint64), self.text_hashes)

    def with_texts(self, hashes: Iterable[int]) -> FittedState:
        """Return the same for a tagger that has learned from more texts, by their hashes."""
        if self.text_hashes is None:
            return self  # some are not known, so it can say nothing of any
        more = np.union1d(self.text_hashes, distinct_hashes(hashes))
        return replace(self, text_hashes=more)

    def with_what_is_read(self) -> FittedState:
        """Return the same without the views that the fitted model turned out not to need."""
        needed = self.model.views()
        kept = {view: part for view, part in self.featurizers.items() if view in needed}
        return replace(self, featurizers=kept or self.featurizers)

    def calibrated(self, ranking: Ranking) -> Ranking:
        """Return the ranking with probabilities instead of the model's own scores."""
        return ranking.with_scores(self.calibration.apply(ranking.scores))


def join_views(views: Mapping[str, Any]) -> Features:
    """Return the features of a single view as they are, those of several as `Views`."""
    return next(iter(views.values())) if len(views) == 1 else Views(views)
