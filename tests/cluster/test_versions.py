from dataclasses import replace

import pytest

import cluster_jobs
from labelgrove.cluster import run_tasks, versions
from labelgrove.cluster.versions import (
    SOURCE,
    compare,
    network_versions,
    reader_for_nodes,
    versions_here,
)
from labelgrove.core.errors import ClusterError


def test_the_same_versions_pass():
    here = versions_here()
    assert set(here) == {"labelgrove", SOURCE, "Python", "numpy"}
    compare("a", reader_for_nodes()(), here)


@pytest.mark.parametrize("name", ["labelgrove", SOURCE, "Python", "numpy"])
def test_a_difference_names_the_node_and_both_versions(name):
    here = versions_here()
    with pytest.raises(ClusterError, match=f"node a has another {name}.*0.0.1 there") as told:
        compare("a", here | {name: "0.0.1"}, here)
    assert f"{here[name]} here" in str(told.value)


def test_a_node_without_labelgrove():
    here = versions_here()
    with pytest.raises(ClusterError, match="node a has no labelgrove: install labelgrove"):
        compare("a", {"Python": here["Python"], "numpy": here["numpy"]}, here)


def test_every_node_is_asked(small_cluster):
    small_cluster.check_versions()
    other = replace(small_cluster, versions=small_cluster.versions | {"numpy": "0.0.1"})
    (node,) = small_cluster.nodes
    with pytest.raises(ClusterError, match="has another numpy than this machine") as told:
        other.check_versions()
    assert node.name in str(told.value)


def test_what_networks_need_is_asked_of_every_node(small_cluster, monkeypatch):
    small_cluster.check_versions(networks=True)
    here = network_versions()
    assert here["pandas"] == here["pydantic"] == "(any version)"
    monkeypatch.setattr(versions, "_installed", lambda name: "0.0.1")
    with pytest.raises(ClusterError, match=r"has another torch than this machine: .* 0.0.1 here"):
        small_cluster.check_versions(networks=True)
    there = here | {"pandas": "not installed"}
    with pytest.raises(ClusterError, match=r"node a has no pandas: install pandas \(any version\)"):
        compare("a", there, here)


def test_a_task_refuses_a_node_that_joined_later(small_cluster):
    other = replace(small_cluster, versions=small_cluster.versions | {SOURCE: "0"})
    with pytest.raises(ClusterError, match="has another source of labelgrove"):
        list(run_tasks(other, cluster_jobs.square, [1]))
