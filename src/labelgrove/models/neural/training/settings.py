"""The settings of a training that all neural models share."""

from __future__ import annotations

from typing import Literal

from labelgrove.core.configured import Configured
from labelgrove.core.ranges import Choice, Real, Whole
from labelgrove.core.settings import SEED, THREADS, setting

Schedule = Literal["constant", "linear", "cosine"]
Precision = Literal["32", "bf16"]

# settings of the models that train a network for each level of a label tree
LEVEL_EPOCHS: int | None = setting(
    None, "Epochs of the levels below the first; None for as many as of the first.", least=0
)
LEVEL_AVERAGE_FROM: int | None = setting(
    None, "average_from of the levels below the first; None for that of the first.", least=0
)


class Training(Configured):
    """How a network is trained; every neural model has these settings."""

    batch: int | None = setting(
        64,
        "Documents per training step; None for so few that an epoch has 200 steps, but 16 at least "
        "and 64 at most.",
        least=1,
        search=Whole(16, 128, log=True),
    )
    epochs: int = setting(20, "Passes over the documents at most.", least=1)
    learning_rate: float = setting(
        3e-3, "Learning rate of Adam.", above=0, search=Real(5e-4, 2e-2, log=True)
    )
    encoder_rate: float = setting(
        5e-5, "Learning rate of a pretrained transformer.", above=0, only=("transformer",),
        search=Real(1e-5, 2e-4, log=True),
    )  # fmt: skip
    hidden_rate: float = setting(
        1e-4,
        "Learning rate of the layer between a pretrained transformer and the labels, and of what "
        "labels are read as.",
        above=0,
        only=("transformer",),
    )
    layer_decay: float = setting(
        1.0, "Factor on the learning rate from each layer of a transformer to the one below it.",
        above=0, most=1, only=("transformer",), search=Real(0.7, 1.0),
    )  # fmt: skip
    schedule: Schedule = setting(
        "constant",
        "How the learning rate goes on after the warm-up: constant, or falling to zero at the end, "
        "linear or as a cosine.",
        search=Choice(("constant", "linear")),
    )
    warmup: float = setting(
        0.0, "Share of the steps over which the learning rate rises from zero.", least=0, most=1
    )
    weight_decay: float = setting(0.0, "Weight decay of AdamW; 0 for none.", least=0)
    clip: float | None = setting(None, "Longest gradient allowed; None for any.", above=0)
    clip_recent: float | None = setting(
        5.0,
        "Longest gradient allowed, as a multiple of the longest of the last five; None for any.",
        above=0,
    )
    patience: int = setting(
        5, "Epochs without a gain on held-out documents after which training stops.", least=1
    )
    patience_evaluations: int | None = setting(
        None,
        "Evaluations without a gain after which training stops, if that is before patience; None "
        "for any number. Publications often count so.",
        least=1,
    )
    plateau_epochs: int | None = setting(
        5,
        "Epochs, of 1,000 steps together at least, after which training stops if held-out "
        "documents are still ranked little better than by the frequency of labels. None to go on.",
        least=1,
    )
    evaluate_every: int | None = setting(
        None,
        "Steps between evaluations on held-out documents. None for as often as they take about a "
        "tenth of the time, and at the end of every epoch.",
        least=1,
    )
    average_from: int | None = setting(
        None,
        "The epoch, from 0, whose evaluations begin to average the weights (SWA); the average is "
        "then evaluated and kept. None for no averaging.",
        least=0,
    )
    checkpoint_minutes: float = setting(
        10.0,
        "Minutes between checkpoints, which are also made after every epoch and on an interrupt.",
        least=0,
    )
    device: str = setting("auto", "auto, cpu, cuda, one of several such as cuda:1, or mps.")
    devices: int = setting(1, "GPUs (or processes on the CPU) that share every batch.", least=1)
    precision: Precision = setting("32", "32, or bf16 for mixed precision with bfloat16.")
    seed: int = SEED
    threads: int | None = THREADS


class FineTuning(Training):
    """The same with defaults for models that by default begin with a pretrained transformer."""

    batch = setting(32, search=Choice((16, 32, 64)))
    epochs = 8
    learning_rate = 2e-3
    schedule = setting("linear")
    warmup = setting(0.0, search=Real(0.0, 0.2))
    weight_decay = 0.01
    clip = 1.0
    clip_recent = None
