"""Names in place of ids: which concept a label of the data means."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from itertools import islice
from typing import TYPE_CHECKING
from unicodedata import normalize

from labelgrove.core.wording import several

if TYPE_CHECKING:
    from labelgrove.labels.space import LabelSpace
    from labelgrove.labels.vocabulary import Vocabulary

SHOWN = 3  # examples in a message


def folded(name: str) -> str:
    """Return a name without differences of case, of Unicode form and of white space.

    Examples
    --------
    >>> folded("Energy  POLICY"), folded("Straße") == folded("STRASSE")
    ('energy policy', True)
    """
    if not name.isascii():
        name = normalize("NFKC", normalize("NFKC", name).casefold())
    return " ".join(name.lower().split())


class NameIndex:
    """Finds concepts by their names, other names, and ids in another case.

    Parameters
    ----------
    names
        The name of each concept.
    alternatives
        The other names of each.
    ids
        The id of each; the names when None.

    Examples
    --------
    >>> index = NameIndex(["Dogs", "Mercury", "Mercury"], [("Hounds",), (), ()])
    >>> index.lookup("hounds"), index.lookup("Mercury")
    ([0], [1, 2])
    """

    def __init__(
        self,
        names: Sequence[str],
        alternatives: Sequence[Sequence[str]],
        ids: Sequence[str] | None = None,
    ) -> None:
        self._names, self._alternatives = names, alternatives
        self._by_id: dict[str, list[int]] = {}
        self._by_name: dict[str, list[int]] = {}
        self._by_other: dict[str, list[int]] = {}
        for i, label in enumerate(names if ids is None else ids):
            self._by_id.setdefault(folded(label), []).append(i)
        for i, name in enumerate(names):
            self._by_name.setdefault(folded(name), []).append(i)
        for i, texts in enumerate(alternatives):
            for text in dict.fromkeys(map(folded, texts)):
                self._by_other.setdefault(text, []).append(i)

    def lookup(self, text: str) -> list[int]:
        """Return the numbers of the concepts with this name.

        A name that is written alike comes before one that differs in case, and a concept's name
        before another name of it. Where that is no concept or several, the id may differ in case.
        """
        key = folded(text)
        named, others = self._by_name.get(key, []), self._by_other.get(key, [])
        meant = (
            [i for i in named if self._names[i] == text]
            or [i for i in others if text in self._alternatives[i]]
            or named
            or others
        )
        return meant if len(meant) == 1 else self._by_id.get(key, meant)


class LabelMatcher:
    """Turns labels of documents into ids: an id stays, a name becomes the id of its concept.

    What is neither, or the name of several concepts, stays as it is and is counted.

    Parameters
    ----------
    source
        What messages call the vocabulary.
    ids
        All ids; what is among them is never taken for a name.
    ids_of
        Returns the ids of the concepts with a name, or with an id that differs in case; None where
        there are no names, and every label stays as it is.

    Examples
    --------
    >>> matcher = LabelMatcher("labels.tsv", {"d"}, {"Dogs": ["d"], "Mercury": ["p", "m"]}.get)
    >>> matcher(("d", "Dogs")), matcher(("Mercury",))
    (('d',), ('Mercury',))
    >>> matcher.note()
    "1 label is a name in labels.tsv and taken for its id ('Dogs' for 'd'); 1 is the name of \
several concepts and stays as it is ('Mercury' of 'p', 'm'): write the id"
    """

    def __init__(
        self,
        source: str,
        ids: Container[str],
        ids_of: Callable[[str], Sequence[str] | None] | None,
    ) -> None:
        self._source, self._ids, self._ids_of = source, ids, ids_of
        self._meant: dict[str, str] = {}  # of all labels that are no ids
        self._ambiguous: dict[str, Sequence[str]] = {}

    @classmethod
    def of_vocabulary(cls, vocabulary: Vocabulary | None) -> LabelMatcher:
        """Return what finds ids by the names of a vocabulary."""
        if vocabulary is None or not vocabulary.by_name:
            return cls("", (), None)
        ids = list(vocabulary.concepts)
        concepts = vocabulary.concepts.values()

        def build() -> NameIndex:
            return NameIndex([c.name for c in concepts], [c.alternatives for c in concepts], ids)

        return cls(vocabulary.source, _Bare(vocabulary.concepts), _lazily(ids, build))

    @classmethod
    def of_space(cls, space: LabelSpace, source: str = "the tagger") -> LabelMatcher:
        """Return what finds ids by the names of a label space that has some.

        Labels are preferred to other concepts. In a space without a vocabulary, labels that
        differ only in case are different labels.
        """
        if not space.has_vocabulary:
            return cls(source, (), None)
        return cls(source, space, lambda name: [space.ids[i] for i in space.lookup(name)])

    def __call__(self, labels: Sequence[str]) -> Sequence[str]:
        """Return the ids that the labels of a document mean, each once."""
        if self._ids_of is None or all(label in self._ids for label in labels):
            return labels
        return tuple(dict.fromkeys(map(self._id, labels)))

    def _id(self, label: str) -> str:
        if label in self._ids or not isinstance(label, str) or self._ids_of is None:
            return label
        known = self._meant.get(label)
        if known is None:
            found = self._ids_of(label) or ()
            if len(found) > 1:
                self._ambiguous[label] = found
            known = self._meant[label] = found[0] if len(found) == 1 else label
        return known

    def note(self, *, unmatched: bool = True) -> str:
        """Return in one line what became of the labels that are no ids; empty without any.

        Parameters
        ----------
        unmatched
            Count those that are neither ids nor names too.
        """
        named = {label: own for label, own in self._meant.items() if label != own}
        rest = [x for x in self._meant if x not in named and x not in self._ambiguous]
        told = []
        if named:
            shown = _some([f"{label!r} for {own!r}" for label, own in islice(named.items(), SHOWN)])
            told.append(
                f"{several(len(named), 'is a name', 'are names')} in {self._source} and taken for "
                f"{'its id' if len(named) == 1 else 'their ids'} ({shown})"
            )
        if self._ambiguous:
            pairs = islice(self._ambiguous.items(), SHOWN)
            shown = _some([f"{x!r} of {', '.join(map(repr, ids[:SHOWN]))}" for x, ids in pairs])
            told.append(
                f"{several(len(self._ambiguous), 'is the name', 'are names')} of several concepts "
                f"and {_stay(len(self._ambiguous))} ({shown}): write the id"
            )
        if rest and unmatched:
            shown = ", ".join(map(repr, rest[:SHOWN]))
            told.append(
                f"{several(len(rest), 'is', 'are')} neither an id nor a name in {self._source} and "
                f"{_stay(len(rest))} ({shown}): correct the spelling, or add the concept to it"
            )
        if not told:
            return ""
        count, _, words = told[0].partition(" ")
        told[0] = f"{count} label{'' if count == '1' else 's'} {words}"
        return "; ".join(told)


class _Bare:
    """Contains ids, also those in angle brackets."""

    def __init__(self, ids: Container[str]) -> None:
        self._ids = ids

    def __contains__(self, label: object) -> bool:
        from labelgrove.labels.vocabulary import bare

        return label in self._ids or (isinstance(label, str) and bare(label) in self._ids)


def _lazily(ids: Sequence[str], build: Callable[[], NameIndex]) -> Callable[[str], Sequence[str]]:
    """Return what finds ids by name; the index is built for the first name, not for ids alone."""
    built: list[NameIndex] = []

    def ids_of(name: str) -> Sequence[str]:
        if not built:
            built.append(build())
        return [ids[i] for i in built[0].lookup(name)]

    return ids_of


def _some(examples: Sequence[str]) -> str:
    return "; ".join(examples) if any("," in each for each in examples) else ", ".join(examples)


def _stay(count: int) -> str:
    return "stays as it is" if count == 1 else "stay as they are"
