"""What requests of Annif's REST API hold and answers bring, as Annif's own description has it.

See https://github.com/NatLibFi/Annif/blob/main/annif/openapi/annif.yaml, here of Annif 1.4. As
there, fields of other names are passed over.
"""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    FailFast,
    Field,
    RootModel,
    WithJsonSchema,
)

from labelgrove.service.schemas import LONGEST_NAME
from labelgrove.text.language import CODES

MOST_DOCUMENTS = 32  # of a batch
MOST_LANGUAGES = 5
LARGEST = 2**31 - 1  # format int32


def _digits(value: Any) -> Any:
    """Take no 3.0 or 1_000 in a form for a whole number."""
    if isinstance(value, str) and not re.fullmatch(r"[+-]?[0-9]{1,20}", value):
        raise ValueError("it should be a whole number")
    return value


Limit = Annotated[int, BeforeValidator(_digits), Field(ge=0, le=LARGEST)]
Language = Annotated[
    str,
    Field(min_length=2, max_length=3),
    WithJsonSchema({"type": "string", "enum": list(CODES)}),
]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class Wanted(BaseModel):
    """Which suggestions are wanted."""

    limit: Limit = Field(10, description="At most so many suggestions.")
    threshold: Share = Field(0.0, description="Least score of a suggestion.")
    language: str = Field(
        "", description="Language of the labels, which must be that of the vocabulary."
    )


class SuggestForm(Wanted):
    """A text, as the fields of a form; ``metadata_...`` and other fields are passed over."""

    text: str


class AnnifDocument(BaseModel):
    """A text with an id, or without."""

    model_config = ConfigDict(strict=True)

    text: str
    document_id: str = ""
    metadata: dict[str, str] = Field({}, description="It is not used.")


class SuggestBatch(BaseModel):
    """Documents that want suggestions."""

    documents: Annotated[list[AnnifDocument], FailFast()] = Field(max_length=MOST_DOCUMENTS)


class Subject(BaseModel):
    """A subject by its URI; where the tagger does not know this, by its label."""

    model_config = ConfigDict(strict=True)

    uri: str = Field(max_length=LONGEST_NAME, pattern=r"^[^\x00]*$")
    label: str = Field("", max_length=LONGEST_NAME)


class IndexedDocument(BaseModel):
    """A text and its subjects; without one of both it is passed over."""

    model_config = ConfigDict(strict=True)

    text: str = ""
    subjects: Annotated[list[Subject], FailFast()] = []
    metadata: dict[str, str] = Field({}, description="It is not used.")


PASSED_OVER_HEADER = {
    "description": "How many documents had no text or said nothing of subjects, if any.",
    "schema": {"type": "integer"},
}


class Learned(RootModel[list[IndexedDocument]]):
    """Documents to learn from."""


class DetectRequest(BaseModel):
    """A text and the languages that it may be in."""

    model_config = ConfigDict(strict=True)

    text: str
    languages: list[Language] = Field(min_length=1, max_length=MOST_LANGUAGES)


# --- answers ----------------------------------------------------------------------------------


class ApiInfo(BaseModel):
    """Which API this is, and the version of Annif that it follows."""

    title: str
    version: str


class AnnifVocab(BaseModel):
    """The labels of a tagger."""

    vocab_id: str
    languages: list[str]
    size: int
    loaded: bool


class AnnifVocabs(BaseModel):
    """A vocabulary for each tagger."""

    vocabs: list[AnnifVocab]


class ProjectBackend(BaseModel):
    """The model of a tagger."""

    backend_id: str


class Project(BaseModel):
    """A tagger."""

    project_id: str
    name: str
    language: str
    backend: ProjectBackend
    vocab: AnnifVocab
    vocab_language: str
    is_trained: bool
    modification_time: str


class ProjectList(BaseModel):
    """All taggers."""

    projects: list[Project]


class SuggestedSubject(BaseModel):
    """A label with its score."""

    uri: str
    label: str
    notation: None
    score: float


class Suggestions(BaseModel):
    """The suggestions for a text, best first."""

    results: list[SuggestedSubject]


class DocumentSuggestions(Suggestions):
    """The suggestions for a document of a batch."""

    document_id: str | None


class BatchSuggestions(RootModel[list[DocumentSuggestions]]):
    """The suggestions for each document, in their order."""


class LanguageScore(BaseModel):
    """How probable a language is; null is any other, or none."""

    language: str | None
    score: float


class DetectedLanguages(BaseModel):
    """The languages, the most probable first."""

    results: list[LanguageScore]
