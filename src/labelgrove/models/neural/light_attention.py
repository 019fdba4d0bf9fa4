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
  document with more labels than that draws of them. As printed, a document with labels in so many
  clusters would learn from these alone; ``negatives`` leaves room for others.
- *Loss*: the mean binary cross entropy of the clusters plus that of the chosen labels, in one step.
- *Prediction*: a cluster's probability times a label's, over the best clusters.
- *Levels* (section III.C trains a model for each level of the tree, beside Algorithm 2, which
  knows one level of clusters): one level of clusters by default. With more, each network has a
  generator for a level and judges the level below it, and begins with the weights of the network
  above. A label's probability is then the product down its path; a node that two networks know,
  one by its attention and the next by its generator, counts as their geometric mean.
- *Static negatives* of the original AttentionXML (section III.C), to compare with
  (``sampler="static"``): each level, the first too, has a network with attention and fully
  connected layers; a document's candidates below the first are chosen once, by the networks above.
- With no more labels than one cluster holds there is nothing to choose: all are judged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, Literal

from labelgrove.core.errors import InputError
from labelgrove.core.ranges import Choice, Range, Real, Whole
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

JUDGED = 500  # labels for a text, about


class LightAttention(NeuralClassifier):
    """AttentionXML's reading of the text, for labels that a generator picks at every step."""

    name: ClassVar[str] = "lightattention"

    batch = None
    learning_rate = 5e-3
    schedule = "linear"
    average_from = 2
    prior = "frequency"
    first = "auto"
    units: int = replace(UNITS, default=128)
    layers: Sequence[int] = setting(
        (256, 128, 64),
        "Sizes of the fully connected layers that all labels share; the paper has three or four.",
        rule=sizes([256]),
    )
    dropout: float = setting(
        0.5, "Dropout on the recurrent layer's output.", least=0, below=1, only=TABLES,
        search=Real(0.1, 0.7),
    )  # fmt: skip
    sampler: Literal["generated", "static", "uniform", "all"] = setting(
        "generated",
        "How a training step chooses the labels that it judges. generated is the paper's way. The "
        "others are there to compare it with: static is AttentionXML's way, which first trains a "
        "network with attention over the clusters, and keeps what that chooses; uniform draws "
        "labels at random, and all judges all: these two have no tree, and judge all labels in "
        "prediction.",
        search=Choice(("generated", "static", "uniform")),
    )
    candidates: int | None = setting(
        None,
        "Labels judged for a text, about; behind a first stage, its best ones. None for 500, or "
        "the best 64.",
        search=Whole(200, 1000, log=True),
    )
    negatives: float = setting(
        1.0,
        "Clusters picked by the generator for each that holds a label of the document, at least. "
        "Of more such clusters a document learns its own labels only. 0, as printed, lets a "
        "document with labels in many clusters leave the generator nothing to pick.",
        least=0,
    )
    max_leaf: int = setting(100, "Labels of a cluster at most.", least=1)
    levels: int = setting(1, "Levels of clusters.", least=1)
    branching: int = setting(
        8, "Children of the nodes above the clusters of labels.", rule=POWER_OF_TWO
    )
    ensemble: int = setting(
        1,
        "Members whose probabilities are averaged; they differ by their seeds, and so do their "
        "clusters.",
        least=1,
    )
    level_epochs: int | None = LEVEL_EPOCHS
    level_average_from: int | None = LEVEL_AVERAGE_FROM

    def check_settings(self) -> None:
        """Refuse a sampler where a first stage names the labels that are judged."""
        super().check_settings()
        if self.asks_for_first and not self.allows_first:
            raise InputError(
                f"first={self.first!r} names the labels that are judged: leave out "
                f"sampler={self.sampler!r}, or set first='none'"
            )

    def searchable(self) -> dict[str, Range]:
        """Return no samplers where a first stage names the labels."""
        ranges = super().searchable()
        if self.asks_for_first:
            ranges.pop("sampler")
        return ranges

    @property
    def allows_first(self) -> bool:
        """Whether no other setting says which labels are judged."""
        return bool(self.sampler == self.defaults()["sampler"])

    @property
    def _budget(self) -> int:
        """Labels judged for a text where there is no first stage."""
        return self.candidates or JUDGED

    def _word_network(self, n_inputs: int) -> BiLSTM:
        return BiLSTM(n_inputs, self.units, self.dropout)

    def _scorer(self, reader: Reader, start: LabelStart) -> LabelAttentionScorer:
        return LabelAttentionScorer(start, reader.n_vector, self.layers)

    def _candidates(self, n_labels: int) -> Candidates:
        if self.sampler == "uniform" or self.sampler == "all":
            drawn = self._budget if self.sampler == "uniform" else None
            return AllLabels(self.at_once, self.ensemble, drawn)
        if n_labels <= self.max_leaf:
            return AllLabels(self.at_once, self.ensemble, why=too_few(n_labels, self.max_leaf))
        return TreeLabels(
            self.at_once, self.max_leaf, self.branching, self._n_levels, self._kept,
            judged=self._budget, choice=self.sampler, budget=self._budget,
            negatives=self.negatives, ensemble=self.ensemble, seed=self.seed, threads=self.threads,
        )  # fmt: skip

    @property
    def _may_grow_trees(self) -> bool:
        return self.sampler in ("generated", "static")

    def _n_levels(self, clusters: int) -> int:
        return self.levels

    def _kept(self, tree: LabelTree) -> list[int]:
        """Return as many nodes of each level as have about ``candidates`` children."""
        nodes = [tree.n_nodes(level) for level in range(1, tree.depth + 1)]
        return [
            min(max(round(self._budget * above / below), 1), above)
            for above, below in pairwise(nodes)
        ]

    @classmethod
    def example_settings(cls, folder: Path) -> dict[str, Any]:
        """Return settings small enough to learn in seconds."""
        return {"first": "none", "units": 24, "layers": [24, 24, 24], "vector_size": 24,
                "epochs": 12, "batch": 16, "max_leaf": 3, "candidates": 9, "learning_rate": 0.02,
                "dropout": 0.1, "threads": 1}  # fmt: skip
