"""Label ids of a stream of documents, gathered into compact rows in one pass."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelgrove.core.errors import InputError

if TYPE_CHECKING:
    from labelgrove.labels.space import LabelSpace
    from labelgrove.labels.vocabulary import Vocabulary


class IdRows:
    """Rows of label numbers; ids that are not known yet are numbered as they come.

    Parameters
    ----------
    known
        Numbers of known ids: 0 to len(known) - 1, each once. Not changed.
    """

    def __init__(self, known: Mapping[str, int]) -> None:
        self._known = known
        self._new: dict[str, int] = {}
        self._numbers = array("i")
        self._offsets = array("q", [0])
        self.last_max = -1

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def add(self, labels: Sequence[str]) -> None:
        """Add one document; an id that stands there twice counts once."""
        if isinstance(labels, str):
            raise InputError(
                f"document {len(self) + 1} has the text {labels!r} as labels; give a list of ids"
            )
        row = {self._number(label) for label in labels}
        self.last_max = max(row, default=-1)
        self._numbers.extend(sorted(row))
        self._offsets.append(len(self._numbers))

    def _number(self, label: str) -> int:
        if not isinstance(label, str):
            raise InputError(
                f"document {len(self) + 1} has the label {label!r} of type "
                f"{type(label).__name__}; label ids are strings"
            )
        number = self._known.get(label)
        if number is None:
            number = self._new.setdefault(label, len(self._known) + len(self._new))
        return number

    def new_ids(self) -> list[str]:
        """Return the ids that were not known, sorted."""
        return sorted(self._new)

    def to_csr(self, width: int | None = None) -> csr_array:
        """Return the rows as a binary csr array with sorted indices, float32.

        Parameters
        ----------
        width
            Leave out numbers from here on. By default all are kept, and the new ids are
            numbered behind the known ones in sorted order.
        """
        numbers: NDArray[np.int32] = np.array(self._numbers, np.int32)
        offsets: NDArray[Any] = np.array(self._offsets, np.int64)
        n_known = len(self._known)
        if width is None:
            width = n_known + len(self._new)
            columns = np.arange(width, dtype=np.int32)
            columns[[self._new[label] for label in self.new_ids()]] = np.arange(n_known, width)
            numbers = columns[numbers]
        else:
            kept = numbers < width
            offsets = np.concatenate([[0], np.cumsum(kept)])[offsets]
            numbers = numbers[kept]
        if len(numbers) < 2**31:
            offsets = offsets.astype(np.int32)
        Y = csr_array(
            (np.ones(len(numbers), np.float32), numbers, offsets), shape=(len(self), width)
        )
        Y.sort_indices()
        return Y


class LabelCollector:
    """Gathers the labels of a stream of documents into a `LabelSpace` and Y, in one pass.

    Needs about four bytes a label and eight a document, beside the ids themselves.

    Examples
    --------
    >>> collector = LabelCollector()
    >>> for labels in [["pet", "dog"], ["cat"]]:
    ...     collector.add(labels)
    >>> space, Y = collector.finish()
    >>> space.ids
    ['cat', 'dog', 'pet']
    >>> Y.toarray()
    array([[0., 1., 1.],
           [1., 0., 0.]], dtype=float32)
    """

    def __init__(self) -> None:
        self._rows = IdRows({})

    def __len__(self) -> int:
        """Return the number of documents so far."""
        return len(self._rows)

    def add(self, labels: Sequence[str]) -> None:
        """Add the label ids of the next document; an id that stands there twice counts once."""
        self._rows.add(labels)

    def finish(self, vocabulary: Vocabulary | None = None) -> tuple[LabelSpace, csr_array]:
        """Return the space, its labels sorted by id, and Y (n, L), binary float32.

        Parameters
        ----------
        vocabulary
            Names, texts and hierarchy of the labels, from `read_vocabulary`.
        """
        from labelgrove.labels.space import LabelSpace

        Y = self._rows.to_csr()
        counts = np.bincount(Y.indices, minlength=Y.shape[1])
        space = LabelSpace(self._rows.new_ids(), counts, len(self))
        return (space if vocabulary is None else space.with_vocabulary(vocabulary)), Y
