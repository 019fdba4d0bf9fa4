"""Annif's REST API over the same taggers: each one is a project, its labels a vocabulary.

The ways in, their statuses and the form of errors are those of Annif 1.4, so that its clients
work unchanged. Keys, rates, limits, hosts and origins are checked as for every other route.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, FastAPI, Query, Request, Response
from fastapi.routing import APIRoute
from pydantic_core import from_json, to_json

from labelgrove._version import __version__
from labelgrove.core.errors import UnknownNameError
from labelgrove.service import annif_schemas as schemas
from labelgrove.service import openapi
from labelgrove.service.annif_problems import BAD, AnnifProblemError, problem_of
from labelgrove.service.answering import answered_by, in_time, json_answer, spend
from labelgrove.service.bodies import (
    NOTES,
    ROUTE,
    HeldBytes,
    check_length,
    read,
    read_form,
    too_many,
)
from labelgrove.service.headers import PASSED_OVER
from labelgrove.service.schemas import MOST_LABELS
from labelgrove.service.served import Served
from labelgrove.service.taggers import ServedTaggers, TaggerQueue, text_weight
from labelgrove.text.language import candidate_scores, detect_language

VERSION = "1.4"  # of Annif, whose API this is
UNDETERMINED = "und"  # as BCP 47 calls a language that nobody knows
NAMES = 300  # of labels that are looked at to guess their language
NOT_FOUND = "Project not found"
log = logging.getLogger("labelgrove.service")


class AnnifRoute(APIRoute):
    """A route that is counted by its template; its errors have Annif's form by their path."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return what answers a request."""
        answer = super().get_route_handler()

        async def handler(request: Request) -> Response:
            request.scope[NOTES][ROUTE] = self.path
            try:
                return await answer(request)
            except Exception as error:
                return problem_of(request, error).response()

        return handler


class Projects:
    """The taggers of a service as Annif's projects.

    Parameters
    ----------
    taggers
        The taggers.
    """

    def __init__(self, taggers: ServedTaggers) -> None:
        self._taggers = taggers
        names = (name for name, _ in taggers.settings.taggers)
        self._languages = dict(zip(names, taggers.settings.languages, strict=False))
        self._guessed: dict[str, tuple[Served, str]] = {}

    def queue(self, project: str) -> TaggerQueue:
        """Return the queue of a project."""
        try:
            return self._taggers.queue(project)
        except UnknownNameError:
            said = f"Project '{project[:100]}' not found"
            raise AnnifProblemError(404, NOT_FOUND, said) from None

    def language(self, served: Served) -> str:
        """Return the language that the service was told, else the one of the labels' names."""
        if told := self._languages.get(served.name):
            return told
        known, language = self._guessed.get(served.name, (None, ""))
        if known is not served:
            names = [str(served.labels.names[i]) for i in range(min(NAMES, len(served.labels)))]
            language = detect_language(names) or UNDETERMINED
            self._guessed[served.name] = served, language
        return language

    def vocab(self, served: Served) -> dict[str, Any]:
        """Return the labels of a tagger as a vocabulary."""
        languages, size = [self.language(served)], len(served.labels)
        return {"vocab_id": served.name, "languages": languages, "size": size, "loaded": True}

    def describe(self, served: Served) -> dict[str, Any]:
        """Return a tagger as a project."""
        language = self.language(served)
        return {
            "project_id": served.name,
            "name": served.name,
            "language": language,
            "backend": {"backend_id": served.manifest["model"]},
            "vocab": self.vocab(served),
            "vocab_language": language,
            "is_trained": True,
            "modification_time": served.manifest["created"],
        }

    def all(self, of: Callable[[Served], dict[str, Any]]) -> list[dict[str, Any]]:
        """Return what there is to say of each tagger."""
        return [of(queue.served) for queue in self._taggers.queues()]

    async def suggest(
        self,
        request: Request,
        project: str,
        texts: Sequence[str],
        wanted: schemas.Wanted,
        place: str = "text",
    ) -> list[dict[str, Any]]:
        """Return the suggestions for texts, of which empty ones have none.

        ``place`` is where texts stand in the request, with ``{}`` for their number.
        """
        queue = self.queue(project)
        served = answered_by(request, queue.served)
        if wanted.language and wanted.language != await asyncio.to_thread(self.language, served):
            said = f'language "{wanted.language[:50]}" not supported by vocabulary'
            raise AnnifProblemError(400, BAD, said)
        limits = self._taggers.settings.limits
        request.scope[NOTES]["texts"] = texts
        if len(texts) > limits.texts:
            raise too_many(len(texts), limits)
        check_length(limits, list(texts), place)
        spend(request, sum(map(text_weight, texts)))
        results: list[dict[str, Any]] = [{"results": []} for _ in texts]
        filled = [number for number, text in enumerate(texts) if text.strip()]
        if not filled or not wanted.limit:
            return results
        answer = queue.tag(
            served,
            [texts[number] for number in filled],
            min(wanted.limit, MOST_LABELS),
            wanted.threshold or None,
        )
        tagged = from_json(b"[" + await in_time(answer, limits.seconds) + b"]")
        for number, each in zip(filled, tagged, strict=True):
            results[number]["results"] = [_suggestion(label) for label in each["labels"]]
        return results

    async def learn(self, request: Request, project: str, learned: schemas.Learned) -> int:
        """Keep documents as feedback, and return how many were passed over, once the disk has them.

        As in Annif, a document without a text, or that says nothing of subjects, is no lesson.
        """
        limits = self._taggers.settings.limits
        kept = {
            number: each
            for number, each in enumerate(learned.root)
            if each.text and "subjects" in each.model_fields_set
        }
        texts = [each.text for each in kept.values()]
        request.scope[NOTES]["texts"] = texts
        if len(texts) > limits.texts:
            raise too_many(len(texts), limits)
        check_length(limits, texts, "[{}].text")
        queue = self.queue(project)
        if queue.feedback is None:
            said = f"Project '{project[:100]}' is not configured to allow learning via API"
            raise AnnifProblemError(403, "Learning not allowed", said)
        spend(request, sum(map(text_weight, texts)))
        served = answered_by(request, queue.served)
        records = await asyncio.to_thread(_records, served, kept)
        writing = asyncio.gather(*map(queue.write, records), return_exceptions=True)
        for outcome in await in_time(writing, limits.seconds):
            if outcome is not None:
                raise outcome
        return len(learned.root) - len(kept)


