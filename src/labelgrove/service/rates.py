"""How often a client may ask: a table of buckets that all workers share.

The library for this, `limits`, shares counts between processes only through a server such as
Redis, and refuses a dear request where ours is paid off later (benchmarks/LOG.md has the times).
"""

from __future__ import annotations

import hashlib
import mmap
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

FILE = "rates"
SLOTS = 16_384
NEAR = 8  # slots in which a client's bucket may lie
BUCKET = np.dtype([("client", np.uint64), ("level", np.float64), ("time", np.float64)])


class Rates:
    """Lets a client ask so often a minute; what it saved up it may use at once.

    A bucket holds what a client may still ask and fills with time. Buckets lie in memory that
    workers share without locks: two that meet in one count a request too few, no more. Where
    buckets are short the one that was used longest ago is taken, which is full again by then.

    Parameters
    ----------
    a_minute
        Requests of a client in a minute.
    shared
        A folder that the workers share; None for one process.
    clock
        Seconds, the same in all of them.

    Examples
    --------
    >>> rates = Rates(2, clock=lambda: 0.0)
    >>> [rates.wait("someone") for _ in range(3)], rates.wait("another")
    ([0.0, 0.0, 30.0], 0.0)
    """

    def __init__(
        self,
        a_minute: int,
        shared: Path | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._most = float(a_minute)
        self._a_second = a_minute / 60
        self._clock = clock
        size = SLOTS * BUCKET.itemsize
        if shared is None:
            memory = mmap.mmap(-1, size)
        else:
            with (shared / FILE).open("ab+") as file:
                file.truncate(size)
                memory = mmap.mmap(file.fileno(), size)
        self._buckets = np.frombuffer(memory, BUCKET)

    def wait(self, client: str) -> float:
        """Count a request: 0 if it may be answered, else in how many seconds to ask again."""
        now = self._clock()
        bucket = self._bucket(client, now)
        level = min(self._most, bucket["level"] + (now - bucket["time"]) * self._a_second)
        bucket["time"] = now
        if level < 1:
            bucket["level"] = level
            return float((1 - level) / self._a_second)
        bucket["level"] = level - 1
        return 0.0

    def spend(self, client: str, more: float) -> None:
        """Count so many requests more; what a client has not saved up it waits for later."""
        bucket = self._bucket(client, self._clock())
        bucket["level"] -= more

    def _bucket(self, client: str, now: float) -> np.void:
        digest = hashlib.blake2b(client.encode("utf-8", "replace"), digest_size=16).digest()
        where, name = np.frombuffer(digest, np.uint64)
        start = int(where) % (SLOTS - NEAR)
        near = self._buckets[start : start + NEAR]
        own = np.flatnonzero(near["client"] == name)
        place = int(own[0]) if len(own) else int(near["time"].argmin())
        bucket: np.void = near[place]
        if not len(own):
            bucket["client"], bucket["level"], bucket["time"] = name, self._most, now
        return bucket
