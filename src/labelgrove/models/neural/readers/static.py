"""Static vectors (model2vec): a vector for each subword, found without running a transformer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from torch import Tensor

from labelgrove.core.errors import InputError
from labelgrove.core.features import TokenSequences
from labelgrove.core.progress import Progress
from labelgrove.core.types import FitContext, ViewSpec
from labelgrove.models.neural.readers.base import Input
from labelgrove.models.neural.readers.word_networks import WordNetwork
from labelgrove.models.neural.readers.words import WordEmbedding, WordReader
from labelgrove.models.neural.training.batches import first_words

PREFIX = "static:"  # before the folder, in the setting `encoder`
FILE = "model.safetensors"


@dataclass
class StaticInput(Input):
    """Subwords with static vectors, read by the network that would read words.

    Parameters
    ----------
    folder
        As model2vec saves it: ``tokenizer.json`` and ``model.safetensors``.
    network
        Makes what reads vectors of a given size.
    length
        Subwords that are read of a text.
    train_vectors, vector_dropout
        As the settings of that name.
    """

    folder: str
    network: Callable[[int], WordNetwork]
    length: int
    train_vectors: bool
    vector_dropout: float

    kind: ClassVar[str] = "static"
    reads: ClassVar[str] = "subwords"
    saves_memory: ClassVar[str] = "lower batch, length or units"
    table: Tensor | None = None
    shape: tuple[int, int] = (0, 0)  # of the table, which is let go once networks have it

    def view(self) -> ViewSpec:
        """Return subwords of the tokenizer beside the vectors."""
        return ViewSpec("subwords", {"tokenizer": self.folder, "length": self.length})

    def check_needs(self) -> None:
        """Refuse a folder without vectors."""
        shape_of(self.folder)

    def cut(self, X: TokenSequences) -> TokenSequences:
        """Return the first subwords of texts."""
        return first_words(X, self.length)

    def readable(self, X: TokenSequences) -> NDArray[np.bool_]:
        """Tell which texts have a subword."""
        readable: NDArray[np.bool_] = X.lengths > 0
        return readable

    def look(self, X: TokenSequences, progress: Progress) -> None:
        """Say how many texts are cut."""
        if cut := int((X.lengths >= self.length).sum()):
            progress.say(
                f"{cut:,} documents ({cut / len(X):.1%}) have {self.length:,} subwords (length) "
                "or more: what follows is not read"
            )

    def prepare(self, X: TokenSequences, context: FitContext) -> None:
        """Load the vectors."""
        table = load_static(self.folder)
        if len(table) < X.n_terms:
            raise InputError(
                f"X has {X.n_terms:,} subwords, and {self.folder} has vectors of {len(table):,}: "
                f"use the features 'subwords' with tokenizer={self.folder!r}"
            )
        self.table, self.shape = torch.from_numpy(table), table.shape

    def reader(self) -> WordReader:
        """Return a new reader."""
        return self._built(torch.zeros(self.shape) if self.table is None else self.table)

    def release(self) -> None:
        """Let the table go."""
        self.table = None

    def sketch(self, n_terms: int) -> WordReader:
        """Return a reader without weights."""
        with torch.device("meta"):
            return self._built(torch.empty(shape_of(self.folder)))

    def _built(self, table: Tensor) -> WordReader:
        words = WordEmbedding(table, self.train_vectors, self.vector_dropout)
        return WordReader(words, self.network(table.shape[1]))

    def state(self) -> dict[str, Any]:
        """Return the size of the table."""
        return {"shape": list(self.shape)}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Take over the size of the table."""
        n_words, size = state["shape"]
        self.shape = (n_words, size)


def shape_of(folder: str) -> tuple[int, int]:
    """Return how many static vectors a folder holds, and their size."""
    with _opened(folder) as file:
        rows, size = file.get_slice("embeddings").get_shape()
        if "mapping" in file.keys():  # noqa: SIM118
            (rows,) = file.get_slice("mapping").get_shape()
        return int(rows), int(size)


def load_static(folder: str) -> NDArray[np.float32]:
    """Return the vectors of all subwords, shape (n_terms, d).

    A folder may hold fewer vectors than subwords, with a mapping from one to the other, and a
    weight for each.
    """
    with _opened(folder) as file:
        names = {*file.keys()}
        table: NDArray[np.float32] = file.get_tensor("embeddings").astype(np.float32)
        if "mapping" in names:
            table = table[file.get_tensor("mapping")]
        if "weights" in names:
            table = table * file.get_tensor("weights").astype(np.float32)[:, None]
    return np.ascontiguousarray(table)


def _opened(folder: str) -> Any:
    path = Path(folder).expanduser() / FILE
    if not path.is_file():
        raise InputError(
            f"encoder='{PREFIX}{folder}': {path} does not exist; give a folder that model2vec "
            "saved, such as a download of minishlab/potion-base-8M"
        )
    try:
        file: Any = safe_open(path, "np")
        if "embeddings" not in file.keys():  # noqa: SIM118
            raise InputError(f"{path} holds no static vectors: it has no tensor 'embeddings'")
    except SafetensorError as error:
        raise InputError(f"{path} cannot be read as safetensors: {error}") from error
    return file
