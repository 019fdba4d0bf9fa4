"""Whole texts as vectors of a pretrained encoder that does not learn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray

from labelgrove.core.errors import InputError
from labelgrove.core.features import TokenSequences
from labelgrove.core.progress import Progress, Silent
from labelgrove.models.neural.readers import huggingface
from labelgrove.models.neural.readers.base import Batch
from labelgrove.models.neural.readers.transformer import TransformerReader
from labelgrove.models.neural.training.batches import by_length, first_words, padded
from labelgrove.models.neural.training.devices import device_of
from labelgrove.models.neural.training.threads import limited_threads
from labelgrove.text.pretrained import Specials, load_tokenizer, specials_of

BATCH = 32
WEIGHTS = "weights."  # before their names in what is saved


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
    def n_terms(self) -> int:
        """Number of subwords that the tokenizer knows."""
        return self.reader.specials.n_terms

    def encode(
        self,
        X: TokenSequences,
        *,
        device: str = "auto",
        threads: int | None = None,
        progress: Progress | None = None,
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
        progress
            Where progress is shown.
        """
        specials, place = self.reader.specials, device_of(device)
        X = first_words(X, self.length - len(specials.before) - len(specials.behind))
        found = np.zeros((len(X), self.reader.n_pooled), np.float32)
        readable = np.flatnonzero(X.lengths)
        self.reader.to(place)
        with (
            limited_threads(threads),
            torch.inference_mode(),
            (progress or Silent()).task("reading texts", len(readable)) as task,
        ):
            for some in by_length(X.lengths[readable], BATCH):
                rows = readable[some]
                batch = Batch(*padded(X, rows)).to(place)
                found[rows] = self.reader(batch).pooled.float().cpu().numpy()
                task.advance(len(rows))
        return found

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
        encoder = huggingface.from_config(state["config"])
        weights = {
            name.removeprefix(WEIGHTS): torch.from_numpy(np.array(value))
            for name, value in state.items()
            if name.startswith(WEIGHTS)
        }
        encoder.load_state_dict(weights)
        specials = Specials.from_json(state["specials"])
        reader = TransformerReader(encoder, specials, state["pooling"])
        return cls(reader, state["length"])
