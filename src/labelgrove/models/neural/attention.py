"""What AttentionXML and LightAttention share: ensembles of networks, flat or down label trees."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor, nn

from labelgrove.core.errors import InputError
from labelgrove.core.features import Features, TokenSequences
from labelgrove.core.progress import Progress
from labelgrove.core.ranges import Range, Real, Whole
from labelgrove.core.ranking import Ranking
from labelgrove.core.types import Explanation, FitContext
from labelgrove.labels import LabelTree, label_vectors
from labelgrove.models.neural.classifier import fit_network
from labelgrove.models.neural.objectives import in_batches, top
from labelgrove.models.neural.parts.attention_network import LabelNetwork, TextNetwork
from labelgrove.models.neural.parts.descent import Descent, Reached, judges_of
from labelgrove.models.neural.parts.embedding import WordEmbedding
from labelgrove.models.neural.parts.encoders import BiLSTM
from labelgrove.models.neural.parts.samplers import Everything, Generated, Sampler, Static
from labelgrove.models.neural.sampled import SampledLabels, Way
from labelgrove.models.neural.training.batches import by_length, padded
from labelgrove.models.neural.training.estimate import Size
from labelgrove.models.neural.training.loop import device_of
from labelgrove.models.neural.training.settings import Training
from labelgrove.models.neural.words import WordClassifier

Data = tuple[TokenSequences, csr_array]
Guessed = Callable[[], Reached]


class AttentionClassifier(WordClassifier):
    """Networks in which every label has its own attention to the words.

    Few labels are judged by one network. Many hang on a tree, and a network is trained for each of
    its levels, from the first down, or for two levels at once.

    Attributes
    ----------
    trees_
        The label trees, one a member of the ensemble; none if labels are judged by one network.
    """

    units: int
    layers: Sequence[int]
    dropout: float
    max_leaf: int
    branching: int
    ensemble: int
    level_epochs: int | None

    trees_: list[LabelTree]

    @classmethod
    def ranges(cls) -> dict[str, Range]:
        """Return also those of the recurrent layer."""
        return {
            **super().ranges(),
            "units": Whole(64, 512, log=True),
            "dropout": Real(0.1, 0.7),
        }

    # --- what a model decides -----------------------------------------------------------------

    @abstractmethod
    def _wants_tree(self, n_labels: int) -> bool:
        """Tell whether so many labels are judged down a tree; they fill more than one leaf."""

    @abstractmethod
    def _n_levels(self, clusters: int) -> int:
        """Return the levels of clusters when the lowest has so many."""

    @abstractmethod
    def _kept(self, tree: LabelTree) -> list[int]:
        """Return how many nodes are kept of each level of clusters."""

    @abstractmethod
    def _built(self, vectors: Tensor, tree: LabelTree | None, number: int) -> TextNetwork:
        """Return the network of that number of a tree, or the one for all labels, untrained."""

    def _n_networks(self, tree: LabelTree) -> int:
        """Return how many networks a tree has; the last of them judges labels."""
        return tree.depth

    def _flat_sampler(self, Y: csr_array) -> Sampler:
        """Return what chooses labels where there is no tree."""
        return Everything()

    def _level_sampler(
        self, descent: Descent, level: int, Y: csr_array, parents: csr_array, guessed: Guessed
    ) -> Sampler:
        """Return what chooses among the nodes below a level.

        Parameters
        ----------
        descent
            Down the tree.
        level
            Of the parents; 0 for the root.
        Y, parents
            Nodes below the level, and in it, that documents have.
        guessed
            Lets the networks above find the likeliest parents of all documents.
        """
        if level == 0:
            return Everything()
        most = descent.kept[level - 1]
        return Static(descent.children[level], Y, parents, guessed().nodes, most)

    # --- learning -----------------------------------------------------------------------------

    def _learn(
        self, X: TokenSequences, Y: csr_array, validation: Data | None, context: FitContext
    ) -> None:
        vectors = self._vectors(X, context)
        self.vector_size_ = int(vectors.shape[1])
        self.networks_, self.trees_, self.history_ = [], [], []
        if not self._grows(self.n_labels_):
            if self._wants_tree(self.n_labels_):
                context.run.progress.say(
                    f"{self.n_labels_:,} labels are no more than a cluster holds "
                    f"(max_leaf={self.max_leaf:,}): all are judged"
                )
            for number in range(self.ensemble):
                step = f"network {number + 1}"
                self._begin(step)
                network = self._built(vectors, None, 0)
                training = replace(self.training, seed=self.seed + number)
                objective = SampledLabels(X, Y, validation, training, self._flat_sampler(Y))
                self.history_ += fit_network(network, objective, self, context, step, training)
                self.networks_.append(network.cpu())
            return
        context.run.progress.say("growing label trees")
        bags = X.bag()
        bags.data = np.log1p(bags.data)
        label_rows = label_vectors(bags, Y)
        for number in range(self.ensemble):
            tree = self._grow(label_rows, self.seed + number)
            context.run.progress.say(f"tree {number + 1} of {self.ensemble}: {tree!r}")
            self.trees_.append(tree)
            self._learn_tree(number, tree, vectors, (X, Y), validation, context)

    def _learn_tree(
        self,
        number: int,
        tree: LabelTree,
        vectors: Tensor,
        train: Data,
        validation: Data | None,
        context: FitContext,
    ) -> None:
        """Train the networks of a tree, from the first down."""
        descent = Descent(tree, self._kept(tree))
        networks: list[TextNetwork] = []
        for place in range(self._n_networks(tree)):
            step = f"tree {number + 1} level {place + 1}"
            self._begin(step)
            network = self._built(vectors, tree, place)
            training = replace(self.training, seed=self.seed + number)
            if networks:
                network.begin_as(networks[-1])
                if self.level_epochs is not None:
                    training = replace(training, epochs=self.level_epochs)
            objective = self._objective(descent, networks, train, validation, training, context)
            self.history_ += fit_network(network, objective, self, context, step, training)
            networks.append(network.eval())
        self.networks_ += [network.cpu() for network in networks]

    def _objective(
        self,
        descent: Descent,
        above: Sequence[TextNetwork],
        train: Data,
        validation: Data | None,
        training: Training,
        context: FitContext,
    ) -> SampledLabels:
        """Return what the network below others learns."""
        tree, (X, Y) = descent.tree, train
        level = tree.depth - self._n_networks(tree) + len(above)  # over the nodes it judges
        nodes, parents = tree.indicators(Y, level + 1), tree.indicators(Y, level)
        held = validation and (validation[0], _at(tree, validation[1], level + 1))
        look = partial(guess, descent, above, batch=self.batch, progress=context.run.progress)
        sampler = self._level_sampler(descent, level, nodes, parents, lambda: look(X))
        if isinstance(sampler, Generated):
            way = Way(descent, tuple(above))
            return SampledLabels(X, nodes, held, training, sampler, parents, way)
        if level == 0:
            return SampledLabels(X, nodes, held, training, sampler)
        way = Way(descent, (), level, held and look(held[0]))
        return SampledLabels(X, nodes, held, training, sampler, way=way)

    def _readers(self, vectors: Tensor) -> tuple[WordEmbedding, BiLSTM]:
        """Return what every network begins with, untrained."""
        words = WordEmbedding(vectors, self.train_vectors, self.vector_dropout)
        return words, BiLSTM(self.vector_size_, self.units, self.dropout)

    def _network(self, number: int) -> nn.Module:
        vectors = torch.zeros(self.n_terms_, self.vector_size_)
        if not self.trees_:
            return self._built(vectors, None, 0)
        each = self._n_networks(self.trees_[0])
        return self._built(vectors, self.trees_[number // each], number % each)

    def _grows(self, n_labels: int) -> bool:
        return n_labels > self.max_leaf and self._wants_tree(n_labels)

    def _grow(self, label_rows: csr_array, seed: int) -> LabelTree:
        deep = LabelTree.balanced(label_rows, self.max_leaf, seed=seed, threads=self.threads)
        return deep.compress(self.branching, self._n_levels(deep.n_nodes(deep.depth - 1)))

    # --- what it takes ------------------------------------------------------------------------

    def _level_sizes(self, n_labels: int) -> list[int]:
        """Return about how many nodes each level of a tree will have, labels last."""
        clusters = 2 ** math.ceil(math.log2(max(n_labels / self.max_leaf, 1)))
        above = [max(clusters // self.branching**up, 1) for up in range(self._n_levels(clusters))]
        return [*above[::-1], n_labels]

    def _size(
        self, X: TokenSequences, n_labels: int, chosen: int | None, n_clusters: int = 0
    ) -> Size:
        """Return the size of one network.

        Parameters
        ----------
        X
            Words to learn from.
        n_labels
            Labels, or nodes of a level, that it knows.
        chosen
            How many of them it judges for a text; None for all.
        n_clusters
            Clusters that its generator knows.
        """
        inputs, units = self.vector_size or 300, self.units
        wide = [2 * units, *self.layers, 1]
        shared = 8 * units * (inputs + units) + sum(a * b for a, b in pairwise(wide))
        words, longest = X.n_terms * inputs, int(X.lengths.max(initial=1))
        # a word: its vector twice, gates and states of both directions, their sum in four steps
        step = longest * (2 * inputs + 24 * units)
        # a label: its attention in three steps, its reading, and what layers make of it
        label = 3 * longest + 2 * units + 2 * sum(self.layers)
        step += n_labels * label if chosen is None else chosen * (label + 2 * units)
        step += 3 * n_clusters
        return Size(shared + words + (n_labels + n_clusters) * 2 * units, self.batch * step)

    def _trial(self) -> Self:
        return super()._trial().set_params(level_epochs=None)

    def _epochs(self, trial: Self) -> list[int]:
        each = self._n_networks(trial.trees_[0]) if trial.trees_ else 1
        below = self.training.epochs if self.level_epochs is None else self.level_epochs
        return [
            below if number % each else self.training.epochs
            for number in range(len(trial.networks_))
        ]

    # --- ranking ------------------------------------------------------------------------------

    def _rank_tokens(self, X: TokenSequences, k: int) -> Ranking:
        return in_batches(X, k, self.batch, device_of(self.device), self._rank_batch)

    def _rank_batch(self, tokens: Tensor, lengths: Tensor, k: int) -> Ranking:
        if not self.trees_:
            each = [network(tokens, lengths).sigmoid() for network in self.networks_]
            return top(torch.stack(each).mean(0), k)
        rankings = []
        for number, tree in enumerate(self.trees_):
            descent = Descent(tree, self._kept(tree))
            found = descent.go(judges_of(self._networks_of(number)), tokens, lengths, k)
            rankings.append(Ranking(found.nodes.astype(np.int32), found.scores.numpy()))
        return mean(rankings, k)

    def _networks_of(self, number: int) -> list[TextNetwork]:
        """Return the networks of a member of the ensemble."""
        each = self._n_networks(self.trees_[number]) if self.trees_ else 1
        own = self.networks_[number * each : (number + 1) * each]
        return [network for network in own if isinstance(network, TextNetwork)]

    def explain(self, X: Features, i: int, label: int) -> Explanation:
        """Return the label's attention to each word, averaged over the ensemble."""
        self.check_fitted()
        words = self._tokens(X, self.n_terms_)
        if not 0 <= i < len(words):
            raise InputError(f"row {i} of X, which has {len(words):,} rows")
        if not 0 <= label < self.n_labels_:
            raise InputError(f"label {label} of a model that knows {self.n_labels_:,} labels")
        if not self._readable(words[i : i + 1])[0]:
            return Explanation(np.empty(0, np.int64), np.empty(0, np.float32))
        tokens, lengths = padded(words, np.array([i]))
        wanted = torch.tensor([[label]])
        last = [
            self._networks_of(number)[-1] for number in range(len(self.trees_ or self.networks_))
        ]
        with torch.inference_mode():
            shares = [_shares(each.eval(), tokens, lengths, wanted) for each in last]
        weights = torch.stack(shares).mean(0).numpy()[: int(lengths[0])]
        return Explanation(np.arange(len(weights)), weights)

    # --- saving -------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Return the trees' levels as arrays beside the other state."""
        state = super().state()
        for number, tree in enumerate(state.pop("trees_", [])):
            for level, parents in enumerate(tree.levels):
                state[f"tree{number}.{level}"] = parents
        return state

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Take over what `state` returned."""
        kept = {name: value for name, value in state.items() if name.startswith("tree")}
        self.trees_ = []
        while f"tree{len(self.trees_)}.0" in kept:
            prefix = f"tree{len(self.trees_)}."
            levels: list[NDArray[np.int32]] = []
            while f"{prefix}{len(levels)}" in kept:
                levels.append(kept[f"{prefix}{len(levels)}"])
            self.trees_.append(LabelTree(levels))
        super().set_state({name: value for name, value in state.items() if name not in kept})


def guess(
    descent: Descent,
    networks: Sequence[TextNetwork],
    X: TokenSequences,
    *,
    batch: int,
    progress: Progress,
) -> Reached:
    """Return the likeliest nodes of every text, as far down as there are networks, shape (n, p)."""
    judges = judges_of(networks)
    width = descent.kept[len(judges) - 1]
    found = np.full((len(X), width), -1, np.int32)
    scores = torch.zeros(len(X), width)
    device = next(networks[0].parameters()).device
    with torch.inference_mode(), progress.task("choosing candidates", len(X)) as shown:
        for rows in by_length(X.lengths, batch):
            tokens, lengths = (each.to(device) for each in padded(X, rows))
            nodes, reached = descent.go(judges, tokens, lengths)
            found[rows, : nodes.shape[1]] = nodes
            scores[rows, : nodes.shape[1]] = reached
            shown.advance(len(rows))
    return Reached(found, scores)


def mean(rankings: list[Ranking], k: int) -> Ranking:
    """Average rankings of the same texts; a label that one lacks has 0 there."""
    if len(rankings) == 1:
        return rankings[0]
    width = max(int(ranking.labels.max(initial=0)) for ranking in rankings) + 1
    total = sum(ranking.to_csr(width) for ranking in rankings)
    return Ranking.from_csr(csr_array(total / len(rankings)), k)


def _shares(network: nn.Module, tokens: Tensor, lengths: Tensor, label: Tensor) -> Tensor:
    assert isinstance(network, LabelNetwork)
    device = next(network.parameters()).device
    return network.shares(*(each.to(device) for each in (tokens, lengths, label)))[0, 0].cpu()


def _at(tree: LabelTree, Y: csr_array, level: int) -> csr_array:
    """Return which nodes of a level documents have; labels that the tree lacks are left out."""
    return csr_array(tree.indicators(csr_array(Y[:, : tree.n_labels]), level))
