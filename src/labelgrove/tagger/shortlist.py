"""The best labels of a text as candidates for somebody else to choose from, as plain data.

A language model, a program or a person cannot choose among 100,000 labels; among fifty they can.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, Literal, TypedDict

from labelgrove.core.errors import InputError
from labelgrove.core.types import Document
from labelgrove.labels.distinct import details, distinct_names
from labelgrove.models.rerank.prompts import INSTRUCTION, NamedLabel, prompt, schema
from labelgrove.tagger.tagger import Tagger

By = Literal["name", "id"]


class Candidate(TypedDict):
    """A label that may belong to a text.

    Parameters
    ----------
    label, name
        Its id and its name, which other labels may have too.
    choice
        A name that no other label of the tagger has: ``"facet: tag"`` where a name is shared.
    details
        Its description, or the path to it; may be empty.
    score
        The probability that it belongs to the text.
    """

    label: str
    name: str
    choice: str
    details: str
    score: float


class Shortlists:
    """Makes shortlists with a tagger.

    Parameters
    ----------
    tagger
        A fitted tagger.
    k
        Labels of each text, at most.

    Examples
    --------
    >>> texts, labels = ["red apples", "a red car", "green cars"], [["fruit"], ["car"], ["car"]]
    >>> tagger = Tagger("one-vs-rest", validation=0).fit(texts * 4, labels * 4)
    >>> candidates = Shortlists(tagger, k=2).of("a green car")
    >>> [each["choice"] for each in candidates]
    ['car', 'fruit']
    >>> candidate_schema(candidates)["properties"]["labels"]["items"]["enum"]
    ['car', 'fruit']
    """

    def __init__(self, tagger: Tagger, k: int = 50) -> None:
        if k < 1:
            raise InputError(f"k must be a whole number from 1, got {k}")
        self.tagger, self.k = tagger, k

    @cached_property
    def _choices(self) -> list[str]:
        return distinct_names(self.tagger.labels_)

    def of(self, text: str) -> list[Candidate]:
        """Return the candidates of one text, the most likely first."""
        return next(found for _, found in self.stream([Document(text)]))

    def stream(
        self, documents: Iterable[Document], progress: Any = None
    ) -> Iterator[tuple[Document, list[Candidate]]]:
        """Yield each document with its candidates; one without text has none."""
        space = self.tagger.labels_
        for document, tags in self.tagger.stream(documents, self.k, progress=progress):
            found = []
            for tag in tags:
                number = space.index(tag.label)
                found.append(
                    Candidate(
                        label=tag.label,
                        name=tag.name,
                        choice=self._choices[number],
                        details=details(space, number),
                        score=float(tag.score),
                    )
                )
            yield document, found


def candidate_schema(
    candidates: Sequence[Candidate], by: By = "name", *, unique: bool = False
) -> dict[str, Any]:
    """Return a JSON schema that allows an object with some of the candidates, and nothing else.

    Parameters
    ----------
    candidates
        Of a text.
    by
        Whether an answer gives their ``choice`` or their ids.
    unique
        Say also that none occurs twice (``uniqueItems``), which OpenAI's strict mode and many
        others refuse.
    """
    if not candidates:
        raise InputError("there are no candidates for a schema to allow: is the text empty?")
    return schema(_answers(candidates, by), unique=unique)


def candidate_prompt(
    text: str, candidates: Sequence[Candidate], by: By = "name", instruction: str = INSTRUCTION
) -> str:
    """Return a question for a language model: what to do, the text, its candidates, the answer.

    Parameters
    ----------
    text, candidates
        The text and its candidates.
    by
        Whether an answer gives their ``choice`` or their ids.
    instruction
        How the question begins.
    """
    if by == "id":
        told = [": ".join(filter(None, (each["choice"], each["details"]))) for each in candidates]
    else:
        told = [each["details"] for each in candidates]
    choices = [NamedLabel(*each) for each in zip(_answers(candidates, by), told, strict=True)]
    return prompt(text, choices, instruction)


def _answers(candidates: Sequence[Candidate], by: By) -> list[str]:
    return [each["label"] if by == "id" else each["choice"] for each in candidates]
