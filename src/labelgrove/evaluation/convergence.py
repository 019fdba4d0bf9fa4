"""How fast a model learns (Figure 3 of LACO)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelgrove.core.errors import InputError


class Curve(NamedTuple):
    """Validation scores as training went on, one for each evaluation.

    Parameters
    ----------
    steps
        Training steps until then, shape (m,).
    seconds
        Seconds until then, shape (m,).
    scores
        The scores, shape (m,).
    """

    steps: NDArray[np.int64]
    seconds: NDArray[np.float64]
    scores: NDArray[np.float64]


def convergence_curve(history: Iterable[Mapping[str, float]]) -> Curve:
    """Return the curve of a trained model from the events of its ``history_``.

    Where several networks were trained one after another (levels of a tree, members of an
    ensemble) the scores are those of the last, and the steps and seconds of the others come
    before its own.

    Parameters
    ----------
    history
        Events with ``step``, ``seconds`` and, where documents were held out, ``score``. Steps
        that do not rise are the beginning of another network.

    Examples
    --------
    >>> history = [
    ...     {"step": 10, "seconds": 1.0, "score": 0.2},
    ...     {"step": 20, "seconds": 2.5, "score": 0.4},
    ... ]
    >>> curve = convergence_curve(history)
    >>> curve.steps.tolist(), curve.scores.tolist()
    ([10, 20], [0.2, 0.4])
    """
    last: list[Mapping[str, float]] = []
    steps, seconds = 0.0, 0.0
    for event in history:
        if last and event["step"] <= last[-1]["step"]:
            steps, seconds = steps + last[-1]["step"], seconds + last[-1]["seconds"]
            last = []
        last.append(event)
    scored = [event for event in last if "score" in event]
    if not scored:
        raise InputError(
            "the history has no validation score: train the model with held-out documents"
        )
    return Curve(
        np.array([steps + event["step"] for event in scored], np.int64),
        np.array([seconds + event["seconds"] for event in scored], np.float64),
        np.array([event["score"] for event in scored], np.float64),
    )


def convergence(
    history: Iterable[Mapping[str, float]], *, share: float = 0.95, best: float | None = None
) -> dict[str, float]:
    """Tell how long a model took to learn most of what it learned.

    Parameters
    ----------
    history
        As in `convergence_curve`.
    share
        Share of the best score that counts as learned.
    best
        The score that it is a share of; the model's own best when None. A model that ends higher
        has further to go to a share of its own, so models are compared fairly with one score for
        all of them.

    Returns
    -------
    ``best`` (own score), ``best-step`` (the first that has it), ``steps`` and ``seconds`` of the
    first evaluation that reaches the share. They are as fine as evaluations are frequent, and NaN
    where the share is never reached, or nothing was learned (the best is not above 0).

    Examples
    --------
    >>> history = [
    ...     {"step": 10, "seconds": 1.0, "score": 0.2},
    ...     {"step": 20, "seconds": 2.5, "score": 0.5},
    ...     {"step": 30, "seconds": 4.0, "score": 0.52},
    ... ]
    >>> convergence(history)
    {'best': 0.52, 'best-step': 30.0, 'steps': 20.0, 'seconds': 2.5}
    """
    if not 0 < share <= 1:
        raise InputError(f"share must be above 0 and at most 1, got {share:g}")
    curve = convergence_curve(history)
    top = int(curve.scores.argmax())
    whole = float(curve.scores[top]) if best is None else best
    reached = np.flatnonzero((curve.scores >= share * whole) & (whole > 0))
    return {
        "best": float(curve.scores[top]),
        "best-step": float(curve.steps[top]),
        "steps": float(curve.steps[reached[0]]) if len(reached) else float("nan"),
        "seconds": float(curve.seconds[reached[0]]) if len(reached) else float("nan"),
    }