def add_annif(app: FastAPI, taggers: ServedTaggers, held: HeldBytes) -> None:
    """Let an app answer Annif's clients."""
    router = APIRouter(route_class=AnnifRoute, tags=[openapi.ANNIF])
    projects = Projects(taggers)
    _told(router, projects)
    _suggesting(router, projects, taggers, held)
    _learning(router, projects, taggers, held)
    app.include_router(router)


def _told(router: APIRouter, projects: Projects) -> None:
    @router.get("/v1/", response_model=schemas.ApiInfo)
    async def info() -> Response:
        """Tell which API this is: Annif's, of the version that is followed."""
        title = f"Annif REST API of labelgrove {__version__}"
        return json_answer(to_json({"title": title, "version": VERSION}))

    @router.get("/v1/vocabs", response_model=schemas.AnnifVocabs)
    async def vocabs() -> Response:
        """List vocabularies: the labels of each tagger."""
        found = await asyncio.to_thread(projects.all, projects.vocab)
        return json_answer(to_json({"vocabs": found}))

    @router.get("/v1/projects", response_model=schemas.ProjectList)
    async def every() -> Response:
        """List projects, which are taggers."""
        found = await asyncio.to_thread(projects.all, projects.describe)
        return json_answer(to_json({"projects": found}))

    @router.get("/v1/projects/{project_id}", response_model=schemas.Project)
    async def one(request: Request, project_id: str) -> Response:
        """Tell what a project is."""
        served = answered_by(request, projects.queue(project_id).served)
        return json_answer(to_json(await asyncio.to_thread(projects.describe, served)))


