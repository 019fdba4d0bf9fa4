"""Loops over code points, 64-bit term hashes and sparse rows; arrays in, arrays out, no GIL.

A character's entry in the table of `labelgrove.text.characters` is
``folded code point << 4 | ODD? | kind``; 0 means that nobody has looked it up yet.

All kernels are in one file because numba compiles a kernel anew when its own file changes, not
when that of a kernel it calls does.
"""

from __future__ import annotations

import math

import numpy as np

from labelgrove.core.jit import njit

SEPARATOR, WORD, MARK, UNSPACED = 1, 2, 3, 4
KIND_BITS = 7
ODD = 8
DONE, UNKNOWN, FOLD_FIRST = 0, 1, 2
UNIT, PAD_LEFT, PAD_RIGHT, FIRST_LINE = 1, 2, 4, 8
SPACE, LINE_END = 32, 10

# saved vocabularies hold these hashes: other numbers here need a new format of saved folders
_SEED = np.uint64(0x9E3779B97F4A7C15)
_STEP = np.uint64(0xD6E8FEB86659FD93)
_MIX = np.uint64(0xFF51AFD7ED558CCD)
_JOIN = np.uint64(0xC4CEB9FE1A85EC53)
_32 = np.uint64(32)
_29 = np.uint64(29)
_MAX_VALUE = float(np.finfo(np.float32).max)


@njit(cache=True, nogil=True, inline="always")
def _step(h, code):
    h = (h ^ np.uint64(code)) * _STEP
    return h ^ (h >> _32)


@njit(cache=True, nogil=True, inline="always")
def _finish(h):
    h = (h ^ (h >> _29)) * _MIX
    return h ^ (h >> _32)


@njit(cache=True, nogil=True, inline="always")
def _slot(h, mask):
    return np.int64(h & np.uint64(mask))


@njit(cache=True, nogil=True)
def _mark_first_line(kinds, begin, end):
    for t in range(begin, end):
        kinds[t] |= FIRST_LINE


@njit(cache=True, nogil=True)
def tokenize(codes, bounds, table, folded_first, min_length):
    """Find the words of texts that lie one after the other.

    Parameters
    ----------
    codes
        Code points, shape (c,), uint32; text d is ``codes[bounds[d]:bounds[d + 1]]``.
    bounds
        Shape (n + 1,), int64.
    table
        Entries of all code points, uint32.
    folded_first
        True if odd texts went through `characters.fold`, so odd characters are no surprise.
    min_length
        Shorter words are dropped; characters of unspaced scripts are not words.

    Returns
    -------
    status
        DONE; UNKNOWN if a character has no entry; FOLD_FIRST if one needs `characters.fold`.
    folded
        Folded code points of words, 0 outside, shape (c,), uint32.
    starts, ends, hashes, kinds
        Of each token, shape (m,); kind has the bit UNIT for a character of an unspaced script, and
        FIRST_LINE for a token before the first line end, where there is one.
    offsets
        Tokens of text d are ``offsets[d]:offsets[d + 1]``; shape (n + 1,), int64.
    """
    n = len(bounds) - 1
    folded = np.empty(len(codes), np.uint32)
    starts = np.empty(len(codes), np.int32)
    ends = np.empty(len(codes), np.int32)
    hashes = np.empty(len(codes), np.uint64)
    kinds = np.empty(len(codes), np.uint8)
    offsets = np.zeros(n + 1, np.int64)
    status = DONE
    found = 0
    for d in range(n):
        i = bounds[d]
        stop = bounds[d + 1]
        line_end = -1
        while i < stop:
            entry = table[codes[i]]
            kind = entry & KIND_BITS
            if kind == 0:
                status = UNKNOWN
                break
            if (entry & ODD) != 0 and not folded_first:
                status = FOLD_FIRST
                break
            if kind in (SEPARATOR, MARK):
                if codes[i] == LINE_END and line_end < 0:
                    line_end = i
                    _mark_first_line(kinds, offsets[d], found)
                folded[i] = 0
                i += 1
                continue
            start = i
            unit = kind == UNSPACED
            h = _step(_SEED, entry >> 4)
            folded[i] = entry >> 4
            i += 1
            while i < stop:
                entry = table[codes[np.uint64(i)]]  # unsigned: no test for a negative index
                if (entry & 15) != WORD or unit:
                    # a unit goes on over its marks only, a word over letters, digits and marks;
                    # what is odd makes the outer loop say so
                    mark = (entry & KIND_BITS) == MARK or ((entry & KIND_BITS) == WORD and not unit)
                    if not mark or ((entry & ODD) != 0 and not folded_first):
                        break
                folded[np.uint64(i)] = entry >> 4
                h = _step(h, entry >> 4)
                i += 1
            if unit or i - start >= min_length:
                starts[found] = start
                ends[found] = i
                hashes[found] = _finish(h)
                kinds[found] = UNIT if unit else 0
                found += 1
        if status != DONE:
            break
        offsets[d + 1] = found
    return status, folded, starts[:found], ends[:found], hashes[:found], kinds[:found], offsets


