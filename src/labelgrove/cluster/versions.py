"""What must be the same on every node: labelgrove, Python, numpy."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Callable
from functools import cache
from importlib import metadata
from pathlib import Path

from labelgrove.core.errors import ClusterError

Versions = dict[str, str]
SOURCE = "source of labelgrove"
MISSING = "not installed"
SAME = ("torch", "lightning-fabric")  # what networks compute with
THERE = ("pandas", "pydantic")  # what Ray Train imports
ANY = "(any version)"


@cache
def _source_checksum() -> str:
    """Return a checksum of the package's Python files: two of one version may still differ."""
    root = Path(__file__).parents[1]
    total = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        content = path.read_bytes().replace(b"\r\n", b"\n")
        total.update(f"{path.relative_to(root).as_posix()} {len(content)}\n".encode())
        total.update(content)
    return total.hexdigest()[:12]


def versions_here() -> Versions:
    """Return the versions of this process."""
    import numpy as np

    from labelgrove._version import __version__

    return {
        "labelgrove": __version__,
        SOURCE: _source_checksum(),
        "Python": platform.python_version(),
        "numpy": np.__version__,
    }


def network_versions() -> Versions:
    """Return what must be the same on nodes that train a network."""
    found = {name: _installed(name) for name in SAME}
    return versions_here() | found | {name: _any(name) for name in THERE}


def _installed(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return MISSING


def _any(name: str) -> str:
    return MISSING if _installed(name) == MISSING else ANY


def compare(node: str, theirs: Versions, ours: Versions) -> None:
    """Raise a `ClusterError` that names the node and both versions if they differ."""
    for name, version in ours.items():
        other = theirs.get(name, MISSING)
        if other == version:
            continue
        if other == MISSING:
            raise ClusterError(
                f"node {node} has no {name}: install {name} {version} there, as on this machine"
            )
        raise ClusterError(
            f"node {node} has another {name} than this machine: {other} there, {version} here; "
            "install the same on both"
        )


def reader_for_nodes(networks: bool = False) -> Callable[[], Versions]:
    """Return a function that works on nodes without labelgrove or with another one.

    It is a function inside a function, so that Ray sends its code instead of its name.

    Parameters
    ----------
    networks
        Whether it also tells what networks need.
    """
    wanted = "network_versions" if networks else "versions_here"

    def read() -> dict[str, str]:
        import platform
        from importlib import import_module

        try:
            module = import_module("labelgrove.cluster.versions")
            here: dict[str, str] = getattr(module, wanted)()
        except (ImportError, AttributeError):
            here = {"Python": platform.python_version()}
            for name in ("labelgrove", "numpy"):
                try:
                    here[name] = import_module(name).__version__
                except (ImportError, AttributeError):
                    here[name] = "not installed"
        return here

    return read
