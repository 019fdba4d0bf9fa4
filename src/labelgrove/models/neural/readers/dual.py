"""Layers of self-attention that read a text together with what a teacher says of it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from labelgrove.models.neural.readers.base import Batch, Reader, Reading, WrappedReader
from labelgrove.models.neural.readers.positions import PositionKind, Positions
from labelgrove.text import PAD

ReadingStep = Literal["masked", "plain", "residual"]


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

    Weights begin with a variance of 1 / d (Glorot and Bengio 2010). torch's own, a third of that,
    would leave a ninth of the variance at each attention, and texts could hardly be told apart
    behind three of them.
    """

    def __init__(self, size: int, heads: int, masked: bool) -> None:
        super().__init__()
        self.heads, self.masked = heads, masked
        inner = heads * max(size // heads, 1)
        self.query, self.key, self.value = (nn.Linear(size, inner, bias=False) for _ in range(3))
        self.out = nn.Linear(inner, size, bias=False)
        for part in (self.query, self.key, self.value, self.out):
            nn.init.xavier_uniform_(part.weight)

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
    residuals
        Also add to what each attention returns what went into it, unless the next step is
        ``"residual"``.
    """

    def __init__(
        self, size: int, heads: int, steps: Sequence[ReadingStep], residuals: bool = False
    ) -> None:
        super().__init__()
        self.steps, self.residuals = tuple(steps), residuals
        self.layers = nn.ModuleList(
            SelfAttention(size, heads, step == "masked") for step in steps if step != "residual"
        )

    def forward(self, x: Tensor, real: Tensor) -> Tensor:
        """Return vectors of the shape of x, (b, T, d)."""
        found, layers = x, iter(self.layers)
        for step, following in zip_longest(self.steps, self.steps[1:]):
            if step == "residual":
                found = found + x
            else:
                read = next(layers)(found, real)
                found = found + read if self.residuals and following != "residual" else read
        return found


class DualReader(WrappedReader):
    """Text and teacher knowledge, read apart and then together.

    Parameters
    ----------
    inner
        Gives words of texts, and of what describes labels, their vectors.
    heads, steps
        As of `Branch`.
    taught
        Whether there is a teacher.
    residuals
        As of `Branch`, and around the interaction too.
    positions
        What tells attention where a word stands: ``"none"``, or a kind of `Positions`.
    longest
        Words of the longest text or description, for positions.
    """

    def __init__(
        self,
        inner: Reader,
        heads: int,
        steps: Sequence[ReadingStep],
        taught: bool,
        *,
        residuals: bool = False,
        positions: PositionKind = "none",
        longest: int = 0,
    ) -> None:
        super().__init__(inner)
        size = inner.n_vector
        self.residuals = residuals
        self.positions: nn.Module = nn.Identity()
        if positions != "none":
            self.positions = Positions(positions, size, longest)
        self.student = Branch(size, heads, steps, residuals)
        self.teacher = Branch(size, heads, steps, residuals) if taught else None
        self.interaction = SelfAttention(size, heads, masked=True)
        self.n_pooled = 2 * size

    def read(self, batch: Batch, vectors: Tensor) -> Reading:
        """Read texts whose tokens have these vectors, with their teacher knowledge.

        The reading has the teacher's words in front of those of the text; a text's vector is the
        mean and the maximum of all.
        """
        text = self.inner.read(batch, vectors)
        real, states = text.mask, self.student(self.positions(text.vectors), text.mask)
        if self.teacher is not None:
            assert batch.shares is not None
            told, spoken = self._told(batch)
            states = torch.cat([self.teacher(self.positions(told), spoken), states], 1)
            real = torch.cat([spoken, real], 1)
        read, own = self.interaction(states, real), real[:, :, None]
        states = states + read if self.residuals else read

        def pool() -> Tensor:
            mean = (states * own).sum(1) / own.sum(1)
            return torch.cat([mean, states.masked_fill(~own, -torch.inf).amax(1)], 1)

        return Reading(states, real, pool)

    def _told(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Return what the teacher says to each text (b, D, d), and where there is a word (b, D)."""
        assert batch.shares is not None
        assert batch.lessons is not None
        if not len(batch.lessons):
            nothing = batch.shares.new_zeros(len(batch.shares), batch.lessons.shape[1])
            return nothing[:, :, None].expand(-1, -1, self.n_vector), nothing > 0
        lengths = (batch.lessons != PAD).sum(1).clamp(min=1)
        described = self.inner(Batch(batch.lessons, lengths))
        return taught(described.vectors, batch.lessons, batch.shares)

    def kept(self, longest: int, judged: int) -> int:
        """Return the numbers that learning keeps for one text."""
        heads, steps = self.interaction.heads, len(self.student.steps) + 1
        # an attention keeps five vectors of a word, and what each word sees of the others
        seen = steps * longest * (5 * self.n_vector + heads * longest)
        return self.inner.kept(longest, judged) + seen


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