@njit(cache=True, nogil=True)
def odd_texts(codes, bounds, table):
    """Tell which texts hold an odd character or one without an entry, shape (n,), bool."""
    odd = np.zeros(len(bounds) - 1, np.bool_)
    for d in range(len(bounds) - 1):
        for i in range(bounds[d], bounds[d + 1]):
            entry = table[codes[i]]
            if entry == 0 or entry & ODD:
                odd[d] = True
                break
    return odd


@njit(cache=True, nogil=True)
def character_ngrams(codes, bounds, table, folded_first, low, high):
    """Find the character n-grams of each word with a space before and after it.

    As `tokenize`; a token is an n-gram, its place is clipped to the word, and its kind tells also
    whether it begins or ends with the space outside.
    """
    n = len(bounds) - 1
    folded = np.full(len(codes), np.uint32(SPACE))
    status = DONE
    total = 0
    length = 0
    for d in range(n):  # fold, and count what there will be
        for i in range(bounds[d], bounds[d + 1] + 1):
            entry = table[codes[i]] if i < bounds[d + 1] else np.uint32(SEPARATOR)
            kind = entry & KIND_BITS
            if kind == 0:
                status = UNKNOWN
            elif (entry & ODD) != 0 and not folded_first:
                status = FOLD_FIRST
            if status != DONE:
                break
            if kind == SEPARATOR or (kind == MARK and length == 0):
                if length > 0:
                    for size in range(low, high + 1):
                        total += max(length + 3 - size, 1)
                length = 0
            else:
                folded[i] = entry >> 4
                length += 1
        if status != DONE:
            total = 0
            break
    starts = np.empty(total, np.int32)
    ends = np.empty(total, np.int32)
    hashes = np.empty(total, np.uint64)
    kinds = np.empty(total, np.uint8)
    offsets = np.zeros(n + 1, np.int64)
    found = 0
    for d in range(n if status == DONE else 0):
        i = bounds[d]
        stop = bounds[d + 1]
        line_end = -1
        while i < stop:
            if folded[i] == SPACE:
                if codes[i] == LINE_END and line_end < 0:
                    line_end = i
                    _mark_first_line(kinds, offsets[d], found)
                i += 1
                continue
            start = i
            while i < stop and folded[i] != SPACE:
                i += 1
            for size in range(low, high + 1):
                # positions of the padded word: start - 1 and i are the spaces
                last = max(i + 1 - size, start - 1)
                for begin in range(start - 1, last + 1):
                    end = min(begin + size, i + 1)
                    h = _SEED
                    kind = 0
                    if begin < start:
                        h = _step(h, SPACE)
                        kind |= PAD_LEFT
                    for p in range(max(begin, start), min(end, i)):
                        h = _step(h, folded[p])
                    if end > i:
                        h = _step(h, SPACE)
                        kind |= PAD_RIGHT
                    starts[found] = max(begin, start)
                    ends[found] = min(end, i)
                    hashes[found] = _finish(h)
                    kinds[found] = kind
                    found += 1
                if last == start - 1:
                    break  # a word as short as this gives itself once, not once per size
        offsets[d + 1] = found
    return status, folded, starts[:found], ends[:found], hashes[:found], kinds[:found], offsets


