"""The best labels of a first stage are judged, with its log odds as prior."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelgrove.core import checks
from labelgrove.core.errors import InputError
from labelgrove.core.features import Features, Views
from labelgrove.core.ranking import Ranking
from labelgrove.core.types import Explanation, FitContext
from labelgrove.models.first_stage import FirstStage, Shortlist, behind, shortlist_of
from labelgrove.models.neural.candidates.base import Blueprint, Candidates, Step, TrainingData
from labelgrove.models.neural.candidates.samplers import Sampled, Sampler
from labelgrove.models.neural.network import Network
from labelgrove.models.neural.readers.base import Batch
from labelgrove.models.neural.texts import Texts, as_ranking, device_of_network, rank_in_batches
from labelgrove.models.neural.training.checkpoint import checksum


class ShortlistSampler(Sampler):
    """The labels that a first stage named for each document, in a new order at every step.

    Parameters
    ----------
    shortlist
        Of all training documents.
    """

    def __init__(self, shortlist: Shortlist) -> None:
        self._shortlist = shortlist

    def choose(self, rows: NDArray[np.int64], clusters: torch.Tensor | None = None) -> Sampled:
        """Return the labels of documents, in random order, with their log odds."""
        own = self._shortlist[rows]
        none = own.labels < 0
        keys = torch.rand(none.shape).masked_fill(torch.from_numpy(none), 2.0)  # none stays behind
        order = keys.argsort(1).numpy()
        labels = np.take_along_axis(own.labels.astype(np.int64), order, axis=1)
        return Sampled(labels, labels >= 0, np.take_along_axis(own.odds, order, axis=1))


@dataclass(frozen=True, eq=False)
class ShortlistRanking:
    """Ranks the labels of a shortlist.

    Parameters
    ----------
    shortlist
        Of the texts that are ranked.
    batch
        Texts at once.
    """

    shortlist: Shortlist | None
    batch: int

    def rank(self, network: Network, texts: Texts, k: int) -> Ranking:
        """Rank by one network."""
        return self.rank_by([network], texts, k)

    def rank_by(self, networks: Sequence[Network], texts: Texts, k: int) -> Ranking:
        """Rank by the mean of the networks' probabilities."""
        assert self.shortlist is not None
        shortlist, width = self.shortlist, min(k, self.shortlist.labels.shape[1])

        def rank(batch: Batch, rows: NDArray[np.int64]) -> Ranking:
            own = shortlist[rows]
            labels = torch.from_numpy(own.labels.astype(np.int64)).to(batch.tokens.device)
            odds = torch.from_numpy(own.odds).to(batch.tokens.device)
            asked = batch._replace(labels=labels, prior=odds)
            each = [network.logits(asked).float().sigmoid() for network in networks]
            chances = each[0] if len(each) == 1 else torch.stack(each).mean(0)
            chances = chances.masked_fill(labels < 0, 0.0)
            best, places = chances.sort(dim=1, descending=True, stable=True)
            return as_ranking(labels.gather(1, places), best).top(width)

        return rank_in_batches(texts, width, self.batch, device_of_network(networks[0]), rank)


