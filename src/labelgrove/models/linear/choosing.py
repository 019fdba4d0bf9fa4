"""Settings that the data decide: the cost of training errors, and whether a label tree pays.

Both rules were found on random parts of six data sets, from 300 to 100,000 documents, by held-out
nDCG@5: see benchmarks/quality/defaults.md.
"""

from __future__ import annotations

COST_OF_MANY = 0.2  # what fits from some 30,000 documents on
COST_OF_FEW = 500.0  # divided by the number of documents, and added
MOST = 2.0  # fits 300 documents; fewer were not tried
QUICK = 2e9  # values of X times labels that one core trains without a tree in some five seconds


def cost_for(n_documents: int) -> float:
    """Return the cost that fits a number of documents: the fewer there are, the higher.

    The losses of few documents weigh little against the size of the weights, so that a low cost
    keeps classifiers from learning what a handful of positive examples could teach them.

    Examples
    --------
    >>> cost_for(300), cost_for(1000), cost_for(10_000), cost_for(1_000_000)
    (1.9, 0.7, 0.25, 0.2)
    """
    return float(f"{min(MOST, COST_OF_MANY + COST_OF_FEW / n_documents):.2g}")


def trains_quickly(n_values: int, n_labels: int) -> bool:
    """Tell whether classifiers of all labels learn from all documents in seconds.

    Parameters
    ----------
    n_values
        Stored values of the features of all documents.
    n_labels
        Number of labels.
    """
    return n_values * n_labels <= QUICK
