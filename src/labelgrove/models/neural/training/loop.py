"""The loop in which every neural model learns."""

from __future__ import annotations

import json
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from lightning_fabric import Fabric
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.optim import Optimizer

from labelgrove.core import interrupts
from labelgrove.core.errors import LabelgroveError
from labelgrove.core.progress import Silent
from labelgrove.core.remote import Home
from labelgrove.core.types import Run
from labelgrove.models.neural.training import checkpoint
from labelgrove.models.neural.training.averaging import Averaged
from labelgrove.models.neural.training.clipping import Clipping
from labelgrove.models.neural.training.optimizers import new_optimizers, rate_at
from labelgrove.models.neural.training.pace import Pace
from labelgrove.models.neural.training.settings import Training

HISTORY = "history.jsonl"
# an evaluation costs about a third of a step per document, and may cost a tenth of the training
PER_EVALUATION = 10 / 3
# gain over a good start that n held-out documents can tell from chance, times the root of n:
# about a standard error of the difference of two rankings' nDCG@5
CHANCE = 0.2
PLATEAU_STEPS = 1000  # that a network has at least to learn anything, whatever plateau_epochs says
# what may change when a training is resumed
RATES = ("learning_rate", "encoder_rate", "hidden_rate", "clip", "clip_recent")
Event = dict[str, float | int]


class DivergedError(LabelgroveError):
    """The loss became infinite or not a number."""


class Objective(ABC):
    """What is to be learned: which documents are a batch, what their loss is, how good it is."""

    @abstractmethod
    def batches(self, epoch: int) -> list[NDArray[np.int64]]:
        """Return the documents of each batch of an epoch, always the same for the same epoch."""

    @abstractmethod
    def loss(self, network: nn.Module, rows: NDArray[np.int64]) -> Tensor:
        """Return the mean loss of a batch."""

    @abstractmethod
    def score(self, network: nn.Module) -> float | None:
        """Return how good the network is on held-out documents, or None without them."""

    @property
    def measure(self) -> str:
        """The name of what `score` returns, as training shows it."""
        return "score"

    @property
    @abstractmethod
    def n_validation(self) -> int:
        """Number of documents behind `score`."""

    @property
    def scores_start(self) -> bool:
        """Whether the network is good before its first step, so that it is scored then too."""
        return False

    @property
    def plateau(self) -> float | None:
        """The score up to which next to nothing was learned, or None if there is no such score."""
        return None


@dataclass
class Standing:
    """Where a training stands; all of it is in a checkpoint."""

    epoch: int = 0
    step: int = 0  # in this epoch
    steps: int = 0  # since the beginning
    documents: int = 0
    best: float = -math.inf
    waited: int = 0  # evaluations since the best
    best_step: int = 0  # steps until the best
    seconds: float = 0.0
    loss: float = 0.0  # sum since the last evaluation
    losses: int = 0
    finished: bool = False
    stuck: bool = False  # finished since it learned nothing
    history: list[Event] = field(default_factory=list)


