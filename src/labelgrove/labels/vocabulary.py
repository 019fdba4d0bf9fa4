"""A vocabulary read from a file: names, other names, descriptions and parents of concepts."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from labelgrove.core.errors import BadRowError, InputError, UnknownNameError
from labelgrove.core.files import check_file, content, lines, suffix

if TYPE_CHECKING:
    from labelgrove.labels.space import LabelSpace

COLUMNS = ("id", "name", "parents", "description", "alternatives")
ONE_LABEL = "write each label on a line of its own, and cut longer descriptions"
SUFFIXES = (".tsv", ".csv", ".ttl", ".rdf", ".xml", ".nt")


@dataclass(frozen=True)
class Concept:
    """One entry of a vocabulary; parents are ids."""

    name: str
    parents: tuple[str, ...] = ()
    description: str = ""
    alternatives: tuple[str, ...] = ()


@dataclass(frozen=True)
class Vocabulary:
    """Concepts by id, to be joined with the labels of a corpus.

    Parameters
    ----------
    concepts
        The concepts by id; every parent is among them.
    source
        The file, for messages.
    by_name
        Whether a label of the data that is not an id may be a name.
    retired
        Ids that are not to be used any more, as SKOS files say; some may be concepts.
    successors
        Ids that stand for older ones now, which may be retired or gone.

    Examples
    --------
    >>> from labelgrove.labels import LabelSpace
    >>> vocabulary = Vocabulary({"a": Concept("Animals"), "d": Concept("Dogs", ("a",))})
    >>> space = LabelSpace.from_labels([["d"]], vocabulary)
    >>> space.ids, space.n_labels, space.description(0)
    (['d', 'a'], 1, 'Animals: Dogs')
    """

    concepts: dict[str, Concept]
    source: str = field(default="the vocabulary", compare=False)
    by_name: bool = field(default=True, compare=False)
    retired: frozenset[str] = field(default=frozenset(), compare=False)
    successors: Mapping[str, tuple[str, ...]] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        for key, concept in self.concepts.items():
            for parent in concept.parents:
                if parent not in self.concepts:
                    raise InputError(f"{self.source}: {key!r} has the unknown parent {parent!r}")

    def __len__(self) -> int:
        return len(self.concepts)

    def in_use(self) -> Vocabulary:
        """Return the vocabulary without the concepts that are retired."""
        kept = {key: each for key, each in self.concepts.items() if key not in self.retired}
        concepts = {
            key: replace(each, parents=tuple(above for above in each.parents if above in kept))
            for key, each in kept.items()
        }
        return replace(self, concepts=concepts)


def read_vocabulary(path: str | os.PathLike[str], *, language: str | None = None) -> Vocabulary:
    """Read a vocabulary from a table, from SKOS or from Annif, chosen by suffix.

    A ``.tsv`` has a line a concept and two to five columns between tabs: id, name, parent ids
    separated by ``|``, description, other names separated by ``|``. A first line that starts
    with ``id`` and holds only the words id, name, parents, description and alternatives is a
    header and may order the columns otherwise. A parent needs a line of its own, anywhere in
    the file. An empty name means the id. Ids may stand in angle brackets.

    SKOS is read from ``.ttl`` (Turtle), ``.rdf`` and ``.xml`` (RDF/XML) and ``.nt`` (N-Triples),
    with the extra ``skos``: prefLabel, altLabel, definition or scopeNote, broader and narrower.
    Relative addresses stay as they are written unless the file has a base.

    Annif's forms are a ``.csv`` with the columns ``uri`` and ``label_en``, ``label_fi``, ...; a
    ``.tsv`` of URIs in angle brackets, names and notations; and a folder of its ``data/vocabs``, of
    which ``subjects.ttl`` is read, or else ``subjects.csv``. Notations are left out, and subjects
    without any name, which Annif calls deprecated.

    Every form may be compressed: ``.gz``, ``.xz``, ``.zst``.

    Parameters
    ----------
    path
        The file, or Annif's folder.
    language
        The language of names, where there are several; English when None. Of SKOS texts, a
        regional form of it (``en-GB``) is taken where it lacks, else one without language, else
        the language first in the alphabet; of Annif's ``.csv``, the first other name of the line.
    """
    path = Path(path)
    from labelgrove.labels import annif

    if path.is_dir():
        path = annif.file_of(path)
    kind = suffix(path)
    if kind not in SUFFIXES:
        raise UnknownNameError(f"kind of vocabulary file, {path}:", kind, SUFFIXES)
    check_file(path)
    if kind == ".csv":
        return Vocabulary(dict(annif.csv_concepts(path, language)), str(path))
    if kind == ".tsv":
        of_annif = annif.is_annif_table(path)
        return (
            Vocabulary(dict(annif.tsv_concepts(path)), str(path)) if of_annif else _read_table(path)
        )
    from labelgrove.labels.skos import read_skos

    found = read_skos(content(path), kind, language or "en", str(path))
    return Vocabulary(found.concepts, str(path), retired=found.retired, successors=found.successors)


def _numbered(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the number and the text of each line that is not empty."""
    for number, raw in enumerate(lines(path, ONE_LABEL), 1):
        try:
            line = raw.decode().rstrip("\r\n")
        except UnicodeDecodeError as error:
            raise BadRowError(f"this is not UTF-8: {error.reason}", str(path), number) from error
        if line.strip():
            yield number, line


