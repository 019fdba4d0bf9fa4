"""Where the vectors of words come from."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from labelgrove.core.errors import InputError
from labelgrove.core.features import TokenSequences
from labelgrove.core.random import generator
from labelgrove.core.types import FitContext
from labelgrove.text import PAD, Words, vectors_for
from labelgrove.text.corpus_vectors import corpus_vectors
from labelgrove.text.words import SPECIAL


def word_vectors(
    source: str,
    size: int,
    X: TokenSequences,
    context: FitContext,
    seed: int,
    threads: int | None,
) -> NDArray[np.float32]:
    """Return a vector for each word, shape (n_words, d); padding has zeros.

    Parameters
    ----------
    source
        ``"random"``, ``"corpus"`` for vectors trained on X itself, or a file of GloVe or
        word2vec.
    size
        Their size d; 0 for that of the file.
    X
        The training texts.
    context
        Holds the featurizer that knows the words, for a file.
    seed
        Of what is random.
    threads
        For ``"corpus"``.
    """
    if source == "random":
        return _random(X.n_terms, size or 300, seed)
    if source == "corpus":
        return corpus_vectors(X, size or 300, seed=seed, progress=context.run.progress)
    check_source(source)
    words = context.featurizers.get("text")
    if not isinstance(words, Words):
        raise InputError(
            f"vectors={source!r} needs the words themselves: train through Tagger, or give a "
            "FitContext with the featurizer of the view 'text'"
        )
    found = vectors_for(words, source, seed=seed)
    if size not in (0, found.matrix.shape[1]):
        raise InputError(
            f"{source} holds vectors of {found.matrix.shape[1]} numbers, but vector_size is "
            f"{size}: give that, or 0 for whatever the file has"
        )
    if not found.share_found:
        raise InputError(
            f"{source} has a vector for none of the {X.n_terms - len(SPECIAL):,} words of the "
            "texts: is it of another language, or are its words of another form?"
        )
    context.run.progress.say(f"{found.share_found:.0%} of the words have a vector in {source}")
    return found.matrix


def check_source(source: str) -> None:
    """Refuse a source of vectors that is neither known nor a file."""
    if source not in ("random", "corpus") and not Path(source).is_file():
        raise InputError(
            f"vectors={source!r}: there is no such file; give one of GloVe or word2vec as text "
            "(such as those of https://nlp.stanford.edu/projects/glove), 'corpus' or 'random'"
        )


def _random(n: int, size: int, seed: int) -> NDArray[np.float32]:
    matrix = generator(seed, "word vectors").uniform(-1.0, 1.0, (n, size)).astype(np.float32)
    matrix[PAD] = 0.0
    return matrix
