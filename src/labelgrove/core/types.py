"""Small shared types: a document, what a classifier is told beside X and Y, its explanation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelgrove.core.features import Features
from labelgrove.core.progress import Progress, Silent
from labelgrove.core.remote import RemoteWorkers

if TYPE_CHECKING:  # names for the reader and mypy only; core imports nothing above it
    from labelgrove.core.estimator import Featurizer
    from labelgrove.labels import LabelSpace


class Document(NamedTuple):
    """One text with its labels.

    Parameters
    ----------
    text
        The text.
    labels
        Label ids, each once; empty where they are not known.
    id
        The document's own id, or None.
    """

    text: str
    labels: tuple[str, ...] = ()
    id: str | None = None


class Tag(NamedTuple):
    """A label given to a text: its id, its name, and the probability that it belongs there."""

    label: str
    name: str
    score: float


class Span(NamedTuple):
    """The characters ``text[start:end]`` behind one feature or token."""

    feature: int
    start: int
    end: int


@dataclass(frozen=True)
class ViewSpec:
    """A view of the text that a classifier asks for.

    Parameters
    ----------
    featurizer, settings
        Name and settings of the featurizer.
    reads_names
        Fit the featurizer on the labels' names too, so that it knows words that no text has.
    learning_only
        The model asks for the view before it is fitted, and perhaps not any more once it is.
    ranks
        Labels are ranked by it, so that settings of the text are worth trying for it.
    """

    featurizer: str
    settings: Mapping[str, object] = field(default_factory=dict)
    reads_names: bool = False
    learning_only: bool = field(default=False, compare=False)
    ranks: bool = field(default=True, compare=False)


@dataclass(frozen=True)
class Run:
    """Where and how a training runs.

    Parameters
    ----------
    folder
        For checkpoints, history and caches; None when nothing is to be kept.
    resume
        Go on from what ``folder`` holds.
    progress
        Where progress is shown.
    report
        Told how many epochs a network has learned and its best score on held-out documents so
        far, after each epoch. It may raise `GivenUpError`, which ends the training.
    workers
        Other processes, such as those of a cluster, that do what can be divided; None for threads
        of this process. What is learned does not depend on it.
    """

    folder: Path | None = None
    resume: bool = False
    progress: Progress = field(default_factory=Silent)
    report: Callable[[int, float], None] | None = None
    workers: RemoteWorkers | None = None


@dataclass(frozen=True)
class FitContext:
    """What a classifier may know beside X and Y; every part is optional.

    Parameters
    ----------
    labels
        Names, descriptions and hierarchy of the columns of Y.
    featurizers
        The fitted featurizer of each view, so that label names go through the same vocabulary.
    validation
        Held-out (X, Y) for early stopping.
    documents
        How each text of X begins, for a model that remembers documents and shows them.
    run
        Folder, resume and progress.
    """

    labels: LabelSpace | None = None
    featurizers: Mapping[str, Featurizer] = field(default_factory=dict)
    validation: tuple[Features, csr_array] | None = None
    documents: Sequence[str] | None = None
    run: Run = field(default_factory=Run)


CABLE = 1.25e9  # bytes a second: 10 Gbit/s


class Estimate(NamedTuple):
    """What a training will need.

    Parameters
    ----------
    seconds
        At most: early stopping may end it sooner.
    memory
        Bytes at its peak.
    free
        Bytes that are free where it runs, or None if that is not known.
    divisible
        Seconds of one CPU that a cluster can divide; in ``seconds`` threads here divide them.
    processes
        Most processes that a network is divided among, whose threads take the other CPUs; None
        for a linear model.
    exchanged
        Bytes of gradients that each of these processes gives the others.
    """

    seconds: float
    memory: int
    free: int | None
    divisible: float = 0.0
    processes: int | None = None
    exchanged: int = 0

    def on_cluster(self, cpus: int, threads: int) -> float:
        """Return the seconds with the CPUs of a cluster in place of threads here.

        Gradients go twice through the cable of each process, once as they are and once as sums.
        """
        divided = self.seconds + self.divisible * (1 / cpus - 1 / threads)
        n = min(cpus, self.processes or 1)
        return divided + 2 * (n - 1) / n * self.exchanged / CABLE


class Neighbour(NamedTuple):
    """A remembered document that is like a text.

    Parameters
    ----------
    document
        Its number, in the order in which documents were learned from.
    similarity
        The cosine of both, at most 1.
    labels
        Numbers of its labels.
    text
        How it begins; empty where that is not known.
    """

    document: int
    similarity: float
    labels: tuple[int, ...]
    text: str


@dataclass(frozen=True)
class NetworkFile:
    """What the ONNX file of a network reads of a text, and what it gives.

    Parameters
    ----------
    window
        Tokens that are read at once.
    windows
        How many windows of a long text are read, at most; a label has the largest of its scores.
    pad
        The token that fills up short texts.
    opset
        Version of ONNX's operations.
    inputs, outputs
        Their names: token numbers (b, T) and how many each text has (b,); scores that rank labels
        (b, L) and their probabilities (b, L).
    """

    window: int
    windows: int
    pad: int
    opset: int
    inputs: tuple[str, str]
    outputs: tuple[str, str]


@dataclass(frozen=True, eq=False)
class Explanation:
    """How much each feature or token of one text spoke for a label.

    Parameters
    ----------
    ids
        Feature numbers of a sparse view, or token positions of a ragged one, shape (m,).
    weights
        Their weights, shape (m,); positive speaks for the label.
    view
        The view they belong to.
    neighbours
        Documents that the model thought of, the most similar first.
    parts
        What else spoke, as pairs of a name and a weight on the same scale: the meaning of the
        text as a whole, or a model inside the model.
    """

    ids: NDArray[np.integer]
    weights: NDArray[np.floating]
    view: str = "text"
    neighbours: tuple[Neighbour, ...] = ()
    parts: tuple[tuple[str, float], ...] = ()
