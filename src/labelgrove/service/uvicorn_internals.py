"""What the service uses of uvicorn beyond its documented interface, and whether it is still there.

Uvicorn stays because what the service adds sits between its parts and no server has it ready:
requests that are on their way when the service stops are answered (`leaving.py`), clients that
neither send nor read are let go (`connections.py`), and workers that end are replaced by ones
with the tagger that worked (`workers.py`). Gunicorn replaces workers too, but knows no versions
of taggers, and runs on Unix alone.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState
from uvicorn.supervisors.multiprocess import Multiprocess, Process

from labelgrove.core.errors import LabelgroveError

SUPPORTED = ">=0.54,<0.60"  # as in pyproject.toml


@dataclass(frozen=True)
class Used:
    """What is used of a class.

    Parameters
    ----------
    kind
        The class.
    methods
        The names of the arguments of each method that is called or replaced.
    attributes
        What its instances have from the beginning.
    """

    kind: type
    methods: Mapping[str, Sequence[str]] = field(default_factory=dict)
    attributes: Sequence[str] = ()


USED = (
    Used(
        uvicorn.Config,
        {
            "__init__": (
                *("app", "factory", "http", "ws", "workers", "log_config", "access_log"),
                *("proxy_headers", "server_header", "backlog", "timeout_keep_alive"),
                "timeout_graceful_shutdown",
            ),
        },
        ("workers", "timeout_graceful_shutdown"),
    ),
    Used(
        uvicorn.Server,
        {
            "__init__": ("config",),
            **dict.fromkeys(("run", "startup", "shutdown"), ("sockets",)),
        },
        ("server_state", "force_exit"),
    ),
    Used(ServerState, attributes=("connections",)),
    Used(
        Process,
        {
            "__init__": ("config", "sockets"),
            "ping": ("timeout",),
            "wait_until_ready": ("timeout", "should_exit"),
            **dict.fromkeys(("start", "kill", "join", "pid", "exitcode", "server"), ()),
        },
        ("config", "process", "_server"),
    ),
    Used(
        Multiprocess,
        {
            "__init__": ("config", "sockets"),
            **dict.fromkeys(("run", "init_processes", "keep_subprocess_alive"), ()),
            **dict.fromkeys(("terminate_all", "join_all", "handle_signals"), ()),
            **dict.fromkeys(("handle_hup", "handle_ttin", "handle_ttou"), ()),
        },
        ("config", "sockets", "processes", "processes_num", "should_exit", "signal_queue"),
    ),
    Used(
        HttpToolsProtocol,
        {
            "connection_made": ("transport",),
            "data_received": ("data",),
            "connection_lost": ("exc",),
            "send_400_response": ("msg",),
            **dict.fromkeys(("on_message_begin", "on_headers_complete"), ()),
            **dict.fromkeys(("on_message_complete", "on_response_complete"), ()),
            **dict.fromkeys(("shutdown", "pause_writing", "resume_writing"), ()),
        },
        (
            *("loop", "transport", "cycle", "server_state"),
            *("timeout_keep_alive", "timeout_keep_alive_task"),
        ),
    ),
    Used(RequestResponseCycle, attributes=("keep_alive", "response_complete")),
)


def missing(used: Sequence[Used] = USED) -> list[str]:
    """Return what is not there as it is used, as ``Class.name`` with its arguments."""
    found: list[str] = []
    for each in used:
        name = each.kind.__name__
        for method, arguments in each.methods.items():
            part = inspect.getattr_static(each.kind, method, None)
            if part is None:
                found.append(f"{name}.{method}")
                continue
            if isinstance(part, property):
                continue
            takes = inspect.signature(part).parameters
            found += [f"{name}.{method}({one})" for one in arguments if one not in takes]
        sets = each.kind.__init__.__code__.co_names  # type: ignore[misc]
        found += [f"{name}.{one}" for one in each.attributes if one not in sets]
    return found


def check_uvicorn() -> None:
    """Raise an error that tells what moved, if this version of uvicorn is too new or too old."""
    if lost := missing():
        raise LabelgroveError(
            f"uvicorn {version('uvicorn')} is not supported, it lacks {', '.join(lost)}: install "
            f"a version that is, with pip install 'uvicorn{SUPPORTED}'"
        )
