"""What the models share that read a text together with labels: all, or a first stage's best."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor, nn

from labelgrove.core.errors import InputError
from labelgrove.core.features import Features, TokenSequences, Views
from labelgrove.core.ranking import Ranking
from labelgrove.core.types import Explanation, FitContext, ViewSpec
from labelgrove.models.first_stage import Candidates, FirstStage, behind, candidates_of
from labelgrove.models.neural.classifier import checksum
from labelgrove.models.neural.explaining import path_gradients
from labelgrove.models.neural.joint_labels import JointLabels, judged
from labelgrove.models.neural.parts import pretrained
from labelgrove.models.neural.parts.joint import JointNetwork, JointReader
from labelgrove.models.neural.pretrained import PretrainedClassifier
from labelgrove.models.neural.training.estimate import Size
from labelgrove.models.neural.training.loop import Objective
from labelgrove.models.neural.training.settings import JointTraining, Training
from labelgrove.text.pretrained import Pair, Specials, load_tokenizer, pair_of, specials_of

FIRST = "first"  # folder of the first stage


class JointClassifier(PretrainedClassifier):
    """A transformer reads each text together with labels.

    Up to ``together`` labels all are read with every text. Where there are more, a first stage
    names candidates, which are read and judged; its other labels keep their places behind them.

    Attributes
    ----------
    two_stages_
        Whether a first stage names the labels that are read, or all are.
    first_
        The first stage, if there is one.
    pair_
        What the tokenizer puts around a text and labels, as JSON.
    """

    shared: ClassVar[type[Training]] = JointTraining

    together: int
    candidates: int
    first: str
    folds: int
    starts: Literal["names", "descriptions", "random"]
    two_stages_: bool
    first_: FirstStage | None
    pair_: dict[str, Any]
    _words: TokenSequences | None = None  # of the labels, while they are learned
    _found: Candidates | None = None  # of the documents that are learned from
    _held: Candidates | None = None  # of those held out

    @abstractmethod
    def _joined(self, reader: JointReader, counts: NDArray[np.int64], second: bool) -> JointNetwork:
        """Return the network behind a reader.

        Parameters
        ----------
        reader
            Of texts and labels.
        counts
            Documents of each label, shape (L,).
        second
            Whether it is the second of two stages.
        """

    @property
    def _reads_labels(self) -> bool:
        """Whether the transformer reads labels, or the text alone."""
        return True

    # --- views --------------------------------------------------------------------------------

    def views(self) -> dict[str, ViewSpec]:
        """Return subwords, and what the first stage reads; fitted without one, subwords alone."""
        found = super().views()
        if getattr(self, "two_stages_", True):
            found |= (getattr(self, "first_", None) or self._new_first()).specs()
        return found

    def _new_first(self) -> FirstStage:
        return FirstStage.named(self.first, self.seed, self.threads)

    def _tokens(self, X: Features, known: int | None = None) -> TokenSequences:
        return super()._tokens(X["text"] if isinstance(X, Views) and "text" in X else X, known)

    def check_needs(self) -> None:
        """Refuse an encoder or a first stage that cannot be had."""
        super().check_needs()
        if self.first == self.name:
            raise InputError(
                f"first={self.first!r} is this model itself: choose another, such as 'bonsai'"
            )
        try:
            self._new_first().model.check_needs()
        except InputError as error:
            raise InputError(
                f"the first stage, first={self.first!r} with its default settings, cannot be had "
                f"({error}): choose another, such as 'bonsai'"
            ) from error

    def _with_text(self, n_labels: int) -> int:
        """Return how many labels are read with a text."""
        if not self._reads_labels:
            return 0
        return n_labels if n_labels <= self.together else min(self.candidates, n_labels)

    def _check_room(self, n_labels: int, pair: Pair) -> None:
        """Refuse labels for which a transformer has no room behind the text."""
        most = pretrained.longest_input(pretrained.skeleton(self._name))
        specials = specials_of(load_tokenizer(self._name))
        room = self._windows(specials).size
        labels = self._with_text(n_labels)
        needed = room + labels + pair.n_around
        if labels and most is not None and needed > most:
            raise InputError(
                f"length {self.length} and {labels:,} labels are {needed:,} tokens with those "
                f"around them, and {self._name} reads {most:,} at most: lower length, or let a "
                f"first stage choose fewer labels (together={self.together}, "
                f"candidates={self.candidates})"
            )

    # --- learning -----------------------------------------------------------------------------

    def _fit(self, X: Features, Y: csr_array, context: FitContext) -> None:
        pair = pair_of(load_tokenizer(self._name))
        self._check_room(Y.shape[1], pair)
        self.pair_ = pair.as_json()
        self._words = self._label_words(context)
        self.first_, self._found, self._held = None, None, None
        self.two_stages_ = Y.shape[1] > self.together
        if self.two_stages_ and not isinstance(X, Views):
            raise InputError(
                f"{self.name} ranks {Y.shape[1]:,} labels in two stages and needs the features of "
                f"both: give Views with {', '.join(self.views())}, or use Tagger"
            )
        try:
            super()._fit(X, Y, context)
        finally:
            self._words, self._found, self._held = None, None, None

    def _prepare(
        self, X: Features, Y: csr_array, held: NDArray[np.int64] | None, context: FitContext
    ) -> None:
        """Fit the first stage, and let it name the candidates of all documents."""
        if not self.two_stages_:
            return
        self.first_, k = self._new_first(), min(self.candidates, Y.shape[1])
        self.first_.fit(X, Y, context)
        ranking = self.first_.out_of_fold(X, Y, k, self.folds, self.seed, context)
        inside = ranking.hits(Y).sum() / max(Y.nnz, 1)
        context.run.progress.say(
            f"{inside:.1%} of the documents' labels are among the {k} candidates of the first stage"
        )
        self._found = candidates_of(ranking, Y)
        if context.validation is not None and held is not None:
            self._held = candidates_of(self.first_.rank(context.validation[0][held], k))
        # a checkpoint belongs to these candidates, whatever another first stage would name
        self._data["checksum of the candidates"] = checksum(self._found.labels, self._found.odds)

    def _label_words(self, context: FitContext) -> TokenSequences | None:
        """Return the subwords of what labels are called, or None where they begin at random."""
        featurizer, labels = context.featurizers.get("text"), context.labels
        if featurizer is None or labels is None or self.starts == "random":
            return None
        names, n = labels.names[: labels.n_labels], labels.n_labels
        if self.starts == "descriptions":
            told = labels.descriptions[:n]
            names = [text or name for text, name in zip(told, names, strict=True)]
        found = featurizer.transform(names)
        assert isinstance(found, TokenSequences)
        return found

    def _built(self, encoder: nn.Module, counts: NDArray[np.int64]) -> JointNetwork:
        specials, pair = Specials.from_json(self.specials_), Pair.from_json(self.pair_)
        reader = JointReader(
            encoder, specials, pair, self.pooling_, len(counts), self._reads_labels
        )
        if self._words is not None and len(self._words) == len(counts):
            words = [self._words.sequence(i) for i in range(len(counts))]
            reader.begin([torch.from_numpy(each.astype(np.int64)) for each in words])
        return self._joined(reader, counts, self.two_stages_)

    def _objective(
        self, X: TokenSequences, Y: csr_array, validation: tuple[TokenSequences, csr_array] | None
    ) -> Objective:
        windows = self._windows(Specials.from_json(self.specials_))
        return JointLabels(X, Y, validation, self.training, windows, self._found, self._held)

    def _sizes(self, X: TokenSequences, counts: NDArray[np.int64]) -> list[Size]:
        more, width = self._with_text(len(counts)), self._width
        size = self._size(X, 2 * len(counts) * width + 8 * width * width, more)
        # products of words and labels, and their convolutions
        longest = min(int(X.lengths.max(initial=1)), self.length)
        few = len(counts) if len(counts) <= self.together else self.candidates
        crossed = few * (3 * getattr(self, "filters", 1) * longest + width)
        return [size._replace(batch=size.batch + self.batch * crossed)]

    # --- ranking ------------------------------------------------------------------------------

    def _rank(self, X: Features, k: int) -> Ranking:
        if self.first_ is None:
            return super()._rank(X, k)
        if not isinstance(X, Views):
            raise InputError(
                f"{self.name} ranks in two stages and needs the features of both: give Views with "
                f"{', '.join(self.views())}"
            )
        tokens = self._tokens(X, self.n_terms_)
        named = self.first_.rank(X, max(k, self.candidates))
        with self._ready():
            found = self._judge(tokens, candidates_of(named.top(self.candidates)), self.candidates)
        ranking, named = behind(found, named, k), named.top(k).pad(k)
        # the first stage may know what to say of a text that the transformer cannot read
        unread = ~self._readable(tokens)
        ranking.labels[unread], ranking.scores[unread] = named.labels[unread], named.scores[unread]
        return ranking

    def _rank_tokens(self, X: TokenSequences, k: int) -> Ranking:
        return self._judge(X, None, k)

    def _judge(self, X: TokenSequences, found: Candidates | None, k: int) -> Ranking:
        """Rank candidates, or all labels; the network is ready."""
        windows = self._windows(Specials.from_json(self.specials_))
        return judged(self._trained, X, found, self.n_labels_, k, self.batch, windows)

    @property
    def _trained(self) -> JointNetwork:
        network = self.networks_[0]
        assert isinstance(network, JointNetwork)
        return network

    # --- explaining ---------------------------------------------------------------------------

    def explain(self, X: Features, i: int, label: int) -> Explanation:
        """Return how much each subword spoke for a label.

        A label that is not among the candidates of a text is the first stage's to explain. Of a
        text in several windows that in which the label is likeliest is explained.
        """
        tokens = self._asked(X, i, label)
        if not len(tokens.tokens) and self.first_ is not None:
            return self.first_.explain(X, i, label)
        labels = np.arange(self.n_labels_)
        odds = np.zeros(self.n_labels_, np.float32)
        if self.first_ is not None:
            named = candidates_of(self.first_.rank(X[i : i + 1], self.candidates))
            if label not in named.labels[0]:
                return self.first_.explain(X, i, label)
            labels, odds = named.labels[0].astype(np.int64), named.odds[0]
        place = int(np.flatnonzero(labels == label)[0])
        asked, known = torch.from_numpy(labels)[None], torch.from_numpy(odds)[None]
        network = self._trained

        def told(tokens: Tensor, lengths: Tensor) -> tuple[Tensor, float]:
            device = tokens.device
            return self._told(network, place, tokens, lengths, asked.to(device), known.to(device))

        return self._best_window(tokens, told)

    def _told(
        self,
        network: JointNetwork,
        place: int,
        tokens: Tensor,
        lengths: Tensor,
        labels: Tensor,
        odds: Tensor,
    ) -> tuple[Tensor, float]:
        """Return how much each token (1, T) spoke for the label at a place (T,), and its odds."""
        reader = network.reader
        frame = reader.frame(tokens, lengths, labels)
        own = slice(len(reader.near.before), len(reader.near.before) + tokens.shape[1])
        blank = frame.ids.clone()
        blank[:, own] = reader.pad

        def log_odds(vectors: Tensor) -> Tensor:
            n = len(vectors)
            many = type(frame)(*(each.expand(n, *each.shape[1:]) for each in frame))
            asked = labels.expand(n, -1)
            reading = reader.read(many, vectors, lengths.expand(n), asked)
            return network.log_odds(reading, asked, odds.expand(n, -1))[:, place]

        begin = reader.vectors(frame._replace(ids=blank), labels).detach()
        end = reader.vectors(frame, labels).detach()
        with torch.backends.cudnn.flags(enabled=False):  # it goes back through no LSTM at rest
            weights, sure = path_gradients(begin, end, log_odds)
        return weights[own], sure

    # --- saving -------------------------------------------------------------------------------

    def write(self, folder: Path) -> None:
        """Write the first stage into a folder of its own."""
        super().write(folder)
        if self.first_ is not None:
            self.first_.write(folder / FIRST)

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read what `write` wrote."""
        found = super().read(folder)
        if found.two_stages_:
            found.first_ = FirstStage.read(folder / FIRST)
        return found

    def state(self) -> dict[str, Any]:
        """Return the state without the first stage, which is written beside it."""
        return {name: value for name, value in super().state().items() if name != "first_"}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Take over what `state` returned."""
        self.first_ = None
        self.two_stages_, self.specials_ = state["two_stages_"], state["specials_"]
        super().set_state(state)
