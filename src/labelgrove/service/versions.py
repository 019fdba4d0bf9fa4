"""Which version of each tagger is served: a file that all processes of a service read.

A worker that starts loads the current version, not whatever lies in the tagger's folder. For a
while after a reload the version before it is kept: if a worker ends in that time, it comes back.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from labelgrove.core import system

STATE, LOCK, TRIAL = "versions.json", "versions.lock", "trial.lock"
PROBATION = 60.0  # seconds in which a worker that ends speaks against a new tagger
LOOK = 0.05  # seconds between two looks whether a lock is free


class Version(NamedTuple):
    """A version of a tagger: where it is loaded from, and the checksum of its manifest."""

    folder: str
    checksum: str


@dataclass(frozen=True)
class Tracked:
    """What is known of a tagger's versions.

    Parameters
    ----------
    current
        The one that is served.
    previous
        The one before, as long as it may come back.
    since
        When the current one was taken, on the monotonic clock.
    refused
        Checksums of versions that were taken and given up.
    """

    current: Version
    previous: Version | None = None
    since: float = 0.0
    refused: tuple[str, ...] = ()


class Versions:
    """The versions of all taggers of a service.

    Parameters
    ----------
    shared
        A folder that the processes share; None keeps them in memory, for one process.
    clock
        Seconds, the same in all processes.
    """

    def __init__(
        self, shared: Path | None = None, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._shared = shared
        self._clock = clock
        self._kept: dict[str, Tracked] = {}

    def begin(self, name: str, version: Version) -> None:
        """Note the version that a service starts with."""
        with self._changing() as known:
            known[name] = Tracked(version)

    def get(self, name: str) -> Tracked | None:
        """Return what is known of a tagger; None before the service has begun."""
        return self._read().get(name)

    def publish(self, name: str, version: Version, *, keep: bool) -> Version | None:
        """Make a version the current one; return the version that nobody needs any more.

        ``keep`` holds the one before it back for `take_back`.
        """
        with self._changing() as known:
            old = known[name]
            kept = old.current if keep else None
            known[name] = Tracked(version, kept, self._clock(), old.refused)
        return old.previous if keep else old.current

    def take_back(self) -> dict[str, Version]:
        """Return to the version before, for each tagger that was renewed a short while ago.

        Returns
        -------
        dict
            The versions that are given up, by name.
        """
        given_up: dict[str, Version] = {}
        with self._changing() as known:
            for name, tracked in known.items():
                if tracked.previous is None or self._is_settled(tracked):
                    continue
                given_up[name] = tracked.current
                refused = (*tracked.refused, tracked.current.checksum)
                known[name] = Tracked(tracked.previous, refused=refused)
        return given_up

    def settle(self) -> dict[str, Version]:
        """Forget versions that need not come back any more, and return them by name."""
        if not any(each.previous and self._is_settled(each) for each in self._read().values()):
            return {}
        gone: dict[str, Version] = {}
        with self._changing() as known:
            for name, tracked in known.items():
                if tracked.previous is not None and self._is_settled(tracked):
                    gone[name] = tracked.previous
                    known[name] = replace(tracked, previous=None)
        return gone

    @asynccontextmanager
    async def one_trial(self) -> AsyncIterator[None]:
        """Let one process at a time try a new tagger."""
        if self._shared is None:
            yield
            return
        with (self._shared / TRIAL).open("w") as file:
            while not system.HERE.lock(file.fileno()):
                await asyncio.sleep(LOOK)
            yield

    def _is_settled(self, tracked: Tracked) -> bool:
        return self._clock() - tracked.since >= PROBATION

    def _read(self) -> dict[str, Tracked]:
        if self._shared is None:
            return dict(self._kept)
        try:
            values = json.loads((self._shared / STATE).read_text("utf-8"))
        except FileNotFoundError:
            return {}
        return {name: _tracked(value) for name, value in values.items()}

    @contextmanager
    def _changing(self) -> Iterator[dict[str, Tracked]]:
        if self._shared is None:
            yield self._kept
            return
        with (self._shared / LOCK).open("w") as file:
            system.HERE.lock(file.fileno(), wait=True)
            known = self._read()
            yield known
            written = self._shared / f"{STATE}.{os.getpid()}"
            values = {name: asdict(tracked) for name, tracked in known.items()}
            written.write_text(json.dumps(values), "utf-8")
            # whoever reads sees the old one or the new one
            system.HERE.replace(written, self._shared / STATE)


def _tracked(value: dict[str, Any]) -> Tracked:
    previous = value["previous"]
    return Tracked(
        Version(*value["current"]),
        Version(*previous) if previous else None,
        value["since"],
        tuple(value["refused"]),
    )
