"""Probabilities and thresholds, fitted to documents that training has not seen."""

from __future__ import annotations

from array import array
from dataclasses import replace

from scipy.sparse import csr_array

from labelgrove.core.errors import InputError
from labelgrove.core.progress import Progress
from labelgrove.core.ranking import RANKING_DEPTH, Ranking
from labelgrove.corpus import Corpus
from labelgrove.evaluation import (
    Calibration,
    HeldOutPlaces,
    fit_calibration,
    tune_label_thresholds,
    tune_threshold,
)
from labelgrove.tagger.scoring import rank_corpus
from labelgrove.tagger.state import FittedState


def calibrated_on(learned: FittedState, raw: Ranking, Y: csr_array) -> FittedState:
    """Return what was learned with probabilities and thresholds fitted to held-out documents.

    Parameters
    ----------
    learned
        Whose calibration and thresholds are replaced.
    raw
        The model's own scores of the documents.
    Y
        Their labels.
    """
    learned = replace(learned, calibration=fit_calibration(Y, raw))
    ranking = learned.calibrated(raw)
    thresholds = {
        goal: tune_threshold(Y, ranking, goal=f"{goal}-F1").value for goal in learned.thresholds
    }
    by_label = tune_label_thresholds(Y, ranking, learned.labels.n_labels, thresholds["macro"])
    return replace(
        learned,
        thresholds=thresholds,
        by_label=by_label,
        places=HeldOutPlaces.of(Y, ranking),
        held_out=(ranking, Y),
    )


def calibrate(learned: FittedState, corpus: Corpus, progress: Progress | None) -> FittedState:
    """Rank the documents of a corpus and fit probabilities and thresholds to them."""
    uncalibrated = replace(learned, calibration=Calibration.identity())
    hashes = array("Q")
    raw, Y = rank_corpus(
        uncalibrated, corpus, RANKING_DEPTH, title="calibrating", hashes=hashes, progress=progress
    )
    if not Y.nnz:
        raise InputError(f"{corpus.name} holds no labels, so nothing can be calibrated by it")
    return calibrated_on(uncalibrated.with_texts(hashes), raw, Y)
