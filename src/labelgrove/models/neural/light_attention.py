"""LightAttention: a generator picks the labels to judge, anew at every step as it learns.

Zhu, Teng and Huang, "Multi-Label text classification (MTC)", BNU-HKBU United International
College; its sampling comes from LightXML (Jiang et al., AAAI 2021).

The paper has no code and no figures (its section IV is empty). How we read what it leaves open:

- *Generator* (Algorithm 2, G): a linear layer from the text to the clusters of the label tree. It
  reads the mean of the recurrent layer's outputs over the words of the text.
- *Discriminator* (D): the label attention and fully connected layers of section III.D, which judge
  the chosen labels only; "3 or 4 layers" are those before the output.
- *Clusters* (line 1): the parents of the leaves of the tree of section III.B, halves of halves
  until none has more than ``max_leaf`` labels.
- *Choice* (lines 7 to 11): a cluster's probability, plus 1 if it holds a label of the document;
  the best clusters, all their labels, and all labels of the document outside them. No gradient
  goes through the choice. There are so many clusters that they hold about ``candidates`` labels. A
  document with more labels than that draws of them.
- *Loss*: the mean binary cross entropy of the clusters plus that of the chosen labels, in one step.
- *Prediction*: a cluster's probability times a label's, over the best clusters.
- *Levels* (section III.C trains a model for each level of the tree, beside Algorithm 2, which
  knows one level of clusters): one level of clusters by default. With more, each network has a
  generator for a level and judges the level below it, and begins with the weights of the network
  above. A label's probability is then the product down its path; a node that two networks know,
  one by its attention and the next by its generator, counts as their geometric mean.
- With no more labels than one cluster holds there is nothing to choose: all are judged.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor

from labelgrove.core.features import TokenSequences
from labelgrove.core.ranges import Choice, Range, Whole
from labelgrove.labels import LabelTree
from labelgrove.models.neural.attention import AttentionClassifier, Guessed
from labelgrove.models.neural.parts.attention_network import (
    AttentionNetwork,
    ClusterNetwork,
    CooperativeNetwork,
    TextNetwork,
)
from labelgrove.models.neural.parts.descent import Descent
from labelgrove.models.neural.parts.samplers import (
    Everything,
    Generated,
    Sampler,
    Static,
    Uniform,
)
from labelgrove.models.neural.training.estimate import Size


class LightAttention(AttentionClassifier):
    """AttentionXML's reading of the text, for labels that a generator picks at every step.

    Parameters
    ----------
    units
        Of the recurrent layer, per direction.
    layers
        Sizes of the fully connected layers that all labels share; the paper has three or four.
    dropout
        On the recurrent layer's output.
    sampler
        How the labels that a training step judges are chosen. ``"generated"`` is the paper's way.
        The others are there to compare it with: ``"static"`` trains the generator first, and keeps
        what it chooses; ``"uniform"`` draws labels at random, and ``"all"`` judges all: these two
        have no tree, and judge all labels in prediction.
    candidates
        Labels that are judged for a text, about.
    max_leaf
        Labels of a cluster at most.
    levels
        Levels of clusters.
    branching
        Children of the nodes above the clusters of labels, a power of two.
    ensemble
        Members whose probabilities are averaged; they differ by their seeds, and so do their
        clusters.
    level_epochs
        Epochs of the networks below the first; None for as many as of the first.
    **training
        Fields of `labelgrove.models.neural.training.settings.WordTraining`.
    """

    name: ClassVar[str] = "lightattention"

    def __init__(
        self,
        units: int = 256,
        layers: Sequence[int] = (256, 128, 64),
        dropout: float = 0.5,
        sampler: Literal["generated", "static", "uniform", "all"] = "generated",
        candidates: int = 500,
        max_leaf: int = 100,
        levels: int = 1,
        branching: int = 8,
        ensemble: int = 1,
        level_epochs: int | None = None,
        **training: Any,
    ) -> None:
        super().__init__(**training)
        self.units = units
        self.layers = layers
        self.dropout = dropout
        self.sampler = sampler
        self.candidates = candidates
        self.max_leaf = max_leaf
        self.levels = levels
        self.branching = branching
        self.ensemble = ensemble
        self.level_epochs = level_epochs

    # --- what is particular to it -------------------------------------------------------------

    def _wants_tree(self, n_labels: int) -> bool:
        return self.sampler in ("generated", "static")

    def _n_levels(self, clusters: int) -> int:
        return self.levels

    def _n_networks(self, tree: LabelTree) -> int:
        return tree.depth - (self.sampler == "generated")

    def _kept(self, tree: LabelTree) -> list[int]:
        """Return as many nodes of each level as have about ``candidates`` children."""
        sizes = [tree.n_nodes(level) for level in range(1, tree.depth + 1)]
        return [
            min(max(round(self.candidates * above / below), 1), above)
            for above, below in pairwise(sizes)
        ]

    def _built(self, vectors: Tensor, tree: LabelTree | None, number: int) -> TextNetwork:
        words, encoder = self._readers(vectors)
        if tree is None:
            sparse = self.sampler == "uniform"
            return AttentionNetwork(words, encoder, self.layers, self.n_labels_, sparse)
        if self.sampler == "generated":
            below, clusters = tree.n_nodes(number + 2), tree.n_nodes(number + 1)
            return CooperativeNetwork(words, encoder, self.layers, below, clusters)
        if number == 0:
            return ClusterNetwork(words, encoder, tree.n_nodes(1))
        return AttentionNetwork(words, encoder, self.layers, tree.n_nodes(number + 1), sparse=True)

    def _flat_sampler(self, Y: csr_array) -> Sampler:
        return Uniform(Y, self.candidates) if self.sampler == "uniform" else Everything()

    def _level_sampler(
        self, descent: Descent, level: int, Y: csr_array, parents: csr_array, guessed: Guessed
    ) -> Sampler:
        if level == 0:
            return Everything()
        children, most = descent.children[level], descent.kept[level - 1]
        if self.sampler == "generated":
            return Generated(children, Y, parents, most, self.candidates)
        return Static(children, Y, parents, guessed().nodes, most, self.candidates)

    def _sizes(self, X: TokenSequences, counts: NDArray[np.int64]) -> list[Size]:
        n_labels = len(counts)
        chosen = min(self.candidates, n_labels)
        if not self._grows(n_labels):
            sampled = chosen if self.sampler == "uniform" else None
            return [self._size(X, n_labels, sampled)]
        levels = self._level_sizes(n_labels)
        if self.sampler == "generated":
            return [
                self._size(X, below, min(chosen, below), above) for above, below in pairwise(levels)
            ]
        first, *others = levels
        below = [self._size(X, n, min(chosen, n)) for n in others]
        return [self._size(X, 0, 0, first), *below]

    @classmethod
    def ranges(cls) -> dict[str, Range]:
        """Return also which labels a step judges."""
        return {
            **super().ranges(),
            "sampler": Choice(("generated", "static", "uniform")),
            "candidates": Whole(200, 1000, log=True),
        }

    @classmethod
    def example_settings(cls, folder: Path) -> dict[str, Any]:
        """Return settings small enough to learn in seconds."""
        return {"units": 24, "layers": [24, 24, 24], "vector_size": 24, "epochs": 8, "batch": 16,
                "max_leaf": 3, "candidates": 9, "learning_rate": 0.02, "dropout": 0.1,
                "threads": 1}  # fmt: skip
