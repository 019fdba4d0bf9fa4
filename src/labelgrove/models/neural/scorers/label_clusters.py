"""Adaptive probabilistic label clusters: frequent labels at once, rare ones behind a gate.

Ye, Chen, Wang and Davison, "Pretrained generalized autoregressive model with adaptive
probabilistic label clusters for extreme multi-label text classification", ICML 2020, section 3.3.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.autograd import Function
from torch.autograd.function import once_differentiable
from torch.nn.functional import linear, logsigmoid, softplus

from labelgrove.core.errors import InputError
from labelgrove.models.neural.priors.start import shares_of
from labelgrove.models.neural.scorers.base import Positives
from labelgrove.models.neural.scorers.cluster_sizes import check_decay, check_sizes, tail_width
from labelgrove.models.neural.scorers.outputs import (
    Best,
    Output,
    plain_loss,
    precise,
    show,
)

CERTAIN = 85.0  # a gate's logit beyond which 1 - p would be 0 in float32


class Tail(nn.Module):
    """The labels of one tail cluster, judged from a smaller vector.

    Parameters
    ----------
    n_inputs
        Size d of a text's vector.
    width
        Size of the smaller one.
    n_labels
        Labels of the cluster.
    bias
        Give each label a bias.
    """

    def __init__(self, n_inputs: int, width: int, n_labels: int, bias: bool = False) -> None:
        super().__init__()
        self.narrow = nn.Linear(n_inputs, width, bias=False)
        self.norm = nn.LayerNorm(width)
        self.labels = nn.Linear(width, n_labels, bias=bias)

    def reading(self, hidden: Tensor) -> Tensor:
        """Return the smaller vectors (m, width) of texts (m, d)."""
        return torch.relu(self.norm(self.narrow(hidden)))

    def forward(self, hidden: Tensor) -> Tensor:
        """Return logits (m, l), given that the cluster has a label of the text."""
        logits: Tensor = self.labels(self.reading(hidden))
        return logits


class LabelClusters(Output):
    """The most frequent labels in a head, the others in tail clusters, each behind a gate.

    A tail label's probability is its gate's times its own (equation 2). A text teaches the head,
    the tail clusters that hold one of its labels, and the gates of those that hold none: what it
    does not visit costs nothing. `cluster_sizes` helps to choose the sizes.

    Parameters
    ----------
    n_inputs
        Size d of a text's vector.
    order
        All labels by falling frequency, int64 of shape (L,); `rank` puts equal probabilities in
        this order.
    sizes
        Labels in the head and in each tail cluster.
    decay
        The factor q by which vectors get smaller from cluster to cluster: tail i has d / q**i,
        rounded down. Keep this above some numbers: the normalisation leaves nothing of one alone.
    gate_loss
        Also teach a gate when it should be shut. Without, the loss is equation 5 as it is printed,
        by which gates only ever learn to open.
    bias
        Give labels and gates a bias, which the paper does not; see `begin`.

    Examples
    --------
    >>> output = LabelClusters(4, torch.tensor([2, 0, 1, 3]), [1, 3])
    >>> texts = torch.zeros(2, 4)
    >>> output.probabilities(texts)[0]
    tensor([0.2500, 0.2500, 0.5000, 0.2500], grad_fn=<SelectBackward0>)
    >>> output.rank(texts, 2)[0]
    tensor([[2, 0],
            [2, 0]])
    """

    leaves_parts_out: ClassVar[bool] = True

    order: Tensor
    places: Tensor
    ends: Tensor

    def __init__(
        self,
        n_inputs: int,
        order: Tensor | NDArray[np.int64],
        sizes: Sequence[int],
        decay: float = 2.0,
        gate_loss: bool = True,
        bias: bool = False,
    ) -> None:
        super().__init__(len(order))
        check_sizes(sizes, len(order))
        check_decay(decay)
        if not np.array_equal(np.sort(np.asarray(order)), np.arange(len(order))):
            raise InputError(
                f"order must hold each of the {len(order):,} labels once: give the label numbers "
                "by falling frequency"
            )
        order = torch.as_tensor(order).long()
        self.sizes, self.gate_loss = tuple(map(int, sizes)), gate_loss
        self._starts = list(accumulate(self.sizes[:-1], initial=0))
        self.head = nn.Linear(n_inputs, self.sizes[0] + len(self.sizes) - 1, bias=bias)
        self.tails = nn.ModuleList(
            Tail(n_inputs, tail_width(n_inputs, decay, i), size, bias)
            for i, size in enumerate(self.sizes[1:], 1)
        )
        self.register_buffer("order", order.clone())
        self.register_buffer("places", _inverse(order), persistent=False)
        ends = torch.tensor(list(accumulate(self.sizes)), device=order.device)
        self.register_buffer("ends", ends, persistent=False)
        self.register_load_state_dict_post_hook(_find_places)  # type: ignore[no-untyped-call]

    def begin(self, counts: Tensor, n_documents: int) -> None:
        """Let labels and gates be as probable at first as they are frequent.

        Else a network spends its first steps on learning that most labels are rare.

        Parameters
        ----------
        counts
            Documents of each label, shape (L,).
        n_documents
            Number of documents. How many of them have a label of a cluster is not asked: as if
            labels were independent.
        """
        if self.head.weight.device.type == "meta":
            return
        by_place = counts[self.order].double()
        parts = torch.split(by_place, list(self.sizes))
        visitors = [-n_documents * torch.expm1(-part.sum() / n_documents) for part in parts[1:]]
        with torch.no_grad():
            first = torch.cat([parts[0], torch.stack(visitors)]) if visitors else parts[0]
            self.head.bias.copy_(shares_of(first, n_documents).logit())
            for tail, part, n in zip(self.tails, parts[1:], visitors, strict=True):
                assert isinstance(tail, Tail)
                # a cluster has at least as many visitors as any of its labels has documents
                n = torch.maximum(n, part.max())
                tail.labels.bias.copy_(shares_of(part, n).logit())

    # --- learning -----------------------------------------------------------------------------

    def loss(self, hidden: Tensor, truth: Positives, prior: Tensor | None = None) -> Tensor:
        """Return the mean over all that texts (b, d) are judged by, shape ().

        These are the labels of the head and of the clusters that a text visits, and the gates of
        the others. Each cluster is computed once, for its visitors only; one without a visitor
        gets no gradient. There is no prior but that which `begin` puts into the bias.
        """
        labels, gates = self._head(hidden)
        places = self.places[truth.labels]
        clusters = torch.bucketize(places, self.ends, right=True)
        own = clusters == 0
        total = plain_loss(labels, truth.rows[own], places[own])
        visits = torch.zeros_like(gates, dtype=torch.bool)
        visits[truth.rows[~own], clusters[~own] - 1] = True
        n_visits: list[int] = visits.sum(0).tolist()
        for i, tail in enumerate(self.tails):
            if not n_visits[i]:
                continue
            own = clusters == i + 1
            texts = visits[:, i].nonzero()[:, 0]
            rows = (visits[:, i].cumsum(0) - 1)[truth.rows[own]]  # among the visitors
            logits = precise(tail(hidden.index_select(0, texts)))
            columns = places[own] - self._starts[i + 1]
            total = total + gated_loss(logits, gates[texts, i], rows, columns)
        n_terms = labels.numel() + sum(
            n * size for n, size in zip(n_visits, self.sizes[1:], strict=True)
        )
        if self.gate_loss:
            total = total + softplus(gates[~visits]).sum()
            n_terms += gates.numel() - sum(n_visits)
        return total / n_terms

    def _head(self, hidden: Tensor) -> tuple[Tensor, Tensor]:
        """Return logits of the head's labels (b, l_h) and of the gates (b, K)."""
        logits, n = precise(self.head(hidden)), [self.sizes[0], len(self.tails)]
        labels, gates = torch.split(logits, n, dim=1)
        return labels, gates

    # --- ranking ------------------------------------------------------------------------------

    def _search(self, hidden: Tensor, best: Best, prior: Tensor | None) -> None:
        n = self.sizes[0]
        weight, bias = self.head.weight, self.head.bias
        own, shut = (None, None) if bias is None else (bias[:n], bias[n:])
        gates = linear(hidden, weight[n:], shut).float().sigmoid_()
        show(best, hidden, weight[:n], bias=own)
        # the likeliest clusters first: what they hold shuts out the others
        for i in gates.mean(0).argsort(descending=True, stable=True).tolist():
            tail, gate = self.tails[i], gates[:, i]
            assert isinstance(tail, Tail)
            # no label is likelier than its gate
            rows = (gate >= best.least()).nonzero()[:, 0]
            if len(rows):
                reading = tail.reading(hidden[rows])
                start, (weight, bias) = self._starts[i + 1], (tail.labels.weight, tail.labels.bias)
                show(best, reading, weight, start, bias=bias, gate=gate[rows, None], rows=rows)

    def _labels_at(self, places: Tensor) -> Tensor:
        return self.order[places]

    def probabilities(self, hidden: Tensor) -> Tensor:
        """Return the probabilities of all labels (b, L), for texts (b, d): dense, for few labels.

        It has a gradient.
        """
        labels, gates = self._head(hidden)
        found = [labels.sigmoid()]
        for i, tail in enumerate(self.tails):
            found.append(gates[:, i : i + 1].sigmoid() * precise(tail(hidden)).sigmoid())
        return torch.cat(found, 1)[:, self.places]

    def logits(self, hidden: Tensor, labels: Tensor | None) -> Tensor:
        """Return the log odds of labels (b, C) of texts (b, d): dense, for few labels."""
        chances = self.probabilities(hidden)
        if labels is not None:
            chances = chances.gather(1, labels.clamp(min=0))
        return chances.clamp(1e-7, 1 - 1e-7).logit()

    def log_probability(self, hidden: Tensor, label: int) -> Tensor:
        """Return the logarithm of one label's probability for texts (b, d), shape (b,)."""
        place = int(self.places[label])
        i = bisect_right(self._starts, place) - 1
        if not i:
            return _log_chance(hidden, self.head, place)
        tail = self.tails[i - 1]
        assert isinstance(tail, Tail)
        within = _log_chance(tail.reading(hidden), tail.labels, place - self._starts[i])
        return _log_chance(hidden, self.head, self.sizes[0] + i - 1) + within


