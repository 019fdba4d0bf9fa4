"""XR-Transformer: an encoder fine-tuned from coarse clusters to labels, then a linear tree.

Zhang, Chang, Yu and Dhillon, "Fast multi-resolution transformer fine-tuning for extreme
multi-label text classification", NeurIPS 2021; it follows X-Transformer (Chang, Yu, Zhong, Yang
and Dhillon, KDD 2020).

First the encoder learns to tell apart the nodes of a label tree, level by level: all clusters of
the first level, then the children of the clusters that a text has or is thought to have. Each level
begins with the encoder of the level above. Then tf-idf and the encoder's vector of the text stand
side by side in `bonsai`, which ranks.

How we read it, and where we differ:

- *Tree* (preliminary tree of section 3): halves of halves of the labels' tf-idf vectors until
  none has more than ``max_leaf`` labels, every ``branching`` of them in a node above. The tf-idf is
  that of the linear half, which grows trees of its own, as the paper's refined ones, but from
  tf-idf alone.
- *Candidates* of a level: children of the true nodes above, and of the likeliest others up to
  ``parents`` in all (the paper's teacher-forcing and matcher-aware negatives).
- *Weights of a new level*: the paper solves for them with linear classifiers on the vectors that
  the encoder gives so far; ours begin at random, with a bias that begins with each node's
  frequency.
- *Loss*: the mean binary cross entropy over candidates; the paper weighs a positive by how many of
  a text's labels are below the node, and takes a squared hinge loss.
- *Vectors of the training documents* come from the encoder that was fine-tuned on these documents,
  as in the paper. They may therefore be better than those of new texts, so ``dense_weight`` is set
  and not chosen on training documents. What this costs was too little to be seen on 600 documents
  (``benchmarks/LOG.md``).
- *Linear half*: `bonsai` with its default settings in the place of XR-Linear; its classifiers are
  trained with hard negatives too. One encoder; the paper averages several.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import nn

from labelgrove.core import checks
from labelgrove.core.errors import InputError
from labelgrove.core.estimator import Classifier
from labelgrove.core.features import Features, Views
from labelgrove.core.progress import Progress, Silent
from labelgrove.core.ranges import Real
from labelgrove.core.ranking import Ranking
from labelgrove.core.settings import POWER_OF_TWO, setting
from labelgrove.core.types import Estimate, Explanation, FitContext, ViewSpec
from labelgrove.labels import LabelTree
from labelgrove.models.members import own_context
from labelgrove.models.neural.candidates.all import AllLabels
from labelgrove.models.neural.candidates.base import Candidates
from labelgrove.models.neural.candidates.tree import TreeLabels, too_few
from labelgrove.models.neural.encoding import unit_vectors
from labelgrove.models.neural.estimator import NeuralClassifier
from labelgrove.models.neural.priors.start import LabelStart
from labelgrove.models.neural.readers.base import Reader
from labelgrove.models.neural.readers.settings import UNITS
from labelgrove.models.neural.readers.word_networks import BiLSTM
from labelgrove.models.neural.saved_weights import with_saved_weights
from labelgrove.models.neural.scorers.outputs import LinearOutput
from labelgrove.models.neural.scorers.pooled import PooledScorer
from labelgrove.models.neural.scorers.sparse_output import SparseOutput
from labelgrove.models.neural.texts import Texts
from labelgrove.models.neural.training.devices import device_of
from labelgrove.models.neural.training.settings import LEVEL_AVERAGE_FROM, LEVEL_EPOCHS, FineTuning
from labelgrove.models.neural.training.threads import limited_threads
from labelgrove.models.registry import MODELS

LINEAR = "linear"  # the view, the run folder and the saved folder of the linear half
READER = "reader."  # before the names of the encoder's weights in what is saved
WIDEST = 256  # nodes of the first level at most
PASS = 1 / 3  # what reading all texts once more takes, as a share of an epoch


class XrTransformer(FineTuning, NeuralClassifier):
    """An encoder that learns from coarse clusters to labels, beside tf-idf in a linear tree.

    Attributes
    ----------
    reader_
        The fine-tuned encoder.
    linear_
        The model that ranks, by tf-idf and the encoder's vectors.
    """

    name: ClassVar[str] = "xr-transformer"

    encoder = "sentence-transformers/all-MiniLM-L6-v2"
    length = 128
    prior = "frequency"
    epochs = 3
    encoder_rate = 1e-4
    units: int = UNITS
    dropout: float = setting(
        0.1, "Dropout in front of clusters and labels.", least=0, below=1, search=Real(0.0, 0.4)
    )
    max_leaf: int = setting(16, "Labels below a node of the tree's last level at most.", least=1)
    branching: int = setting(16, "Children of the tree's other nodes.", rule=POWER_OF_TWO)
    levels: int | None = setting(
        None,
        "Levels of clusters; None for so many that the first has no more than 256 nodes.",
        least=1,
    )
    parents: int = setting(15, "Nodes of a level whose children are judged for a text.", least=1)
    level_epochs: int | None = LEVEL_EPOCHS
    level_average_from: int | None = LEVEL_AVERAGE_FROM
    dense_weight: float = setting(
        1.0,
        "Length of the encoder's vector of a text beside that of tf-idf, whose length is 1.",
        above=0,
        most=100,
        search=Real(0.25, 2.0, log=True),
    )

    reader_: Reader
    linear_: Classifier

    def check_settings(self) -> None:
        """Refuse a first stage: a linear model ranks all labels already."""
        super().check_settings()
        if self.first != "none":
            raise InputError(
                f"first={self.first!r} has no effect: {self.name} ranks all labels by its linear "
                "half; leave it out"
            )

    @property
    def allows_first(self) -> bool:
        """False: there is no candidate for a first stage to name."""
        return False

    # --- the half that is fine-tuned --------------------------------------------------------------

    def _word_network(self, n_inputs: int) -> BiLSTM:
        return BiLSTM(n_inputs, self.units, self.dropout)

    def _scorer(self, reader: Reader, start: LabelStart) -> PooledScorer:
        output = SparseOutput if start.sparse else LinearOutput
        return PooledScorer(nn.Dropout(self.dropout), output(reader.n_pooled, start))

    def _candidates(self, n_labels: int) -> Candidates:
        if n_labels <= self.max_leaf:
            return AllLabels(self.at_once, why=too_few(n_labels, self.max_leaf))
        return TreeLabels(
            self.at_once, self.max_leaf, self.branching, self._n_levels, self._kept,
            judged=self.parents * max(self.max_leaf, self.branching), seed=self.seed,
            threads=self.threads, view=LINEAR,
        )  # fmt: skip

    def _n_levels(self, clusters: int) -> int:
        if self.levels is not None:
            return self.levels
        return 1 + math.ceil(math.log(max(clusters / WIDEST, 1.0), self.branching))

    def _kept(self, tree: LabelTree) -> list[int]:
        return [self.parents] * (tree.depth - 1)

    # --- the half that ranks ----------------------------------------------------------------------

    def _new_linear(self) -> Classifier:
        settings = {"dense": self.encoder, "dense_weight": self.dense_weight}
        return MODELS.create("bonsai", **settings, seed=self.seed, threads=self.threads)

    def views(self) -> dict[str, ViewSpec]:
        """Return what the encoder reads, and tf-idf for the linear half."""
        return {"text": self._input().view(), LINEAR: self._new_linear().views()["text"]}

    def _fit(self, X: Features, Y: csr_array, context: FitContext) -> None:
        _both_views(X)
        super()._fit(X, Y, context)
        self.reader_ = self.networks_[-1].reader
        del self.networks_  # those of the levels above have done their work
        own = own_context(replace(context, validation=None), {"text": LINEAR}, LINEAR)
        self.linear_ = self._new_linear()
        self.linear_.fit(self._sides(X, context.run.progress), Y, context=own)

    def why_no_onnx(self) -> str:
        """Return that the network does not rank."""
        return "linear classifiers rank, beside its network"

    @property
    def refits(self) -> bool:
        """True: the linear half needs no held-out documents."""
        return True

    def refit(self, X: Features, Y: csr_array, *, context: FitContext | None = None) -> Self:
        """Return this model with a linear half that learns from these documents."""
        self.check_fitted()
        model, context = copy(self), context or FitContext()
        own = own_context(context, {"text": LINEAR}, LINEAR)
        sides = self._sides(X, context.run.progress)
        model.linear_ = self.linear_.refit(sides, Y, context=own)
        return model

    def _sides(self, X: Features, progress: Progress | None = None) -> Views:
        """Return tf-idf and the encoder's vectors of texts, side by side."""
        both = _both_views(X)
        return Views({"text": both[LINEAR], "dense": self.encode(both, progress)})

    def encode(self, X: Features, progress: Progress | None = None) -> NDArray[np.float32]:
        """Return the fine-tuned encoder's vectors of texts, of length 1, shape (n, d).

        Parameters
        ----------
        X
            Views with ``"text"``, or subwords alone.
        progress
            Where progress is shown.
        """
        windows = self.input_.windows
        texts = Texts(self._tokens(X, self.n_terms_), windows)
        n = len(texts) if windows is None else int(windows.count(texts.tokens).sum())
        with self._reading() as device, (progress or Silent()).task("encoding", n) as task:
            return unit_vectors(self.reader_, texts, self.at_once, device, task.advance)

    @contextmanager
    def _reading(self) -> Iterator[torch.device]:
        """Let the encoder be where it should be, to read and not to learn."""
        device = device_of(self.device)
        self.reader_.to(device).eval()
        self.linear_.threads = self.threads
        with limited_threads(self.threads):
            yield device

    def _rank(self, X: Features, k: int) -> Ranking:
        return self.linear_.rank(self._sides(X), k).pad(k)

    def _explain(self, X: Features, i: int, label: int) -> Explanation:
        """Return the words that spoke for a label, and the share of the encoder's vector."""
        told = self.linear_.explain(self._sides(X[i : i + 1]), 0, label)
        return replace(told, view=LINEAR)

    def _explain_label(self, label: int) -> Explanation:
        """Return the weights of words in the linear half."""
        return replace(self.linear_.explain_label(label), view=LINEAR)

    def estimate(self, X: Features, Y: csr_array, context: FitContext) -> Estimate:
        """Tell what `fit` would take; beside fine-tuning all texts are read once more."""
        told = super().estimate(X, Y, context)
        return told._replace(seconds=told.seconds * (1 + PASS / self.epochs))

    # --- saving -----------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Return the encoder's weights as arrays beside the other state."""
        state = super().state()
        if "reader_" not in state:
            return state
        for name in ("candidates_", "linear_"):
            state.pop(name, None)
        reader, reads = state.pop("reader_"), state.pop("input_")
        weights = reader.state_dict().items()
        state["input"] = reads.state()
        return state | {READER + name: value.detach().cpu().numpy() for name, value in weights}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Take over what `state` returned."""
        reads = state["input"]  # a KeyError tells of another version
        weights = {name: value for name, value in state.items() if name.startswith(READER)}
        apart = {"input", *weights}
        Classifier.set_state(self, {k: v for k, v in state.items() if k not in apart})
        self.input_ = self._input()
        self.input_.set_state(reads)
        own = {name.removeprefix(READER): value for name, value in weights.items()}
        self.reader_ = with_saved_weights(
            partial(self.input_.reader, self.n_labels_), own, self.name
        )

    def write(self, folder: Path) -> None:
        """Write the linear half into a folder of its own."""
        Classifier.write(self, folder)
        self.linear_.write(folder / LINEAR)

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read what `write` wrote."""
        model = super(NeuralClassifier, cls).read(folder)
        model.linear_ = MODELS.read(folder / LINEAR)
        with checks.reading(folder):
            if model.linear_.n_labels_ != model.n_labels_:
                raise ValueError(f"the linear half does not have {model.n_labels_:,} labels")
        return model

    def check_state(self) -> None:
        """Refuse an encoder of other tokens."""
        Classifier.check_state(self)
        if checks.whole("n_terms_", self.n_terms_) != self.input_.n_terms:
            raise ValueError(f"n_terms_ is {self.n_terms_:,} instead of {self.input_.n_terms:,}")

    @classmethod
    def example_settings(cls, folder: Path) -> dict[str, Any]:
        """Return settings small enough to learn in seconds, with an encoder made on the spot."""
        from labelgrove.models.neural.examples import small_bert

        return {"encoder": small_bert(folder), "pooling": "mean", "length": 48, "batch": 16,
                "epochs": 4, "max_leaf": 3, "branching": 2, "parents": 2, "encoder_rate": 0.005,
                "learning_rate": 0.02, "threads": 1}  # fmt: skip


def _both_views(X: Features) -> Views:
    """Return X, if it has what both halves read."""
    if isinstance(X, Views) and {"text", LINEAR} <= {*X}:
        return X
    given = f"the views {', '.join(X)}" if isinstance(X, Views) else type(X).__name__
    raise InputError(
        f"X must be Views of 'text' (subwords for the encoder) and {LINEAR!r} (tf-idf), not "
        f"{given}: give both, or use Tagger"
    )
