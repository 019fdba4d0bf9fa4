"""A corpus that readers have corrected: what they say of a text counts, not what it had before."""

from __future__ import annotations

import glob
import json
import os
from collections import deque
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from labelgrove.core.errors import BadRowError, InputError
from labelgrove.core.files import lines, suffix
from labelgrove.core.random import text_fraction
from labelgrove.core.types import Document
from labelgrove.corpus.base import Corpus
from labelgrove.corpus.jsonl import JsonLines
from labelgrove.corpus.reading import read_corpus

TABLES = (".csv", ".tsv", ".xlsx")  # in which people fill in labels
NAMES = "names"  # field of a line of feedback: names of new labels, by id
WITH_FEEDBACK = " with feedback"  # what the name of a corrected corpus ends in
ASIDE = ".aside-"  # between the names of a file and of a process that could not write to it


@dataclass(frozen=True)
class Feedback:
    """What readers said about texts; `read_feedback` reads it.

    Parameters
    ----------
    documents
        By their texts, each with the labels of the last word on it.
    lines
        How often texts were judged.
    torn
        Files whose last line was cut off, and left out.
    names
        Names of labels that were new to the tagger, by id, where they were said.
    """

    documents: Mapping[str, Document]
    lines: int
    torn: tuple[str, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)


def read_feedback(
    source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
) -> Feedback:
    """Read the feedback that the service wrote, or a table in which labels were filled in.

    Feedback is JSON lines with text and labels. A line that was not written to its end, as a
    server that is killed leaves it, is left out; any other bad line is an error. Lines that the
    service wrote to a file aside (``NAME.aside-PROCESS``), since another process held the file,
    are read after it. Of a table (``.csv``, ``.tsv`` or ``.xlsx``) rows without labels are left
    out: nobody has judged them. What is read is held in memory.

    Parameters
    ----------
    source
        A file or several; of a text that was judged more than once the last line counts.
    """
    files = [source] if isinstance(source, str | os.PathLike) else source
    documents: dict[str, Document] = {}
    names: dict[str, str] = {}
    read, torn = 0, []
    for file in map(Path, files):
        table = suffix(file) in TABLES
        said, cut = _filled_in(file) if table else _told(file)
        names.update({} if table else _names(file))
        documents.update({document.text: document for document in said})
        read += len(said)
        torn += [str(file)] * cut
    return Feedback(documents, read, tuple(torn), names)


def _told(file: Path) -> tuple[list[Document], bool]:
    """Return what a service wrote, and whether the last line was cut off."""
    # those aside are read first: a service may move their lines into the file meanwhile
    aside = _read_aside(file)
    told = _FeedbackLines(file)
    return [*(told if not aside or _has_lines(file) else ()), *aside], told.torn


def _names(file: Path) -> dict[str, str]:
    """Return the names that lines of feedback, which were read before, give to new labels."""
    found: dict[str, str] = {}
    for each in (file, *_aside(file)):
        for line in lines(each) if _has_lines(each) else ():
            if NAMES.encode() not in line:
                continue
            with suppress(ValueError):  # the last line may be cut off
                names = json.loads(line).get(NAMES)
                if isinstance(names, dict):
                    found.update({str(label): str(name) for label, name in names.items() if name})
    return found


def _filled_in(file: Path) -> tuple[list[Document], bool]:
    """Return the rows of a table that have labels."""
    kept = [document for document in read_corpus(file) if document.labels]
    if not kept:
        raise InputError(f"no row of {file} has labels: fill in the column of the labels")
    return kept, False


def _has_lines(path: Path) -> bool:
    return path.exists() and path.stat().st_size > 0


def _aside(path: Path) -> list[Path]:
    return sorted(path.parent.glob(f"{glob.escape(path.name)}{ASIDE}*"))


def _read_aside(path: Path) -> list[Document]:
    """Return what processes wrote aside that could not write to a file of feedback."""
    found: list[Document] = []
    for each in _aside(path):
        try:
            found += _FeedbackLines(each)
        except InputError:
            if _has_lines(each):
                raise  # a bad line; else its lines were moved
    return found


