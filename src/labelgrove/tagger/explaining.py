"""What in a text spoke for a label: words, and similar documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from labelgrove.core.errors import InputError
from labelgrove.core.estimator import Featurizer
from labelgrove.core.features import View, Views
from labelgrove.core.ranking import RANKING_DEPTH
from labelgrove.core.types import Explanation
from labelgrove.labels import LabelSpace
from labelgrove.tagger.state import FittedState

if TYPE_CHECKING:
    from labelgrove.tagger.tagger import Tagger


class Evidence(NamedTuple):
    """Words of a text that spoke for a label (positive weight) or against it."""

    text: str
    weight: float
    places: tuple[tuple[int, int], ...]


class SimilarDocument(NamedTuple):
    """A remembered document that is like a text.

    Parameters
    ----------
    text
        How it begins; empty where that is not known.
    similarity
        The cosine of both, at most 1.
    labels
        Names of its labels.
    has_label
        Whether the label asked for is among them.
    """

    text: str
    similarity: float
    labels: tuple[str, ...]
    has_label: bool


class Reasons(list[Evidence]):
    """Words behind a label.

    Parameters
    ----------
    words
        The words.
    neighbours
        Similar documents that a model thought of.
    parts
        What else spoke, as pairs of a name and a weight on the scale of the words' weights: such
        as the meaning of the whole text.
    """

    def __init__(
        self,
        words: Iterable[Evidence],
        neighbours: Sequence[SimilarDocument],
        parts: Sequence[tuple[str, float]] = (),
    ) -> None:
        super().__init__(words)
        self.neighbours = neighbours
        self.parts = parts


def explain(learned: FittedState, text: str, label: str) -> Reasons:
    """Return the words of a text behind a label, given by id or name; see `Tagger.explain`."""
    number = _learned_label(learned, label)
    X: Any = learned.features([text])
    explanation = learned.model.explain(X, 0, number)
    view = X[explanation.view] if isinstance(X, Views) else X
    words = words_behind(learned.featurizers[explanation.view], text, explanation, view)
    near = _similar(learned.labels.names, explanation, number)
    return Reasons(words, near, explanation.parts)


def words_behind(
    featurizer: Featurizer, text: str, explanation: Explanation, view: View
) -> list[Evidence]:
    """Return the words that an explanation speaks of, the heaviest first.

    Parameters
    ----------
    featurizer
        Of the view that the explanation belongs to.
    text
        The text that was explained.
    explanation
        What the model said.
    view
        Features of the text, which tell whether weights are of features or of tokens.
    """
    by_feature = issparse(view)
    weights = dict(zip(explanation.ids.tolist(), explanation.weights.tolist(), strict=True))
    places: dict[int, list[tuple[int, int]]] = {}
    for position, (feature, start, end) in enumerate(featurizer.spans(text)):
        places.setdefault(feature if by_feature else position, []).append((start, end))
    words = [
        Evidence(text[spots[0][0] : spots[0][1]], weights[key], tuple(spots))
        for key, spots in places.items()
        if key in weights
    ]
    return sorted(words, key=lambda evidence: -abs(evidence.weight))


class LabelWord(NamedTuple):
    """A word with its weight for a label: positive speaks for the label in any text."""

    text: str
    weight: float


@dataclass(frozen=True)
class LabelWords:
    """What a tagger has learned about a label.

    Parameters
    ----------
    label, name
        The label's id and name.
    documents
        How many training documents have it.
    words
        The heaviest words, those that speak for the label first.
    """

    label: str
    name: str
    documents: int
    words: tuple[LabelWord, ...]

    def record(self) -> dict[str, Any]:
        """Return the same as plain values, for JSON."""
        return {
            "label": self.label,
            "name": self.name,
            "training_documents": self.documents,
            "words": [word._asdict() for word in self.words],
        }


def explain_label(learned: FittedState, label: str, k: int) -> LabelWords:
    """Return the k heaviest words of a label, given by id or name; see `Tagger.explain_label`."""
    if k < 1:
        raise InputError(f"k must be a whole number from 1, got {k}")
    number = _learned_label(learned, label)
    told = learned.model.explain_label(number)
    heaviest = np.argsort(-np.abs(told.weights), kind="stable")[:k]
    heaviest = heaviest[np.argsort(-told.weights[heaviest], kind="stable")]
    terms = learned.featurizers[told.view].terms(told.ids[heaviest].tolist())
    words = map(LabelWord, terms, told.weights[heaviest].tolist())
    space = learned.labels
    return LabelWords(space.ids[number], space.names[number], _count(space, number), (*words,))


def _count(space: LabelSpace, label: int) -> int:
    return int(space.counts[label]) if label < space.n_labels else 0


def _learned_label(learned: FittedState, label: str) -> int:
    number = learned.labels.find(label)
    if number >= learned.labels.n_labels:
        raise InputError(f"{label!r} had no document in training, so nothing was learned of it")
    return number


@dataclass(frozen=True)
class Explained:
    """A label of a text with what spoke for it.

    Parameters
    ----------
    label, name
        The label's id and name.
    score
        Its probability, or None where it is not among the best 100.
    reasons
        Words and documents behind it.
    documents
        How many training documents have it.
    """

    label: str
    name: str
    score: float | None
    reasons: Reasons
    documents: int

    @property
    def known(self) -> str:
        """The probability for a reader."""
        return f"not among the best {RANKING_DEPTH}" if self.score is None else f"{self.score:.2f}"

    def record(self) -> dict[str, Any]:
        """Return the same as plain values, for JSON."""
        return {
            "label": self.label,
            "name": self.name,
            "score": self.score,
            "training_documents": self.documents,
            "words": [word._asdict() for word in self.reasons],
            "parts": [{"name": name, "weight": weight} for name, weight in self.reasons.parts],
            "documents": [near._asdict() for near in self.reasons.neighbours],
        }


def explained(
    tagger: Tagger,
    text: str,
    labels: Sequence[str] = (),
    k: int = 3,
    beside: Callable[[Reasons, str], Reasons] | None = None,
) -> Iterator[Explained]:
    """Explain these labels of a text, given by id or name, or its best k where none is given.

    ``beside`` may add to the reasons for a label, given by its id.
    """
    ranked = tagger.tag(text, k=max(k, RANKING_DEPTH))
    scores = {tag.label: tag.score for tag in ranked}
    space = tagger.labels_
    for number in [space.find(each) for each in labels or [tag.label for tag in ranked[:k]]]:
        label = space.ids[number]
        reasons = tagger.explain(text, label)
        if beside is not None:
            reasons = beside(reasons, label)
        name, count = space.names[number], _count(space, number)
        yield Explained(label, name, scores.get(label), reasons, count)


def _similar(names: Sequence[str], explanation: Explanation, label: int) -> list[SimilarDocument]:
    return [
        SimilarDocument(
            near.text,
            near.similarity,
            tuple(names[number] for number in near.labels),
            label in near.labels,
        )
        for near in explanation.neighbours
    ]
