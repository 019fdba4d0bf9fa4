"""Whole texts as vectors of a pretrained encoder that does not learn."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from hashlib import blake2b
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray

from labelgrove.core import checks
from labelgrove.core.errors import InputError
from labelgrove.core.features import TokenSequences
from labelgrove.models.neural.readers import huggingface
from labelgrove.models.neural.readers.base import Batch
from labelgrove.models.neural.readers.transformer import TransformerReader
from labelgrove.models.neural.saved_weights import with_saved_weights
from labelgrove.models.neural.training.batches import by_length, first_words, padded
from labelgrove.models.neural.training.devices import device_of
from labelgrove.models.neural.training.threads import limited_threads
from labelgrove.text.pretrained import Specials, load_tokenizer, specials_of
from labelgrove.text.static_vectors import check_not_static

BATCH = 32
WEIGHTS = "weights."  # before their names in what is saved
UNRELATED = ("_name_or_path", "transformers_version", "dtype")  # to what a model computes


class SentenceEncoder:
    """A transformer with the vector that stands for a text.

    That is the one for which the model was trained, if it says so as those of
    sentence-transformers do, else the mean of all tokens' vectors.

    Parameters
    ----------
    reader
        The transformer with what stands around a text.
    length
        Tokens that are read of a text, those around it included.
    """

    def __init__(self, reader: TransformerReader, length: int) -> None:
        self.reader, self.length = reader.requires_grad_(requires_grad=False).eval(), length

    @classmethod
    def load(cls, name: str, length: int) -> Self:
        """Return that of a folder or the Hugging Face hub; it may read less than ``length``."""
        check_not_static(name)
        specials, encoder = specials_of(load_tokenizer(name)), huggingface.load_encoder(name)
        pooling = huggingface.pooling_told(name) or "mean"
        reader = TransformerReader(encoder, specials, pooling)
        length = min(length, huggingface.longest_input(encoder) or length)
        around = len(specials.before) + len(specials.behind)
        if length <= around:
            raise InputError(
                f"length is {length}, and the tokenizer of {name} puts {around} tokens around a "
                "text: give more"
            )
        return cls(reader, length)

    @property
    def n_read(self) -> int:
        """Tokens that are read of a text itself, without those around it."""
        specials = self.reader.specials
        return self.length - len(specials.before) - len(specials.behind)

    @property
    def n_vector(self) -> int:
        """Numbers of a text's vector."""
        return self.reader.n_pooled

    @property
    def n_terms(self) -> int:
        """Number of subwords that the tokenizer knows."""
        return self.reader.specials.n_terms

    def encode(
        self,
        X: TokenSequences,
        *,
        device: str = "auto",
        threads: int | None = None,
        advance: Callable[[int], None] = lambda _: None,
    ) -> NDArray[np.float32]:
        """Return a vector for each text, shape (n, d); that of an empty one is zero.

        Parameters
        ----------
        X
            Subwords by the encoder's own tokenizer.
        device
            Such as ``"cpu"``, ``"cuda"``, or ``"auto"``.
        threads
            None for all cores.
        advance
            Called with the number of texts that were read, batch by batch.
        """
        place = device_of(device)
        X = first_words(X, self.n_read)
        found = np.zeros((len(X), self.n_vector), np.float32)
        readable = np.flatnonzero(X.lengths)
        advance(len(X) - len(readable))
        self.reader.to(place)
        with limited_threads(threads), torch.inference_mode():
            for some in by_length(X.lengths[readable], BATCH):
                rows = readable[some]
                batch = Batch(*padded(X, rows)).to(place)
                found[rows] = self.reader(batch).pooled.float().cpu().numpy()
                advance(len(rows))
        return found

    def fingerprint(self, tokenizer: bytes) -> str:
        """Return what stands for tokenizer, weights, pooling and length: vectors depend on these.

        Parameters
        ----------
        tokenizer
            The tokenizer's JSON.
        """
        state = self.state() | {"tokenizer": tokenizer}
        config = json.loads(state.pop("config"))
        told = {name: config[name] for name in config if name not in UNRELATED}
        digest = blake2b(json.dumps(told, sort_keys=True, default=str).encode(), digest_size=16)
        for name in sorted(state):
            value = state[name]
            digest.update(name.encode())
            digest.update(
                value.tobytes() if isinstance(value, np.ndarray) else repr(value).encode()
            )
        return digest.hexdigest()

    def state(self) -> dict[str, Any]:
        """Return all that is needed to have it again."""
        weights = self.reader.encoder.state_dict()
        return {
            "config": huggingface.config_of(self.reader.encoder),
            "specials": self.reader.specials.as_json(),
            "pooling": self.reader.pooling,
            "length": self.length,
            **{WEIGHTS + name: value.cpu().numpy() for name, value in weights.items()},
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """Return the one that had this state."""
        weights = {
            name.removeprefix(WEIGHTS): value
            for name, value in state.items()
            if name.startswith(WEIGHTS)
        }
        build = partial(huggingface.from_config, state["config"])
        encoder = with_saved_weights(build, weights, "encoder")
        specials = Specials.from_json(state["specials"])
        huggingface.check_saved(encoder, specials, state["pooling"])
        reader = TransformerReader(encoder, specials, state["pooling"])
        found = cls(reader, checks.whole("length", state["length"], least=1))
        checks.whole("length", found.n_read, least=1)
        checks.whole("length", found.length, most=huggingface.longest_input(encoder) or 2**31)
        return found


def check_encoder(name: str) -> None:
    """Refuse what is no encoder of texts, without loading its weights."""
    check_not_static(name)
    huggingface.width_of(huggingface.skeleton(name))
