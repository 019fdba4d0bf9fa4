"""AttentionXML: a recurrent network that reads the text anew for every label.

You, Dai, Zhang, Mamitsuka and Zhu, "AttentionXML: extreme multi-label text classification with
multi-label attention based recurrent neural networks", 2018; its label tree is of the version of
2019, "AttentionXML: label tree-based attention-aware deep model for high-performance extreme
multi-label text classification", NeurIPS 2019.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from labelgrove.core.errors import InputError
from labelgrove.core.features import Features, TokenSequences
from labelgrove.core.progress import Progress
from labelgrove.core.random import generator
from labelgrove.core.ranking import Ranking
from labelgrove.core.types import Explanation, FitContext
from labelgrove.labels import LabelTree, label_vectors
from labelgrove.models.neural.classifier import (
    AllLabels,
    NeuralClassifier,
    fit_network,
    judged,
    top,
)
from labelgrove.models.neural.parts.attention_network import AttentionNetwork
from labelgrove.models.neural.parts.candidates import Children, topped_up
from labelgrove.models.neural.parts.embedding import WordEmbedding
from labelgrove.models.neural.parts.encoders import BiLSTM
from labelgrove.models.neural.training.batches import bucketed, by_length, knows_words, padded
from labelgrove.models.neural.training.estimate import Size
from labelgrove.models.neural.training.loop import Objective
from labelgrove.models.neural.training.settings import Training

WIDEST = 2048  # nodes of the first level at most: all of them are judged for every text
Data = tuple[TokenSequences, csr_array]


class AttentionXml(NeuralClassifier):
    """A recurrent network over the words, and for every label its own attention to them.

    Few labels are all judged at once. Many are reached down a shallow, wide tree, each level with
    a network of its own that begins with the weights of the level above and judges the children of
    the likeliest ``parents``.

    Parameters
    ----------
    units
        Of the recurrent layer, per direction.
    layers
        Sizes of the fully connected layers that all labels share.
    dropout
        On the recurrent layer's output.
    tree
        ``"auto"`` for a tree where it is cheaper than none, ``"always"``, ``"never"``.
    max_leaf
        Labels below a node of the tree's last level at most.
    branching
        Children of the other nodes, a power of two (K of Algorithm 1).
    levels
        Levels of clusters (H of Algorithm 1); None for so many that the first has no more than
        2,048 nodes.
    parents
        Nodes whose children are judged for a text.
    ensemble
        Networks, or trees of networks, whose probabilities are averaged; they differ by their
        seeds. The published scores are of three.
    level_epochs
        Epochs of the levels below the first; None for as many as of the first.
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
    **training
        Fields of `labelgrove.models.neural.training.settings.Training`.

    Attributes
    ----------
    trees_
        The label trees; none if all labels are judged at once.
    """

    name: ClassVar[str] = "attentionxml"

    trees_: list[LabelTree]
    vector_size_: int
    width_: int

    def __init__(
        self,
        units: int = 256,
        layers: Sequence[int] = (256,),
        dropout: float = 0.5,
        tree: Literal["auto", "always", "never"] = "auto",
        max_leaf: int = 64,
        branching: int = 8,
        levels: int | None = None,
        parents: int = 15,
        ensemble: int = 1,
        level_epochs: int | None = None,
        length: int = 500,
        vectors: str = "random",
        vector_size: int = 0,
        train_vectors: bool = True,
        vector_dropout: float = 0.2,
        **training: Any,
    ) -> None:
        super().__init__(**training)
        self.units = units
        self.layers = layers
        self.dropout = dropout
        self.tree = tree
        self.max_leaf = max_leaf
        self.branching = branching
        self.levels = levels
        self.parents = parents
        self.ensemble = ensemble
        self.level_epochs = level_epochs
        self.length = length
        self.vectors = vectors
        self.vector_size = vector_size
        self.train_vectors = train_vectors
        self.vector_dropout = vector_dropout

    # --- learning -----------------------------------------------------------------------------

    def _learn(
        self, X: TokenSequences, Y: csr_array, validation: Data | None, context: FitContext
    ) -> None:
        vectors = self._vectors(X, context)
        self.vector_size_, self.width_ = int(vectors.shape[1]), int(Y.shape[1])
        self.networks_, self.trees_, self.history_ = [], [], []
        if not self._wants_tree(self.width_):
            for number in range(self.ensemble):
                step = f"network {number + 1}"
                self._begin(step)
                network = self._built(vectors, self.width_)
                training = replace(self.training, seed=self.seed + number)
                objective = AllLabels(X, Y, validation, training)
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
        """Train a network for each level of a tree, from the first down."""
        above: list[AttentionNetwork] = []
        for level in range(tree.depth):
            step = f"tree {number + 1} level {level + 1}"
            self._begin(step)
            network = self._built(vectors, tree.n_nodes(level + 1), sparse=level > 0)
            training = replace(self.training, seed=self.seed + number)
            if level and self.level_epochs is not None:
                training = replace(training, epochs=self.level_epochs)
            objective: Objective
            if level == 0:
                Y = tree.indicators(train[1], 1)
                held = validation and (validation[0], _at(tree, validation[1], 1))
                objective = AllLabels(train[0], Y, held, training)
            else:
                network.begin_as(above[-1])
                climb = Descent(tree, above, self.parents)
                objective = OneLevel(
                    climb, level, train, validation, training, context.run.progress
                )
            self.history_ += fit_network(network, objective, self, context, step, training)
            above.append(network)
        self.networks_ += [network.cpu() for network in above]

    def _built(self, vectors: Tensor, n_labels: int, sparse: bool = False) -> AttentionNetwork:
        words = WordEmbedding(vectors, self.train_vectors, self.vector_dropout)
        encoder = BiLSTM(self.vector_size_, self.units, self.dropout)
        return AttentionNetwork(words, encoder, self.layers, n_labels, sparse)

    def _network(self, number: int) -> nn.Module:
        vectors = torch.zeros(self.n_words_, self.vector_size_)
        if not self.trees_:
            return self._built(vectors, self.width_)
        depth = self.trees_[0].depth
        tree, level = self.trees_[number // depth], number % depth
        return self._built(vectors, tree.n_nodes(level + 1), sparse=level > 0)

    def _wants_tree(self, n_labels: int) -> bool:
        """Tell whether going down a tree costs less than judging all labels.

        A word costs the recurrent layer 8 units (inputs + units) products; a label attends with
        4 units products a word, and has its layers once a text. A tree has at least two networks.
        """
        if self.tree != "auto":
            return self.tree == "always" and n_labels > 1
        recurrent = 8 * self.units * ((self.vector_size or 300) + self.units)
        label = 4 * self.units + 2 * self.units * self.layers[0] / min(self.length, 128)
        candidates = self.parents * self.max_leaf + n_labels / self.max_leaf
        return n_labels * label > recurrent + candidates * label

    def _grow(self, label_rows: csr_array, seed: int) -> LabelTree:
        deep = LabelTree.balanced(label_rows, self.max_leaf, seed=seed, threads=self.threads)
        if deep.depth == 1:
            return deep
        return deep.compress(self.branching, self._n_levels(deep.n_nodes(deep.depth - 1)))

    def _n_levels(self, clusters: int) -> int:
        """Return the levels of clusters when the lowest has so many."""
        if self.levels is not None:
            return self.levels
        return 1 + math.ceil(math.log(max(clusters / WIDEST, 1.0), self.branching))

    # --- what it takes ------------------------------------------------------------------------

    def _sizes(self, n_words: int, n_labels: int, longest: int) -> list[Size]:
        flat = not self._wants_tree(n_labels)
        levels = [n_labels] if flat else self._level_sizes(n_labels)
        return [
            self._size(n_words, n, n if number == 0 else None, longest)
            for number, n in enumerate(levels)
        ]

    def _level_sizes(self, n_labels: int) -> list[int]:
        """Return about how many nodes each level of a tree will have, labels last."""
        clusters = 2 ** math.ceil(math.log2(max(n_labels / self.max_leaf, 1)))
        above = [max(clusters // self.branching**up, 1) for up in range(self._n_levels(clusters))]
        return [*above[::-1], n_labels]

    def _size(self, n_words: int, n_labels: int, judged: int | None, longest: int) -> Size:
        """Return the size of one network that judges so many labels, or candidates for None."""
        inputs, units = self.vector_size or 300, self.units
        wide = [2 * units, *self.layers, 1]
        shared = 8 * units * (inputs + units) + sum(a * b for a, b in pairwise(wide))
        words = n_words * inputs
        # a word: its vector twice, gates and states of both directions, their sum in four steps
        step = longest * (2 * inputs + 24 * units)
        candidates = judged or self.parents * max(self.max_leaf, self.branching)
        # a label: its attention in three steps, its reading, and what layers make of it
        step += candidates * (3 * longest + 2 * units + 2 * sum(self.layers))
        if judged is None:
            step += candidates * 2 * units
        return Size(shared + words + n_labels * 2 * units, self.batch * step)

    def _trial(self) -> Self:
        return super()._trial().set_params(level_epochs=None)

    def _epochs(self, trial: Self) -> list[int]:
        depth = trial.trees_[0].depth if trial.trees_ else 1
        below = self.training.epochs if self.level_epochs is None else self.level_epochs
        return [
            below if number % depth else self.training.epochs
            for number in range(len(trial.networks_))
        ]

    # --- ranking ------------------------------------------------------------------------------

    def _rank_batch(self, tokens: Tensor, lengths: Tensor, k: int) -> Ranking:
        if not self.trees_:
            each = [network(tokens, lengths).sigmoid() for network in self.networks_]
            return top(torch.stack(each).mean(0), k)
        rankings, networks = [], iter(self.networks_)
        for tree in self.trees_:
            own = [next(networks) for _ in range(tree.depth)]
            rankings.append(Descent(tree, own, self.parents).rank(tokens, lengths, k))
        return mean(rankings, k)

    def explain(self, X: Features, i: int, label: int) -> Explanation:
        """Return the label's attention to each word (Figure 2), averaged over the ensemble."""
        self.check_fitted()
        words = self._words(X, self.n_words_)
        if not 0 <= i < len(words):
            raise InputError(f"row {i} of X, which has {len(words):,} rows")
        if not 0 <= label < self.n_labels_:
            raise InputError(f"label {label} of a model that knows {self.n_labels_:,} labels")
        if not knows_words(words[i : i + 1])[0]:
            return Explanation(np.empty(0, np.int64), np.empty(0, np.float32))
        tokens, lengths = padded(words, np.array([i]))
        depth = self.trees_[0].depth if self.trees_ else 1
        last = self.networks_[depth - 1 :: depth]
        wanted = torch.tensor([[label]])
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

    @classmethod
    def example_settings(cls, folder: Path) -> dict[str, Any]:
        """Return settings small enough to learn in seconds."""
        return {"units": 24, "layers": [24], "vector_size": 24, "epochs": 12, "batch": 16,
                "learning_rate": 0.01, "dropout": 0.1, "threads": 1}  # fmt: skip


