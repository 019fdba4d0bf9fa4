"""A reading of the text for every label (equations 4 and 5 of AttentionXML)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from labelgrove.models.neural.parts.embedding import mask_of


class LabelAttention(nn.Module):
    """Each label attends to the words it cares about.

    Parameters
    ----------
    n_labels
        Number of labels.
    size
        Size of a word's vector.
    sparse
        Steps touch only the candidates: for very many labels.
    """

    def __init__(self, n_labels: int, size: int, sparse: bool = False) -> None:
        super().__init__()
        self.labels = nn.Embedding(n_labels, size, sparse=sparse)
        nn.init.xavier_uniform_(self.labels.weight)

    def forward(self, words: Tensor, lengths: Tensor, candidates: Tensor | None = None) -> Tensor:
        """Return a vector for each label, or each candidate, of each text.

        Parameters
        ----------
        words
            Shape (b, T, size).
        lengths
            Words of each text, shape (b,).
        candidates
            Labels of each text, shape (b, C), or the same of all texts, shape (C,); None for all.

        Returns
        -------
        vectors
            Shape (b, L or C, size).
        """
        return self.shares(words, lengths, candidates) @ words

    def shares(self, words: Tensor, lengths: Tensor, candidates: Tensor | None = None) -> Tensor:
        """Return how much each label attends to each word, (b, L or C, T); they sum to 1."""
        if candidates is None or candidates.ndim == 1:
            labels = self.labels.weight if candidates is None else self.labels(candidates)
            scores = torch.einsum("btd,ld->blt", words, labels)
        else:
            scores = self.labels(candidates) @ words.transpose(1, 2)
        hidden = ~mask_of(lengths, words.shape[1])[:, None, :]
        return scores.masked_fill(hidden, -torch.inf).softmax(dim=2)


class SharedLayers(nn.Module):
    """Fully connected layers that all labels share, down to one number each.

    Parameters
    ----------
    n_inputs
        Size of a label's vector.
    sizes
        Sizes of the layers between.
    """

    def __init__(self, n_inputs: int, sizes: Sequence[int]) -> None:
        super().__init__()
        wide = [n_inputs, *sizes]
        self.hidden = nn.ModuleList(nn.Linear(a, b) for a, b in zip(wide, sizes, strict=False))
        self.output = nn.Linear(wide[-1], 1)
        for layer in [*self.hidden, self.output]:
            nn.init.xavier_uniform_(layer.weight)

    def forward(self, x: Tensor) -> Tensor:
        """Return logits (b, C) of label vectors (b, C, n_inputs)."""
        for layer in self.hidden:
            x = torch.relu(layer(x))
        logits: Tensor = self.output(x).squeeze(-1)
        return logits
