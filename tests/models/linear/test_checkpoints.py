"""Finished tasks of a linear training in its run folder."""

import errno
import os
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array

from labelgrove.core.errors import DamagedError, InputError, StorageError
from labelgrove.core.progress import Silent
from labelgrove.core.types import Run
from labelgrove.labels import LabelTree
from labelgrove.models.linear import checkpoints
from labelgrove.models.linear.checkpoints import TaskCheckpoint, fingerprint
from labelgrove.models.linear.solver import Solver
from labelgrove.models.linear.tasks import Chunk, NodeTask


class Told(Silent):
    """Keeps what is said."""

    def __init__(self):
        self.said = []

    def say(self, message):
        self.said.append(message)


def task(number):
    return NodeTask(number, 1, 2, 3, 4)


def chunk(number):
    """Return a result in which no two arrays are of the same length."""
    return Chunk(*(np.full(number + size, number) for size in range(len(Chunk._fields))))


def opened(folder, *, resume=True, name="this training", progress=None):
    kept = TaskCheckpoint(Run(folder, resume=resume, progress=progress or Silent()), name)
    return kept, kept.load()


def keep(kept, *numbers):
    for number in numbers:
        kept.add(task(number), chunk(number))
    kept.flush()


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def assert_done(done, *numbers):
    assert [*done] == [task(number) for number in numbers]
    for number in numbers:
        for found, wanted in zip(done[task(number)], chunk(number), strict=True):
            assert found.tolist() == wanted.tolist()


def test_finished_tasks_come_back(tmp_path):
    folder, progress = tmp_path / "deep" / "run", Told()
    kept, done = opened(folder, progress=progress)
    assert done == {}
    assert names(folder) == ["training"]
    assert progress.said == []
    keep(kept, 0, 1, 2)
    keep(kept)  # nothing is waiting
    keep(kept, 3)
    assert names(folder) == ["part-000000", "part-000001", "training"]
    kept, done = opened(folder, progress=progress)
    assert_done(done, 0, 1, 2, 3)
    assert progress.said == ["resuming: 4 groups of labels are done"]
    keep(kept, 4)
    assert names(folder) == [*(f"part-00000{number}" for number in range(3)), "training"]
    assert_done(opened(folder)[1], 0, 1, 2, 3, 4)


def test_without_a_folder_nothing_is_kept():
    kept, done = opened(None)
    assert done == {}
    keep(kept, 0)


def test_a_new_training_removes_the_old_and_nothing_else(tmp_path):
    kept, _ = opened(tmp_path)
    keep(kept, 0)
    (tmp_path / ".part-000001").mkdir()
    (tmp_path / "notes.txt").touch()
    kept, done = opened(tmp_path, resume=False, name="another training")
    assert done == {}
    assert names(tmp_path) == ["notes.txt", "training"]
    keep(kept, 1)
    assert_done(opened(tmp_path, name="another training")[1], 1)


def test_parts_without_a_note_mean_nothing(tmp_path):
    keep(opened(tmp_path)[0], 0)
    (tmp_path / "training").unlink()
    assert opened(tmp_path)[1] == {}
    assert names(tmp_path) == ["training"]


def test_what_a_killed_run_was_writing_is_no_part_of_what_is_written_then(tmp_path):
    kept, _ = opened(tmp_path)
    (tmp_path / ".part-000000").mkdir()
    (tmp_path / ".part-000000" / "left.npy").touch()
    keep(kept, 0)
    assert names(tmp_path) == ["part-000000", "training"]
    assert not (tmp_path / "part-000000" / "left.npy").exists()


def test_a_power_cut_never_leaves_old_parts_under_a_new_note(tmp_path, monkeypatch):
    """The old note goes first, then the parts, then the new note comes; the disk has each step."""
    kept, _ = opened(tmp_path)
    keep(kept, 0)
    flush, steps = os.fsync, []

    def fsync(handle):
        flush(handle)
        if os.path.samestat(os.fstat(handle), tmp_path.stat()):
            steps.append(names(tmp_path))

    monkeypatch.setattr(os, "fsync", fsync)
    opened(tmp_path, resume=False)
    assert steps == [["part-000000"], [], ["training"]]


def test_tasks_are_written_when_more_than_half_a_minute_has_passed(tmp_path, monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(checkpoints.time, "monotonic", lambda: now[0])
    kept, _ = opened(tmp_path)
    written = []
    for number, seconds in enumerate((30.0, 0.5, 30.0, 0.5)):
        now[0] += seconds
        kept.add(task(number), chunk(number))
        written.append(len(names(tmp_path)) - 1)
    assert written == [0, 1, 1, 2]
    assert_done(opened(tmp_path)[1], 0, 1, 2, 3)


def test_a_training_of_another_kind_or_on_other_data_is_not_resumed(tmp_path):
    opened(tmp_path)
    with pytest.raises(InputError, match="holds a training on other data or with other settings"):
        opened(tmp_path, name="another training")
    (tmp_path / "training").unlink()
    (tmp_path / "flat").mkdir()
    with pytest.raises(InputError, match=r"a training of another kind of model \(flat\): give"):
        opened(tmp_path)


@pytest.mark.parametrize("name", ["tasks", "bias_size"])
def test_a_part_whose_arrays_do_not_fit_each_other_is_damaged(tmp_path, name):
    kept, _ = opened(tmp_path)
    keep(kept, 1, 2, 3)
    path = tmp_path / "part-000000" / f"{name}.npy"
    np.save(path, np.load(path)[:-1])
    with pytest.raises(DamagedError, match=r"part-000000 is damaged: start anew \(resume=False"):
        opened(tmp_path)


def test_a_disk_that_fails_is_told(tmp_path, monkeypatch):
    kept, _ = opened(tmp_path)

    def full(handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StorageError, match=r"cannot keep the training in .*: No space left.*make"):
        keep(kept, 0)
    with pytest.raises(StorageError, match="cannot keep the training in"):
        opened(tmp_path / "run")


def test_a_fingerprint_tells_data_trees_and_settings_apart():
    X, Y = csr_array(np.eye(3, dtype=np.float32)), csr_array(np.eye(3, dtype=np.float32))
    tree = LabelTree([np.zeros(3, np.int32)])
    solver = Solver("logistic", cost=1.0, epochs=10, tolerance=0.1, threshold=0.1, seed=0)
    same = fingerprint(X, Y, [tree], solver)
    assert fingerprint(X.copy(), Y.copy(), [tree], solver) == same
    assert len(same) == 32
    others = {
        fingerprint(2 * X, Y, [tree], solver),
        fingerprint(X, Y[:, [1, 0, 2]], [tree], solver),
        fingerprint(X, Y, [LabelTree([np.zeros(2, np.int32), np.array([0, 1, 1])])], solver),
        fingerprint(X, Y, [tree], replace(solver, cost=7.0)),
        fingerprint(X, Y, [tree], solver, [np.ones(3)]),
    }
    assert len(others - {same}) == 5
