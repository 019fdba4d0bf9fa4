"""What tests have workers do: a module that they can import, as tests themselves are not."""

import os
import signal
import time
from pathlib import Path

import numpy as np

from labelgrove.core.errors import BadRowError, UnknownNameError


class UnpicklableError(Exception):
    def __init__(self, message, place):
        super().__init__(message)
        self.place = place


def square(number):
    return number * number


def sleep_and_square(number):
    time.sleep(number)
    return number * number


def hold(job, folder):
    """Keep a CPU for some seconds, and note that this has begun."""
    name, seconds = job
    (Path(folder) / name).touch()
    time.sleep(seconds)


def die_once(number, folder):
    """Kill this process, unless it was done before."""
    with (Path(folder) / f"{number}.tries").open("a") as tries:
        tries.write("x")
    if number == 1 and len((Path(folder) / "1.tries").read_text()) == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def die(number):
    os.kill(os.getpid(), signal.SIGKILL)


def fail(kind):
    if kind == "row":
        raise BadRowError("no text", "documents.jsonl", 7)
    if kind == "name":
        raise UnknownNameError("model", "bonsay", ["bonsai"])
    if kind == "full":
        raise OSError(28, "No space left on device", "/somewhere/part-1")
    raise UnpicklableError("lost", open(__file__))  # noqa: SIM115, PTH123


def total(rows, array):
    return float(array[rows].sum()), array.flags.writeable


def zeros(megabytes):
    return np.zeros(megabytes * 2**20, np.uint8)


def threads(_):
    names = ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    return [os.environ.get(name) for name in names], np.__version__


def unpicklable_result(_):
    return (each for each in ())


def die_once_in(job, function, mark, *shared):
    """Kill this process in the first call of all, else call the function."""
    try:
        Path(mark).touch(exist_ok=False)
    except FileExistsError:
        return function(job, *shared)
    function(job, *shared)  # the work is done, but nobody hears of it
    return os.kill(os.getpid(), signal.SIGKILL)


def tag_and_die_once(task, folder, checksum, counter):
    """Tag a part, but kill this process in the middle of the second one, the first time."""
    from labelgrove.cluster.tagging import tag_on_node
    from labelgrove.tagger import Tagger
    from labelgrove.tagger.bulk import parts

    tries = Path(folder).parent / "tries"
    if task.number == 1 and not tries.exists():
        tries.touch()
        parts.SECONDS = -1.0
        parts.tag_part(Tagger.load(folder), task, lambda documents: die(documents))
    return tag_on_node(task, folder, checksum, counter)
