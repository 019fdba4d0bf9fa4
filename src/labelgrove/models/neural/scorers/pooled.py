"""One vector for the whole text, a layer behind it, and an output layer to all labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from labelgrove.core.errors import InputError
from labelgrove.core.ranges import Real, Whole
from labelgrove.core.settings import Rule, setting
from labelgrove.models.neural.priors.start import LabelStart
from labelgrove.models.neural.readers.base import Reader, Reading
from labelgrove.models.neural.scorers.base import Positives, Scorer
from labelgrove.models.neural.scorers.cluster_sizes import sizes_for
from labelgrove.models.neural.scorers.label_clusters import LabelClusters
from labelgrove.models.neural.scorers.outputs import LinearOutput, Output


def _are_shares(value: Any) -> bool:
    if not isinstance(value, Sequence) or isinstance(value, str):
        return bool(value == "auto")
    numbers = all(isinstance(each, int | float) and each > 0 for each in value)
    return bool(value) and numbers and abs(sum(value) - 1) <= 0.01


BOTTLENECK = setting(
    512, "Size of the layer between text and labels.", least=1, search=Whole(128, 1024, log=True)
)
DROPOUT = setting(0.5, "Dropout in front of the labels.", least=0, below=1, search=Real(0.1, 0.7))
OUTPUT = setting(
    "linear",
    "linear, a number for every label, or clusters: frequent labels in front, rare ones in "
    "clusters behind gates (APLC).",
)
CLUSTERS = setting(
    "auto",
    "Of label clusters: the share of the labels in each, such as [0.5, 0.5], the most frequent "
    "first; auto for those that make a training step fastest.",
    rule=Rule(_are_shares, "'auto', or shares that sum to 1, such as [0.5, 0.5]"),
)
DECAY = setting(
    2.0,
    "Of label clusters: how many times smaller a text's vector is from cluster to cluster (q).",
    least=1,
)


class PooledScorer(Scorer):
    """A layer between a text's vector and the labels, and an output layer.

    Parameters
    ----------
    hidden
        From the reader's vector of a text to that of the output layer.
    output
        A linear layer, or clusters of labels.
    """

    def __init__(self, hidden: nn.Module, output: Output) -> None:
        super().__init__()
        self.hidden, self.output = hidden, output
        self.n_labels = output.n_labels
        self.clusters = output.sizes if isinstance(output, LabelClusters) else ()
        self.leaves_parts_out = output.leaves_parts_out  # type: ignore[misc]

    @property
    def has_plain_loss(self) -> bool:
        """Whether all labels are judged by one linear layer."""
        return not self.clusters

    def logits(self, reading: Reading, labels: Tensor | None, prior: Tensor | None) -> Tensor:
        """Return the log odds of candidates (b, C), or of all labels (b, L)."""
        logits = self.output.logits(self.hidden(reading.pooled), labels)
        return logits if prior is None else logits + prior

    def loss(
        self,
        reading: Reading,
        labels: Tensor | None,
        prior: Tensor | None,
        truth: Positives | Tensor,
    ) -> Tensor:
        """Return the loss of the output layer over all labels, or over candidates."""
        if labels is not None:
            return super().loss(reading, labels, prior, truth)
        assert isinstance(truth, Positives)
        return self.output.loss(self.hidden(reading.pooled), truth, prior)

    def rank(self, reading: Reading, k: int, prior: Tensor | None) -> tuple[Tensor, Tensor]:
        """Return the best labels and their probabilities, both (b, k)."""
        return self.output.rank(self.hidden(reading.pooled), k, prior)

    def log_odds(self, reading: Reading, label: int, prior: Tensor | None) -> Tensor:
        """Return the log odds of one label, shape (b,)."""
        chance = self.output.log_probability(self.hidden(reading.pooled), label)
        odds = chance - torch.log1p(-chance.exp().clamp(max=1 - 1e-6))
        return odds if prior is None else odds + prior[:, label]

    def kept(self, longest: int, judged: int | None) -> int:
        """Return the numbers that learning keeps for one text."""
        if judged is None:
            return 3 * self.n_labels
        n_inputs = sum(each.shape[-1] for each in self.output.parameters() if each.ndim > 1)
        return judged * (n_inputs + 3)


def check_first(first: str, clustered: bool) -> None:
    """Refuse a first stage in front of label clusters."""
    if clustered and first not in ("none", "auto"):
        raise InputError(
            f"first={first!r} has no effect with clusters, which make it cheap to judge all "
            "labels, not some: choose a linear output (model 'transformer', or output='linear'), "
            "or set first='none'"
        )


def bottleneck(n_inputs: int, n_outputs: int, activation: nn.Module, dropout: float) -> nn.Module:
    """Return a layer between reader and output, with dropout behind it."""
    return nn.Sequential(nn.Linear(n_inputs, n_outputs), activation, nn.Dropout(dropout))


def pooled_scorer(
    reader: Reader,
    start: LabelStart,
    hidden: int,
    activation: nn.Module,
    dropout: float,
    shares: Literal["auto"] | Sequence[float] | None = None,
    batch: int = 1,
    decay: float = 2.0,
    gate_loss: bool = True,
) -> PooledScorer:
    """Return a scorer behind a reader.

    Parameters
    ----------
    reader
        What gives a text its vector.
    start
        The labels, and how they begin; clusters have a bias only if they begin with a frequency.
    hidden
        Size of the layer between; 0 for none.
    activation
        Behind this layer.
    dropout
        In front of the labels.
    shares
        Of the labels in each cluster, the most frequent first; ``"auto"`` for those that make a
        training step fastest; None for a linear layer, which is also behind a first stage.
    batch
        Documents of a step.
    decay, gate_loss
        As of `LabelClusters`.
    """
    n_inputs = reader.n_pooled
    between: nn.Module = nn.Dropout(dropout)
    if hidden:
        between, n_inputs = bottleneck(n_inputs, hidden, activation, dropout), hidden
    if shares is None or start.begins == "zero":  # clusters make all labels cheap, not some
        return PooledScorer(between, LinearOutput(n_inputs, start))
    sizes = start.clusters or sizes_for(
        shares, start.counts, n_inputs, decay, batch, start.n_documents
    )
    order = torch.from_numpy(np.argsort(-start.counts, kind="stable"))
    bias = start.begins == "frequency"
    output = LabelClusters(n_inputs, order, sizes, decay, gate_loss, bias)
    if bias and start.n_documents:
        output.begin(torch.from_numpy(start.counts), start.n_documents)
    return PooledScorer(between, output)
