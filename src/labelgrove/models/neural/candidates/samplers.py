"""Which labels a training step judges for each document.

They serve any network that judges candidates: every label, the children of true and of once
guessed parents in a label tree, labels drawn at random, and the clusters that a generator, which
learns in the same step, holds for the likeliest. What a first stage names is in `first_stage`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor

from labelgrove.models.neural.candidates.nodes import (
    Children,
    Entries,
    Truth,
    ranks,
    runs,
    topped_up,
)


class Sampled(NamedTuple):
    """The labels that are judged; a text has none of them twice.

    Parameters
    ----------
    labels
        Shape (b, C), int64; anything where a text has fewer than C.
    real
        Which of them count, shape (b, C), bool; those of a text come first.
    odds
        Log odds that they start from, shape (b, C), float32; None for none.
    """

    labels: NDArray[np.int64]
    real: NDArray[np.bool_]
    odds: NDArray[np.float32] | None = None


class Sampler(ABC):
    """A way to choose; what it draws it draws from torch, which the loop seeds for every step."""

    @abstractmethod
    def choose(self, rows: NDArray[np.int64], clusters: Tensor | None = None) -> Sampled | None:
        """Choose for the documents ``rows`` (b,).

        Parameters
        ----------
        rows
            Numbers of training documents.
        clusters
            The generator's logits, shape (b, n_clusters), where there is one.

        Returns
        -------
        chosen
            None for all labels.
        """


class Everything(Sampler):
    """All labels, always."""

    def choose(self, rows: NDArray[np.int64], clusters: Tensor | None = None) -> None:
        """Return None."""


class Uniform(Sampler):
    """All labels of a document, and others at random, each as likely as any other.

    Parameters
    ----------
    Y
        Labels of the documents, shape (n, L).
    budget
        Labels judged for a document; one that has more draws so many of its own.
    """

    def __init__(self, Y: csr_array, budget: int) -> None:
        self._truth, self._budget = Truth(Y), budget

    def choose(self, rows: NDArray[np.int64], clusters: Tensor | None = None) -> Sampled:
        """Draw anew; a document has exactly ``budget`` labels, if there are so many."""
        truth, n = self._truth, len(rows)
        own = truth.of(rows)
        others = truth.width - truth.sizes(rows)  # of each document, shape (b,)
        wanted = np.minimum(np.maximum(self._budget - truth.sizes(rows), 0), others)
        nothing = np.zeros((n, 0), np.int64)
        chosen = Sampled(nothing, nothing.astype(bool))
        chosen = _joined(chosen, _at_most(own, np.full(n, self._budget)))
        return _joined(chosen, _skipping(own, truth.width, _spread(wanted, others)))


class Static(Sampler):
    """The children of a document's true parents, and of others that were guessed once.

    Parameters
    ----------
    children
        Of the parents' level.
    Y, parents
        Which labels, and which parents, documents have, shapes (n, L) and (n, P).
    guessed
        The parents that each document was found likeliest to have, best first, -1 for none, shape
        (n, p).
    most
        Parents of a document.
    budget
        None lets a document with more than ``most`` true parents learn from all their children.
        A number lets it learn from those of ``most`` of them, and its labels elsewhere, of which
        it draws if it has more than this in all.
    most_true
        With a budget, true parents among these as long as there are others; None for ``most``.
    """

    def __init__(
        self,
        children: Children,
        Y: csr_array,
        parents: csr_array,
        guessed: NDArray[np.integer[Any]],
        most: int,
        budget: int | None = None,
        most_true: int | None = None,
    ) -> None:
        self._children, self._truth, self._parents = children, Truth(Y), Truth(parents)
        self._guessed, self._most, self._budget = guessed, most, budget
        self._most_true = most if most_true is None else most_true

    def choose(self, rows: NDArray[np.int64], clusters: Tensor | None = None) -> Sampled:
        """Return the same as ever for a document, but for what is drawn of too many labels."""
        if self._budget is None:
            parents = topped_up(self._parents, rows, self._guessed[rows], self._most)
            nodes, real, _ = self._children.of(parents)
            return Sampled(nodes, real)
        return _within(self._children, self._truth, rows, self._few_true(rows), self._budget)

    def _few_true(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return ``most`` parents of each document, of which few enough are true, shape (b, p)."""
        n_true = self._parents.sizes(rows)
        most = self._most + int(n_true.max(initial=0))
        parents = topped_up(self._parents, rows, self._guessed[rows], most)
        place = np.arange(parents.shape[1])
        late = (place >= self._most_true) & (place < n_true[:, None])
        order = np.argsort(late | (parents < 0), axis=1, kind="stable")
        return np.take_along_axis(parents, order, axis=1)[:, : self._most]


