"""Word vectors from the text files of GloVe and word2vec, also compressed."""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelgrove.core.errors import BadRowError, InputError
from labelgrove.core.files import check_file, lines
from labelgrove.core.random import generator
from labelgrove.text.words import PAD, SPECIAL, Words


class WordVectors(NamedTuple):
    """A row for each word of a vocabulary.

    Parameters
    ----------
    matrix
        Shape (n_words, d), float32; row 0, padding, is zero.
    share_found
        The share of the words (those of the texts, not ``<pad>`` and ``<unk>``) that the file
        had a vector for.
    """

    matrix: NDArray[np.float32]
    share_found: float


def read_vectors(
    path: str | os.PathLike[str], words: Iterable[str] | None = None
) -> tuple[list[str], NDArray[np.float32]]:
    """Read word vectors from a text file: a word and its numbers on each line.

    A first line with two whole numbers, as word2vec writes it, is skipped. A word may hold
    spaces, as some of GloVe's do. Of a word that comes twice the first vector counts; bytes that
    are not UTF-8 become U+FFFD.

    Parameters
    ----------
    path
        The file; ``.gz``, ``.xz`` and ``.zst`` are unpacked on the way.
    words
        Only these are kept, None for all. The file is never in memory as a whole.

    Returns
    -------
    words
        Those found, in the order of the file.
    vectors
        Shape (found, d), float32.
    """
    wanted = None if words is None else set(words)
    found: dict[str, None] = {}
    values = array("f")
    width = 0
    for line, word, numbers in _rows(Path(path)):
        width = len(numbers)
        if word in found or (wanted is not None and word not in wanted):
            continue
        try:
            values.extend(map(float, numbers))
        except ValueError as error:
            raise BadRowError(f"the vector of {word!r}: {error}", str(path), line) from error
        found[word] = None
    if not width:
        raise InputError(f"{path} holds no word vectors")
    vectors = np.array(values, np.float32).reshape(-1, width)
    del values
    if not np.isfinite(vectors).all():
        word = list(found)[int(np.flatnonzero(~np.isfinite(vectors).all(axis=1))[0])]
        raise InputError(f"{path}: the vector of {word!r} holds a number that is not finite")
    return list(found), vectors


def vectors_for(words: Words, path: str | os.PathLike[str], *, seed: int = 0) -> WordVectors:
    """Return a matrix of vectors for a vocabulary.

    Words that the file does not know, and ``<unk>``, get random numbers from -1 to 1; padding
    is zero.

    Parameters
    ----------
    words
        A fitted `Words`.
    path
        As of `read_vectors`.
    seed
        For the random rows; a row depends on the seed and its number only.
    """
    vocabulary = words.vocabulary
    number = {word: i for i, word in enumerate(vocabulary) if i >= len(SPECIAL)}
    found, vectors = read_vectors(path, number)
    random = generator(seed, "word vectors")
    matrix = random.uniform(-1.0, 1.0, (len(vocabulary), vectors.shape[1])).astype(np.float32)
    matrix[PAD] = 0.0
    matrix[[number[word] for word in found]] = vectors
    return WordVectors(matrix, len(found) / max(len(number), 1))


def _rows(path: Path) -> Iterator[tuple[int, str, list[bytes]]]:
    width = promised = n_vectors = 0
    check_file(path)
    for line, raw in enumerate(lines(path), start=1):
        fields = raw.rstrip(b" \r\n").split(b" ")
        if line == 1 and len(fields) == 2 and all(field.isdigit() for field in fields):
            promised, width = int(fields[0]), int(fields[1])
            continue
        if fields == [b""]:
            continue
        n_vectors += 1
        if n_vectors == 1 and not _is_number(fields[-1]):
            raise InputError(
                f"{path} is no file of word vectors: line {line} does not end in a number"
            )
        width = width or len(fields) - 1
        surplus = len(fields) - 1 - width
        # a word with spaces has surplus fields that are not numbers
        if surplus < 0 or width == 0 or (surplus and all(map(_is_number, fields[1:-width]))):
            raise BadRowError(
                f"this line has {len(fields) - 1} numbers instead of {width or 'one or more'}",
                str(path),
                line,
            )
        word = b" ".join(fields[: surplus + 1]).decode("utf-8", "replace")
        yield line, word, fields[surplus + 1 :]
    if n_vectors < promised:
        raise InputError(
            f"{path} ends after {n_vectors:,} of {promised:,} vectors: it was cut short"
        )


def _is_number(field: bytes) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True
