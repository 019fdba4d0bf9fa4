"""The taggers of a service: asked in batches, given feedback, reloaded while they answer."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from labelgrove.core import storage
from labelgrove.core.errors import InputError, UnknownNameError
from labelgrove.core.progress import Progress
from labelgrove.service.batching import Batcher, FullError
from labelgrove.service.feedback import FeedbackFile
from labelgrove.service.metrics import Metrics
from labelgrove.service.problems import ProblemError
from labelgrove.service.served import Explaining, Question, Served, Tagging
from labelgrove.service.settings import Settings
from labelgrove.service.snapshots import drop, take
from labelgrove.service.trial import try_out
from labelgrove.service.versions import Version, Versions

FEEDBACK_AT_ONCE = 1_000
LONG = 2_000  # characters from which on a text counts for several
SLOW = 20_000  # characters from which on a text does not keep short ones waiting
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
        Where it is saved.
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
        self._slow = Batcher[Asked, bytes](
            self._answer, size=1, capacity=capacity, name=f"slow-{served.name}"
        )
        self._file: FeedbackFile | None = None
        self.feedback: Batcher[dict[str, Any], bool] | None = None
        if feedback is not None:
            file = self._file = FeedbackFile(Path(feedback))
            self.feedback = Batcher(
                file.append,
                size=FEEDBACK_AT_ONCE,
                capacity=capacity,
                name=f"feedback-{served.name}",
            )
        self._waiting = metrics.waiting.labels(served.name)

    async def tag(
        self,
        served: Served,
        texts: Sequence[str],
        k: int,
        threshold: float | str | None,
        hierarchy: str | None = None,
    ) -> bytes:
        """Return the results of texts as JSON; many texts make way for others in between."""
        results = []
        for part, weight in _parts(texts, self._settings.batch):
            slow = max(map(len, part)) >= SLOW
            asked = Asked(served, Tagging(part, k, threshold, hierarchy))
            results.append(await self._ask(asked, weight, slow=slow))
        return b",".join(results)

    async def explain(self, served: Served, text: str, label: str) -> bytes:
        """Return why a label, given by its id, was given, as JSON."""
        return await self._ask(Asked(served, Explaining(text, label)), text_weight(text), slow=True)

    async def write(self, record: dict[str, Any]) -> None:
        """Return once the disk has a record of feedback."""
        assert self.feedback is not None
        try:
            await self.feedback.do(record, text_weight(record["text"]))
        except FullError:
            raise _busy() from None
        self._written.inc()

    async def _ask(self, asked: Asked, weight: int, *, slow: bool) -> bytes:
        """Return an answer; slow ones have a queue and a thread of their own, if that is safe."""
        batcher = self._slow if slow and asked.served.concurrent else self._batcher
        try:
            return await batcher.do(asked, weight, at_once=not slow)
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
        self._slow.close()
        if self.feedback is not None:
            self.feedback.close()
        if self._file is not None:
            self._file.collect()


def text_weight(text: str) -> int:
    """Return for how many texts a text counts."""
    return max(1, len(text) // LONG)


def _parts(texts: Sequence[str], most: int) -> Iterator[tuple[list[str], int]]:
    """Yield texts in parts with their weights, which are at most ``most`` but for a long text."""
    part: list[str] = []
    total = 0
    for text in texts:
        weight = text_weight(text)
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
        self._versions = Versions(Path(settings.shared) if settings.shared else None)
        for (name, folder), feedback in zip(settings.taggers, settings.feedback, strict=True):
            if feedback is not None:
                file = FeedbackFile(Path(feedback))
                file.check()
                file.collect()
            served = self._first(name, folder, progress)
            self._queues[name] = TaggerQueue(served, folder, feedback, settings, self.metrics)

    def _first(self, name: str, folder: str, progress: Progress | None) -> Served:
        """Load a tagger at the start: the version that the service has begun with, if it has."""
        tracked = self._versions.get(name)
        if tracked is not None:
            return self._load(name, folder, tracked.current)
        served = Served(name, folder, self.settings, progress=progress)
        self._versions.begin(name, Version(folder, served.manifest["checksum"]))
        return served

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

        A new tagger is tried in a process of its own first. One that cannot be loaded goes on as
        it was, and that is told.
        """
        reloaded, failed = [], []
        async with self._reloading:
            for name, queue in self._queues.items():
                try:
                    served = await self._renewed(name, queue)
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

    async def _renewed(self, name: str, queue: TaggerQueue) -> Served | None:
        """Return the tagger that is to be served from now on, if it is another one."""
        async with self._versions.one_trial():
            tracked = self._versions.get(name)
            assert tracked is not None
            if tracked.current.checksum != queue.served.manifest["checksum"]:
                # another worker has tried it, or the version before came back
                return await asyncio.to_thread(self._load, name, queue.folder, tracked.current)
            manifest = await asyncio.to_thread(storage.read_manifest, queue.folder, verify=False)
            if manifest["checksum"] == tracked.current.checksum:
                return None
            if manifest["checksum"] in tracked.refused:
                raise InputError(
                    f"a worker ended soon after it had taken the tagger in {queue.folder}, so it "
                    "is not taken again: save another one, or restart the service"
                )
            return await self._tried(name, queue.folder)

    async def _tried(self, name: str, folder: str) -> Served:
        """Return a new tagger after its trial, and make it the one that all workers take."""
        settings = self.settings
        place = settings.snapshot_place(name)
        snapshot = await asyncio.to_thread(take, folder, place, copy=bool(settings.copies))
        try:
            await try_out(name, folder, snapshot, settings)
            # the trial has looked at the snapshot; the folder itself may be another one by now
            own = snapshot == folder
            served = await asyncio.to_thread(Served, name, snapshot, settings, verify=own)
        except BaseException:
            drop(snapshot, place)
            raise
        version = Version(snapshot, served.manifest["checksum"])
        keep = settings.workers > 1 and snapshot != folder  # else there is nothing to go back to
        unused = self._versions.publish(name, version, keep=keep)
        if unused is not None:
            drop(unused.folder, place)
        return served

    def _load(self, name: str, folder: str, version: Version) -> Served:
        """Load the version that is served; where no snapshot is kept, what lies in its folder.

        That is checked again, and if another tagger lies there by now, all workers take it.
        """
        if version.folder != folder:
            return Served(name, version.folder, self.settings, verify=False)
        served = Served(name, folder, self.settings)
        checksum = served.manifest["checksum"]
        if checksum != version.checksum:
            log.warning(
                "%s was replaced, and what was served is gone, since no snapshot of it could be "
                "kept: the new one is served",
                name,
            )
            self._versions.publish(name, Version(folder, checksum), keep=False)
            if self.settings.supervisor:
                os.kill(self.settings.supervisor, signal.SIGHUP)  # the other workers follow
        return served

    def close(self) -> None:
        """Let all threads end."""
        for queue in self._queues.values():
            queue.close()
