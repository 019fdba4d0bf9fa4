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
- *Many labels*: adaptive clusters as of APLC are the output layer.
- *After training* the memory goes on learning: documents can be added, also of labels that the
  network does not know, which are then found by the calibrated votes of the neighbours alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor, nn

from labelgrove.core.errors import InputError
from labelgrove.core.features import Features, TokenSequences, Views
from labelgrove.core.ranges import Range, Real, Whole
from labelgrove.core.ranking import Ranking
from labelgrove.core.types import Explanation, FitContext, ViewSpec
from labelgrove.evaluation import Calibration, fit_calibration
from labelgrove.models.neighbours.memory import Nearest
from labelgrove.models.neighbours.neighbourhood import Neighbourhood
from labelgrove.models.neural.classifier import checksum, fit_network
from labelgrove.models.neural.explaining import path_gradients
from labelgrove.models.neural.parts.cluster_sizes import sizes_for, weights_of
from labelgrove.models.neural.parts.embedding import WordEmbedding
from labelgrove.models.neural.parts.label_clusters import new_output
from labelgrove.models.neural.parts.pooled import PooledNetwork, bottleneck
from labelgrove.models.neural.parts.reading import DualReader, Step
from labelgrove.models.neural.taught_labels import Lessons, TaughtLabels, ranked
from labelgrove.models.neural.teacher import Teacher, new_teacher
from labelgrove.models.neural.training.batches import padded
from labelgrove.models.neural.training.estimate import Size
from labelgrove.models.neural.training.loop import device_of
from labelgrove.models.neural.training.settings import PooledTraining, Training
from labelgrove.models.neural.training.threads import limited_threads
from labelgrove.models.neural.words import WordClassifier

NEAR = "near"  # the view in which neighbours are looked for, unless that is the words
MEMORY, TEACHER = "memory", "teacher"  # folders
MANY = 20_000  # labels from which on they stand in clusters
POWER = 1.0  # of the cosine, by which a neighbour's vote counts
PLACES = 100  # labels of a held-out text by which the network's own scores are judged
VOTED = 30  # labels of a text by which the votes are calibrated


@dataclass(frozen=True)
class TReaderTraining(PooledTraining):
    """The settings of TReaderXML.

    Parameters
    ----------
    teacher
        Read texts with teacher knowledge.
    reading
        What both are put through, in this order: ``"masked"`` and ``"plain"`` attention, and
        ``"residual"``, which adds what went in.
    neighbours
        Documents that a text's teacher knowledge comes from.
    by
        How documents are compared: mean ``"words"``, ``"tf-idf"``, or by a sentence ``"encoder"``.
    encoder
        Of ``by="encoder"``: a folder, or a name on the Hugging Face hub.
    copies
        The cosine above which a training document is a copy and no neighbour.
    hierarchy
        Tell parents of labels too.
    described
        Words that tell a label.
    weighted
        Tell labels in the measure of the neighbours that have them, and not all alike.
    max_leaf
        Labels of a cluster that is a parent where no hierarchy is given.
    heads
        Of each attention.
    bottleneck
        Size of the layer between text and labels.
    dropout
        In front of the labels.
    output
        ``"linear"``, ``"clusters"``, or ``"auto"``: clusters from 20,000 labels on.
    """

    teacher: bool = True
    reading: Sequence[Step] = ("masked", "residual", "plain")
    neighbours: int = 10
    by: Literal["words", "tf-idf", "encoder"] = "words"
    encoder: str = ""
    copies: float = 0.95
    hierarchy: bool = True
    described: int = 4
    weighted: bool = False
    max_leaf: int = 16
    heads: int = 4
    bottleneck: int = 512
    dropout: float = 0.5
    output: Literal["auto", "linear", "clusters"] = "auto"  # type: ignore[assignment]
    learning_rate: float = 5e-3

    @classmethod
    def ranges(cls) -> dict[str, Range]:
        """Return also those of the teacher and of the layer between text and labels."""
        return {
            **super().ranges(),
            "neighbours": Whole(3, 30, log=True),
            "described": Whole(2, 8),
            "bottleneck": Whole(128, 1024, log=True),
            "dropout": Real(0.1, 0.7),
        }


