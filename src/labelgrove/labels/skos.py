"""Concepts of a SKOS file, through rdflib."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from labelgrove.core.errors import InputError
from labelgrove.core.extras import need
from labelgrove.labels.vocabulary import Concept

FORMATS = {".ttl": "turtle", ".rdf": "xml", ".xml": "xml", ".nt": "nt"}
SKOS = "http://www.w3.org/2004/02/skos/core#"
RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"


def read_skos(data: bytes, suffix: str, language: str, source: str) -> dict[str, Concept]:
    """Return the concepts of a file's content, by address, in the order of their addresses.

    A concept is what is said to be a ``skos:Concept``, or stands on a side of broader or
    narrower; in a file without any such statement, what has a prefLabel. What only another file
    describes keeps its address as name.
    """
    rdflib = need("rdflib", "skos", f"reading {source}")
    graph = rdflib.Graph()
    try:
        graph.parse(data=data, format=FORMATS[suffix])
    except Exception as error:  # each parser of rdflib has errors of its own
        first = " ".join(str(error).split())[:200] or type(error).__name__
        raise InputError(f"{source} is not valid {FORMATS[suffix]}: {first}") from error
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

    return {
        str(node): Concept(
            name=next(iter(texts(node, "prefLabel")), str(node)),
            parents=tuple(sorted(map(str, parents.get(node, ())))),
            description=" ".join(texts(node, "definition", "scopeNote")),
            alternatives=tuple(texts(node, "altLabel")),
        )
        for node in sorted(nodes)
    }


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
