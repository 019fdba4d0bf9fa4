"""LACO: a text read together with its labels, and tasks about labels that occur together.

Zhang, Zhang, Yan, Liu and Cao, "Enhancing label correlation feedback in multi-label text
classification via multi-task learning", Findings of ACL 2021.

Where the paper is silent or cannot be meant (see also `CrossAttention`):

- *Label tokens*: new ones, whose vectors begin as the mean of the words of the label's name; the
  authors take unused words of the vocabulary.
- *Losses* (equations 4 to 7): sums over the labels of a text as printed, all divided by the number
  of labels, which changes nothing between them. ``plcp`` is equation 7's alpha, ``clcp`` its 1 -
  alpha, but not bound to add up to 1. The authors' code has other sums: in these it weighs PLCP by
  about 2 and CLCP by about 10 / (n - 1), n labels of a text, and so do the defaults.
- *Heads of the tasks*: they start from the log odds that labels have before the text is read
  (CLCP), or from the share of drawn pairs that occur together (PLCP). At one half, as published,
  their first steps move the encoder far more than the labels do. ``prior=none`` starts at random.
  The printed heads are additive: a given label shifts all others alike, so that only the encoder
  can tell which labels occur together. ``task_head=bilinear`` lets the head do it too.
- *The label's own vector*: a linear function of it is added to the log odds of the label
  (``label_term``), which speaks also for labels that were seldom seen. Equation 3 has no such term.
- *Many labels*, which the paper leaves to others: the best candidates of a first stage are read,
  in random order in training. The first stage's log odds, times a weight that begins at 1, are
  added to those of the network.
- *Pairs*: gamma = 0.5 is read as one pair of labels that occur together for two that do not.
- *Weight decay*: none on biases, norms, the weight of the first stage, and the vectors of label
  tokens, which begin as words and would fade where a label is seldom read.
- *Selection*: the best epoch is that with the best micro-F1 of held-out documents at any threshold;
  at one half, as in the paper, it stands still while no label is yet as probable. What users see is
  calibrated, and decided by 0.5 or by a threshold tuned on held-out documents.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch

from labelgrove.core.errors import InputError
from labelgrove.core.ranges import Real
from labelgrove.core.settings import setting
from labelgrove.core.types import FitContext
from labelgrove.models.neural.candidates.base import TrainingData
from labelgrove.models.neural.estimator import NeuralClassifier
from labelgrove.models.neural.learning import Measure
from labelgrove.models.neural.priors.start import LabelStart
from labelgrove.models.neural.readers.base import Input, Reader
from labelgrove.models.neural.readers.joint import (
    JointInput,
    LabelReading,
    LabelVectors,
)
from labelgrove.models.neural.readers.settings import UNITS
from labelgrove.models.neural.readers.word_networks import BiLSTM
from labelgrove.models.neural.scorers.cooccurrence import (
    CooccurrenceTask,
    GivenTask,
    PairTask,
    TaskHead,
    pair_share,
)
from labelgrove.models.neural.scorers.cross_attention import CrossAttention, CrossAttentionScorer
from labelgrove.models.neural.training.settings import FineTuning

AUTHORS_CLCP = 10.0  # their weight of CLCP, times the number of labels that are not given


class Laco(LabelReading, FineTuning, NeuralClassifier):
    """A pretrained transformer reads text and labels together; cross attention weighs the words."""

    name: ClassVar[str] = "laco"
    measure: ClassVar[Measure] = "micro-F1"

    encoder = "google-bert/bert-base-uncased"
    length = 256
    first = "auto"
    prior = "frequency"
    learning_rate = 5e-3
    hidden_rate = setting(5e-4, search=Real(1e-4, 5e-3, log=True))
    layer_decay = 0.8
    warmup = 0.1
    units: int = UNITS
    joint: bool = setting(
        True, "Read labels with the text; else each label is a vector of its own."
    )
    cross: bool = setting(
        True,
        "Weigh words by what labels have to do with them; else the reader's vector of the text "
        "counts. Without both, and with few labels, it is the model transformer.",
    )
    plcp: float = setting(
        0.0,
        "Weight of the task to tell pairs of labels that a text has from others (alpha), beside a "
        "sum over labels. The authors' code comes to about 2; 0 for no such task.",
        least=0,
    )
    clcp: float | None = setting(
        0.0,
        "Weight of the task to tell from some labels of a text all others (1 - alpha); both are "
        "sums over labels. None for the authors' weight, about 10 / (n - 1) for n labels that are "
        "read with a text (0.19 with 54 labels, 0.1 with 103); 0 for no such task.",
        least=0,
    )
    task_head: TaskHead = setting(
        "additive",
        "How the tasks compare two labels: additive (a linear layer over both vectors, as "
        "published) or bilinear (their product too, so that a given label can raise some labels "
        "and lower others).",
    )
    ratio: float = setting(0.5, "Pairs that a text has for each that it has not (gamma).", above=0)
    given: int = setting(1, "Labels that are given in the second task (s).", least=1)
    radius: int = setting(5, "Words on each side that the cross attention looks at (r).", least=0)
    filters: int = setting(4, "Kernels of the cross attention.", least=1)
    across: int = setting(
        1, "Labels at once that the kernels look at; the authors' code has 10.", least=1
    )
    cosine: bool = setting(
        False,
        "Compare words and labels by cosine, as the authors' code does, and not by product.",
    )
    average: bool = setting(
        True, "Divide the weighted sum of words by their number; without it as printed."
    )
    label_term: bool = setting(
        True,
        "Add to the log odds of a label a linear function of its own vector, read with the text; "
        "false for equation 3 as printed.",
    )
    dropout: float = setting(
        0.1, "Dropout in front of the labels.", least=0, below=1, search=Real(0.0, 0.4)
    )

    _pair_share: float = 0.5  # of the pairs drawn in training, those that occur together

    def check_settings(self) -> None:
        """Refuse to read labels with a text where no transformer reads."""
        super().check_settings()
        if self.joint and self.form != "transformer":
            raise InputError(
                f"encoder={self.encoder!r} cannot read labels with the text, only a transformer "
                "can: set joint=false, or give a transformer"
            )

    def _prepare(
        self, data: TrainingData, context: FitContext
    ) -> tuple[TrainingData, dict[str, Any]]:
        sizes, n_labels = np.diff(data.Y.indptr), int(data.Y.shape[1])
        self._pair_share = pair_share(sizes, n_labels, self.ratio)
        return super()._prepare(data, context)

    def _input(self) -> Input:
        text = super()._input()
        return JointInput.around(text, self.starts, self._n_read) if self.joint else text

    def _n_read(self, n_labels: int) -> int:
        """Return how many of so many labels are read with a text."""
        two_stages = self.uses_first(np.zeros(n_labels, np.int64), 0)
        return min(self._n_shortlisted, n_labels) if two_stages else n_labels

    def _word_network(self, n_inputs: int) -> BiLSTM:
        return BiLSTM(n_inputs, self.units, self.dropout)

    def _reader(self, reader: Reader, start: LabelStart) -> Reader:
        return reader if self.joint else LabelVectors(reader, len(start.counts))

    def _scorer(self, reader: Reader, start: LabelStart) -> CrossAttentionScorer:
        cross = None
        if self.cross:
            own = (self.radius, self.filters, self.across, self.cosine, self.average)
            cross = CrossAttention(*own)
        # vectors of labels that are not read with the text would say no more than a bias
        label_term = self.label_term and (self.joint or start.begins == "zero")
        with torch.random.fork_rng(devices=[]):  # a task leaves all others as they begin
            tasks = self._tasks(reader.n_vector, start)
        return CrossAttentionScorer(start, reader.n_vector, cross, self.dropout, tasks, label_term)

    def _tasks(self, size: int, start: LabelStart) -> list[tuple[CooccurrenceTask, float]]:
        """Return the tasks beside the labels, with their weights."""
        tasks: list[tuple[CooccurrenceTask, float]] = []
        starts = start.begins != "none"
        if self.plcp:
            share = self._pair_share if starts else None
            tasks.append((PairTask(size, self.ratio, self.task_head, share), self.plcp))
        weight = self.clcp
        if weight is None:
            weight = AUTHORS_CLCP / max(self._n_read(len(start.counts)) - 1, 1)
        if weight:
            tasks.append((GivenTask(size, self.given, self.task_head, starts), weight))
        return tasks

    @classmethod
    def example_settings(cls, folder: Path) -> dict[str, Any]:
        """Return settings small enough to learn in seconds, with an encoder made on the spot."""
        from labelgrove.models.neural.examples import small_bert

        return {"encoder": small_bert(folder), "length": 32, "batch": 16, "epochs": 8,
                "encoder_rate": 0.01, "hidden_rate": 0.01, "learning_rate": 0.02,
                "layer_decay": 1.0, "warmup": 0.0, "threads": 1}  # fmt: skip


class LacoPlcp(Laco):
    """LACO that also learns which pairs of labels occur together; see `Laco`."""

    name: ClassVar[str] = "laco-plcp"
    plcp = setting(2.0, search=Real(0.2, 5.0, log=True))


class LacoClcp(Laco):
    """LACO that also learns, given a label, which others occur with it; see `Laco`."""

    name: ClassVar[str] = "laco-clcp"
    clcp = setting(None, search=Real(0.02, 1.0, log=True))
