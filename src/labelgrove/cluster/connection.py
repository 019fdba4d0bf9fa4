"""A Ray cluster: opened by its address, checked, closed at the end."""

from __future__ import annotations

import logging
import os
import secrets
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from labelgrove.cluster.address import ClusterAddress, read_address
from labelgrove.cluster.scratch import scratch_folder
from labelgrove.cluster.versions import (
    Versions,
    compare,
    network_versions,
    reader_for_nodes,
    versions_here,
)
from labelgrove.core import interrupts
from labelgrove.core.errors import ClusterError
from labelgrove.core.extras import need
from labelgrove.core.progress import Progress, Silent

LIBRARIES = ("OMP", "OPENBLAS", "MKL", "NUMEXPR", "NUMBA", "RAYON", "VECLIB_MAXIMUM")
NODE_SECONDS = 120.0  # for a node to start a process and tell its versions
OWN_SETTINGS = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_task_oom_retries": "3",  # without end otherwise
    "RAY_CHDIR_TO_TRIAL_DIR": "0",  # Ray Train would change the working folder
    "RAY_TRAIN_METRICS_ENABLED": "0",
    "RAY_TRAIN_WORKER_GROUP_START_TIMEOUT_S": "600",  # a minute is not enough for busy machines
}

SET_BY_RAY = ("RAY_AUTH_MODE", "PYTHONBREAKPOINT")


@dataclass(frozen=True)
class ClusterNode:
    """A machine of a cluster.

    Parameters
    ----------
    id
        Ray's id of it.
    name
        Its host name and address, for messages.
    cpus, gpus
        How many tasks of one CPU, or of one GPU, it takes.
    """

    id: str
    name: str
    cpus: int
    gpus: int


@dataclass(frozen=True)
class Cluster:
    """An open cluster.

    Parameters
    ----------
    address
        What was asked for.
    versions
        The versions of this process, which every node must have.
    progress
        Where is said what is waited for.
    """

    address: ClusterAddress
    versions: Versions = field(repr=False)
    progress: Progress = field(repr=False)

    @property
    def nodes(self) -> list[ClusterNode]:
        """The nodes that are alive now."""
        import ray

        return [
            ClusterNode(
                each["NodeID"],
                f"{each['NodeManagerHostname']} ({each['NodeManagerAddress']})",
                int(each["Resources"].get("CPU", 0)),
                int(each["Resources"].get("GPU", 0)),
            )
            for each in ray.nodes()
            if each["Alive"]
        ]

    @property
    def cpus(self) -> int:
        """The CPUs of all nodes that are alive now, free or not."""
        import ray

        return int(ray.cluster_resources().get("CPU", 0))

    @property
    def free_cpus(self) -> int:
        """The CPUs that nobody uses, as far as nodes have told by now."""
        import ray

        return int(ray.available_resources().get("CPU", 0))

    def put(self, value: Any) -> Any:
        """Put a value into the object store, and return the reference that tasks take."""
        import ray

        try:
            return ray.put(value)
        except (ray.exceptions.ObjectStoreFullError, ray.exceptions.OutOfDiskError) as error:
            raise ClusterError(
                "the object store of this machine and the disk behind it are full: free some of "
                "the disk of Ray's temporary folder, or use fewer documents"
            ) from error

    def check_versions(self, networks: bool = False) -> None:
        """Raise a `ClusterError` if a node has another labelgrove, Python or numpy.

        Parameters
        ----------
        networks
            Also if it lacks what networks are trained with.
        """
        import ray
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        read = ray.remote(num_cpus=0, max_retries=3)(reader_for_nodes(networks))
        wanted = self.versions | (network_versions() if networks else {})
        nodes = self.nodes
        asked = [
            read.options(scheduling_strategy=NodeAffinitySchedulingStrategy(each.id, soft=False))
            for each in nodes
        ]
        answers = [each.remote() for each in asked]  # all at once: a process takes a second
        for node, answer in zip(nodes, answers, strict=True):
            try:
                theirs = ray.get(answer, timeout=NODE_SECONDS)
            except ray.exceptions.GetTimeoutError:
                raise ClusterError(
                    f"node {node.name} does not answer for {NODE_SECONDS:.0f} s"
                ) from None
            except ray.exceptions.RayError as error:
                if node.id not in [each.id for each in self.nodes]:
                    continue  # it was lost meanwhile, and no task will run there
                first = next(iter(str(error).strip().splitlines()), type(error).__name__)
                raise ClusterError(f"node {node.name} cannot run tasks: {first}") from error
            compare(node.name, theirs, wanted)


