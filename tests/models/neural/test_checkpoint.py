"""Checkpoints of networks: files and folders, and what optimisers need to go on."""

import json
import os

import numpy as np
import pytest
import torch
from torch import nn

from labelgrove.core.errors import DamagedError, InputError, StorageError
from labelgrove.models.neural.training import checkpoint
from labelgrove.models.neural.training.checkpoint import Checkpoint


def save(folder, step, model="x"):
    tensors = {"weights": torch.full((2, 3), float(step)).T}  # not contiguous
    checkpoint.save(
        folder, step, Checkpoint(tensors, {"belongs": {"model": model}, "step": np.int64(step)})
    )


def step_of(folder, model="x"):
    found = checkpoint.load(folder, {"model": model})
    assert found.tensors["weights"].tolist() == [[float(found.facts["step"])] * 2] * 3
    return found.facts["step"]


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_the_newest_checkpoint_is_kept_and_loaded(tmp_path):
    folder = tmp_path / "deep" / "run"
    for step in (9, 10):
        save(folder, step)
        assert names(folder) == [f"checkpoint-{step:09d}"]
        assert step_of(folder) == step


def test_where_none_was_saved_none_is_loaded(tmp_path):
    assert checkpoint.load(tmp_path, {"model": "x"}) is None
    assert checkpoint.load(tmp_path / "none", {"model": "x"}) is None


def test_of_two_checkpoints_the_newest_is_loaded(tmp_path):
    save(tmp_path / "a", 1)
    save(tmp_path, 2)
    (tmp_path / "a" / "checkpoint-000000001").rename(tmp_path / "checkpoint-000000001")
    assert step_of(tmp_path) == 2


def test_what_a_killed_process_left_does_not_hinder(tmp_path):
    (tmp_path / ".checkpoint-new" / "left").mkdir(parents=True)
    save(tmp_path, 1)
    assert step_of(tmp_path) == 1
    assert names(tmp_path) == ["checkpoint-000000001"]
    assert names(tmp_path / "checkpoint-000000001") == [checkpoint.FACTS, checkpoint.TENSORS]


@pytest.mark.parametrize("name", [checkpoint.FACTS, checkpoint.TENSORS])
@pytest.mark.parametrize("harm", ["cut", "removed"])
def test_a_damaged_checkpoint_is_refused(tmp_path, name, harm):
    save(tmp_path, 1)
    path = tmp_path / "checkpoint-000000001" / name
    if harm == "cut":
        path.write_bytes(path.read_bytes()[:-2])
    else:
        path.unlink()
    with pytest.raises(DamagedError, match=r"checkpoint-000000001 is damaged: .*; start anew"):
        step_of(tmp_path)


def test_a_checkpoint_of_another_training_is_refused(tmp_path):
    save(tmp_path, 1)
    told = r"is of another training \(model was 'x' and is 'y' now\): give that again, or start"
    with pytest.raises(InputError, match=told):
        step_of(tmp_path, "y")
    with pytest.raises(InputError, match=r"\(seed was None and is 3 now\)"):
        checkpoint.load(tmp_path, {"model": "x", "seed": np.int64(3)})


def test_a_place_that_cannot_be_written_is_told(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match=r"cannot write a checkpoint to .*file/run: .*make room"):
        save(tmp_path / "file" / "run", 1)


# --- all checkpoints of a run -------------------------------------------------------------------


def test_trainings_below_a_folder_are_checked(tmp_path):
    checkpoint.check_all(tmp_path / "none", {"model": "x"})
    for name in ("a", "b"):
        save(tmp_path / name, 1)
    checkpoint.check_all(tmp_path, {"model": "x"})
    save(tmp_path / "b", 2, model="y")
    told = rf"the checkpoint in {tmp_path}/b is of another training \(model was 'y'"
    with pytest.raises(InputError, match=told):
        checkpoint.check_all(tmp_path, {"model": "x"})
    (tmp_path / "a" / "checkpoint-000000001" / checkpoint.FACTS).write_text("{")
    with pytest.raises(InputError, match=told):  # of "a", `load` tells where it is needed
        checkpoint.check_all(tmp_path, {"model": "x"})
    (tmp_path / "b" / "checkpoint-000000002" / checkpoint.FACTS).write_text("{")
    checkpoint.check_all(tmp_path, {"model": "x"})