class Corrected(Corpus):
    """The documents of a corpus with the labels that feedback gives them, then its other texts.

    Streamed like the corpus; the feedback is in memory.

    Parameters
    ----------
    corpus
        The documents; one whose text was judged has the labels of that judgement.
    feedback
        Judged documents by their texts, as of `Feedback`.
    without
        Texts that are left out, from either.

    Examples
    --------
    >>> corpus = Corpus.from_lists(["Wind", "Sun"], [["energy"], ["energy"]])
    >>> said = {"Sun": Document("Sun", ("star",)), "Coal": Document("Coal", ("energy",))}
    >>> [(document.text, document.labels) for document in Corrected(corpus, said)]
    [('Wind', ('energy',)), ('Sun', ('star',)), ('Coal', ('energy',))]
    """

    def __init__(
        self, corpus: Corpus, feedback: Mapping[str, Document], without: Container[str] = ()
    ) -> None:
        self.name = corpus.name + WITH_FEEDBACK
        self.featurizer = corpus.featurizer
        self.reading = corpus.reading
        self._corpus, self._feedback, self._without = corpus, feedback, without

    @property
    def skipped(self) -> int:
        """Number of bad rows that the last full reading left out."""
        return self._corpus.skipped

    def __iter__(self) -> Iterator[Document]:
        met: set[str] = set()
        for document in self._corpus:
            if document.text in self._without:
                continue
            judged = self._feedback.get(document.text)
            if judged is not None:
                met.add(document.text)
                document = document._replace(labels=judged.labels)
            yield document
        for text, document in self._feedback.items():
            if text not in met and text not in self._without:
                yield document


class Changes(NamedTuple):
    """What feedback changes in a corpus.

    Parameters
    ----------
    documents
        Number of documents of the corpus.
    corrected, confirmed
        How many of them get other labels, and how many were judged to be right.
    known
        The judged texts that the corpus has.
    """

    documents: int
    corrected: int
    confirmed: int
    known: frozenset[str]


def changes(
    documents: Iterable[Document],
    feedback: Mapping[str, Document],
    match: Callable[[Sequence[str]], Sequence[str]] = tuple,
) -> Changes:
    """Tell what feedback changes in documents, which are read once.

    Parameters
    ----------
    documents
        The documents.
    feedback
        Judged documents by their texts.
    match
        Returns the ids of a document's labels, if some of these may be names.

    Examples
    --------
    >>> said = {"Sun": Document("Sun", ("star",)), "Coal": Document("Coal", ("energy",))}
    >>> changes([Document("Sun", ("energy",))], said)
    Changes(documents=1, corrected=1, confirmed=0, known=frozenset({'Sun'}))
    """
    n = corrected = confirmed = 0
    known = set()
    for document in documents:
        n += 1
        judged = feedback.get(document.text)
        if judged is None:
            continue
        known.add(document.text)
        same = set(match(judged.labels)) == set(match(document.labels))
        confirmed += same
        corrected += not same
    return Changes(n, corrected, confirmed, frozenset(known))


def held_out(texts: Iterable[str], share: float) -> frozenset[str]:
    """Return the texts to judge by: a share, by a hash, so that a text is always on its side.

    That hash is not the one by which a tagger holds documents out to calibrate on; else it would
    calibrate on none of the texts that are left, or on nothing but these.
    """
    return frozenset(text for text in texts if text_fraction(f"feedback\n{text}") < share)


class _FeedbackLines(JsonLines):
    """JSON lines of which the last may be torn: then it is left out, and ``torn`` is true."""

    torn = False

    def __init__(self, path: Path) -> None:
        if not path.exists():
            raise InputError(
                f"there is no feedback in {path}: 'labelgrove serve' writes it as its users judge "
                "labels; another file is named by --feedback"
            )
        super().__init__(path)

    def _rows(self) -> Iterator[Document | BadRowError]:
        self.torn, last = False, None
        for row in super()._rows():
            if last is not None:
                yield last
            last = row
        if isinstance(last, BadRowError) and not deque(lines(self._path), 1)[0].endswith(b"\n"):
            self.torn = True
        elif last is not None:
            yield last
