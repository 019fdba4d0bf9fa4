"""The network of AttentionXML: words, a recurrent layer, a reading for each label, a score."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn

from labelgrove.models.neural.parts.embedding import WordEmbedding
from labelgrove.models.neural.parts.encoders import BiLSTM
from labelgrove.models.neural.parts.label_attention import LabelAttention, SharedLayers


class AttentionNetwork(nn.Module):
    """Equations 1 to 5 of AttentionXML, for all labels or for given candidates.

    Parameters
    ----------
    words
        Vectors of the words.
    encoder
        The recurrent layer.
    layers
        Sizes of the fully connected layers.
    n_labels
        Number of labels, or of nodes of a tree's level.
    sparse
        For candidates among very many labels: a step touches only those.
    """

    def __init__(
        self,
        words: WordEmbedding,
        encoder: BiLSTM,
        layers: Sequence[int],
        n_labels: int,
        sparse: bool = False,
    ) -> None:
        super().__init__()
        self.words, self.encoder = words, encoder
        self.attention = LabelAttention(n_labels, encoder.n_outputs, sparse)
        self.layers = SharedLayers(encoder.n_outputs, layers)

    def forward(self, tokens: Tensor, lengths: Tensor, candidates: Tensor | None = None) -> Tensor:
        """Return logits (b, L), or (b, C) of candidates (b, C), for tokens (b, T)."""
        encoded = self.encoder(self.words(tokens), lengths)
        logits: Tensor = self.layers(self.attention(encoded, lengths, candidates))
        return logits

    def shares(self, tokens: Tensor, lengths: Tensor, candidates: Tensor) -> Tensor:
        """Return how much each candidate attends to each word, shape (b, C, T)."""
        encoded = self.encoder(self.words(tokens), lengths)
        return self.attention.shares(encoded, lengths, candidates)

    def begin_as(self, other: AttentionNetwork) -> None:
        """Take over all weights but those of the attention."""
        self.words.load_state_dict(other.words.state_dict())
        self.encoder.load_state_dict(other.encoder.state_dict())
        self.layers.load_state_dict(other.layers.state_dict())
