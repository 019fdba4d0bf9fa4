"""After a power cut there is the old or the new, never half, and nothing acknowledged is lost."""

import json
from contextlib import suppress

import numpy as np
import optuna
import pytest
import torch

from labelgrove.core import storage
from labelgrove.core.errors import DamagedError
from labelgrove.core.manifest import MANIFEST
from labelgrove.core.types import Run
from labelgrove.models.linear.checkpoints import TaskCheckpoint
from labelgrove.models.linear.tasks import Chunk, NodeTask
from labelgrove.models.neural.training import checkpoint
from labelgrove.service.feedback import FeedbackFile
from labelgrove.tuning.study_file import NAME, connected, is_study, make_study
from power_loss import Recording


@pytest.fixture
def disk(memory_folder):
    (memory_folder / "disk").mkdir()
    return memory_folder / "disk"


@pytest.fixture
def cuts(memory_folder):
    """Folders after power cuts; there must be some."""

    def made(recording, most=500):
        n = 0
        for found in recording.after_power_cuts(memory_folder / "found", most):
            yield found
            n += 1
        assert n > 5

    return made


def save(folder, version):
    with storage.writing(folder, {"version": version}, overwrite=True) as temporary:
        storage.write_values(temporary / "part", {"numbers": np.full(50, version)})
        storage.write_json(temporary / "more.json", version)


def saved(place, name):
    """Return the version that is there, and whole; 0 if there is none."""
    if (place / name).exists():
        return version_of(place / name)
    # it was moved aside, and the new one is not there yet; of others only parts may be left
    aside = [path.parent for path in place.glob(f".{name}*-old-*/{MANIFEST}")]
    versions = [0]
    for folder in aside:
        with suppress(DamagedError):
            versions.append(version_of(folder))
    return max(versions)


def version_of(folder):
    version = storage.read_manifest(folder)["version"]
    assert (storage.read_values(folder / "part")["numbers"] == version).all()
    return version


def test_a_saved_folder(disk, cuts):
    recording = Recording(disk)
    with recording.watching():
        for version in (1, 2, 3):
            save(disk / "new" / "tagger", version)
            recording.acknowledge()
    for told, place in cuts(recording):
        assert saved(place / "new", "tagger") in (told, told + 1)


def test_a_written_file(disk, cuts):
    recording = Recording(disk)
    with recording.watching():
        for version in ("one", "two"):
            storage.write_text(disk / "recipe.toml", version)
            recording.acknowledge()
    versions = (None, "one", "two", "two")
    for told, place in cuts(recording):
        file = place / "recipe.toml"
        assert (file.read_text() if file.exists() else None) in versions[told : told + 2]


def chunk(training, number):
    """Return a result that tells of which training it is."""
    return Chunk(*(np.full(3, 10 * training + number) for _ in Chunk._fields))


def linear(folder, training, *, resume):
    kept = TaskCheckpoint(Run(folder=folder, resume=resume), f"training {training}")
    return kept, kept.load()


def keep(kept, training, number):
    kept.add(NodeTask(*[number] * len(NodeTask._fields)), chunk(training, number))
    kept.flush()


def test_checkpoints_of_linear_models(disk, cuts):
    folder = disk / "run" / "model"
    old, _ = linear(folder, 1, resume=False)
    keep(old, 1, 0)
    recording = Recording(disk)
    with recording.watching():
        new, _ = linear(folder, 2, resume=False)
        recording.acknowledge()
        for number in (0, 1):
            keep(new, 2, number)
            recording.acknowledge()
    for told, place in cuts(recording, most=150):
        found = place / "run" / "model"
        note = found / "training"
        if told == 0 and note.exists() and note.read_text() == "training 1":
            _, done = linear(found, 1, resume=True)  # the old training is still there, and whole
            assert [int(chunk[0][0]) // 10 for chunk in done.values()] == [1]
            continue
        kept, done = linear(found, 2, resume=True)
        assert len(done) >= told - 1
        assert all(int(c[0][0]) // 10 == 2 for c in done.values()), "no part of the old training"
        keep(kept, 2, 7)  # it goes on
        assert len(linear(found, 2, resume=True)[1]) == len(done) + 1


def save_step(folder, training, step):
    tensors = {"weights": torch.full((40,), float(step))}
    facts = {"belongs": {"training": training}, "step": step}
    checkpoint.save(folder, step, checkpoint.Checkpoint(tensors, facts))


def saved_step(folder):
    """Return the training and the step of a checkpoint, if there is one."""
    found = checkpoint.load(folder, {})
    if found is None:
        return None
    assert (found.tensors["weights"] == found.facts["step"]).all()
    return found.facts["belongs"]["training"], found.facts["step"]


def test_checkpoints_of_networks(disk, cuts):
    recording = Recording(disk)
    with recording.watching():
        for step in (1, 2, 3):
            save_step(disk / "run" / "network", "one", step)
            recording.acknowledge()
    steps = (None, ("one", 1), ("one", 2), ("one", 3), ("one", 3))
    for told, place in cuts(recording):
        assert saved_step(place / "run" / "network") in steps[told : told + 2]


def test_checkpoints_of_networks_that_begin_anew(disk, cuts):
    save_step(disk, "old", 8)
    recording = Recording(disk)
    with recording.watching():
        checkpoint.clear(disk)
        recording.acknowledge()
        save_step(disk, "new", 1)
        recording.acknowledge()
    steps = (("old", 8), None, ("new", 1), ("new", 1))
    for told, place in cuts(recording):
        assert saved_step(place) in steps[told : told + 2]


def test_feedback(disk, cuts):
    path = disk / "tagger.feedback.jsonl"
    file, recording = FeedbackFile(path), Recording(disk)
    with recording.watching():
        for number in range(5):
            if number == 3:  # somebody takes the file away while the service runs
                path.unlink()
            file.append([{"number": number, "text": "a long text " * 9}])
            recording.acknowledge()
    for told, place in cuts(recording):
        found = place / path.name
        FeedbackFile(found).append([{"number": -1}])  # the service starts again
        *numbers, last = [json.loads(line)["number"] for line in found.read_text().splitlines()]
        assert last == -1
        if told != 3:  # then the first file may be there or not: it was taken away
            acknowledged = [*range(3 * (told > 3), told)]
            assert numbers[: len(acknowledged)] == acknowledged


def test_the_study_of_a_search(disk, cuts):
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    file = disk / "study.sqlite3"
    (disk / "work").mkdir()
    make_study(optuna, file, disk / "work", {"seed": 1})
    recording = Recording(disk)
    with recording.watching():
        make_study(optuna, file, disk / "work", {"seed": 2})
        recording.acknowledge()
    for told, place in cuts(recording, most=30):
        assert is_study(place / file.name)
        with connected(optuna, place / file.name) as opened:
            facts = optuna.load_study(storage=opened, study_name=NAME).user_attrs["facts"]
        assert facts in ({"seed": 1}, {"seed": 2}, {"seed": 2})[told : told + 2]


def test_a_study_waits_for_the_disk_after_each_trial(disk):
    with connected(optuna, disk / "study.sqlite3") as opened, opened.engine.connect() as connection:
        extra = 3  # also waits until the journal's name is gone
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == extra
