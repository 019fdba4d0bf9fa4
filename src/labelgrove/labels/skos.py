"""Concepts of a SKOS file, through rdflib."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple
from xml.parsers import expat

from labelgrove.core.errors import InputError
from labelgrove.core.extras import need
from labelgrove.labels.vocabulary import Concept

FORMATS = {".ttl": "turtle", ".rdf": "xml", ".xml": "xml", ".nt": "nt"}
SKOS = "http://www.w3.org/2004/02/skos/core#"
BASE = "http://relative.invalid/"  # stands before relative addresses while a file is parsed
ENTITY = 256  # characters of an entity; the start of an address needs fewer
CHUNK = 1 << 16
TERMS = "http://purl.org/dc/terms/"
DEPRECATED = "http://www.w3.org/2002/07/owl#deprecated"
RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"


class SkosFile(NamedTuple):
    """What a file holds.

    Parameters
    ----------
    concepts
        By address, in the order of their addresses.
    retired
        Addresses of what is ``owl:deprecated``, or has a ``dct:isReplacedBy``.
    successors
        For an address those that stand for it now: by ``dct:isReplacedBy``, else ``dct:replaces``,
        else ``skos:exactMatch``.
    """

    concepts: dict[str, Concept]
    retired: frozenset[str]
    successors: Mapping[str, tuple[str, ...]]


def read_skos(data: bytes, suffix: str, language: str, source: str) -> SkosFile:
    """Return the concepts of a file's content, and what it says of those before them.

    A concept is what is said to be a ``skos:Concept``, or stands on a side of broader or
    narrower; in a file without any such statement, what has a prefLabel. What only another file
    describes keeps its address as name. A relative address in a file without a base stays as it is
    written, wherever the file lies.

    Entities of XML may only abbreviate: one that holds others, is long, or lies in another file is
    an error, since a few of them can stand for gigabytes.
    """
    rdflib = need("rdflib", "skos", f"reading {source}")
    graph = _parsed(rdflib, data, FORMATS[suffix], source)
    parents = _parents(graph, rdflib)
    nodes = {
        node
        for node in graph.subjects(rdflib.URIRef(RDF_TYPE), rdflib.URIRef(SKOS + "Concept"))
        if isinstance(node, rdflib.URIRef)
    }
    nodes |= parents.keys() | {parent for above in parents.values() for parent in above}
    if not nodes:
        labelled = graph.subjects(rdflib.URIRef(SKOS + "prefLabel"))
        nodes = {node for node in labelled if isinstance(node, rdflib.URIRef)}
    if not nodes:
        raise InputError(f"{source} has no SKOS concepts")

    def texts(node: Any, *properties: str) -> list[str]:
        for name in properties:
            values = graph.objects(node, rdflib.URIRef(SKOS + name))
            literals = in_language((v for v in values if isinstance(v, rdflib.Literal)), language)
            if literals:
                return literals
        return []

    concepts = {
        address: Concept(
            name=next(iter(texts(node, "prefLabel")), address),
            parents=tuple(sorted(_address(parent, source) for parent in parents.get(node, ()))),
            description=" ".join(texts(node, "definition", "scopeNote")),
            alternatives=tuple(texts(node, "altLabel")),
        )
        for address, node in sorted((_address(node, source), node) for node in nodes)
    }
    return SkosFile(concepts, *_history(graph, rdflib))


def _history(graph: Any, rdflib: Any) -> tuple[frozenset[str], dict[str, tuple[str, ...]]]:
    """Return which addresses are retired, and which stand for older ones now."""

    def pairs(address: str) -> list[tuple[str, str]]:
        return [
            (str(first).removeprefix(BASE), str(other).removeprefix(BASE))
            for first, other in graph.subject_objects(rdflib.URIRef(address))
            if isinstance(first, rdflib.URIRef)
        ]

    said = pairs(TERMS + "isReplacedBy")
    flagged = {old for old, value in pairs(DEPRECATED) if value.lower() in ("true", "1")}
    retired = frozenset(flagged | {old for old, _ in said})
    alike = pairs(SKOS + "exactMatch")
    ways = (
        said,
        [(old, new) for new, old in pairs(TERMS + "replaces")],
        [*alike, *((second, first) for first, second in alike)],
    )
    successors: dict[str, tuple[str, ...]] = {}
    for way in ways:
        found: dict[str, set[str]] = {}
        for old, new in way:
            if old != new and old not in successors:
                found.setdefault(old, set()).add(new)
        successors |= {old: tuple(sorted(new)) for old, new in found.items()}
    return retired, successors


def _parsed(rdflib: Any, data: bytes, form: str, source: str) -> Any:
    """Return a file's content as a graph of rdflib."""
    if form == "xml":
        _check_entities(data, source)
    # rdflib would print addresses that it doubts, with their control characters
    log, silent = logging.getLogger("rdflib"), logging.NullHandler()
    log.addHandler(silent)
    graph = rdflib.Graph()
    try:
        graph.parse(data=data, format=form, publicID=BASE)
    except Exception as error:  # each parser of rdflib has errors of its own
        first = " ".join(str(error).split())[:200] or type(error).__name__
        raise InputError(f"{source} is not valid {form}: {first}") from error
    finally:
        log.removeHandler(silent)
    return graph


