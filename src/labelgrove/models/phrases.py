"""Phrases found in token sequences: a trie in one sorted array, walked by all places at once."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelgrove.core.features import TokenSequences


class Occurrences(NamedTuple):
    """Where phrases stand, in reading order.

    Parameters
    ----------
    starts
        Places of their first tokens, counted over all sequences; shape (m,), int64.
    phrases
        Numbers of the phrases, shape (m,), int32.
    lengths
        Their numbers of tokens, shape (m,), int64.
    """

    starts: NDArray[np.int64]
    phrases: NDArray[np.int32]
    lengths: NDArray[np.int64]


class Phrases:
    """Distinct token sequences, numbered, and quickly found in longer ones.

    Node 0 is the root; the child behind ``edges[i]`` is node i + 1. Since nodes are numbered
    level by level, the edges are sorted by parent and token as they are made.

    Parameters
    ----------
    edges
        Parent and token of each node but the root, ``parent << 32 | token``, ascending; int64.
    phrase_at
        The phrase that ends at each node, or -1; shape (nodes,), int32.

    Examples
    --------
    >>> texts = TokenSequences(np.array([7, 8, 8]), np.array([0, 2, 3]), n_terms=10)
    >>> phrases, numbers = Phrases.of(texts)
    >>> numbers
    array([1, 0], dtype=int32)
    >>> phrases.find(np.array([8, 7, 8, 7]), np.array([0, 4])).phrases
    array([0, 1], dtype=int32)
    """

    def __init__(self, edges: NDArray[np.int64], phrase_at: NDArray[np.int32]) -> None:
        self.edges = edges
        self.phrase_at = phrase_at

    @classmethod
    def of(cls, texts: TokenSequences) -> tuple[Phrases, NDArray[np.int32]]:
        """Return the distinct sequences among n, none empty, and each one's number, shape (n,)."""
        nodes = np.zeros(len(texts), np.int64)
        levels = [np.empty(0, np.int64)]
        size = 1
        for depth in range(int(texts.lengths.max(initial=0))):
            longer = np.flatnonzero(texts.lengths > depth)
            keys = nodes[longer] << 32 | texts.tokens[texts.offsets[longer] + depth]
            level, places = np.unique(keys, return_inverse=True)
            nodes[longer] = size + places
            size += len(level)
            levels.append(level)
        last, numbers = np.unique(nodes, return_inverse=True)
        phrase_at = np.full(size, -1, np.int32)
        phrase_at[last] = np.arange(len(last))
        return cls(np.concatenate(levels), phrase_at), numbers.astype(np.int32)

    def find(
        self, tokens: NDArray[np.integer[Any]], offsets: NDArray[np.integer[Any]]
    ) -> Occurrences:
        """Return the phrases in sequences, but for those that lie inside a longer one.

        Parameters
        ----------
        tokens, offsets
            Sequence d is ``tokens[offsets[d]:offsets[d + 1]]``, and all tokens are in one.
        """
        ends = np.repeat(offsets[1:], np.diff(offsets))
        starts, nodes = self._step(np.arange(len(tokens)), np.zeros(len(tokens), np.int64), tokens)
        length = np.zeros(len(tokens), np.int64)
        phrase = np.full(len(tokens), -1, np.int32)
        depth = 1
        while len(starts):
            here = self.phrase_at[nodes]
            whole = here >= 0
            length[starts[whole]] = depth  # a longer one at the same start comes later
            phrase[starts[whole]] = here[whole]
            inside = starts + depth < ends[starts]
            starts, nodes = self._step(starts[inside], nodes[inside], tokens, depth)
            depth += 1
        starts = np.flatnonzero(length)
        stops = starts + length[starts]
        furthest = np.maximum.accumulate(stops)
        outer = np.append(True, stops[1:] > furthest[:-1])[: len(stops)]
        starts = starts[outer]
        return Occurrences(starts, phrase[starts], length[starts])

    def _step(
        self,
        starts: NDArray[np.int64],
        nodes: NDArray[np.int64],
        tokens: NDArray[np.integer[Any]],
        depth: int = 0,
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Go from nodes down by the token ``depth`` after the start; keep those who can."""
        keys = nodes << 32 | tokens[starts + depth]
        places = np.searchsorted(self.edges, keys)
        places[places == len(self.edges)] = 0
        known = self.edges[places] == keys if len(self.edges) else np.zeros(len(keys), np.bool_)
        return starts[known], places[known] + 1
