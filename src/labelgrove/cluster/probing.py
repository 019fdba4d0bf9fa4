"""Whether a cluster answers: found out in seconds, where Ray itself waits for minutes."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

from labelgrove.cluster.address import ClusterAddress, read_address
from labelgrove.core.errors import ClusterError, InputError

SECONDS = 5.0  # to connect
PROBE_SECONDS = 20.0  # for another interpreter to import Ray and ask
PROBE = "import sys; from ray._raylet import GcsClient; GcsClient(address=sys.argv[1])"


def find_running(address: ClusterAddress) -> ClusterAddress:
    """Return where a running cluster answers, or raise a `ClusterError`."""
    if not address.host:
        address = _of_this_machine()
    _connect(address)
    _ask(address)
    _need_node(address)
    return address


def _of_this_machine() -> ClusterAddress:
    from ray._private.authentication import authentication_token_setup
    from ray._private.services import get_ray_address_from_environment

    # as Ray does for "auto": what 'ray start' did on this machine, its driver does too
    authentication_token_setup.maybe_enable_token_auth_if_token_available(warn_if_disabled=False)
    try:
        text = get_ray_address_from_environment("auto", None)
    except ConnectionError:
        raise ClusterError(
            "no Ray cluster runs on this machine and RAY_ADDRESS is not set: start one with "
            "'ray start --head', name it as HOST:PORT, or use local:N"
        ) from None
    try:
        address = read_address(text)
    except InputError:
        address = ClusterAddress()
    if not address.host:
        raise InputError(f"RAY_ADDRESS must be HOST:PORT, got {os.environ.get('RAY_ADDRESS')!r}")
    return address


def _connect(address: ClusterAddress) -> None:
    try:
        socket.create_connection((address.host, address.port), timeout=SECONDS).close()
    except OSError as error:
        reason = error.strerror or str(error)
        raise ClusterError(
            f"the cluster at {address} does not answer ({reason}): is it running there, and can "
            "this machine reach it?"
        ) from None


def _ask(address: ClusterAddress) -> None:
    """Ask in a process of its own: the call waits for minutes and cannot be interrupted."""
    command = [sys.executable, "-c", PROBE, str(address)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    try:
        answered = subprocess.run(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PROBE_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        pass
    else:
        if answered.returncode == 0:
            return
    raise ClusterError(
        f"what answers at {address} is no Ray cluster that this machine may use: check the port "
        "(6379 by default); if the cluster uses a token, set RAY_AUTH_MODE=token and give this "
        "machine the same one"
    )


def _need_node(address: ClusterAddress) -> None:
    """Refuse a machine without a Ray node: data would have to be copied through another one."""
    from ray._private.services import find_node_ids

    if not find_node_ids():
        raise ClusterError(
            f"this machine is not part of the cluster at {address}: run the command on one of its "
            f"machines, or let this one join by 'ray start --address {address} --num-cpus 0'"
        )
