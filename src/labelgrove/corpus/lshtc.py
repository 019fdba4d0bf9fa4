"""The files of the challenges in large-scale hierarchical text classification (LSHTC).

Features come as ``label, label feature:value ...`` a line, which the challenges describe
(https://www.kaggle.com/c/lshtc/data). The texts of "Wikipedia medium" were given out as
``wikipediaMediumOriginalLSHTCv3-train.txt`` and ``-test.txt``. No description of these is known to
us: what is read here is what public code that reads them relies on, and nothing more.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from labelgrove.core.errors import BadRowError
from labelgrove.core.files import check_file, lines
from labelgrove.core.types import Document
from labelgrove.corpus.base import CorpusReader
from labelgrove.corpus.repository import featured
from labelgrove.corpus.rows import RowError, clean_id, clean_text, decoded, shown, whole_number

NOT_TOLD = ("0",)  # what the challenges wrote for the labels of test documents
RECORD = 5  # lines


class LshtcFeatures(CorpusReader):
    r"""Documents of a file without a header: ``label, label feature:value ...`` a line.

    The text of a document is its features as they stand in the file. The label 0 alone stands for
    labels that are not told, as in the challenges' test files, and becomes no label. Blank lines
    are passed over.

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
    ...     _ = path.write_text("545, 32 8:1 18:2\n0 8:3\n")
    ...     list(LshtcFeatures(path))  # doctest: +NORMALIZE_WHITESPACE
    [Document(text='8:1 18:2', labels=('545', '32'), id=None),
     Document(text='8:3', labels=(), id=None)]
    """

    featurizer = "given"

    def __init__(self, path: Path, on_bad: str = "stop") -> None:
        super().__init__(str(path), on_bad)
        check_file(path)
        self._path = path

    def _rows(self) -> Iterator[Document | BadRowError]:
        for number, line in enumerate(lines(self._path), 1):
            if line.isspace():
                continue
            try:
                yield _document(decoded(line).strip())
            except RowError as problem:
                yield BadRowError(str(problem), self.name, number)


def _document(line: str) -> Document:
    words = line.split()
    n_labels = next((at for at, word in enumerate(words) if ":" in word), len(words))
    labels = ",".join(each.strip() for each in " ".join(words[:n_labels]).split(","))
    document = featured(labels, " ".join(words[n_labels:]))
    return document._replace(labels=()) if document.labels == NOT_TOLD else document


class LshtcTexts(CorpusReader):
    r"""Documents of a file of texts, five lines each.

    The second line holds the document's id between tags, the third its labels, which are numbers
    separated by spaces, between tags; the fourth is the text, and tags around it are taken off.
    The names of the tags and the first and fifth line are not looked at. The label 0 alone stands
    for labels that are not told, and becomes no label.

    Parameters
    ----------
    path
        The file, also compressed.
    labelled
        False if labels are not to be read.
    on_bad
        ``"stop"`` or ``"skip"``.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "train.txt")
    ...     _ = path.write_text("<a>\n<b>1</b>\n<c>545 32</c>\nWind\n</a>\n")
    ...     list(LshtcTexts(path))
    [Document(text='Wind', labels=('545', '32'), id='1')]
    """

    def __init__(self, path: Path, labelled: bool = True, on_bad: str = "stop") -> None:
        super().__init__(str(path), on_bad)
        check_file(path)
        self._path = path
        self._labelled = labelled

    def _rows(self) -> Iterator[Document | BadRowError]:
        stream, number = lines(self._path), 1
        while record := list(islice(stream, RECORD)):
            if len(record) < RECORD:
                if all(line.isspace() for line in record):
                    return  # blank lines at the end
                raise BadRowError(
                    f"the last document has {len(record)} lines instead of {RECORD}: the file was "
                    "cut short, or is of another form",
                    self.name,
                    number,
                )
            try:
                yield self._document(*map(decoded, record[1:4]))
            except RowError as problem:
                yield BadRowError(str(problem), self.name, number)
            number += RECORD

    def _document(self, own: str, labels: str, text: str) -> Document:
        ids = _between_tags(labels, "third").split() if self._labelled else []
        wrong = next((label for label in ids if not (label.isascii() and label.isdigit())), None)
        if wrong is not None:
            raise RowError(f"labels must be numbers separated by spaces, got {shown(wrong)}")
        numbers = tuple(dict.fromkeys(str(whole_number(label)) for label in ids))
        text = text.strip()
        if text.startswith("<") and text.endswith(">"):
            text = _between_tags(text, "fourth")
        return Document(
            clean_text(text),
            () if numbers == NOT_TOLD else numbers,
            clean_id(_between_tags(own, "second")),
        )


def _between_tags(line: str, which: str) -> str:
    start, end = line.find(">") + 1, line.rfind("<")
    if not 0 < start <= end:
        raise RowError(
            f"the {which} of the document's {RECORD} lines must be text between two tags, "
            f"got {shown(line.strip())}; if the file is of another form, write texts and labels "
            "to two files, a line for each document, and give the format raw"
        )
    return line[start:end].strip()
