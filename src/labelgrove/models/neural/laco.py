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

from pathlib import Path
from typing import Any, ClassVar

from labelgrove.core.errors import InputError
from labelgrove.core.ranges import Real
from labelgrove.core.settings import setting
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
from labelgrove.models.neural.scorers.cooccurrence import CooccurrenceTask, GivenTask, PairTask
from labelgrove.models.neural.scorers.cross_attention import CrossAttention, CrossAttentionScorer
from labelgrove.models.neural.training.settings import FineTuning


class Laco(LabelReading, FineTuning, NeuralClassifier):
    """A pretrained transformer reads text and labels together; cross attention weighs the words."""

    name: ClassVar[str] = "laco"
    measure: ClassVar[Measure] = "micro-F1"

    encoder = "google-bert/bert-base-uncased"
    length = 256
    first = "bonsai"
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
        0.0, "Weight of the task to tell pairs of labels that a text has from others (alpha).",
        least=0,
    )  # fmt: skip
    clcp: float = setting(
        0.0, "Weight of the task to tell from some labels of a text all others (1 - alpha).",
        least=0,
    )  # fmt: skip
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
    dropout: float = setting(
        0.1, "Dropout in front of the labels.", least=0, below=1, search=Real(0.0, 0.4)
    )

    def check_settings(self) -> None:
        """Refuse to read labels with a text where no transformer reads."""
        super().check_settings()
        if self.joint and self.form != "transformer":
            raise InputError(
                f"encoder={self.encoder!r} cannot read labels with the text, only a transformer "
                "can: set joint=false, or give a transformer"
            )

    def _uses_first(self, n_labels: int) -> bool:
        return super()._uses_first(n_labels) and n_labels > self.together

    def _input(self) -> Input:
        text = super()._input()
        return JointInput.around(text, self.starts, self._n_read) if self.joint else text

    def _n_read(self, n_labels: int) -> int:
        """Return how many of so many labels are read with a text."""
        return min(self.candidates, n_labels) if self._uses_first(n_labels) else n_labels

    def _word_network(self, n_inputs: int) -> BiLSTM:
        return BiLSTM(n_inputs, self.units, self.dropout)

    def _reader(self, reader: Reader, start: LabelStart) -> Reader:
        return reader if self.joint else LabelVectors(reader, len(start.counts))

    def _scorer(self, reader: Reader, start: LabelStart) -> CrossAttentionScorer:
        cross = None
        if self.cross:
            own = (self.radius, self.filters, self.across, self.cosine, self.average)
            cross = CrossAttention(*own)
        tasks: list[tuple[CooccurrenceTask, float]] = []
        if self.plcp:
            tasks.append((PairTask(reader.n_vector, self.ratio), self.plcp))
        if self.clcp:
            tasks.append((GivenTask(reader.n_vector, self.given), self.clcp))
        return CrossAttentionScorer(start, reader.n_vector, cross, self.dropout, tasks)

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
    plcp = setting(0.5, search=Real(0.05, 2.0, log=True))


class LacoClcp(Laco):
    """LACO that also learns, given a label, which others occur with it; see `Laco`."""

    name: ClassVar[str] = "laco-clcp"
    clcp = setting(0.5, search=Real(0.05, 2.0, log=True))
