"""The files of the extreme classification repository.

See http://manikvarma.org/downloads/XC/XMLRepository.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
from scipy.sparse import csr_array, load_npz

from labelgrove.core.errors import BadRowError, InputError
from labelgrove.core.files import check_file, lines
from labelgrove.core.types import Document
from labelgrove.corpus.base import Reader
from labelgrove.corpus.rows import RowError, clean_text, decoded, shown

_HEADER = re.compile(r"\s*(\d+)[ \t]+(\d+)[ \t]+(\d+)\s*", re.ASCII)
_LABELS = re.compile(r"\d+(,\d+)*", re.ASCII)
_FEATURES = re.compile(r"(\d+:[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?([ \t]+|$))*", re.ASCII)
PARTS = (("trn", "train"), ("tst", "test"), ("val", "valid", "dev"))


def is_header(line: str) -> bool:
    """Tell whether a line holds three numbers: documents, features, labels.

    Examples
    --------
    >>> is_header("15449 186104 3956")
    True
    """
    return _HEADER.fullmatch(line) is not None


class FeatureLines(Reader):
    r"""Documents of a file with the line ``n D L``, then ``label,label feature:value ...`` a line.

    The text of a document is its features as they stand in the file; a line without labels
    begins with a space. Labels are numbers below L, features numbers below D.

    Parameters
    ----------
    path
        The file, also compressed.
    on_bad
        ``"stop"`` or ``"skip"``.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "train.txt")
    ...     _ = path.write_text("1 10 3\n0,2 4:0.5 9:1\n")
    ...     list(FeatureLines(path))
    [Document(text='4:0.5 9:1', labels=('0', '2'), id=None)]
    """

    featurizer = "given"

    def __init__(self, path: Path, on_bad: str = "stop") -> None:
        super().__init__(str(path), on_bad)
        check_file(path)
        self._path = path

    def _rows(self) -> Iterator[Document | BadRowError]:
        found, size = 0, (0, 0, 0)
        for number, line in enumerate(lines(self._path), 1):
            if number == 1:
                size = self._header(line)
                continue
            if found >= size[0] and line.isspace():
                continue  # blank lines at the end
            found += 1
            try:
                yield _featured(decoded(line), *size[1:])
            except RowError as problem:
                yield BadRowError(str(problem), self.name, number)
        if found != size[0]:
            raise BadRowError(
                f"the file has {found:,} documents, but its header says {size[0]:,}: "
                "it was cut short, or the header is wrong",
                self.name,
                found + 1,
            )

    def _header(self, line: bytes) -> tuple[int, int, int]:
        text = line.decode("utf-8", "replace").strip()
        found = _HEADER.fullmatch(text)
        if not found:
            raise BadRowError(
                "the first line must hold the numbers of documents, features and labels, "
                f"got {shown(text)}",
                self.name,
                1,
            )
        n, features, labels = map(int, found.groups())
        return n, features, labels


def _featured(line: str, n_features: int, n_labels: int) -> Document:
    line = line.rstrip("\r\n")
    first, _, rest = line.partition(" ")
    if ":" in first:
        first, rest = "", line
    if first and not _LABELS.fullmatch(first):
        raise RowError(f"labels must be numbers separated by commas, got {shown(first)}")
    labels = tuple(dict.fromkeys(str(int(label)) for label in first.split(",") if label))
    for label in labels:
        if int(label) >= n_labels:
            raise RowError(f"label {label} is not below the {n_labels:,} labels of the header")
    text = rest.strip()
    if not _FEATURES.fullmatch(text):
        wrong = next(pair for pair in text.split() if not _FEATURES.fullmatch(pair))
        raise RowError(f"features must be number:value, got {shown(wrong)}")
    if text:
        highest = int(np.fromstring(text.replace(":", " "), sep=" ")[::2].max())
        if highest >= n_features:
            raise RowError(f"feature {highest} is not below the {n_features:,} of the header")
    return Document(text, labels)


class RawTexts(Reader):
    r"""Documents of a text file, one a line, with labels in a matrix beside it.

    The matrix is a scipy sparse file, documents x labels; a label is the number of its column.
    It is named, or found in the folder of the texts by its name: ``Y``, then the part of the
    data that the texts' name holds too (``X.trn.txt``, ``train_raw_texts.txt``, ``trn.raw.txt``
    go with ``Y.trn.npz``). A blank line is a document without text. Of the matrix the positions
    of labels are held in memory while documents are read.

    Parameters
    ----------
    path
        The texts, also compressed.
    matrix
        The matrix; looked for when None.
    labelled
        False if there need not be a matrix, and none is read.
    on_bad
        ``"stop"`` or ``"skip"``.

    Examples
    --------
    >>> import tempfile
    >>> from scipy.sparse import save_npz
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "X.trn.txt")
    ...     _ = path.write_text("Wind\n")
    ...     save_npz(Path(folder, "Y.trn.npz"), csr_array([[0, 1, 1]]))
    ...     list(RawTexts(path))
    [Document(text='Wind', labels=('1', '2'), id=None)]
    """

    def __init__(
        self,
        path: Path,
        matrix: Path | None = None,
        labelled: bool = True,
        on_bad: str = "stop",
    ) -> None:
        super().__init__(str(path), on_bad)
        check_file(path)
        self._path = path
        self._matrix = matrix
        if labelled and matrix is None:
            self._matrix = _find_matrix(path)

    def _rows(self) -> Iterator[Document | BadRowError]:
        Y = None if self._matrix is None else _read_matrix(self._matrix)
        number = 0
        for number, line in enumerate(lines(self._path), 1):
            labels: tuple[str, ...] = ()
            if Y is not None:
                if number > Y.shape[0]:
                    raise self._other_length(f"more than the {Y.shape[0]:,} rows", number)
                row = Y.indices[Y.indptr[number - 1] : Y.indptr[number]]
                labels = tuple(map(str, row.tolist()))
            try:
                yield Document(clean_text(decoded(line).rstrip("\r\n")), labels)
            except RowError as problem:
                yield BadRowError(str(problem), self.name, number)
        if Y is not None and number and number < Y.shape[0]:
            raise self._other_length(f"{number:,} lines instead of the {Y.shape[0]:,} rows", number)

    def _other_length(self, found: str, line: int) -> BadRowError:
        return BadRowError(f"the file has {found} of {self._matrix}", self.name, line)


def _read_matrix(path: Path) -> csr_array:
    check_file(path)
    try:
        with path.open("rb") as file:  # load_npz leaves a file that is no zip open
            Y = csr_array(load_npz(file))
    except (OSError, ValueError, KeyError, EOFError, BadZipFile) as error:
        raise InputError(f"cannot read {path} as a sparse matrix of scipy: {error}") from error
    Y.sum_duplicates()
    Y.eliminate_zeros()
    return Y


def _find_matrix(texts: Path) -> Path:
    found = [path for path in sorted(texts.parent.glob("*.npz")) if "y" in _words(path)]
    part = next((part for part in PARTS if _words(texts) & set(part)), None)
    if part is not None:
        found = [path for path in found if _words(path) & set(part)]
    wanted = f"Y.{part[0]}.npz" if part else "Y.npz"
    if not found:
        raise InputError(
            f"{texts} has no labels: there is no {wanted} beside it; put it there, or name "
            "the matrix of labels (matrix=..., --matrix), or the format if it is another"
        )
    if len(found) > 1:
        names = ", ".join(path.name for path in found)
        raise InputError(
            f"{texts} has several matrices of labels beside it ({names}); "
            "name one (matrix=..., --matrix)"
        )
    return found[0]


def _words(path: Path) -> set[str]:
    return set(re.split(r"[^a-z]+", path.name.lower()))
