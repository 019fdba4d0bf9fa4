"""The service as an ASGI app: REST with OpenAPI, and the page that uses it."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from typing import Annotated, Any, TypeVar

from fastapi import FastAPI, Query, Request, Response
from pydantic_core import to_json
from starlette.types import ASGIApp

from labelgrove._version import __version__
from labelgrove.core.errors import InputError, UnknownNameError
from labelgrove.service import openapi, schemas
from labelgrove.service.access import HEALTH, METRICS, UNNAMED
from labelgrove.service.annif import add_annif
from labelgrove.service.annif_problems import problem_of
from labelgrove.service.answering import answered_by, in_time, json_answer, spend
from labelgrove.service.bodies import NOTES, HeldBytes, check_length, read
from labelgrove.service.metrics import CONTENT_TYPE
from labelgrove.service.middleware import ServiceMiddleware
from labelgrove.service.problems import ProblemError, answer_problems
from labelgrove.service.request_words import in_fields
from labelgrove.service.reviewing import add_review
from labelgrove.service.served import Served
from labelgrove.service.settings import Limits, is_loopback
from labelgrove.service.signals import Terminal, unblock_sighup
from labelgrove.service.static import SWAGGER, files
from labelgrove.service.taggers import ServedTaggers, text_weight
from labelgrove.tagger.thresholds import threshold_note

OneText = TypeVar("OneText", schemas.ExplainRequest, schemas.FeedbackRequest)
Handler = Callable[[Request], Awaitable[Response]]
BY_PROXY = ("forwarded", "x-forwarded-for", "via")  # it speaks for others, from anywhere
EXPLAINING = 10  # texts that cost as much as an explanation
WATCH = 1.0  # seconds between two looks whether the supervisor is still there


def create_app(taggers: ServedTaggers) -> ASGIApp:
    """Return the app that serves these taggers."""
    settings = taggers.settings
    app = FastAPI(
        title="labelgrove",
        version=__version__,
        description="Ranks labels for texts, explains them, and takes feedback.",
        docs_url=None,  # both load scripts from elsewhere; `_page` has one that does not
        redoc_url=None,
        lifespan=_lifespan(taggers),
    )
    answer_problems(app, problem_of)
    held = HeldBytes(max(settings.limits.bodies, settings.limits.body))
    tag = _tagging(app, taggers, held)
    _labels_and_models(app, taggers)
    add_review(app, taggers)
    add_annif(app, taggers, held)
    healthz = _running(app, taggers)
    _page(app)
    openapi.complete(app, keyed=bool(settings.keys), metrics_keyed=bool(settings.metrics_keys))
    routes = frozenset(getattr(route, "path", "") for route in app.routes)
    direct = {("POST", "/v1/tag"): tag, ("GET", HEALTH): healthz, ("HEAD", HEALTH): healthz}
    return ServiceMiddleware(
        app, settings=settings, metrics=taggers.metrics, routes=routes, direct=direct, held=held
    )


def _tagging(app: FastAPI, taggers: ServedTaggers, held: HeldBytes) -> Handler:
    limits = taggers.settings.limits

    @app.post(
        "/v1/tag", response_model=schemas.TagAnswer, **openapi.operation(body=schemas.TagRequest)
    )
    async def tag(request: Request) -> Response:
        """Rank labels for one text or several."""
        asked = await read(request, schemas.TagRequest, limits, held)
        texts = asked.all()
        request.scope[NOTES]["texts"] = texts
        check_length(limits, texts, "texts[{}]" if asked.texts else "text")
        spend(request, sum(map(text_weight, texts)))
        queue = taggers.queue(asked.model)
        served = answered_by(request, queue.served)  # a reload meanwhile changes nothing
        answer = queue.tag(served, texts, asked.k, asked.threshold, asked.hierarchy)
        results = await in_time(answer, limits.seconds)
        note = threshold_note(served.tagger.learned_, asked.threshold)
        notes = b',"notes":' + to_json([in_fields(note)]) if note else b""
        name = to_json(served.name)
        return json_answer(b'{"model":' + name + b',"results":[' + results + b"]" + notes + b"}")

    @app.post(
        "/v1/explain",
        response_model=schemas.ExplainAnswer,
        **openapi.operation(body=schemas.ExplainRequest),
    )
    async def explain(request: Request) -> Response:
        """Tell which words of a text spoke for a label."""
        asked = await _read_one(request, schemas.ExplainRequest, limits, held)
        spend(request, EXPLAINING * text_weight(asked.text))
        queue = taggers.queue(asked.model)
        served = answered_by(request, queue.served)
        number = await asyncio.to_thread(served.number, asked.label)
        answer = queue.explain(served, asked.text, served.labels.ids[number])
        return json_answer(await in_time(answer, limits.seconds))

    @app.post(
        "/v1/feedback",
        response_model=schemas.FeedbackAnswer,
        **openapi.operation(body=schemas.FeedbackRequest),
    )
    async def feedback(request: Request) -> Response:
        """Keep what is right about a text; it is on the disk when this answers."""
        asked = await _read_one(request, schemas.FeedbackRequest, limits, held)
        spend(request, text_weight(asked.text))
        queue = taggers.queue(asked.model)
        if queue.feedback is None:
            raise ProblemError(403, "this service takes no feedback: it was started so")
        served = answered_by(request, queue.served)
        record, new = await asyncio.to_thread(_feedback_record, served, asked)
        await in_time(queue.write(record), limits.seconds)
        return json_answer(
            to_json(
                {
                    "model": served.name,
                    "labels": record["labels"],
                    "new": new,
                    "stored": True,
                }
            )
        )

    return tag


def _labels_and_models(app: FastAPI, taggers: ServedTaggers) -> None:
    limits = taggers.settings.limits

    @app.get("/v1/labels", response_model=schemas.LabelsAnswer, **openapi.operation())
    async def labels(request: Request, asked: Annotated[schemas.LabelQuery, Query()]) -> Response:
        """Find labels by the beginning of a word, or go through their hierarchy."""
        if sum(map(bool, (asked.q, asked.parent, asked.id))) > 1:
            raise ProblemError(409, "q, parent and id exclude each other: give one of them")
        served = answered_by(request, taggers.queue(asked.model).served)
        return json_answer(await asyncio.to_thread(_label_list, served, asked))

    @app.get("/v1/models", response_model=schemas.ModelsAnswer, **openapi.operation())
    async def models(request: Request) -> Response:
        """Tell which taggers are served, what they learned from and how well they do."""
        cards = [
            {**queue.served.card, "feedback": queue.feedback is not None}
            for queue in taggers.queues()
        ]
        told = {name: getattr(limits, name) for name in ("body", "texts", "length", "seconds")}
        offered = {"examples": taggers.settings.examples, "review": bool(taggers.settings.review)}
        return json_answer(to_json({"models": cards, "limits": told, **offered}))


def _running(app: FastAPI, taggers: ServedTaggers) -> Handler:
    settings = taggers.settings

    @app.post("/v1/reload", response_model=schemas.ReloadAnswer, **openapi.operation())
    async def reload(request: Request) -> Response:
        """Load taggers that were saved anew, without dropping a request."""
        if not settings.keys and not _is_near(request):
            raise ProblemError(
                403, "without API keys only this machine may reload; send SIGHUP, or use keys"
            )
        try:
            reloaded = await taggers.reload()
        finally:
            if settings.supervisor:
                os.kill(settings.supervisor, signal.SIGHUP)  # for the other workers
        return json_answer(to_json({"reloaded": reloaded}))

    @app.get(HEALTH, response_model=schemas.Health)
    async def healthz(request: Request) -> Response:
        """Tell that the service answers; probes may call it by any name."""
        names = [] if UNNAMED in request.scope[NOTES] else taggers.names
        return json_answer(to_json({"status": "ok", "models": names}))

    if settings.metrics_port is None:

        @app.get(METRICS, response_class=Response, **openapi.operation(text=True))
        async def metrics(request: Request) -> Response:
            """Return counts in Prometheus' text format."""
            return Response(taggers.metrics.text(), media_type=CONTENT_TYPE)

    return healthz


