"""The way of texts down a label tree, whose levels are judged by networks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from labelgrove.labels import LabelTree
from labelgrove.models.neural.parts.attention_network import Judge, TextNetwork
from labelgrove.models.neural.parts.candidates import Children


class Reached(NamedTuple):
    """Nodes that texts have reached, best first, with their probabilities; shapes (b, p)."""

    nodes: NDArray[np.integer[Any]]
    scores: Tensor


def judges_of(networks: Sequence[TextNetwork]) -> list[list[Judge]]:
    """Return what judges each level of a tree that networks were trained for, from the first down.

    A network that knows two levels shares the upper of them with the network above it.
    """
    levels: list[list[Judge]] = []
    for network in networks:
        own = network.judges()
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
        tokens: Tensor,
        lengths: Tensor,
        k: int | None = None,
        start: Reached | None = None,
        level: int = 0,
    ) -> Reached:
        """Return the best nodes; a node's score is its probability times that of its parent.

        Parameters
        ----------
        judges
            Of each of the levels that are gone down; several count as their geometric mean.
        tokens, lengths
            Texts, shapes (b, T) and (b,).
        k
            Nodes of the last level; None for as many as are kept of it.
        start, level
            The nodes that the texts have reached already, and the level of these; None for the
            root.
        """
        found, read = start, dict[TextNetwork, Tensor]()
        for number, own in enumerate(judges, 1):
            for network, _ in own:
                if network not in read:
                    read[network] = network.encode(tokens, lengths)
            last = number == len(judges)
            most = k if last and k is not None else self.kept[level]
            found = self._down(found, level, own, read, lengths, most)
            level += 1
        assert found is not None
        return found

    def _down(
        self,
        above: Reached | None,
        level: int,
        judges: Sequence[Judge],
        read: dict[TextNetwork, Tensor],
        lengths: Tensor,
        k: int,
    ) -> Reached:
        """Go down one level, from nodes of ``level``, or from the root to all nodes below it."""

        def score(asked: Tensor | None) -> Tensor:
            each = [
                judge.score(read[judge.network], lengths, asked).float().sigmoid()
                for judge in judges
            ]
            return each[0] if len(each) == 1 else torch.stack(each).log().mean(0).exp()

        if above is None:
            best, places = score(None).cpu().topk(min(k, self.tree.n_nodes(1)), dim=1)
            return Reached(places.numpy(), best)
        candidates = self.children[level].of(above.nodes)
        nodes = torch.from_numpy(candidates.nodes)
        scores = score(nodes.to(lengths.device)).cpu()
        scores = scores * above.scores.gather(1, torch.from_numpy(candidates.owners))
        scores = scores.masked_fill(~torch.from_numpy(candidates.real), -1.0)
        best, places = scores.topk(min(k, scores.shape[1]), dim=1)
        chosen = nodes.gather(1, places).masked_fill(best < 0, -1)
        return Reached(chosen.numpy(), best.clamp(min=0))
