"""What requests hold and answers bring, as OpenAPI tells it."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    FailFast,
    Field,
    WithJsonSchema,
    model_validator,
)

MOST_LABELS = 1_000  # of a text
LONGEST_NAME = 1_000  # characters of a label in feedback
FARTHEST = 100_000  # how far labels can be gone through
MOST_DOCUMENTS = 10**9  # of a queue to review
NAMED = ("auto", "macro", "per-label", "own")
PROMISE = r"^(precision|recall)=0?\.0{0,4}[1-9][0-9]{0,4}$"  # such as precision=0.9


def _whole(value: Any) -> Any:
    """Take 5.0 for 5, as JSON does."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _threshold(value: Any) -> Any:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    promise = isinstance(value, str) and re.search(PROMISE, value)
    if value is None or value in NAMED or (number and 0 <= value <= 1) or promise:
        return value
    raise ValueError(
        "a threshold is a number from 0 to 1, auto, macro, per-label, own, or a promise such as "
        "precision=0.9 or recall=0.9"
    )


Whole = Annotated[int, BeforeValidator(_whole)]
Threshold = Annotated[
    Any,
    BeforeValidator(_threshold),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "number", "minimum": 0, "maximum": 1},
                {"type": "string", "enum": list(NAMED)},
                {"type": "string", "pattern": PROMISE},
                {"type": "null"},
            ]
        }
    ),
]
Model = Annotated[
    str,
    Field(
        max_length=LONGEST_NAME, description="Name of a tagger; the first one where it is left out."
    ),
]
# what a file of documents can hold: not empty, and no NUL
Label = Annotated[str, Field(max_length=LONGEST_NAME, pattern=r"^[^\x00]*[^\x00\s][^\x00]*$")]


class Strict(BaseModel):
    """A request: no value of another type, no field of another name."""

    model_config = ConfigDict(extra="forbid", strict=True)


class TagRequest(Strict):
    """One text, or several, to be tagged."""

    model_config = ConfigDict(
        json_schema_extra={
            "oneOf": [{"required": ["text"]}, {"required": ["texts"]}],
            "examples": [{"text": "Solar panels on public buildings", "k": 5}],
        }
    )

    text: str = Field("", description="A text.")
    texts: Annotated[list[str], FailFast()] = Field(
        [], description="Several texts instead.", min_length=1
    )
    k: Whole = Field(5, ge=1, le=MOST_LABELS, description="At most so many labels a text.")
    threshold: Threshold = Field(
        None,
        description="Least probability of a label: a number, auto (best micro-F1 on held-out "
        "documents), macro (best macro-F1), per-label (one for each), own (what the model "
        "decides), precision=0.9 (such a share of the labels is right) or recall=0.9 (such a "
        "share of the true labels is found); null for none.",
    )
    hierarchy: Literal["closed", "leaf"] | None = Field(
        None,
        description="What becomes of broader labels: closed gives all labels above a given one "
        "too, leaf gives a label only where none below it is given; null changes nothing.",
    )
    model: Model = ""

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if len(self.model_fields_set & {"text", "texts"}) != 1:
            raise ValueError("give either text or texts")
        return self

    def all(self) -> list[str]:
        """Return the texts, also where there is one."""
        return self.texts if "texts" in self.model_fields_set else [self.text]


class ExplainRequest(Strict):
    """A text and one of its labels."""

    text: str
    label: Label = Field(description="A label's id or name.")
    model: Model = ""


class FeedbackRequest(Strict):
    """What is right about a text."""

    text: str = Field(min_length=1)
    labels: Annotated[list[Label], FailFast()] = Field(
        max_length=MOST_LABELS,
        description="All labels that are right, by id or name, whether they were suggested or not.",
    )
    rejected: Annotated[list[Label], FailFast()] = Field(
        [], max_length=MOST_LABELS, description="Suggested labels that are wrong."
    )
    model: Model = ""
    id: str = Field(
        "", max_length=LONGEST_NAME, pattern=r"^[^\x00]*$", description="The document's own id."
    )
    allow_new: bool = Field(False, description="Take labels that the tagger does not know.")


class LabelQuery(Strict):
    """Which labels are asked for: one by id, a search, or what lies below a label."""

    model_config = ConfigDict(strict=False)

    model: Model = ""
    q: str = Field(
        "",
        max_length=LONGEST_NAME,
        description="Labels of whose name or id a word begins so, frequent ones first.",
    )
    parent: str = Field(
        "",
        max_length=LONGEST_NAME,
        description="Labels right below this id; the top level by default.",
    )
    id: str = Field("", max_length=LONGEST_NAME, description="This label alone.")
    limit: int = Field(50, ge=1, le=MOST_LABELS)
    offset: int = Field(0, ge=0, le=FARTHEST)


class ReviewQuery(Strict):
    """Which document of the queue is asked for: the next one to decide, or one by its number."""

    model_config = ConfigDict(strict=False)

    model: Model = ""
    start: int = Field(
        1,
        alias="from",
        ge=1,
        le=MOST_DOCUMENTS,
        description="The first document from this number on that has no feedback yet.",
    )
    number: int | None = Field(
        None, ge=1, le=MOST_DOCUMENTS, description="This document, decided or not."
    )


# --- answers ----------------------------------------------------------------------------------


class GivenLabel(BaseModel):
    """A label with the probability that it belongs to the text."""

    label: str
    name: str
    score: float = Field(ge=0, le=1)


