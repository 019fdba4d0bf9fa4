"""Any pretrained transformer of Hugging Face as a reader."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from labelgrove.core.errors import InputError
from labelgrove.core.extras import need
from labelgrove.core.features import TokenSequences
from labelgrove.core.progress import Progress
from labelgrove.core.types import FitContext, ViewSpec
from labelgrove.models.neural.readers import huggingface
from labelgrove.models.neural.readers.base import Batch, Input, Reader, Reading, mask_of
from labelgrove.models.neural.readers.huggingface import Framed, Pooling
from labelgrove.models.neural.training.windows import Windows
from labelgrove.text.pretrained import Specials, load_tokenizer, specials_of


class TransformerReader(Reader):
    """A transformer that reads a text with the tokens its tokenizer puts around it.

    Texts are padded behind, whatever the model was trained with: padding is masked, and the last
    token is found where each text ends.

    Parameters
    ----------
    encoder
        The transformer.
    specials
        What stands around a text.
    pooling
        Which of its vectors stands for the text.

    Attributes
    ----------
    low_rank
        Whether low-rank updates learn in all layers, instead of the layers themselves.
    n_layers
        Last layers whose vectors stand side by side in the vector of a text.
    """

    low_rank = False
    n_layers = 1

    def __init__(self, encoder: nn.Module, specials: Specials, pooling: Pooling) -> None:
        super().__init__()
        self.encoder, self.specials, self.pooling = encoder, specials, pooling
        self.n_vector = self.n_pooled = huggingface.width_of(encoder)

    def pool_layers(self, n: int) -> None:
        """Put the last n layers, or all if there are fewer, into the vector of a text."""
        self.n_layers = min(n, huggingface.n_layers(self.encoder))
        self.n_pooled = self.n_layers * self.n_vector

    def forward(self, batch: Batch) -> Reading:
        """Read texts."""
        frame = self.frame(batch)
        return self._read(frame, {"input_ids": frame.ids}, batch.lengths)

    def embed(self, batch: Batch) -> Tensor:
        """Return the vectors (b, W, e) of the tokens and those around them."""
        return huggingface.embedded(self.encoder, self.frame(batch).ids)

    def read(self, batch: Batch, vectors: Tensor) -> Reading:
        """Read texts whose tokens have these vectors (b, W, e)."""
        return self._read(self.frame(batch), {"inputs_embeds": vectors}, batch.lengths)

    def blank(self, batch: Batch) -> Tensor:
        """Return the vectors of a text of padding."""
        ids = self.frame(batch).ids
        ids[:, self.own(batch)] = self.specials.pad
        return huggingface.embedded(self.encoder, ids)

    def own(self, batch: Batch) -> slice:
        """Return where the tokens of the text stand."""
        first = len(self.specials.before)
        return slice(first, first + batch.tokens.shape[1])

    def frame(self, batch: Batch) -> Framed:
        """Return the texts with the tokens around them."""
        near = huggingface.alone(self.specials)
        return huggingface.framed(batch.tokens, batch.lengths, near, self.specials.pad)

    def _read(self, frame: Framed, given: dict[str, Any], lengths: Tensor) -> Reading:
        own = mask_of(frame.ends, frame.ids.shape[1])
        layers = huggingface.layers_of(self.encoder, given, frame.types, own, self.n_layers)
        first, width = len(self.specials.before), frame.ids.shape[1] - self._n_around

        def pool() -> Tensor:
            each = [
                huggingface.pooled(states, self.pooling, frame.ends, frame.ends)
                for states in layers
            ]
            return each[0] if len(each) == 1 else torch.cat(each, 1)

        return Reading(layers[-1][:, first : first + width], mask_of(lengths, width), pool)

    @property
    def _n_around(self) -> int:
        return len(self.specials.before) + len(self.specials.behind)

    def kept(self, longest: int, judged: int) -> int:
        """Return the numbers that learning keeps for one text."""
        return self.kept_for(longest, n_read=0)

    def kept_for(self, longest: int, n_read: int) -> int:
        """Return the numbers that learning keeps for one text.

        Parameters
        ----------
        longest
            Tokens of the text.
        n_read
            Tokens that are read with it and learn, below all layers.
        """
        config: Any = self.encoder.config
        width, longest = self.n_vector, longest + n_read
        if getattr(self.encoder, "is_gradient_checkpointing", False):
            return longest * 2 * width
        heads = int(getattr(config, "num_attention_heads", 1))
        layers = huggingface.n_layers(self.encoder)
        if not n_read and not self.low_rank:  # frozen layers are not gone back through
            layers -= huggingface.n_frozen_layers(self.encoder)
        # a layer that is gone back through keeps about 16 vectors of a token, and its attention
        return longest * (2 * width + layers * (16 * width + heads * longest))


@dataclass
class TransformerInput(Input):
    """Subwords of a pretrained tokenizer, read by its transformer.

    Parameters
    ----------
    encoder, pooling, length, n_windows, checkpointing, frozen, lora, layer_decay
        As the settings of that name.
    """

    encoder: str
    pooling: Literal["auto", "first", "last", "mean"]
    length: int
    n_windows: int
    checkpointing: bool
    frozen: int
    lora: int
    layer_decay: float

    reads: ClassVar[str] = "subwords"
    saves_memory: ClassVar[str] = (
        "lower batch or length, set checkpointing=true, frozen or lora, or choose a smaller encoder"
    )
    specials: Specials | None = field(default=None, init=False)
    config: str = field(default="", init=False)
    pooled_by: Pooling | None = field(default=None, init=False)
    # whether readers get the weights of the pretrained model, or any
    _loads: bool = field(default=False, init=False)

    def view(self) -> ViewSpec:
        """Return subwords of the encoder's own tokenizer."""
        # one token more than can be read, to know what was cut
        settings = {"tokenizer": self.encoder, "length": self.length * self.n_windows + 1}
        return ViewSpec("subwords", settings)

    def check_needs(self) -> None:
        """Refuse an encoder that cannot be had, or cannot do what the settings ask of it."""
        if self.lora:
            need("peft", "lora", "low-rank updates (lora)")
        encoder = huggingface.skeleton(self.encoder)
        specials = specials_of(load_tokenizer(self.encoder))
        _windows(self.length, self.n_windows, specials)
        self.check(encoder, specials, specials.n_terms)
        huggingface.freeze(encoder, self.frozen)
        huggingface.layer_shares(encoder, self.layer_decay)
        if self.checkpointing:
            huggingface.checkpointed(encoder)

    def check(self, encoder: nn.Module, specials: Specials, n_terms: int) -> None:
        """Refuse what the transformer cannot read."""
        huggingface.width_of(encoder)
        rows = encoder.get_input_embeddings().num_embeddings  # type: ignore[operator]
        if n_terms != specials.n_terms:
            raise InputError(
                f"X has {n_terms:,} subwords, and the tokenizer of {self.encoder} knows "
                f"{specials.n_terms:,}: use the features 'subwords' with "
                f"tokenizer={self.encoder!r}"
            )
        # a model may have rows to spare; a tokenizer without its files knows a handful of tokens
        if not rows / 2 <= specials.n_terms <= rows:
            raise InputError(
                f"the tokenizer of {self.encoder} knows {specials.n_terms:,} tokens, its model "
                f"{rows:,}: they do not belong together, or files of the tokenizer are missing"
            )
        most = huggingface.longest_input(encoder)
        if most is not None and self.length > most:
            raise InputError(
                f"length is {self.length:,}, and {self.encoder} reads {most:,} tokens at most: "
                "lower it, and read more of long texts with windows"
            )

    @property
    def n_terms(self) -> int:
        """Number of different tokens that readers have vectors for."""
        assert self.specials is not None
        return self.specials.n_terms

    @property
    def windows(self) -> Windows:  # type: ignore[override]
        """What is read of a text at once, and how often."""
        assert self.specials is not None
        return _windows(self.length, self.n_windows, self.specials)

    def cut(self, X: TokenSequences) -> TokenSequences:
        """Return texts as they are: windows cut them."""
        return X

    def readable(self, X: TokenSequences) -> NDArray[np.bool_]:
        """Tell which texts have a token."""
        readable: NDArray[np.bool_] = X.lengths > 0
        return readable

    def look(self, X: TokenSequences, progress: Progress) -> None:
        """Ask the tokenizer what it puts around a text, and say how many texts are cut."""
        self.specials = specials_of(load_tokenizer(self.encoder))
        self.pooled_by = (
            huggingface.pooling_for(self.encoder, self.specials)
            if self.pooling == "auto"
            else self.pooling
        )
        read = self.windows.size * self.windows.most
        if cut := int((X.lengths > read).sum()):
            progress.say(
                f"{cut:,} documents ({cut / len(X):.1%}) have more than {read:,} tokens (length x "
                "windows, less those around a text): what follows is not read"
            )

    def prepare(self, X: TokenSequences, n_labels: int, context: FitContext) -> None:
        """Check that the transformer can read these texts."""
        assert self.specials is not None
        encoder = huggingface.skeleton(self.encoder)
        self.check(encoder, self.specials, X.n_terms)
        self.config, self._loads = huggingface.config_of(encoder), True

    def reader(self, n_labels: int) -> Reader:
        """Return a new reader: the pretrained one, with what is to learn of it."""
        assert self.specials is not None
        assert self.pooled_by is not None
        if not self._loads:
            encoder = huggingface.from_config(self.config)
            self.check(encoder, self.specials, self.specials.n_terms)
            huggingface.check_saved(encoder, self.specials, self.pooled_by)
        else:
            encoder = self._learning(huggingface.load_encoder(self.encoder))
            if self.lora:
                encoder = huggingface.with_updates(encoder, self.lora)
        reader = TransformerReader(encoder, self.specials, self.pooled_by)
        reader.low_rank = bool(self.lora and self._loads)
        return reader

    def sketch(self, n_terms: int, n_labels: int) -> Reader:
        """Return a reader without weights."""
        encoder = self._learning(huggingface.skeleton(self.encoder))
        if self.lora:
            encoder.requires_grad_(requires_grad=False)
        specials = self.specials or specials_of(load_tokenizer(self.encoder))
        reader = TransformerReader(encoder, specials, "first")
        reader.low_rank = bool(self.lora)
        return reader

    def _learning(self, encoder: nn.Module) -> nn.Module:
        huggingface.freeze(encoder, self.frozen)
        if self.checkpointing:
            huggingface.checkpointed(encoder)
        return encoder

    def state(self) -> dict[str, Any]:
        """Return the transformer's sizes and kind, and what stands around a text, as JSON."""
        assert self.specials is not None
        return {
            "config": self.config,
            "specials": self.specials.as_json(),
            "pooling": self.pooled_by,
        }

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Take over what `state` returned."""
        self.config, self.pooled_by = state["config"], state["pooling"]
        self.specials, self._loads = Specials.from_json(state["specials"]), False

    def belongs(self) -> dict[str, Any]:
        """Return the vector that stands for a text: with "auto" the model decides."""
        return {"pooling of the encoder": self.pooled_by}


def _windows(length: int, most: int, specials: Specials) -> Windows:
    room = length - len(specials.before) - len(specials.behind)
    if room < 1:
        raise InputError(
            f"length is {length}, and the tokenizer puts {length - room} tokens around a text: "
            "give more"
        )
    return Windows(room, most)
