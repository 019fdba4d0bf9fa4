"""The processes of a cluster, as a training takes them."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing
from typing import Any

from labelgrove.cluster.connection import Cluster
from labelgrove.cluster.groups import plan_group, run_group
from labelgrove.cluster.tasks import run_tasks
from labelgrove.core.progress import Progress
from labelgrove.core.remote import GroupPlan, Home


class ClusterWorkers:
    """Runs tasks of a training on a cluster; give it as ``Run(workers=...)``.

    Parameters
    ----------
    cluster
        An open cluster.

    Attributes
    ----------
    n_done
        How many tasks have been run so far.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.n_done = 0

    @property
    def cpus(self) -> int:
        """The CPUs of all nodes that are alive now."""
        return self._cluster.cpus

    def put(self, value: Any) -> Any:
        """Put a value into the object store, once for all tasks."""
        return self._cluster.put(value)

    def run(
        self, function: Callable[..., Any], jobs: Iterable[Any], shared: Sequence[Any] = ()
    ) -> Generator[tuple[int, Any], None, None]:
        """Run ``function(job, *shared)`` for each job, as `run_tasks` does."""
        with closing(run_tasks(self._cluster, function, jobs, shared=shared)) as results:
            for number, result in results:
                self.n_done += 1
                yield number, result

    def plan_group(self, most: int, device: str) -> GroupPlan:
        """Return the largest group of processes that there is room for."""
        return plan_group(self._cluster.nodes, most, device)

    def run_group(
        self,
        plan: GroupPlan,
        function: Callable[[Any, Home], None],
        job: Any,
        progress: Progress,
        *,
        sparse: bool = False,
    ) -> None:
        """Run ``function(job, home)`` in processes that learn together, as `groups.run_group`."""
        run_group(self._cluster, plan, function, job, progress, sparse=sparse)
        self.n_done += plan.size
