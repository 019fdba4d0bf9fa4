"""LACO: a text read together with its labels, and tasks about labels that occur together.

Zhang, Zhang, Yan, Liu and Cao, "Enhancing label correlation feedback in multi-label text
classification via multi-task learning", Findings of ACL 2021.

Where the paper is silent or cannot be meant (see also `CrossAttention`):

- *Label tokens*: new ones, whose vectors begin as the mean of the words of the label's name; the
  authors take unused words of the vocabulary.
- *Losses* (equations 4 to 7): sums over the labels of a text as printed, all divided by the number
  of labels, which changes nothing between them. ``plcp`` is equation 7's alpha, ``clcp`` its 1 -
  alpha; the authors' own run of CLCP has the weight 5.
- *Pairs*: gamma = 0.5 is read as one pair of labels that occur together for two that do not.
- *Many labels*, which the paper leaves to others: the best candidates of a first stage are read,
  in random order in training. The log odds of a label are then the printed ones, those of the
  first stage times a weight that begins at 1, and a linear function of the label's own vector,
  which speaks also for labels that were seldom seen.
- *Selection*: the best epoch is that with the best micro-F1 of held-out documents at any threshold;
  at one half, as in the paper, it stands still while no label is yet as probable. What users see is
  calibrated, and decided by 0.5 or by a threshold tuned on held-out documents.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from labelgrove.core.ranges import Range, Real
from labelgrove.models.neural.joint import JointClassifier
from labelgrove.models.neural.parts.cooccurrence import GivenTask, PairTask
from labelgrove.models.neural.parts.cross_attention import CrossAttention
from labelgrove.models.neural.parts.joint import JointNetwork, JointReader, Reading
from labelgrove.models.neural.parts.outputs import shares_of
from labelgrove.models.neural.training.settings import JointTraining, Training


class LacoNetwork(JointNetwork):
    """A vector of the text by cross attention, a linear layer to labels, and tasks beside it.

    Parameters
    ----------
    reader
        Of texts and labels.
    cross
        Makes the vector; None takes what stands for the text in the transformer.
    shares
        Share of the documents that have each label, shape (L,), as probable as which it begins.
    dropout
        In front of the labels.
    second
        Whether it is the second stage.
    plcp, clcp
        The tasks beside the labels, with their weights; None for none.
    """

    def __init__(
        self,
        reader: JointReader,
        cross: CrossAttention | None,
        shares: Tensor,
        dropout: float,
        second: bool,
        plcp: tuple[PairTask, float] | None = None,
        clcp: tuple[GivenTask, float] | None = None,
    ) -> None:
        super().__init__(reader, second)
        self.cross, self.dropout = cross, nn.Dropout(dropout)
        self.output = nn.Linear(reader.n_outputs, len(shares))
        self.own = nn.Linear(reader.n_outputs, 1, bias=False) if second else None
        with torch.no_grad():
            self.output.bias.copy_(shares.logit())
        if self.own is not None:
            nn.init.zeros_(self.own.weight)
            nn.init.zeros_(self.output.weight)  # the first stage's opinion is a good beginning
            nn.init.zeros_(self.output.bias)
        self.tasks = nn.ModuleList(task for task, _ in filter(None, (plcp, clcp)))
        self.weights = [weight for _, weight in filter(None, (plcp, clcp))]

    def log_odds(self, reading: Reading, labels: Tensor, odds: Tensor) -> Tensor:
        """Return the log odds of labels, shape (b, C) (equation 3)."""
        real = labels >= 0
        text = reading.text
        if self.cross is not None:
            text = self.cross(reading.words, reading.own, reading.labels, real)
        text = self.dropout(text)
        chosen = labels.clamp(min=0)
        if self.own is None:
            found: Tensor = self.output(text).gather(1, chosen)
            return found
        found = torch.einsum("bcd,bd->bc", self.output.weight[chosen], text)
        found = found + self.output.bias[chosen] + self.own(reading.labels)[:, :, 0]
        return found + self.from_first(odds)

    def loss(self, reading: Reading, labels: Tensor, odds: Tensor, true: Tensor) -> Tensor:
        """Return equation 7, divided by the number of labels, shape ()."""
        real = labels >= 0
        logits = self.log_odds(reading, labels, odds)[real].float()
        total = binary_cross_entropy_with_logits(logits, true[real].float(), reduction="sum")
        for task, weight in zip(self.tasks, self.weights, strict=True):
            total = total + weight * task.loss(reading.labels, true, real)  # type: ignore[operator]
        return total / max(len(logits), 1)


@dataclass(frozen=True)
class LacoTraining(JointTraining):
    """The settings of LACO.

    Parameters
    ----------
    joint
        Read labels with the text; else each label is a vector of its own.
    cross
        Weigh words by what labels have to do with them; else the transformer's vector of the text
        counts. Without both, and with few labels, it is the model ``transformer``.
    plcp
        Weight of the task to tell pairs of labels that a text has from others (alpha).
    clcp
        Weight of the task to tell from some labels of a text all others (1 - alpha).
    ratio
        Pairs that a text has for each that it has not (gamma).
    given
        Labels that are given in the second task (s).
    radius
        Words on each side that the cross attention looks at (r).
    filters
        Kernels of the cross attention.
    across
        Labels at once that they look at; the authors' code has 10.
    cosine
        Compare words and labels by cosine, as the authors' code does, and not by product.
    average
        Divide the weighted sum of words by their number; without it as printed.
    dropout
        In front of the labels.
    """

    joint: bool = True
    cross: bool = True
    plcp: float = 0.0
    clcp: float = 0.0
    ratio: float = 0.5
    given: int = 1
    radius: int = 5
    filters: int = 4
    across: int = 1
    cosine: bool = False
    average: bool = True
    dropout: float = 0.1

    @classmethod
    def ranges(cls) -> dict[str, Range]:
        """Return also that of the dropout."""
        return {
            **super().ranges(),
            "dropout": Real(0.0, 0.4),
        }


class Laco(JointClassifier):
    """A pretrained transformer reads text and labels together; cross attention weighs the words.

    Parameters
    ----------
    **training
        Fields of `LacoTraining`; without an ``encoder`` it is ``google-bert/bert-base-uncased``.
    """

    name: ClassVar[str] = "laco"
    shared: ClassVar[type[Training]] = LacoTraining
    default_encoder: ClassVar[str] = "google-bert/bert-base-uncased"

    joint: bool
    cross: bool
    plcp: float
    clcp: float
    ratio: float
    given: int
    radius: int
    filters: int
    across: int
    cosine: bool
    average: bool
    dropout: float

    @property
    def _reads_labels(self) -> bool:
        return self.joint

    def _joined(self, reader: JointReader, counts: NDArray[np.int64], second: bool) -> JointNetwork:
        cross = None
        if self.cross:
            own = (self.radius, self.filters, self.across, self.cosine, self.average)
            cross = CrossAttention(*own)
        size = reader.n_outputs
        plcp = (PairTask(size, self.ratio), self.plcp) if self.plcp else None
        clcp = (GivenTask(size, self.given), self.clcp) if self.clcp else None
        shares = shares_of(torch.from_numpy(counts), self._n_documents)
        return LacoNetwork(reader, cross, shares, self.dropout, second, plcp, clcp)

    def _told(
        self,
        network: JointNetwork,
        place: int,
        tokens: Tensor,
        lengths: Tensor,
        labels: Tensor,
        odds: Tensor,
    ) -> tuple[Tensor, float]:
        assert isinstance(network, LacoNetwork)
        if network.cross is None:
            return super()._told(network, place, tokens, lengths, labels, odds)
        with torch.no_grad():
            reading = network.reader(tokens, lengths, labels)
            found = network.cross.matters(reading.words, reading.own, reading.labels, labels >= 0)
            return found[0, :, place], float(network.log_odds(reading, labels, odds)[0, place])

    @classmethod
    def example_settings(cls, folder: Path) -> dict[str, Any]:
        """Return settings small enough to learn in seconds, with an encoder made on the spot."""
        from labelgrove.models.neural.examples import small_bert

        return {"encoder": small_bert(folder), "length": 32, "batch": 16, "epochs": 8,
                "encoder_rate": 0.01, "hidden_rate": 0.01, "learning_rate": 0.02,
                "layer_decay": 1.0, "warmup": 0.0, "threads": 1}  # fmt: skip


@dataclass(frozen=True)
class PlcpTraining(LacoTraining):
    """The settings of LACO with pairs of labels; see `LacoTraining`."""

    plcp: float = 0.5

    @classmethod
    def ranges(cls) -> dict[str, Range]:
        """Return also the weight of the task."""
        return {
            **super().ranges(),
            "plcp": Real(0.05, 2.0, log=True),
        }


@dataclass(frozen=True)
class ClcpTraining(LacoTraining):
    """The settings of LACO with given labels; see `LacoTraining`."""

    clcp: float = 0.5

    @classmethod
    def ranges(cls) -> dict[str, Range]:
        """Return also the weight of the task."""
        return {
            **super().ranges(),
            "clcp": Real(0.05, 2.0, log=True),
        }


class LacoPlcp(Laco):
    """LACO that also learns which pairs of labels occur together; see `Laco`."""

    name: ClassVar[str] = "laco-plcp"
    shared: ClassVar[type[Training]] = PlcpTraining


class LacoClcp(Laco):
    """LACO that also learns, given a label, which others occur with it; see `Laco`."""

    name: ClassVar[str] = "laco-clcp"
    shared: ClassVar[type[Training]] = ClcpTraining
