"""Work that other processes do, perhaps on other machines: what a room below asks of them."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from typing import Any, NamedTuple, Protocol

from labelgrove.core.progress import Progress


class Home(Protocol):
    """The process that waits for a group of processes, as these see it."""

    @property
    def progress(self) -> Progress:
        """Shown there."""
        ...

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function of a module on the machine of that process; return what it returns."""
        ...

    def is_stopped(self) -> bool:
        """Tell whether the group should stop at its next step."""
        ...


class GroupPlan(NamedTuple):
    """Processes that are to be joined in one group of ``torch.distributed``.

    Parameters
    ----------
    size
        How many there are.
    device
        Of each: ``"cpu"`` or ``"cuda"``.
    threads
        CPUs of each, at least 1.
    """

    size: int
    device: str
    threads: int


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

    def plan_group(self, most: int, device: str) -> GroupPlan:
        """Return the largest group that there is room for.

        Parameters
        ----------
        most
            Most processes that it may have.
        device
            ``"auto"``, ``"cpu"`` or ``"cuda"``.
        """
        ...

    def run_group(
        self,
        plan: GroupPlan,
        function: Callable[[Any, Home], None],
        job: Any,
        progress: Progress,
        *,
        sparse: bool = False,
    ) -> None:
        """Run ``function(job, home)`` in all processes of a group, until all have returned.

        If one dies, all begin again. After Ctrl-C `Home.is_stopped` is true, and
        KeyboardInterrupt is raised here when they have returned.

        Parameters
        ----------
        progress
            Where their progress is shown.
        sparse
            Whether they exchange sparse tensors too.
        """
        ...
