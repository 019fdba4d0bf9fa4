"""The files of the extreme classification repository.

See http://manikvarma.org/downloads/XC/XMLRepository.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
from scipy.sparse import csr_array, load_npz

from labelgrove.core.errors import BadRowError, InputError
from labelgrove.core.files import check_file, lines
from labelgrove.core.types import Document
from labelgrove.corpus.base import CorpusReader
from labelgrove.corpus.rows import RowError, clean_text, decoded, shown, whole_number

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


class FeatureLines(CorpusReader):
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
        n_rows, size = 0, (0, 0, 0)
        for number, line in enumerate(lines(self._path), 1):
            if number == 1:
                size = self._header(line)
                continue
            if n_rows >= size[0] and line.isspace():
                continue  # blank lines at the end
            n_rows += 1
            try:
                yield _within(decoded(line), *size[1:])
            except RowError as problem:
                yield BadRowError(str(problem), self.name, number)
        if n_rows != size[0]:
            raise BadRowError(
                f"the file has {n_rows:,} documents, but its header says {size[0]:,}: "
                "it was cut short, or the header is wrong",
                self.name,
                n_rows + 1,
            )

    def _header(self, line: bytes) -> tuple[int, int, int]:
        text = line.decode("utf-8", "replace").strip()
        match = _HEADER.fullmatch(text)
        if not match:
            raise BadRowError(
                "the first line must hold the numbers of documents, features and labels, "
                f"got {shown(text)}",
                self.name,
                1,
            )
        try:
            n, features, labels = map(whole_number, match.groups())
        except RowError as problem:
            raise BadRowError(str(problem), self.name, 1) from problem
        return n, features, labels


def featured(labels: str, features: str) -> Document:
    """Return the document of ``label,label`` and ``feature:value ...``, or raise a `RowError`."""
    if labels and not _LABELS.fullmatch(labels):
        raise RowError(f"labels must be numbers separated by commas, got {shown(labels)}")
    text = features.strip()
    if not _FEATURES.fullmatch(text):
        wrong = next(pair for pair in text.split() if not _FEATURES.fullmatch(pair))
        raise RowError(f"features must be number:value, got {shown(wrong)}")
    numbers = [str(whole_number(label)) for label in labels.split(",") if label]
    return Document(text, tuple(dict.fromkeys(numbers)))


def _within(line: str, n_features: int, n_labels: int) -> Document:
    line = line.rstrip("\r\n")
    first, _, rest = line.partition(" ")
    if ":" in first:
        first, rest = "", line
    document = featured(first, rest)
    for label in document.labels:
        if int(label) >= n_labels:
            raise RowError(f"label {label} is not below the {n_labels:,} labels of the header")
    if document.text:
        highest = np.fromstring(document.text.replace(":", " "), sep=" ")[::2].max()
        if highest >= n_features:
            raise RowError(f"feature {highest:.0f} is not below the {n_features:,} of the header")
    return document


class RawTexts(CorpusReader):
    r"""Documents of a text file, one a line, with labels in a file beside it.

    Labels are a scipy sparse matrix, documents x labels, where a label is the number of its
    column; or another text file with the labels of a document on each line, separated by spaces.
    The file is named, or found in the folder of the texts by its name: ``Y`` or ``labels``, and
    the part of the data that the texts' name holds too (``X.trn.txt``, ``train_raw_texts.txt``,
    ``trn.raw.txt`` go with ``Y.trn.npz`` and ``train_labels.txt``). A blank line is a document
    without text. Of a matrix the positions of labels are held in memory while documents are read.

    Parameters
    ----------
    path
        The texts, also compressed.
    matrix
        The matrix or the lines of labels; looked for when None.
    labelled
        False if there need not be labels, and none are read.
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
            self._matrix = _find_labels(path)

    def _rows(self) -> Iterator[Document | BadRowError]:
        rows = None if self._matrix is None else _label_rows(self._matrix)
        number = 0
        for number, line in enumerate(lines(self._path), 1):
            labels = () if rows is None else next(rows, None)
            if labels is None:
                raise self._other_length("more", number)
            try:
                yield Document(clean_text(decoded(line).rstrip("\r\n")), labels)
            except RowError as problem:
                yield BadRowError(str(problem), self.name, number)
        if rows is not None and number and next(rows, None) is not None:
            raise self._other_length("fewer", number)

    def _other_length(self, length: str, line: int) -> BadRowError:
        return BadRowError(f"the file has {length} lines than {self._matrix}", self.name, line)


def _label_rows(path: Path) -> Iterator[tuple[str, ...]]:
    """Yield the labels of each document."""
    if path.suffix == ".npz":
        Y = _read_matrix(path)
        for start, end in pairwise(Y.indptr.tolist()):
            yield tuple(map(str, Y.indices[start:end].tolist()))
        return
    for number, line in enumerate(lines(path), 1):
        try:
            yield tuple(dict.fromkeys(decoded(line).split()))
        except RowError as problem:
            raise BadRowError(str(problem), str(path), number) from problem


def _read_matrix(path: Path) -> csr_array:
    check_file(path)
    try:
        with path.open("rb") as file:  # load_npz leaves a file that is no zip open
            Y = load_npz(file)
            if hasattr(Y, "check_format"):
                Y.check_format(full_check=True)  # compiled code would follow bad indices
            Y = csr_array(Y)
    except (OSError, ValueError, KeyError, EOFError, BadZipFile) as error:
        raise InputError(f"cannot read {path} as a sparse matrix of scipy: {error}") from error
    Y.sum_duplicates()
    Y.eliminate_zeros()
    return Y


def _find_labels(texts: Path) -> Path:
    candidates = [path for path in sorted(texts.parent.glob("*.npz")) if "y" in _words(path)]
    beside = [path for path in sorted(texts.parent.glob("*.txt*")) if path != texts]
    candidates += [path for path in beside if _words(path) & {"labels", "label"}]
    part = next((part for part in PARTS if _words(texts) & set(part)), None)
    if part is not None:
        candidates = [path for path in candidates if _words(path) & set(part)]
    wanted = f"Y.{part[0]}.npz" if part else "Y.npz"
    wanted_lines = f"{part[1]}_labels.txt" if part else "labels.txt"
    if not candidates:
        raise InputError(
            f"{texts} has no labels: there is no {wanted} or {wanted_lines} beside it; put it "
            "there, or name the labels (matrix=..., --matrix), or the format if it is another"
        )
    if len(candidates) > 1:
        names = ", ".join(path.name for path in candidates)
        raise InputError(
            f"{texts} has several files of labels beside it ({names}); "
            "name one (matrix=..., --matrix)"
        )
    return candidates[0]


def _words(path: Path) -> set[str]:
    return set(re.split(r"[^a-z]+", path.name.lower()))
