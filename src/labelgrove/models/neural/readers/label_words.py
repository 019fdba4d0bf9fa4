"""What labels are called, as tokens of the text's vocabulary, and as vectors to begin with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from labelgrove.core.features import TokenSequences
from labelgrove.core.settings import setting
from labelgrove.core.types import FitContext
from labelgrove.models.neural.readers import huggingface
from labelgrove.models.neural.readers.base import Reader
from labelgrove.models.neural.readers.transformer import TransformerReader
from labelgrove.models.neural.readers.words import WordReader
from labelgrove.text import UNK, Words

Starts = Literal["names", "descriptions", "random"]
STARTS: Starts = setting(
    "names",
    "What the vectors of labels begin as: the mean of the words of their names, of their "
    "descriptions where there are any, or random.",
)


def label_words(starts: Starts, context: FitContext) -> list[Tensor]:
    """Return the tokens of what each label is called, shape (n,) each; none to begin at random.

    Parameters
    ----------
    starts
        What labels are read as at first.
    context
        With the label space and the featurizer of the text.
    """
    featurizer, labels = context.featurizers.get("text"), context.labels
    if featurizer is None or labels is None or starts == "random":
        return []
    names, n = labels.names[: labels.n_labels], labels.n_labels
    if starts == "descriptions":
        told = labels.descriptions[:n]
        names = [text or name for text, name in zip(told, names, strict=True)]
    tokens = featurizer.transform(names)
    assert isinstance(tokens, TokenSequences)
    known = UNK + 1 if isinstance(featurizer, Words) else 0
    own = (tokens.sequence(i).astype(np.int64) for i in range(n))
    return [torch.from_numpy(each[each >= known]) for each in own]


def begin_as_words(labels: Tensor, words: Sequence[Tensor], reader: Reader) -> None:
    """Let vectors of labels begin as the mean of their words; one without words stays random.

    Nothing changes where the reader's words have vectors of another size.

    Parameters
    ----------
    labels
        The vectors, shape (L, e).
    words
        Tokens of each label, shape (n,) each; none to leave all as they are.
    reader
        Has vectors of tokens.
    """
    if labels.device.type == "meta" or word_size(reader) != labels.shape[1]:
        return
    with torch.no_grad():
        for number, own in enumerate(words):
            if len(own):
                labels[number] = _vectors(reader, own).mean(0)


def word_size(reader: Reader) -> int:
    """Return the size of the vectors that a reader's tokens begin with."""
    if isinstance(reader, WordReader):
        return reader.words.lookup.embedding_dim
    assert isinstance(reader, TransformerReader)
    table: Tensor = reader.encoder.get_input_embeddings().weight  # type: ignore[operator]
    return table.shape[1]


def _vectors(reader: Reader, tokens: Tensor) -> Tensor:
    if isinstance(reader, WordReader):
        return reader.words.lookup.weight[tokens]
    assert isinstance(reader, TransformerReader)
    return huggingface.embedded(reader.encoder, tokens)