class TReaderXml(WordClassifier):
    """Self-attention reads a text and what its neighbours' labels are about.

    Parameters
    ----------
    **training
        Fields of `TReaderTraining`.

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
    clusters_
        Labels in each cluster of the output layer; none if it is linear.
    """

    name: ClassVar[str] = "treaderxml"
    shared: ClassVar[type[Training]] = TReaderTraining
    saves_memory: ClassVar[str] = (
        "lower batch, length or the number of words (features text.max_words), or use "
        "output='clusters'"
    )
    remembers: bool = True

    teacher: bool
    reading: Sequence[Step]
    neighbours: int
    by: Literal["words", "tf-idf", "encoder"]
    encoder: str
    copies: float
    hierarchy: bool
    described: int
    weighted: bool
    max_leaf: int
    heads: int
    bottleneck: int
    dropout: float
    output: Literal["auto", "linear", "clusters"]
    clusters: Literal["auto"] | Sequence[float]
    decay: float

    memory_: Neighbourhood
    teacher_: Teacher
    votes_: Calibration
    taught_: NDArray[np.bool_]
    clusters_: list[int]
    _table: NDArray[np.float32] | None = None  # vectors of words, while they are learned
    _lessons: Lessons | None = None  # of the documents that are learned from
    _held: Lessons | None = None  # of those held out

    # --- views --------------------------------------------------------------------------------

    def views(self) -> dict[str, ViewSpec]:
        """Return words, and what neighbours are found by, if that is something else."""
        found = super().views()
        return found if self.by == "words" else {**found, NEAR: self._new_memory().spec()}

    def _new_memory(self) -> Neighbourhood:
        return Neighbourhood(
            self.by,
            view="text" if self.by == "words" else NEAR,
            encoder=self.encoder,
            length=self.length,
            copies=self.copies,
            device=self.device,
            seed=self.seed,
            threads=self.threads,
        )

    def _tokens(self, X: Features, known: int | None = None) -> TokenSequences:
        return super()._tokens(X["text"] if isinstance(X, Views) and "text" in X else X, known)

    def check_settings(self) -> None:
        """Refuse also steps of reading that there are none of."""
        super().check_settings()
        steps = ("masked", "plain", "residual")
        if isinstance(self.reading, str) or any(each not in steps for each in self.reading):
            raise InputError(
                f"reading must be a list of 'masked', 'plain' and 'residual', got {self.reading!r}"
            )

    def check_needs(self) -> None:
        """Refuse vectors or an encoder that cannot be had."""
        super().check_needs()
        self._new_memory().check_needs()

    # --- learning -----------------------------------------------------------------------------

    def _fit(self, X: Features, Y: csr_array, context: FitContext) -> None:
        try:
            super()._fit(X, Y, context)
        finally:
            self._table, self._lessons, self._held = None, None, None

    def _prepare(
        self, X: Features, Y: csr_array, held: NDArray[np.int64] | None, context: FitContext
    ) -> None:
        """Find the neighbours of all documents, and what they teach."""
        tokens, say = self._tokens(X), context.run.progress.say
        self._table = self._vectors(tokens, context).numpy()
        self.memory_ = self._new_memory()
        say(f"looking for the neighbours of {len(tokens):,} documents")
        self.memory_.fit(self._read(X), Y, context, self._table if self.by == "words" else None)
        votes = self._voted(self.memory_.of_training(self.neighbours))
        found = votes.astype(bool).multiply(Y.astype(bool)).nnz / max(Y.nnz, 1)
        say(f"{found:.1%} of the documents' labels are also those of a neighbour")
        self.votes_ = fit_calibration(Y, Ranking.from_csr(votes, min(VOTED, Y.shape[1])))
        reader = context.featurizers.get("text")
        self.teacher_ = new_teacher(
            tokens, Y, context.labels, reader, length=self.described, hierarchy=self.hierarchy,
            max_leaf=self.max_leaf, seed=self.seed, threads=self.threads,
        )  # fmt: skip
        self._lessons = self._taught(votes)
        if held is not None and context.validation is not None:
            near = self._nearest(context.validation[0][held])
            self._held = self._taught(self._voted(near))
        shares = self._lessons.shares
        self._data["checksum of the teacher"] = checksum(
            shares.data, shares.indices, shares.indptr, self._lessons.words
        )

    def _read(self, X: Features) -> Features:
        """Return X with words cut where reading ends."""
        if isinstance(X, Views):
            return Views({**X, "text": self._tokens(X)})
        return self._tokens(X)

    def _nearest(self, X: Features) -> Nearest:
        """Return the neighbours of new texts, found with the threads of now."""
        self.memory_.threads, self.memory_.device = self.threads, self.device
        return self.memory_.nearest(self._read(X), self.neighbours)

    def _voted(self, near: Nearest) -> csr_array:
        """Return the share of the neighbours that have each label, shape (n, L)."""
        return self.memory_.votes(near, POWER)

    def _taught(self, votes: csr_array) -> Lessons:
        if not self.teacher:
            votes = csr_array(votes.shape, dtype=np.float32)
        return Lessons(self.teacher_.lessons(votes, self.weighted), self.teacher_.words)

    def _learn(
        self,
        X: TokenSequences,
        Y: csr_array,
        validation: tuple[TokenSequences, csr_array] | None,
        context: FitContext,
    ) -> None:
        assert self._table is not None
        assert self._lessons is not None
        vectors = torch.from_numpy(self._table)
        self.vector_size_ = int(vectors.shape[1])
        counts = np.bincount(Y.indices, minlength=Y.shape[1])
        self.taught_ = counts > 0
        self.clusters_ = self._clusters(counts, len(X))
        if self.clusters_:
            told = ", ".join(map(str, self.clusters_))
            context.run.progress.say(f"labels in each cluster: {told}")
        network = self._built(vectors, counts, len(X))
        objective = TaughtLabels(X, Y, validation, self.training, self._lessons, self._held)
        self.history_ = fit_network(network, objective, self, context)
        self.networks_ = [network.cpu()]
        if validation is not None and self._held is not None:
            with self._ready():
                k = min(PLACES, self.n_labels_)
                found = ranked(self._trained, validation[0], self._held, k, self.batch)
            self.votes_ = on_scale_of(fit_calibration(validation[1], found), self.votes_)

    def _clusters(self, counts: NDArray[np.int64], n_documents: int) -> list[int]:
        if self.output == "linear" or (self.output == "auto" and len(counts) < MANY):
            return []
        return sizes_for(
            self.clusters, counts, self.bottleneck, self.decay, self.batch, n_documents
        )

    def _built(
        self, vectors: Tensor, counts: NDArray[np.int64], n_documents: int = 0
    ) -> PooledNetwork:
        words = WordEmbedding(vectors, self.train_vectors, self.vector_dropout)
        reader = DualReader(words, self.heads, self.reading, self.teacher)
        between = bottleneck(reader.n_outputs, self.bottleneck, nn.Identity(), self.dropout)
        output = new_output(
            self.bottleneck, counts, self.clusters_, self.decay, bias=True, n_documents=n_documents
        )
        return PooledNetwork(reader, between, output)

    def _network(self, number: int) -> nn.Module:
        counts = np.zeros(len(self.taught_), np.int64)
        return self._built(torch.zeros(self.n_terms_, self.vector_size_), counts)

    def _sizes(self, X: TokenSequences, counts: NDArray[np.int64]) -> list[Size]:
        inputs, longest = self.vector_size or 300, int(X.lengths.max(initial=1)) + self.described
        layers = 4 * inputs * inputs * (2 * len(self.reading) + 1) + 2 * inputs * self.bottleneck
        clusters = self._clusters(counts, len(X))
        layers += weights_of(self.bottleneck, len(counts), clusters, self.decay)
        # an attention keeps five vectors of a word, and what each word sees of the others
        seen = (len(self.reading) + 1) * longest * (5 * inputs + self.heads * longest)
        step = 2 * longest * inputs + seen + 3 * len(counts)
        return [Size(X.n_terms * inputs + layers, self.batch * step)]

    # --- ranking ------------------------------------------------------------------------------

    def _rank(self, X: Features, k: int) -> Ranking:
        tokens = self._tokens(X, self.n_terms_)
        votes = self._voted(self._nearest(X))
        with self._ready():
            lessons = self._taught(votes)
            found = ranked(self._trained, tokens, lessons, min(k, len(self.taught_)), self.batch)
        return self._with_unread(self._with_untaught(found, votes, k), tokens, k)

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

    def _rank_tokens(self, X: TokenSequences, k: int) -> Ranking:
        raise NotImplementedError  # `_rank` needs more than words

    @property
    def _trained(self) -> PooledNetwork:
        network = self.networks_[0]
        assert isinstance(network, PooledNetwork)
        return network

    # --- remembering --------------------------------------------------------------------------

    def _remember(self, X: Features, Y: csr_array, context: FitContext) -> Self:
        tokens, found = self._tokens(X, self.n_terms_), copy(self)
        found.memory_ = self.memory_.remember(self._read(X), Y, context)
        reader = context.featurizers.get("text")
        found.teacher_ = self.teacher_.with_more(tokens, Y, context.labels, reader)
        found.shares_ = np.asarray(found.memory_.Y.mean(axis=0), np.float32)
        return found

    # --- explaining ---------------------------------------------------------------------------

    def explain(self, X: Features, i: int, label: int) -> Explanation:
        """Return how much each word adds to the label's log odds, and the neighbours that taught.

        A label that the network does not know is explained by its neighbours' words.
        """
        self.check_fitted()
        tokens = self._tokens(X, self.n_terms_)
        if not 0 <= i < len(tokens):
            raise InputError(f"row {i} of X, which has {len(tokens):,} rows")
        if not 0 <= label < self.n_labels_:
            raise InputError(f"label {label} of a model that knows {self.n_labels_:,} labels")
        own = self._read(X)[i : i + 1]
        near = self._nearest(own)
        neighbours = self.memory_.neighbours(near, 0)
        if not self._readable(tokens[i : i + 1])[0]:
            return Explanation(np.empty(0, np.int64), np.empty(0, np.float32))
        if label >= len(self.taught_) or not self.taught_[label]:
            have = [each for each in neighbours if label in each.labels]
            documents = np.array([each.document for each in have], np.int64)
            ids, told = self.memory_.spoke(own, 0, documents, np.ones(len(have), np.float32))
            return Explanation(ids, told, self.memory_.view, neighbours)
        lessons = self._taught(self._voted(near)).of(np.array([0]))
        weights = self._told(tokens[i : i + 1], lessons, label)
        return Explanation(np.arange(len(weights)), weights, neighbours=neighbours)

    def _told(
        self, tokens: TokenSequences, lessons: tuple[Tensor, Tensor], label: int
    ) -> NDArray[np.float32]:
        """Return what each word of one text adds to a label's log odds, shape (T,)."""
        device = device_of(self.device)
        network = self._trained.to(device).eval().requires_grad_(requires_grad=False)
        given = (each.to(device) for each in (*padded(tokens, np.array([0])), *lessons))
        ids, lengths, shares, words = given
        reader = network.reader
        assert isinstance(reader, DualReader)

        def log_odds(vectors: Tensor) -> Tensor:
            n = len(vectors)
            read = reader.read(vectors, lengths.expand(n), shares.expand(n, -1), words)
            chance = network.output.log_probability(network.between(read), label)
            return chance - torch.log1p(-chance.exp().clamp(max=1 - 1e-6))

        with limited_threads(self.threads):
            end = reader.words(ids).detach()
            weights, _ = path_gradients(torch.zeros_like(end), end, log_odds)
        return weights.cpu().numpy().astype(np.float32)

    # --- saving -------------------------------------------------------------------------------

    def write(self, folder: Path) -> None:
        """Write memory and teacher into folders of their own."""
        super().write(folder)
        self.memory_.write(folder / MEMORY)
        self.teacher_.write(folder / TEACHER)

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read what `write` wrote."""
        found = super().read(folder)
        found.memory_ = Neighbourhood.read(folder / MEMORY)
        found.teacher_ = Teacher.read(folder / TEACHER)
        return found

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
        self.taught_, self.clusters_ = own["taught_"], own["clusters_"]
        self.vector_size_ = own["vector_size_"]
        super().set_state(own)

    @classmethod
    def example_settings(cls, folder: Path) -> dict[str, Any]:
        """Return settings small enough to learn in seconds."""
        return {"vector_size": 24, "bottleneck": 24, "heads": 2, "epochs": 15, "batch": 16,
                "learning_rate": 0.01, "dropout": 0.1, "neighbours": 5, "threads": 1}  # fmt: skip


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
