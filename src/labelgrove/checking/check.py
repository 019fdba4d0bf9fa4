"""`check`: one look at a file, or at a training and a test file, before anybody trains."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import vstack

from labelgrove.checking.about_files import (
    about_drift,
    about_leaks,
    about_other_language,
    about_unseen_labels,
)
from labelgrove.checking.about_labels import (
    about_companions,
    about_frequencies,
    about_labels,
    about_spellings,
    spelled_alike,
)
from labelgrove.checking.about_texts import (
    about_copies,
    about_ids,
    about_languages,
    about_reading,
    about_texts,
)
from labelgrove.checking.documents import with_documents
from labelgrove.checking.facts import FileFacts, LabelNumbers, read_facts
from labelgrove.checking.findings import SERIOUS, FileFinding, by_weight
from labelgrove.checking.near_copies import near_copies
from labelgrove.checking.wording import Wording
from labelgrove.core.progress import Progress, Silent
from labelgrove.core.wording import several
from labelgrove.corpus import Corpus
from labelgrove.corpus.merging import as_cell
from labelgrove.corpus.remembered import option_words
from labelgrove.corpus.source_rows import layout_of
from labelgrove.text.language import MAJORITY, language_shares

FORMS = {"jsonl": "JSON lines", "csv": "CSV", "tsv": "TSV", "xlsx": "Excel", "parquet": "Parquet"}


@dataclass(frozen=True)
class FileSummary:
    """A file in a few figures.

    Parameters
    ----------
    name
        The file.
    documents, labels
        How many there are.
    labels_per_document
        Mean number.
    words
        Median and largest number of words of a text.
    languages
        The share of each language with at least 1% of the texts, the largest first.
    reading
        How it was read, in words.
    """

    name: str
    documents: int
    labels: int
    labels_per_document: float
    words: tuple[int, int]
    languages: Mapping[str, float]
    reading: Sequence[str]

    def __str__(self) -> str:
        language = next(iter(self.languages), None)
        spoken = f", {language} {self.languages[language]:.0%}" if language else ""
        return (
            f"{self.name}: {several(self.documents, 'document')}, {several(self.labels, 'label')} "
            f"({self.labels_per_document:.1f} each), {several(self.words[0], 'word')} in the "
            f"median text, {self.words[1]:,} in the longest{spoken}"
        )


@dataclass(frozen=True)
class Check:
    """What a check found.

    Parameters
    ----------
    files
        The files.
    findings
        What a reader should know, the most important first.
    merges
        Labels that seem to be others: label, other, documents of both, and the reason.
    """

    files: Sequence[FileSummary]
    findings: Sequence[FileFinding]
    merges: Sequence[tuple[str, str, int, int, str]]

    @property
    def serious(self) -> bool:
        """Whether something must be corrected before anybody trains."""
        return any(finding.level == SERIOUS for finding in self.findings)

    def record(self) -> dict[str, Any]:
        """Return all of it as plain values, for JSON."""
        return {
            "files": [
                {
                    "file": each.name,
                    "documents": each.documents,
                    "labels": each.labels,
                    "labels_per_document": each.labels_per_document,
                    "words": {"median": each.words[0], "most": each.words[1]},
                    "languages": dict(each.languages),
                    "reading": list(each.reading),
                }
                for each in self.files
            ],
            "serious": self.serious,
            "findings": [finding.record() for finding in self.findings],
            "merges": [dict(zip(MERGE_COLUMNS, each, strict=True)) for each in self.merges],
        }

    def merge_file(self) -> str:
        """Return the labels that seem to be others as a file for ``--merge``."""
        rows = [
            "\t".join([as_cell(label), as_cell(other), *map(str, more)])
            for label, other, *more in self.merges
        ]
        return "\n".join(["\t".join(MERGE_COLUMNS), *rows]) + "\n"


MERGE_COLUMNS = ("from", "to", "documents_from", "documents_to", "difference")


def check(
    train: Corpus,
    test: Corpus | None = None,
    *,
    options: Sequence[str] = (),
    merges: str | None = None,
    progress: Progress | None = None,
) -> Check:
    """Look for what would spoil a training or its scores.

    Each file is read once, and once more up to the last document that is named. Memory holds
    some 200 bytes a document.

    Parameters
    ----------
    train, test
        The files; a single one is called ``train``.
    options
        Options of the command line by which they are read, for the commands that are proposed.
    merges
        The file that the labels to merge will be written to, for advice; None if there is none.
    progress
        Where progress is shown.

    Examples
    --------
    >>> corpus = Corpus.from_lists(["wind power", "solar power"], [["energy"], ["Energy"]])
    >>> [finding.kind for finding in check(corpus).findings]
    ['spellings', 'one-document']
    """
    progress = progress or Silent()
    numbers = LabelNumbers()
    facts = [read_facts(train, numbers, progress)]
    if test is not None:
        facts.append(read_facts(test, numbers, progress, facts[0].known_words))
    for number, each in enumerate(facts):
        each.number = number
        each.Y.resize((len(each), len(numbers.ids)))
        if len({Path(other.name).name for other in facts}) == len(facts):
            each.title = Path(each.name).name
    wording = Wording(train.name, None if test is None else test.name, options, merges)
    progress.say("comparing texts and labels")
    languages = [_languages(each) for each in facts]
    language = next(iter(languages[0].items()), ("", 0.0))
    Y = vstack([each.Y for each in facts], format="csr")
    known_language = language[0] if language[1] >= MAJORITY else None
    spelled = spelled_alike(Y, numbers.ids, known_language)
    counts = np.bincount(Y.indices, minlength=len(numbers.ids))
    ids = numbers.ids
    findings = [
        *_about_each(facts, languages, ids, wording),
        *about_spellings(spelled, ids, counts, wording),
    ]
    if len(facts) == 2:
        first, second = facts
        findings += about_unseen_labels(first, second, ids, wording)
        findings += about_drift(first, second, ids)
        findings += about_other_language(first, second, languages)
    corpora = [each for each in (train, test) if each is not None]
    return Check(
        [
            _summary(each, corpus, shares)
            for each, corpus, shares in zip(facts, corpora, languages, strict=True)
        ],
        by_weight(with_documents(findings, corpora, facts)),
        [
            (
                ids[each.label],
                ids[each.other],
                int(counts[each.label]),
                int(counts[each.other]),
                each.reason,
            )
            for each in spelled
        ],
    )


def _about_each(
    facts: Sequence[FileFacts],
    languages: Sequence[Mapping[str, float]],
    ids: Sequence[str],
    wording: Wording,
) -> Iterator[FileFinding]:
    near = near_copies(np.concatenate([each.sketches for each in facts]), len(facts[0]))
    for number, (each, shares) in enumerate(zip(facts, languages, strict=True)):
        yield from about_reading(each, wording)
        yield from about_texts(each, wording)
        yield from about_ids(each, wording)
        yield from about_languages(each, shares)
        yield from about_labels(each, ids, wording)
        if number == 0:
            yield from about_copies(each, near, 0, wording)
            yield from about_frequencies(each, ids)
            yield from about_companions(each, ids)
        else:
            yield from about_leaks(facts[0], each, near, wording)


def _languages(facts: FileFacts) -> dict[str, float]:
    shares = language_shares(facts.sample)
    return {code: share for code, share in shares.items() if share >= 0.01}


def _summary(facts: FileFacts, corpus: Corpus, languages: Mapping[str, float]) -> FileSummary:
    layout = layout_of(corpus)
    words = facts.words if len(facts) else np.zeros(1, np.int64)
    reading = [FORMS[layout.kind]] if layout.columns is not None or layout.kind == "jsonl" else []
    if layout.kind in ("csv", "tsv"):
        reading.append(f"{layout.encoding}, fields separated by {_shown(layout.delimiter)}")
        separator = getattr(corpus, "separator", None)
        if separator is not None:
            reading.append(f"labels separated by {_shown(separator)}")
    reading += option_words(corpus.reading)
    return FileSummary(
        facts.name,
        len(facts),
        len(np.unique(facts.Y.indices)),
        facts.Y.nnz / max(len(facts), 1),
        (int(np.median(words)), int(words.max())),
        languages,
        reading,
    )


def _shown(mark: str) -> str:
    return "tabs" if mark == "\t" else f"'{mark}'"
