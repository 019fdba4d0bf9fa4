"""How a linear classifier is trained."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Loss = Literal["squared-hinge", "logistic"]
LOSSES = ("squared-hinge", "logistic")


@dataclass(frozen=True)
class Solver:
    """The settings of the solver.

    Parameters
    ----------
    loss
        ``"squared-hinge"`` or ``"logistic"``.
    cost
        Weight of the losses against the size of the weights.
    epochs
        Passes over the documents at most.
    tolerance
        Violations below it count as none.
    threshold
        Weights smaller than this are dropped.
    seed
        Of the order in which documents are visited.
    negatives
        Nodes per document that the levels above rank highest, right or wrong; their classifiers
        learn from it too. 0 for none: a node sees only documents below it.
    sharpness
        Slope of the probabilities by which these nodes are ranked.
    tail
        A document counts more for the labels that it has the rarer they are: their inverse
        propensity to this power. 0 treats all alike.
    """

    loss: Loss
    cost: float
    epochs: int
    tolerance: float
    threshold: float
    seed: int
    negatives: int = 0
    sharpness: float = 4.0
    tail: float = 0.0
