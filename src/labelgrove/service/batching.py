"""Requests that arrive at the same time are done as one batch: tagging, and writing feedback."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Generic, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
QUICK = 0.002  # seconds of work that are not worth a change of threads
MEMORY = 0.2  # how much the last batch counts in what work is expected to take


class FullError(Exception):
    """More is waiting than may wait."""


@dataclass(eq=False)
class _Waiting(Generic[Item, Result]):
    item: Item
    weight: int
    at_once: bool
    answer: asyncio.Future[Result]


class Batcher(Generic[Item, Result]):
    """Collects items while its thread is busy, then does them in one batch.

    One piece of work runs at a time, in a thread of its own; what comes meanwhile is the next
    one. So a lone request never waits, and under load batches grow by themselves. Work that has
    shown to be done in an instant is done where it is asked for: a change of threads takes longer.

    Parameters
    ----------
    work
        Does several items, in order: a result for each, or an exception for one that failed.
    size
        Weight of the items done together at most; a single item may be heavier.
    wait
        Seconds that an item waits for others, though the thread is free.
    capacity
        Weight of the items that may wait.
    name
        Of the thread.
    """

    def __init__(
        self,
        work: Callable[[Sequence[Item]], Sequence[Result | Exception]],
        *,
        size: int,
        wait: float = 0.0,
        capacity: int,
        name: str,
    ) -> None:
        self._work = work
        self._size = size
        self._wait = wait
        self._capacity = capacity
        self._waiting: deque[_Waiting[Item, Result]] = deque()
        self._weight = 0
        self._begun = False
        self._next_turn: asyncio.TimerHandle | None = None
        self._seconds = QUICK  # of small work, by weight; not known yet
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=name)

    @property
    def waiting(self) -> int:
        """The weight of what waits."""
        return self._weight

    async def do(self, item: Item, weight: int = 1, *, at_once: bool = False) -> Result:
        """Return the result for an item; whoever stops waiting for it takes it out again.

        ``at_once`` allows that it is done where it is asked for: it takes no longer than others
        of its weight.
        """
        if self._weight and self._weight + weight > self._capacity:
            raise FullError
        loop = asyncio.get_running_loop()
        asked = _Waiting[Item, Result](item, weight, at_once, loop.create_future())
        self._waiting.append(asked)
        self._weight += weight
        if not self._begun:
            self._begun = True
            # not at once: what was read from other sockets in the same turn comes along
            self._next_turn = loop.call_later(self._wait, self._begin)
        elif self._wait and self._next_turn is not None and self._weight >= self._size:
            self._next_turn.cancel()  # there is nothing to wait for any more
            self._next_turn = loop.call_later(0, self._begin)
        try:
            return await asked.answer
        except asyncio.CancelledError:
            if asked in self._waiting:
                self._waiting.remove(asked)
                self._weight -= weight
            raise

    def close(self) -> None:
        """Let the thread end once it has done what it was given."""
        self._thread.shutdown(wait=False)

    def _begin(self) -> None:
        self._next_turn = None
        batch = self._next()
        if not batch:
            self._begun = False
            return
        weight = sum(each.weight for each in batch)
        at_once = all(each.at_once for each in batch)
        if at_once and weight * self._seconds < QUICK:
            self._finish(batch, self._timed(batch, weight, at_once))
            return
        loop = asyncio.get_running_loop()
        done = self._thread.submit(self._timed, batch, weight, at_once)
        done.add_done_callback(lambda future: self._tell(loop, batch, future.result()))

    def _tell(
        self,
        loop: asyncio.AbstractEventLoop,
        batch: Sequence[_Waiting[Item, Result]],
        results: Sequence[Result | Exception],
    ) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(self._finish, batch, results)

    def _timed(
        self, batch: Sequence[_Waiting[Item, Result]], weight: int, at_once: bool
    ) -> Sequence[Result | Exception]:
        started = time.perf_counter()
        try:
            results = self._work([each.item for each in batch])
            assert len(results) == len(batch)
            return results
        except Exception as error:
            return [error] * len(batch)
        except BaseException as error:  # a library written in Rust panics like this
            return [RuntimeError(f"{type(error).__name__}: {error}")] * len(batch)
        finally:
            if at_once:
                took = (time.perf_counter() - started) / weight
                self._seconds += MEMORY * (took - self._seconds)

    def _next(self) -> list[_Waiting[Item, Result]]:
        batch: list[_Waiting[Item, Result]] = []
        weight = 0
        while self._waiting:
            first = self._waiting[0]
            if batch and weight + first.weight > self._size:
                break
            self._waiting.popleft()
            self._weight -= first.weight
            if not first.answer.done():  # else nobody waits for it any more
                batch.append(first)
                weight += first.weight
        return batch

    def _finish(
        self,
        batch: Sequence[_Waiting[Item, Result]],
        results: Sequence[Result | Exception],
    ) -> None:
        for asked, result in zip(batch, results, strict=True):
            if asked.answer.done():
                continue
            if isinstance(result, Exception):
                asked.answer.set_exception(result)
            else:
                asked.answer.set_result(result)
        if self._waiting:
            self._next_turn = asyncio.get_running_loop().call_later(0, self._begin)
        else:
            self._begun = False
