"""Labels are reached down a label tree, whose levels are judged by networks of their own."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor

from labelgrove.core.errors import InputError
from labelgrove.core.features import Features, TokenSequences, Views
from labelgrove.core.progress import Progress
from labelgrove.core.ranking import Ranking
from labelgrove.core.types import FitContext
from labelgrove.labels import LabelTree, label_vectors
from labelgrove.models.neural.candidates.all import rank_one
from labelgrove.models.neural.candidates.base import Blueprint, Candidates, Step, TrainingData
from labelgrove.models.neural.candidates.nodes import Children
from labelgrove.models.neural.candidates.samplers import Everything, Generated, Sampler, Static
from labelgrove.models.neural.network import Network
from labelgrove.models.neural.readers.base import Batch, Reading
from labelgrove.models.neural.scorers.base import Scorer
from labelgrove.models.neural.texts import Texts, device_of_network, rank_in_batches
from labelgrove.models.neural.training.checkpoint import checksum
from labelgrove.text.token_weights import rarity_of, tfidf_of

TREE = "tree"  # the view of which label trees are grown


class Judge(NamedTuple):
    """What judges the nodes of one level: a network's reader, and one of its scorers."""

    network: Network
    scorer: Scorer


class Reached(NamedTuple):
    """Nodes that texts have reached, best first, with their probabilities; shapes (b, p)."""

    nodes: NDArray[np.integer[Any]]
    scores: Tensor


def judges_of(networks: Sequence[Network]) -> list[list[Judge]]:
    """Return what judges each level of a tree that networks were trained for, from the first down.

    A network that knows two levels shares the upper of them with the network above it.
    """
    levels: list[list[Judge]] = []
    for network in networks:
        own = [Judge(network, scorer) for scorer in network.scorers()]
        if levels and len(own) > 1:
            levels[-1].append(own.pop(0))
        levels += [[judge] for judge in own]
    return levels


class Descent:
    """Goes down a tree level by level, and keeps the best nodes of each.

    Parameters
    ----------
    tree
        The tree.
    kept
        Nodes that are kept of each level of clusters, from the first down.
    """

    def __init__(self, tree: LabelTree, kept: Sequence[int]) -> None:
        self.tree, self.kept = tree, list(kept)
        self.children = [Children(tree, level) for level in range(tree.depth)]

    def go(
        self,
        judges: Sequence[Sequence[Judge]],
        batch: Batch,
        k: int | None = None,
        start: Reached | None = None,
        level: int = 0,
    ) -> Reached:
        """Return the best nodes; a node's score is its probability times that of its parent.

        Parameters
        ----------
        judges
            Of each of the levels that are gone down; several count as their geometric mean.
        batch
            Texts.
        k
            Nodes of the last level; None for as many as are kept of it.
        start, level
            The nodes that the texts have reached already, and the level of these; None for the
            root.
        """
        reached, read = start, dict[Network, Reading]()
        for number, own in enumerate(judges, 1):
            for network, _ in own:
                if network not in read:
                    read[network] = network.reader(batch)
            last = number == len(judges)
            most = k if last and k is not None else self.kept[level]
            reached = self._down(reached, level, own, read, most)
            level += 1
        assert reached is not None
        return reached

    def _down(
        self,
        above: Reached | None,
        level: int,
        judges: Sequence[Judge],
        read: Mapping[Network, Reading],
        k: int,
    ) -> Reached:
        """Go down one level, from nodes of ``level``, or from the root to all nodes below it."""

        def score(asked: Tensor | None) -> Tensor:
            each = [
                judge.scorer.logits(read[judge.network], asked, None).float().sigmoid()
                for judge in judges
            ]
            return each[0] if len(each) == 1 else torch.stack(each).log().mean(0).exp()

        if above is None:
            best, places = score(None).cpu().topk(min(k, self.tree.n_nodes(1)), dim=1)
            return Reached(places.numpy(), best)
        candidates = self.children[level].of(above.nodes)
        nodes = torch.from_numpy(candidates.nodes)
        device = next(iter(read.values())).mask.device
        scores = score(nodes.to(device)).cpu()
        scores = scores * above.scores.gather(1, torch.from_numpy(candidates.owners))
        scores = scores.masked_fill(~torch.from_numpy(candidates.real), -1.0)
        best, places = scores.topk(min(k, scores.shape[1]), dim=1)
        chosen = nodes.gather(1, places).masked_fill(best < 0, -1)
        return Reached(chosen.numpy(), best.clamp(min=0))


