"""LightXML: a pretrained transformer for labels that a generator picks, anew at every step.

Jiang, Wang, Sun, Yang, Zhao and Zhuang, "LightXML: transformer with dynamic negative sampling for
high-performance extreme multi-label text classification", AAAI 2021.

How we read it, and where we differ:

- *Text*: the vectors of the last five layers side by side, with dropout; the paper's 0.5 was worse
  than 0.1 in a short training. The paper takes the first token (CLS) of each layer; by default we
  take the vector for which an encoder was trained, the mean of all tokens for MiniLM.
  ``pooling="first"`` is the paper's.
- *Few labels* (up to ``together``), the paper's small sets: a linear layer to all labels, without
  clusters or bottleneck.
- *Generator* (label recalling): a linear layer from the same vector to clusters of labels. The
  clusters are those of LightAttention here, halves of halves of the labels' tf-idf vectors until
  none has more than ``max_leaf`` labels.
- *Discriminator* (label ranking): the text through a bottleneck without an activation, times the
  vector of each candidate. The candidates of a step are all labels of the clusters that the
  generator holds for likeliest now, plus 1 for those that hold a true label, and the true labels
  outside them. There are so many clusters that they hold about ``candidates`` labels.
- *Loss*: the mean binary cross entropy of the clusters plus that of the candidates, in one step.
  *Prediction*: a cluster's probability times a label's, over the best clusters.
- *Bias*: labels and clusters have a bias that begins with their frequency; the paper's labels have
  none, and ``prior="none"`` is closest to it.
- *Learning rates*: the paper has one, 1e-4, and many epochs. Ours are three, for few epochs: that
  of the encoder, of the bottleneck, and of labels and clusters. The paper averages weights in late
  epochs (``average_from``); we do not by default.
- *Ensemble*: the paper also averages BERT, RoBERTa and XLNet; combine three taggers for that.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from torch import nn

from labelgrove.core.ranges import Real, Whole
from labelgrove.core.settings import setting
from labelgrove.labels import LabelTree
from labelgrove.models.neural.candidates.all import AllLabels
from labelgrove.models.neural.candidates.base import Candidates
from labelgrove.models.neural.candidates.tree import TreeLabels, too_few
from labelgrove.models.neural.estimator import NeuralClassifier
from labelgrove.models.neural.priors.start import LabelStart
from labelgrove.models.neural.readers.base import Reader
from labelgrove.models.neural.readers.settings import TRANSFORMER, UNITS
from labelgrove.models.neural.readers.transformer import TransformerReader
from labelgrove.models.neural.readers.word_networks import BiLSTM
from labelgrove.models.neural.scorers.outputs import LinearOutput
from labelgrove.models.neural.scorers.pooled import PooledScorer
from labelgrove.models.neural.scorers.sparse_output import SparseOutput
from labelgrove.models.neural.training.settings import FineTuning

PICKED = 500  # labels for a text, about


class LightXml(FineTuning, NeuralClassifier):
    """A pretrained encoder, and label vectors for the labels that a generator picks."""

    name: ClassVar[str] = "lightxml"

    encoder = "sentence-transformers/all-MiniLM-L6-v2"
    length = 128
    prior = "frequency"
    encoder_rate = 1e-4
    hidden_rate = setting(1e-3, search=Real(1e-4, 5e-3, log=True))
    units: int = UNITS
    last_layers: int = setting(
        5,
        "Last layers of a transformer whose vectors stand side by side for the text; all, if it "
        "has fewer.",
        least=1,
        only=TRANSFORMER,
    )
    dropout: float = setting(
        0.1, "Dropout on the vector of the text; the paper has 0.5.", least=0, below=1,
        search=Real(0.0, 0.6),
    )  # fmt: skip
    together: int = setting(
        20_000,
        "Number of labels up to which all are judged at every step, by a linear layer; of more, a "
        "generator picks some.",
        least=0,
    )
    bottleneck: int = setting(
        300, "Size of a label's vector where labels are picked, and of the layer before it.",
        least=1,
    )  # fmt: skip
    candidates: int | None = setting(
        None,
        "Labels judged for a text where they are picked, about; behind a first stage, its best "
        "ones. None for 500, or the best 64.",
        search=Whole(200, 1000, log=True),
    )
    max_leaf: int = setting(16, "Labels of a cluster at most.", least=1)

    def _word_network(self, n_inputs: int) -> BiLSTM:
        return BiLSTM(n_inputs, self.units, self.dropout)

    def _reader(self, reader: Reader, start: LabelStart) -> Reader:
        if isinstance(reader, TransformerReader):
            reader.pool_layers(self.last_layers)
        return reader

    def _scorer(self, reader: Reader, start: LabelStart) -> PooledScorer:
        if not start.sparse:
            return self._linear(reader, start)
        between = nn.Linear(reader.n_pooled, self.bottleneck)
        hidden = nn.Sequential(nn.Dropout(self.dropout), between)
        return PooledScorer(hidden, SparseOutput(self.bottleneck, start))

    def _generator(self, reader: Reader, start: LabelStart) -> PooledScorer:
        return self._linear(reader, start)

    def _linear(self, reader: Reader, start: LabelStart) -> PooledScorer:
        return PooledScorer(nn.Dropout(self.dropout), LinearOutput(reader.n_pooled, start))

    def _candidates(self, n_labels: int) -> Candidates:
        if n_labels <= self.together:
            return AllLabels(self.at_once)
        if n_labels <= self.max_leaf:
            return AllLabels(self.at_once, why=too_few(n_labels, self.max_leaf))
        return TreeLabels(
            self.at_once, self.max_leaf, 2, self._n_levels, self._kept,
            judged=self._budget, choice="generated", budget=self._budget,
            seed=self.seed, threads=self.threads,
        )  # fmt: skip

    @property
    def _budget(self) -> int:
        """Labels judged for a text where they are picked."""
        return self.candidates or PICKED

    @property
    def _may_grow_trees(self) -> bool:
        return True

    def _n_levels(self, clusters: int) -> int:
        return 1

    def _kept(self, tree: LabelTree) -> list[int]:
        """Return as many clusters as have about ``candidates`` labels."""
        clusters = tree.n_nodes(1)
        return [min(max(round(self._budget * clusters / tree.n_labels), 1), clusters)]

    @classmethod
    def example_settings(cls, folder: Path) -> dict[str, Any]:
        """Return settings small enough to learn in seconds, with an encoder made on the spot."""
        from labelgrove.models.neural.examples import small_bert

        return {"encoder": small_bert(folder), "pooling": "mean", "length": 48, "batch": 16,
                "epochs": 8, "together": 3, "max_leaf": 3, "candidates": 9, "bottleneck": 24,
                "dropout": 0.1, "encoder_rate": 0.005, "hidden_rate": 0.01, "learning_rate": 0.02,
                "threads": 1}  # fmt: skip
