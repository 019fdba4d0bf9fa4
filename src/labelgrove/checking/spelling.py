"""Labels that are spelled in several ways: by case, spaces, punctuation, or number."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from unicodedata import category, normalize

import numpy as np
from numpy.typing import NDArray

from labelgrove.labels.names import folded

SHORTEST = 3  # letters of a singular
_APART = ("Pd", "Pc", "Zs", "Ps", "Pe", "Pi", "Pf")  # dashes, brackets, quotes, spaces
_MARKS = ".,;:'\"/\\!?&´`"
# what a plural ends in, and the singular instead, by the language of the texts
PLURALS: dict[str, tuple[tuple[str, str], ...]] = {
    "en": (("ies", "y"), ("es", ""), ("s", ""), ("ves", "f")),
    "fr": (("s", ""), ("x", ""), ("aux", "al")),
    "es": (("es", ""), ("s", ""), ("ces", "z")),
    "pt": (("es", ""), ("s", ""), ("ões", "ão")),
    "nl": (("en", ""), ("s", "")),
    "de": (("en", ""), ("n", ""), ("e", ""), ("er", ""), ("s", "")),
    "it": (("i", "o"), ("e", "a"), ("i", "e")),
    "sv": (("er", ""), ("ar", ""), ("or", "a"), ("n", "")),
    "fi": (("t", ""),),
}
USUAL = PLURALS["en"]
AND = {  # what "&" is read as
    **{"en": "and", "fr": "et", "es": "y", "pt": "e", "nl": "en", "de": "und", "it": "e"},
    **{"sv": "och", "fi": "ja"},
}


@dataclass(frozen=True)
class Spelling:
    """A label that seems to be another one, which more documents have.

    Parameters
    ----------
    label, other
        Numbers of both; ``other`` is to replace ``label``.
    reason
        ``"case"``, ``"spaces"``, ``"punctuation"`` or ``"number"``.
    """

    label: int
    other: int
    reason: str


def spellings(
    ids: Sequence[str],
    counts: NDArray[np.int64],
    language: str | None = None,
    apart: Callable[[int, int], bool] = lambda one, other: False,
) -> list[Spelling]:
    """Return the labels that seem to be others, spelled differently.

    Parameters
    ----------
    ids
        The L labels.
    counts
        Documents of each, shape (L,).
    language
        The language of the labels, for plurals.
    apart
        Tells of two labels, by number, that they are meant to be two although one looks like the
        plural of the other.

    Examples
    --------
    >>> ids = ["energy policy", "Energy-Policy", "car", "cars", "A 1", "A1"]
    >>> found = spellings(ids, np.array([5, 1, 2, 9, 1, 1]), "en")
    >>> [(ids[each.label], ids[each.other], each.reason) for each in found]
    [('car', 'cars', 'number'), ('Energy-Policy', 'energy policy', 'punctuation')]
    """
    by_key: dict[str, list[int]] = defaultdict(list)
    for number, label in enumerate(ids):
        by_key[key(label)].append(number)
    by_key.pop("", None)
    _read_ampersands(by_key, ids, AND.get(language or "", AND["en"]))
    groups: dict[str, list[int]] = defaultdict(list)
    singulars = _singulars(by_key, PLURALS.get(language or "", USUAL), apart)
    for each, numbers in by_key.items():
        groups[singulars.get(each, each)] += numbers
    found = []
    for numbers in groups.values():
        best = min(numbers, key=lambda number: (-counts[number], ids[number]))
        found += [
            Spelling(number, best, _reason(ids[number], ids[best]))
            for number in numbers
            if number != best
        ]
    return sorted(found, key=lambda each: (-counts[each.label], ids[each.label]))


def key(label: str) -> str:
    """Return what labels have in common that differ in case, spaces and punctuation only.

    What stands beside a digit is kept: "A 1" and "A1", "1.2" and "12" are different labels.

    Examples
    --------
    >>> key("E-Mail (private)"), key("e mail private"), key("C++"), key("1.2"), key("12")
    ('emailprivate', 'emailprivate', 'c++', '1.2', '12')
    """
    text = folded(label)
    kept = [
        char
        for i, char in enumerate(text)
        if not (char in _MARKS or category(char) in _APART)
        or (0 < i < len(text) - 1 and (text[i - 1].isdigit() or text[i + 1].isdigit()))
    ]
    return "".join(kept).strip()


def _read_ampersands(by_key: dict[str, list[int]], ids: Sequence[str], word: str) -> None:
    """Put a label with "&" to the labels that have the word for it there, if there are any."""
    for each in [each for each, numbers in by_key.items() if any("&" in ids[n] for n in numbers)]:
        for number in [number for number in by_key[each] if "&" in ids[number]]:
            spelled = key(ids[number].replace("&", f" {word} "))
            if spelled in by_key and spelled != each:
                by_key[each].remove(number)
                by_key[spelled].append(number)
        if not by_key[each]:
            del by_key[each]


def _singulars(
    by_key: Mapping[str, Sequence[int]],
    endings: Sequence[tuple[str, str]],
    apart: Callable[[int, int], bool],
) -> dict[str, str]:
    """Return the singular of each plural that is among the keys; no singular is a plural too."""
    singulars: dict[str, str] = {}
    taken: set[str] = set()
    for plural in sorted(by_key, key=len):  # the singular is mostly shorter, and comes first
        if plural in taken:
            continue
        for singular in _possible_singulars(plural, endings):
            known = by_key.get(singular)
            if known and not apart(known[0], by_key[plural][0]):
                singulars[plural] = singulars.get(singular, singular)
                taken.add(singulars[plural])
                break
    return singulars


def _possible_singulars(word: str, endings: Iterable[tuple[str, str]]) -> Iterator[str]:
    for ending, instead in endings:
        stem = word.removesuffix(ending)
        if stem == word or len(stem + instead) < SHORTEST or not stem[-1].isalpha():
            continue
        if ending == "s" and stem[-1] in "su":  # glass, virus
            continue
        if ending == "es" and not stem.endswith(
            ("s", "x", "z", "ch", "sh", "o", "r", "n", "l", "d")
        ):
            continue
        yield stem + instead


def _reason(label: str, other: str) -> str:
    if folded(label) == folded(other):
        one, two = (" ".join(normalize("NFKC", each).split()) for each in (label, other))
        return "spaces" if one == two else "case"
    if folded(label).replace(" ", "") == folded(other).replace(" ", ""):
        return "spaces"
    same = key(label) == key(other) or ("&" in label) != ("&" in other)
    return "punctuation" if same else "number"