@njit(cache=True, nogil=True)
def ngrams(starts, ends, hashes, kinds, offsets, low, high):
    """Join neighbouring words, and neighbouring characters of unspaced scripts.

    Returns
    -------
    hashes, firsts, lasts
        Of each n-gram: its hash, first and last token; shape (p,).
    offsets
        N-grams of text d are ``offsets[d]:offsets[d + 1]``; shape (n + 1,), int64.
    """
    n = len(offsets) - 1
    room = len(starts) * (max(high, 2) - low + 1)
    out_hashes = np.empty(room, np.uint64)
    firsts = np.empty(room, np.int32)
    lasts = np.empty(room, np.int32)
    out_offsets = np.zeros(n + 1, np.int64)
    found = 0
    for d in range(n):
        stop = offsets[d + 1]
        for i in range(offsets[d], stop):
            unit = kinds[i] & UNIT
            h = hashes[i]
            j = i
            for size in range(1, (max(high, 2) if unit else high) + 1):
                if size > 1:
                    j += 1
                    if j == stop or (kinds[j] & UNIT) != unit:
                        break
                    if unit and ends[j - 1] != starts[j]:
                        break
                    h = _finish((h + _JOIN) * _STEP ^ hashes[j])
                if size >= low:
                    out_hashes[found] = h
                    firsts[found] = i
                    lasts[found] = j
                    found += 1
        out_offsets[d + 1] = found
    return out_hashes[:found], firsts[:found], lasts[:found], out_offsets


@njit(cache=True, nogil=True)
def hash_strings(codes, begins, stops):
    """Return the hash of each ``codes[begin:stop]``, as `tokenize` gives it; shape (m,)."""
    hashes = np.empty(len(begins), np.uint64)
    for i in range(len(begins)):
        h = _SEED
        for p in range(begins[i], stops[i]):
            h = _step(h, codes[p])
        hashes[i] = _finish(h)
    return hashes


@njit(cache=True, nogil=True)
def intern(hashes):
    """Number the distinct hashes by first appearance.

    Returns
    -------
    ids
        Number of each hash, shape (p,), int32.
    places
        Where each number appeared first, shape (distinct,), int32.
    """
    ids = np.empty(len(hashes), np.int32)
    places = np.empty(len(hashes), np.int32)
    size = 4096
    while size > 8 * len(hashes) and size > 16:
        size >>= 1
    slots = np.full(size, np.int32(-1))
    mask = size - 1
    found = 0
    for p in range(len(hashes)):
        h = hashes[p]
        s = _slot(h, mask)
        while slots[s] >= 0 and hashes[places[slots[s]]] != h:
            s = (s + 1) & mask
        if slots[s] >= 0:
            ids[p] = slots[s]
            continue
        slots[s] = found
        ids[p] = found
        places[found] = p
        found += 1
        if 2 * found > size:
            size *= 2
            mask = size - 1
            slots = np.full(size, np.int32(-1))
            for t in range(found):
                s = _slot(hashes[places[t]], mask)
                while slots[s] >= 0:
                    s = (s + 1) & mask
                slots[s] = t
    return ids, places[:found]


@njit(cache=True, nogil=True)
def count_rows(ids, offsets, n_ids):
    """Count each id in each row.

    Returns
    -------
    columns, counts
        Row d is ``indptr[d]:indptr[d + 1]``, ids in order of appearance; shape (nnz,), int32.
    indptr
        Shape (n + 1,), int64.
    documents, totals
        Rows that hold each id, and how often it occurs at all; shape (n_ids,), int64.
    """
    n = len(offsets) - 1
    columns = np.empty(len(ids), np.int32)
    counts = np.empty(len(ids), np.int32)
    indptr = np.zeros(n + 1, np.int64)
    documents = np.zeros(n_ids, np.int64)
    totals = np.zeros(n_ids, np.int64)
    row_of = np.full(n_ids, -1)
    place_of = np.empty(n_ids, np.int64)
    nnz = 0
    for d in range(n):
        for p in range(offsets[d], offsets[d + 1]):
            t = ids[p]
            totals[t] += 1
            if row_of[t] == d:
                counts[place_of[t]] += 1
            else:
                row_of[t] = d
                place_of[t] = nnz
                columns[nnz] = t
                counts[nnz] = 1
                documents[t] += 1
                nnz += 1
        indptr[d + 1] = nnz
    return columns[:nnz], counts[:nnz], indptr, documents, totals