class Generated(Sampler):
    """All labels of the likeliest clusters, as a generator sees them now, and all true labels.

    Lines 6 to 11 of Algorithm 2 of LightAttention: clusters are ordered by their probability,
    plus 1 for those that hold a label of the document.

    Parameters
    ----------
    children
        Of the clusters.
    Y, clusters
        Which labels, and which clusters, documents have, shapes (n, L) and (n, K).
    most
        Clusters of a document.
    budget
        A document with more labels of its own than this draws of those outside its clusters.
    most_true
        Clusters of these that hold a label of the document, as long as there are others: the
        generator must have a choice. None for ``most``, as printed.
    """

    def __init__(
        self,
        children: Children,
        Y: csr_array,
        clusters: csr_array,
        most: int,
        budget: int,
        most_true: int | None = None,
    ) -> None:
        self._children, self._truth, self._clusters = children, Truth(Y), Truth(clusters)
        self._most, self._budget = most, budget
        self._most_true = most if most_true is None else most_true

    def choose(self, rows: NDArray[np.int64], clusters: Tensor | None = None) -> Sampled:
        """Choose by the logits ``clusters`` (b, K), of which no gradient is taken."""
        assert clusters is not None
        scores = clusters.detach().float().sigmoid().cpu()
        own = self._clusters.of(rows)
        order = np.lexsort((-scores.numpy()[own.texts, own.nodes], own.texts))
        texts, nodes = own.texts[order], own.nodes[order]
        late = ranks(own, len(rows)) >= self._most_true  # of a text's own, the likeliest first
        scores[torch.from_numpy(texts), torch.from_numpy(nodes)] += torch.from_numpy(
            np.where(late, -2.0, 1.0).astype(np.float32)
        )
        best = scores.topk(min(self._most, scores.shape[1]), dim=1).indices.numpy()
        return _within(self._children, self._truth, rows, best, self._budget)


def _within(
    children: Children,
    truth: Truth,
    rows: NDArray[np.int64],
    parents: NDArray[np.int64],
    budget: int,
) -> Sampled:
    """Return the children of parents (b, p), and the true labels that have another parent.

    Of the latter so many are drawn that no more than ``budget`` labels of a text are true, unless
    so many are below its parents alone.
    """
    nodes, real, _ = children.of(parents)
    own = truth.of(rows)
    inside = (parents[own.texts] == children.parents[own.nodes][:, None]).any(axis=1)
    room = np.maximum(budget - np.bincount(own.texts[inside], minlength=len(rows)), 0)
    outside = Entries(own.texts[~inside], own.nodes[~inside])
    return _joined(Sampled(nodes, real), _at_most(outside, room))


def _at_most(own: Entries, most: NDArray[np.int64]) -> Entries:
    """Return at most so many (b,) entries of each text, drawn at random if it has more."""
    n = len(most)
    if (np.bincount(own.texts, minlength=n) <= most).all():
        return own
    drawn = np.lexsort((torch.rand(len(own.texts)).numpy(), own.texts))
    kept = np.sort(drawn[ranks(own, n) < most[own.texts]])
    return Entries(own.texts[kept], own.nodes[kept])


def _joined(chosen: Sampled, more: Entries) -> Sampled:
    """Put entries behind what is chosen."""
    sizes, n = chosen.real.sum(axis=1), len(chosen.real)
    ends = sizes + np.bincount(more.texts, minlength=n)
    width = max(int(ends.max(initial=0)), 1)
    labels = np.zeros((n, width), np.int64)
    held = min(width, chosen.labels.shape[1])
    labels[:, :held] = np.where(chosen.real, chosen.labels, 0)[:, :held]
    labels[more.texts, sizes[more.texts] + ranks(more, n)] = more.nodes
    return Sampled(labels, np.arange(width) < ends[:, None])


def _spread(wanted: NDArray[np.int64], n: NDArray[np.int64]) -> Entries:
    """Draw ``wanted`` (b,) different numbers below n (b,) for each text, all equally likely.

    One is drawn from each of ``wanted`` stretches of nearly equal length, and all are then moved
    around by one random distance: no number twice, none likelier, and no list of all numbers.
    """
    texts = np.repeat(np.arange(len(wanted)), wanted)
    total, below = wanted[texts], n[texts]
    place = runs(0 * wanted, wanted)
    first, end = place * below // total, (place + 1) * below // total
    drawn = first + _random_below(end - first)
    moved = (drawn + _random_below(n)[texts]) % below
    order = np.lexsort((moved, texts))
    return Entries(texts, moved[order])


def _random_below(n: NDArray[np.int64]) -> NDArray[np.int64]:
    """Draw a whole number from 0 to below each n, 0 where n is 0."""
    drawn = torch.rand(len(n), dtype=torch.float64).numpy()
    return np.minimum((drawn * n).astype(np.int64), np.maximum(n - 1, 0))


def _skipping(own: Entries, width: int, places: Entries) -> Entries:
    """Return the labels at ``places`` among those that a text does not have.

    Its own, ascending, are o_0, o_1, ...; before place r of the others stand those of its own
    with o_i - i <= r.
    """
    n = int(max(own.texts.max(initial=0), places.texts.max(initial=0))) + 1
    shifted = own.texts * width + own.nodes - ranks(own, n)
    before = np.searchsorted(shifted, places.texts * width + places.nodes, side="right")
    sizes = np.bincount(own.texts, minlength=n)
    before -= (np.cumsum(sizes) - sizes)[places.texts]
    return Entries(places.texts, places.nodes + before)