@contextmanager
def open_cluster(
    address: str | ClusterAddress,
    *,
    progress: Progress | None = None,
    object_store_memory: int | None = None,
) -> Iterator[Cluster]:
    """Open a cluster, check its nodes, and close it at the end; ``local:N`` ends then.

    Parameters
    ----------
    address
        ``"local:N"``, ``"auto"`` or ``"HOST:PORT"``.
    progress
        Where is said what is waited for; nowhere by default.
    object_store_memory
        Bytes of the object store of ``local:N``; chosen by Ray by default.
    """
    wanted = read_address(address) if isinstance(address, str) else address
    if sys.platform == "win32":
        raise ClusterError(
            "labelgrove uses no Ray cluster on Windows: run the command on Linux, such as in WSL"
        )
    environment = {name: os.environ.get(name) for name in (*OWN_SETTINGS, *SET_BY_RAY)}
    for name, value in OWN_SETTINGS.items():
        os.environ.setdefault(name, value)
    ray = need("ray", "cluster", "a cluster")
    logging.getLogger("ray").setLevel(logging.CRITICAL)  # errors are raised, and said in our words
    if ray.is_initialized():
        raise ClusterError("a cluster is open in this process already: close it first")
    shown = Silent() if progress is None else progress
    opening = _running(wanted) if wanted.cpus is None else _local(wanted.cpus, object_store_memory)
    try:
        with interrupts.terminated_like_interrupted():
            shown.say(_opening(wanted))
            with opening:
                cluster = Cluster(wanted, versions_here(), shown)
                cluster.check_versions()
                shown.say(
                    f"the cluster is open: nodes {len(cluster.nodes):,}, CPUs {cluster.cpus:,}"
                )
                yield cluster
    finally:
        for name, before in environment.items():
            _restore(name, before)


def _opening(wanted: ClusterAddress) -> str:
    """Return what is said at once: processes of Ray take seconds to start or to answer."""
    if wanted.cpus is not None:
        return f"starting a cluster on this machine: CPUs {wanted.cpus:,}"
    return f"opening the cluster at {wanted}" if wanted.host else "looking for the cluster"


@contextmanager
def _running(wanted: ClusterAddress) -> Iterator[None]:
    from labelgrove.cluster.probing import find_running

    with _connected(address=str(find_running(wanted))):
        yield


@contextmanager
def _local(cpus: int, object_store_memory: int | None) -> Iterator[None]:
    """Start a cluster on this machine, with a folder and a token of its own."""
    # Ray's processes listen on all interfaces, so a token is needed. Ray would write one into the
    # user's home, from where all later clusters of the machine would take it.
    from ray._raylet import AuthenticationTokenLoader  # type: ignore[attr-defined]

    before = os.environ.get("RAY_AUTH_TOKEN")
    os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
    AuthenticationTokenLoader.instance().reset_cache()  # it may know that of an earlier cluster
    try:
        with (
            scratch_folder() as folder,
            _connected(
                address="local",
                num_cpus=cpus,
                include_dashboard=False,
                object_store_memory=object_store_memory,
                _temp_dir=str(folder),
                modules=os.pathsep.join(filter(None, sys.path)),
            ),
        ):
            yield
    finally:
        _restore("RAY_AUTH_TOKEN", before)
        AuthenticationTokenLoader.instance().reset_cache()


@contextmanager
def _connected(*, modules: str | None = None, **arguments: Any) -> Iterator[None]:
    """Connect this process, and disconnect it at the end.

    Parameters
    ----------
    modules
        Where workers look for modules, if not where their node does.
    arguments
        Those of ``ray.init``.
    """
    import ray

    variables = {f"{name}_NUM_THREADS": "1" for name in LIBRARIES}
    if modules is not None:
        variables["PYTHONPATH"] = modules
    try:
        with _own_sigterm():
            _keep_quiet()
            ray.init(
                log_to_driver=False,
                configure_logging=False,
                runtime_env={"env_vars": variables},
                **arguments,
            )
    except (ray.exceptions.RayError, RuntimeError, ValueError, OSError) as error:
        ray.shutdown()
        reason = " ".join(str(error).split())
        raise ClusterError(f"the cluster cannot be opened: {reason}") from error
    except BaseException:  # Ctrl-C while processes start
        ray.shutdown()
        raise
    try:
        yield
    finally:
        ray.shutdown()


def _keep_quiet() -> None:
    """Send to the log what Ray prints to standard output, even with ``log_to_driver=False``.

    It prints the last lines of a node's log when a node dies, among the results of a command.
    """
    from ray._private import worker

    def log(message: dict[str, Any], ignore_prefix: bool = False) -> None:
        logging.getLogger("ray").info("\n".join(message["lines"]))

    worker.print_to_stdstream = log


@contextmanager
def _own_sigterm() -> Iterator[None]:
    """Keep this process's answer to SIGTERM, which ``ray.init`` replaces."""
    from ray._private import utils

    before, replace = signal.getsignal(signal.SIGTERM), utils.set_sigterm_handler
    utils.set_sigterm_handler = lambda handler: None  # else it would be Ray's while Ray starts
    try:
        yield
    finally:
        utils.set_sigterm_handler = replace
        if threading.current_thread() is threading.main_thread() and before is not None:
            signal.signal(signal.SIGTERM, before)


def _restore(name: str, value: str | None) -> None:
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value
