"""Settings that the data decide: the cost of training errors, and whether a label tree pays.

Both rules were found on random parts of six data sets, from 300 to 100,000 documents, by held-out
nDCG@5: see benchmarks/quality/defaults.md.
"""

from __future__ import annotations

from scipy.sparse import csr_array

COST_OF_MANY = 0.2  # what fits from some 30,000 documents on
COST_OF_FEW = 500.0  # divided by the number of documents, and added
MOST = 2.0  # fits 300 documents; fewer were not tried
RARE = 20  # documents of a label, on average, below which trees are behind
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


def goes_without_tree(X: csr_array, Y: csr_array) -> bool:
    """Tell whether labels are better off without a tree, and training takes seconds so.

    A tree groups labels by their documents. Where labels have few, it often puts them in the wrong
    place, and classifiers of all labels that learn from all documents rank better.

    Parameters
    ----------
    X
        Features, shape (n, D).
    Y
        Labels, shape (n, L).
    """
    values, positives, n_labels = int(X.nnz), int(Y.nnz), int(Y.shape[1])
    return positives < RARE * n_labels and values * n_labels <= QUICK
