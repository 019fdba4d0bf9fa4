"""Work on a Ray cluster: opening it, and running tasks on it (extra: cluster).

Nothing here imports Ray before a cluster is opened.
"""

from labelgrove.cluster.address import ClusterAddress, read_address
from labelgrove.cluster.connection import Cluster, open_cluster
from labelgrove.cluster.tasks import run_tasks
from labelgrove.cluster.trials import ClusterTrials
from labelgrove.cluster.workers import ClusterWorkers

__all__ = [
    "Cluster",
    "ClusterAddress",
    "ClusterTrials",
    "ClusterWorkers",
    "open_cluster",
    "read_address",
    "run_tasks",
]
