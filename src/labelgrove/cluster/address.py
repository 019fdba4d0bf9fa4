"""The address of a cluster, as ``--cluster`` takes it."""

from __future__ import annotations

from dataclasses import dataclass

from labelgrove.core.errors import InputError

FORMS = (
    "local:N (a cluster of N CPUs on this machine, for this command), auto (the cluster that runs "
    "here or that RAY_ADDRESS names), or HOST:PORT"
)
LAST_PORT = 65535


@dataclass(frozen=True)
class ClusterAddress:
    """Which cluster to use.

    Parameters
    ----------
    cpus
        CPUs of a cluster to be started on this machine, or None to use one that runs.
    host, port
        Where a running cluster answers; an empty host and 0 if it has to be found.
    """

    cpus: int | None = None
    host: str = ""
    port: int = 0

    def __str__(self) -> str:
        if self.cpus is not None:
            return f"local:{self.cpus}"
        if not self.host:
            return "auto"
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def read_address(text: str) -> ClusterAddress:
    """Return the address that ``text`` gives, or raise an error that lists the valid forms.

    Examples
    --------
    >>> read_address("local:4").cpus
    4
    >>> read_address("10.0.0.5:6379").port
    6379
    """
    text = text.strip()
    if text == "auto":
        return ClusterAddress()
    if "://" in text:
        # Ray's client would copy all data through one process of the cluster, needs grpcio, and
        # is not made for Ray Train: the command has to run on a machine of the cluster instead.
        raise InputError(
            f"cluster {text!r}: addresses of the Ray client are not supported; run the command on "
            "a machine of the cluster with auto or HOST:PORT, or by 'ray job submit'"
        )
    host, colon, number = text.rpartition(":")
    if host == "local":
        if not _is_number(number) or int(number) < 1:
            raise InputError(
                f"cluster {text!r}: local:N needs a number of CPUs from 1, such as local:4"
            )
        return ClusterAddress(cpus=int(number))
    bracketed = host.startswith("[") and host.endswith("]")
    if not colon or not host or (":" in host and not bracketed):
        raise InputError(f"unknown cluster {text!r}: give {FORMS}")
    if not _is_number(number) or not 1 <= int(number) <= LAST_PORT:
        raise InputError(f"cluster {text!r}: the port must be a number from 1 to {LAST_PORT}")
    return ClusterAddress(host=host.strip("[]"), port=int(number))


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 10
