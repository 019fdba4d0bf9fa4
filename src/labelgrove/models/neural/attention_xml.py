"""AttentionXML: a recurrent network that reads the text anew for every label.

You, Dai, Zhang, Mamitsuka and Zhu, "AttentionXML: extreme multi-label text classification with
multi-label attention based recurrent neural networks", 2018; its label tree is of the version of
2019, "AttentionXML: label tree-based attention-aware deep model for high-performance extreme
multi-label text classification", NeurIPS 2019.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor

from labelgrove.core.errors import InputError
from labelgrove.core.features import TokenSequences
from labelgrove.labels import LabelTree
from labelgrove.models.neural.attention import AttentionClassifier
from labelgrove.models.neural.parts.attention_network import AttentionNetwork
from labelgrove.models.neural.parts.samplers import Everything, Sampler, Uniform
from labelgrove.models.neural.training.estimate import Size

WIDEST = 2048  # nodes of the first level at most: all of them are judged for every text


class AttentionXml(AttentionClassifier):
    """A recurrent network over the words, and for every label its own attention to them.

    Few labels are all judged at once. Many are reached down a shallow, wide tree, each level with
    a network of its own that begins with the weights of the level above and judges the children of
    the likeliest ``parents``.

    Parameters
    ----------
    units
        Of the recurrent layer, per direction.
    layers
        Sizes of the fully connected layers that all labels share.
    dropout
        On the recurrent layer's output.
    tree
        ``"auto"`` for a tree where it is cheaper than none, ``"always"``, ``"never"``.
    max_leaf
        Labels below a node of the tree's last level at most.
    branching
        Children of the other nodes, a power of two (K of Algorithm 1).
    levels
        Levels of clusters (H of Algorithm 1); None for so many that the first has no more than
        2,048 nodes.
    parents
        Nodes whose children are judged for a text.
    ensemble
        Networks, or trees of networks, whose probabilities are averaged; they differ by their
        seeds. The published scores are of three.
    sampler
        ``"auto"``: all labels, or all below the likeliest parents, are judged. ``"uniform"``:
        there is no tree, and training judges a text's labels and others at random.
    candidates
        Labels that are then judged for a text, its own and those drawn.
    level_epochs
        Epochs of the levels below the first; None for as many as of the first.
    **training
        Fields of `labelgrove.models.neural.training.settings.WordTraining`.
    """

    name: ClassVar[str] = "attentionxml"

    def __init__(
        self,
        units: int = 256,
        layers: Sequence[int] = (256,),
        dropout: float = 0.5,
        tree: Literal["auto", "always", "never"] = "auto",
        max_leaf: int = 64,
        branching: int = 8,
        levels: int | None = None,
        parents: int = 15,
        ensemble: int = 1,
        sampler: Literal["auto", "uniform"] = "auto",
        candidates: int = 500,
        level_epochs: int | None = None,
        **training: Any,
    ) -> None:
        super().__init__(**training)
        self.units = units
        self.layers = layers
        self.dropout = dropout
        self.tree = tree
        self.max_leaf = max_leaf
        self.branching = branching
        self.levels = levels
        self.parents = parents
        self.ensemble = ensemble
        self.sampler = sampler
        self.candidates = candidates
        self.level_epochs = level_epochs

    def check_settings(self) -> None:
        """Refuse a tree where labels are drawn at random as well."""
        super().check_settings()
        if self.sampler == "uniform" and self.tree == "always":
            raise InputError("sampler='uniform' has no tree: leave out tree='always', or sampler")

    # --- what is particular to it -------------------------------------------------------------

    def _wants_tree(self, n_labels: int) -> bool:
        """Tell whether going down a tree costs less than judging all labels.

        A word costs the recurrent layer 8 units (inputs + units) products; a label attends with
        4 units products a word, and has its layers once a text. A tree has at least two networks.
        """
        if self.sampler == "uniform":
            return False
        if self.tree != "auto":
            return self.tree == "always"
        recurrent = 8 * self.units * ((self.vector_size or 300) + self.units)
        label = 4 * self.units + 2 * self.units * self.layers[0] / min(self.length, 128)
        candidates = self.parents * self.max_leaf + n_labels / self.max_leaf
        return n_labels * label > recurrent + candidates * label

    def _n_levels(self, clusters: int) -> int:
        if self.levels is not None:
            return self.levels
        return 1 + math.ceil(math.log(max(clusters / WIDEST, 1.0), self.branching))

    def _kept(self, tree: LabelTree) -> list[int]:
        return [self.parents] * (tree.depth - 1)

    def _built(self, vectors: Tensor, tree: LabelTree | None, number: int) -> AttentionNetwork:
        if tree is None:
            n_labels, sparse = self.n_labels_, self.sampler == "uniform"
        else:
            n_labels, sparse = tree.n_nodes(number + 1), number > 0
        return AttentionNetwork(*self._readers(vectors), self.layers, n_labels, sparse)

    def _flat_sampler(self, Y: csr_array) -> Sampler:
        return Uniform(Y, self.candidates) if self.sampler == "uniform" else Everything()

    def _sizes(self, X: TokenSequences, counts: NDArray[np.int64]) -> list[Size]:
        n_labels = len(counts)
        if not self._grows(n_labels):
            chosen = min(self.candidates, n_labels) if self.sampler == "uniform" else None
            return [self._size(X, n_labels, chosen)]
        chosen = self.parents * max(self.max_leaf, self.branching)
        return [
            self._size(X, n, chosen if number else None)
            for number, n in enumerate(self._level_sizes(n_labels))
        ]

    @classmethod
    def example_settings(cls, folder: Path) -> dict[str, Any]:
        """Return settings small enough to learn in seconds."""
        return {"units": 24, "layers": [24], "vector_size": 24, "epochs": 12, "batch": 16,
                "learning_rate": 0.01, "dropout": 0.1, "threads": 1}  # fmt: skip
