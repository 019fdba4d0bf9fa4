"""How much each token of a text speaks for a label."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from labelgrove.models.neural.network import Network
from labelgrove.models.neural.readers.base import Batch
from labelgrove.models.neural.texts import Texts

STEPS = 16  # on the way from no text to a text


def explain_label(
    networks: Sequence[Network],
    text: Texts,
    label: int,
    shortlist: tuple[NDArray[np.int64], NDArray[np.float32]] | None,
    device: torch.device,
) -> tuple[int, NDArray[np.float32]]:
    """Return how much each token of a text speaks for a label, averaged over networks.

    Of a text in several windows that in which the label is likeliest is explained.

    Parameters
    ----------
    networks
        Those that judge the label.
    text
        One text.
    label
        Its number.
    shortlist
        The candidates among which it is judged, and their log odds, shapes (C,); None for all.
    device
        Where the networks are.

    Returns
    -------
    start, weights
        The place of the first token that was read, and the weights of it and those behind it.
    """
    pieces = text.split()
    best, start, weights = -np.inf, 0, np.empty(0, np.float32)
    for number in range(len(pieces)):
        batch = pieces.batch(np.array([number])).to(device)
        if shortlist is not None:
            labels, odds = (torch.from_numpy(each)[None].to(device) for each in shortlist)
            batch = batch._replace(labels=labels, prior=odds)
        told = [_weights(network, batch, label) for network in networks]
        odds_here = sum(odds for _, odds in told) / len(told)
        if odds_here > best:
            best = odds_here
            start = number * text.windows.size if text.windows is not None else 0
            own = torch.stack([each for each, _ in told]).mean(0)[: int(batch.lengths[0])]
            weights = own.cpu().numpy().astype(np.float32)
    return start, weights


def outweighs_prior(
    networks: Sequence[Network],
    text: Texts,
    label: int,
    shortlist: tuple[NDArray[np.int64], NDArray[np.float32]],
    device: torch.device,
) -> bool:
    """Tell whether networks moved a label's log odds more than the prior that they began with.

    Parameters are those of `explain_label`; of several windows the likeliest counts.
    """
    labels, odds = (torch.from_numpy(each)[None].to(device) for each in shortlist)
    place = int((labels[0] == label).nonzero()[0, 0])
    pieces, moved, began = text.split(), 0.0, 0.0
    n = len(pieces)
    batch = pieces.batch(np.arange(n)).to(device)
    batch = batch._replace(labels=labels.expand(n, -1), prior=odds.expand(n, -1))
    with torch.no_grad():
        for network in networks:
            prior, voted = network.prior(batch), network.voted(batch)
            assert prior is not None
            reached = network.logits(batch)[:, place]
            best = int(reached.argmax())
            moved += float(reached[best] - prior[best, place])
            began += float((prior if voted is None else prior - voted)[best, place])
    return abs(moved) > abs(began)


def _weights(network: Network, batch: Batch, label: int) -> tuple[Tensor, float]:
    """Return the weights of the tokens of one text (T,), and the label's log odds."""
    with torch.no_grad():
        reading = network.reader(batch)
        if batch.labels is not None:
            asked, place = batch.labels, int((batch.labels[0] == label).nonzero()[0, 0])
        elif reading.labels is not None:
            every = torch.arange(reading.labels.shape[1], device=reading.mask.device)
            asked, place = every[None], label
        else:
            asked, place = torch.tensor([[label]], device=reading.mask.device), 0
        attention = network.scorer.attention(reading, asked)
        if attention is not None:
            odds = _log_odds(network, batch, label, network.reader.embed(batch))
            return attention[0, place], float(odds[0])
    # cudnn goes back through no recurrent layer that does not learn
    with torch.backends.cudnn.flags(enabled=False):
        begin, end = network.reader.blank(batch).detach(), network.reader.embed(batch).detach()
        weights, reached = path_gradients(
            begin, end, lambda vectors: _log_odds(network, batch, label, vectors)
        )
    return weights[network.reader.own(batch)], reached


def _log_odds(network: Network, batch: Batch, label: int, vectors: Tensor) -> Tensor:
    """Return the log odds of a label for texts that begin with these vectors (s, W, e), (s,)."""
    many = batch.repeated(len(vectors))
    reading, prior = network.reader.read(many, vectors), network.prior(many)
    if many.labels is None:
        return network.scorer.log_odds(reading, label, prior)
    place = int((many.labels[0] == label).nonzero()[0, 0])
    return network.scorer.logits(reading, many.labels, prior)[:, place]


def path_gradients(
    begin: Tensor, end: Tensor, log_odds: Callable[[Tensor], Tensor]
) -> tuple[Tensor, float]:
    """Return what each token adds to a label's log odds, and these odds.

    Integrated gradients (Sundararajan, Taly and Yan, ICML 2017): on the way from a text of padding
    to this one, since at its end, where the label is certain, hardly anything makes a difference.

    Parameters
    ----------
    begin, end
        The vectors that a network is given for padding and for the text, shape (1, T, d).
    log_odds
        From such vectors (s, T, d) to the label's log odds (s,).

    Returns
    -------
    weights, odds
        Shape (T,), and a number.
    """
    share = (torch.arange(STEPS, device=end.device) + 0.5) / STEPS
    way = (begin + share[:, None, None] * (end - begin)).requires_grad_()
    (gradient,) = torch.autograd.grad(log_odds(way).sum(), way)
    with torch.no_grad():
        reached = float(log_odds(end)[0])
    return ((end - begin)[0] * gradient.mean(0)).sum(1), reached
