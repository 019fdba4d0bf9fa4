"""How fast a model learns (Figure 3 of LACO)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelgrove.core.errors import InputError, UnknownNameError

History = Iterable[Mapping[str, float]]


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


def convergence_curve(history: History) -> Curve:
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
    history: History, *, share: float = 0.95, best: float | None = None
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


def mean_curve(curves: Sequence[Curve]) -> Curve:
    """Return the mean of several trainings' curves.

    It has the steps of all of them, as far as every training has an evaluation before and after;
    between its evaluations a curve is a straight line.

    Parameters
    ----------
    curves
        One or more.

    Examples
    --------
    >>> one = Curve(np.array([10, 20]), np.array([1.0, 2.0]), np.array([0.2, 0.4]))
    >>> two = Curve(np.array([10, 15, 30]), np.array([3.0, 4.0, 5.0]), np.array([0.4, 0.5, 0.8]))
    >>> mean = mean_curve([one, two])
    >>> mean.steps.tolist(), mean.scores.round(2).tolist()
    ([10, 15, 20], [0.3, 0.4, 0.5])
    """
    first = max(int(curve.steps[0]) for curve in curves)
    last = min(int(curve.steps[-1]) for curve in curves)
    if first > last:
        raise InputError(
            f"one training was first evaluated at step {first}, another last at step {last}: they "
            "have no step in common"
        )
    steps = np.unique(np.concatenate([curve.steps for curve in curves]))
    steps = steps[(steps >= first) & (steps <= last)]
    return Curve(
        steps,
        np.mean([np.interp(steps, curve.steps, curve.seconds) for curve in curves], axis=0),
        np.mean([np.interp(steps, curve.steps, curve.scores) for curve in curves], axis=0),
    )


def compare_convergence(
    histories: Mapping[str, Sequence[History]], baseline: str, *, share: float = 0.95
) -> dict[str, dict[str, float]]:
    """Tell how many steps systems need to learn what a baseline learns (Figure 3 of LACO).

    Parameters
    ----------
    histories
        For each system the histories of its trainings, as in `convergence_curve`.
    baseline
        All systems are measured by a share of its best score, the mean over its trainings.
    share
        This share.

    Returns
    -------
    For each system ``best`` (its own best score, the mean over trainings), ``reached`` (share of
    its trainings that come so far), ``steps`` and ``seconds`` until then (the mean over these; NaN
    for none), and ``speed``: the baseline's steps divided by its own.

    Examples
    --------
    >>> slow = [{"step": s, "seconds": s, "score": s / 100} for s in (10, 20, 30, 40)]
    >>> fast = [{"step": s, "seconds": s, "score": s / 50} for s in (10, 20)]
    >>> found = compare_convergence({"slow": [slow], "fast": [fast]}, "slow", share=1)
    >>> found["fast"]["steps"], found["fast"]["speed"]
    (20.0, 2.0)
    """
    if baseline not in histories:
        raise UnknownNameError("system", baseline, [*histories])
    # read once: a history may be any iterable
    kept = {name: [[*each] for each in own] for name, own in histories.items()}
    for name, own in kept.items():
        if not own:
            raise InputError(f"the system {name!r} has no training: leave it out")
    goal = float(np.mean([convergence(each)["best"] for each in kept[baseline]]))
    found = {name: _reaching(own, share, goal) for name, own in kept.items()}
    for values in found.values():
        values["speed"] = found[baseline]["steps"] / values["steps"]
    return found


def _reaching(
    histories: Sequence[Sequence[Mapping[str, float]]], share: float, goal: float
) -> dict[str, float]:
    """Return the means over trainings that `compare_convergence` gives for a system."""
    each = [convergence(history, share=share, best=goal) for history in histories]
    done = [values for values in each if not np.isnan(values["steps"])]
    means = {
        name: float(np.mean([values[name] for values in done])) if done else float("nan")
        for name in ("steps", "seconds")
    }
    best = float(np.mean([values["best"] for values in each]))
    return {"best": best, "reached": len(done) / len(each), **means}
