"""The corpora of Annif: short texts in a TSV file, or a folder of text files.

See https://github.com/NatLibFi/Annif/wiki/Document-corpus-formats
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from labelgrove.core.errors import BadRowError, InputError
from labelgrove.core.files import LINE, check_file, content, lines
from labelgrove.core.types import Document
from labelgrove.corpus.base import CorpusReader
from labelgrove.corpus.rows import RowError, clean_labels, clean_text, decoded

LABELS = (".tsv", ".key")  # files of labels, the first wins
SHOWN = 3  # files in a note
_URIS = re.compile(r"<[^<>\s]+>(\s+<[^<>\s]+>)*\s*")


def is_annif_line(line: str) -> bool:
    r"""Tell whether a line is a text, a tab and URIs in angle brackets.

    Examples
    --------
    >>> is_annif_line("Solar panels\t<http://example.org/energy> <http://example.org/sun>")
    True
    >>> is_annif_line("text\tlabels")
    False
    """
    fields = line.split("\t")
    return len(fields) > 1 and _URIS.fullmatch(fields[1]) is not None


class AnnifTable(CorpusReader):
    r"""Documents of a TSV file without a header: a text, a tab, URIs separated by spaces.

    Labels are the URIs without their angle brackets. There is no quoting; blank lines are passed
    over, further fields ignored.

    Parameters
    ----------
    path
        The file, also compressed.
    labelled
        False where a line may be a text alone.
    on_bad
        ``"stop"`` or ``"skip"``.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "docs.tsv")
    ...     _ = path.write_text("Wind\t<http://example.org/energy>\n")
    ...     list(AnnifTable(path))
    [Document(text='Wind', labels=('http://example.org/energy',), id=None)]
    """

    def __init__(self, path: Path, labelled: bool = True, on_bad: str = "stop") -> None:
        super().__init__(str(path), on_bad)
        check_file(path)
        self._path = path
        self._labelled = labelled

    def _rows(self) -> Iterator[Document | BadRowError]:
        for number, line in enumerate(lines(self._path), 1):
            if line.isspace():
                continue
            try:
                yield self._document(decoded(line).rstrip("\r\n"))
            except RowError as problem:
                yield BadRowError(str(problem), self.name, number)

    def _document(self, line: str) -> Document:
        text, *rest = line.split("\t")
        if not rest and self._labelled:
            raise RowError("there is no tab between the text and its URIs; end a text with a tab")
        uris = rest[0].split() if rest else []
        return Document(clean_text(text), clean_labels([_bare(uri) for uri in uris]))


class AnnifFolder(CorpusReader):
    """Documents of a folder: ``a.txt`` with its labels in ``a.tsv`` or ``a.key``.

    A ``.tsv`` file holds a URI in angle brackets, a tab and a name on each line; the label is the
    URI. A ``.key`` file holds a label on each line; it is read where there is no ``.tsv``. The
    id of a document is its file's name without ``.txt``; documents come in the order of names.

    Parameters
    ----------
    path
        The folder.
    labelled
        False where texts may be without a file of labels.
    on_bad
        ``"stop"`` or ``"skip"``.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a.txt").write_text("Wind")
    ...     _ = Path(folder, "a.key").write_text("energy")
    ...     list(AnnifFolder(Path(folder)))
    [Document(text='Wind', labels=('energy',), id='a')]
    """

    def __init__(self, path: Path, labelled: bool = True, on_bad: str = "stop") -> None:
        super().__init__(str(path), on_bad)
        if not path.is_dir():
            raise InputError(f"there is no folder {path}")
        self._path = path
        self._labelled = labelled
        alone = _without_text(path)
        if alone:
            shown = ", ".join(alone[:SHOWN]) + (", ..." if len(alone) > SHOWN else "")
            many = f"{len(alone):,} files of labels have no text beside them, and are"
            one = "1 file of labels has no text beside it, and is"
            self.notes += (f"{many if len(alone) > 1 else one} passed over: {shown}",)

    def _rows(self) -> Iterator[Document | BadRowError]:
        for text in sorted(self._path.glob("*.txt")):
            try:
                _check_regular(text)
                written = content(text, LINE).decode()
                labels = self._labels(text)
            except UnicodeDecodeError as error:
                place = error.object.count(b"\n", 0, error.start) + 1
                problem = "the text is not UTF-8; convert it to UTF-8"
                yield BadRowError(problem, str(text), place)
            except BadRowError as error:
                yield error
            else:
                yield Document(clean_text(written), labels, text.stem)

    def _labels(self, text: Path) -> tuple[str, ...]:
        for suffix in LABELS:
            path = text.with_suffix(suffix)
            if path.exists():
                _check_regular(path)
                return _read_labels(path)
        if self._labelled:
            raise BadRowError(
                f"there is neither {text.stem}.tsv nor {text.stem}.key beside it; "
                "make an empty one for a document without labels",
                str(text),
            )
        return ()


def _without_text(folder: Path) -> list[str]:
    """Return the files of labels in a folder whose text is not there."""
    texts = {path.stem for path in folder.glob("*.txt")}
    return sorted(
        path.name
        for suffix in LABELS
        for path in folder.glob(f"*{suffix}")
        if path.stem not in texts and not path.with_suffix(".json").exists()
    )


def _check_regular(path: Path) -> None:
    """Raise for what may never end: a pipe, or a link to a device."""
    if not path.is_file():
        raise BadRowError("this is not a regular file; remove it, or put a file there", str(path))


def _read_labels(path: Path) -> tuple[str, ...]:
    labels: list[str] = []
    for number, line in enumerate(lines(path), 1):
        try:
            label = decoded(line).strip("\r\n")
            if path.suffix == ".tsv":
                label = _bare(label.partition("\t")[0].strip())
            if label.strip():
                labels.extend(clean_labels([label.strip()]))
        except RowError as problem:
            raise BadRowError(str(problem), str(path), number) from problem
    return tuple(dict.fromkeys(labels))


def _bare(uri: str) -> str:
    return uri[1:-1] if uri.startswith("<") and uri.endswith(">") else uri