@njit(cache=True, nogil=True)
def count_terms(starts, ends, hashes, kinds, offsets, low, high):
    """Count the n-grams of texts: `ngrams`, `intern` and `count_rows` in one.

    Returns
    -------
    hashes, firsts, lasts
        Of the distinct n-grams, as of `ngrams`; shapes (m,).
    columns, counts, indptr, documents, totals
        As of `count_rows`.
    """
    keys, firsts, lasts, bounds = ngrams(starts, ends, hashes, kinds, offsets, low, high)
    ids, places = intern(keys)
    columns, counts, indptr, documents, totals = count_rows(ids, bounds, len(places))
    return (
        keys[places],
        firsts[places],
        lasts[places],
        columns,
        counts,
        indptr,
        documents,
        totals,
    )


@njit(cache=True, nogil=True)
def weights_by_place(
    ids, offsets, firsts, kinds, token_offsets, columns, counts, indptr, n_ids, first_line,
    fade_after, sublinear,
):  # fmt: skip
    """Return how much each term counts in each text by where it stands, shape (nnz,), float32.

    Parameters
    ----------
    ids, offsets
        The n-grams of text d are ``ids[offsets[d]:offsets[d + 1]]``, as `count_rows` took them.
    firsts
        The first token of each n-gram.
    kinds, token_offsets
        Of the tokens, as of `tokenize`.
    columns, counts, indptr
        What `count_rows` returned.
    n_ids
        Number of distinct n-grams.
    first_line
        How often an n-gram counts that begins in the first line.
    fade_after
        A term that first comes at place p, counted in tokens from 0, is divided by
        ``1 + ln(1 + p / fade_after)``; 0 for no term.
    sublinear
        Take 1 + ln(count) instead of the count.
    """
    weights = np.empty(len(columns), np.float32)
    place_of = np.empty(n_ids, np.int64)
    for d in range(len(offsets) - 1):
        for p in range(indptr[d], indptr[d + 1]):
            weights[p] = counts[p]
            place_of[columns[p]] = -1
        new = indptr[d]  # columns come in the order in which the terms appear
        for g in range(offsets[d], offsets[d + 1]):
            t = ids[g]
            if place_of[t] < 0:
                place_of[t] = new
                new += 1
            if kinds[firsts[g]] & FIRST_LINE:
                weights[place_of[t]] += first_line - 1
        if sublinear:
            for p in range(indptr[d], indptr[d + 1]):
                weights[p] = 1.0 + math.log(weights[p])
        if fade_after > 0.0:
            seen = indptr[d]
            for g in range(offsets[d], offsets[d + 1]):
                if seen < indptr[d + 1] and columns[seen] == ids[g]:
                    place = firsts[g] - token_offsets[d]
                    weights[seen] /= 1.0 + math.log(1.0 + place / fade_after)
                    seen += 1
    return weights


@njit(cache=True, nogil=True)
def add_slots(slots, keys, begin, end):
    """Enter ``keys[begin:end]`` into an open-addressing table from hash to position in keys."""
    mask = len(slots) - 1
    for t in range(begin, end):
        s = _slot(keys[t], mask)
        while slots[s] >= 0:
            s = (s + 1) & mask
        slots[s] = t


@njit(cache=True, nogil=True)
def merge(hashes, documents, totals, slots, keys, all_documents, all_totals, size):
    """Add a batch's distinct hashes to a vocabulary of ``size`` terms that has room for them.

    Returns
    -------
    ids
        The vocabulary's number of each hash, shape (m,), int32.
    size
        The vocabulary's new size; new terms are numbered in the order of ``hashes``.
    """
    ids = np.empty(len(hashes), np.int32)
    mask = len(slots) - 1
    for i in range(len(hashes)):
        h = hashes[i]
        s = _slot(h, mask)
        while slots[s] >= 0 and keys[slots[s]] != h:
            s = (s + 1) & mask
        t = slots[s]
        if t < 0:
            t = np.int32(size)
            slots[s] = t
            keys[t] = h
            all_documents[t] = 0
            all_totals[t] = 0
            size += 1
        all_documents[t] += documents[i]
        all_totals[t] += totals[i]
        ids[i] = t
    return ids, size


