import pytest

from labelgrove.cluster import open_cluster

STORE = 200 * 2**20  # bytes; more than CI has in /dev/shm would go to a disk


@pytest.fixture(scope="module")
def small_cluster():
    """A real cluster of two CPUs on this machine, for the tests of one file."""
    with open_cluster("local:2", object_store_memory=STORE) as cluster:
        yield cluster