def train_as_one(
    fabric: Fabric,
    network: nn.Module,
    objective: Objective,
    settings: Training,
    run: Run,
    belongs: dict[str, Any],
    title: str,
    home: Home | None = None,
) -> list[Event]:
    """Train a network in this process, alone or as one of several that share every batch.

    Parameters
    ----------
    fabric
        The device, and the other processes.
    home
        The process that waits for this one, on whose machine checkpoints are kept; None if that
        is this one. The other parameters are those of `train`.
    """
    if not fabric.is_global_zero:
        run = replace(run, progress=Silent())
    training = _Trainer(fabric, network, objective, settings, run, belongs, home)
    if run.resume and run.folder is not None:
        training.restore(run.folder)
    elif run.folder is not None and fabric.is_global_zero:
        checkpoint.clear(run.folder)
    standing = training.standing
    from_start = objective.scores_start and objective.n_validation > 0
    if from_start and not standing.steps:
        training.evaluate_start()
    n_documents = sum(map(len, objective.batches(0))) * settings.epochs
    task = run.progress.task(title, n_documents, done=standing.documents)
    pace = Pace(n_documents - standing.documents, fabric.device.type)
    with task as shown, interrupts.between_steps() as interrupted:
        while standing.epoch < settings.epochs and not standing.finished:
            batches = objective.batches(standing.epoch)
            due = _evaluations(batches, objective.n_validation, settings.evaluate_every)
            while standing.step < len(batches) and not standing.finished:
                rows = batches[standing.step]
                loss = training.learn(rows, len(batches))
                if standing.step in due:
                    training.evaluate(len(batches))
                shown.advance(len(rows), loss=loss, **training.shown)
                if (slow := pace.note(len(rows))) is not None:
                    run.progress.say(slow)
                if interrupted() or training.is_stopped:
                    training.keep()
                    raise KeyboardInterrupt
            standing.epoch, standing.step = standing.epoch + 1, 0
            if run.report is not None and math.isfinite(standing.best):
                run.report(standing.epoch, standing.best)
        training.keep()
        if interrupted():
            raise KeyboardInterrupt
    training.take_best()
    if standing.stuck:
        run.progress.say(
            f"stopped early: after {standing.steps:,} steps held-out documents are ranked little "
            "better than by the frequency of labels (plateau_epochs=null to go on)"
        )
    elif standing.finished:
        run.progress.say(
            f"stopped early: {standing.waited} evaluations without a gain; the weights of step "
            f"{standing.best_step:,} are kept"
        )
    if from_start and not standing.best_step:
        run.progress.say(
            "no step of the training ranks held-out documents better than its start, which is kept"
        )
    return standing.history


