"""What the models share that read a text and write its labels one after the other."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Literal

from labelgrove.core.errors import InputError
from labelgrove.core.ranges import Real, Whole
from labelgrove.core.settings import setting
from labelgrove.core.types import FitContext
from labelgrove.models.neural.candidates.base import TrainingData
from labelgrove.models.neural.estimator import NeuralClassifier
from labelgrove.models.neural.learning import Measure
from labelgrove.models.neural.priors.start import LabelStart
from labelgrove.models.neural.readers.settings import UNITS
from labelgrove.models.neural.readers.word_networks import BiLSTM
from labelgrove.models.neural.scorers.decoders import (
    HEADS,
    Decoder,
    LstmDecoder,
    TransformerDecoder,
)
from labelgrove.models.neural.scorers.label_writer import LabelWriter

MANY = 5000  # labels from which on a softmax over all of them is no good choice


class SequenceClassifier(NeuralClassifier):
    """A reader, and a decoder that writes labels: the most frequent first, then an end."""

    measure: ClassVar[Measure] = "micro-F1"

    prior = "frequency"
    units: int = UNITS
    decoder: Literal["lstm", "transformer"] = setting(
        "lstm", "What reads the labels written so far: a recurrent layer, or self-attention."
    )
    layers: int = setting(1, "Layers of the decoder.", least=1, search=Whole(1, 3))
    hidden: int = setting(
        256, "Units of the decoder, and size of a label's vector.", least=1,
        search=Whole(64, 512, log=True),
    )  # fmt: skip
    dropout: float = setting(
        0.3, "Dropout behind the recurrent layer that reads words, on the vectors of written "
        "labels, and in the decoder.", least=0, below=1, search=Real(0.1, 0.6),
    )  # fmt: skip
    beams: int = setting(
        10, "Sequences of labels that beam search keeps for a text.", least=1, search=Whole(1, 20)
    )
    scores: Literal["chance", "set"] = setting(
        "chance",
        "What scores tell: chance, how probable it was that a label is written, or set, from one "
        "half on that it is in the most probable set, as papers score.",
    )
    most: int = setting(50, "Labels that are written of a text at most.", least=1)

    def check_settings(self) -> None:
        """Refuse a first stage, and a decoder whose attention does not divide its units."""
        super().check_settings()
        if self.first != "none":
            raise InputError(
                f"first={self.first!r} has no effect: {self.name} writes labels out of all that "
                "there are; leave it out, or let laco or transformer judge a first stage's labels"
            )
        if self.decoder == "transformer" and self.hidden % HEADS:
            raise InputError(
                f"hidden={self.hidden} must be a multiple of {HEADS} with decoder='transformer'"
            )

    @property
    def _as_sets(self) -> bool:
        """Whether scores tell which set is decided."""
        return self.scores == "set"

    @property
    def allows_first(self) -> bool:
        """False: all labels may be written."""
        return False

    def why_no_onnx(self) -> str:
        """Return that labels are written in steps."""
        return "it writes labels one after the other, by a search over several steps"

    def _prepare(
        self, data: TrainingData, context: FitContext
    ) -> tuple[TrainingData, dict[str, Any]]:
        """Warn of more labels than a softmax is good for."""
        n_labels = data.Y.shape[1]
        if n_labels > MANY:
            context.run.progress.say(
                f"warning: {self.name} weighs all {n_labels:,} labels at each step of each "
                f"sequence, and learns little of rare ones: above {MANY:,} labels prefer bonsai, "
                "or attentionxml with its label tree"
            )
        return super()._prepare(data, context)

    def _word_network(self, n_inputs: int) -> BiLSTM:
        return BiLSTM(n_inputs, self.units, self.dropout)

    def _writer(
        self, n_vector: int, n_pooled: int, start: LabelStart, mixes: bool = False
    ) -> LabelWriter:
        """Return what writes labels.

        Parameters
        ----------
        n_vector, n_pooled
            Sizes of the vectors that it looks at, and of the one that it begins with.
        start
            The labels, and how they begin.
        mixes
            As of `LabelWriter`.
        """
        decoder: Decoder
        if self.decoder == "lstm":
            decoder = LstmDecoder(
                n_vector, n_pooled, self.hidden, self.hidden, self.layers, self.dropout
            )
        else:
            most = min(self.most, len(start.counts))
            decoder = TransformerDecoder(n_vector, self.hidden, self.layers, most, self.dropout)
        return LabelWriter(decoder, start, self.hidden, self.dropout, mixes)

    @classmethod
    def example_settings(cls, folder: Path) -> dict[str, Any]:
        """Return settings small enough to learn in seconds."""
        return {"units": 24, "hidden": 24, "vector_size": 24, "epochs": 8, "batch": 32, "beams": 2,
                "learning_rate": 0.03, "dropout": 0.1, "most": 4, "threads": 1}  # fmt: skip