def _address(node: Any, source: str) -> str:
    """Return the address of a concept as it is written in the file."""
    address = str(node).removeprefix(BASE)
    if not address:
        raise InputError(
            f"{source} says of itself (<>) that it is a concept; give the concept an address"
        )
    return address


class _RootReachedError(Exception):
    """The first element begins, so no declaration follows."""


def _check_entities(data: bytes, source: str) -> None:
    """Raise for entities and defaults of an XML file that are more than short abbreviations."""

    def declared(name: str, is_parameter: bool, value: str | None, *_: object) -> None:
        if is_parameter or value is None:
            wrong = "is a parameter" if is_parameter else "lies in another file"
        elif "&" in value:
            wrong = "holds another one"
        elif len(value) > ENTITY:
            wrong = f"has more than {ENTITY} characters"
        else:
            return
        refuse(f"entity {name!r} {wrong}")

    def defaulted(element: str, name: str, kind: str, value: str | None, *_: object) -> None:
        if value is not None and len(value) > ENTITY:
            refuse(f"default of {name!r} in <{element}> has more than {ENTITY} characters")

    def refuse(what: str) -> None:
        raise InputError(
            f"{source}: the XML {what}; write out what it stands for, or convert the file to Turtle"
        )

    def begun(*_: object) -> None:
        raise _RootReachedError

    parser = expat.ParserCreate()
    parser.EntityDeclHandler, parser.AttlistDeclHandler = declared, defaulted
    parser.StartElementHandler = begun
    try:
        for start in range(0, len(data), CHUNK):
            parser.Parse(data[start : start + CHUNK], False)
    except (_RootReachedError, expat.ExpatError):
        return  # what is no XML is told when all of it is parsed
    except (LookupError, ValueError) as error:  # an encoding that expat cannot read
        raise InputError(f"{source} cannot be read as XML ({error}); write it in UTF-8") from error


def _parents(graph: Any, rdflib: Any) -> dict[Any, set[Any]]:
    parents: dict[Any, set[Any]] = {}
    pairs = [
        *graph.subject_objects(rdflib.URIRef(SKOS + "broader")),
        *((c, p) for p, c in graph.subject_objects(rdflib.URIRef(SKOS + "narrower"))),
    ]
    for child, parent in pairs:
        if isinstance(child, rdflib.URIRef) and isinstance(parent, rdflib.URIRef):
            parents.setdefault(child, set()).add(parent)
    return parents


def in_language(literals: Iterable[Any], language: str) -> list[str]:
    """Return the texts in the best language there is, sorted, each once.

    Parameters
    ----------
    literals
        Texts with an attribute ``language``, which may be None.
    language
        The preferred one; then come its regional forms, texts without language, and the
        language that is first in the alphabet.
    """
    wanted = language.lower()
    by_rank: dict[tuple[int, str], set[str]] = {}
    for literal in literals:
        tag = (literal.language or "").lower()
        if tag == wanted:
            rank = 0
        elif tag.startswith(wanted + "-"):
            rank = 1
        else:
            rank = 3 if tag else 2
        if text := " ".join(str(literal).split()):
            by_rank.setdefault((rank, tag), set()).add(text)
    return sorted(by_rank[min(by_rank)]) if by_rank else []
