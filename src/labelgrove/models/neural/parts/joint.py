"""Texts and labels read together by one transformer (LACO's joint embedding)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from labelgrove.models.neural.parts.embedding import mask_of
from labelgrove.models.neural.parts.pretrained import (
    Framed,
    Pooling,
    alone,
    embedded,
    framed,
    pooled,
    states_of,
    width_of,
)
from labelgrove.text.pretrained import Pair, Specials


class Reading(NamedTuple):
    """What was read of texts and labels.

    Parameters
    ----------
    words
        Vectors of the texts' own tokens, shape (b, T, d).
    own
        Which of them are not padding, shape (b, T), bool.
    labels
        Vectors of the labels, shape (b, C, d).
    text
        What stands for the whole text, shape (b, d).
    """

    words: Tensor
    own: Tensor
    labels: Tensor
    text: Tensor


class JointReader(nn.Module):
    """A transformer that reads a text, and behind it one token for each label.

    Parameters
    ----------
    encoder
        The transformer.
    specials, pair
        What stands around a text alone, and around a text and labels.
    pooling
        Which of its vectors stands for the text.
    n_labels
        Number of labels.
    joint
        Read labels with the text. Else a label is a vector of its own, and the transformer reads
        the text alone.

    Attributes
    ----------
    tokens
        What each label is read as, shape (L, e), or, if they are not read, its vector (L, d).
    n_outputs
        Size d of the transformer's vectors.
    """

    def __init__(
        self,
        encoder: nn.Module,
        specials: Specials,
        pair: Pair,
        pooling: Pooling,
        n_labels: int,
        joint: bool = True,
    ) -> None:
        super().__init__()
        self.encoder, self.pooling, self.joint = encoder, pooling, joint
        self.pad, self.near = specials.pad, pair if joint else alone(specials)
        self.n_outputs = width_of(encoder)
        words: Tensor = encoder.get_input_embeddings().weight  # type: ignore[operator]
        size = words.shape[1] if joint else self.n_outputs
        spread = float(words.detach().std()) if words.device.type != "meta" else 1.0
        self.tokens = nn.Parameter(spread * torch.randn(n_labels, size))

    def begin(self, labels: list[Tensor]) -> None:
        """Let labels begin as the mean of their words; one without words stays random.

        Parameters
        ----------
        labels
            Tokens of each label, shape (n,) each.
        """
        with torch.no_grad():
            for number, words in enumerate(labels):
                if len(words) and self.joint:
                    self.tokens[number] = embedded(self.encoder, words).mean(0)

    def forward(self, tokens: Tensor, lengths: Tensor, labels: Tensor) -> Reading:
        """Read texts.

        Parameters
        ----------
        tokens, lengths
            Shapes (b, T) and (b,).
        labels
            Which labels are read with each, shape (b, C); -1 for none, behind the others.
        """
        frame = self.frame(tokens, lengths, labels)
        return self.read(frame, self.vectors(frame, labels), lengths, labels)

    def frame(self, tokens: Tensor, lengths: Tensor, labels: Tensor) -> Framed:
        """Return the texts with all that is read with them."""
        return framed(tokens, lengths, self.near, self.pad, labels >= 0 if self.joint else None)

    def vectors(self, frame: Framed, labels: Tensor) -> Tensor:
        """Return the vectors (b, W, e) that the transformer begins with."""
        found = embedded(self.encoder, frame.ids)
        if not self.joint:
            return found
        rows = torch.arange(len(found), device=found.device)[:, None]
        return found.index_put((rows, frame.room), self.tokens[labels.clamp(min=0)])

    def read(self, frame: Framed, vectors: Tensor, lengths: Tensor, labels: Tensor) -> Reading:
        """Read texts whose tokens have these vectors (b, W, e)."""
        own = mask_of(frame.ends, frame.ids.shape[1])
        given: dict[str, Any] = {"inputs_embeds": vectors}
        states = states_of(self.encoder, given, frame.types, own)
        first = len(self.near.before)
        counted = frame.ends if not self.joint else lengths + first
        text = pooled(states, self.pooling, frame.ends, counted)
        width = int(lengths.max())
        if self.joint:
            places = frame.room[:, :, None].expand(-1, -1, states.shape[2])
            found = states.gather(1, places)
        else:
            found = self.tokens[labels.clamp(min=0)]
        words = states[:, first : first + width]
        return Reading(words, mask_of(lengths, width), found, text)


class JointNetwork(nn.Module, ABC):
    """Reads texts with labels, and judges these labels.

    Parameters
    ----------
    reader
        Of both.
    second
        Whether it is the second stage, which knows the log odds of the first.
    """

    leaves_parts_out: ClassVar[bool] = True  # such as labels that nobody looks at

    def __init__(self, reader: JointReader, second: bool) -> None:
        super().__init__()
        self.reader = reader
        # it begins with the first stage's opinion
        self.trust = nn.Parameter(torch.ones(())) if second else None

    def forward(
        self,
        tokens: Tensor,
        lengths: Tensor,
        labels: Tensor,
        odds: Tensor,
        true: Tensor | None = None,
    ) -> Tensor:
        """Return the log odds (b, C) of labels, or, given which are true, the loss.

        Parameters
        ----------
        tokens, lengths
            Shapes (b, T) and (b,).
        labels
            Which, shape (b, C); -1 for none, behind the others.
        odds
            Their log odds by the first stage, shape (b, C), or anything if there is none.
        true
            Which a text has, shape (b, C), bool.
        """
        reading: Reading = self.reader(tokens, lengths, labels)
        if true is None:
            return self.log_odds(reading, labels, odds)
        return self.loss(reading, labels, odds, true)

    @abstractmethod
    def log_odds(self, reading: Reading, labels: Tensor, odds: Tensor) -> Tensor:
        """Return the log odds of labels, shape (b, C)."""

    @abstractmethod
    def loss(self, reading: Reading, labels: Tensor, odds: Tensor, true: Tensor) -> Tensor:
        """Return the mean loss over texts and labels, shape ()."""

    def from_first(self, odds: Tensor) -> Tensor | float:
        """Return what the first stage's log odds (b, C) add to those of the labels."""
        return 0.0 if self.trust is None else self.trust * odds
