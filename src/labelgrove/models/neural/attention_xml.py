"""AttentionXML: a recurrent network that reads the text anew for every label.

You, Dai, Zhang, Mamitsuka and Zhu, "AttentionXML: extreme multi-label text classification with
multi-label attention based recurrent neural networks", 2018; its label tree is of the version of
2019, "AttentionXML: label tree-based attention-aware deep model for high-performance extreme
multi-label text classification", NeurIPS 2019.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Literal

from labelgrove.core.errors import InputError
from labelgrove.core.ranges import Real
from labelgrove.core.settings import POWER_OF_TWO, setting, sizes
from labelgrove.labels import LabelTree
from labelgrove.models.neural.candidates.all import AllLabels
from labelgrove.models.neural.candidates.base import Candidates
from labelgrove.models.neural.candidates.tree import TreeLabels, too_few
from labelgrove.models.neural.estimator import NeuralClassifier
from labelgrove.models.neural.priors.start import LabelStart
from labelgrove.models.neural.readers.base import Reader
from labelgrove.models.neural.readers.settings import TABLES, UNITS
from labelgrove.models.neural.readers.word_networks import BiLSTM
from labelgrove.models.neural.scorers.label_attention import LabelAttentionScorer
from labelgrove.models.neural.training.settings import LEVEL_AVERAGE_FROM, LEVEL_EPOCHS

MANY = 20_000  # labels that are still judged all at once behind a transformer
DRAWN = 500  # labels that sampler=uniform judges for a text
WIDEST = 2048  # nodes of the first level at most: all of them are judged for every text


class AttentionXml(NeuralClassifier):
    """A recurrent network over the words, and for every label its own attention to them.

    Few labels are all judged at once. Many are reached down a shallow, wide tree, each level with
    a network of its own that begins with the weights of the level above and judges the children of
    the likeliest ``parents``.

    The tree clusters labels by the tf-idf of their documents' whole texts, whatever ``length`` the
    network reads. While the model is not fitted, `views` therefore names the view ``"tree"`` too.
    Without that view the tree is grown from tf-idf of all tokens that X has.
    """

    name: ClassVar[str] = "attentionxml"

    batch = None
    learning_rate = 5e-3
    schedule = "linear"
    average_from = 2
    prior = "frequency"
    first = "auto"
    units: int = replace(UNITS, default=128)
    layers: Sequence[int] = setting(
        (256,), "Sizes of the fully connected layers that all labels share.", rule=sizes([256])
    )
    dropout: float = setting(
        0.5, "Dropout on the recurrent layer's output.", least=0, below=1, only=TABLES,
        search=Real(0.1, 0.7),
    )  # fmt: skip
    tree: Literal["auto", "always", "never"] = setting(
        "auto",
        "Reach labels down a tree: auto for where that is cheaper (behind a transformer, from "
        "20,000 labels on), always, or never.",
    )
    max_leaf: int = setting(64, "Labels below a node of the tree's last level at most.", least=1)
    branching: int = setting(
        8, "Children of the tree's other nodes (K of Algorithm 1).", rule=POWER_OF_TWO
    )
    levels: int | None = setting(
        None,
        "Levels of clusters (H of Algorithm 1); None for so many that the first has no more than "
        "2,048 nodes.",
        least=1,
    )
    parents: int = setting(15, "Nodes of a level whose children are judged for a text.", least=1)
    ensemble: int = setting(
        1,
        "Networks, or trees of networks, whose probabilities are averaged; they differ by their "
        "seeds. The published scores are of three.",
        least=1,
    )
    sampler: Literal["auto", "uniform"] = setting(
        "auto",
        "auto: all labels, or all below the likeliest parents, are judged. uniform: there is no "
        "tree, and training judges a text's labels and others at random.",
    )
    candidates: int | None = setting(
        None,
        "Labels judged for a text: those drawn by sampler=uniform, or the first stage's best. None "
        "for 500 drawn, or the best 64.",
    )
    level_epochs: int | None = LEVEL_EPOCHS
    level_average_from: int | None = LEVEL_AVERAGE_FROM

    def check_settings(self) -> None:
        """Refuse a tree where labels are drawn at random, or named by a first stage, as well."""
        super().check_settings()
        if self.sampler == "uniform" and self.tree == "always":
            raise InputError("sampler='uniform' has no tree: leave out tree='always', or sampler")
        if self.asks_for_first and not self.allows_first:
            raise InputError(
                f"first={self.first!r} names the labels that are judged: leave out "
                "sampler='uniform' and tree='always', or set first='none'"
            )

    @property
    def allows_first(self) -> bool:
        """Whether no other setting says which labels are judged."""
        return self.sampler != "uniform" and self.tree != "always"

    def _word_network(self, n_inputs: int) -> BiLSTM:
        return BiLSTM(n_inputs, self.units, self.dropout)

    def _scorer(self, reader: Reader, start: LabelStart) -> LabelAttentionScorer:
        return LabelAttentionScorer(start, reader.n_vector, self.layers)

    def _candidates(self, n_labels: int) -> Candidates:
        if not self._wants_tree(n_labels):
            drawn = self.candidates or DRAWN if self.sampler == "uniform" else None
            return AllLabels(self.at_once, self.ensemble, drawn)
        if n_labels <= self.max_leaf:
            return AllLabels(self.at_once, self.ensemble, why=too_few(n_labels, self.max_leaf))
        return TreeLabels(
            self.at_once, self.max_leaf, self.branching, self._n_levels, self._kept,
            judged=self.parents * max(self.max_leaf, self.branching), ensemble=self.ensemble,
            seed=self.seed, threads=self.threads,
        )  # fmt: skip

    @property
    def _may_grow_trees(self) -> bool:
        return self.sampler != "uniform" and self.tree != "never"

    def _wants_tree(self, n_labels: int) -> bool:
        """Tell whether going down a tree costs less than judging all labels.

        A word costs the recurrent layer 8 units (inputs + units) products; a label attends with
        4 units products a word, and has its layers once a text. A tree has at least two networks.
        """
        if self.sampler == "uniform":
            return False
        if self.tree != "auto":
            return self.tree == "always"
        if self.form == "transformer":  # each level would have a transformer of its own
            return n_labels > MANY
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

    @classmethod
    def example_settings(cls, folder: Path) -> dict[str, Any]:
        """Return settings small enough to learn in seconds."""
        return {"first": "none", "units": 24, "layers": [24], "vector_size": 24, "epochs": 12,
                "batch": 16, "learning_rate": 0.01, "dropout": 0.1, "threads": 1}  # fmt: skip