class _Trainer:
    """The network with all that changes beside it."""

    def __init__(
        self,
        fabric: Fabric,
        network: nn.Module,
        objective: Objective,
        settings: Training,
        run: Run,
        belongs: dict[str, Any],
        home: Home | None = None,
    ) -> None:
        self.standing = Standing()
        self.shown: dict[str, float] = {}
        self.is_stopped = False  # by the process that waits for this one
        self._home = home
        self._objective, self._settings, self._run = objective, settings, run
        self._belongs = belongs
        self._fabric, self._bare = fabric, network
        self._parameters = [p for p in network.parameters() if p.requires_grad]
        optimizers = new_optimizers(network, settings)
        self._network, *self._optimizers = self._fabric.setup(network, *optimizers)
        self._clipping = Clipping(settings.clip, settings.clip_recent)
        self._average = Averaged(network)
        self._best: dict[str, Tensor] = {}
        self._saved = self._began = time.monotonic()
        self._kept = 0  # steps behind the last checkpoint

    # --- steps --------------------------------------------------------------------------------

    def learn(self, rows: NDArray[np.int64], n_batches: int) -> float:
        """Take one step; return its loss."""
        standing, total = self.standing, n_batches * self._settings.epochs
        factor = rate_at(standing.steps, total, self._settings)
        for optimizer in self._optimizers:
            for group in optimizer.param_groups:
                group["lr"] = factor * group["share"] * getattr(self._settings, group["rate"])
        self._network.train()
        self._seed()
        own, weight = self._share(rows)
        loss = self._objective.loss(self._network, own)
        value = self._agree(float(loss.detach()), weight)
        self._check_finite("loss", value, standing.steps + 1)
        # only now is it known that the last step did no harm
        self.keep(after_minutes=self._settings.checkpoint_minutes if standing.step else 0.0)
        # gradients become the mean over processes, and are to be that over documents
        self._fabric.backward(loss * (weight * self._fabric.world_size))
        self._check_finite("gradient", self._clipping(self._parameters), standing.steps + 1)
        for optimizer in self._optimizers:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        standing.step += 1
        standing.steps += 1
        standing.documents += len(rows)
        standing.loss += value
        standing.losses += 1
        return value

    def _seed(self) -> None:
        """Let every step have random numbers of its own: a resumed training draws the same."""
        numbers = [self._settings.seed, self.standing.steps, self._fabric.global_rank]
        (drawn,) = np.random.SeedSequence(numbers).generate_state(1, np.uint64)
        torch.manual_seed(int(drawn) >> 1)

    def _share(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], float]:
        """Return the documents of a batch that this process reads, and their share of the batch.

        There is at least one: of a batch with fewer documents than processes, some count for 0.
        """
        own = rows[self._fabric.global_rank :: self._fabric.world_size]
        return (own, len(own) / len(rows)) if len(own) else (rows[:1], 0.0)

    def _agree(self, loss: float, weight: float) -> float:
        """Return the loss of the whole batch, and note whether the training is to be stopped.

        All processes must know both, or those that go on would wait for those that do not.
        """
        first = self._fabric.is_global_zero
        stopped = first and self._home is not None and self._home.is_stopped()
        if self._fabric.world_size == 1:
            self.is_stopped = stopped
            return loss
        own = [weight * loss, float(stopped)]
        total = torch.tensor(own, dtype=torch.float64, device=self._fabric.device)
        agreed = self._fabric.all_reduce(total, reduce_op="sum")
        assert isinstance(agreed, Tensor)
        value, n_stopped = agreed.tolist()
        self.is_stopped = n_stopped > 0
        return float(value)

    def _check_finite(self, what: str, value: float, step: int) -> None:
        """Stop where there is no number to go on with."""
        if math.isfinite(value):
            return
        again = "begin anew"
        if self._kept:
            again = f"go on from step {self._kept:,} (resume=True; --resume) or begin anew"
        rates = ", ".join(
            f"{name} (now {rate:g})" for name, rate in self._rates().items() if "_rate" in name
        )
        raise DivergedError(
            f"the {what} is {value} at step {step:,} (epoch {self.standing.epoch + 1}): lower "
            f"{rates} or set clip, and {again}"
        )

    def evaluate(self, n_batches: int) -> None:
        """Score the network, remember its weights if they are the best, or lose patience.

        An epoch has ``n_batches``.
        """
        standing, first = self.standing, self._settings.average_from
        if first is not None and standing.epoch >= first:
            self._average.add()
        loss = standing.loss / max(standing.losses, 1)
        standing.loss, standing.losses = 0.0, 0
        if self._score({"loss": loss}) is not None:
            standing.stuck = self._is_stuck(n_batches)
            standing.finished = standing.stuck or self._is_patience_lost(n_batches)

    def evaluate_start(self) -> None:
        """Score the network before its first step; its weights are kept until others are better."""
        self._score({})

    def _score(self, facts: Event) -> float | None:
        """Score the network, remember its weights if they are the best, and note that.

        Parameters
        ----------
        facts
            What else is noted.
        """
        standing = self.standing
        self._bare.eval()
        with self._average.swapped_in(), torch.no_grad(), self._fabric.autocast():
            score = self._objective.score(self._bare) if self._fabric.is_global_zero else None
            score = self._fabric.broadcast(score)
            self._check_finite("validation score", score or 0.0, standing.steps)
            if score is None or score > self._to_beat:
                self._best = {
                    name: value.detach().clone() for name, value in self._bare.state_dict().items()
                }
        event: Event = {
            "epoch": standing.epoch,
            "step": standing.steps,
            "seconds": round(standing.seconds + time.monotonic() - self._began, 3),
            **facts,
        }
        if score is not None:
            event["score"] = score
            self.shown = {f"validation {self._objective.measure}": score}
            standing.waited += 1
            if score > self._to_beat:
                standing.best, standing.waited, standing.best_step = score, 0, standing.steps
        standing.history.append(event)
        self._note()
        return score

    @property
    def _to_beat(self) -> float:
        """The score from which on weights are the best so far."""
        standing, n = self.standing, self._objective.n_validation
        at_start = bool(standing.history) and not standing.best_step
        # a start that is good gives way only to what is surely better
        doubt = CHANCE / max(n, 1) ** 0.5 if at_start and self._objective.scores_start else 0.0
        return standing.best + doubt

    def _is_patience_lost(self, n_batches: int) -> bool:
        """Tell whether there was no gain for too many epochs, or evaluations."""
        standing, most = self.standing, self._settings.patience_evaluations
        if most is not None and standing.waited >= most:
            return True
        return standing.steps - standing.best_step >= self._settings.patience * n_batches

    def _is_stuck(self, n_batches: int) -> bool:
        """Tell whether next to nothing was learned in many steps."""
        epochs, plateau = self._settings.plateau_epochs, self._objective.plateau
        if epochs is None or plateau is None:
            return False
        enough = self.standing.steps >= max(epochs * n_batches, PLATEAU_STEPS)
        return enough and self.standing.best <= plateau

    def take_best(self) -> None:
        """Give the network the best weights it had."""
        if self._best:
            self._bare.load_state_dict(self._best)

    # --- checkpoints --------------------------------------------------------------------------

    def keep(self, after_minutes: float = 0.0) -> None:
        """Write a checkpoint, if there is a folder, something new, and it is time."""
        folder, standing, now = self._run.folder, self.standing, time.monotonic()
        if folder is None or now - self._saved < 60 * after_minutes:
            return
        if standing.steps == self._kept or not self._fabric.is_global_zero:
            return
        standing.seconds += now - self._began
        self._began = now
        tensors = checkpoint.module_tensors("network", self._bare)
        tensors |= {f"best.{name}": value.cpu() for name, value in self._best.items()}
        tensors |= {f"mean.{name}": value.cpu() for name, value in self._average.mean.items()}
        for number, optimizer in enumerate(self._optimizers):
            tensors |= checkpoint.optimizer_tensors(f"optimizer{number}", _bare(optimizer))
        facts = {
            "belongs": self._belongs,
            "standing": vars(standing) | {"best": _plain(standing.best)},
            "recent": list(self._clipping.recent),
            "averaged": self._average.count,
            "rates": self._rates(),
        }
        with interrupts.held_back():
            made = checkpoint.Checkpoint(tensors, facts)
            self._at_home(checkpoint.save, folder, standing.steps, made)
        self._saved, self._kept = time.monotonic(), standing.steps

    def restore(self, folder: Path) -> None:
        """Go on from the newest checkpoint, if there is one."""
        found: checkpoint.Checkpoint | None
        found = self._at_home(checkpoint.load, folder, self._belongs)
        if found is None:
            return
        tensors, facts = found
        checkpoint.restore_module("network", self._bare, tensors)
        device = self._fabric.device
        self._best = _named("best.", tensors, device)
        self._average.mean = _named("mean.", tensors, device)
        self._average.count = facts["averaged"]
        for number, optimizer in enumerate(self._optimizers):
            checkpoint.restore_optimizer(f"optimizer{number}", _bare(optimizer), tensors)
        self._clipping.recent.extend(facts["recent"])
        self.standing.__dict__.update(facts["standing"])
        if self.standing.best is None:
            self.standing.best = -math.inf
        self._kept = self.standing.steps
        self._note()
        self._run.progress.say(
            f"resuming after {self.standing.steps:,} steps (epoch {self.standing.epoch + 1})"
        )
        for name, value in self._rates().items():
            if value != facts["rates"].get(name):
                self._run.progress.say(f"{name} is {value} now and was {facts['rates'].get(name)}")

    def _rates(self) -> dict[str, float | None]:
        used = {group["rate"] for optimizer in self._optimizers for group in optimizer.param_groups}
        names = [name for name in RATES if name in used or not name.endswith("_rate")]
        return {name: getattr(self._settings, name) for name in names}

    def _note(self) -> None:
        """Write the history, whole: after a resume it may be shorter than what was written."""
        if self._run.folder is not None and self._fabric.is_global_zero:
            self._at_home(write_history, self._run.folder, self.standing.history)

    def _at_home(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function on the machine where the training's folder is."""
        if self._home is None:
            return function(*arguments)
        return self._home.call(function, *arguments)


def write_history(folder: Path, history: list[Event]) -> None:
    """Write the events of a training, a line each."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps(event) + "\n" for event in history]
    (folder / HISTORY).write_text("".join(lines), encoding="utf-8")


def _evaluations(
    batches: list[NDArray[np.int64]], n_validation: int, every: int | None
) -> set[int]:
    """Return the steps of an epoch after which to evaluate; the last is always among them."""
    n = len(batches)
    if every is None:
        documents = sum(map(len, batches))
        parts = max(1, int(documents / (PER_EVALUATION * max(n_validation, 1))))
        parts = min(parts, n, 10)
        return {n * (part + 1) // parts for part in range(parts)}
    return {*range(every, n + 1, every), n}


def _bare(optimizer: Any) -> Optimizer:
    """Return the optimiser that Fabric wrapped."""
    found: Optimizer = getattr(optimizer, "optimizer", optimizer)
    return found


def _named(prefix: str, tensors: Mapping[str, Tensor], device: torch.device) -> dict[str, Tensor]:
    return {
        name.removeprefix(prefix): value.to(device)
        for name, value in tensors.items()
        if name.startswith(prefix)
    }


def _plain(value: float) -> float | None:
    return value if math.isfinite(value) else None
