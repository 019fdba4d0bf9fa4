"""Errors on their way from a worker to the user."""

from __future__ import annotations

import pickle
import socket
import traceback

from labelgrove.core.errors import ClusterError, LabelgroveError


def pack(error: Exception) -> bytes:
    """Return an error as bytes that can be read again: itself, or what comes nearest to it.

    Errors whose arguments are not their message, such as `BadRowError`, cannot be pickled; they
    become their base class with the same message and the same exit code.
    """
    lines = "".join(traceback.format_exception(error))
    note = f"in a worker on {socket.gethostname()}:\n{lines}"
    nearest = _alternatives(error)
    for candidate in nearest:
        candidate.add_note(note)
        try:
            packed = pickle.dumps(candidate)
            read = pickle.loads(packed)
        except Exception:
            continue
        if type(read) is type(candidate) and str(read) == str(error):
            return packed
    last = ClusterError(f"{type(error).__name__}: {error}")
    last.add_note(note)
    return pickle.dumps(last)


def _alternatives(error: Exception) -> list[Exception]:
    bases = [each for each in type(error).__mro__[1:] if issubclass(each, LabelgroveError)]
    made: list[Exception] = [error]
    for base in bases:
        try:
            made.append(base(str(error)))
        except TypeError:  # it takes more than a message
            continue
    return made


def unpack(packed: bytes) -> Exception:
    """Return the error that `pack` was given."""
    try:
        error = pickle.loads(packed)
    except Exception:  # its class can be imported there but not here
        return ClusterError("a worker failed with an error that this process does not know")
    return error if isinstance(error, Exception) else ClusterError(str(error))


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
