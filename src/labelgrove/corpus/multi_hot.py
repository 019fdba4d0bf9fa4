"""Labels as a matrix of zeros and ones: a row for each document, a column for each label."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from labelgrove.core.errors import BadRowError, InputError
from labelgrove.core.types import Document
from labelgrove.corpus.base import CorpusReader
from labelgrove.corpus.memory import Frame, Lists
from labelgrove.corpus.rows import Fields, RowError, clean_label

NUMBERS = "biuf"  # kinds of numpy types that zeros and ones come in


@dataclass(frozen=True)
class MatrixColumns:
    """What the columns of a label matrix are.

    Parameters
    ----------
    names
        The label of each column, L of them.
    dense
        Whether the matrix was a numpy array or a data frame, not a sparse one.
    """

    names: tuple[str, ...]
    dense: bool = False


class MultiHot(CorpusReader):
    """Documents of another corpus with the labels that a matrix gives them.

    Parameters
    ----------
    documents
        n documents, from memory.
    Y
        Their labels, shape (n, L), binary.
    columns
        What the L columns are.
    on_bad
        ``"stop"`` or ``"skip"``.

    Examples
    --------
    >>> Y, columns = read_matrix([[1, 0], [1, 1]], ["energy", "sun"])
    >>> [document.labels for document in MultiHot(Lists(["Wind", "Sun"]), Y, columns)]
    [('energy',), ('energy', 'sun')]
    """

    def __init__(
        self, documents: Lists | Frame, Y: csr_array, columns: MatrixColumns, on_bad: str = "stop"
    ) -> None:
        super().__init__(documents.name, on_bad)
        if len(documents) != Y.shape[0]:
            raise InputError(
                f"there are {len(documents):,} texts, but the matrix of labels has "
                f"{Y.shape[0]:,} rows"
            )
        self.columns: MatrixColumns = columns
        self._documents, self._Y = documents, Y

    def __len__(self) -> int:
        return len(self._documents)

    def _rows(self) -> Iterator[Document | BadRowError]:
        names, numbers = self.columns.names, self._Y.indices
        rows = pairwise(self._Y.indptr.tolist())
        for document, (start, end) in zip(self._documents._rows(), rows, strict=True):
            if isinstance(document, Document):
                labels = tuple(names[j] for j in numbers[start:end].tolist())
                document = document._replace(labels=labels)
            yield document


def is_matrix(labels: object) -> bool:
    """Tell whether labels come as a matrix or a data frame, not as a list for each document."""
    return getattr(labels, "ndim", 1) == 2


def read_matrix(labels: Any, names: Iterable[Any] | None = None) -> tuple[csr_array, MatrixColumns]:
    """Return labels as a binary csr array (n, L), and what its columns are.

    Parameters
    ----------
    labels
        A sparse matrix, an array or a data frame, shape (n, L), of zeros and ones or booleans.
    names
        A label for each column; by default the columns of a data frame, else 0, 1, 2, ...
    """
    if names is None:
        names = labels.columns if hasattr(labels, "columns") else range(np.shape(labels)[1])
    known = _checked_names(names)
    dense = not issparse(labels)
    Y = _sparse(labels)
    if Y.shape[1] != len(known):
        raise InputError(
            f"the matrix of labels has {Y.shape[1]:,} columns, and {len(known):,} labels are known "
            "for them: give label_names=, the label of each column"
        )
    Y.sum_duplicates()
    Y.eliminate_zeros()
    wrong = np.flatnonzero(Y.data != 1)
    if len(wrong):
        row = int(np.searchsorted(Y.indptr, wrong[0], "right")) - 1
        raise InputError(
            f"row {row} of the matrix has {Y.data[wrong[0]]} for {known[Y.indices[wrong[0]]]!r}; "
            "a label that a text has is 1 or True, any other is 0 or False"
        )
    return Y, MatrixColumns(known, dense)


def _sparse(labels: Any) -> csr_array:
    """Return a matrix as csr, without a copy that is denser than what was given."""
    if issparse(labels):
        if labels.dtype.kind not in NUMBERS:
            raise InputError(f"a matrix of labels holds zeros and ones, got {labels.dtype}")
        return csr_array(labels, copy=True)
    if hasattr(labels, "columns"):
        if hasattr(labels, "sparse") and all(hasattr(t, "subtype") for t in labels.dtypes):
            return csr_array(labels.sparse.to_coo())
        labels = _frame_values(labels)
    values = np.asarray(labels)
    if values.ndim != 2 or values.dtype.kind not in NUMBERS:
        raise InputError(
            f"a matrix of labels has a row for each text and a column for each label, of zeros and "
            f"ones; got an array of {values.dtype} of shape {values.shape}"
        )
    return csr_array(values)


def _frame_values(frame: Any) -> Any:
    """Return the values of a data frame, or say which column holds something else."""
    for name, dtype in zip(frame.columns, frame.dtypes, strict=True):
        if not is_binary(dtype):
            raise InputError(
                f"the column {name!r} holds {dtype}, not zeros and ones; leave it out, or give "
                "the columns of labels alone"
            )
    if frame.isna().to_numpy().any():
        missing = next(name for name in frame.columns if frame[name].isna().any())
        raise InputError(f"values of the column {missing!r} are missing; write 0 or 1")
    return frame.to_numpy(dtype=np.result_type(*{np.dtype(_plain(t)) for t in frame.dtypes}))


def is_binary(dtype: Any) -> bool:
    """Tell whether a column of a data frame may hold zeros and ones, by its type."""
    return getattr(_plain(dtype), "kind", "O") in NUMBERS


def _plain(dtype: Any) -> Any:
    """Return the type of the numbers in a column, without pandas' way to hold them."""
    return getattr(dtype, "numpy_dtype", getattr(dtype, "subtype", dtype))


def _checked_names(names: Iterable[Any]) -> tuple[str, ...]:
    if isinstance(names, str):
        raise InputError(f"label_names must be a list of names, got the text {names!r}")
    known = []
    for i, name in enumerate(names):
        try:
            known.append(str(clean_label(name)))
        except RowError as problem:
            raise InputError(f"label_names[{i}]: {problem}") from problem
    if len(set(known)) < len(known):
        twice = next(name for i, name in enumerate(known) if name in known[:i])
        raise InputError(f"two columns are called {twice!r}; labels must differ")
    return tuple(known)


def label_columns(frame: Any, fields: Fields, labels: str | Sequence[str]) -> list[str] | None:
    """Return the columns of a data frame that are labels; None where labels share a column.

    Parameters
    ----------
    frame
        The frame.
    fields
        Its other columns.
    labels
        The columns, or the field of the labels. If there is no such field, all columns but text
        and id are labels, where they hold nothing but zeros and ones.
    """
    if not isinstance(labels, str):
        if unknown := [name for name in labels if name not in frame.columns]:
            raise InputError(f"the data frame has no column {unknown[0]!r} for a label")
        if not labels:
            raise InputError("labels=[] names no column: give the columns of the labels")
        return list(labels)
    if labels in frame.columns:
        return None
    own = fields.names()
    places = [i for i, name in enumerate(frame.columns) if name not in own]  # names may repeat
    columns = (frame.iloc[:, i] for i in places)
    if not places or not all(is_binary(each.dtype) and each.isin((0, 1)).all() for each in columns):
        return None
    return [frame.columns[i] for i in places]
