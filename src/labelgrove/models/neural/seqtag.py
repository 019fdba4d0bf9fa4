"""SeqTag: labels as a sequence that is tagged yes or no, LACO's second strong baseline.

Zhang, Zhang, Yan, Liu and Cao (see `laco`) give the labels that a transformer has read with the
text to a BiLSTM-CRF: Huang, Xu and Yu, "Bidirectional LSTM-CRF models for sequence tagging", 2015.

Labels stand in the order of their frequency, the most frequent first, which the paper leaves open.
A label's probability is its marginal in the CRF, whatever the other labels are: the best sequence
alone would have no probabilities.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from scipy.sparse import csr_array
from torch import Tensor

from labelgrove.core.errors import InputError
from labelgrove.core.features import Features
from labelgrove.core.ranges import Real, Whole
from labelgrove.core.settings import setting
from labelgrove.core.types import FitContext
from labelgrove.models.neural.candidates.all import AllLabels
from labelgrove.models.neural.candidates.base import Learned
from labelgrove.models.neural.estimator import NeuralClassifier
from labelgrove.models.neural.learning import Measure
from labelgrove.models.neural.priors.start import LabelStart
from labelgrove.models.neural.readers.base import Reader
from labelgrove.models.neural.readers.joint import (
    JointReader,
    LabelReading,
    label_words,
    pair_with_room,
)
from labelgrove.models.neural.readers.transformer import TransformerInput, TransformerReader
from labelgrove.models.neural.scorers.crf import CrfScorer
from labelgrove.models.neural.training.settings import FineTuning
from labelgrove.text.pretrained import Pair, load_tokenizer, pair_of


class SeqTag(LabelReading, FineTuning, NeuralClassifier):
    """A pretrained transformer reads text and labels together; a BiLSTM-CRF tags the labels.

    Attributes
    ----------
    pair_
        What the tokenizer puts around a text and labels, as JSON.
    """

    name: ClassVar[str] = "seqtag"
    measure: ClassVar[Measure] = "micro-F1"

    encoder = "google-bert/bert-base-uncased"
    length = 256
    first = "bonsai"
    prior = "frequency"
    learning_rate = 5e-3
    hidden_rate = setting(5e-4, search=Real(1e-4, 5e-3, log=True))
    layer_decay = 0.8
    warmup = 0.1
    units: int = setting(
        128, "Units of the LSTM over labels, in each direction.", least=1,
        search=Whole(64, 256, log=True),
    )  # fmt: skip
    dropout: float = setting(
        0.1, "Dropout in front of the LSTM and behind it.", least=0, below=1,
        search=Real(0.0, 0.4),
    )  # fmt: skip

    pair_: dict[str, Any]
    _words: list[Tensor]  # of the labels, while they are learned

    def check_settings(self) -> None:
        """Refuse a reader that cannot read labels with a text."""
        super().check_settings()
        if self.form != "transformer":
            raise InputError(
                f"encoder={self.encoder!r} cannot read labels with the text, which seqtag needs: "
                "give a transformer, or use laco with joint=false"
            )

    def _uses_first(self, n_labels: int) -> bool:
        return super()._uses_first(n_labels) and n_labels > self.together

    def _fit(self, X: Features, Y: csr_array, context: FitContext) -> None:
        try:
            super()._fit(X, Y, context)
        finally:
            self._words = []

    def _prepare(self, data: Learned, context: FitContext) -> tuple[Learned, dict[str, Any]]:
        """Ask what stands around labels, and look up the words that they begin as."""
        assert isinstance(self.input_, TransformerInput)
        self._words, n_labels = label_words(self.starts, context), int(data.Y.shape[1])
        n_read = min(self.candidates, n_labels) if self._uses_first(n_labels) else n_labels
        advice = (
            f"lower length, or let a first stage choose fewer labels (first={self.first!r}, "
            f"together={self.together}, candidates={self.candidates})"
        )
        self.pair_ = pair_with_room(self.input_, n_read, advice).as_json()
        return super()._prepare(data, context)

    def _reader(self, reader: Reader, start: LabelStart) -> JointReader:
        assert isinstance(reader, TransformerReader)
        known = getattr(self, "pair_", None)
        pair = Pair.from_json(known) if known else pair_of(load_tokenizer(self.encoder))
        joint = JointReader(reader, pair, len(start.counts))
        joint.begin(getattr(self, "_words", []))
        return joint

    def _scorer(self, reader: Reader, start: LabelStart) -> CrfScorer:
        return CrfScorer(start, reader.n_vector, self.units, self.dropout)

    def _candidates(self, n_labels: int) -> AllLabels:
        return AllLabels(self.batch)

    @classmethod
    def example_settings(cls, folder: Path) -> dict[str, Any]:
        """Return settings small enough to learn in seconds, with an encoder made on the spot."""
        from labelgrove.models.neural.examples import small_bert

        return {"encoder": small_bert(folder), "length": 32, "batch": 16, "epochs": 12,
                "units": 16, "encoder_rate": 0.003, "hidden_rate": 0.01, "learning_rate": 0.01,
                "layer_decay": 1.0, "warmup": 0.0, "threads": 1}  # fmt: skip
