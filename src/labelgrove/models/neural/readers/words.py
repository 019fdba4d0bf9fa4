"""Words as vectors, and a network that reads them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from labelgrove.core import checks
from labelgrove.core.features import TokenSequences
from labelgrove.core.progress import Progress
from labelgrove.core.types import FitContext, ViewSpec
from labelgrove.models.neural.readers.base import Batch, Input, Reader, Reading, mask_of
from labelgrove.models.neural.readers.word_networks import WordNetwork
from labelgrove.models.neural.training.batches import first_words, knows_words
from labelgrove.models.word_vectors import check_source, word_vectors
from labelgrove.text import PAD

SIZE = 300  # of a word's vector where neither a setting nor a file says otherwise


class WordEmbedding(nn.Module):
    """The vector of each word, with dropout.

    Parameters
    ----------
    vectors
        Shape (n_words, d); a copy is made.
    trained
        Learn the vectors too. Their gradients are sparse: a step touches only the words of its
        batch.
    dropout
        Share of the numbers that are set to zero in training.
    """

    def __init__(self, vectors: Tensor, trained: bool = True, dropout: float = 0.2) -> None:
        super().__init__()
        n_words, size = vectors.shape
        self.lookup = nn.Embedding(n_words, size, PAD, sparse=trained, _weight=vectors.clone())
        self.lookup.weight.requires_grad_(trained)
        self.dropout = nn.Dropout(dropout)

    def forward(self, tokens: Tensor) -> Tensor:
        """Return vectors (b, T, d) of tokens (b, T)."""
        vectors: Tensor = self.dropout(self.lookup(tokens))
        return vectors


class WordReader(Reader):
    """Vectors of words, and a network that reads them.

    Parameters
    ----------
    words
        Vectors of the words.
    network
        What reads them.
    """

    def __init__(self, words: WordEmbedding, network: WordNetwork) -> None:
        super().__init__()
        self.words, self.network = words, network
        self.n_vector, self.n_pooled = network.n_vector, network.n_pooled

    def embed(self, batch: Batch) -> Tensor:
        """Return the vectors of words (b, T, e)."""
        vectors: Tensor = self.words(batch.tokens)
        return vectors

    def read(self, batch: Batch, vectors: Tensor) -> Reading:
        """Read texts whose words have these vectors (b, T, e)."""
        lengths = batch.lengths
        read: Tensor = self.network(vectors, lengths)
        mask = mask_of(lengths, vectors.shape[1])
        return Reading(read, mask, lambda: self.network.pool(read, lengths))

    def blank(self, batch: Batch) -> Tensor:
        """Return zeros (b, T, e)."""
        return torch.zeros(*batch.tokens.shape, self.words.lookup.embedding_dim,
                           device=batch.tokens.device)  # fmt: skip

    def kept(self, longest: int, judged: int) -> int:
        """Return the numbers that learning keeps for one text."""
        return longest * (2 * self.words.lookup.embedding_dim + self.network.per_word)


@dataclass
class TableInput(Input):
    """Tokens that begin with the vectors of a table, and a network that reads them.

    Parameters
    ----------
    network
        Makes what reads vectors of a given size.
    length
        Tokens that are read of a text.
    train_vectors, vector_dropout
        As the settings of that name.
    """

    network: Callable[[int], WordNetwork]
    length: int
    train_vectors: bool
    vector_dropout: float
    table: Tensor | None = field(default=None, init=False)
    # of the table, which is let go once networks have it
    shape: tuple[int, int] = field(default=(0, 0), init=False)

    def cut(self, X: TokenSequences) -> TokenSequences:
        """Return the first tokens of texts."""
        return first_words(X, self.length)

    def look(self, X: TokenSequences, progress: Progress) -> None:
        """Say how many texts are cut."""
        if cut := int((X.lengths >= self.length).sum()):
            progress.say(
                f"{cut:,} documents ({cut / len(X):.1%}) have {self.length:,} {self.reads} "
                "(length) or more: what follows is not read"
            )

    @property
    def n_terms(self) -> int:
        """Number of different tokens that readers have vectors for."""
        return self.shape[0]

    def begin_with(self, table: NDArray[np.float32]) -> None:
        """Let readers begin with these vectors, shape (n_terms, d)."""
        self.table, self.shape = torch.from_numpy(table), table.shape

    def reader(self, n_labels: int) -> WordReader:
        """Return a new reader."""
        return self._built(torch.zeros(self.shape) if self.table is None else self.table)

    def _built(self, table: Tensor) -> WordReader:
        words = WordEmbedding(table, self.train_vectors, self.vector_dropout)
        return WordReader(words, self.network(table.shape[1]))

    def _sketched(self, n_terms: int, size: int) -> WordReader:
        with torch.device("meta"):
            return self._built(torch.empty(n_terms, size))

    def release(self) -> None:
        """Let the table go."""
        self.table = None

    def state(self) -> dict[str, Any]:
        """Return the size of the table."""
        return {"shape": list(self.shape)}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Take over the size of the table."""
        n_terms, size = (checks.whole("shape", each, least=1) for each in state["shape"])
        self.shape = (n_terms, size)


@dataclass
class WordInput(TableInput):
    """Words of a vocabulary, with vectors that are random, trained on the texts, or from a file.

    Parameters
    ----------
    vectors, vector_size
        As the settings of that name.
    seed, threads
        Of random vectors, and for those trained on the texts.
    """

    vectors: str
    vector_size: int
    seed: int
    threads: int | None

    reads: ClassVar[str] = "words"
    saves_memory: ClassVar[str] = (
        "lower batch, length, units or the number of words (features text.max_words), or let a "
        "label tree (attentionxml's tree='always') or a first stage (first='bonsai') choose labels"
    )

    def view(self) -> ViewSpec:
        """Return words, cut after ``length``."""
        return ViewSpec("words", {"length": self.length})

    def check_needs(self) -> None:
        """Refuse a file of vectors that is not there."""
        check_source(self.vectors)

    def readable(self, X: TokenSequences) -> NDArray[np.bool_]:
        """Tell which texts have a word of the vocabulary."""
        return knows_words(X)

    def prepare(self, X: TokenSequences, n_labels: int, context: FitContext) -> None:
        """Find the vectors that words begin with."""
        self.begin_with(
            word_vectors(self.vectors, self.vector_size, X, context, self.seed, self.threads)
        )

    def sketch(self, n_terms: int, n_labels: int) -> WordReader:
        """Return a reader without weights."""
        return self._sketched(n_terms, self.vector_size or SIZE)