@njit(cache=True, nogil=True)
def look_up(hashes, slots, keys):
    """Return the position of each hash in ``keys``, or -1; shape (p,), int32."""
    ids = np.empty(len(hashes), np.int32)
    mask = len(slots) - 1
    for i in range(len(hashes)):
        h = hashes[i]
        s = _slot(h, mask)
        while slots[s] >= 0 and keys[slots[s]] != h:
            s = (s + 1) & mask
        ids[i] = slots[s]
    return ids


@njit(cache=True, nogil=True)
def _write_code(code, out, at):
    if code < 0x80:
        out[at] = code
        return at + 1
    if code < 0x800:
        out[at] = 0xC0 | (code >> 6)
        out[at + 1] = 0x80 | (code & 0x3F)
        return at + 2
    if code < 0x10000:
        out[at] = 0xE0 | (code >> 12)
        out[at + 1] = 0x80 | ((code >> 6) & 0x3F)
        out[at + 2] = 0x80 | (code & 0x3F)
        return at + 3
    out[at] = 0xF0 | (code >> 18)
    out[at + 1] = 0x80 | ((code >> 12) & 0x3F)
    out[at + 2] = 0x80 | ((code >> 6) & 0x3F)
    out[at + 3] = 0x80 | (code & 0x3F)
    return at + 4


@njit(cache=True, nogil=True)
def write_terms(codes, begins, stops, kinds, firsts, lasts):
    """Write n-grams of tokens as UTF-8, words with a space between.

    Returns
    -------
    text
        All terms, one after the other, uint8.
    ends
        Where each ends, shape (m,), int64.
    """
    room = 0
    for i in range(len(firsts)):
        for t in range(firsts[i], lasts[i] + 1):
            room += 4 * (stops[t] - begins[t]) + 2
    text = np.empty(room, np.uint8)
    ends = np.empty(len(firsts), np.int64)
    at = 0
    for i in range(len(firsts)):
        for t in range(firsts[i], lasts[i] + 1):
            if (t > firsts[i] and not kinds[t] & UNIT) or kinds[t] & PAD_LEFT:
                text[at] = SPACE
                at += 1
            for p in range(begins[t], stops[t]):
                at = _write_code(codes[p], text, at)
            if kinds[t] & PAD_RIGHT:
                text[at] = SPACE
                at += 1
        ends[i] = at
    return text[:at].copy(), ends


@njit(cache=True, nogil=True)
def gather_strings(text, ends, order):
    """Return the strings ``order`` of a packed list, packed in that order: (text, ends)."""
    out_ends = np.empty(len(order), np.int64)
    total = 0
    for i in range(len(order)):
        t = order[i]
        total += ends[t] - (ends[t - 1] if t > 0 else 0)
        out_ends[i] = total
    out = np.empty(total, np.uint8)
    at = 0
    for i in range(len(order)):
        t = order[i]
        for p in range(ends[t - 1] if t > 0 else 0, ends[t]):
            out[at] = text[p]
            at += 1
    return out, out_ends


