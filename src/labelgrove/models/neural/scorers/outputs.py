"""Output layers: from one vector a text to all labels, with a loss and a ranking."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.autograd import Function
from torch.autograd.function import once_differentiable
from torch.nn.functional import linear, logsigmoid, softplus

from labelgrove.models.neural.priors.start import LabelStart
from labelgrove.models.neural.scorers.base import Positives

SCORES = 1 << 22  # probabilities held at once while labels are ranked; nothing else is much larger
CHUNK = 64  # neighbouring labels of which the largest is looked at first
LOW = (1 << 32) - 1  # the half of a key that holds a place


class Output(nn.Module, ABC):
    """Judges labels from one vector for each text.

    Parameters
    ----------
    n_labels
        Number of labels.

    Attributes
    ----------
    leaves_parts_out
        Whether a step may give some of its weights no gradient.
    """

    leaves_parts_out: ClassVar[bool] = False

    def __init__(self, n_labels: int) -> None:
        super().__init__()
        self.n_labels = n_labels

    @abstractmethod
    def loss(self, hidden: Tensor, truth: Positives, prior: Tensor | None = None) -> Tensor:
        """Return the mean loss of texts (b, d) with these labels, shape ().

        ``prior`` (b, L) is added to the labels' log odds.
        """

    @abstractmethod
    def logits(self, hidden: Tensor, labels: Tensor | None) -> Tensor:
        """Return the log odds of labels (b, C) of texts (b, d), or of all; below 0 is no label."""

    @abstractmethod
    def log_probability(self, hidden: Tensor, label: int) -> Tensor:
        """Return the logarithm of one label's probability for texts (b, d), shape (b,).

        It has a gradient, for explanations, and costs the weights of that label only.
        """

    def rank(self, hidden: Tensor, k: int, prior: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Return the best labels of texts (b, d), best first.

        ``prior`` (b, L) is added to the labels' log odds. Equal probabilities go by the places of
        the labels: their numbers, unless a subclass has an order of its own.

        Returns
        -------
        labels, probabilities
            int64 and float32, both of shape (b, min(k, L)).
        """
        k = min(k, self.n_labels)
        parts = []
        with torch.no_grad():
            size = max(SCORES // (k * CHUNK), 1)
            for start in range(0, len(hidden), size):
                some = slice(start, start + size)
                best = Best(len(hidden[some]), k, hidden.device)
                self._search(hidden[some], best, None if prior is None else prior[some])
                parts.append(best.found())
        places, probabilities = (torch.cat(each) for each in zip(*parts, strict=True))
        return self._labels_at(places), probabilities

    @abstractmethod
    def _search(self, hidden: Tensor, best: Best, prior: Tensor | None) -> None:
        """Show ``best`` all that may be among the best of texts (m, d)."""

    def _labels_at(self, places: Tensor) -> Tensor:
        """Return the labels at these places, of the same shape."""
        return places


class LinearOutput(Output):
    """A linear layer to all labels, and the mean binary cross entropy over texts and labels.

    Parameters
    ----------
    n_inputs
        Size d of a text's vector.
    start
        The labels, and how they begin.

    Examples
    --------
    >>> import numpy as np
    >>> output = LinearOutput(2, LabelStart(np.zeros(3, int), 0))
    >>> _ = torch.nn.init.eye_(output.linear.weight), torch.nn.init.zeros_(output.linear.bias)
    >>> output.rank(torch.tensor([[-1.0, 2.0]]), 2)[0]
    tensor([[1, 2]])
    """

    def __init__(self, n_inputs: int, start: LabelStart) -> None:
        super().__init__(len(start.counts))
        self.linear = nn.Linear(n_inputs, self.n_labels)
        if start.begins == "zero":
            nn.init.zeros_(self.linear.weight)
            nn.init.zeros_(self.linear.bias)
        elif start.begins == "frequency":
            # else a network spends its first steps on learning that most labels are rare
            with torch.no_grad():
                self.linear.bias.copy_(start.log_odds())

    def loss(self, hidden: Tensor, truth: Positives, prior: Tensor | None = None) -> Tensor:
        """Return the mean over texts (b, d) and all labels, shape ()."""
        logits = precise(self.linear(hidden))
        if prior is not None:
            logits = logits + prior
        return plain_loss(logits, *truth) / logits.numel()

    def logits(self, hidden: Tensor, labels: Tensor | None) -> Tensor:
        """Return the log odds of labels (b, C) of texts (b, d), or of all (b, L)."""
        if labels is None:
            return precise(self.linear(hidden))
        chosen = labels.clamp(min=0)
        found = torch.einsum("bcd,bd->bc", self.linear.weight[chosen], hidden)
        return precise(found + self.linear.bias[chosen])

    def log_probability(self, hidden: Tensor, label: int) -> Tensor:
        """Return the logarithm of one label's probability for texts (b, d), shape (b,)."""
        own = slice(label, label + 1)
        logits = linear(hidden, self.linear.weight[own], self.linear.bias[own])
        return logsigmoid(precise(logits))[:, 0]

    def _search(self, hidden: Tensor, best: Best, prior: Tensor | None) -> None:
        show(best, hidden, self.linear.weight, bias=self.linear.bias, prior=prior)


class Best:
    """The best places of some texts, shown some at a time.

    A key joins the bits of a probability, which ascend with it, and the place counted from behind:
    the largest keys are the largest probabilities, of equal ones the first places.

    Parameters
    ----------
    n
        Number of texts.
    k
        Places of each, of which at least as many must be shown.
    device
        Where keys are held.

    Examples
    --------
    >>> best = Best(1, 2, torch.device("cpu"))
    >>> best.add(torch.tensor([[0.5, 0.25]]), 7)
    >>> best.add(torch.tensor([[0.25, 0.5]]), 3)
    >>> best.found()
    (tensor([[4, 7]]), tensor([[0.5000, 0.5000]]))
    """

    def __init__(self, n: int, k: int, device: torch.device) -> None:
        self.k = k
        self._keys = torch.full((n, k), -1, dtype=torch.int64, device=device)

    def add(self, probabilities: Tensor, first: int, rows: Tensor | None = None) -> None:
        """Take note of some neighbouring places.

        Parameters
        ----------
        probabilities
            float32, shape (m, n).
        first
            The place of the first of the n.
        rows
            Which texts they are of, shape (m,); None for all.
        """
        found = _largest(probabilities, first, self.k)
        if rows is None:
            self._keys = torch.cat([self._keys, found], 1).topk(self.k, 1).values
        else:
            both = torch.cat([self._keys[rows], found], 1)
            self._keys[rows] = both.topk(self.k, 1).values

    def least(self) -> Tensor:
        """Return what a label must reach to come among the k of each text, shape (n,)."""
        last = self._keys[:, -1]
        return _values(last).masked_fill(last < 0, -1.0)

    def found(self) -> tuple[Tensor, Tensor]:
        """Return places (int64) and probabilities (float32), best first, both of shape (n, k)."""
        return _places(self._keys), _values(self._keys)


def show(
    best: Best,
    reading: Tensor,
    weight: Tensor,
    first: int = 0,
    *,
    bias: Tensor | None = None,
    prior: Tensor | None = None,
    gate: Tensor | None = None,
    rows: Tensor | None = None,
) -> None:
    """Show ``best`` a layer's labels, some at a time.

    Parameters
    ----------
    best
        What looks.
    reading, weight
        Vectors of texts (m, w), and of labels (l, w).
    first
        The place of the first label.
    bias
        Of the labels, shape (l,).
    prior
        Log odds to add, shape (m, l).
    gate
        What probabilities are multiplied with, shape (m, 1).
    rows
        As of `Best.add`.
    """
    width = max(SCORES // max(len(reading), 1), CHUNK)
    for start in range(0, len(weight), width):
        some = slice(start, start + width)
        logits = linear(reading, weight[some], None if bias is None else bias[some])
        if prior is not None:
            logits = logits + prior[:, some]
        chances = logits.float().sigmoid_()
        best.add(chances if gate is None else chances.mul_(gate), first + start, rows)


def _largest(probabilities: Tensor, first: int, k: int) -> Tensor:
    """Return the keys of the k largest, or of all if they are fewer, shape (m, at most k).

    The k largest lie in the k chunks with the largest maxima, so only these are sorted: a chunk
    that is left out has k better ones, each with a label that comes before all of its own. This
    also holds for equal ones, since the places of chunks ascend as they do.
    """
    n, chunks = probabilities.shape[1], probabilities.shape[1] // CHUNK
    device = probabilities.device
    places = torch.arange(n, device=device).expand_as(probabilities)
    if chunks > 2 * k:
        whole = torch.unflatten(probabilities[:, : chunks * CHUNK], 1, (chunks, CHUNK))
        maxima = _joined(whole.amax(2), torch.arange(chunks, device=device))
        chosen = _places(maxima.topk(k, 1).values)[:, :, None]
        inside = whole.gather(1, chosen.expand(-1, -1, CHUNK)).flatten(1)
        within = (chosen * CHUNK + torch.arange(CHUNK, device=device)).flatten(1)
        probabilities = torch.cat([inside, probabilities[:, chunks * CHUNK :]], 1)
        places = torch.cat([within, places[:, chunks * CHUNK :]], 1)
    keys = _joined(probabilities, places + first)
    return keys.topk(min(k, keys.shape[1]), 1).values


def _joined(probabilities: Tensor, places: Tensor) -> Tensor:
    # without the sign, what is not a number comes first and can be seen
    bits = probabilities.contiguous().view(torch.int32).long() & 0x7FFFFFFF
    return (bits << 32) | (LOW - places)


def _places(keys: Tensor) -> Tensor:
    return LOW - (keys & LOW)


def _values(keys: Tensor) -> Tensor:
    return (keys >> 32).to(torch.int32).view(torch.float32)


def precise(x: Tensor) -> Tensor:
    """Return numbers of float32 at least, whatever precision they were multiplied in."""
    return x.to(torch.promote_types(x.dtype, torch.float32))


def plain_loss(logits: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """Return the sum of the binary cross entropy over logits (m, l), shape ().

    Parameters
    ----------
    logits
        Shape (m, l).
    rows, columns
        Which of them are true, each pair once, shape (n,); all others are not.
    """
    found: Tensor = _PlainLoss.apply(logits, rows, columns)  # type: ignore[no-untyped-call]
    return found


class _PlainLoss(Function):
    """The sum of softplus(s), less s where it is true.

    Plain autograd would write another (m, l) of zeros for the gradient of the true ones.
    """

    @staticmethod
    def forward(ctx: Any, logits: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
        ctx.save_for_backward(logits, rows, columns)
        return softplus(logits).sum() - logits[rows, columns].sum()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, outer: Tensor) -> tuple[Tensor, None, None]:
        logits, rows, columns = ctx.saved_tensors
        gradient = logits.sigmoid()
        gradient[rows, columns] = -torch.sigmoid(-logits[rows, columns])
        return gradient.mul_(outer), None, None