def _page(app: FastAPI) -> None:
    kept = files()

    @app.api_route("/", methods=["GET", "HEAD"], include_in_schema=False)
    async def page(request: Request) -> Response:
        return kept["index.html"].response()

    @app.api_route("/docs", methods=["GET", "HEAD"], include_in_schema=False)
    async def docs(request: Request) -> Response:
        if SWAGGER[0] not in kept:
            raise ProblemError(
                404,
                "the page about the API needs the package fastapi-offline, which comes with "
                "'labelgrove[service]'; /openapi.json tells the same",
            )
        return kept["docs.html"].response()

    @app.get("/static/{name}", include_in_schema=False)
    async def static(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in kept:
            raise ProblemError(404, f"there is no {name[:100]!r} here")
        return kept[name].response()


def _lifespan(taggers: ServedTaggers) -> Any:
    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        loop = asyncio.get_running_loop()
        tasks: set[asyncio.Task[Any]] = set()
        terminal = Terminal(taggers.settings.terminal)

        def reload() -> None:
            if terminal.is_gone():
                os.kill(os.getpid(), signal.SIGTERM)
                return
            task = loop.create_task(_quietly(taggers))
            tasks.add(task)
            task.add_done_callback(tasks.discard)

        # neither in a thread nor on Windows
        with suppress(ValueError, RuntimeError, AttributeError, NotImplementedError):
            loop.add_signal_handler(signal.SIGHUP, reload)
            unblock_sighup()
        if taggers.settings.supervisor:
            tasks.add(loop.create_task(_end_with(taggers.settings.supervisor)))
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            taggers.close()

    return lifespan


async def _quietly(taggers: ServedTaggers) -> None:
    with suppress(ProblemError):  # it was logged
        await taggers.reload()


async def _end_with(supervisor: int) -> None:
    """End this worker when the process that started it is gone."""
    while os.getppid() == supervisor:
        await asyncio.sleep(WATCH)
    os.kill(os.getpid(), signal.SIGTERM)


async def _read_one(
    request: Request, kind: type[OneText], limits: Limits, held: HeldBytes
) -> OneText:
    """Return a request about one text, which the log may tell."""
    asked = await read(request, kind, limits, held)
    request.scope[NOTES]["texts"] = [asked.text]
    check_length(limits, [asked.text])
    return asked


def _label_list(served: Served, asked: schemas.LabelQuery) -> bytes:
    beyond = asked.limit + 1  # one more, to know whether there is any
    if asked.id:
        numbers = [served.number(asked.id)]
    elif asked.q:
        numbers = served.find(asked.q, asked.offset, beyond)
    else:
        parent = served.number(asked.parent) if asked.parent else None
        numbers = served.below(parent, asked.offset, beyond)
    shown = [served.entry(number) for number in numbers[: asked.limit]]
    more = len(numbers) > asked.limit
    return to_json({"model": served.name, "labels": shown, "more": more})


def _feedback_record(
    served: Served, asked: schemas.FeedbackRequest
) -> tuple[dict[str, Any], list[str]]:
    """Return what goes to the file, and which labels the tagger does not know."""
    new: list[str] = []
    right = _ids(served, asked.labels, asked.allow_new, new)
    wrong = _ids(served, asked.rejected, asked.allow_new, [])
    both = [label for label in right if label in wrong]
    if both:
        raise InputError(f"{both[0]!r} is both among labels and rejected; decide for one")
    record = {"text": asked.text, "labels": right, "rejected": wrong}
    if asked.id:
        record["id"] = asked.id
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return {**record, "model": served.name, "time": now}, new


def _ids(served: Served, labels: list[str], allow_new: bool, new: list[str]) -> list[str]:
    ids: dict[str, None] = {}
    for given in labels:
        label = given if served.labels.lookup(given) else " ".join(given.split())
        if not label:
            raise ProblemError(422, f"{given!r} is no label: it is empty")
        if allow_new and not served.labels.lookup(label):
            ids[label] = None
            new.append(label)
            continue
        try:
            ids[served.labels.ids[served.number(label)]] = None
        except (UnknownNameError, ProblemError) as error:
            raise ProblemError(404, f"{error}; 'allow_new' takes it as a new one") from None
    return list(ids)


def _is_near(request: Request) -> bool:
    if any(name in request.headers for name in BY_PROXY):
        return False
    return request.client is not None and is_loopback(request.client.host)
