"""Annif's vocabularies: its CSV with names in several languages, its TSV, and its data folders.

See https://github.com/NatLibFi/Annif/wiki/Subject-vocabulary-formats
"""

from __future__ import annotations

import csv
from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path

from labelgrove.core.errors import BadRowError, InputError
from labelgrove.core.files import check_file, lines
from labelgrove.labels.vocabulary import ONE_LABEL, Concept, Vocabulary, bare

NAME = "label_"  # begins a column of names, before the code of their language
FILES = ("subjects.ttl", "subjects.csv")  # of a folder in data/vocabs, the richer one first
PICKLED = "subjects.dump.gz"
EVERY = "*"  # in a list of subjects: all of them


def file_of(folder: Path) -> Path:
    """Return the file to read of a folder of Annif's ``data/vocabs``."""
    for name in FILES:
        if (folder / name).exists():
            return folder / name
    pickled = f"; {PICKLED} is pickled, which is never read" if (folder / PICKLED).exists() else ""
    raise InputError(f"{folder} has neither {' nor '.join(FILES)}{pickled}: name another file")


def csv_concepts(path: Path, language: str | None) -> Iterator[tuple[str, Concept]]:
    """Yield the subjects of a CSV that have a name, by URI; notations are left out.

    Parameters
    ----------
    path
        The file, with the columns ``uri``, ``label_en``, ``label_fi``, ...
    language
        The language of the names: English, or the only one, when None. A subject without a name
        in it has the first other one of its line.
    """
    rows = csv.reader(_decoded(path), strict=True)
    columns = next(rows, [])
    codes = [name.removeprefix(NAME) for name in columns if name.startswith(NAME)]
    if "uri" not in columns or not codes:
        raise InputError(f"{path} has no columns uri and {NAME}en: Annif's CSV begins with both")
    wanted = language or (codes[0] if len(codes) == 1 else "en")
    if wanted not in codes:
        raise InputError(
            f"{path} has no names in {wanted!r}, only in {', '.join(codes)}: choose one "
            "(language=..., --language)"
        )
    order = [wanted, *(code for code in codes if code != wanted)]
    seen: set[str] = set()
    try:
        for cells in rows:
            row = dict(zip(columns, cells, strict=False))
            uri = bare(row["uri"])
            if not uri or uri in seen:
                wrong = f"the uri {uri!r} stands there already" if uri else "the uri is empty"
                raise BadRowError(wrong, str(path), rows.line_num)
            seen.add(uri)
            names = [name for code in order if (name := row.get(NAME + code, "").strip())]
            if names:
                yield uri, Concept(names[0])
    except csv.Error as error:
        raise BadRowError(f"this is no CSV: {error}", str(path), rows.line_num) from error


def is_annif_table(path: Path) -> bool:
    """Tell whether all lines are URIs in angle brackets, and no third cell names a parent."""
    uris, others = set(), []
    for line in _decoded(path):
        if not line.strip():
            continue
        cells = [cell.strip() for cell in line.split("\t")]
        if not (cells[0].startswith("<") and cells[0].endswith(">")) or len(cells) > 3:
            return False
        uris.add(bare(cells[0]))
        others += cells[2:]
    return bool(uris) and not any(bare(each) in uris for cell in others for each in cell.split("|"))


def tsv_concepts(path: Path) -> Iterator[tuple[str, Concept]]:
    """Yield the subjects of a TSV that have a name, by URI; notations are left out."""
    seen: set[str] = set()
    for number, line in enumerate(_decoded(path), 1):
        if not line.strip():
            continue
        uri, *rest = (cell.strip() for cell in line.split("\t"))
        if bare(uri) in seen:
            raise BadRowError(f"{uri} stands there already", str(path), number)
        if rest:
            seen.add(bare(uri))
            yield bare(uri), Concept(rest[0] or bare(uri))


def _decoded(path: Path) -> Iterator[str]:
    for number, line in enumerate(lines(path, ONE_LABEL), 1):
        try:
            yield line.decode()
        except UnicodeDecodeError as error:
            raise BadRowError(f"this is not UTF-8: {error.reason}", str(path), number) from error


def read_subjects(path: Path) -> frozenset[str]:
    """Return the URIs of a list, one a line, in angle brackets or not; ``#`` begins a comment."""
    check_file(path)
    stripped = (line.strip() for line in _decoded(path))
    found = frozenset(bare(line) for line in stripped if line and not line.startswith("#"))
    if not found:
        raise InputError(f"{path} lists no subjects: write one URI a line")
    return found


class SubjectFilter:
    """Which subjects are kept.

    Parameters
    ----------
    include, exclude
        URIs, together ``listed``. Excluded ones are left out unless they are included; ``*``
        excludes all. Where only ``include`` is given, all others are left out.

    Examples
    --------
    >>> keeps = SubjectFilter(include={"a"}, exclude={"a", "b"})
    >>> keeps("a"), keeps("b"), keeps("c")
    (True, False, True)
    >>> SubjectFilter(include={"a"})("c")
    False
    """

    def __init__(
        self, include: Collection[str] | None = None, exclude: Collection[str] | None = None
    ) -> None:
        self._include = include or ()
        self._exclude = exclude or ()
        self.listed = frozenset(self._include) | frozenset(self._exclude) - {EVERY}
        self._all = EVERY in self._exclude or (include is not None and exclude is None)

    def __call__(self, uri: str) -> bool:
        """Tell whether a subject is kept."""
        return uri in self._include or not (self._all or uri in self._exclude)

    def vocabulary(self, vocabulary: Vocabulary) -> Vocabulary:
        """Return the kept concepts; those below one that is left out move to what is above it."""
        concepts = vocabulary.concepts
        kept = {
            uri: replace(concept, parents=tuple(self._above(uri, concepts)))
            for uri, concept in concepts.items()
            if self(uri)
        }
        if not kept:
            raise InputError(f"no subject of {vocabulary.source} is kept: look at both lists")
        return Vocabulary(kept, vocabulary.source)

    def _above(self, uri: str, concepts: dict[str, Concept]) -> list[str]:
        found: dict[str, None] = {}
        seen, left = {uri}, [*concepts[uri].parents]
        while left:
            parent = left.pop(0)
            if parent in seen:
                continue
            seen.add(parent)
            if self(parent):
                found[parent] = None
            else:
                left += concepts[parent].parents
        return [*found]
