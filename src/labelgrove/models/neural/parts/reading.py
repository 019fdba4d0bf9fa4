"""Layers of self-attention that read a text together with what a teacher says of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from labelgrove.models.neural.parts.embedding import WordEmbedding, mask_of
from labelgrove.text import PAD

Step = Literal["masked", "plain", "residual"]


class SelfAttention(nn.Module):
    """Multi-head self-attention (equations 3 to 13).

    Parameters
    ----------
    size
        Of the vectors, d.
    heads
        Each looks at ``size // heads`` numbers.
    masked
        Let every word see itself and what stands before it only. The printed mask, an upper
        triangle of ones, would hide what stands before.
    """

    def __init__(self, size: int, heads: int, masked: bool) -> None:
        super().__init__()
        self.heads, self.masked = heads, masked
        inner = heads * max(size // heads, 1)
        self.query, self.key, self.value = (nn.Linear(size, inner, bias=False) for _ in range(3))
        self.out = nn.Linear(inner, size, bias=False)

    def forward(self, x: Tensor, real: Tensor) -> Tensor:
        """Return what each word has read.

        Parameters
        ----------
        x
            Vectors, shape (b, T, d).
        real
            Which of them are words, shape (b, T), bool; nothing looks at the others.
        """
        query, key, value = (self._parted(part(x)) for part in (self.query, self.key, self.value))
        read = scaled_dot_product_attention(query, key, value, self._allowed(real))
        return torch.tanh(self.out(read.transpose(1, 2).flatten(2)))

    def _parted(self, x: Tensor) -> Tensor:
        """Return vectors (b, T, heads * m) as (b, heads, T, m)."""
        return x.view(*x.shape[:2], self.heads, -1).transpose(1, 2)

    def _allowed(self, real: Tensor) -> Tensor:
        """Return who may look at whom, shape (b, 1, T, T); each at itself, so that none is left."""
        allowed = real[:, None, :].expand(-1, real.shape[1], -1)
        if self.masked:
            allowed = allowed.tril()
        own = torch.eye(real.shape[1], dtype=torch.bool, device=real.device)
        return (allowed | own)[:, None]


class Branch(nn.Module):
    """Reads one sequence, step by step (the paper's Reading).

    Parameters
    ----------
    size
        Of the vectors.
    heads
        Of each attention.
    steps
        ``"masked"`` and ``"plain"`` attention, and ``"residual"``: what went in is added.
    """

    def __init__(self, size: int, heads: int, steps: Sequence[Step]) -> None:
        super().__init__()
        self.steps = tuple(steps)
        self.layers = nn.ModuleList(
            SelfAttention(size, heads, step == "masked") for step in steps if step != "residual"
        )

    def forward(self, x: Tensor, real: Tensor) -> Tensor:
        """Return vectors of the shape of x, (b, T, d)."""
        found, layers = x, iter(self.layers)
        for step in self.steps:
            found = found + x if step == "residual" else next(layers)(found, real)
        return found


class DualReader(nn.Module):
    """Text and teacher knowledge, read apart and then together, become one vector.

    Parameters
    ----------
    words
        Vectors of the words of both.
    heads, steps
        As of `Branch`.
    taught
        Whether there is a teacher.

    Attributes
    ----------
    n_outputs
        Size of the vector: mean and maximum of what was read.
    """

    def __init__(
        self, words: WordEmbedding, heads: int, steps: Sequence[Step], taught: bool
    ) -> None:
        super().__init__()
        size = words.lookup.embedding_dim
        self.words = words
        self.student = Branch(size, heads, steps)
        self.teacher = Branch(size, heads, steps) if taught else None
        self.interaction = SelfAttention(size, heads, masked=True)
        self.n_outputs = 2 * size

    def forward(self, tokens: Tensor, lengths: Tensor, shares: Tensor, lessons: Tensor) -> Tensor:
        """Return vectors (b, n_outputs).

        Parameters
        ----------
        tokens, lengths
            Of the texts, shapes (b, T) and (b,).
        shares
            How much of each text's teacher knowledge a label is, shape (b, U).
        lessons
            The words that describe these labels, shape (U, D).
        """
        return self.read(self.words(tokens), lengths, shares, lessons)

    def read(self, vectors: Tensor, lengths: Tensor, shares: Tensor, lessons: Tensor) -> Tensor:
        """Return the same from vectors of the words (b, T, d)."""
        real = mask_of(lengths, vectors.shape[1])
        found = self.student(vectors, real)
        if self.teacher is not None:
            told, spoken = taught(self.words(lessons), lessons, shares)
            found = torch.cat([self.teacher(told, spoken), found], 1)
            real = torch.cat([spoken, real], 1)
        found, own = self.interaction(found, real), real[:, :, None]
        mean = (found * own).sum(1) / own.sum(1)
        most = found.masked_fill(~own, -torch.inf).amax(1)
        return torch.cat([mean, most], 1)


def taught(vectors: Tensor, lessons: Tensor, shares: Tensor) -> tuple[Tensor, Tensor]:
    """Return the mean of what describes labels, place by place (line 8 of Algorithm 1).

    Parameters
    ----------
    vectors, lessons
        Of the words that describe U labels, shapes (U, D, d) and (U, D).
    shares
        Of the labels for each text, shape (b, U).

    Returns
    -------
    told, spoken
        Vectors (b, D, d), and at which places there was a word, (b, D), bool.
    """
    words = (lessons != PAD).to(vectors.dtype)
    told = shares @ (vectors * words[:, :, None]).flatten(1)
    return told.view(len(shares), *vectors.shape[1:]), shares @ words > 0
