"""Errors on their way from a worker to the user."""

from __future__ import annotations

import builtins
import socket
import traceback
from typing import NamedTuple

from labelgrove.core import errors
from labelgrove.core.errors import ClusterError, LabelgroveError


class SentError(NamedTuple):
    """An error as plain values, which any process can read.

    Parameters
    ----------
    kind
        The name of its class, or of the nearest one above that takes a message alone.
    message
        What it says.
    note
        Where it was raised.
    of_system
        Number, words and file of an error of the operating system; None for any other.
    """

    kind: str
    message: str
    note: str
    of_system: tuple[int, str, str | None] | None = None


def pack(error: Exception) -> SentError:
    """Return an error as plain values.

    Errors whose arguments are not their message, such as `BadRowError`, become their base class
    with the same message and the same exit code; those of libraries become a `ClusterError`.
    """
    lines = "".join(traceback.format_exception(error))
    note = f"in a worker on {socket.gethostname()}:\n{lines}"
    if isinstance(error, OSError) and error.errno is not None:
        name = None if error.filename is None else str(error.filename)
        return SentError("OSError", str(error), note, (error.errno, str(error.strerror), name))
    for kind in type(error).__mro__:
        if (made := _made(kind.__name__, str(error))) is not None and type(made) is kind:
            return SentError(kind.__name__, str(error), note)
        if not issubclass(kind, LabelgroveError):
            break
    return SentError(ClusterError.__name__, f"{type(error).__name__}: {error}", note)


def unpack(sent: SentError) -> Exception:
    """Return the error that `pack` was given."""
    error: Exception | None
    if sent.of_system is not None:
        error = OSError(*sent.of_system)
    else:
        error = _made(sent.kind, sent.message) or ClusterError(sent.message)
    error.add_note(sent.note)
    return error


def _made(kind: str, message: str) -> Exception | None:
    """Return an error of ours, or of Python, with a message; None if there is none that says it."""
    found = getattr(errors, kind, None) or getattr(builtins, kind, None)
    if not (isinstance(found, type) and issubclass(found, Exception)):
        return None
    try:
        made = found(message)
    except TypeError:  # it takes more than a message
        return None
    return made if str(made) == message else None


def explain(error: Exception, number: int, tries: int) -> LabelgroveError:
    """Return the error message for a task that Ray itself gave up."""
    from ray import exceptions as of_ray

    task = f"task {number:,} could not be done"
    if isinstance(error, of_ray.OutOfMemoryError):
        return ClusterError(
            f"{task}: its node ran out of memory; use fewer CPUs a node or more memory"
        )
    if isinstance(error, of_ray.ObjectStoreFullError | of_ray.OutOfDiskError):
        return ClusterError(
            f"{task}: the object store and the disk behind it are full; free some of the disk of "
            "Ray's temporary folder, or give nodes more memory"
        )
    if isinstance(error, of_ray.WorkerCrashedError | of_ray.NodeDiedError):
        return ClusterError(
            f"{task}: its process or node died in each of {tries} attempts; there may not be "
            "enough memory for it"
        )
    cause = error.cause if isinstance(error, of_ray.RayTaskError) else error
    if isinstance(cause, ImportError):
        return ClusterError(f"{task}: a node lacks a module: {cause}")
    words = str(cause).strip().splitlines() or [""]
    return ClusterError(f"{task}: {type(cause).__name__}: {words[0]}")