def _log_chance(x: Tensor, layer: nn.Linear, row: int) -> Tensor:
    """Return the log probability that vectors (b, w) have by one row of a layer, shape (b,)."""
    own = slice(row, row + 1)
    bias = None if layer.bias is None else layer.bias[own]
    return logsigmoid(precise(linear(x, layer.weight[own], bias)))[:, 0]


def _inverse(order: Tensor) -> Tensor:
    """Return the place of each label, shape (L,)."""
    places = torch.empty_like(order)
    places[order] = torch.arange(len(order), device=order.device)
    return places


def _find_places(module: nn.Module, _: object) -> None:
    """Follow the order that came with saved weights."""
    assert isinstance(module, LabelClusters)
    module.places = _inverse(module.order)


# --- the loss behind a gate ---------------------------------------------------------------------


def gated_loss(logits: Tensor, gates: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """Return the sum of the binary cross entropy of gate times label (equation 5), shape ().

    Parameters
    ----------
    logits
        Of labels, given their cluster, shape (m, l).
    gates
        Logits of the cluster, shape (m,).
    rows, columns
        Which labels are true, each pair once, shape (n,); all others are not.
    """
    found: Tensor = _GatedLoss.apply(logits, gates, rows, columns)  # type: ignore[no-untyped-call]
    return found


class _GatedLoss(Function):
    """Sum of -log p where true, of -log(1 - p) elsewhere, p = sigmoid(g) sigmoid(s).

    With u = sigmoid(s) and v = sigmoid(g), and w and z for sigmoid(-s) and sigmoid(-g):
    1 - p = w + u z, in which nothing is subtracted; the gradient of -log(1 - p) is u w v / (1 - p)
    for s and u z v / (1 - p) for g; that of -log p is -w and -z. Takes about half the time of
    plain autograd, and keeps one array of (m, l) for the backward pass instead of several.
    """

    @staticmethod
    def forward(ctx: Any, logits: Tensor, gates: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
        gates = gates.clamp(max=CERTAIN)
        v, z = gates.sigmoid()[:, None], torch.sigmoid(-gates)[:, None]
        u, w = logits.sigmoid(), logits.neg().sigmoid_()
        rest = torch.addcmul(w, u, z)  # 1 - p
        u /= rest
        logs = rest.log_()
        true = logits[rows, columns]
        logs[rows, columns] = logsigmoid(true) + logsigmoid(gates[rows])
        loss = -logs.sum()
        # multiplied before they are summed: u / (1 - p) alone may be near the largest number
        parts = torch.mul(u, z, out=logs)
        parts[rows, columns] = 0.0
        to_gates = (v * parts.sum(1, keepdim=True))[:, 0].index_add_(0, rows, -z[rows, 0])
        to_logits = u.mul_(w).mul_(v)
        to_logits[rows, columns] = -w[rows, columns]
        ctx.save_for_backward(to_logits, to_gates)
        return loss

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, outer: Tensor) -> tuple[Tensor, Tensor, None, None]:
        to_logits, to_gates = ctx.saved_tensors
        return to_logits * outer, to_gates * outer, None, None
