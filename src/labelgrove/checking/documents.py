"""The documents of findings are named: where they are, their ids, how their texts begin."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from labelgrove.checking.facts import FileFacts
from labelgrove.checking.findings import FileFinding, NamedDocument, Place
from labelgrove.checking.wording import NAME, shortened
from labelgrove.corpus import Corpus


def with_documents(
    findings: Sequence[FileFinding], corpora: Sequence[Corpus], facts: Sequence[FileFacts]
) -> list[FileFinding]:
    """Return findings with the names of their documents, and the texts of those to be shown."""
    wanted = {place for each in findings for places in each.places for place in places}
    to_show = {
        place for each in findings for places in each.places[: each.shown] for place in places
    }
    ids, texts = _read(corpora, wanted, to_show)
    done = []
    for finding in findings:
        named = [
            [
                NamedDocument(facts[file].title, int(facts[file].positions[row]), ids[file, row])
                for file, row in places
            ]
            for places in finding.places
        ]
        lines = [
            _line(documents, [texts[place] for place in places])
            for documents, places in zip(
                named[: finding.shown], finding.places[: finding.shown], strict=True
            )
        ]
        done.append(replace(finding, documents=named, examples=[*finding.examples, *lines]))
    return done


def _read(
    corpora: Sequence[Corpus], wanted: Iterable[Place], to_show: set[Place]
) -> tuple[dict[Place, str | None], dict[Place, str]]:
    """Return the ids of the wanted documents, and how the texts to be shown begin."""
    ids: dict[Place, str | None] = {}
    texts: dict[Place, str] = {}
    for file, corpus in enumerate(corpora):
        rows = {row for number, row in wanted if number == file}
        last = max(rows, default=-1)
        for row, document in enumerate(corpus if rows else ()):
            if row in rows:
                ids[file, row] = document.id
            if (file, row) in to_show:
                texts[file, row] = shortened(document.text)
            if row == last:
                break
    return ids, texts


def _line(documents: Sequence[NamedDocument], texts: Sequence[str]) -> str:
    """Return where a document or a pair of them is, and how the texts begin."""
    across = len({each.file for each in documents}) > 1
    names = [
        f"document {each.document:,}"
        + (f" of {each.file}" if across else "")
        + ("" if each.id is None else f" (id {shortened(each.id, NAME)})")
        for each in documents
    ]
    if len(set(texts)) == 1:
        return " and ".join(names) + (f": '{texts[0]}'" if texts[0] else "")
    return " and ".join(f"{name}: '{text}'" for name, text in zip(names, texts, strict=True))