@dataclass
class FirstStageLabels(Candidates):
    """Networks judge the best labels of another model; its other labels stay behind them.

    While learning, each document is ranked by a model that did not learn from it: a model ranks
    its own training documents too well to be corrected by.

    Parameters
    ----------
    first
        The other model.
    candidates
        Labels of each text that are judged.
    folds
        Models by which training documents are ranked.
    batch
        Texts that are ranked at once.
    ensemble
        Networks whose probabilities are averaged.
    seed
        Of the folds.
    """

    why_no_onnx: ClassVar[str] = (
        "its network judges the labels that its first stage, another model, chooses; train it "
        "with first=none"
    )

    first: FirstStage
    candidates: int
    folds: int
    batch: int
    ensemble: int = 1
    seed: int = 0
    n_labels: int = 0
    found: Shortlist | None = None
    held: Shortlist | None = None

    def use(self, batch: int, threads: int | None) -> None:
        """Rank so many texts at once from now on, the first stage with so many threads."""
        super().use(batch, threads)
        self.first.model.threads = threads

    def expected(self, counts: NDArray[np.int64], n_documents: int) -> list[Blueprint]:
        """Return the same for each network."""
        judged = min(self.candidates, len(counts))
        return [Blueprint(counts, n_documents, True, judged=judged, begins="zero")] * self.ensemble

    def prepare(self, data: TrainingData, context: FitContext) -> dict[str, Any]:
        """Fit the first stage, and let it name the candidates of all documents."""
        self.n_labels = int(data.Y.shape[1])
        if not isinstance(data.X, Views):
            raise InputError(
                f"the first stage {self.first.model.name} needs features of its own: give Views "
                "with all that views() of the model names, or use Tagger"
            )
        k = min(self.candidates, self.n_labels)
        context.run.progress.say(
            f"the first stage, {self.first.model.name} with its default settings, is trained "
            f"{1 + self.folds} times"
        )
        self.first.fit(data.X, data.Y, context)
        ranking = self.first.out_of_fold(data.X, data.Y, k, self.folds, self.seed, context)
        inside = ranking.hits(data.Y).sum() / max(data.Y.nnz, 1)
        context.run.progress.say(
            f"{inside:.1%} of the documents' labels are among the {k} candidates of the first stage"
        )
        self.found = shortlist_of(ranking, data.Y)
        self.held = None
        if data.held is not None:
            self.held = shortlist_of(self.first.rank(data.held[0], k))
        # a checkpoint belongs to these candidates, whatever another first stage would name
        return {"checksum of the candidates": checksum(self.found.labels, self.found.odds)}

    def steps(
        self, networks: Sequence[Network], data: TrainingData, context: FitContext
    ) -> Iterator[Step]:
        """Return one step a member of the ensemble."""
        assert self.found is not None
        for number, blueprint in enumerate(self.expected(data.counts, len(data.texts))):
            yield Step(
                f"network {number + 1}",
                blueprint,
                data.Y,
                data.held and data.held[2],
                ShortlistRanking(self.held, self.batch).rank,
                ShortlistSampler(self.found),
                member=number,
            )
        self.found, self.held = None, None

    def rank(self, networks: Sequence[Network], X: Features, texts: Texts, k: int) -> Ranking:
        """Rank the candidates by networks, and put all others behind them."""
        self._check(X)
        named = self.first.rank(X, max(k, self.candidates))
        own = shortlist_of(named.top(self.candidates))
        judged = ShortlistRanking(own, self.batch).rank_by(networks, texts, self.candidates)
        return behind(judged, named, k)

    def rank_unread(self, X: Features, k: int) -> Ranking:
        """Rank texts that a network cannot read: the first stage may know what to say of them."""
        self._check(X)
        return self.first.rank(X, k).pad(k)

    def _check(self, X: Features) -> None:
        if not isinstance(X, Views):
            raise InputError(
                "this model ranks in two stages and needs the features of both: give Views with "
                f"text, {', '.join(self.first.specs())}"
            )

    def shortlist(self, X: Features, i: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return the candidates of row i and their log odds, shapes (C,)."""
        self._check(X)
        named = shortlist_of(self.first.rank(X[i : i + 1], self.candidates))
        real = named.labels[0] >= 0
        return named.labels[0][real].astype(np.int64), named.odds[0][real]

    def explain(self, X: Features, i: int, label: int) -> Explanation:
        """Explain a label as the first stage does."""
        self._check(X)
        return self.first.explain(X, i, label)

    def refitted(self, X: Features, Y: csr_array, context: FitContext) -> Self:
        """Return the same with a first stage that learns from these documents."""
        return replace(self, first=self.first.refitted(X, Y, context))

    def blueprints(self) -> list[Blueprint]:
        """Return what trained networks judge."""
        return self.expected(np.zeros(self.n_labels, np.int64), 0)

    def set_state(self, state: Mapping[str, Any], n_labels: int) -> None:
        """Take over how many labels there are."""
        self.n_labels = n_labels

    def write(self, folder: Path) -> None:
        """Write the first stage into a folder."""
        self.first.write(folder)

    def read(self, folder: Path) -> None:
        """Read what `write` wrote."""
        self.first = FirstStage.read(folder)
        with checks.reading(folder):
            if self.first.model.n_labels_ > self.n_labels:
                raise ValueError(f"the first stage has more than {self.n_labels:,} labels")