@dataclass(frozen=True, eq=False)
class DescentRanking:
    """How texts come to the nodes that a network judges last.

    Parameters
    ----------
    descent
        Down the tree.
    batch
        Texts at once.
    networks
        Those that are asked before the last, from the first down.
    level, above
        Where the texts are before: a level, and the nodes of it that each has reached; None for
        the root.
    """

    descent: Descent
    batch: int
    networks: tuple[Network, ...] = ()
    level: int = 0
    above: Ranking | None = None

    def rank(self, network: Network, texts: Texts, k: int) -> Ranking:
        """Rank nodes of the level that the last network judges."""
        return self.rank_by([*self.networks, network], texts, k)

    def rank_by(
        self,
        networks: Sequence[Network],
        texts: Texts,
        k: int | None,
        shown: Callable[[int], None] | None = None,
    ) -> Ranking:
        """Rank nodes by networks from the first level down; k None for as many as are kept."""
        judges = judges_of(networks)
        width = self.descent.kept[self.level + len(judges) - 1] if k is None else k

        def rank(batch: Batch, rows: NDArray[np.int64]) -> Ranking:
            start = None
            if self.above is not None:
                own = torch.from_numpy(self.above.scores[rows])
                start = Reached(self.above.labels[rows], own)
            nodes, scores = self.descent.go(judges, batch, k, start, self.level)
            return Ranking(nodes.astype(np.int32), scores.numpy())

        device = device_of_network(networks[-1])
        for network in networks:
            network.to(device)
        return rank_in_batches(texts, width, self.batch, device, rank, shown)