class Reached(NamedTuple):
    """Nodes that texts have reached, best first, with their probabilities; shapes (b, p)."""

    nodes: NDArray[np.integer[Any]]
    scores: Tensor


class Descent:
    """The way of texts down a tree whose first levels have networks.

    Parameters
    ----------
    tree
        The tree.
    networks
        Of its levels from the first down, possibly not all.
    parents
        Nodes kept at every level.
    """

    def __init__(self, tree: LabelTree, networks: Sequence[nn.Module], parents: int) -> None:
        self.tree, self.networks, self.parents = tree, list(networks), parents
        self.children = [Children(tree, level) for level in range(tree.depth)]

    def reach(self, tokens: Tensor, lengths: Tensor) -> Reached:
        """Return the best nodes of the last level that has a network."""
        found = Reached(np.zeros((len(tokens), 1), np.int64), torch.ones(len(tokens), 1))
        for level, network in enumerate(self.networks):
            found = self.step(found, level, network, tokens, lengths, self.parents)
        return found

    def step(
        self,
        above: Reached,
        level: int,
        network: nn.Module,
        tokens: Tensor,
        lengths: Tensor,
        k: int,
    ) -> Reached:
        """Go down one level; a node's score is its probability times that of its parent."""
        if level == 0:
            best, nodes = network(tokens, lengths).sigmoid().float().cpu().topk(
                min(k, self.tree.n_nodes(1)), dim=1
            )  # fmt: skip
            return Reached(nodes.numpy(), best)
        candidates = self.children[level].of(above.nodes)
        nodes = torch.from_numpy(candidates.nodes)
        logits = network(tokens, lengths, nodes.to(tokens.device)).float().cpu()
        scores = logits.sigmoid() * above.scores.gather(1, torch.from_numpy(candidates.owners))
        scores = scores.masked_fill(~torch.from_numpy(candidates.real), -1.0)
        best, places = scores.topk(min(k, scores.shape[1]), dim=1)
        chosen = nodes.gather(1, places).masked_fill(best < 0, -1)
        return Reached(chosen.numpy(), best.clamp(min=0))

    def rank(self, tokens: Tensor, lengths: Tensor, k: int) -> Ranking:
        """Return the best k labels; every level has a network."""
        *upper, last = self.networks
        above = Descent(self.tree, upper, self.parents).reach(tokens, lengths)
        found = self.step(above, len(upper), last, tokens, lengths, k)
        return Ranking(found.nodes.astype(np.int32), found.scores.numpy())


