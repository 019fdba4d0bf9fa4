"""Work that other processes do, perhaps on other machines: what a room below asks of them."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from typing import Any, Protocol


class RemoteWorkers(Protocol):
    """Processes that run functions of modules, each with one CPU."""

    @property
    def cpus(self) -> int:
        """How many run at once."""
        ...

    def put(self, value: Any) -> Any:
        """Send a value to where workers find it; return what stands for it in ``shared``.

        Its arrays are read-only there, and one copy serves all workers of a machine.
        """
        ...

    def run(
        self, function: Callable[..., Any], jobs: Iterable[Any], shared: Sequence[Any] = ()
    ) -> Generator[tuple[int, Any], None, None]:
        """Run ``function(job, *shared)`` for each job; yield its number and result when ready.

        Jobs are read only as far as there is room for more. A job runs again if a worker dies.
        """
        ...
