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

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from labelgrove.core.ranges import Range, Real, Whole
from labelgrove.models.neural.joint import JointClassifier
from labelgrove.models.neural.parts.crf import Chain
from labelgrove.models.neural.parts.encoders import BiLSTM
from labelgrove.models.neural.parts.joint import JointNetwork, JointReader, Reading


class SeqTagNetwork(JointNetwork):
    """A BiLSTM over the vectors of labels, and a chain of yes and no.

    Parameters
    ----------
    reader
        Of texts and labels.
    order
        Place of each label in the sequence, shape (L,).
    units
        Of the LSTM in each direction.
    dropout
        In front of it and behind it.
    second
        Whether it is the second stage.
    """

    def __init__(
        self, reader: JointReader, order: Tensor, units: int, dropout: float, second: bool
    ) -> None:
        super().__init__(reader, second)
        self.register_buffer("order", order)
        self.dropout = nn.Dropout(dropout)
        self.lstm = BiLSTM(reader.n_outputs, units, dropout)
        self.states = nn.Linear(2 * units, 2)
        self.chain = Chain()

    def log_odds(self, reading: Reading, labels: Tensor, odds: Tensor) -> Tensor:
        """Return the log odds of the labels' marginals, shape (b, C)."""
        order = self._ordered(labels)
        real = (labels >= 0).gather(1, order)
        found = self.chain.log_odds(self._scores(reading, odds, order, real), real)
        return torch.empty_like(found).scatter(1, order, found)

    def loss(self, reading: Reading, labels: Tensor, odds: Tensor, true: Tensor) -> Tensor:
        """Return the negative log-likelihood, divided by the number of labels, shape ()."""
        order = self._ordered(labels)
        real = (labels >= 0).gather(1, order)
        scores = self._scores(reading, odds, order, real)
        return self.chain.loss(scores, true.gather(1, order), real) / real.sum().clamp(min=1)

    def _ordered(self, labels: Tensor) -> Tensor:
        """Return the places of labels (b, C) in the order of the sequence, none last."""
        order: Tensor = self.order  # type: ignore[assignment]
        places = order[labels.clamp(min=0)].masked_fill(labels < 0, len(order))
        return places.argsort(1)

    def _scores(self, reading: Reading, odds: Tensor, order: Tensor, real: Tensor) -> Tensor:
        """Return the scores of both states in the order of the sequence, shape (b, C, 2)."""
        places = order[:, :, None].expand(-1, -1, reading.labels.shape[2])
        read = self.lstm(self.dropout(reading.labels.gather(1, places)).float(), real.sum(1))
        scores: Tensor = self.states(read).float()
        if self.trust is not None:
            told = self.trust * odds.gather(1, order)
            scores = scores + torch.stack([torch.zeros_like(told), told], 2)
        return scores


class SeqTag(JointClassifier):
    """A pretrained transformer reads text and labels together; a BiLSTM-CRF tags the labels.

    Parameters
    ----------
    units
        Of the LSTM in each direction.
    dropout
        In front of the LSTM and behind it.
    **training
        Fields of `labelgrove.models.neural.training.settings.JointTraining`; without an
        ``encoder`` it is ``google-bert/bert-base-uncased``.
    """

    name: ClassVar[str] = "seqtag"
    default_encoder: ClassVar[str] = "google-bert/bert-base-uncased"

    def __init__(self, units: int = 128, dropout: float = 0.1, **training: Any) -> None:
        super().__init__(**training)
        self.units = units
        self.dropout = dropout

    def _joined(self, reader: JointReader, counts: NDArray[np.int64], second: bool) -> JointNetwork:
        order = torch.from_numpy(np.argsort(np.argsort(-counts, kind="stable")))
        network = SeqTagNetwork(reader, order, self.units, self.dropout, second)
        # yes is as probable at first as a label is frequent, or as the first stage says
        mean = float(counts.mean()) / max(self._n_documents, 1)
        first = torch.tensor([1 - mean, mean]).clamp(min=1e-6).log()
        with torch.no_grad():
            network.states.bias.copy_(torch.zeros(2) if second else first)
            if second:
                network.states.weight.zero_()
        return network

    @classmethod
    def ranges(cls) -> dict[str, Range]:
        """Return also those of the LSTM."""
        return {
            **super().ranges(),
            "units": Whole(64, 256, log=True),
            "dropout": Real(0.0, 0.4),
        }

    @classmethod
    def example_settings(cls, folder: Path) -> dict[str, Any]:
        """Return settings small enough to learn in seconds, with an encoder made on the spot."""
        from labelgrove.models.neural.examples import small_bert

        return {"encoder": small_bert(folder), "length": 32, "batch": 16, "epochs": 12,
                "units": 16, "encoder_rate": 0.003, "hidden_rate": 0.01, "learning_rate": 0.01,
                "layer_decay": 1.0, "warmup": 0.0, "threads": 1}  # fmt: skip
