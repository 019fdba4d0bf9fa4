"""The settings of a training that all neural models share."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from labelgrove.core.errors import InputError
from labelgrove.core.ranges import Choice, Range, Real, Whole

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

    @property
    def rates(self) -> Mapping[str, float]:
        """Learning rates of parts of the network that have one of their own, by name."""
        return {}

    @classmethod
    def ranges(cls) -> dict[str, Range]:
        """Return which of these settings are worth searching, and where."""
        return {
            "learning_rate": Real(5e-4, 2e-2, log=True),
            "batch": Whole(16, 128, log=True),
            "schedule": Choice(("constant", "linear")),
        }


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

    @classmethod
    def ranges(cls) -> dict[str, Range]:
        """Return which of these settings are worth searching, and where."""
        return {**super().ranges(), "vector_dropout": Real(0.0, 0.5)}


@dataclass(frozen=True)
class PooledTraining(WordTraining):
    """The same for networks with one vector for the text, and a choice of output layers.

    Parameters
    ----------
    output
        ``"linear"``, a number for every label, or ``"clusters"``: frequent labels in front, rare
        ones in clusters behind gates (APLC).
    clusters
        Of ``output="clusters"``: shares of the labels in each, such as [0.5, 0.5], the most
        frequent first, or ``"auto"`` for those that make a training step fastest.
    decay
        Of ``output="clusters"``: how many times smaller a text's vector is from cluster to cluster.
    """

    output: Literal["linear", "clusters"] = "linear"
    clusters: Literal["auto"] | Sequence[float] = "auto"
    decay: float = 2.0


@dataclass(frozen=True)
class PretrainedTraining(Training):
    """The same for networks that begin with a pretrained transformer.

    Parameters
    ----------
    encoder
        A folder, or a name on the Hugging Face hub: any encoder that transformers can load.
    pooling
        Which of its vectors stands for the text: the ``"first"``, the ``"last"``, the ``"mean"``
        of all; ``"auto"`` for that of the token which its tokenizer puts there for the purpose.
    length
        Tokens that are read at once, those of the tokenizer around the text included.
    windows
        Windows of a long text that are read; a label has its largest probability of them. In
        training a window of each text is drawn at each step.
    encoder_rate
        Learning rate of the transformer.
    hidden_rate
        Learning rate of the layer between transformer and labels.
    layer_decay
        Factor on the learning rate from each layer of the transformer to the one below it.
    checkpointing
        Compute inner values again instead of keeping them: less memory, a third more time.
    frozen
        Lowest layers that do not learn, with what is below them; -1 for the whole transformer.
    lora
        Rank of low-rank updates to linear layers, which then learn instead of the transformer; 0
        for none. Attention of XLNet is not among these layers.
    """

    encoder: str = ""
    pooling: Literal["auto", "first", "last", "mean"] = "auto"
    length: int = 256
    windows: int = 1
    encoder_rate: float = 5e-5
    hidden_rate: float = 1e-4
    layer_decay: float = 1.0
    checkpointing: bool = False
    frozen: int = 0
    lora: int = 0
    batch: int = 32
    epochs: int = 8
    learning_rate: float = 2e-3
    schedule: Schedule = "linear"
    weight_decay: float = 0.01
    clip: float | None = 1.0
    clip_recent: float | None = None

    @property
    def rates(self) -> Mapping[str, float]:
        """Those of the transformer and of the layer behind it."""
        return {"reader": self.encoder_rate, "between": self.hidden_rate}

    @classmethod
    def ranges(cls) -> dict[str, Range]:
        """Return which of these settings are worth searching, and where."""
        return {
            "encoder_rate": Real(1e-5, 2e-4, log=True),
            "learning_rate": Real(5e-4, 2e-2, log=True),
            "layer_decay": Real(0.7, 1.0),
            "batch": Choice((16, 32, 64)),
            "warmup": Real(0.0, 0.2),
        }


@dataclass(frozen=True)
class JointTraining(PretrainedTraining):
    """The same for networks whose transformer reads labels with the text.

    Parameters
    ----------
    hidden_rate
        Learning rate of what labels are read as.
    together
        Number of labels up to which all are read with every text.
    candidates
        Labels that are read with a text where there are more: the best ones of a first stage.
    first
        Name of the model that is the first stage.
    folds
        Models of the first stage by which training documents are ranked, each by one that did not
        learn from it.
    starts
        What labels are read as at first: the words of their ``"names"``, of their
        ``"descriptions"`` where there are any, or ``"random"``.
    """

    together: int = 200
    candidates: int = 64
    first: str = "bonsai"
    folds: int = 5
    starts: Literal["names", "descriptions", "random"] = "names"
    learning_rate: float = 5e-3
    hidden_rate: float = 5e-4
    layer_decay: float = 0.8
    warmup: float = 0.1

    @property
    def rates(self) -> Mapping[str, float]:
        """Those of the transformer, and of what labels are read as."""
        return {"reader.tokens": self.hidden_rate, "reader": self.encoder_rate}

    @classmethod
    def ranges(cls) -> dict[str, Range]:
        """Return which of these settings are worth searching, and where."""
        return {**super().ranges(), "hidden_rate": Real(1e-4, 5e-3, log=True)}


# --- allowed ----------------------------------------------------------------------------------


class Allowed(NamedTuple):
    """The values that a setting may have: a test, and the same in words."""

    holds: Callable[[Any], bool]
    words: str


def _is_list_of_sizes(value: Any) -> bool:
    if not isinstance(value, Sequence) or isinstance(value, str) or not value:
        return False
    kinds = (int, np.integer)
    return all(isinstance(each, kinds) and each >= 1 for each in value)


def _is_shares(value: Any) -> bool:
    if not isinstance(value, Sequence) or isinstance(value, str):
        return bool(value == "auto")
    numbers = all(isinstance(each, int | float) and each > 0 for each in value)
    return bool(value) and numbers and abs(sum(value) - 1) <= 0.01


COUNT = Allowed(lambda value: value >= 1, "a whole number from 1")
FROM_ZERO = Allowed(lambda value: value >= 0, "a whole number from 0")
POSITIVE = Allowed(lambda value: 0 < value < math.inf, "a number above 0")
NOT_NEGATIVE = Allowed(lambda value: 0 <= value < math.inf, "a number from 0")
SHARE = Allowed(lambda value: 0 <= value <= 1, "a number from 0 to 1")
DROPOUT = Allowed(lambda value: 0 <= value < 1, "a number from 0, below 1")
SIZES = Allowed(_is_list_of_sizes, "a list of whole numbers from 1, such as [256]")
POWER_OF_TWO = Allowed(
    lambda value: value >= 2 and value & (value - 1) == 0, "a power of two, such as 8"
)
ALLOWED = {
    **dict.fromkeys(("batch", "epochs", "patience", "evaluate_every", "devices"), COUNT),
    **dict.fromkeys(("units", "filters", "parts", "bottleneck", "length", "windows"), COUNT),
    **dict.fromkeys(("max_leaf", "levels", "parents", "ensemble", "candidates"), COUNT),
    **dict.fromkeys(("given", "across", "neighbours", "heads", "described"), COUNT),
    "folds": Allowed(lambda value: value >= 2, "a whole number from 2"),
    **dict.fromkeys(("average_from", "level_epochs", "vector_size", "lora", "hidden"), FROM_ZERO),
    **dict.fromkeys(("together", "radius"), FROM_ZERO),
    **dict.fromkeys(("learning_rate", "encoder_rate", "hidden_rate"), POSITIVE),
    **dict.fromkeys(("clip", "clip_recent"), POSITIVE),
    **dict.fromkeys(("weight_decay", "checkpoint_minutes"), NOT_NEGATIVE),
    **dict.fromkeys(("dropout", "vector_dropout"), DROPOUT),
    **dict.fromkeys(("layers", "widths"), SIZES),
    "clusters": Allowed(_is_shares, "'auto', or shares that sum to 1, such as [0.5, 0.5]"),
    **dict.fromkeys(("plcp", "clcp"), NOT_NEGATIVE),
    "ratio": POSITIVE,
    "warmup": SHARE,
    "copies": Allowed(lambda value: 0 < value <= 1, "a cosine above 0, up to 1"),
    "layer_decay": Allowed(lambda value: 0 < value <= 1, "a number above 0, up to 1"),
    "decay": Allowed(lambda value: 1 <= value < math.inf, "a number from 1"),
    "frozen": Allowed(lambda value: value >= -1, "a whole number from -1"),
    "branching": POWER_OF_TWO,
}


def check_allowed(settings: Mapping[str, Any]) -> None:
    """Refuse values out of range; None is always in it, where a setting may be None at all."""
    for name, value in settings.items():
        allowed = ALLOWED.get(name)
        if value is not None and allowed is not None and not allowed.holds(value):
            raise InputError(f"{name} must be {allowed.words}, got {value!r}")