def _suggesting(
    router: APIRouter, projects: Projects, taggers: ServedTaggers, held: HeldBytes
) -> None:
    limits = taggers.settings.limits

    @router.post(
        "/v1/projects/{project_id}/suggest",
        response_model=schemas.Suggestions,
        **openapi.operation(body=schemas.SuggestForm, form=True),
    )
    async def suggest(request: Request, project_id: str) -> Response:
        """Suggest labels for a text."""
        asked = await read_form(request, schemas.SuggestForm, limits, held)
        found = await projects.suggest(request, project_id, [asked.text], asked)
        return json_answer(to_json(found[0]))

    @router.post(
        "/v1/projects/{project_id}/suggest-batch",
        response_model=schemas.BatchSuggestions,
        **openapi.operation(body=schemas.SuggestBatch),
    )
    async def suggest_batch(
        request: Request, project_id: str, wanted: Annotated[schemas.Wanted, Query()]
    ) -> Response:
        """Suggest labels for up to 32 documents."""
        documents = (await read(request, schemas.SuggestBatch, limits, held)).documents
        texts = [document.text for document in documents]
        found = await projects.suggest(request, project_id, texts, wanted, "documents[{}].text")
        for document, each in zip(documents, found, strict=True):
            each["document_id"] = document.document_id or None
        return json_answer(to_json(found))


def _learning(
    router: APIRouter, projects: Projects, taggers: ServedTaggers, held: HeldBytes
) -> None:
    limits = taggers.settings.limits

    @router.post(
        "/v1/projects/{project_id}/learn",
        status_code=204,
        response_class=Response,
        responses={204: {"headers": {PASSED_OVER: schemas.PASSED_OVER_HEADER}}},
        **openapi.operation(body=schemas.Learned),
    )
    async def learn(request: Request, project_id: str) -> Response:
        """Keep documents and their labels as feedback, from which 'labelgrove retrain' learns."""
        asked = await read(request, schemas.Learned, limits, held)
        passed = await projects.learn(request, project_id, asked)
        if not passed:
            return Response(status_code=204)
        said = "%s: documents to learn without a text or without subjects, passed over: %d"
        log.warning(said, project_id, passed)
        return Response(status_code=204, headers={PASSED_OVER: str(passed)})

    @router.post(
        "/v1/detect-language",
        response_model=schemas.DetectedLanguages,
        **openapi.operation(body=schemas.DetectRequest),
    )
    async def detect(request: Request) -> Response:
        """Tell which of some languages a text is in."""
        asked = await read(request, schemas.DetectRequest, limits, held)
        request.scope[NOTES]["texts"] = [asked.text]
        check_length(limits, [asked.text])
        work = asyncio.to_thread(candidate_scores, asked.text, asked.languages)
        try:
            found = await in_time(work, limits.seconds)
        except UnknownNameError as error:
            said = f"unsupported candidate languages: {error}"
            raise AnnifProblemError(400, BAD, said) from None
        results = [{"language": code, "score": score} for code, score in found.items()]
        return json_answer(to_json({"results": results}))


def _suggestion(label: dict[str, Any]) -> dict[str, Any]:
    return {
        "uri": label["label"],
        "label": label["name"],
        "notation": None,
        "score": label["score"],
    }


def _records(
    served: Served, documents: Mapping[int, schemas.IndexedDocument]
) -> list[dict[str, Any]]:
    """Return documents, by their place in the request, as feedback; new labels keep their names."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    records = []
    for number, document in documents.items():
        labels: dict[str, None] = {}
        names: dict[str, str] = {}
        for place, subject in enumerate(document.subjects):
            label, new = _label(served, subject)
            if not label:
                where = f"[{number}].subjects[{place}].uri"
                named = f", and the tagger has no label {subject.label[:50]!r}"
                said = f"{where}: it is empty{named if subject.label else ''}; nothing was kept"
                raise AnnifProblemError(400, BAD, said)
            labels[label] = None
            name = " ".join(subject.label.split())
            if new and name:
                names[label] = name
        record: dict[str, Any] = {"text": document.text, "labels": [*labels], "rejected": []}
        if names:
            record["names"] = names
        records.append({**record, "model": served.name, "time": now})
    return records


def _label(served: Served, subject: schemas.Subject) -> tuple[str, bool]:
    """Return the id that a subject means, and whether it is new: a URI that nobody knows."""
    uri = " ".join(subject.uri.split())
    for given in (uri, subject.label):
        numbers = served.labels.lookup(given) if given.strip() else []
        if len(numbers) == 1:
            return str(served.labels.ids[numbers[0]]), False
    return uri, True
