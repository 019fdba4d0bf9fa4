"""Kernels of searching sparse rows: exact cosines by an inverted index.

Arrays in and out, nothing else; each is tested against plain numpy.
"""

import numpy as np

from labelgrove.core.jit import njit

SLACK = np.float32(1e-5)  # more than rounding adds to a sum of products, or takes from it
TINY = np.float32(1e-30)  # the least that counts as above 0
RUN = 128  # scores that are passed over together


@njit(cache=True, nogil=True, inline="always")
def _insert(documents, similarities, found, document, similarity):
    """Put a document into lists that hold the best ones so far, best first; return how many.

    Documents come in the order of their numbers, so that of equal ones the first stays first.
    """
    k = len(documents)
    j = found
    if found == k:
        if similarity <= similarities[k - 1]:
            return found
        j = k - 1
    else:
        found += 1
    while j > 0 and similarity > similarities[j - 1]:
        similarities[j] = similarities[j - 1]
        documents[j] = documents[j - 1]
        j -= 1
    similarities[j] = similarity
    documents[j] = document
    return found


@njit(cache=True, nogil=True, inline="always")
def _any_from(scores, first, last, least):
    """Tell whether any of some scores is at least so great; a plain loop, which is in vectors."""
    found = 0
    for t in range(first, last):
        found += scores[t] >= least
    return found > 0


@njit(cache=True, nogil=True)
def _edge(scores, own, limit, best, at):
    """Return a score that the k best documents reach, or less; -1 if there are not as many.

    Document ``own`` and those that may be above ``limit`` do not count. ``scores`` are whole runs,
    ``best`` and ``at`` scratch of shape (k,).
    """
    k, found = len(best), 0
    least, most = SLACK, np.float32(limit - SLACK)
    for run in range(len(scores) // RUN):
        first = run * RUN
        if _any_from(scores, first, first + RUN, least):
            for d in range(first, first + RUN):
                if least <= scores[d] <= most and d != own:
                    found = _insert(at, best, found, d, scores[d])
                    if found == k:
                        least = best[k - 1]
    return least - np.float32(2.0) * SLACK if found == k else np.float32(-1.0)


@njit(cache=True, nogil=True)
def nearest_rows(
    q_ptr,
    q_terms,
    q_values,
    first,
    last,
    d_ptr,
    d_terms,
    d_values,
    term_ptr,
    term_docs,
    term_values,
    own,
    limit,
    documents,
    similarities,
):
    """Write the documents with the greatest cosines above 0 to rows of a csr matrix.

    Rows are those from ``first`` to before ``last``; ``documents`` and ``similarities`` of shape
    (last - first, k) are padded with -1 and 0, the best come first, equal ones by number.
    Documents are rows of a csr matrix (``d_ptr``, ...), and its columns are ``term_ptr``,
    ``term_docs``, ``term_values``; all rows have length 1, or 0. Row i is document ``own[i]``, or
    none where that is -1; if it is one, that and those above ``limit`` are left out.

    The best by sums over terms, and those that rounding may have kept from them, are compared
    anew: a similarity is the same whatever the order of the terms.
    """
    n_runs = -(-len(d_ptr) // RUN)
    scores = np.zeros(n_runs * RUN, np.float32)  # beyond the documents they stay 0
    query = np.zeros(len(term_ptr), np.float32)
    best = np.empty(documents.shape[1], np.float32)
    at = np.empty(documents.shape[1], np.int32)
    for i in range(first, last):
        mine = own[i]
        above = np.float32(limit) if mine >= 0 else np.float32(np.inf)
        for q in range(q_ptr[i], q_ptr[i + 1]):
            term, value = q_terms[q], q_values[q]
            query[term] = value
            docs = term_docs[term_ptr[term] : term_ptr[term + 1]]
            values = term_values[term_ptr[term] :]
            for p in range(len(docs)):
                scores[docs[p]] += value * values[p]
        edge = max(_edge(scores, mine, above, best, at), TINY)
        found = 0
        row, column = documents[i - first], similarities[i - first]
        for run in range(n_runs):
            begin = run * RUN
            if not _any_from(scores, begin, begin + RUN, edge):
                continue
            for d in range(begin, begin + RUN):
                if edge <= scores[d] <= above + SLACK and d != mine:
                    total = 0.0
                    for p in range(d_ptr[d], d_ptr[d + 1]):
                        total += np.float64(query[d_terms[p]]) * np.float64(d_values[p])
                    exact = min(np.float32(total), np.float32(1.0))
                    if 0.0 < exact <= above:
                        found = _insert(row, column, found, d, exact)
        row[found:] = -1
        column[found:] = 0.0
        scores[:] = 0.0
        for q in range(q_ptr[i], q_ptr[i + 1]):
            query[q_terms[q]] = 0.0
