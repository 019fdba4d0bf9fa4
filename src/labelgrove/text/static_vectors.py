"""Static vectors of model2vec: one for each subword, with the tokenizer that finds subwords."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelgrove.core.errors import InputError
from labelgrove.core.extras import need
from labelgrove.text.pretrained import load_named

EXTRA = "static"
FILES = ("*.json", "model.safetensors", "0_StaticEmbedding/*")  # what of the hub's is downloaded
MARKS = {"config.json": '"model2vec"', "modules.json": "StaticEmbedding"}


class StaticVectors(NamedTuple):
    """Vectors of subwords.

    Parameters
    ----------
    vectors
        Shape (m, d), any type of number.
    mapping
        The row of ``vectors`` for each subword, shape (n_terms,); None if they are the same.
    weights
        A factor for each subword, shape (n_terms,), or None.
    tokenizer
        The tokenizer's JSON.
    unknown
        The number that stands for what the tokenizer does not know; -1 without one.
    """

    vectors: NDArray[Any]
    mapping: NDArray[Any] | None
    weights: NDArray[Any] | None
    tokenizer: str
    unknown: int

    @property
    def shape(self) -> tuple[int, int]:
        """Number of subwords, and size of a vector."""
        return len(self.vectors if self.mapping is None else self.mapping), self.vectors.shape[1]

    def table(self) -> NDArray[np.float32]:
        """Return the vectors of all subwords, shape (n_terms, d), float32."""
        return self.rows(np.arange(self.shape[0]))

    def rows(self, ids: NDArray[np.integer[Any]]) -> NDArray[np.float32]:
        """Return the vectors of some subwords, shape (len(ids), d), float32."""
        places = ids if self.mapping is None else self.mapping[ids]
        found: NDArray[np.float32] = self.vectors[places].astype(np.float32)
        if self.weights is not None:
            found *= self.weights[ids, None].astype(np.float32)
        return found


def load_static(name: str) -> StaticVectors:
    """Return static vectors as model2vec saves them.

    Parameters
    ----------
    name
        A folder, or a name on the Hugging Face hub such as ``"minishlab/potion-base-8M"``.
    """
    if not name.strip():
        raise InputError(
            "model is empty: give a folder with static vectors of model2vec, or their name on the "
            "Hugging Face hub such as 'minishlab/potion-base-8M'"
        )
    library = need("model2vec", EXTRA, "reading static vectors")
    model = load_named(name, "static vectors", _loader(library), "model2vec")
    return StaticVectors(
        model.embedding,
        model.token_mapping,
        model.weights,
        model.tokenizer.to_str(),
        -1 if model.unk_token_id is None else int(model.unk_token_id),
    )


def is_static(name: str) -> bool:
    """Tell whether a folder says that it holds static vectors."""
    folder = Path(name).expanduser()
    return any(
        (folder / file).is_file()
        and mark in (folder / file).read_text(encoding="utf-8", errors="replace")
        for file, mark in MARKS.items()
    )


def check_not_static(name: str) -> None:
    """Refuse a folder of static vectors where an encoder is asked for."""
    if is_static(name):
        raise InputError(f"{name} holds static vectors, no encoder: write 'static:{name}'")


def _loader(library: Any) -> Callable[..., Any]:
    def load(place: str, local_files_only: bool = False) -> Any:
        folder = Path(place)
        if not folder.is_dir():
            hub = need("huggingface_hub", EXTRA, "static vectors of the Hugging Face hub")
            folder = Path(
                hub.snapshot_download(
                    place, local_files_only=local_files_only, allow_patterns=list(FILES)
                )
            )
        try:
            return library.StaticModel.from_pretrained(folder)
        except Exception:
            _check_no_transformer(folder)
            raise

    return load


def _check_no_transformer(folder: Path) -> None:
    """Raise an error that says so if a folder holds a transformer."""
    config = folder / "config.json"
    if config.is_file() and '"hidden_size"' in config.read_text("utf-8", errors="replace"):
        raise InputError(
            f"{folder} holds a transformer, not static vectors: leave out 'static:', or use the "
            "features 'encoder'"
        )
