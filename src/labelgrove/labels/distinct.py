"""Names that tell labels apart: for answers that name labels, such as those of language models."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from labelgrove.labels.space import LabelSpace


def distinct_names(space: LabelSpace) -> list[str]:
    """Return a name for each of the L labels that no other label has, on one line.

    A name that several labels share becomes its path, ``"facet: tag"``, and where that is shared
    too, the id stands behind it.

    Examples
    --------
    >>> from labelgrove.labels import LabelSpace
    >>> names = ["planets", "metals", "Mercury", "Mercury", "Venus"]
    >>> parents = [[], [], [0], [1], [0]]
    >>> distinct_names(LabelSpace("abcde", [1] * 5, 5, names=names, parents=parents))
    ['planets', 'metals', 'planets: Mercury', 'metals: Mercury', 'Venus']
    """
    plain = [one_line(name) or label for name, label in zip(space.names, space.ids, strict=True)]
    own = plain[: space.n_labels]
    shared = Counter(own)
    for i, name in enumerate(own):
        if shared[name] > 1:
            own[i] = ": ".join(plain[j] for j in space.path(i))
    shared = Counter(own)
    taken: set[str] = set()
    for i, name in enumerate(own):
        if shared[name] > 1:
            name = f"{name} ({space.ids[i]})"
        while name in taken:  # some label is called like another one with its id
            name = f"{name} ({space.ids[i]})"
        own[i] = name
        taken.add(name)
    return own


def details(space: LabelSpace, i: int) -> str:
    """Return on one line what is known of label ``i`` beside its name: description, or path."""
    if space.descriptions[i]:
        return one_line(space.descriptions[i])
    above = [one_line(space.names[j]) for j in space.path(i)[:-1]]
    return f"in {': '.join(above)}" if above else ""


def one_line(text: str) -> str:
    """Return a text without line ends and runs of blanks."""
    return " ".join(text.split())
