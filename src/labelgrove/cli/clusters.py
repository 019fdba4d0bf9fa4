"""The cluster that ``--cluster`` asks for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from labelgrove.core.errors import ClusterError, InputError

if TYPE_CHECKING:
    from labelgrove.cluster import ClusterTrials, ClusterWorkers
    from labelgrove.core.progress import Progress
    from labelgrove.tagger import Tagger


ABLE = (
    "linear models can (bonsai, parabel, one-vs-rest, classifier-chain), networks whose batches "
    "have at least 16 documents, and models that contain them"
)


@contextmanager
def opened_workers(
    address: str | None, tagger: Tagger, progress: Progress
) -> Iterator[ClusterWorkers | None]:
    """Open a cluster for a training, or give None where none is asked for.

    Parameters
    ----------
    address
        What ``--cluster`` says.
    tagger
        What is trained. A model without a use for a cluster is refused before that is opened.
    progress
        Where progress is shown, and at the end whether the training had a use for the cluster.
    """
    if address is None:
        yield None
        return
    if not has_use(tagger):
        name = getattr(tagger.model, "name", tagger.model)
        raise InputError(
            f"no part of a training of {name} can run on a cluster: leave out --cluster; {ABLE}"
        )
    from labelgrove.cluster import ClusterWorkers, open_cluster

    with open_cluster(address, progress=progress) as cluster:
        workers = ClusterWorkers(cluster)
        yield workers
        if not workers.n_done:
            progress.say(f"no part of this training ran on the cluster: {ABLE}")


def has_use(tagger: Tagger) -> bool:
    """Tell whether a part of a tagger's training may run on a cluster."""
    return bool(getattr(tagger.model, "uses_workers", True))


def cpus_of(address: str, progress: Progress) -> int:
    """Return how many CPUs a cluster has."""
    from labelgrove.cluster import open_cluster, read_address

    wanted = read_address(address)
    if wanted.cpus is not None:  # it would be started for that
        return wanted.cpus
    with open_cluster(wanted, progress=progress) as cluster:
        if not cluster.cpus:
            raise ClusterError("the cluster has no CPU: start a node with some")
        return cluster.cpus


@contextmanager
def opened_trials(address: str | None, progress: Progress) -> Iterator[ClusterTrials | None]:
    """Open a cluster for the trials of a search, or give None where none is asked for."""
    if address is None:
        yield None
        return
    from labelgrove.cluster import ClusterTrials, open_cluster

    with open_cluster(address, progress=progress) as cluster:
        yield ClusterTrials(cluster)
