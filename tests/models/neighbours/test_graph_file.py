"""A graph that was altered is refused, and ends no process."""

import os
import random
import shutil
import signal

import numpy as np
import pytest
from scipy.sparse import csr_array

from labelgrove.core.errors import DamagedError
from labelgrove.models.neighbours import memory
from labelgrove.models.neighbours.memory import Memory

N, SIZE = 80, 8
NUMBERS = [0, 1, 255, 2**31 - 1, 2**32 - 1, 2**62, 2**64 - 1]


@pytest.fixture
def saved(tmp_path, monkeypatch):
    """A folder with a memory whose documents are found by a graph, and its vectors."""
    monkeypatch.setattr(memory, "EXACT", 50)
    vectors = np.random.default_rng(0).normal(size=(N, SIZE)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    Memory(vectors, csr_array(np.eye(N, 5, dtype=np.float32))).write(tmp_path / "memory")
    return tmp_path / "memory", vectors


def altered(data, draw):
    """Return a graph's file with a number in it that is another; lengths stand at its ends."""
    ends = [range(200), range(len(data) - 4 * N * SIZE - 80, len(data) - 4 * N * SIZE)]
    at = draw.choice(draw.choice([*ends, range(len(data))]))
    width = draw.choice([1, 4, 8])
    number = draw.choice(NUMBERS) % 256**width
    return data[:at] + number.to_bytes(width, "little") + data[at + width :]


def in_a_fork(work):
    """Return the code by which a process that does some work exits, negative for a signal."""
    child = os.fork()
    if not child:
        code = 3
        try:
            signal.alarm(60)
            work()
            code = 0
        except DamagedError:
            code = 1
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be forked here")
def test_an_altered_graph_is_refused_or_searched(saved):
    folder, vectors = saved
    path = folder / memory.INDEX
    data, draw = path.read_bytes(), random.Random(5)
    ends = []
    for _ in range(300):
        path.write_bytes(altered(data, draw))
        ends.append(in_a_fork(lambda: Memory.read(folder).nearest(vectors, 5, threads=1)))
    assert {*ends} == {0, 1}
    assert ends.count(1) > 50


@pytest.mark.parametrize("wrong", ["shorter", "longer", "of other vectors", "no graph"])
def test_a_file_of_another_length_is_refused(saved, tmp_path, wrong):
    folder, vectors = saved
    path = folder / memory.INDEX
    if wrong == "of other vectors":
        other = Memory(vectors[:70], csr_array(np.eye(70, 5, dtype=np.float32)))
        other.write(tmp_path / "other")
        shutil.copy(tmp_path / "other" / memory.INDEX, path)
    else:
        data = path.read_bytes()
        path.write_bytes({"shorter": data[:-4], "longer": data + b"\0", "no graph": b"{}"}[wrong])
    with pytest.raises(DamagedError, match=r"graph\.faiss is damaged: .*; save the model again"):
        Memory.read(folder)
