"""The settings of a training that all neural models share."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from labelgrove.core.errors import InputError

Schedule = Literal["constant", "linear", "cosine"]
Precision = Literal["32", "bf16"]


@dataclass(frozen=True)
class Training:
    """How a network is trained; every neural model takes these as settings of its own.

    Parameters
    ----------
    batch
        Documents per step.
    epochs
        Passes over the documents at most.
    learning_rate
        Of Adam.
    schedule
        ``"constant"``, or falling to zero at the end: ``"linear"`` or ``"cosine"``.
    warmup
        Share of the steps over which the learning rate rises from zero.
    weight_decay
        Of AdamW; 0 for none.
    clip
        Longest gradient allowed; None for any.
    clip_recent
        Longest gradient allowed, as a multiple of the longest of the last five; None for any.
    patience
        Evaluations without a gain after which training stops.
    evaluate_every
        Steps between evaluations on held-out documents. None for as often as they take at most
        about a tenth of the time, and at the end of every epoch.
    average_from
        The epoch, from 0, whose evaluations begin to average the weights (SWA); what is evaluated
        and kept is then the average. None for no averaging.
    checkpoint_minutes
        Time between checkpoints, which are also made after every epoch and on an interrupt.
    device
        ``"auto"``, ``"cpu"``, ``"cuda"``, ``"cuda:1"``, ``"mps"``.
    devices
        GPUs (or processes on the CPU) that share every batch.
    precision
        ``"32"``, or ``"bf16"`` for mixed precision with bfloat16.
    seed
        Of weights, dropout and the order of documents.
    threads
        None for all cores.
    """

    batch: int = 64
    epochs: int = 20
    learning_rate: float = 3e-3
    schedule: Schedule = "constant"
    warmup: float = 0.0
    weight_decay: float = 0.0
    clip: float | None = None
    clip_recent: float | None = 5.0
    patience: int = 10
    evaluate_every: int | None = None
    average_from: int | None = None
    checkpoint_minutes: float = 10.0
    device: str = "auto"
    devices: int = 1
    precision: Precision = "32"
    seed: int = 0
    threads: int | None = None


@dataclass(frozen=True)
class WordTraining(Training):
    """The same for networks that begin with vectors of words.

    Parameters
    ----------
    length
        Words that are read of a text.
    vectors
        Where words begin: ``"random"``, ``"corpus"`` (trained on the texts), or a file of GloVe
        or word2vec.
    vector_size
        Numbers of a word's vector; 0 for those of the file, or 300.
    train_vectors
        Learn the words' vectors too.
    vector_dropout
        On the words' vectors.
    """

    length: int = 500
    vectors: str = "random"
    vector_size: int = 0
    train_vectors: bool = True
    vector_dropout: float = 0.2


# --- ranges -----------------------------------------------------------------------------------


class Range(NamedTuple):
    """The values that a setting may have: a test, and the same in words."""

    holds: Callable[[Any], bool]
    words: str


def _is_list_of_sizes(value: Any) -> bool:
    if not isinstance(value, Sequence) or isinstance(value, str) or not value:
        return False
    kinds = (int, np.integer)
    return all(isinstance(each, kinds) and each >= 1 for each in value)


COUNT = Range(lambda value: value >= 1, "a whole number from 1")
FROM_ZERO = Range(lambda value: value >= 0, "a whole number from 0")
POSITIVE = Range(lambda value: 0 < value < math.inf, "a number above 0")
NOT_NEGATIVE = Range(lambda value: 0 <= value < math.inf, "a number from 0")
SHARE = Range(lambda value: 0 <= value <= 1, "a number from 0 to 1")
DROPOUT = Range(lambda value: 0 <= value < 1, "a number from 0, below 1")
SIZES = Range(_is_list_of_sizes, "a list of whole numbers from 1, such as [256]")
POWER_OF_TWO = Range(
    lambda value: value >= 2 and value & (value - 1) == 0, "a power of two, such as 8"
)
RANGES = {
    **dict.fromkeys(("batch", "epochs", "patience", "evaluate_every", "devices"), COUNT),
    **dict.fromkeys(("units", "filters", "parts", "bottleneck", "length"), COUNT),
    **dict.fromkeys(("max_leaf", "levels", "parents", "ensemble", "candidates"), COUNT),
    **dict.fromkeys(("average_from", "level_epochs", "vector_size"), FROM_ZERO),
    **dict.fromkeys(("learning_rate", "clip", "clip_recent"), POSITIVE),
    **dict.fromkeys(("weight_decay", "checkpoint_minutes"), NOT_NEGATIVE),
    **dict.fromkeys(("dropout", "vector_dropout"), DROPOUT),
    **dict.fromkeys(("layers", "widths"), SIZES),
    "warmup": SHARE,
    "branching": POWER_OF_TWO,
}


def check_ranges(settings: Mapping[str, Any]) -> None:
    """Refuse values out of range; None is always in it, where a setting may be None at all."""
    for name, value in settings.items():
        allowed = RANGES.get(name)
        if value is not None and allowed is not None and not allowed.holds(value):
            raise InputError(f"{name} must be {allowed.words}, got {value!r}")
