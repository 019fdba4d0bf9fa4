"""Files of a published data set, as they are given out, become ours.

Texts become ``train.jsonl``, ``test.jsonl`` and, where there is such a part, ``valid.jsonl``, with
``labels.tsv`` where labels have names. Features are words for nobody, so they become
``train.svm`` and ``test.svm``, which linear models read. ``conversion.json`` says what the files
were made of; only files that it lists are ever replaced.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from labelgrove.core.durability import make_folders
from labelgrove.core.errors import InputError, UnknownNameError
from labelgrove.core.files import COMPRESSIONS, lines
from labelgrove.core.json_files import as_json
from labelgrove.core.progress import Progress, Silent
from labelgrove.core.storage import write_text, writing_file
from labelgrove.core.wording import several
from labelgrove.corpus.base import Corpus
from labelgrove.corpus.lshtc import LshtcTexts
from labelgrove.corpus.published.versions import DataPart, DataSet, DataVersion
from labelgrove.corpus.rcv1 import Rcv1
from labelgrove.corpus.repository import FeatureLines, RawTexts

RECORD = "conversion.json"

Found = Mapping[str, Path]
"""Files by name, without the suffix of a compression."""


class Converted(NamedTuple):
    """What was written.

    Parameters
    ----------
    version
        The version that the files are, or were taken for.
    files
        The new files.
    documents
        Documents of each part, by name.
    labels
        Number of different labels in all parts.
    checksums
        The sha256 of each file that was read, by name.
    differs
        In what the files are none of the known ones; empty if they are.
    """

    version: DataVersion
    files: tuple[Path, ...]
    documents: dict[str, int]
    labels: int
    checksums: dict[str, str]
    differs: tuple[str, ...]


def convert(
    data: DataSet,
    sources: Sequence[Path],
    out: Path,
    *,
    version: str | None = None,
    any_version: bool = False,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> Converted:
    """Write a data set in our form; either all files are there afterwards, or none is new.

    Parameters
    ----------
    data
        The data set.
    sources
        Its files, or folders with them.
    out
        The folder for ours.
    version
        The name of its version; found by the names of files when None.
    any_version
        Take also files whose checksums, or numbers of documents and labels, are not those known.
    overwrite
        Replace files of an earlier conversion.
    progress
        Where progress is shown; None for nowhere.
    """
    chosen, found = _version(data, sources, version)
    before = _earlier(out)
    _check_free(chosen, out, before, overwrite)
    shown = progress or Silent()
    checksums = {
        name: _checksum(path)
        for name, path in shown.track(found.items(), "checksums", unit="files")
    }
    differs = _other_checksums(chosen, checksums)
    _refuse(data, chosen, differs, any_version)
    make_folders(out)
    documents, labels, written = {}, _Labels(), []
    with ExitStack() as stack:
        for part in chosen.parts:
            target = out / f"{part.name}{_suffix(chosen)}"
            temporary = stack.enter_context(writing_file(target))
            corpus = _corpus(chosen, part, found)
            documents[part.name] = _write(temporary, corpus, labels, chosen, shown)
            written.append(target)
        if chosen.names is not None:
            target = out / "labels.tsv"
            named = _write_names(stack.enter_context(writing_file(target)), found[chosen.names])
            if named < len(labels.all):
                raise InputError(
                    f"{found[chosen.names]} has names of {several(named, 'label')}, and the "
                    f"documents have {several(len(labels.all), 'label')}: it is cut short, or of "
                    "another version"
                )
            written.append(target)
        if not set(checksums) & set(chosen.checksums):
            differs += _other_numbers(chosen, documents, labels)
        _refuse(data, chosen, differs, any_version)  # before any file takes its place
        record = {"set": data.name, "version": chosen.name, "sha256": checksums}
        record |= {"files": sorted(file.name for file in written), "differs": differs}
        write_text(out / RECORD, as_json(record))
    for name in before - {file.name for file in written}:
        (out / name).unlink(missing_ok=True)
    return Converted(chosen, tuple(written), documents, len(labels.all), checksums, tuple(differs))


# --- which files ------------------------------------------------------------------------------


def _version(
    data: DataSet, sources: Sequence[Path], wanted: str | None
) -> tuple[DataVersion, dict[str, Path]]:
    """Return the version that has all of its files here, and these."""
    known = {each.name: each for each in data.versions}
    if wanted is not None and wanted not in known:
        raise UnknownNameError(f"version of {data.name}", wanted, known)
    for each in data.versions if wanted is None else (known[wanted],):
        found = _files(each, sources)
        if found is not None:
            return each, found
    asked = data.versions if wanted is None else (known[wanted],)
    needs = "; ".join(f"{each.name}: {each.wanted()}" for each in asked)
    raise InputError(
        f"{', '.join(map(str, sources))}: these are not the files of {data.name}. Its versions "
        f"have ({needs}); name the files or their folder"
    )


def _files(version: DataVersion, sources: Sequence[Path]) -> dict[str, Path] | None:
    """Return the files of a version by name, or None if one is missing."""
    if version.form == "rcv1":
        folder = sources[0]
        topics = len(sources) == 1 and folder.is_dir() and sorted(folder.glob("rcv1-v2.topics*"))
        return {topics[0].name: topics[0]} if topics else None
    here: dict[str, Path] = {}
    for path in _all_files(sources):
        packed = path.suffix.lower() in COMPRESSIONS
        here.setdefault(path.stem if packed else path.name, path)
    found: dict[str, Path] = {}
    for part in version.parts:
        for names in filter(None, (part.texts, part.labels)):
            name = next((each for each in names if each in here), None)
            if name is None:
                return None
            found[name] = here[name]
    if version.names is not None:
        if version.names not in here:
            return None
        found[version.names] = here[version.names]
    return found


def _all_files(sources: Sequence[Path]) -> Iterator[Path]:
    for source in sources:
        if not source.exists():
            raise InputError(f"there is no {source}")
        yield from sorted(source.iterdir()) if source.is_dir() else [source]


def _earlier(out: Path) -> set[str]:
    """Return the names of files that an earlier conversion wrote."""
    if not (out / RECORD).exists():
        return set()
    try:
        names = json.loads((out / RECORD).read_text("utf-8"))["files"]
        return {name for name in names if Path(name).name == name}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{out / RECORD} is no record of a conversion; choose another folder"
        ) from error


def _check_free(version: DataVersion, out: Path, earlier: Set[str], overwrite: bool) -> None:
    """Refuse to replace files of an earlier conversion unasked, and others at all."""
    names = {f"{part.name}{_suffix(version)}" for part in version.parts} | {"labels.tsv"}
    for name in sorted(names | earlier):
        if not (out / name).exists():
            continue
        if name not in earlier:
            raise InputError(
                f"{out / name} is there already, and no earlier conversion wrote it; choose "
                "another folder"
            )
        if not overwrite:
            raise InputError(
                f"{out / name} is there already; choose another folder, or allow overwriting "
                "(--overwrite)"
            )


def _corpus(version: DataVersion, part: DataPart, found: Found) -> Corpus:
    """Return the reader of a part."""
    if version.form == "rcv1":
        return Rcv1(next(iter(found.values())).parent, part.name)
    texts = next(found[name] for name in part.texts if name in found)
    if version.form == "features":
        return FeatureLines(texts)
    if version.form == "lshtc":
        return LshtcTexts(texts)
    return RawTexts(texts, next(found[name] for name in part.labels if name in found))


# --- what is written --------------------------------------------------------------------------


class _Labels:
    """Labels that were seen, in all parts and in the first alone."""

    def __init__(self) -> None:
        self.all: set[str] = set()
        self.first = 0


def _write(
    target: Path, corpus: Corpus, labels: _Labels, version: DataVersion, progress: Progress
) -> int:
    """Write documents and return how many there were."""
    n = 0
    with target.open("x", encoding="utf-8", newline="\n") as file:
        if isinstance(corpus, FeatureLines):
            file.write(next(lines(Path(corpus.name))).decode().strip() + "\n")
        for document in progress.track(corpus, f"reading {Path(corpus.name).name}"):
            labels.all.update(document.labels)
            n += 1
            if version.form == "features":
                file.write(f"{','.join(document.labels)} {document.text}\n")
                continue
            row = {"text": document.text, "labels": document.labels}
            own = {} if document.id is None else {"id": document.id}
            file.write(json.dumps(own | row, ensure_ascii=False) + "\n")
    labels.first = labels.first or len(labels.all)
    return n


def _write_names(target: Path, names: Path) -> int:
    """Write the name of each label, which stands on the line of its number; return how many."""
    number = 0
    with target.open("x", encoding="utf-8", newline="\n") as file:
        for line in lines(names):
            name = " ".join(line.decode("utf-8", "replace").split())
            file.write(f"{number}\t{name or number}\n")
            number += 1
    return number


def _suffix(version: DataVersion) -> str:
    return ".svm" if version.form == "features" else ".jsonl"


# --- whether it is what was published ---------------------------------------------------------


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _other_checksums(version: DataVersion, checksums: Mapping[str, str]) -> list[str]:
    return [
        f"the sha256 of {name} is {checksums[name]} instead of {known}"
        for name, known in version.checksums.items()
        if name in checksums and checksums[name] != known
    ]


def _other_numbers(
    version: DataVersion, documents: Mapping[str, int], labels: _Labels
) -> list[str]:
    found = [
        f"{part.name} has {several(documents[part.name], 'document')} instead of {part.documents:,}"
        for part in version.parts
        if documents[part.name] != part.documents
    ]
    if not {len(labels.all), labels.first} & set(version.labels):
        known = " or ".join(f"{n:,}" for n in version.labels)
        found.append(f"in all {several(len(labels.all), 'label')} instead of {known}")
    return found


def _refuse(data: DataSet, version: DataVersion, differs: Sequence[str], any_version: bool) -> None:
    if differs and not any_version:
        raise InputError(
            f"these files are not the version {version.name} of {data.name} that is known: "
            f"{'; '.join(differs)}. Get them from {version.url}, or take them as they are "
            "(--any-version)"
        )
