"""A run over many inputs: what is missing is tagged, on this machine or by what is given."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from labelgrove._version import __version__
from labelgrove.core import remote_files
from labelgrove.core.manifest import parse_manifest
from labelgrove.core.progress import Progress, Silent, Task
from labelgrove.core.result_folders import open_result_folder
from labelgrove.tagger.bulk.folder import Identity, PartResult, TaggedFolder
from labelgrove.tagger.bulk.inputs import find_inputs
from labelgrove.tagger.bulk.parts import PartTask, Report, tag_part
from labelgrove.tagger.bulk.writers import check_form
from labelgrove.tagger.outside import told_outside
from labelgrove.tagger.tagger import Tagger
from labelgrove.tagger.tags import needed_depth
from labelgrove.tagger.thresholds import threshold_note


@dataclass(frozen=True)
class SavedTagger:
    """A tagger, and what other processes find it by.

    Parameters
    ----------
    tagger
        The tagger, loaded.
    folder
        Its absolute path.
    checksum
        Of its manifest, which has those of all its files.
    """

    tagger: Tagger
    folder: str
    checksum: str


@dataclass(frozen=True)
class Outcome:
    """What a run came to.

    Parameters
    ----------
    parts, inputs
        How many parts are finished, of how many inputs.
    documents, skipped
        Documents in all parts, and bad rows that were skipped.
    problems
        Inputs that could not be read, each with the reason.
    left_out
        Damaged inputs that were left out as ``on_bad="skip"`` asks, each with the reason.
    """

    parts: int
    inputs: int
    documents: int
    skipped: int
    problems: Mapping[str, str]
    left_out: Mapping[str, str] = field(default_factory=dict)


# makes ready when it is entered, and tags parts as its results are taken
TagParts: TypeAlias = Callable[
    [SavedTagger, Sequence[PartTask], Report, Progress],
    AbstractContextManager[Iterable[PartResult]],
]


@contextmanager
def one_by_one(
    saved: SavedTagger, tasks: Sequence[PartTask], report: Report, progress: Progress
) -> Iterator[Iterable[PartResult]]:
    """Tag parts in this process."""
    yield (tag_part(saved.tagger, task, report) for task in tasks)


def tag_files(
    folder: str | os.PathLike[str],
    inputs: Iterable[str],
    out: str | os.PathLike[str],
    *,
    k: int = 5,
    threshold: float | str | None = None,
    hierarchy: str | None = None,
    form: str = "jsonl",
    reading: Mapping[str, Any] | None = None,
    overwrite: bool = False,
    tag_parts: TagParts = one_by_one,
    threads: int | None = None,
    require_signature: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Outcome:
    """Tag files into a folder, a part for each; a run that was interrupted goes on.

    Parameters
    ----------
    folder
        A saved tagger.
    inputs
        Paths, URLs and patterns of files, as `read_corpus` reads them.
    out
        The folder of the parts, or its URL. One of another run is refused.
    k, threshold, hierarchy
        As for `Tagger.tag`.
    form
        ``"jsonl"``, ``"csv"`` or ``"parquet"``.
    reading
        Keyword arguments of `read_corpus`.
    overwrite
        Begin anew, and remove the parts of a run that is in the folder.
    tag_parts
        Tags the parts and gives results as they are ready; in this process by default. Nothing
        is written before it is ready.
    threads
        As for `Tagger.set_threads`.
    require_signature, progress
        As for `Tagger.load`.
    """
    check_form(form)
    shown = progress or Silent()
    saved = _load(folder, threads, require_signature, shown)
    needed_depth(saved.tagger.learned_, k, threshold, hierarchy)  # raises for an invalid one
    sources = find_inputs(inputs)
    if note := threshold_note(saved.tagger.learned_, threshold):
        shown.say(note)
    place = os.fspath(out).removeprefix("file://")
    place = place if remote_files.is_url(place) else os.path.abspath(place)  # noqa: PTH100 - keeps links
    settings = dict(reading or {})
    identity = Identity(
        __version__,
        saved.checksum,
        tuple(source.name for source in sources),
        form,
        k,
        threshold,
        {name: str(each) if isinstance(each, Path) else each for name, each in settings.items()},
        hierarchy,
    )
    results = TaggedFolder(open_result_folder(place), form)
    with results.folder.held():
        run, finished = results.look(identity, sources, overwrite=overwrite)
        tasks = [
            PartTask(number, source, place, run, form, k, threshold, settings, hierarchy)
            for number, source in enumerate(sources)
            if number not in finished
        ]
        if finished and tasks:
            shown.say(f"{len(finished):,} parts were finished before")
        display = _Display(shown)
        outside = told_outside(saved.tagger.learned_.model, shown) if tasks else nullcontext()
        tagging = tag_parts(saved, tasks, display.report, shown) if tasks else nullcontext(())
        with outside, tagging as tagged:
            results.begin(run, identity, finished)
            unread = display.collect(tagged, finished, len(sources))
        results.end(run, identity, finished)
    return Outcome(
        len(finished),
        len(sources),
        sum(result.documents for result in finished.values()),
        sum(result.skipped for result in finished.values()),
        {sources[each.number].name: each.problem for each in unread if not each.left_out},
        {sources[each.number].name: each.problem for each in unread if each.left_out},
    )


def _load(
    folder: str | os.PathLike[str],
    threads: int | None,
    require_signature: str | os.PathLike[str] | None,
    progress: Progress,
) -> SavedTagger:
    tagger = Tagger.load(folder, progress=progress, require_signature=require_signature)
    tagger.set_threads(threads)
    return SavedTagger(
        tagger, str(Path(folder).resolve()), parse_manifest(Path(folder))["checksum"]
    )


class _Display:
    """Shows how far a run is."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._task: Task | None = None  # there is none before the first part is tagged
        self._documents = 0
        self._began = time.monotonic()

    def report(self, unfinished: int) -> None:
        """Show the documents of parts that are not finished, beside those of finished ones."""
        if self._task is not None:
            self._task.advance(0, documents=self._told(unfinished))

    def collect(
        self, results: Iterable[PartResult], finished: dict[int, PartResult], total: int
    ) -> list[PartResult]:
        """Add results to those of finished parts, and return those that could not be read."""
        unread = []
        self._began = time.monotonic()
        with self._progress.task("tagging", total, "parts", len(finished)) as self._task:
            for result in results:
                if result.problem:
                    unread.append(result)
                else:
                    finished[result.number] = result
                    self._documents += result.documents
                self._task.advance(not result.problem, documents=self._told())
        return sorted(unread, key=lambda result: result.number)

    def _told(self, unfinished: int = 0) -> str:
        """Return how many documents were tagged, and how fast: parts may take hours."""
        documents = self._documents + unfinished
        speed = documents / max(time.monotonic() - self._began, 1e-9)
        return f"{documents:,} ({speed:,.0f}/s)"
