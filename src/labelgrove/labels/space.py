"""The label space: which labels there are, what they are called, and how they hang together."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from itertools import islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from labelgrove.core import checks, storage
from labelgrove.core.errors import InputError, UnknownNameError
from labelgrove.labels import hierarchy
from labelgrove.labels.collecting import IdRows, LabelCollector
from labelgrove.labels.hierarchy import IntLists
from labelgrove.labels.names import NameIndex
from labelgrove.labels.propensity import propensities

if TYPE_CHECKING:
    from labelgrove.labels.vocabulary import Vocabulary

Unseen = Literal["error", "skip", "append"]


class LabelSpace:
    """The labels of a corpus, and behind them the other concepts of their vocabulary.

    Numbers below ``n_labels`` are labels: columns of Y, in the order of their ids, those learned
    later behind them (`with_more`). Numbers from there on are concepts that no training document
    has: parents and unused terms. Treat it as frozen: what changes it returns a new one.

    Parameters
    ----------
    ids
        Ids of the L labels, then of the other concepts; each once.
    counts
        Training documents of each label, shape (L,).
    n_documents
        Number of training documents.
    names
        A name for each id; by default the id.
    descriptions
        A text for each id, which may be empty.
    alternatives
        Other names of each id (SKOS calls them alternative labels).
    parents
        Numbers of the concepts above each id.

    Attributes
    ----------
    n_labels
        L.
    ids, names, descriptions, alternatives, parents
        As above, one entry for each label and then for each concept.
    counts
        Shape (L,), int64.

    Examples
    --------
    >>> space = LabelSpace.from_labels([["cat", "pet"], ["dog", "pet"]])
    >>> space.ids, space.counts.tolist()
    (['cat', 'dog', 'pet'], [1, 1, 2])
    >>> space.encode([["dog", "fish"]], unseen="append").toarray()
    array([[0., 1., 0., 1.]], dtype=float32)
    """

    def __init__(
        self,
        ids: Sequence[str],
        counts: ArrayLike,
        n_documents: int,
        *,
        names: Sequence[str] | None = None,
        descriptions: Sequence[str] | None = None,
        alternatives: Sequence[Sequence[str]] | None = None,
        parents: Iterable[Sequence[int]] | IntLists | None = None,
    ) -> None:
        self.ids: list[str] = list(ids)
        self.counts: NDArray[np.int64] = np.asarray(counts, np.int64)
        self.n_labels = len(self.counts)
        self.n_documents = int(n_documents)
        n = len(self.ids)
        self.names: list[str] = list(self.ids if names is None else names)
        self.descriptions: list[str] = [""] * n if descriptions is None else list(descriptions)
        self.alternatives: list[tuple[str, ...]] = (
            [()] * n if alternatives is None else [tuple(texts) for texts in alternatives]
        )
        if not isinstance(parents, IntLists):
            parents = IntLists.of([()] * n if parents is None else parents)
        self.parents: IntLists = parents
        self._index = {label: i for i, label in enumerate(self.ids)}
        self._children: IntLists | None = None
        self._by_name: NameIndex | None = None
        self._check()

    def _check(self) -> None:
        n = len(self.ids)
        if self.n_labels > n:
            raise InputError(f"{self.n_labels} counts for {n} ids")
        if len(self._index) < n:
            twice = next(label for i, label in enumerate(self.ids) if self._index[label] != i)
            raise InputError(f"the id {twice!r} occurs twice; ids must differ")
        for what in ("names", "descriptions", "alternatives", "parents"):
            if len(getattr(self, what)) != n:
                raise InputError(f"{len(getattr(self, what))} {what} for {n} ids")
        numbers = self.parents.indices
        if len(numbers) and not (numbers.min() >= 0 and numbers.max() < n):
            raise InputError(f"parents are numbers from 0 to {n - 1}, got {numbers.max()}")
        hierarchy.check_acyclic(self.parents, self.ids)

    @classmethod
    def from_labels(
        cls, label_lists: Iterable[Sequence[str]], vocabulary: Vocabulary | None = None
    ) -> LabelSpace:
        """Return the space of the labels of many documents; `LabelCollector` gives Y too."""
        collector = LabelCollector()
        for labels in label_lists:
            collector.add(labels)
        return collector.finish(vocabulary)[0]

    def __len__(self) -> int:
        """Return the number of labels and concepts together."""
        return len(self.ids)

    def __repr__(self) -> str:
        concepts = len(self.ids) - self.n_labels
        return f"<LabelSpace: {self.n_labels:,} labels, {concepts:,} other concepts>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LabelSpace):
            return NotImplemented
        return (
            self.ids == other.ids
            and self.names == other.names
            and self.descriptions == other.descriptions
            and self.alternatives == other.alternatives
            and self.parents == other.parents
            and self.n_documents == other.n_documents
            and np.array_equal(self.counts, other.counts)
        )

    __hash__ = None  # type: ignore[assignment]

    # --- other spaces -------------------------------------------------------------------------

    def with_vocabulary(self, vocabulary: Vocabulary) -> LabelSpace:
        """Return the same labels with a vocabulary's names, texts, parents and concepts.

        Labels the vocabulary lacks keep their id as name. A vocabulary that has none of the
        labels is refused.
        """
        from labelgrove.labels.vocabulary import join

        return join(self.ids[: self.n_labels], self.counts, self.n_documents, vocabulary)

    def with_concepts_as_labels(self) -> LabelSpace:
        """Return a space in which every concept is a label, those without documents with count 0.

        For models that find labels by their names. Numbers stay as they are.
        """
        counts = np.zeros(len(self.ids), np.int64)
        counts[: self.n_labels] = self.counts
        return LabelSpace(
            self.ids,
            counts,
            self.n_documents,
            names=self.names,
            descriptions=self.descriptions,
            alternatives=self.alternatives,
            parents=self.parents,
        )

    def with_more(
        self, label_lists: Iterable[Sequence[str]], vocabulary: Vocabulary | None = None
    ) -> tuple[LabelSpace, csr_array]:
        """Return the space with more documents counted, and their Y (n, new L), binary float32.

        Known labels keep their numbers. Those that had no document before come behind them,
        sorted by id, in front of the remaining concepts; one of the concepts that becomes a label
        keeps all that is known of it.

        Parameters
        ----------
        label_lists
            The label ids of each document, read once.
        vocabulary
            Tells of ids that the space does not know; what it does know stays.

        Examples
        --------
        >>> space, Y = LabelSpace.from_labels([["m"], ["x"]]).with_more([["x", "a"], ["c"]])
        >>> space.ids, space.counts.tolist()
        (['m', 'x', 'a', 'c'], [1, 2, 1, 1])
        >>> Y.toarray()
        array([[0., 1., 1., 0.],
               [0., 0., 0., 1.]], dtype=float32)
        """
        if vocabulary is not None:
            return self.widened(vocabulary).with_more(label_lists)
        rows = IdRows(self._index)
        for labels in label_lists:
            rows.add(labels)
        Y = rows.to_csr()
        wide = self._with_ids(rows.new_ids())
        counts = np.bincount(Y.indices, minlength=len(wide))
        counts[: self.n_labels] += self.counts
        new = np.flatnonzero(counts[self.n_labels :]) + self.n_labels
        new = np.array(sorted(new.tolist(), key=wide.ids.__getitem__), np.int64)
        numbers = np.concatenate([np.arange(self.n_labels), new])
        space = wide._with_labels(numbers, counts[numbers], self.n_documents + len(rows))
        columns = np.empty(len(wide), np.int32)
        columns[numbers] = np.arange(len(numbers))
        Y = csr_array((Y.data, columns[Y.indices], Y.indptr), shape=(len(rows), len(numbers)))
        Y.sort_indices()
        return space, Y

    def widened(self, vocabulary: Vocabulary) -> LabelSpace:
        """Return the space with the concepts that only the vocabulary has behind all others."""
        from labelgrove.labels.vocabulary import widened

        return widened(self, vocabulary)

    def with_labels(self, numbers: ArrayLike) -> LabelSpace:
        """Return a space in which labels have other numbers.

        Parameters
        ----------
        numbers
            Which labels are to be columns of Y, in their order, shape (L',). The others become
            concepts behind them.

        Examples
        --------
        >>> space = LabelSpace.from_labels([["a", "b"], ["b", "c"]]).with_labels([2, 1])
        >>> space.ids, space.counts.tolist()
        (['c', 'b', 'a'], [1, 2])
        """
        chosen = np.asarray(numbers, np.int64)
        return self._with_labels(chosen, self.counts[chosen], self.n_documents)

    def _with_labels(
        self, numbers: NDArray[np.int64], counts: NDArray[np.int64], n_documents: int
    ) -> LabelSpace:
        """Return a space of these labels or concepts, and of all others behind them."""
        others = np.ones(len(self.ids), np.bool_)
        others[numbers] = False
        order = np.concatenate([numbers, np.flatnonzero(others)])
        columns = np.empty(len(order), np.int32)
        columns[order] = np.arange(len(order))
        parents = self.parents.taken(order)
        chosen = order.tolist()
        return LabelSpace(
            [self.ids[i] for i in chosen],
            counts,
            n_documents,
            names=[self.names[i] for i in chosen],
            descriptions=[self.descriptions[i] for i in chosen],
            alternatives=[self.alternatives[i] for i in chosen],
            parents=IntLists(parents.offsets, columns[parents.indices]),
        )

    def _with_ids(self, ids: Sequence[str]) -> LabelSpace:
        """Return the same space with new ids behind all others.

        Nothing is known of them, unless one is that of a concept in angle brackets.
        """
        from labelgrove.labels.vocabulary import bare

        if not ids:
            return self
        known = [self._index.get(bare(label), -1) for label in ids]
        known = [i if i >= self.n_labels else -1 for i in known]
        parents = IntLists.of([self.parents[i] if i >= 0 else () for i in known])
        offsets, above = self.parents.offsets, self.parents.indices
        return LabelSpace(
            [*self.ids, *ids],
            self.counts,
            self.n_documents,
            names=self.names
            + [self.names[i] if i >= 0 else label for i, label in zip(known, ids, strict=True)],
            descriptions=self.descriptions
            + [self.descriptions[i] if i >= 0 else "" for i in known],
            alternatives=self.alternatives
            + [self.alternatives[i] if i >= 0 else () for i in known],
            parents=IntLists(
                np.concatenate([offsets, offsets[-1] + parents.offsets[1:]]),
                np.concatenate([above, parents.indices]),
            ),
        )

    @property
    def has_vocabulary(self) -> bool:
        """Whether more is known of the labels than the ids that documents have."""
        return (
            len(self.ids) > self.n_labels
            or self.names != self.ids
            or len(self.parents.indices) > 0
            or any(self.descriptions)
            or any(self.alternatives)
        )

    # --- finding ------------------------------------------------------------------------------

    def __contains__(self, label: object) -> bool:
        return label in self._index

    def index(self, label: str) -> int:
        """Return the number of the label or concept with this id."""
        try:
            return self._index[label]
        except KeyError:
            raise UnknownNameError("label", label, self.near(label, self.ids)) from None

    def lookup(self, text: str) -> list[int]:
        """Return the numbers of what has this id, else this name; `find` wants one, and hints."""
        if text in self._index:
            return [self._index[text]]
        if self._by_name is None:
            self._by_name = NameIndex(self.names, self.alternatives, self.ids)
        numbers = self._by_name.lookup(text)
        return [i for i in numbers if i < self.n_labels] or numbers

    def find(self, text: str) -> int:
        """Return the number of a label or concept by its id, else its name, else another name.

        A name may differ in case. Where labels and other concepts share it, the labels are meant.
        """
        numbers = self.lookup(text)
        if len(numbers) > 1:
            shown = ", ".join(repr(self.ids[i]) for i in numbers[:10])
            more = f" and {len(numbers) - 10} more" if len(numbers) > 10 else ""
            raise InputError(f"{text!r} is the name of several labels, give an id: {shown}{more}")
        if not numbers:
            known = dict.fromkeys([*self.names, *self.ids])
            raise UnknownNameError("label", text, self.near(text, known), total=len(known))
        return numbers[0]

    @staticmethod
    def near(text: str, known: Iterable[str]) -> list[str]:
        """Return a few dozen texts like ``text``: comparing a million in full takes minutes."""
        pairs = {text[i : i + 2] for i in range(len(text) - 1)} or {text}
        return heapq.nlargest(50, known, key=lambda name: sum(pair in name for pair in pairs))

    # --- encoding -----------------------------------------------------------------------------

    def encode(self, label_lists: Iterable[Sequence[str]], unseen: Unseen = "error") -> csr_array:
        """Return Y for lists of label ids: binary, float32, sorted indices.

        Parameters
        ----------
        label_lists
            The label ids of each document, read once.
        unseen
            What becomes of an id that is not one of the L labels. ``"error"``: refused;
            ``"skip"``: left out; both give shape (n, L). ``"append"``: a concept gets its own
            number, an unknown id one behind all concepts in sorted order, so that every metric
            counts it as missed; shape (n, len(self) + unknown).
        """
        if unseen not in ("error", "skip", "append"):
            raise UnknownNameError("way with unseen labels", unseen, ["error", "skip", "append"])
        rows = IdRows(self._index)
        for labels in label_lists:
            rows.add(labels)
            if unseen == "error" and rows.last_max >= self.n_labels:
                label = next(
                    x for x in labels if self._index.get(x, self.n_labels) >= self.n_labels
                )
                raise UnknownNameError(
                    f"label of document {len(rows)}",
                    label,
                    self.near(label, self.ids[: self.n_labels]),
                )
        return rows.to_csr(None if unseen == "append" else self.n_labels)

    def decode(self, Y: csr_array) -> list[tuple[str, ...]]:
        """Return the ids of each row of Y (n, at most all labels and concepts)."""
        if Y.shape[1] > len(self.ids) and Y.indices.max(initial=0) >= len(self.ids):
            raise InputError(
                f"Y has label number {Y.indices.max()}, but only {len(self.ids)} have an id"
            )
        ids, offsets = self.ids, Y.indptr.tolist()
        numbers = Y.indices.tolist()
        return [tuple(ids[i] for i in numbers[start:end]) for start, end in pairwise(offsets)]

    def propensities(
        self, A: float = 0.55, B: float = 1.5, n_columns: int | None = None
    ) -> NDArray[np.float64]:
        """Return the labels' propensities, shape (L,) or (n_columns,); columns beyond L have 0.

        See `labelgrove.labels.propensities`.
        """
        return propensities(self.counts, self.n_documents, A, B, n_columns)

    # --- hierarchy and texts ------------------------------------------------------------------

    def children(self, i: int) -> tuple[int, ...]:
        """Return the numbers of the labels and concepts right below ``i``."""
        if self._children is None:
            self._children = self.parents.inverted(len(self.ids))
        return self._children[i]

    def ancestors(self, i: int) -> tuple[int, ...]:
        """Return the numbers of all concepts above ``i``, nearest first, each once."""
        return hierarchy.ancestors(self.parents, i)

    def path(self, i: int) -> tuple[int, ...]:
        """Return the numbers from the top down to ``i``, by the first parent of each."""
        path = [i]
        while above := self.parents[path[-1]]:
            path.append(above[0])
        return tuple(reversed(path))

    def description(self, i: int) -> str:
        """Return the description of ``i``, else the names on its path: ``"facet: tag"``."""
        return self.descriptions[i] or ": ".join(self.names[j] for j in self.path(i))

    # --- storage ------------------------------------------------------------------------------

    def write(self, folder: Path) -> None:
        """Write the space into an open folder."""
        alternatives = [text for texts in self.alternatives for text in texts]
        values: dict[str, Any] = {
            "ids": self.ids,
            "names": self.names,
            "descriptions": self.descriptions if any(self.descriptions) else [],
            "alternatives": alternatives,
            "n_alternatives": np.array([len(texts) for texts in self.alternatives], np.int32),
            "parents": self.parents.indices,
            "parents_offsets": self.parents.offsets,
            "counts": self.counts,
            "n_documents": self.n_documents,
        }
        storage.write_values(folder, values)

    @classmethod
    def read(cls, folder: Path) -> LabelSpace:
        """Read what `write` wrote."""
        values = storage.read_values(folder)
        with checks.reading(folder):
            ids = checks.texts("ids", values["ids"])
            counts = checks.array("counts", values["counts"], np.int64, (None,))
            others = checks.texts("alternatives", values["alternatives"])
            many = checks.array("n_alternatives", values["n_alternatives"], np.int32, (len(ids),))
            checks.below("n_alternatives", many, len(others) + 1)
            texts = iter(others)
            return cls(
                ids,
                counts,
                checks.whole("n_documents", values["n_documents"]),
                names=checks.texts("names", values["names"]),
                descriptions=checks.texts("descriptions", values["descriptions"]) or None,
                alternatives=[tuple(islice(texts, count)) for count in many.tolist()],
                parents=IntLists.checked(
                    "parents", values["parents_offsets"], values["parents"], len(ids)
                ),
            )
