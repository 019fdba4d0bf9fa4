"""Where a service listens: the sockets of the service and of its metrics."""

from __future__ import annotations

import socket

from labelgrove.core.errors import InputError

WAITING = 2_048  # connections that wait to be accepted


def sockets(
    host: str, port: int, metrics_port: int | None
) -> tuple[socket.socket, socket.socket | None]:
    """Return the sockets of the service and of its metrics, if these have their own."""
    listening = listen(host, port)
    if metrics_port is None:
        return listening, None
    try:
        counted = listen(host, metrics_port, "--metrics-port")
    except InputError:
        listening.close()
        raise
    counted.set_inheritable(False)
    return listening, counted


def address(host: str, listening: socket.socket) -> str:
    """Return the web address of a socket."""
    return f"http://{shown(host)}:{listening.getsockname()[1]}"


def listen(host: str, port: int, option: str = "--port") -> socket.socket:
    """Return a socket that listens; ``option`` is what chose the port."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except (OSError, OverflowError) as error:
        listening.close()
        why = getattr(error, "strerror", None) or error
        raise InputError(
            f"nothing can listen at {shown(host)}:{port} ({why}): choose another {option} or --host"
        ) from error
    listening.listen(WAITING)
    listening.set_inheritable(True)
    return listening


def shown(host: str) -> str:
    """Return a host as it stands in an address."""
    return f"[{host}]" if ":" in host else host
