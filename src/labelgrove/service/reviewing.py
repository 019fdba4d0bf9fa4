"""Review: the documents of a queue one after the other, until all have feedback."""

from __future__ import annotations

import asyncio
import logging
import shlex
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

from fastapi import FastAPI, Query, Request, Response
from pydantic_core import to_json

from labelgrove.core.errors import InputError
from labelgrove.corpus import ReviewItem
from labelgrove.service import openapi, schemas
from labelgrove.service.answering import answered_by
from labelgrove.service.decisions import Decisions
from labelgrove.service.problems import ProblemError
from labelgrove.service.review_queue import ReviewIndex, ReviewQueue
from labelgrove.service.served import Served
from labelgrove.service.settings import Settings
from labelgrove.service.taggers import ServedTaggers
from labelgrove.tagger.feedback import feedback_file

log = logging.getLogger("labelgrove.service")


def add_review(app: FastAPI, taggers: ServedTaggers) -> None:
    """Let an app answer what is to be reviewed next."""
    review = Review(taggers.settings) if taggers.settings.review else None

    @app.get("/v1/review", response_model=schemas.ReviewAnswer, **openapi.operation())
    async def next_document(
        request: Request, asked: Annotated[schemas.ReviewQuery, Query()]
    ) -> Response:
        """Return the next document of the queue that nobody has decided yet, or a given one."""
        if asked.number is not None and "start" in asked.model_fields_set:
            raise ProblemError(409, "from and number exclude each other: give one of them")
        served = answered_by(request, taggers.queue(asked.model).served)
        if review is None:
            raise ProblemError(
                404, "there is no queue to review here: start the service with --review FILE"
            )
        answer = await asyncio.to_thread(review.answer, served, asked)
        return Response(to_json(answer), media_type="application/json")


class Review:
    """A queue, and for each tagger what has been decided about its documents.

    Parameters
    ----------
    settings
        The service's: the review file, and where the feedback of each tagger is.
    """

    def __init__(self, settings: Settings) -> None:
        self._queue = ReviewQueue(Path(settings.review), settings.limits.length)
        self._decisions = {
            name: Decisions(Path(file))
            for (name, _), file in zip(settings.taggers, settings.feedback, strict=True)
            if file is not None
        }
        self._commands = {
            name: _retraining(folder, file)
            for (name, folder), file in zip(settings.taggers, settings.feedback, strict=True)
            if file is not None
        }
        self._turn = threading.Lock()

    def answer(self, served: Served, asked: schemas.ReviewQuery) -> dict[str, Any]:
        """Return the document that is asked for, and how far the review is."""
        decisions = self._decisions.get(served.name)
        if decisions is None:
            raise ProblemError(403, "this service takes no feedback, so nothing can be reviewed")
        with self._turn:
            index = self._index()
            decisions.follow(index)
            number = asked.number or decisions.next_open(asked.start)
            if number > len(index):
                raise ProblemError(404, f"the queue ends with document {len(index)}")
            document = _document(served, index, decisions, number) if number else None
            return {
                "model": served.name,
                "queue": index.version,
                "documents": len(index),
                "decided": decisions.count,
                "document": document,
                "retrain": self._commands[served.name],
            }

    def _index(self) -> ReviewIndex:
        """Return the queue as it is now; who asks is not told where its file lies."""
        try:
            return self._queue.index()
        except InputError as error:
            log.error("nothing can be reviewed: %s", error)
            path = self._queue.path
            why = str(error).replace(str(path), path.name)
            raise ProblemError(
                409,
                "the review file was replaced, and the new one cannot be read; answers that were "
                f"saved are safe: {why}",
            ) from None


def _retraining(folder: str, feedback: str) -> str:
    """Return the command that learns from feedback, with the last parts of paths."""
    place, file = Path(folder).resolve(), Path(feedback)
    command = f"labelgrove retrain {shlex.quote(place.name)} TRAIN"
    if file != feedback_file(folder):
        command += f" --feedback {shlex.quote(file.name)}"
    return f"{command} --out NEW"


def _document(
    served: Served, index: ReviewIndex, decisions: Decisions, number: int
) -> dict[str, Any]:
    try:
        item = index.item(number)
    except InputError as error:
        raise ProblemError(409, str(error)) from None
    return {
        "number": number,
        "id": item.id,
        "text": item.text,
        "learned": served.has_learned(item.text),
        "labels": _labels(served, item.labels, _names(item)),
        "suggestions": _suggestions(served, item),
        "decision": _decision(served, decisions.decision(number), _names(item)),
    }


def _names(item: ReviewItem) -> dict[str, str]:
    return {each.label: each.name for each in item.suggestions}


def _suggestions(served: Served, item: ReviewItem) -> list[dict[str, Any]]:
    return [
        {
            **_label(served, each.label, each.name),
            "kind": each.kind,
            "score": each.score,
            "reasons": list(each.reasons),
        }
        for each in item.suggestions
    ]


def _decision(
    served: Served, line: dict[str, Any] | None, names: dict[str, str]
) -> dict[str, Any] | None:
    if line is None:
        return None
    labels, rejected = (
        _labels(served, _strings(line.get(part)), names) for part in ("labels", "rejected")
    )
    return {"labels": labels, "rejected": rejected, "time": str(line.get("time", ""))}


def _strings(value: Any) -> list[str]:
    """Return the labels of a line, in which somebody may have written anything."""
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def _labels(served: Served, given: Iterable[str], names: dict[str, str]) -> list[dict[str, Any]]:
    """Return labels by the tagger's ids, each once."""
    found = [_label(served, label, names.get(label, label)) for label in given]
    return list({each["label"]: each for each in found}.values())


def _label(served: Served, given: str, name: str) -> dict[str, Any]:
    """Return a label that is given by id or name; what the tagger does not know stays as it is."""
    numbers = served.labels.lookup(given)
    if len(numbers) != 1:
        return {"label": given, "name": name, "known": False}
    (number,) = numbers
    return {"label": served.labels.ids[number], "name": served.labels.names[number], "known": True}
