"""Documents and a vocabulary, as Annif has them, become JSON lines and ``labels.tsv``."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from labelgrove.core.durability import make_folders
from labelgrove.core.errors import InputError
from labelgrove.core.files import COMPRESSIONS
from labelgrove.core.progress import Progress, Silent
from labelgrove.core.storage import writing_file
from labelgrove.corpus.annif_documents import read_annif_corpus
from labelgrove.labels import Vocabulary
from labelgrove.labels.annif import SubjectFilter
from labelgrove.labels.marc import is_marc, marc_labels
from labelgrove.labels.names import NameIndex
from labelgrove.labels.vocabulary import COLUMNS, bare

NAMES = "labels.tsv"


@dataclass
class Conversion:
    """What was written, and what became of labels.

    Parameters
    ----------
    documents
        Documents of each new file, by path.
    skipped
        Bad rows that were left out.
    notes
        What was found out about the sources, each with its name.
    labels
        Concepts in ``labels.tsv``; 0 without a vocabulary.
    left_out
        How often a label was left out by the lists.
    unlisted
        URIs of the lists that the vocabulary, or without one every document, does not have.
    without
        Documents that have no label.
    headings
        How many different MARC headings there were.
    empty
        Headings that name nothing, and were left out.
    unmatched
        Parts of such headings that no concept is named like, and were left out.
    unknown
        Different labels that the vocabulary does not have; they are kept.
    """

    documents: dict[str, int] = field(default_factory=dict)
    skipped: int = 0
    notes: list[str] = field(default_factory=list)
    labels: int = 0
    left_out: int = 0
    unlisted: list[str] = field(default_factory=list)
    without: int = 0
    headings: int = 0
    empty: list[str] = field(default_factory=list)
    unmatched: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)


def convert_documents(
    sources: Sequence[Path],
    out: Path,
    *,
    vocabulary: Vocabulary | None = None,
    keeps: SubjectFilter | None = None,
    reading: Mapping[str, Any] | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> Conversion:
    """Write documents as JSON lines and a vocabulary as a table: all files, or none.

    Parameters
    ----------
    sources
        Files and folders of documents; each becomes a file of its name.
    out
        The folder for the files.
    vocabulary
        The labels' names; labels of the documents may be names in place of ids.
    keeps
        Tells which labels are kept; all when None.
    reading
        Arguments of `read_corpus` for files that have no form of Annif's; ``on_bad`` is for all.
    overwrite
        Replace files of an earlier conversion.
    progress
        Where progress is shown; None for nowhere.
    """
    keeps = keeps or SubjectFilter()
    shown, done = progress or Silent(), Conversion()
    targets = _targets(sources, out, vocabulary is not None, overwrite)
    mean = _Meaning(vocabulary, done)
    met: set[str] = set()
    make_folders(out)
    with ExitStack() as stack:
        for source, target in zip(sources, targets, strict=False):
            corpus = read_annif_corpus(source, **(reading or {}))
            done.notes += [f"{source}: {note}" for note in corpus.notes]
            temporary = stack.enter_context(writing_file(target))
            number = 0
            with temporary.open("x", encoding="utf-8", newline="\n") as file:
                for document in shown.track(corpus, f"converting {source}", unit="documents"):
                    every = mean(document.labels)
                    labels = [label for label in every if keeps(label)]
                    if vocabulary is None:
                        met.update(keeps.listed.intersection(every))
                    done.left_out += len(every) - len(labels)
                    done.without += not labels
                    row = {"text": document.text, "labels": labels}
                    if document.id is not None:
                        row["id"] = document.id
                    file.write(json.dumps(row, ensure_ascii=False) + "\n")
                    number += 1
            done.documents[str(target)] = number
            done.skipped += corpus.skipped
        if vocabulary is not None:
            kept = keeps.vocabulary(vocabulary.in_use())
            _write_names(stack.enter_context(writing_file(out / NAMES)), kept)
            done.labels = len(kept)
            met = {*vocabulary.concepts, *vocabulary.retired}
    done.unlisted = sorted(keeps.listed - met)
    return done


def _targets(sources: Sequence[Path], out: Path, with_names: bool, overwrite: bool) -> list[Path]:
    targets: list[Path] = []
    for source in sources:
        name = source.resolve().name
        while not source.is_dir() and Path(name).suffix in COMPRESSIONS:
            name = Path(name).stem
        target = out / f"{name if source.is_dir() else Path(name).stem}.jsonl"
        if target in targets:
            raise InputError(f"{source} and another source would both become {target}: rename one")
        if target.resolve() == source.resolve():
            raise InputError(f"{source} would be written over: name another folder (--out)")
        targets.append(target)
    for target in [*targets, *([out / NAMES] if with_names else [])]:
        if target.exists() and not overwrite:
            raise InputError(f"{target} is there already; replace it with --overwrite")
    return targets


class _Meaning:
    """Returns the ids that labels of a document mean, MARC headings among them."""

    def __init__(self, vocabulary: Vocabulary | None, done: Conversion) -> None:
        concepts = {} if vocabulary is None else vocabulary.concepts
        self._concepts, self._done = concepts, done
        self._ids = list(concepts)
        self._index = NameIndex(
            [each.name for each in concepts.values()],
            [each.alternatives for each in concepts.values()],
            self._ids,
        )
        self._known: dict[str, list[str]] = {}

    def __call__(self, labels: Sequence[str]) -> list[str]:
        found: dict[str, None] = {}
        for label in labels:
            if label not in self._known:
                self._known[label] = self._look(label)
            found.update(dict.fromkeys(self._known[label]))
        return [*found]

    def _look(self, label: str) -> list[str]:
        label = bare(label) if "://" in label else label
        if label in self._concepts:
            return [label]
        if is_marc(label):
            meant, unmatched = marc_labels(label, self._named, self._is_id)
            self._done.headings += 1
            self._done.unmatched += unmatched
            self._done.empty += [] if meant else [label]
        else:
            ids = self._named(label)
            meant = [*ids] if len(ids) == 1 else [label]
        if self._concepts:
            self._done.unknown += [each for each in meant if each not in self._concepts]
        return meant

    def _named(self, name: str) -> Sequence[str]:
        return [self._ids[i] for i in self._index.lookup(name)]

    def _is_id(self, text: str) -> bool:
        return text in self._concepts or (not self._concepts and "://" in text)


def _write_names(target: Path, vocabulary: Vocabulary) -> None:
    """Write a vocabulary as the table that ``--labels`` reads."""
    line: Callable[..., str] = "\t".join
    with target.open("x", encoding="utf-8", newline="\n") as file:
        file.write(line(COLUMNS) + "\n")
        for uri, concept in vocabulary.concepts.items():
            cells = (
                uri,
                concept.name,
                "|".join(concept.parents),
                concept.description,
                "|".join(concept.alternatives),
            )
            file.write(line(" ".join(cell.split()) for cell in cells) + "\n")
