"""The output layer in its three forms: one against all, softmax, a Huffman tree."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelgrove.core import checks
from labelgrove.core.ranking import Ranking
from labelgrove.models.fasttext import kernels

BYTES = 1 << 26  # of scores that are computed at once
LONGEST = 2.0  # step of a text's mean at the first rate, and in step with the rate later
LONGEST_OF_ONE = 8.0  # where one label was drawn
SURE = 4.0  # log odds
HALF = 0.5  # a document that every label is said to have half of, so that no share is 0 or 1


class LabelledRows(NamedTuple):
    """What gradients are taken from: rows of texts and numbers of their labels.

    Parameters
    ----------
    ids, ptr
        Text d is the mean of the rows ``ids[ptr[d]:ptr[d + 1]]``.
    y_ptr, y_ids
        Its labels in the same form, ascending.
    """

    ids: NDArray[np.int32]
    ptr: NDArray[np.int64]
    y_ptr: NDArray[np.int64]
    y_ids: NDArray[np.int32]

    @property
    def n_labels_of(self) -> NDArray[np.int64]:
        """Labels of each text, shape (n,)."""
        return np.diff(self.y_ptr)


class TrainingPace(NamedTuple):
    """How far a training is: the first rate, documents seen, documents in all."""

    rate: float
    done: int
    total: int

    def clip(self, longest: float) -> np.float32:
        """Return the longest gradient, before the rate, if a step is to be no longer than that."""
        return np.float32(longest / self.rate)


class OutputLayer(ABC):
    """Weights of an output layer, and how they learn and rank.

    Parameters
    ----------
    n_labels
        Number of labels L.
    weights
        Shape (L, d), or (L - 1, d) for a tree.
    """

    name: ClassVar[str]

    def __init__(self, n_labels: int, weights: NDArray[np.float32]) -> None:
        self.n_labels, self.weights = n_labels, weights

    @abstractmethod
    def learn(
        self,
        order: NDArray[np.int64],
        texts: LabelledRows,
        inputs: NDArray[np.float32],
        pace: TrainingPace,
        state: np.uint64,
    ) -> np.uint64:
        """Learn from documents in an order; return the state of the random numbers behind it."""

    @abstractmethod
    def rank(self, hidden: NDArray[np.float32], k: int) -> Ranking:
        """Return the best labels of texts whose means are ``hidden`` (n, d)."""

    @abstractmethod
    def direction(self, hidden: NDArray[np.float32], label: int) -> NDArray[np.float32]:
        """Return where the mean of a text (d,) would have to move for the label, shape (d,)."""

    def extras(self) -> dict[str, NDArray[Any]]:
        """Return arrays beside the weights, by name."""
        return {}

    def check(self) -> None:
        """Refuse arrays that do not belong together."""
        checks.array("weights", self.weights, np.float32, (self.n_labels, None))


class OneVsAll(OutputLayer):
    """Each label has a logistic regression of its own, on a fixed start: its frequency.

    Parameters
    ----------
    n_labels, weights
        As for every layer.
    bias
        Log odds that labels begin with, shape (L,).

    Attributes
    ----------
    quiet
        While it learns, a label that a text lacks learns from it if it is at least as probable.
    """

    name = "one-vs-all"

    def __init__(
        self, n_labels: int, weights: NDArray[np.float32], bias: NDArray[np.float32]
    ) -> None:
        super().__init__(n_labels, weights)
        self.bias, self.quiet = bias, 0.0

    def learn(
        self,
        order: NDArray[np.int64],
        texts: LabelledRows,
        inputs: NDArray[np.float32],
        pace: TrainingPace,
        state: np.uint64,
    ) -> np.uint64:
        """Learn from documents in an order."""
        beside = self.bias, sigmoids(), np.float32(self.quiet), pace.clip(LONGEST)
        kernels.one_vs_all(order, *texts, inputs, self.weights, *beside, *pace)
        return state

    def rank(self, hidden: NDArray[np.float32], k: int) -> Ranking:
        """Rank by the probability of each label."""
        ranking = _by_blocks(hidden, k, self.n_labels, self._odds)
        return ranking.with_scores(_sigmoid(apart(ranking.scores)))

    def direction(self, hidden: NDArray[np.float32], label: int) -> NDArray[np.float32]:
        """Return the weights of the label."""
        found: NDArray[np.float32] = self.weights[label]
        return found

    def extras(self) -> dict[str, NDArray[Any]]:
        """Return the log odds that labels begin with."""
        return {"bias_": self.bias}

    def check(self) -> None:
        """Refuse also another number of log odds."""
        super().check()
        checks.array("bias_", self.bias, np.float32, (self.n_labels,))

    def _odds(self, hidden: NDArray[np.float32]) -> NDArray[np.float32]:
        found: NDArray[np.float32] = hidden @ self.weights.T + self.bias
        return found


class Softmax(OutputLayer):
    """Probabilities of all labels sum to 1; a label is drawn from those of a document."""

    name = "softmax"

    def learn(
        self,
        order: NDArray[np.int64],
        texts: LabelledRows,
        inputs: NDArray[np.float32],
        pace: TrainingPace,
        state: np.uint64,
    ) -> np.uint64:
        """Learn from documents in an order."""
        clip = pace.clip(LONGEST_OF_ONE)
        return np.uint64(kernels.softmax(order, *texts, inputs, self.weights, clip, *pace, state))

    def rank(self, hidden: NDArray[np.float32], k: int) -> Ranking:
        """Rank by the share of each label."""
        return _by_blocks(hidden, k, self.n_labels, self._shares)

    def direction(self, hidden: NDArray[np.float32], label: int) -> NDArray[np.float32]:
        """Return the weights of the label beyond the mean weights of what the text is about."""
        found: NDArray[np.float32] = self.weights[label] - self._shares(hidden) @ self.weights
        return found

    def _shares(self, hidden: NDArray[np.float32]) -> NDArray[np.float32]:
        odds = hidden @ self.weights.T
        shares = np.exp(odds - odds.max(axis=-1, keepdims=True))
        found: NDArray[np.float32] = shares / shares.sum(axis=-1, keepdims=True)
        return found


class Hierarchical(OutputLayer):
    """Turns on the way down a Huffman tree; a label is drawn from those of a document."""

    name = "hierarchical"

    def __init__(
        self, n_labels: int, weights: NDArray[np.float32], children: NDArray[np.int32]
    ) -> None:
        super().__init__(n_labels, weights)
        self.children = children

    def learn(
        self,
        order: NDArray[np.int64],
        texts: LabelledRows,
        inputs: NDArray[np.float32],
        pace: TrainingPace,
        state: np.uint64,
    ) -> np.uint64:
        """Learn from documents in an order."""
        beside = *kernels.way_up(self.children), pace.clip(LONGEST_OF_ONE)
        return np.uint64(
            kernels.hierarchical(order, *texts, inputs, self.weights, *beside, *pace, state)
        )

    def rank(self, hidden: NDArray[np.float32], k: int) -> Ranking:
        """Rank by the product of the turns' probabilities."""
        return Ranking(*kernels.descend(hidden, self.weights, self.children, k))

    def direction(self, hidden: NDArray[np.float32], label: int) -> NDArray[np.float32]:
        """Return the gradient of the log of the label's probability."""
        parents, right = kernels.way_up(self.children)
        found = np.zeros(len(hidden), np.float32)
        node = label
        while parents[node] >= 0:
            weights = self.weights[parents[node] - self.n_labels]
            found += (float(right[node]) - _sigmoid(weights @ hidden)) * weights
            node = parents[node]
        return found

    def extras(self) -> dict[str, NDArray[Any]]:
        """Return the tree."""
        return {"children_": self.children}

    def check(self) -> None:
        """Refuse also a tree in which a node has no parent, two, or one that is below it."""
        n = self.n_labels
        checks.array("weights", self.weights, np.float32, (n - 1, None))
        checks.array("children_", self.children, np.int32, (n - 1, 2))
        if np.any(np.sort(self.children, axis=None) != np.arange(2 * n - 2)):
            raise ValueError("children_ must name each node but the root once")
        if np.any(self.children >= n + np.arange(n - 1)[:, None]):
            raise ValueError("children_ must come before their parents")


