"""How much each token of a text speaks for a label."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

STEPS = 16  # on the way from no text to a text, in explanations


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
