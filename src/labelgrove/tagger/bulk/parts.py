"""One input tagged into one part: what a process does, on this machine or on another."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labelgrove.core.errors import BadRowError, EmptyCorpusError, InputError
from labelgrove.core.remote_files import local_copy
from labelgrove.core.result_folders import open_result_folder, told
from labelgrove.core.types import Document
from labelgrove.corpus import Corpus, read_like
from labelgrove.corpus.base import LayoutError
from labelgrove.tagger.bulk.folder import PartResult, TaggedFolder
from labelgrove.tagger.bulk.inputs import InputFile
from labelgrove.tagger.bulk.writers import writer
from labelgrove.tagger.tagger import Tagger

SECONDS = 1.0  # between two reports of how far a part is

Report = Callable[[int], None]  # of the documents of a part that are tagged


@dataclass(frozen=True)
class PartTask:
    """An input, and how it is tagged; plain values only, so that it can be sent.

    Parameters
    ----------
    number
        Of the input, counted from 0; the part is named by it.
    source
        The input.
    out
        The folder of the results, by path or URL.
    run
        Of which run the part is.
    form
        How tags are written: a name of `labelgrove.tagger.bulk.writers.WRITERS`.
    k, threshold, hierarchy
        As for `Tagger.tag`.
    reading
        Keyword arguments of `read_corpus` that win over how the tagger's own files were read.
    """

    number: int
    source: InputFile
    out: str
    run: str
    form: str
    k: int
    threshold: float | str | None
    reading: Mapping[str, Any]
    hierarchy: str | None = None


def tag_part(tagger: Tagger, task: PartTask, report: Report | None = None) -> PartResult:
    """Tag an input into its part, and note that in the folder.

    It may run again, or twice at the same time: the part appears whole, and is the same.

    Parameters
    ----------
    tagger
        The tagger.
    task
        What to tag.
    report
        Called now and then with the number of documents that are tagged.

    Returns
    -------
    PartResult
        Its ``problem`` says why an input could not be read. What cannot be written is raised.
    """
    try:
        with local_copy(task.source.name) as path:
            try:
                return _tagged(tagger, task, path, report)
            except InputError as error:
                # the copy of a remote file has a name that says nothing
                problem = str(error).replace(str(path), task.source.name)
                left_out = task.reading.get("on_bad") == "skip" and _is_damage(error, path)
                return PartResult(task.number, task.source.mark, problem=problem, left_out=left_out)
    except InputError as error:
        return PartResult(task.number, task.source.mark, problem=str(error))


def _is_damage(error: InputError, path: Path) -> bool:
    """Tell whether a file itself is bad, and not its drive or what it is said to hold."""
    if isinstance(error, LayoutError) or not path.exists():
        return False
    return isinstance(error, BadRowError) or not isinstance(error.__cause__, OSError)


def _tagged(tagger: Tagger, task: PartTask, path: Path, report: Report | None) -> PartResult:
    """Write the part, then the note that it is finished."""
    out = TaggedFolder(open_result_folder(task.out), task.form)
    name = out.part(task.number)
    with out.folder.temporary(name) as temporary:
        with told(task.out):
            documents, skipped = _write(tagger, task, path, temporary, report)
            size = temporary.stat().st_size
        out.folder.put(temporary, name)
    result = PartResult(task.number, task.source.mark, documents, skipped, size)
    out.note(task.run, result)
    return result


def _write(
    tagger: Tagger, task: PartTask, path: Path, target: Path, report: Report | None
) -> tuple[int, int]:
    """Write the tags of a file to another; return how many documents, and rows skipped.

    Files without any document are common where large ones are divided or filtered.
    """
    with _read(path):
        corpus = read_like(path, tagger.learned_.reading, task.reading, labelled=False)
    rows = _documents(corpus, path)
    documents, reported = 0, time.monotonic()
    with writer(target, task.form) as tagged, suppress(EmptyCorpusError):
        how: dict[str, Any] = {"threshold": task.threshold, "hierarchy": task.hierarchy}
        for document, tags in tagger.stream(rows, task.k, **how):
            tagged.write(document.id, tags)
            documents += 1
            if report is not None and time.monotonic() - reported > SECONDS:
                report(documents)
                reported = time.monotonic()
    return documents, corpus.skipped


def _documents(corpus: Corpus, path: Path) -> Iterator[Document]:
    with _read(path):  # errors of whoever takes the documents do not come here
        yield from numbered(corpus)


@contextmanager
def _read(path: Path) -> Iterator[None]:
    """Tell errors of reading from those of writing, which end a run."""
    try:
        yield
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error


def numbered(corpus: Corpus) -> Iterator[Document]:
    """Give each document without an id the number of its row; skipped rows count too."""
    for document in corpus:
        yield document if document.id else document._replace(id=str(corpus.position))