class OneLevel(Objective):
    """A level below the first: the children of true and of wrongly guessed parents are judged.

    Parameters
    ----------
    above
        The levels above, trained.
    level
        Of the parents.
    train, validation
        Words and labels.
    training
        For the size of batches and their order.
    progress
        Where guessing the parents of all texts is shown.
    """

    def __init__(
        self,
        above: Descent,
        level: int,
        train: Data,
        validation: Data | None,
        training: Training,
        progress: Progress,
    ) -> None:
        self._above, self._level, self._training = above, level, training
        self._X, Y = train
        tree = above.tree
        self._true_parents = csr_array(tree.indicators(Y, level))
        self._true = csr_array(tree.indicators(Y, level + 1))
        self._guessed = self._guess(self._X, progress).nodes
        self._held: tuple[TokenSequences, csr_array, Reached] | None = None
        if validation is not None:
            X, held = validation
            self._held = (X, _at(tree, held, level + 1), self._guess(X, progress))

    def _guess(self, X: TokenSequences, progress: Progress) -> Reached:
        """Return the likeliest parents of every text, by the levels above, shape (n, p)."""
        found = np.full((len(X), self._above.parents), -1, np.int32)
        scores = torch.zeros(len(X), self._above.parents)
        for network in self._above.networks:
            network.eval()
        with torch.inference_mode(), progress.task("choosing candidates", len(X)) as shown:
            for rows in by_length(X.lengths, self._training.batch):
                tokens, lengths = self._to_device(*padded(X, rows))
                nodes, reached = self._above.reach(tokens, lengths)
                found[rows, : nodes.shape[1]] = nodes
                scores[rows, : nodes.shape[1]] = reached
                shown.advance(len(rows))
        return Reached(found, scores)

    def _to_device(self, *tensors: Tensor) -> list[Tensor]:
        device = next(self._above.networks[0].parameters()).device
        return [tensor.to(device) for tensor in tensors]

    @property
    def n_validation(self) -> int:
        """Number of documents behind `score`."""
        return 0 if self._held is None else len(self._held[0])

    def batches(self, epoch: int) -> list[NDArray[np.int64]]:
        """Return batches of documents of like length."""
        random = generator(self._training.seed, "batches", epoch)
        return bucketed(self._X.lengths, self._training.batch, random)

    def loss(self, network: nn.Module, rows: NDArray[np.int64]) -> Tensor:
        """Return the mean binary cross entropy over the candidates."""
        true = [_row(self._true_parents, row) for row in rows]
        parents = topped_up(true, self._guessed[rows], self._above.parents)
        candidates = self._above.children[self._level].of(parents)
        truth = np.zeros(candidates.nodes.shape, np.float32)
        for i, row in enumerate(rows):
            truth[i] = np.isin(candidates.nodes[i], _row(self._true, row))
        tokens, lengths, nodes, wanted, real = self._to_device(
            *padded(self._X, rows),
            *map(torch.from_numpy, (candidates.nodes, truth, candidates.real)),
        )
        logits = network(tokens, lengths, nodes)
        return binary_cross_entropy_with_logits(logits[real], wanted[real])

    def score(self, network: nn.Module) -> float | None:
        """Return the mean nDCG@5 over this level's nodes, of held-out documents."""
        if self._held is None:
            return None
        X, Y, (parents, scores) = self._held
        total = 0.0
        for rows in by_length(X.lengths, self._training.batch):
            tokens, lengths = self._to_device(*padded(X, rows))
            above = Reached(parents[rows], scores[rows])
            found = self._above.step(above, self._level, network, tokens, lengths, 5)
            ranking = Ranking(found.nodes.astype(np.int32), found.scores.numpy())
            total += float(judged(ranking, Y[rows]).sum())
        return total / len(X)


def _shares(network: nn.Module, tokens: Tensor, lengths: Tensor, label: Tensor) -> Tensor:
    assert isinstance(network, AttentionNetwork)
    device = next(network.parameters()).device
    return network.shares(*(each.to(device) for each in (tokens, lengths, label)))[0, 0].cpu()


def _at(tree: LabelTree, Y: csr_array, level: int) -> csr_array:
    """Return which nodes of a level documents have; labels that the tree lacks are left out."""
    return csr_array(tree.indicators(csr_array(Y[:, : tree.n_labels]), level))


def _row(Y: csr_array, row: int) -> NDArray[np.int32]:
    found: NDArray[np.int32] = Y.indices[Y.indptr[row] : Y.indptr[row + 1]]
    return found


def mean(rankings: list[Ranking], k: int) -> Ranking:
    """Average rankings of the same texts; a label that one lacks has 0 there."""
    if len(rankings) == 1:
        return rankings[0]
    width = max(int(ranking.labels.max(initial=0)) for ranking in rankings) + 1
    total = sum(ranking.to_csr(width) for ranking in rankings)
    return Ranking.from_csr(csr_array(total / len(rankings)), k)
