"""Checkpoints: all that a training needs to go on as if it had never stopped."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.optim import Optimizer, SparseAdam

from labelgrove.core.durability import flush, make_folders, put_in_place
from labelgrove.core.errors import DamagedError, InputError, StorageError

TENSORS, FACTS = "tensors.safetensors", "facts.json"
PREFIX = "checkpoint-"
ANEW = "start anew (resume=False; --overwrite without --resume)"


class Checkpoint(NamedTuple):
    """What was saved.

    Parameters
    ----------
    tensors
        Weights and states of optimisers, by name.
    facts
        Plain values: where training stood, and what it belongs to.
    """

    tensors: dict[str, Tensor]
    facts: dict[str, Any]


def save(folder: Path, step: int, checkpoint: Checkpoint) -> None:
    """Write a checkpoint; a crash leaves the one before it. Older ones are removed."""
    temporary, target = folder / f".{PREFIX}new", folder / f"{PREFIX}{step:09d}"
    with _writing_to(folder):
        make_folders(folder)
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir()
        save_file({k: v.contiguous() for k, v in checkpoint.tensors.items()}, temporary / TENSORS)
        (temporary / FACTS).write_text(_json(checkpoint.facts), encoding="utf-8")
        put_in_place(temporary, target)
        for old in folder.glob(f"{PREFIX}*"):
            if old != target:
                shutil.rmtree(old, ignore_errors=True)


def load(folder: Path, belongs: Mapping[str, Any]) -> Checkpoint | None:
    """Return the newest checkpoint, or None if there is none.

    Parameters
    ----------
    folder
        Where `save` wrote.
    belongs
        What the checkpoint must say of itself: the model, its settings, its data.
    """
    found = sorted(folder.glob(f"{PREFIX}*"))
    if not found:
        return None
    try:
        facts = json.loads((found[-1] / FACTS).read_text(encoding="utf-8"))
        tensors = load_file(found[-1] / TENSORS)
    except (OSError, ValueError, SafetensorError) as error:
        raise DamagedError(f"the checkpoint {found[-1]} is damaged: {error}; {ANEW}") from error
    _check(folder, facts, belongs)
    return Checkpoint(tensors, facts)


def check_all(folder: Path, belongs: Mapping[str, Any]) -> None:
    """Refuse to resume in a folder, one level above those of `save`, with another's training."""
    if not folder.is_dir():
        return
    if strange := [path for path in sorted(folder.iterdir()) if path.is_file()]:
        raise InputError(
            f"{folder} holds a training of another kind of model ({strange[0].name}): give "
            f"that again, or {ANEW}"
        )
    for path in sorted(folder.glob(f"*/{PREFIX}*/{FACTS}")):
        try:
            facts = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue  # where it is needed, `load` tells
        _check(path.parents[1], facts, belongs)


def _check(folder: Path, facts: Mapping[str, Any], belongs: Mapping[str, Any]) -> None:
    before = facts.get("belongs", {})
    for name, value in json.loads(_json(dict(belongs))).items():
        if before.get(name) != value:
            raise InputError(
                f"the checkpoint in {folder} is of another training ({name} was "
                f"{before.get(name)!r} and is {value!r} now): give that again, or {ANEW}"
            )


def _json(value: Any) -> str:
    return json.dumps(value, default=lambda number: number.item())  # numpy's


def clear(folder: Path) -> None:
    """Remove all checkpoints; `load` does not find one that is half removed."""
    if not folder.is_dir():
        return
    with _writing_to(folder):
        for path in folder.glob(f".{PREFIX}*"):  # of a process that was killed
            shutil.rmtree(path)
        hidden = [path.rename(folder / f".{path.name}") for path in folder.glob(f"{PREFIX}*")]
        flush(folder)
        for path in hidden:
            shutil.rmtree(path)


@contextmanager
def _writing_to(folder: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, SafetensorError) as error:
        raise StorageError(
            f"cannot write a checkpoint to {folder}: {error}; make room there, or choose another "
            "place"
        ) from error


def checksum(*arrays: NDArray[Any]) -> str:
    """Return what tells arrays from others."""
    digest = hashlib.blake2b(digest_size=16)
    for array in arrays:
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


# --- what is in one ---------------------------------------------------------------------------


def module_tensors(prefix: str, module: nn.Module) -> dict[str, Tensor]:
    """Return copies of a module's weights and buffers, named with a prefix."""
    return {f"{prefix}.{name}": value.detach().cpu() for name, value in _state(module).items()}


def restore_module(prefix: str, module: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    """Give a module the weights that `module_tensors` took."""
    module.load_state_dict({name: tensors[f"{prefix}.{name}"] for name in _state(module)})


def _state(module: nn.Module) -> dict[str, Tensor]:
    return dict(module.state_dict())


def optimizer_tensors(prefix: str, optimizer: Optimizer) -> dict[str, Tensor]:
    """Return the state of an optimiser's parameters, named with a prefix."""
    return {
        f"{prefix}.{number}.{name}": torch.as_tensor(value).detach().cpu()
        for number, values in optimizer.state_dict()["state"].items()
        for name, value in values.items()
    }


def restore_optimizer(prefix: str, optimizer: Optimizer, tensors: Mapping[str, Tensor]) -> None:
    """Give an optimiser the state that `optimizer_tensors` took."""
    state: dict[int, dict[str, Any]] = {}
    for key, value in tensors.items():
        if key.startswith(f"{prefix}."):
            number, name = key.removeprefix(f"{prefix}.").split(".", 1)
            state.setdefault(int(number), {})[name] = value
    if isinstance(optimizer, SparseAdam):  # with a tensor it would compute in single precision
        for values in state.values():
            values["step"] = int(values["step"])
    optimizer.load_state_dict({**optimizer.state_dict(), "state": state})
