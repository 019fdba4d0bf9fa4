"""Networks of words, a recurrent layer, and what they judge: labels, clusters of labels, or both.

A level of a label tree is judged by one of them: all of its nodes, or candidates for each text.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from labelgrove.models.neural.parts.embedding import WordEmbedding
from labelgrove.models.neural.parts.encoders import BiLSTM
from labelgrove.models.neural.parts.label_attention import LabelAttention, SharedLayers

BLOCK = 1 << 25  # numbers kept at once where all labels are judged, other than to learn


class Judge(NamedTuple):
    """What judges the nodes of one level.

    Parameters
    ----------
    network
        Reads the text.
    score
        Takes its reading (b, T, d), the lengths (b,) and candidates (b, C), or None for all nodes;
        gives logits.
    """

    network: TextNetwork
    score: Callable[[Tensor, Tensor, Tensor | None], Tensor]


class TextNetwork(nn.Module):
    """Words and a recurrent layer: a reading of the text, which subclasses judge.

    Parameters
    ----------
    words
        Vectors of the words.
    encoder
        The recurrent layer.
    """

    def __init__(self, words: WordEmbedding, encoder: BiLSTM) -> None:
        super().__init__()
        self.words, self.encoder = words, encoder

    def encode(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        """Return a vector (b, T, d) for each of the words (b, T)."""
        encoded: Tensor = self.encoder(self.words(tokens), lengths)
        return encoded

    @abstractmethod
    def judges(self) -> list[Judge]:
        """Return what judges each of the levels this network knows, from the first down."""

    def begin_as(self, other: TextNetwork) -> None:
        """Take over all weights but those that belong to single labels or clusters."""
        for name in ("words", "encoder", "layers"):
            own, theirs = getattr(self, name, None), getattr(other, name, None)
            if own is not None and theirs is not None:
                own.load_state_dict(theirs.state_dict())


class LabelNetwork(TextNetwork):
    """Equations 1 to 5 of AttentionXML, without saying for which labels.

    Parameters
    ----------
    words, encoder
        As of `TextNetwork`.
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
        super().__init__(words, encoder)
        self.attention = LabelAttention(n_labels, encoder.n_outputs, sparse)
        self.layers = SharedLayers(encoder.n_outputs, layers)
        self._per_label = encoder.n_outputs + sum(layers)

    def judge(self, encoded: Tensor, lengths: Tensor, candidates: Tensor | None) -> Tensor:
        """Return logits (b, L), or (b, C) of candidates (b, C).

        All labels are judged some at a time, but for learning, which needs all steps at once.
        """
        if candidates is not None or self.training:
            return self._judge(encoded, lengths, candidates)
        texts, longest, _ = encoded.shape
        size = max(BLOCK // (texts * (longest + self._per_label)), 1)
        labels = torch.arange(self.attention.labels.num_embeddings, device=encoded.device)
        return torch.cat(
            [self._judge(encoded, lengths, some) for some in torch.split(labels, size)], 1
        )

    def _judge(self, encoded: Tensor, lengths: Tensor, candidates: Tensor | None) -> Tensor:
        logits: Tensor = self.layers(self.attention(encoded, lengths, candidates))
        return logits

    def shares(self, tokens: Tensor, lengths: Tensor, candidates: Tensor) -> Tensor:
        """Return how much each candidate attends to each word, shape (b, C, T)."""
        return self.attention.shares(self.encode(tokens, lengths), lengths, candidates)


class AttentionNetwork(LabelNetwork):
    """The network of AttentionXML: judges all labels, or given candidates."""

    def forward(self, tokens: Tensor, lengths: Tensor, candidates: Tensor | None = None) -> Tensor:
        """Return logits (b, L), or (b, C) of candidates (b, C), for tokens (b, T)."""
        return self.judge(self.encode(tokens, lengths), lengths, candidates)

    def judges(self) -> list[Judge]:
        """Return what judges the one level."""
        return [Judge(self, self.judge)]


class Generator(nn.Module):
    """A linear layer from the mean of a text's vectors to clusters of labels.

    Parameters
    ----------
    n_inputs
        Size of a word's vector.
    n_clusters
        Number of clusters.
    """

    def __init__(self, n_inputs: int, n_clusters: int) -> None:
        super().__init__()
        self.output = nn.Linear(n_inputs, n_clusters)
        nn.init.xavier_uniform_(self.output.weight)

    def forward(self, encoded: Tensor, lengths: Tensor, candidates: Tensor | None = None) -> Tensor:
        """Return logits (b, K), or (b, C) of candidates, of vectors (b, T, d), 0 behind a text."""
        logits: Tensor = self.output(encoded.sum(dim=1) / lengths[:, None])
        return logits if candidates is None else logits.gather(1, candidates)


class ClusterNetwork(TextNetwork):
    """Judges clusters only.

    Parameters
    ----------
    words, encoder
        As of `TextNetwork`.
    n_clusters
        Number of clusters.
    """

    def __init__(self, words: WordEmbedding, encoder: BiLSTM, n_clusters: int) -> None:
        super().__init__(words, encoder)
        self.generator = Generator(encoder.n_outputs, n_clusters)

    def forward(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        """Return logits (b, K) for tokens (b, T)."""
        logits: Tensor = self.generator(self.encode(tokens, lengths), lengths)
        return logits

    def judges(self) -> list[Judge]:
        """Return what judges the one level."""
        return [Judge(self, self.generator)]


class CooperativeNetwork(LabelNetwork):
    """The network of LightAttention: clusters, from which candidates are chosen, and these.

    Parameters
    ----------
    words, encoder, layers, n_labels
        As of `LabelNetwork`; steps touch only the candidates.
    n_clusters
        Number of clusters.
    """

    def __init__(
        self,
        words: WordEmbedding,
        encoder: BiLSTM,
        layers: Sequence[int],
        n_labels: int,
        n_clusters: int,
    ) -> None:
        super().__init__(words, encoder, layers, n_labels, sparse=True)
        self.generator = Generator(encoder.n_outputs, n_clusters)

    def forward(
        self, tokens: Tensor, lengths: Tensor, choose: Callable[[Tensor], Tensor]
    ) -> tuple[Tensor, Tensor]:
        """Judge clusters and labels of tokens (b, T) from one reading.

        Parameters
        ----------
        tokens, lengths
            Shapes (b, T) and (b,).
        choose
            Given logits of the clusters (b, K), returns the labels to judge (b, C).

        Returns
        -------
        clusters, labels
            Logits, shapes (b, K) and (b, C).
        """
        encoded = self.encode(tokens, lengths)
        clusters = self.generator(encoded, lengths)
        return clusters, self.judge(encoded, lengths, choose(clusters))

    def judges(self) -> list[Judge]:
        """Return what judges clusters, and what judges labels."""
        return [Judge(self, self.generator), Judge(self, self.judge)]