@njit(cache=True, nogil=True)
def sort_order(columns):
    """Return the positions of columns that are not below 0, sorted by column; shape (k,), int32.

    Radix sort, as far as the greatest column asks for.
    """
    order = np.empty(len(columns), np.int32)
    kept = 0
    greatest = 0
    for i in range(len(columns)):
        if columns[i] >= 0:
            order[kept] = i
            kept += 1
            greatest = max(greatest, columns[i])
    order = order[:kept]
    if kept <= 96:  # below that, counting 256 digits costs more
        for i in range(1, kept):
            t = order[i]
            j = i
            while j > 0 and columns[order[j - 1]] > columns[t]:
                order[j] = order[j - 1]
                j -= 1
            order[j] = t
        return order
    bits = 8 if kept < 4096 else 11
    other = np.empty(kept, np.int32)
    shift = 0
    while greatest >> shift > 0:
        at = np.zeros((1 << bits) + 1, np.int64)
        for i in range(kept):
            at[((columns[order[i]] >> shift) & ((1 << bits) - 1)) + 1] += 1
        for digit in range(1 << bits):
            at[digit + 1] += at[digit]
        for i in range(kept):
            digit = (columns[order[i]] >> shift) & ((1 << bits) - 1)
            other[at[digit]] = order[i]
            at[digit] += 1
        order, other = other, order
        shift += bits
    return order


@njit(cache=True, nogil=True)
def weigh(columns, counts, indptr, column_of, idf, sublinear, normalize):
    """Turn a batch's counts into tf-idf rows with sorted columns.

    Two counting sorts, by term and back by row, sort all rows at once.

    Parameters
    ----------
    columns, counts, indptr
        Rows as of `count_rows`, columns being the batch's own numbers; or weights as of
        `weights_by_place` for counts, which are float32 and are not made sublinear again.
    column_of
        The column of each of the batch's terms, or -1 for none; shape (m,), int32.
    idf
        Weight of each column, shape (D,), float32.
    sublinear
        Take 1 + ln(count) instead of the count.
    normalize
        Give each row the length 1.

    Returns
    -------
    columns, values, indptr
        Shapes (nnz,) int32, (nnz,) float32, (n + 1,) int64.
    """
    n = len(indptr) - 1
    at = np.zeros(len(column_of) + 1, np.int64)
    for p in range(len(columns)):
        at[columns[p]] += 1
    order = sort_order(column_of)
    nnz = 0
    for t in order:
        nnz, at[t] = nnz + at[t], nnz
    rows = np.empty(nnz, np.int32)
    by_term = np.empty(nnz, counts.dtype)
    out_indptr = np.zeros(n + 1, np.int64)
    for d in range(n):
        kept = 0
        for p in range(indptr[d], indptr[d + 1]):
            t = columns[p]
            if column_of[t] >= 0:
                rows[at[t]] = d
                by_term[at[t]] = counts[p]
                at[t] += 1
                kept += 1
        out_indptr[d + 1] = out_indptr[d] + kept
    logs = np.zeros(64, np.float64)
    for c in range(1, 64):
        logs[c] = 1.0 + math.log(c)
    out_columns = np.empty(nnz, np.int32)
    values = np.empty(nnz, np.float32)
    free = out_indptr[:-1].copy()
    q = 0
    for t in order:
        column = column_of[t]
        weight = idf[column]
        while q < at[t]:  # at[t] is now where t ends
            d = rows[q]
            count = by_term[q]
            if sublinear:
                tf = logs[np.int64(count)] if count < 64 else 1.0 + math.log(count)
            else:
                tf = float(count)
            out_columns[free[d]] = column
            values[free[d]] = tf * weight
            free[d] += 1
            q += 1
    if normalize:
        for d in range(n):
            squares = 0.0
            for p in range(out_indptr[d], out_indptr[d + 1]):
                squares += float(values[p]) * float(values[p])
            if squares > 0.0:
                scale = 1.0 / math.sqrt(squares)
                for p in range(out_indptr[d], out_indptr[d + 1]):
                    values[p] = values[p] * scale
    return out_columns, values, out_indptr


