"""TReaderXML: a text is read together with teacher knowledge, what its neighbours are about.

Wang, Song, Huo, Xu, Yang, Chen and Zhao, "Exploiting dynamic and fine-grained semantic scope for
extreme multi-label text classification", 2022. No code of the authors is public; how the open
points are read here:

- *Neighbours*: ``neighbours`` documents with the largest cosine of mean word vectors (equation 2,
  whose numerator is meant to be the product of both). A training document is never its own
  neighbour, nor is a near copy of it: a teacher that sees the answers teaches to copy them.
- *Teacher knowledge* (Algorithm 1): every label of a neighbour, and its parents if there are any
  (line 3 as printed would drop labels without a parent). Without a given hierarchy, a parent is a
  cluster of a label tree. A label is told by the first words of its name, or, where none of them is
  known, by the heaviest words of its documents; line 8 averages these matrices place by place, so
  that the teacher's sequence is as long as a description.
- *Masks* hide what follows (see `SelfAttention`); "omits (6) and (7)" means equations 8 and 9.
- *Interaction*: both sequences one behind the other, masked attention, mean and maximum of what
  was read, a linear bottleneck (equation 17).
- *Loss* (equation 19): binary cross entropy of logits; the softmax of equation 18 is not used.
  Labels begin as probable as they are frequent.
- *What is ours by default*: the neighbours are found by tf-idf and also vote (``votes``), and the
  learning rate is not the paper's 0.0001, which is for many more steps. ``by="words"`` and
  ``votes=False`` are the paper's form. ``residuals`` and ``positions`` add what it does not have.
- *Many labels*: adaptive clusters as of APLC are the output layer.
- *After training* the memory goes on learning: documents can be added, also of labels that the
  network does not know, which are then found by the calibrated votes of the neighbours alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import nn

from labelgrove.core import checks
from labelgrove.core.features import Features, TokenSequences, Views
from labelgrove.core.ranges import Real, Whole
from labelgrove.core.ranking import Ranking
from labelgrove.core.settings import Rule, setting
from labelgrove.core.types import Explanation, FitContext, ViewSpec
from labelgrove.evaluation import Calibration, fit_calibration
from labelgrove.models.neighbours.memory import Nearest
from labelgrove.models.neighbours.neighbourhood import Neighbourhood
from labelgrove.models.neural.candidates.base import TrainingData
from labelgrove.models.neural.estimator import NeuralClassifier
from labelgrove.models.neural.priors.start import LabelStart, shares_of
from labelgrove.models.neural.priors.votes import VotePrior
from labelgrove.models.neural.readers.base import Reader
from labelgrove.models.neural.readers.dual import DualReader, ReadingStep
from labelgrove.models.neural.readers.positions import PositionKind
from labelgrove.models.neural.readers.words import WordInput
from labelgrove.models.neural.scorers.pooled import (
    CLUSTERS,
    DECAY,
    PooledScorer,
    check_first,
    pooled_scorer,
)
from labelgrove.models.neural.settings import NO_FIRST
from labelgrove.models.neural.teacher import Lessons, Teacher, new_teacher
from labelgrove.models.neural.texts import Texts
from labelgrove.models.neural.training.checkpoint import checksum

NEAR = "near"  # the view in which neighbours are looked for, unless that is the words
MEMORY, TEACHER = "memory", "teacher"  # folders
VOTES = "neighbours"  # the part of a score that is their votes
MANY = 20_000  # labels from which on they stand in clusters
POWER = 1.0  # of the cosine, by which a neighbour's vote counts
DEPTH = 100  # labels of a held-out text by which the network's own scores are judged
VOTED = 30  # labels of a text by which the votes are calibrated
STEPS = ("masked", "plain", "residual")


def _are_steps(value: Any) -> bool:
    return not isinstance(value, str) and all(each in STEPS for each in value)


class TReaderXml(NeuralClassifier):
    """Self-attention reads a text and what its neighbours' labels are about.

    Attributes
    ----------
    memory_
        The documents among which neighbours are found.
    teacher_
        What can be told of labels.
    votes_
        From the votes of neighbours to probabilities.
    taught_
        Which labels the network learned from a document, shape (L,), bool; the others are found by
        votes alone, as are those behind them, which came later.
    """

    name: ClassVar[str] = "treaderxml"
    remembers: bool = True

    # the paper has Adam at 0.0001, falling on a plateau: a few thousand documents are few steps
    learning_rate = 1e-3
    schedule = "linear"
    batch = 32
    epochs = 6
    patience = 3
    prior = "frequency"
    first = "auto"
    votes: bool = setting(
        True,
        "Shift the log odds of labels by the share of a text's neighbours that have them, times a "
        "learned weight. Not with label clusters. false for the paper's form.",
    )
    teacher: bool = setting(True, "Read texts with teacher knowledge.")
    reading: Sequence[ReadingStep] = setting(
        ("masked", "residual", "plain"),
        "What both are put through, in this order: masked and plain attention, and residual, which "
        "adds what went in.",
        rule=Rule(_are_steps, "a list of 'masked', 'plain' and 'residual'"),
    )
    residuals: bool = setting(
        False,
        "Add to what every attention returns what went into it, not only where reading has "
        "residual.",
    )
    positions: PositionKind = setting(
        "none",
        "What tells attention where a word stands: none, sinusoidal or learned vectors that are "
        "added to those of words.",
    )
    neighbours: int = setting(
        10, "Documents that a text's teacher knowledge comes from.", least=1,
        search=Whole(3, 30, log=True),
    )  # fmt: skip
    by: Literal["words", "tf-idf", "encoder"] = setting(
        "tf-idf",
        "How documents are compared: by the mean of their words' vectors (words, as in the paper), "
        "by tf-idf, or by a sentence encoder.",
    )
    neighbour_encoder: str = setting(
        "",
        "The sentence encoder of by=encoder: a folder, or a name on the Hugging Face hub; "
        "static:FOLDER for static vectors of model2vec.",
    )
    copies: float = setting(
        0.95, "The cosine above which a training document is a copy and no neighbour.",
        rule=Rule(lambda value: 0 < value <= 1, "a cosine above 0, up to 1"),
    )  # fmt: skip
    hierarchy: bool = setting(True, "Tell parents of labels too.")
    described: int = setting(4, "Words that describe a label.", least=1, search=Whole(2, 8))
    weighted: bool = setting(
        False, "Tell labels in the measure of the neighbours that have them, and not all alike."
    )
    max_leaf: int = setting(
        16, "Labels of a cluster that is a parent where no hierarchy is given.", least=1
    )
    heads: int = setting(4, "Heads of each attention.", least=1)
    bottleneck: int = setting(
        512, "Size of the layer between text and labels.", least=1,
        search=Whole(128, 1024, log=True),
    )  # fmt: skip
    dropout: float = setting(
        0.5, "Dropout in front of the labels.", least=0, below=1, search=Real(0.1, 0.7)
    )
    output: Literal["auto", "linear", "clusters"] = setting(
        "auto",
        "linear, a number for every label, or clusters: frequent labels in front, rare ones in "
        "clusters behind gates (APLC). auto: clusters from 20,000 labels on, unless a first stage "
        "names the labels that are judged.",
    )
    clusters: Literal["auto"] | Sequence[float] = CLUSTERS
    decay: float = DECAY

    memory_: Neighbourhood
    teacher_: Teacher
    votes_: Calibration
    taught_: NDArray[np.bool_]

    # --- settings -------------------------------------------------------------------------------

    def check_settings(self) -> None:
        """Refuse a first stage in front of label clusters."""
        super().check_settings()
        check_first(self.first, self.output == "clusters")

    @property
    def allows_first(self) -> bool:
        """Whether no other setting says which labels are judged."""
        return self.output != "clusters"

    def _wants_first(self, counts: NDArray[np.int64], n_documents: int) -> bool:
        return len(counts) >= MANY or super()._wants_first(counts, n_documents)

    def check_needs(self) -> None:
        """Refuse vectors or an encoder that cannot be had."""
        super().check_needs()
        self._new_memory().check_needs()

    def views(self) -> dict[str, ViewSpec]:
        """Return what is read, and what neighbours are found by, if that is something else."""
        views = super().views()
        return views if self._near == "text" else {**views, NEAR: self._new_memory().spec()}

    @property
    def _near(self) -> str:
        """The view in which neighbours are looked for."""
        return "text" if self.by == "words" and self.form == "words" else NEAR

    def _new_memory(self) -> Neighbourhood:
        return Neighbourhood(
            self.by,
            view=self._near,
            encoder=self.neighbour_encoder,
            length=self.length,
            copies=self.copies,
            device=self.device,
            seed=self.seed,
            threads=self.threads,
        )

    # --- the network ----------------------------------------------------------------------------

    def _reader(self, reader: Reader, start: LabelStart) -> DualReader:
        return DualReader(
            reader,
            self.heads,
            self.reading,
            self.teacher,
            residuals=self.residuals,
            positions=self.positions,
            longest=max(self.length, self.described),
        )

    def _scorer(self, reader: Reader, start: LabelStart) -> PooledScorer:
        shares = self.clusters if self._clustered(len(start.counts)) else None
        return pooled_scorer(
            reader, start, self.bottleneck, nn.Identity(), self.dropout, shares, self.at_once,
            self.decay,
        )  # fmt: skip

    def _clustered(self, n_labels: int) -> bool:
        """Tell whether so many labels stand in clusters."""
        many = n_labels >= MANY and self.first == NO_FIRST  # auto has a first stage then
        return self.output == "clusters" or (self.output == "auto" and many)

    def _has_votes(self, n_labels: int) -> bool:
        return self.votes and not self._clustered(n_labels)

    # --- learning -------------------------------------------------------------------------------

    def _prepare(
        self, data: TrainingData, context: FitContext
    ) -> tuple[TrainingData, dict[str, Any]]:
        """Find the neighbours of all documents, and what they teach."""
        tokens, Y, say = data.texts.tokens, data.Y, context.run.progress.say
        table = None
        if self._near == "text":
            assert isinstance(self.input_, WordInput)
            assert self.input_.table is not None
            table = self.input_.table.numpy()
        self.memory_ = self._new_memory()
        say(f"looking for the neighbours of {len(tokens):,} documents")
        self.memory_.fit(self._read(data.X), Y, context, table)
        votes = self._voted(self.memory_.of_training(self.neighbours))
        found = votes.astype(bool).multiply(Y.astype(bool)).nnz / max(Y.nnz, 1)
        say(f"{found:.1%} of the documents' labels are also those of a neighbour")
        if self.votes and not self._has_votes(Y.shape[1]):
            say("labels stand in clusters: votes of neighbours are not added to their log odds")
        self.votes_ = fit_calibration(Y, Ranking.from_csr(votes, min(VOTED, Y.shape[1])))
        self.taught_ = data.counts > 0
        reader = context.featurizers.get("text")
        self.teacher_ = new_teacher(
            tokens, Y, context.labels, reader, length=self.described, hierarchy=self.hierarchy,
            max_leaf=self.max_leaf, seed=self.seed, threads=self.threads,
        )  # fmt: skip
        texts, held = self._taught(tokens, votes), data.held
        if held is not None:
            own = self._taught(held[1].tokens, self._voted(self._nearest(held[0])))
            held = (held[0], own, held[2])
        lessons = texts.lessons
        assert isinstance(lessons, Lessons)
        told = lessons.shares
        belongs = {
            "checksum of the teacher": checksum(told.data, told.indices, told.indptr, lessons.words)
        }
        return data._replace(texts=texts, held=held), belongs

    def _read(self, X: Features) -> Features:
        """Return X with texts cut where reading ends."""
        if isinstance(X, Views):
            return Views({**X, "text": self._tokens(X)})
        return self._tokens(X)

    def _nearest(self, X: Features) -> Nearest:
        """Return the neighbours of new texts, found with the threads of now."""
        self.memory_.threads = self.threads
        return self.memory_.nearest(self._read(X), self.neighbours)

    def _voted(self, near: Nearest) -> csr_array:
        """Return the share of the neighbours that have each label, shape (n, L)."""
        return self.memory_.votes(near, POWER)

    def _taught(self, tokens: TokenSequences, votes: csr_array) -> Texts:
        """Return texts with what their neighbours' votes (n, L) teach."""
        told = votes if self.teacher else csr_array(votes.shape, dtype=np.float32)
        lessons = Lessons(self.teacher_.lessons(told, self.weighted), self.teacher_.words)
        prior = None
        if self._has_votes(len(self.taught_)):
            n = self.memory_.n_documents
            counts = torch.from_numpy(self.shares_[: len(self.taught_)].astype(np.float64) * n)
            prior = VotePrior(votes, shares_of(counts, n).numpy(), self.neighbours)
        return Texts(tokens, self.input_.windows, lessons, prior)

    def _learn(self, data: TrainingData, belongs: dict[str, Any], context: FitContext) -> None:
        super()._learn(data, belongs, context)
        if data.held is not None:
            X, texts, Y = data.held
            with self._ready():
                k = min(DEPTH, self.n_labels_)
                ranking = self.candidates_.rank(self.networks_, X, texts, k)
            self.votes_ = on_scale_of(fit_calibration(Y, ranking), self.votes_)

    # --- ranking --------------------------------------------------------------------------------

    def _texts(self, X: Features, tokens: TokenSequences) -> Texts:
        return self._taught(tokens, self._voted(self._nearest(X)))

    def why_no_onnx(self) -> str:
        """Return that the network reads more than the text."""
        return "its network reads the labels of similar documents, which its memory finds"

    def _rank(self, X: Features, k: int) -> Ranking:
        tokens = self._tokens(X, self.n_terms_)
        votes = self._voted(self._nearest(X))
        with self._ready():
            texts, most = self._taught(tokens, votes), min(k, len(self.taught_))
            ranking = self.candidates_.rank(self.networks_, X, texts, most)
        ranking = self._with_untaught(ranking, votes, k).pad(k)
        return self._with_unread(ranking, X, tokens, k)

    def _with_untaught(self, ranking: Ranking, votes: csr_array, k: int) -> Ranking:
        """Put labels that the network has not learned among the others, as votes (n, L) say."""
        untaught = ~np.pad(self.taught_, (0, self.n_labels_ - len(self.taught_)))
        if not untaught.any():
            return ranking
        chances = csr_array(votes, dtype=np.float32, copy=True)
        chances.data = np.where(untaught[chances.indices], self.votes_.apply(chances.data), 0.0)
        chances.eliminate_zeros()
        rows, places = np.nonzero(ranking.labels >= 0)
        given = (ranking.scores[rows, places], (rows, ranking.labels[rows, places]))
        named = csr_array(given, shape=votes.shape)
        named = named - named.multiply(chances > 0)  # what votes say of it counts instead
        both = csr_array(named + chances)
        both.eliminate_zeros()
        return Ranking.from_csr(both, k)

    # --- remembering --------------------------------------------------------------------------

    def remembered(self) -> Sequence[str]:
        """Return how the documents that it remembers begin."""
        return self.memory_.memory.texts

    def _remember(self, X: Features, Y: csr_array, context: FitContext) -> Self:
        tokens, model = self._tokens(X, self.n_terms_), copy(self)
        model.memory_ = self.memory_.remember(self._read(X), Y, context)
        reader = context.featurizers.get("text")
        model.teacher_ = self.teacher_.with_more(tokens, Y, context.labels, reader)
        model.shares_ = np.asarray(model.memory_.Y.mean(axis=0), np.float32)
        return model

    # --- explaining -----------------------------------------------------------------------------

    def _explain(self, X: Features, i: int, label: int) -> Explanation:
        """Return how much each word adds to the label's log odds, and the neighbours that taught.

        What the neighbours' votes add is a part of its own. A label that the network does not know
        is explained by its neighbours' words.
        """
        own = self._read(X)[i : i + 1]
        neighbours = self.memory_.neighbours(self._nearest(own), 0)
        if label < len(self.taught_) and self.taught_[label]:
            told = super()._explain(X, i, label)
            parts = (*told.parts, *self._voted_part(X, i, label))
            return Explanation(told.ids, told.weights, told.view, neighbours, parts)
        if not self.input_.readable(self._tokens(own))[0]:
            return Explanation(np.empty(0, np.int64), np.empty(0, np.float32))
        have = [each for each in neighbours if label in each.labels]
        documents = np.array([each.document for each in have], np.int64)
        ids, weights = self.memory_.spoke(own, 0, documents, np.ones(len(have), np.float32))
        return Explanation(ids, weights, self.memory_.view, neighbours)

    def _voted_part(self, X: Features, i: int, label: int) -> list[tuple[str, float]]:
        """Return what the votes of row i's neighbours add to a label's log odds, if they do."""
        asked = self.candidates_.shortlist(X, i)
        judged = asked is None or label in asked[0]
        if not (judged and self._has_votes(len(self.taught_))):
            return []
        texts = self._texts(X[i : i + 1], self._tokens(X, self.n_terms_)[i : i + 1])
        with self._ready() as device:
            batch = texts.split().batch(np.array([0])).to(device)
            batch = batch._replace(labels=torch.tensor([[label]], device=device))
            networks = self.candidates_.judging(self.networks_)
            added = [voted for each in networks if (voted := each.voted(batch)) is not None]
        return [(VOTES, float(torch.cat(added).mean()))]

    # --- saving ---------------------------------------------------------------------------------

    def write(self, folder: Path) -> None:
        """Write memory and teacher into folders of their own."""
        super().write(folder)
        self.memory_.write(folder / MEMORY)
        self.teacher_.write(folder / TEACHER)

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read what `write` wrote."""
        model = super().read(folder)
        model.memory_ = Neighbourhood.read(folder / MEMORY)
        model.teacher_ = Teacher.read(folder / TEACHER)
        with checks.reading(folder):
            model._check_beside()
        return model

    def _check_beside(self) -> None:
        """Refuse, of a file, memory and teacher of other labels or words."""
        n_labels = self.n_labels_
        if self.memory_.Y.shape[1] != n_labels or self.teacher_.above.shape[0] != n_labels:
            raise ValueError(f"memory and teacher do not have {n_labels:,} labels")
        if len(self.teacher_.rarity) != self.n_terms_:
            raise ValueError(f"the teacher does not know {self.n_terms_:,} words")
        taught = checks.array("taught_", self.taught_, np.bool_, (None,))
        checks.whole("taught_", len(taught), most=n_labels)

    def state(self) -> dict[str, Any]:
        """Return the state without what is written beside it, the calibration as arrays."""
        state = super().state()
        if "votes_" in state:
            state["votes_x"], state["votes_y"] = state["votes_"].x, state["votes_"].y
        return {k: v for k, v in state.items() if k not in ("memory_", "teacher_", "votes_")}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Take over what `state` returned."""
        own = dict(state)
        self.votes_ = Calibration(own.pop("votes_x"), own.pop("votes_y"))
        super().set_state(own)

    @classmethod
    def example_settings(cls, folder: Path) -> dict[str, Any]:
        """Return settings small enough to learn in seconds."""
        return {"first": "none", "vector_size": 24, "bottleneck": 24, "heads": 2, "epochs": 15,
                "batch": 16, "learning_rate": 0.01, "dropout": 0.1, "neighbours": 5,
                "threads": 1}  # fmt: skip


def on_scale_of(network: Calibration, votes: Calibration) -> Calibration:
    """Return the map from votes to those scores of a network that are as probable as they are.

    Both are ranked together, and whoever calibrates the ranking then finds what votes mean.

    Examples
    --------
    >>> network = Calibration(np.array([0.0, 0.5, 1.0]), np.array([0.0, 0.8, 1.0]))  # too modest
    >>> votes = Calibration(np.array([0.0, 1.0]), np.array([0.0, 0.8]))
    >>> float(on_scale_of(network, votes).apply(np.array([1.0]))[0])
    0.5
    """
    return Calibration(votes.x, np.interp(votes.y, network.y, network.x))
