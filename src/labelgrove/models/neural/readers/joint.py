"""Texts and labels read together by one transformer (LACO's joint embedding)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from labelgrove.core.configured import Configured
from labelgrove.core.errors import InputError
from labelgrove.core.features import TokenSequences
from labelgrove.core.settings import setting
from labelgrove.core.types import FitContext
from labelgrove.models.neural.readers import huggingface
from labelgrove.models.neural.readers.base import (
    Batch,
    Input,
    Reader,
    Reading,
    WrappedReader,
    mask_of,
)
from labelgrove.models.neural.readers.huggingface import Framed
from labelgrove.models.neural.readers.label_words import Starts, label_words
from labelgrove.models.neural.readers.transformer import TransformerInput, TransformerReader
from labelgrove.text.pretrained import Pair, load_tokenizer, pair_of


class LabelReading(Configured):
    """The settings of models that read labels with the text."""

    together: int = setting(
        200,
        "Number of labels up to which all are read with every text; of more, the first stage's "
        "best are.",
        least=0,
    )
    starts: Starts = setting(
        "names",
        "What labels are read as at first: the words of their names, of their descriptions where "
        "there are any, or random.",
    )

    def why_no_onnx(self) -> str:
        """Return that labels are a part of the input."""
        return "its network reads labels together with the text"

    def _wants_first(self, counts: NDArray[np.int64], n_documents: int) -> bool:
        return len(counts) > self.together

    @property
    def _needs_first(self) -> bool:
        return True  # more labels cannot be read

    def _why_first(self, counts: NDArray[np.int64], n_documents: int) -> str:
        return (
            f"{len(counts):,} labels are more than are read with a text "
            f"(together={self.together}): the best of a first stage are read"
        )


class JointReader(Reader):
    """A transformer that reads a text, and behind it one token for each label.

    Parameters
    ----------
    inner
        The transformer.
    pair
        What stands around a text and labels.
    n_labels
        Number of labels.

    Attributes
    ----------
    labels
        What each label is read as, shape (L, e).
    """

    undecayed: ClassVar[tuple[str, ...]] = ("labels",)  # they begin as words, decay leads to none

    def __init__(self, inner: TransformerReader, pair: Pair, n_labels: int) -> None:
        super().__init__()
        self.inner, self.pair = inner, pair
        self.n_vector, self.n_pooled = inner.n_vector, inner.n_pooled
        words: Tensor = inner.encoder.get_input_embeddings().weight  # type: ignore[operator]
        self.labels = _table(n_labels, words.shape[1], words)

    def begin(self, labels: Sequence[Tensor]) -> None:
        """Let labels begin as the mean of their words; one without words stays random.

        Parameters
        ----------
        labels
            Tokens of each label, shape (n,) each.
        """
        with torch.no_grad():
            for number, words in enumerate(labels):
                if len(words):
                    self.labels[number] = huggingface.embedded(self.inner.encoder, words).mean(0)

    def embed(self, batch: Batch) -> Tensor:
        """Return the vectors (b, W, e) of texts, labels, and what is around them."""
        return self._embed(self.frame(batch), self.candidates(batch))

    def blank(self, batch: Batch) -> Tensor:
        """Return the same for texts of padding."""
        frame = self.frame(batch)
        ids = frame.ids.clone()
        ids[:, self.own(batch)] = self.inner.specials.pad
        return self._embed(frame._replace(ids=ids), self.candidates(batch))

    def _embed(self, frame: Framed, labels: Tensor) -> Tensor:
        vectors = huggingface.embedded(self.inner.encoder, frame.ids)
        rows = torch.arange(len(vectors), device=vectors.device)[:, None]
        return vectors.index_put((rows, frame.room), self.labels[labels.clamp(min=0)])

    def own(self, batch: Batch) -> slice:
        """Return where the tokens of the text stand."""
        first = len(self.pair.before)
        return slice(first, first + batch.tokens.shape[1])

    def frame(self, batch: Batch) -> Framed:
        """Return the texts with all that is read with them."""
        real = self.candidates(batch) >= 0
        pad = self.inner.specials.pad
        return huggingface.framed(batch.tokens, batch.lengths, self.pair, pad, real)

    def candidates(self, batch: Batch) -> Tensor:
        """Return the labels that are read with each text, shape (b, C)."""
        return _all_or_some(batch, len(self.labels))

    def read(self, batch: Batch, vectors: Tensor) -> Reading:
        """Read texts and labels whose tokens have these vectors (b, W, e)."""
        frame, lengths = self.frame(batch), batch.lengths
        own = mask_of(frame.ends, frame.ids.shape[1])
        given = {"inputs_embeds": vectors}
        states = huggingface.states_of(self.inner.encoder, given, frame.types, own)
        first, width = len(self.pair.before), int(lengths.max())
        places = frame.room[:, :, None].expand(-1, -1, states.shape[2])

        def pool() -> Tensor:
            return huggingface.pooled(states, self.inner.pooling, frame.ends, lengths + first)

        words = states[:, first : first + width]
        return Reading(words, mask_of(lengths, width), pool, states.gather(1, places))

    def kept(self, longest: int, judged: int) -> int:
        """Return the numbers that learning keeps for one text."""
        return self.inner.kept_for(longest, judged)


class LabelVectors(WrappedReader):
    """Any reader, and a learned vector for each label that the text is not read with.

    Parameters
    ----------
    inner
        Reads the text.
    n_labels
        Number of labels.

    Attributes
    ----------
    labels
        The vector of each label, shape (L, d).
    """

    undecayed: ClassVar[tuple[str, ...]] = ("labels",)  # also those that are seldom looked at

    def __init__(self, inner: Reader, n_labels: int) -> None:
        super().__init__(inner)
        like = None
        if isinstance(inner, TransformerReader):
            like = inner.encoder.get_input_embeddings().weight  # type: ignore[operator]
        self.labels = _table(n_labels, inner.n_vector, like)

    def forward(self, batch: Batch) -> Reading:
        """Read texts."""
        return self._with_labels(batch, self.inner(batch))

    def read(self, batch: Batch, vectors: Tensor) -> Reading:
        """Read texts whose tokens have these vectors (b, W, e)."""
        return self._with_labels(batch, self.inner.read(batch, vectors))

    def _with_labels(self, batch: Batch, reading: Reading) -> Reading:
        chosen = _all_or_some(batch, len(self.labels))
        reading.labels = self.labels[chosen.clamp(min=0)]
        return reading

    def kept(self, longest: int, judged: int) -> int:
        """Return the numbers that learning keeps for one text."""
        return self.inner.kept(longest, judged)


@dataclass
class JointInput(TransformerInput):
    """Subwords of a text, read by a transformer together with one token for each label.

    Parameters
    ----------
    starts
        What labels are read as at first.
    n_read
        From the number of labels to how many of them are read with a text.

    Attributes
    ----------
    pair
        What the tokenizer puts around a text and labels.
    words
        Subwords of what each label is called, while readers are made; none to begin at random.
    """

    starts: Starts = "names"
    n_read: Callable[[int], int] = int
    pair: Pair | None = field(default=None, init=False)
    words: Sequence[Tensor] = field(default=(), init=False)

    @classmethod
    def around(cls, text: Input, starts: Starts, n_read: Callable[[int], int]) -> JointInput:
        """Return an input that reads texts as another one does, and labels with them."""
        assert isinstance(text, TransformerInput)
        return cls(
            text.encoder, text.pooling, text.length, text.n_windows, text.checkpointing,
            text.frozen, text.lora, text.layer_decay, starts, n_read,
        )  # fmt: skip

    def prepare(self, X: TokenSequences, n_labels: int, context: FitContext) -> None:
        """Check that there is room for the labels, and look up their words."""
        super().prepare(X, n_labels, context)
        self.pair = pair_of(load_tokenizer(self.encoder))
        self.words = label_words(self.starts, context)
        most = huggingface.longest_input(huggingface.skeleton(self.encoder))
        labels = self.n_read(n_labels)
        needed = self.windows.size + labels + self.pair.n_around
        if most is not None and needed > most:
            raise InputError(
                f"length {self.length} and {labels:,} labels are {needed:,} tokens with those "
                f"around them, and {self.encoder} reads {most:,} at most: lower length, or let a "
                "first stage choose fewer labels (first, together, candidates)"
            )

    def reader(self, n_labels: int) -> JointReader:
        """Return a new reader of texts with labels."""
        reader = self._joint(super().reader(n_labels), n_labels)
        reader.begin(self.words)
        return reader

    def sketch(self, n_terms: int, n_labels: int) -> JointReader:
        """Return a reader without weights."""
        inner = super().sketch(n_terms, n_labels)
        with torch.device("meta"):
            return self._joint(inner, n_labels)

    def _joint(self, inner: Reader, n_labels: int) -> JointReader:
        assert isinstance(inner, TransformerReader)
        pair = self.pair or pair_of(load_tokenizer(self.encoder))
        return JointReader(inner, pair, n_labels)

    def release(self) -> None:
        """Let the words go."""
        self.words = ()

    def state(self) -> dict[str, Any]:
        """Return also what stands around a text and labels."""
        assert self.pair is not None
        return {**super().state(), "pair": self.pair.as_json()}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Take over what `state` returned."""
        super().set_state(state)
        self.pair = Pair.from_json(state["pair"])


def _table(n_labels: int, size: int, like: Tensor | None) -> nn.Parameter:
    """Return random vectors of labels, spread as other vectors are."""
    known = like is not None and like.device.type != "meta"
    spread = float(like.detach().std()) if like is not None and known else 1.0
    return nn.Parameter(spread * torch.randn(n_labels, size))


def _all_or_some(batch: Batch, n_labels: int) -> Tensor:
    if batch.labels is not None:
        return batch.labels
    every = torch.arange(n_labels, device=batch.tokens.device)
    return every.expand(len(batch.tokens), -1)