@njit(cache=True, nogil=True)
def tfidf_rows(
    codes, bounds, table, folded_first, min_length, characters, ngram_sizes, slots, keys, idf,
    sublinear, normalize,
):  # fmt: skip
    """Go all the way from code points to tf-idf rows without coming back to Python.

    Parameters
    ----------
    codes, bounds, table, folded_first, min_length
        As of `tokenize`.
    characters
        Sizes of character n-grams, or (0, 0) for words.
    ngram_sizes
        Least and greatest number of neighbouring tokens.
    slots, keys
        As of `look_up`.
    idf, sublinear, normalize
        As of `weigh`.

    Returns
    -------
    status, columns, values, indptr
        As of `tokenize` and of `weigh`.
    """
    if characters[0] == 0:
        found = tokenize(codes, bounds, table, folded_first, min_length)
    else:
        found = character_ngrams(codes, bounds, table, folded_first, characters[0], characters[1])
    status, _, starts, ends, hashes, kinds, offsets = found
    if status != DONE:
        return status, np.empty(0, np.int32), np.empty(0, np.float32), np.empty(0, np.int64)
    terms, _, _, columns, counts, indptr, _, _ = count_terms(
        starts, ends, hashes, kinds, offsets, ngram_sizes[0], ngram_sizes[1]
    )
    column_of = look_up(terms, slots, keys)
    columns, values, indptr = weigh(columns, counts, indptr, column_of, idf, sublinear, normalize)
    return status, columns, values, indptr


@njit(cache=True, nogil=True)
def read_pairs(codes, bounds, limit, drop):
    """Read texts such as "12:0.5 77:1".

    Parameters
    ----------
    codes, bounds
        As of `tokenize`.
    limit
        Indexes from here on are beyond the width.
    drop
        Leave those out, instead of refusing the text.

    Returns
    -------
    bad
        The first text that cannot be read, or -1.
    columns, values, indptr
        Its pairs as they come; shapes (nnz,) int32, (nnz,) float32, (n + 1,) int64.
    """
    n = len(bounds) - 1
    columns = np.empty(len(codes) // 3 + 1, np.int32)  # the shortest pair is 0:0
    values = np.empty(len(codes) // 3 + 1, np.float32)
    indptr = np.zeros(n + 1, np.int64)
    bad = -1
    found = 0
    for d in range(n):
        i = bounds[d]
        stop = bounds[d + 1]
        while i < stop:
            if codes[i] <= SPACE:
                i += 1
                continue
            begin = i
            index = 0
            while i < stop and 48 <= codes[i] <= 57:
                index = min(index * 10 + (np.int64(codes[i]) - 48), 1 << 40)
                i += 1
            if i in (begin, stop) or codes[i] != 58:  # :
                bad = d
                break
            i, value = _read_number(codes, i + 1, stop)
            if i < 0 or not abs(value) <= _MAX_VALUE or (index >= limit and not drop):
                bad = d
                break
            if index < limit:
                columns[found] = index
                values[found] = value
                found += 1
        if bad >= 0:
            break
        indptr[d + 1] = found
    return bad, columns[:found].copy(), values[:found].copy(), indptr


@njit(cache=True, nogil=True)
def _read_number(codes, i, stop):
    """Read a decimal number that ends at a space; return where, or -1, and the number."""
    sign = 1.0
    if i < stop and (codes[i] == 43 or codes[i] == 45):  # + -
        sign = 44.0 - codes[i]
        i += 1
    mantissa = 0.0
    exponent = 0
    digits = 0
    point = False
    while i < stop:
        if 48 <= codes[i] <= 57:
            digits += 1
            mantissa = mantissa * 10.0 + (np.int64(codes[i]) - 48)
            exponent -= point
        elif codes[i] == 46 and not point:  # .
            point = True
        else:
            break
        i += 1
    if digits == 0:
        return np.int64(-1), 0.0
    if i < stop and (codes[i] == 69 or codes[i] == 101):  # E e
        i += 1
        negative = i < stop and codes[i] == 45
        if i < stop and (codes[i] == 43 or codes[i] == 45):
            i += 1
        begin = i
        written = 0
        while i < stop and 48 <= codes[i] <= 57:
            written = min(written * 10 + (np.int64(codes[i]) - 48), 9999)
            i += 1
        if i == begin:
            return np.int64(-1), 0.0
        exponent += -written if negative else written
    if i < stop and codes[i] > SPACE:
        return np.int64(-1), 0.0
    if exponent < 0 and mantissa > 0.0:
        mantissa = mantissa / 10.0**-exponent if exponent > -300 else 0.0
    elif mantissa > 0.0:
        mantissa = mantissa * 10.0 ** min(exponent, 400)
    return i, sign * mantissa
