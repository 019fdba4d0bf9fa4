"""Kernels of boosted trees. Arrays in and out; each is tested against LightGBM."""

from labelgrove.core.jit import njit


@njit(cache=True, nogil=True)
def add_up(table, roots, feature, threshold, left, right, value, out):
    """Add to ``out`` (m,) the values of the leaves that rows of ``table`` (m, D) reach."""
    for i in range(len(table)):
        total = 0.0
        for root in roots:
            node = root
            while feature[node] >= 0:
                small = table[i, feature[node]] <= threshold[node]
                node = left[node] if small else right[node]
            total += value[node]
        out[i] += total


@njit(cache=True, nogil=True)
def add_shares(table, roots, feature, threshold, left, right, value, out):
    """Add to ``out`` (m, D) how much each feature changes the value on the way to the leaves."""
    for i in range(len(table)):
        for root in roots:
            node = root
            while feature[node] >= 0:
                small = table[i, feature[node]] <= threshold[node]
                child = left[node] if small else right[node]
                out[i, feature[node]] += value[child] - value[node]
                node = child
