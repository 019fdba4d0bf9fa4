"""Thresholds, by name or as a number: which of the ranked labels a tagger gives."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from labelgrove.core.errors import InputError
from labelgrove.core.reader_words import either
from labelgrove.evaluation import Decision
from labelgrove.evaluation.threshold import FALLBACK
from labelgrove.tagger.promises import is_promise, promise_note, promised_threshold
from labelgrove.tagger.state import FittedState

GOALS = {"auto": "micro", "micro": "micro", "macro": "macro"}
PER_LABEL = "per-label"
OWN = "own"  # what the model itself decides


def decide(learned: FittedState, threshold: float | str) -> Decision:
    """Return the decision that a threshold stands for.

    Parameters
    ----------
    learned
        With thresholds that were tuned, or not.
    threshold
        ``"auto"``, ``"macro"``, ``"per-label"``, ``"own"`` (the model's own score, before
        calibration, is one half), a promise such as ``"precision=0.9"``, or a probability.
    """
    if threshold == PER_LABEL:
        return Decision(threshold=_of_labels(learned))
    if threshold == OWN:
        return Decision(threshold=float(learned.calibration.apply(FALLBACK)))
    if isinstance(threshold, str):
        if is_promise(threshold):
            return Decision(threshold=promised_threshold(learned, threshold))
        if threshold not in GOALS:
            raise InputError(
                "threshold must be a number, auto, macro, per-label, own, precision=SHARE or "
                f"recall=SHARE, got {threshold!r}"
            )
        return Decision(threshold=learned.thresholds[GOALS[threshold]])
    if not 0 <= threshold <= 1:
        raise InputError(f"threshold must be between 0 and 1, got {threshold}")
    return Decision(threshold=float(threshold))


def threshold_note(learned: FittedState, threshold: float | str | None) -> str:
    """Return what to know of a threshold: what a promise rests on, or that none was tuned."""
    if is_promise(threshold):
        return promise_note(learned, threshold)
    if threshold not in GOALS or learned.tuned:
        return ""
    said = f"nothing was held out to tune a threshold on, so {threshold} is {FALLBACK}"
    return f"{said}; {_way_out(learned)}"


def _of_labels(learned: FittedState) -> NDArray[np.float32]:
    """Return a threshold for each label, shape (L,); those learned later have that of macro."""
    if learned.by_label is None:
        raise InputError(
            "this tagger has no thresholds of single labels, which are tuned on held-out "
            f"documents; {_way_out(learned)}"
        )
    later = learned.labels.n_labels - len(learned.by_label)
    if not later:
        return learned.by_label
    common = np.full(later, learned.thresholds["macro"], np.float32)
    return np.concatenate([learned.by_label, common])


def _way_out(learned: FittedState) -> str:
    if learned.model.name == "consensus":
        return either(
            "call calibrate with documents that its partners have not learned from",
            "combine again with --valid FILE (Tagger.calibrate)",
        )
    if not learned.labels.n_documents:
        return "train again with documents that have labels, some of them held out"
    return either(
        "fit it again with validation=0.1, or call calibrate with documents that it has not "
        "learned from",
        "train again with --validation 0.1 or --valid FILE (Tagger.calibrate)",
    )
