"""The taggers of a service: asked in batches, given feedback, reloaded while they answer."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from labelgrove.core import storage
from labelgrove.core.errors import UnknownNameError
from labelgrove.core.progress import Progress, Silent
from labelgrove.service.batching import Batcher, FullError
from labelgrove.service.feedback import FeedbackFile
from labelgrove.service.metrics import Metrics
from labelgrove.service.problems import ProblemError
from labelgrove.service.served import Explaining, Question, Served, Tagging
from labelgrove.service.settings import Settings

FEEDBACK_AT_ONCE = 1_000
LONG = 2_000  # characters from which on a text counts for several
log = logging.getLogger("labelgrove.service")


class Asked(NamedTuple):
    """A question and whom it is for: the tagger that there was when it was asked."""

    served: Served
    question: Question


class TaggerQueue:
    """The queue of one tagger: its requests are answered in batches, its feedback is written.

    Parameters
    ----------
    served
        The tagger.
    folder
        Where it is saved, and loaded from again.
    feedback
        The file for its feedback, or None.
    settings
        The service's.
    metrics
        Where texts and batches are counted.
    """

    def __init__(
        self,
        served: Served,
        folder: str,
        feedback: str | None,
        settings: Settings,
        metrics: Metrics,
    ) -> None:
        self.served = served
        self.folder = folder
        self._settings = settings
        self._texts = metrics.texts.labels(served.name)
        self._batches = metrics.batches.labels(served.name)
        self._written = metrics.feedback.labels(served.name)
        capacity = settings.limits.waiting
        self._batcher = Batcher[Asked, bytes](
            self._answer,
            size=settings.batch,
            wait=settings.wait,
            capacity=capacity,
            name=f"tags-{served.name}",
        )
        self.feedback: Batcher[dict[str, Any], bool] | None = None
        if feedback is not None:
            file = FeedbackFile(Path(feedback))
            self.feedback = Batcher(
                file.append,
                size=FEEDBACK_AT_ONCE,
                capacity=capacity,
                name=f"feedback-{served.name}",
            )
        self._waiting = metrics.waiting.labels(served.name)

    async def tag(
        self, served: Served, texts: Sequence[str], k: int, threshold: float | str | None
    ) -> bytes:
        """Return the results of texts as JSON; many texts make way for others in between."""
        results = [
            await self._ask(Asked(served, Tagging(part, k, threshold)), weight, at_once=True)
            for part, weight in _parts(texts, self._settings.batch)
        ]
        return b",".join(results)

    async def explain(self, served: Served, text: str, label: str) -> bytes:
        """Return why a label, given by its id, was given, as JSON."""
        return await self._ask(Asked(served, Explaining(text, label)), _weight(text))

    async def write(self, record: dict[str, Any]) -> None:
        """Return once the disk has a record of feedback."""
        assert self.feedback is not None
        try:
            await self.feedback.do(record, _weight(record["text"]))
        except FullError:
            raise _busy() from None
        self._written.inc()

    async def _ask(self, asked: Asked, weight: int, *, at_once: bool = False) -> bytes:
        try:
            return await self._batcher.do(asked, weight, at_once=at_once)
        except FullError:
            raise _busy() from None

    def _answer(self, asked: Sequence[Asked]) -> list[bytes | Exception]:
        texts = sum(
            len(each.question.texts) for each in asked if isinstance(each.question, Tagging)
        )
        if texts:
            self._texts.inc(texts)
            self._batches.observe(texts)
            self._waiting.set(self._batcher.waiting)
        answers: list[bytes | Exception] = []
        for served, together in groupby(asked, key=lambda each: each.served):
            answers += served.answer([each.question for each in together])
        return answers

    def close(self) -> None:
        """Let the threads end."""
        self._batcher.close()
        if self.feedback is not None:
            self.feedback.close()


def _weight(text: str) -> int:
    """Return for how many texts a text counts."""
    return max(1, len(text) // LONG)


def _parts(texts: Sequence[str], most: int) -> Iterator[tuple[list[str], int]]:
    """Yield texts in parts with their weights, which are at most ``most`` but for a long text."""
    part: list[str] = []
    total = 0
    for text in texts:
        weight = _weight(text)
        if part and total + weight > most:
            yield part, total
            part, total = [], 0
        part.append(text)
        total += weight
    yield part, total


def _busy() -> ProblemError:
    return ProblemError(
        429, "too many texts are waiting already: ask again", headers={"Retry-After": "1"}
    )


class ServedTaggers:
    """All taggers of a service.

    Parameters
    ----------
    settings
        Which ones, and how they are served.
    progress
        Where loading is shown.
    """

    def __init__(self, settings: Settings, progress: Progress | None = None) -> None:
        self.settings = settings
        self.metrics = Metrics()
        self._queues: dict[str, TaggerQueue] = {}
        self._reloading = asyncio.Lock()
        shown = progress or Silent()
        for (name, folder), feedback in zip(settings.taggers, settings.feedback, strict=True):
            if feedback is not None:
                FeedbackFile(Path(feedback)).check()
            shown.say(f"loading {folder}")
            served = Served(name, folder, settings, progress)
            self._queues[name] = TaggerQueue(served, folder, feedback, settings, self.metrics)

    @property
    def names(self) -> list[str]:
        """The taggers' names, in order."""
        return list(self._queues)

    def queue(self, name: str) -> TaggerQueue:
        """Return the queue of a tagger; of the first one if no name is given."""
        if not name:
            return next(iter(self._queues.values()))
        if name not in self._queues:
            raise UnknownNameError("model", name[:100], self._queues)
        return self._queues[name]

    def queues(self) -> list[TaggerQueue]:
        """Return the queues of all taggers, in order."""
        return list(self._queues.values())

    async def reload(self) -> list[str]:
        """Load what has been saved anew, and return its names; whoever asks meanwhile is answered.

        A tagger that cannot be loaded goes on as it was, and that is told.
        """
        reloaded, failed = [], []
        async with self._reloading:
            for name, queue in self._queues.items():
                try:
                    served = await asyncio.to_thread(self._anew, name, queue)
                except Exception as error:  # also a folder that is replaced just now
                    self.metrics.reloads.labels("failed").inc()
                    log.error("%s goes on as it was: %s", name, error)
                    failed.append((name, str(error)))
                    continue
                if served is not None:
                    queue.served = served
                    self.metrics.reloads.labels("done").inc()
                    log.info("%s was loaded anew", name)
                    reloaded.append(name)
        if not reloaded and not failed:
            log.info("nothing was saved anew, so nothing was loaded")
        if failed:
            names = ", ".join(name for name, _ in failed)
            raise ProblemError(409, f"{names}: not loaded, the old one goes on", errors=failed)
        return reloaded

    def _anew(self, name: str, queue: TaggerQueue) -> Served | None:
        manifest = storage.read_manifest(queue.folder, verify=False)
        if manifest["checksum"] == queue.served.manifest["checksum"]:
            return None
        return Served(name, queue.folder, self.settings)

    def close(self) -> None:
        """Let all threads end."""
        for queue in self._queues.values():
            queue.close()