def _read_table(path: Path) -> Vocabulary:
    concepts: dict[str, Concept] = {}
    lines_of: dict[str, int] = {}
    columns: Sequence[str] = COLUMNS
    for number, line in _numbered(path):
        cells = [cell.strip() for cell in line.split("\t")]
        if not concepts and cells[0].lower() == "id" and {*map(str.lower, cells)} <= {*COLUMNS}:
            columns = [cell.lower() for cell in cells]
            continue
        if not 2 <= len(cells) <= len(columns):
            raise BadRowError(
                f"{len(cells)} columns instead of 2 to {len(columns)} between tabs: "
                f"{', '.join(columns)}",
                str(path),
                number,
            )
        row = dict(zip(columns, cells, strict=False))
        key = bare(row["id"])
        if not key:
            raise BadRowError("the id is empty", str(path), number)
        if key in concepts:
            raise BadRowError(
                f"the id {key!r} stands in line {lines_of[key]} already", str(path), number
            )
        lines_of[key] = number
        concepts[key] = Concept(
            name=row.get("name") or key,
            parents=tuple(dict.fromkeys(bare(one) for one in _split(row.get("parents", "")))),
            description=row.get("description", ""),
            alternatives=tuple(dict.fromkeys(_split(row.get("alternatives", "")))),
        )
    _check_parents(path, concepts, lines_of)
    return Vocabulary(concepts, str(path))


def _check_parents(path: Path, concepts: dict[str, Concept], lines_of: dict[str, int]) -> None:
    if not concepts:
        raise InputError(f"{path} is empty: it has no line with an id and a name")
    for key, concept in concepts.items():
        for parent in concept.parents:
            if parent not in concepts:
                raise BadRowError(
                    f"{key!r} has the unknown parent {parent!r}; give it a line of its own",
                    str(path),
                    lines_of[key],
                )


def _split(cell: str) -> list[str]:
    return [part for part in map(str.strip, cell.split("|")) if part]


def bare(label: str) -> str:
    """Return an id without the angle brackets some formats put around addresses."""
    label = label.strip()
    return label[1:-1] if label.startswith("<") and label.endswith(">") else label


def join(
    labels: Sequence[str], counts: NDArray[np.int64], n_documents: int, vocabulary: Vocabulary
) -> LabelSpace:
    """Return a space of these labels with all that the vocabulary knows of them and beside."""
    from labelgrove.labels.space import LabelSpace

    known = vocabulary.concepts
    keys = [label if label in known else bare(label) for label in labels]
    taken = set(keys)
    if labels and not taken & known.keys():
        raise InputError(
            f"{vocabulary.source} has none of the corpus' labels, neither as id nor as name: the "
            f"corpus has {_examples(labels)}, the vocabulary {_examples(known)}"
        )
    others = sorted(known.keys() - taken)
    keys += others
    numbers = {key: i for i, key in enumerate(keys)}
    ids = [*labels, *others]
    concepts = [known.get(key) or Concept(label) for key, label in zip(keys, ids, strict=True)]
    return LabelSpace(
        ids,
        counts,
        n_documents,
        names=[concept.name for concept in concepts],
        descriptions=[concept.description for concept in concepts],
        alternatives=[concept.alternatives for concept in concepts],
        parents=[[numbers[parent] for parent in concept.parents] for concept in concepts],
    )


def widened(space: LabelSpace, vocabulary: Vocabulary) -> LabelSpace:
    """Return a space with the concepts of a vocabulary that it lacks behind all others.

    What the space knows stays, so that no circle can come out of two hierarchies.
    """
    from labelgrove.labels.space import LabelSpace

    numbers = {bare(label): i for i, label in enumerate(space.ids)}
    numbers |= {label: i for i, label in enumerate(space.ids)}
    others = sorted(vocabulary.concepts.keys() - numbers.keys())
    numbers |= {key: len(space) + i for i, key in enumerate(others)}
    concepts = [vocabulary.concepts[key] for key in others]
    return LabelSpace(
        [*space.ids, *others],
        space.counts,
        space.n_documents,
        names=[*space.names, *(concept.name for concept in concepts)],
        descriptions=[*space.descriptions, *(concept.description for concept in concepts)],
        alternatives=[*space.alternatives, *(concept.alternatives for concept in concepts)],
        parents=[
            *space.parents,
            *([numbers[parent] for parent in concept.parents] for concept in concepts),
        ],
    )


def vocabulary_of(space: LabelSpace, source: str = "the label space") -> Vocabulary:
    """Return all that a space knows of its labels and concepts, to be joined with other labels.

    Examples
    --------
    >>> from labelgrove.labels import LabelSpace
    >>> vocabulary_of(LabelSpace(["d"], [1], 1, names=["Dogs"])).concepts
    {'d': Concept(name='Dogs', parents=(), description='', alternatives=())}
    """
    ids = space.ids
    rows = zip(ids, space.names, space.parents, space.descriptions, space.alternatives, strict=True)
    return Vocabulary(
        {
            label: Concept(name, tuple(ids[i] for i in above), description, alternatives)
            for label, name, above, description, alternatives in rows
        },
        source,
        by_name=space.has_vocabulary,
    )


def with_names(vocabulary: Vocabulary, names: Mapping[str, str]) -> Vocabulary:
    """Return a vocabulary that also has these concepts, given by id and name, where they are new.

    Examples
    --------
    >>> known = Vocabulary({"d": Concept("Dogs")}, "a file")
    >>> [each.name for each in with_names(known, {"d": "Hounds", "c": "Cats"}).concepts.values()]
    ['Dogs', 'Cats']
    """
    known = vocabulary.concepts
    new = {label: Concept(name) for label, name in names.items() if label not in known}
    return replace(vocabulary, concepts={**known, **new}) if new else vocabulary


def _examples(ids: Sequence[str] | dict[str, Concept]) -> str:
    shown = ", ".join(repr(label) for label in islice(ids, 3))
    return shown + (", ..." if len(ids) > 3 else "")
