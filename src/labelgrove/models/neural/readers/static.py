"""Static vectors (model2vec): a vector for each subword, found without running a transformer."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from labelgrove.core.errors import InputError
from labelgrove.core.features import TokenSequences
from labelgrove.core.types import FitContext, ViewSpec
from labelgrove.models.neural.readers.words import TableInput, WordReader

PREFIX = "static:"  # before the folder, in the setting `encoder`
FILE = "model.safetensors"


@dataclass
class StaticInput(TableInput):
    """Subwords with static vectors, read by the network that would read words.

    Parameters
    ----------
    folder
        As model2vec saves it: ``tokenizer.json`` and ``model.safetensors``.
    """

    folder: str

    reads: ClassVar[str] = "subwords"
    saves_memory: ClassVar[str] = "lower batch, length or units"

    def view(self) -> ViewSpec:
        """Return subwords of the tokenizer beside the vectors."""
        return ViewSpec("subwords", {"tokenizer": self.folder, "length": self.length})

    def check_needs(self) -> None:
        """Refuse a folder without vectors."""
        shape_of(self.folder)

    def readable(self, X: TokenSequences) -> NDArray[np.bool_]:
        """Tell which texts have a subword."""
        readable: NDArray[np.bool_] = X.lengths > 0
        return readable

    def prepare(self, X: TokenSequences, n_labels: int, context: FitContext) -> None:
        """Load the vectors."""
        table = load_static(self.folder)
        if len(table) < X.n_terms:
            raise InputError(
                f"X has {X.n_terms:,} subwords, and {self.folder} has vectors of {len(table):,}: "
                f"use the features 'subwords' with tokenizer={self.folder!r}"
            )
        self.begin_with(table)

    def sketch(self, n_terms: int, n_labels: int) -> WordReader:
        """Return a reader without weights."""
        return self._sketched(*shape_of(self.folder))


def is_static(folder: str) -> bool:
    """Tell whether a folder holds static vectors, as its configuration says."""
    config = (Path(folder) / "config.json").read_text(encoding="utf-8", errors="replace")
    return '"model2vec"' in config


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
        table = file.get_tensor("embeddings").float()
        if "mapping" in names:
            table = table[file.get_tensor("mapping").long()]
        if "weights" in names:
            table = table * file.get_tensor("weights").float()[:, None]
    vectors: NDArray[np.float32] = table.contiguous().numpy()
    return vectors


def _opened(folder: str) -> Any:
    path = Path(folder).expanduser() / FILE
    if not path.is_file():
        raise InputError(
            f"encoder='{PREFIX}{folder}': {path} does not exist; give a folder that model2vec "
            "saved, such as a download of minishlab/potion-base-8M"
        )
    try:
        file: Any = safe_open(path, "pt")
        if "embeddings" not in file.keys():  # noqa: SIM118
            raise InputError(
                f"{path} holds no static vectors (no tensor 'embeddings'): if it is a transformer, "
                f"leave out {PREFIX!r}"
            )
    except SafetensorError as error:
        raise InputError(f"{path} cannot be read as safetensors: {error}") from error
    return file