@dataclass
class TreeLabels(Candidates):
    """Networks for the levels of label trees, each judging the children of the likeliest nodes.

    Parameters
    ----------
    batch
        Texts that are ranked at once.
    max_leaf
        Labels below a node of the last level at most.
    branching
        Children of the other nodes, a power of two.
    n_levels
        From the number of clusters in the lowest level to the number of their levels.
    kept
        From a tree to how many nodes are kept of each level of clusters.
    judged
        Nodes that are judged for a text, about.
    choice
        How a training step chooses the nodes that it judges: ``"static"``, below the parents that
        the level above found once, or ``"generated"``, below those that a generator, which learns
        in the same step, finds now. A network then judges two levels.
    budget
        As of `Static` and `Generated`; None for no bound.
    negatives
        With a budget, parents without a true node for each that has one, at least.
    ensemble
        Trees whose probabilities are averaged.
    seed, threads
        Of the trees.
    view
        The tf-idf view that labels are clustered by.
    """

    why_no_onnx: ClassVar[str] = (
        "its networks go down a label tree, and each judges what the one above it has chosen; "
        "train attentionxml with tree=never"
    )

    batch: int
    max_leaf: int
    branching: int
    n_levels: Callable[[int], int]
    kept: Callable[[LabelTree], list[int]]
    judged: int
    choice: Literal["static", "generated"] = "static"
    budget: int | None = None
    negatives: float = 0.0
    ensemble: int = 1
    seed: int = 0
    threads: int | None = None
    view: str = TREE
    trees: list[LabelTree] = field(default_factory=list)

    # --- learning -----------------------------------------------------------------------------

    def expected(self, counts: NDArray[np.int64], n_documents: int) -> list[Blueprint]:
        """Return about what each network will judge."""
        clusters = 2 ** math.ceil(math.log2(max(len(counts) / self.max_leaf, 1)))
        above = [max(clusters // self.branching**up, 1) for up in range(self.n_levels(clusters))]
        return self._blueprints([*above[::-1], len(counts)]) * self.ensemble

    def _blueprints(
        self, sizes: Sequence[int], counts: Sequence[NDArray[np.int64]] = (), n_documents: int = 0
    ) -> list[Blueprint]:
        """Return what each network of a tree judges.

        Parameters
        ----------
        sizes
            Nodes of each level from the first down, labels last.
        counts
            Training documents of these nodes; zeros if they are not given.
        n_documents
            Number of training documents.
        """
        known = list(counts) or [np.zeros(n, np.int64) for n in sizes]
        if self.choice == "generated":
            return [
                Blueprint(below, n_documents, True, above, judged=min(self.judged, len(below)))
                for above, below in pairwise(known)
            ]
        return [
            Blueprint(known[0], n_documents),
            *(
                Blueprint(each, n_documents, True, judged=min(self.judged, len(each)))
                for each in known[1:]
            ),
        ]

    def prepare(self, data: TrainingData, context: FitContext) -> dict[str, Any]:
        """Grow the trees; a checkpoint belongs to them."""
        context.run.progress.say("growing label trees")
        vectors = label_vectors(self._features(data.X), data.Y)
        self.trees = []
        for number in range(self.ensemble):
            deep = LabelTree.balanced(
                vectors, self.max_leaf, seed=self.seed + number, threads=self.threads
            )
            levels = self.n_levels(deep.n_nodes(deep.depth - 1))
            self.trees.append(deep.compress(self.branching, levels))
            context.run.progress.say(f"tree {number + 1} of {self.ensemble}: {self.trees[-1]!r}")
        return {"checksum of the label trees": checksum(*self.state().values())}

    def _features(self, X: Features) -> csr_array:
        """Return tf-idf of the whole texts, shape (n, D).

        Where X has no such view, it is computed from all tokens that X has of each text.
        """
        known = isinstance(X, Views) and self.view in X
        given = X[self.view if known else "text"] if isinstance(X, Views) else X
        if isinstance(given, TokenSequences):
            return tfidf_of(given, rarity_of(given))
        if not isinstance(given, csr_array):
            raise InputError(
                f"the view {self.view!r} must be sparse, such as tf-idf, not "
                f"{type(given).__name__}: label trees are grown from it"
            )
        return given

    def steps(
        self, networks: Sequence[Network], data: TrainingData, context: FitContext
    ) -> Iterator[Step]:
        """Return the levels of each tree from the first down."""
        for number, tree in enumerate(self.trees):
            first = len(networks)
            for place, blueprint in enumerate(self._of_tree(tree, data)):
                above = tuple(networks[first:])
                yield self._step(tree, number, place, blueprint, above, data, context)

    def _of_tree(self, tree: LabelTree, data: TrainingData) -> list[Blueprint]:
        counts = [
            np.bincount(tree.indicators(data.Y, level).indices, minlength=tree.n_nodes(level))
            for level in range(1, tree.depth + 1)
        ]
        return self._blueprints([len(each) for each in counts], counts, len(data.texts))

    def _step(
        self,
        tree: LabelTree,
        number: int,
        place: int,
        blueprint: Blueprint,
        above: tuple[Network, ...],
        data: TrainingData,
        context: FitContext,
    ) -> Step:
        """Return the step of the network at a place of a tree, below those trained for it."""
        descent = Descent(tree, self.kept(tree))
        level = place + (self.choice == "generated")  # over the nodes that it judges
        nodes, parents = tree.indicators(data.Y, level + 1), tree.indicators(data.Y, level)
        held = None if data.held is None else _at(tree, data.held[2], level + 1)
        guess = partial(self._guess, descent, above, progress=context.run.progress)
        clusters: csr_array | None = None
        sampler: Sampler = Everything()
        rank: Callable[[Network, Texts, int], Ranking] = partial(rank_one, batch=self.batch)
        if self.choice == "generated":
            assert self.budget is not None
            most, clusters = descent.kept[level - 1], parents
            sampler = Generated(
                descent.children[level], nodes, parents, most, self.budget, self._most_true(most)
            )
            rank = DescentRanking(descent, self.batch, above).rank
        elif level:
            most, guessed = descent.kept[level - 1], guess(data.texts).labels
            sampler = Static(
                descent.children[level], nodes, parents, guessed, most, self.budget,
                self._most_true(most),
            )  # fmt: skip
            reached = None if data.held is None else guess(data.held[1])
            rank = DescentRanking(descent, self.batch, (), level, reached).rank
        title = f"tree {number + 1} level {place + 1}"
        before = above[-1] if above else None
        return Step(title, blueprint, nodes, held, rank, sampler, clusters, number, before)

    def _most_true(self, most: int) -> int:
        """Return how many of the chosen parents may be true ones; at least one."""
        return max(int(most / (1 + self.negatives)), 1)

    def _guess(
        self, descent: Descent, networks: Sequence[Network], texts: Texts, progress: Progress
    ) -> Ranking:
        """Return the likeliest nodes of every text, as far down as there are networks, (n, p)."""
        windows = texts.windows
        n = len(texts) if windows is None else int(windows.count(texts.tokens).sum())
        with torch.inference_mode(), progress.task("choosing candidates", n) as shown:
            for network in networks:
                network.eval()
            return DescentRanking(descent, self.batch).rank_by(networks, texts, None, shown.advance)

    def below_others(self, n_networks: int) -> list[bool]:
        """Tell which networks were trained below another one of their tree."""
        each = self._n_networks()
        return [number % each > 0 for number in range(n_networks)]

    # --- ranking ------------------------------------------------------------------------------

    def _n_networks(self) -> int:
        """Return how many networks each tree has."""
        return self.trees[0].depth - (self.choice == "generated")

    def _members(self, networks: Sequence[Network]) -> list[Sequence[Network]]:
        each = self._n_networks()
        return [networks[first : first + each] for first in range(0, len(networks), each)]

    def rank(self, networks: Sequence[Network], X: Features, texts: Texts, k: int) -> Ranking:
        """Rank texts by going down every tree."""
        rankings = [
            DescentRanking(Descent(tree, self.kept(tree)), self.batch).rank_by(own, texts, k)
            for tree, own in zip(self.trees, self._members(networks), strict=True)
        ]
        return mean_ranking(rankings, k)

    def judging(self, networks: Sequence[Network]) -> list[Network]:
        """Return the last network of each tree."""
        return [own[-1] for own in self._members(networks)]

    # --- saving -------------------------------------------------------------------------------

    def blueprints(self) -> list[Blueprint]:
        """Return what trained networks judge."""
        return [
            each
            for tree in self.trees
            for each in self._blueprints(
                [tree.n_nodes(level) for level in range(1, tree.depth + 1)]
            )
        ]

    def state(self) -> dict[str, Any]:
        """Return the levels of the trees as arrays."""
        return {
            f"tree{number}.{level}": parents
            for number, tree in enumerate(self.trees)
            for level, parents in enumerate(tree.levels)
        }

    def set_state(self, state: Mapping[str, Any], n_labels: int) -> None:
        """Take over what `state` returned."""
        self.trees = []
        while f"tree{len(self.trees)}.0" in state:
            prefix, levels = f"tree{len(self.trees)}.", list[NDArray[np.int32]]()
            while f"{prefix}{len(levels)}" in state:
                levels.append(state[f"{prefix}{len(levels)}"])
            self.trees.append(LabelTree.checked(levels))
            if self.trees[-1].n_labels != n_labels:
                raise ValueError(f"a tree ends in {self.trees[-1].n_labels:,} labels")


def too_few(n_labels: int, max_leaf: int) -> str:
    """Return what to say where a tree is wanted and there is none."""
    return (
        f"{n_labels:,} labels are no more than a cluster holds (max_leaf={max_leaf:,}): all are "
        "judged"
    )


def mean_ranking(rankings: Sequence[Ranking], k: int) -> Ranking:
    """Average rankings of the same texts; a label that one lacks has 0 there."""
    if len(rankings) == 1:
        return rankings[0]
    width = max(int(ranking.labels.max(initial=0)) for ranking in rankings) + 1
    total = sum(ranking.to_csr(width) for ranking in rankings)
    return Ranking.from_csr(csr_array(total / len(rankings)), k)


def _at(tree: LabelTree, Y: csr_array, level: int) -> csr_array:
    """Return which nodes of a level documents have; labels that the tree lacks are left out."""
    return csr_array(tree.indicators(csr_array(Y[:, : tree.n_labels]), level))
