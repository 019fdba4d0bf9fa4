"""Processes of a cluster that train one network together, by Ray Train."""

from __future__ import annotations

import socket
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from labelgrove.cluster.connection import Cluster, ClusterNode
from labelgrove.cluster.failures import pack, unpack
from labelgrove.cluster.home import HomeProcess, SentHome, ShownAtHome
from labelgrove.cluster.tasks import PATIENCE
from labelgrove.cluster.versions import THERE, compare, network_versions
from labelgrove.core import interrupts
from labelgrove.core.errors import ClusterError, LabelgroveError
from labelgrove.core.extras import need
from labelgrove.core.progress import Progress
from labelgrove.core.remote import GroupPlan, Home

MAX_RETRIES = 3  # deaths in a row without getting further
LOOK = 0.3  # seconds between two looks at what a group sends
GRACE = 10.0  # seconds for a group that has failed or was stopped to end


def cpus_each(cpus: Sequence[int], processes: int) -> int:
    """Return how many CPUs each of some processes gets, which has all its CPUs on one node.

    Parameters
    ----------
    cpus
        CPUs of each node.
    processes
        At most as many as there are CPUs.

    Examples
    --------
    >>> cpus_each([4, 4], 2), cpus_each([4, 4], 3), cpus_each([5, 3], 2)
    (4, 2, 3)
    """
    each = sum(cpus) // processes
    while sum(own // each for own in cpus) < processes:
        each -= 1
    return each


def plan_group(nodes: Sequence[ClusterNode], most: int, device: str) -> GroupPlan:
    """Return the largest group that a cluster has room for.

    Parameters
    ----------
    nodes
        Of the cluster.
    most
        Most processes that it may have.
    device
        ``"auto"`` (GPUs if there are any), ``"cpu"`` or ``"cuda"``.
    """
    with_gpus = [node for node in nodes if node.gpus]
    if device == "cuda" and not with_gpus:
        raise ClusterError("device='cuda': no node of the cluster has a GPU; device='auto' works")
    if with_gpus and device != "cpu":
        size = min(sum(node.gpus for node in with_gpus), most)
        threads = min(node.cpus // node.gpus for node in with_gpus)
        return GroupPlan(size, "cuda", max(threads, 1))
    cpus = [node.cpus for node in nodes]
    if not sum(cpus):
        raise ClusterError("the cluster has no CPU: start a node with some")
    size = min(sum(cpus), most)
    return GroupPlan(size, "cpu", cpus_each(cpus, size))


def count_fitting(nodes: Sequence[ClusterNode], plan: GroupPlan) -> int:
    """Return how many processes of a group nodes could run, whatever they do now.

    Examples
    --------
    >>> nodes = [ClusterNode("a", "a", cpus=5, gpus=0), ClusterNode("b", "b", cpus=1, gpus=0)]
    >>> count_fitting(nodes, GroupPlan(3, "cpu", threads=2))
    2
    """
    if plan.device == "cuda":
        return sum(node.gpus for node in nodes)
    return sum(node.cpus // plan.threads for node in nodes)


def run_group(
    cluster: Cluster,
    plan: GroupPlan,
    function: Callable[[Any, Home], None],
    job: Any,
    progress: Progress,
    *,
    sparse: bool = False,
    max_retries: int = MAX_RETRIES,
) -> None:
    """Run ``function(job, home)`` in all processes of a group, until all have returned.

    Parameters
    ----------
    cluster
        Where they run.
    plan
        How many, and on what.
    function
        Of a module that nodes can import. All begin again if one dies.
    job
        What they are given; sent to each node once.
    progress
        Where their progress is shown.
    sparse
        Whether they exchange sparse tensors, which not every backend can.
    max_retries
        How many times in a row they may begin again without getting further.
    """
    for module in (*THERE, "ray.train"):
        need(module, "cluster", "training a network on a cluster")
    cluster.check_versions(networks=True)
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    options = {"num_cpus": 0, "max_restarts": -1, "max_task_retries": -1, "max_concurrency": 4}
    home = ray.remote(**options)(HomeProcess).options(scheduling_strategy=here).remote(max_retries)
    given = cluster.put((function, job))
    config = {"home": home, "given": [given], "versions": network_versions()}
    with tempfile.TemporaryDirectory(prefix="labelgrove-", ignore_cleanup_errors=True) as folder:
        trainer = _trainer(plan, config, folder, sparse)
        fitting = _Fitting(trainer.fit)
        try:
            _wait(fitting, home, _Room(cluster, plan, progress), progress)
        finally:
            fitting.join(GRACE)  # Ray may abort if it is closed meanwhile
            if not fitting.is_alive():  # else its processes still ask it whether to stop
                with suppress(ray.exceptions.RayError):
                    ray.kill(home)


def _trainer(plan: GroupPlan, config: dict[str, Any], folder: str, sparse: bool) -> Any:
    from ray.train import FailureConfig, RunConfig, ScalingConfig
    from ray.train.torch import TorchConfig, TorchTrainer

    on_gpus = plan.device == "cuda"
    resources = {"CPU": plan.threads, **({"GPU": 1} if on_gpus else {})}
    return TorchTrainer(
        run_in_group,
        train_loop_config=config,
        torch_config=TorchConfig(backend="nccl" if on_gpus and not sparse else "gloo"),
        scaling_config=ScalingConfig(
            num_workers=plan.size, use_gpu=on_gpus, resources_per_worker=resources
        ),
        run_config=RunConfig(
            storage_path=folder,  # of Ray's own notes: checkpoints go home
            failure_config=FailureConfig(max_failures=-1),  # home counts those without a gain
        ),
    )


def run_in_group(config: dict[str, Any]) -> None:
    """Do what one process of a group has to; Ray Train has joined it with the others."""
    import ray
    from ray.train import get_context

    actor = config["home"]
    if not ray.get(actor.begin.remote(get_context().get_world_rank() == 0)):
        return
    home = SentHome(actor)
    try:
        compare(socket.gethostname(), network_versions(), config["versions"])
        function, job = ray.get(config["given"][0])
        function(job, home)
        home.flush()
    except KeyboardInterrupt:  # as home asked for
        home.flush()
    except (LabelgroveError, ImportError, MemoryError) as error:
        ray.get(actor.fail.remote(pack(error)))
        raise  # the others are ended, and nobody begins again
    except Exception as error:
        lines = str(error).strip().splitlines() or [""]
        ray.get(actor.complain.remote(f"{type(error).__name__}: {lines[0]}"))
        raise


class _Fitting(threading.Thread):
    """Ray Train at work in a thread, where it does not take over Ctrl-C."""

    def __init__(self, fit: Callable[[], Any]) -> None:
        super().__init__(daemon=True)
        self._fit = fit
        self.error: Exception | None = None
        self.start()

    def run(self) -> None:
        """Train; remember the error if there is one."""
        try:
            self._fit()
        except Exception as error:
            self.error = error
        except SystemExit:  # the cluster is closed while a group that failed still ends
            pass


class _Room:
    """Says what a group waits for, each time that it has to wait."""

    def __init__(self, cluster: Cluster, plan: GroupPlan, progress: Progress) -> None:
        self._cluster, self._plan, self._progress = cluster, plan, progress
        self._next = time.monotonic() + PATIENCE
        self._said = ""

    @property
    def lacks(self) -> bool:
        """Whether a node is missing."""
        return self._n_fitting < self._plan.size

    @property
    def _n_fitting(self) -> int:
        """How many of its processes the nodes have room for."""
        return min(count_fitting(self._cluster.nodes, self._plan), self._plan.size)

    def tell(self, begun: bool) -> None:
        """Look from time to time whether a node is missing, or none of the processes has begun."""
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + PATIENCE
        size, message = self._plan.size, ""
        if self.lacks:
            message = (
                f"waiting for a node: there is room for {self._n_fitting} of {size} processes "
                "(Ctrl-C stops, and --resume goes on with fewer)"
            )
        elif not begun:
            message = f"waiting for {size} processes with {self._plan.threads} CPUs each to begin"
        if message and message != self._said:
            self._progress.say(message)
        self._said = message


def _wait(fitting: _Fitting, home: Any, room: _Room, progress: Progress) -> None:
    """Show what a group sends, until it has ended; raise what ended it."""
    import ray

    shown, begun, stopping = ShownAtHome(progress), False, False
    with interrupts.between_steps() as interrupted:
        try:
            while True:
                fitting.join(LOOK)
                over = not fitting.is_alive()
                news = ray.get(home.news.remote())
                shown.show(news.messages)
                begun = begun or news.begun
                room.tell(begun)
                if over or news.failed is not None:  # what is left ends by itself
                    break
                if interrupted():
                    home.stop.remote()  # also for processes that begin when nobody waits any more
                    if not begun or room.lacks:  # nobody would answer
                        raise KeyboardInterrupt
                    if not stopping:
                        stopping = True
                        progress.say("stopping after this step: what is learned is kept")
        finally:
            shown.close()
        if news.failed is not None:
            raise unpack(news.failed)
        if interrupted():
            raise KeyboardInterrupt
    if fitting.error is not None:
        lines = str(fitting.error).strip().splitlines() or [type(fitting.error).__name__]
        raise ClusterError(f"the training on the cluster failed: {lines[0]}") from fitting.error