class TaggedText(BaseModel):
    """The labels of a text, best first."""

    labels: list[GivenLabel]


class TagAnswer(BaseModel):
    """What each text was given, in the order of the texts."""

    model: str
    results: list[TaggedText]
    notes: list[str] = Field([], description="What to know about these labels.")


class Word(BaseModel):
    """Words that spoke for a label (positive weight) or against it."""

    text: str
    weight: float
    places: list[tuple[int, int]] = Field(
        description="Where it stands in the text: start and end, in Unicode code points."
    )


class SimilarText(BaseModel):
    """A document that the tagger remembers and that is like the text."""

    text: str
    similarity: float
    labels: list[str]
    has_label: bool


class ExplainedPart(BaseModel):
    """A named part of the score, such as the meaning of the whole text."""

    name: str
    weight: float


class ExplainAnswer(BaseModel):
    """Why a label was given, heaviest words first."""

    model: str
    label: str
    name: str
    score: float | None = Field(description="Its probability; null if not among the best 100.")
    training_documents: int = Field(description="Training documents that have the label.")
    words: list[Word]
    parts: list[ExplainedPart]
    documents: list[SimilarText]


class LabelName(BaseModel):
    """A label's id and name."""

    label: str
    name: str


class LabelEntry(LabelName):
    """A label or concept that a tagger knows."""

    description: str
    documents: int = Field(description="Documents it was learned from.")
    learned: bool = Field(description="Whether the tagger can give it.")
    path: list[LabelName] = Field(description="What it lies below, from the top down.")
    children: int = Field(description="How many lie right below it.")


class LabelsAnswer(BaseModel):
    """Labels, and whether there are more behind them."""

    model: str
    labels: list[LabelEntry]
    more: bool


class Features(BaseModel):
    """How texts become numbers."""

    name: str
    settings: dict[str, Any]


class ThresholdRow(BaseModel):
    """What a threshold gives on held-out documents."""

    threshold: float
    precision: float = Field(description="Share of the given labels that are right.")
    recall: float = Field(description="Share of the true labels that are given.")
    labels: float = Field(description="Given labels per document.")
    documents: float = Field(description="Share of the documents with at least one label.")


class ModelCard(BaseModel):
    """What there is to know of a tagger."""

    name: str
    version: str = Field(
        description="Which saved tagger this is: the header Tagger-Version of its answers."
    )
    model: str
    summary: str
    paper: str
    labels: int
    documents: int
    hierarchy: bool
    bytes: int
    created: str
    loaded: str
    labelgrove: str
    settings: dict[str, Any]
    features: dict[str, Features]
    scores: dict[str, float] = Field(description="On held-out documents, if there were any.")
    thresholds: dict[str, float] | None
    by_threshold: list[ThresholdRow] = Field(
        description="What thresholds give on held-out documents, the highest first."
    )
    reading: dict[str, Any] = Field(
        description="How the files of the training were read: arguments of 'read_corpus', without "
        "those that are as by default and without merges of labels."
    )
    feedback: bool


class ServedLimits(BaseModel):
    """What a request may hold."""

    body: int
    texts: int
    length: int
    seconds: float


class ModelsAnswer(BaseModel):
    """All taggers, and what a request may hold."""

    models: list[ModelCard]
    limits: ServedLimits
    examples: list[str] = Field([], description="Texts to try, of 'labelgrove serve --examples'.")
    review: bool = Field(False, description="Whether there is a queue to review.")


class ReviewedLabel(LabelName):
    """A label in a queue, with the tagger's id and name if it is one of the tagger's."""

    known: bool = Field(description="Whether the tagger knows it; feedback may hold others too.")


class SuggestedLabel(ReviewedLabel):
    """A label to be judged."""

    kind: Literal["missing", "wrong", "proposed"]
    score: float = Field(ge=0, le=1, description="How probable it is that this is right.")
    reasons: list[str]


class DecidedLabels(BaseModel):
    """The last feedback on a document."""

    labels: list[ReviewedLabel]
    rejected: list[ReviewedLabel]
    time: str


class QueuedDocument(BaseModel):
    """A document of the queue; feedback on it is given by its text."""

    number: int = Field(description="Its place in the queue, from 1.")
    id: str | None
    text: str
    learned: bool | None = Field(
        description="Whether the tagger has learned from this text; null where it does not know."
    )
    labels: list[ReviewedLabel] = Field(description="Its labels as the queue has them.")
    suggestions: list[SuggestedLabel]
    decision: DecidedLabels | None


class ReviewAnswer(BaseModel):
    """The document that was asked for, and how far the review is."""

    model: str
    queue: str = Field(description="Another one after the review file was replaced.")
    documents: int
    decided: int = Field(description="How many of them have feedback.")
    document: QueuedDocument | None = Field(description="null where none is left to decide.")
    retrain: str = Field(description="The command that learns from the feedback.")


class FeedbackAnswer(BaseModel):
    """What was written to the disk."""

    model: str
    labels: list[str] = Field(description="Ids of the labels.")
    new: list[str] = Field(description="Those that the tagger does not know.")
    stored: bool


class ReloadAnswer(BaseModel):
    """The taggers that were loaded anew."""

    reloaded: list[str]


class Health(BaseModel):
    """That the service answers, and for which taggers."""

    status: str
    models: list[str] = Field(
        description="Names of the taggers; none where a probe calls the service by another name."
    )