def test_a_folder_of_another_kind_of_model_is_refused(tmp_path):
    (tmp_path / "training").touch()
    with pytest.raises(InputError, match=r"a training of another kind of model \(training\): give"):
        checkpoint.check_all(tmp_path, {})


def test_all_checkpoints_are_removed_and_nothing_else(tmp_path):
    checkpoint.clear(tmp_path / "none")
    save(tmp_path, 1)
    (tmp_path / ".checkpoint-new").mkdir()
    (tmp_path / "history.jsonl").touch()
    checkpoint.clear(tmp_path)
    assert names(tmp_path) == ["history.jsonl"]


def test_a_power_cut_leaves_no_checkpoint_half_removed(tmp_path, monkeypatch):
    """It is hidden, and the disk has that name, before anything in it goes."""
    save(tmp_path, 1)
    flush, steps = os.fsync, []

    def fsync(handle):
        flush(handle)
        steps.extend(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*"))

    monkeypatch.setattr(os, "fsync", fsync)
    checkpoint.clear(tmp_path)
    hidden = ".checkpoint-000000001"
    files = {f"{hidden}/{checkpoint.FACTS}", f"{hidden}/{checkpoint.TENSORS}"}
    assert {*steps} == {hidden, *files}


def test_what_cannot_be_removed_is_told(tmp_path):
    (tmp_path / "checkpoint-000000001").touch()  # no folder
    with pytest.raises(StorageError, match="cannot write a checkpoint to"):
        checkpoint.clear(tmp_path)


# --- what is in one -----------------------------------------------------------------------------


def test_a_checksum_tells_arrays_apart():
    same = checkpoint.checksum(np.arange(3), np.ones(2))
    assert checkpoint.checksum(np.arange(3), np.ones(2)) == same
    assert checkpoint.checksum(np.arange(3), np.zeros(2)) != same
    assert checkpoint.checksum(np.arange(6)[::2]) == checkpoint.checksum(np.array([0, 2, 4]))
    assert len(same) == 32


def network(seed):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))


def test_a_module_gets_its_weights_and_buffers_back():
    module, other = network(0), network(1)
    module(torch.rand(4, 2))
    tensors = checkpoint.module_tensors("network", module)
    assert "network.0.weight" in tensors
    checkpoint.restore_module("network", other, tensors)
    for name, value in module.state_dict().items():
        assert torch.equal(other.state_dict()[name], value), name


def learned(kind, steps, optimizer=None, weights=None):
    """Return the weights and the optimiser after some steps, each with another gradient."""
    words = nn.Embedding(4, 2, sparse=kind is torch.optim.SparseAdam)
    words.weight.data = torch.ones(4, 2) if weights is None else weights.clone()
    new = kind(words.parameters(), lr=0.1)
    if optimizer is not None:
        kept = {**checkpoint.optimizer_tensors("one", optimizer), "other.0.step": torch.ones(1)}
        checkpoint.restore_optimizer("one", new, kept)
    for step in steps:
        new.zero_grad()
        (words(torch.tensor([step % 4, 1])) * (step + 1)).sum().backward()
        new.step()
    return words.weight.detach(), new


@pytest.mark.parametrize("kind", [torch.optim.Adam, torch.optim.SparseAdam])
def test_an_optimiser_goes_on_as_if_it_had_never_stopped(kind):
    whole, _ = learned(kind, range(6))
    half, optimizer = learned(kind, range(3))
    found, resumed = learned(kind, range(3, 6), optimizer, half)
    assert torch.equal(found, whole)
    number = int if kind is torch.optim.SparseAdam else torch.Tensor
    (state,) = resumed.state_dict()["state"].values()
    assert isinstance(state["step"], number), "as the optimiser itself keeps it"


def test_facts_are_plain_json(tmp_path):
    save(tmp_path, 5)
    facts = json.loads((tmp_path / "checkpoint-000000005" / checkpoint.FACTS).read_text())
    assert facts == {"belongs": {"model": "x"}, "step": 5}