def new_output(name: str, Y: csr_array, size: int, prior: str, quiet: float) -> OutputLayer:
    """Return an output layer that has learned nothing: weights of zero."""
    n, n_labels = Y.shape
    counts = np.bincount(Y.indices, minlength=n_labels).astype(np.int64)
    weights = np.zeros((n_labels, size), np.float32)
    if name == Softmax.name:
        return Softmax(n_labels, weights)
    if name == Hierarchical.name:
        return Hierarchical(n_labels, weights[1:].copy(), kernels.huffman(counts))
    shares = (counts + HALF) / (n + 2 * HALF)
    bias = np.log(shares / (1 - shares)) if prior == "frequency" else np.zeros(n_labels)
    found = OneVsAll(n_labels, weights, bias.astype(np.float32))
    found.quiet = quiet
    return found


def saved_output(name: str, n_labels: int, state: Mapping[str, Any]) -> OutputLayer:
    """Return an output layer of what a folder holds, checked."""
    weights = state["outputs_"]
    found: OutputLayer
    if name == OneVsAll.name:
        found = OneVsAll(n_labels, weights, state["bias_"])
    elif name == Hierarchical.name:
        found = Hierarchical(n_labels, weights, state["children_"])
    elif name == Softmax.name:
        found = Softmax(n_labels, weights)
    else:
        raise ValueError(f"loss_ is {name!r:.40}, which is none")
    found.check()
    return found


def sigmoids() -> NDArray[np.float32]:
    """Return sigmoids in the middle of small steps, shape (STEPS,)."""
    reach, steps = float(kernels.REACH), kernels.STEPS
    places = (np.arange(steps) + 0.5) * (2 * reach / steps) - reach
    found: NDArray[np.float32] = _sigmoid(places).astype(np.float32)
    return found


def apart(odds: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return log odds that grow by their logarithm above `SURE`: probabilities of 1 would tie.

    Examples
    --------
    >>> apart(np.array([-2.0, 4.0, 14.0, 40.0])).round(1).tolist()
    [-2.0, 4.0, 6.4, 7.6]
    """
    return np.minimum(odds, SURE) + np.log1p(np.maximum(odds - SURE, 0))  # type: ignore[no-any-return]


def _sigmoid(odds: Any) -> Any:
    return 1 / (1 + np.exp(-odds.clip(-80, 80)))


def _by_blocks(hidden: NDArray[np.float32], k: int, n_labels: int, score: Any) -> Ranking:
    """Rank some texts at a time, so that scores of all labels fit into memory."""
    rows = max(BYTES // (4 * n_labels), 1)
    parts = (hidden[first : first + rows] for first in range(0, len(hidden), rows))
    ranked = [Ranking.from_dense(score(part), k) for part in parts]
    return Ranking.concatenate([Ranking.empty(0, k), *ranked])
