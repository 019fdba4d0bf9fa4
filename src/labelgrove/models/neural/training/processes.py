"""Where a network learns: in this process, in several of this machine, or on a cluster."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import torch
from lightning_fabric import Fabric
from torch import nn

from labelgrove.core.errors import InputError
from labelgrove.core.progress import Lines, Silent
from labelgrove.core.remote import GroupPlan, Home, RemoteWorkers
from labelgrove.core.types import Run
from labelgrove.models.neural.training import checkpoint
from labelgrove.models.neural.training.devices import join_fabric, open_fabric
from labelgrove.models.neural.training.loop import Event, Objective, train_as_one
from labelgrove.models.neural.training.optimizers import sparse_weights
from labelgrove.models.neural.training.settings import Training
from labelgrove.models.neural.training.threads import limited_threads

FEWEST = 8  # documents of a batch that make a process of a cluster worth its messages


def train(
    network: nn.Module,
    objective: Objective,
    settings: Training,
    run: Run,
    belongs: Mapping[str, Any],
    title: str = "training",
) -> list[Event]:
    """Train a network, which has its best weights afterwards.

    Parameters
    ----------
    network
        What learns.
    objective
        The loss, and the batches to train on.
    settings
        Training settings.
    run
        Where checkpoints and history go, whether to resume, where progress is shown, and the
        workers of a cluster. A run that wants a report after each epoch has no use for these.
    belongs
        What identifies this training: a checkpoint with other values is refused.
    title
        Of the progress bar.

    Returns
    -------
    history
        An event for each evaluation.
    """
    lesson = Lesson(network, objective, settings, dict(belongs), title)
    if run.workers is not None and run.report is None:
        plan = _plan(lesson, run.workers)
        if plan.size > 1 or plan.device != "cpu":
            return _train_on_cluster(lesson, run, run.workers, plan)
    fabric = open_fabric(settings, lesson.leaves_parts_out)
    if settings.devices == 1:
        return train_as_one(fabric, network, objective, settings, run, lesson.belongs, title)
    # other processes can neither share a progress bar nor call back, nor use what is open here
    progress = Silent() if isinstance(run.progress, Silent) else Lines()
    run = replace(run, progress=progress, report=None, workers=None)
    # weights come back in a file: a pipe would block when they do not fit in it
    with tempfile.TemporaryDirectory(prefix="labelgrove-") as folder:
        result = Path(folder)
        fabric.launch(partial(_train_apart, lesson=lesson, run=run, result=result))
        return lesson.take_result(result)


class Lesson(NamedTuple):
    """What processes are given that train one network; as the parameters of `train`."""

    network: nn.Module
    objective: Objective
    settings: Training
    belongs: dict[str, Any]
    title: str

    @property
    def leaves_parts_out(self) -> bool:
        """Whether a step may give some weights no gradient."""
        return bool(getattr(self.network, "leaves_parts_out", False))

    def take_result(self, folder: Path) -> list[Event]:
        """Give the network the weights that a process left in a folder; return the history."""
        found = checkpoint.load(folder, {})
        assert found is not None
        checkpoint.restore_module("network", self.network, found.tensors)
        return list(found.facts["history"])


def _result(network: nn.Module, history: list[Event]) -> checkpoint.Checkpoint:
    """Return what `Lesson.take_result` finds."""
    return checkpoint.Checkpoint(
        checkpoint.module_tensors("network", network), {"history": history}
    )


def _train_apart(fabric: Fabric, *, lesson: Lesson, run: Run, result: Path) -> None:
    """Train as one of several processes; the first leaves history and weights in a folder."""
    network, objective, settings, belongs, title = lesson
    network = deepcopy(network)  # all processes were given the same memory
    history = train_as_one(fabric, network, objective, settings, run, belongs, title)
    if fabric.is_global_zero:
        checkpoint.save(result, 0, _result(network, history))
    # a process that ends with its connections open is sometimes aborted
    torch.distributed.destroy_process_group()


# --- on a cluster -----------------------------------------------------------------------------


def _plan(lesson: Lesson, workers: RemoteWorkers) -> GroupPlan:
    """Return which processes of a cluster share the batches."""
    settings = lesson.settings
    if settings.device not in {"auto", "cpu", "cuda"} or settings.devices > 1:
        raise InputError(
            f"device={settings.device!r} and devices={settings.devices} do not go together with a "
            "cluster, whose machines share every batch: give device auto, cpu or cuda, and leave "
            "devices out"
        )
    largest = max(map(len, lesson.objective.batches(0)))
    return workers.plan_group(max(largest // FEWEST, 1), settings.device)


def _train_on_cluster(
    lesson: Lesson, run: Run, workers: RemoteWorkers, plan: GroupPlan
) -> list[Event]:
    """Train in processes of a cluster, whose checkpoints are kept here."""
    run.progress.say(
        f"{lesson.title}: {plan.size} processes share every batch "
        f"({plan.device}, {plan.threads} CPUs each)"
    )
    with tempfile.TemporaryDirectory(prefix="labelgrove-") as temporary:
        folder = Path(temporary, "run") if run.folder is None else run.folder
        result = Path(temporary, "result")
        if not run.resume:
            checkpoint.clear(folder)
        settings = lesson.settings.fresh().set_params(device=plan.device)
        lesson = lesson._replace(network=lesson.network.cpu(), settings=settings)
        is_sparse = bool(sparse_weights(lesson.network))
        job = (lesson, folder.resolve(), result.resolve(), plan.threads)
        workers.run_group(plan, train_for_home, job, run.progress, sparse=is_sparse)
        return lesson.take_result(result)


def train_for_home(job: tuple[Lesson, Path, Path, int], home: Home) -> None:
    """Train as one process of a cluster.

    Parameters
    ----------
    job
        What to train; where home keeps checkpoints, and where it looks for the result; threads.
    home
        The process that waits.
    """
    (network, objective, settings, belongs, title), folder, result, threads = job
    run = Run(folder, resume=True, progress=home.progress)  # of a process that died before
    fabric = join_fabric(settings, job[0].leaves_parts_out)
    with limited_threads(threads):
        history = train_as_one(fabric, network, objective, settings, run, belongs, title, home)
    if fabric.is_global_zero:
        home.call(checkpoint.save, result, 0, _result(network, history))
