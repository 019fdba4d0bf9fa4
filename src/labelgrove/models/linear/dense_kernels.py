"""Kernels of dense columns beside sparse features, in training and in ranking.

Arrays in and out, nothing else; each is tested against plain numpy. The solver visits rows one
after another, and multiplying each vector with all weights would read the weights from a slow
cache for every row. So a few rows are scored at once, before any of them moves the weights, and
each gets what the rows before it in its block have moved: their vectors' products times their
changes. The block then moves the weights at once. The result is the same but for rounding.
"""

from typing import NamedTuple

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

BLOCK = 8  # rows that are scored at once
ZERO = np.float32(0.0)


class DenseRows(NamedTuple):
    """The dense columns of the rows that a node learns from.

    Parameters
    ----------
    vectors
        The dense columns of all documents, shape (n, d).
    rows
        The document of each row, shape (m,).
    """

    vectors: NDArray[np.float32]
    rows: NDArray[np.int32]


def _adding_tile(n_rows, n_columns):
    """Return a function that adds a tile of a product to an array.

    It is written in LLVM's own language, with the tile in vector registers: Numba would keep it
    in memory, because it cannot know that the arrays do not overlap. Every cell is a sum in the
    same order, whatever the size of its tile.
    """
    number, vector = ir.FloatType(), ir.VectorType(ir.FloatType(), n_columns)
    lanes = ir.VectorType(ir.IntType(32), n_columns)

    def code(context, builder, signature, arguments):
        arrays = [
            context.make_array(kind)(context, builder, value)
            for kind, value in zip(signature.args[:3], arguments[:3], strict=True)
        ]
        row, column = arguments[3:]
        size = cgutils.unpack_tuple(builder, arrays[0].shape)[1]
        rows = [builder.add(row, ir.Constant(size.type, r)) for r in range(n_rows)]

        def place(array, i, j, kind):
            strides = cgutils.unpack_tuple(builder, array.strides)
            offset = builder.add(builder.mul(i, strides[0]), builder.mul(j, strides[1]))
            start = builder.bitcast(array.data, ir.IntType(8).as_pointer())
            return builder.bitcast(builder.gep(start, [offset]), kind.as_pointer())

        def everywhere(value):
            first = builder.insert_element(
                ir.Constant(vector, ir.Undefined), value, ir.Constant(ir.IntType(32), 0)
            )
            zeros = ir.Constant(lanes, [0] * n_columns)
            return builder.shuffle_vector(first, ir.Constant(vector, ir.Undefined), zeros)

        left, right, out = arrays
        whole = signature.args[1].dtype == types.int8
        stored = ir.VectorType(ir.IntType(8), n_columns) if whole else vector
        tile = [place(out, r, column, vector) for r in rows]
        begin = [builder.load(cells, align=4) for cells in tile]
        before, loop = builder.block, builder.append_basic_block("loop")
        builder.branch(loop)
        builder.position_at_end(loop)
        k, sums = builder.phi(size.type), [builder.phi(vector) for _ in rows]
        values = builder.load(place(right, k, column, stored), align=1 if whole else 4)
        values = builder.sitofp(values, vector) if whole else values
        factors = [builder.load(place(left, r, k, number), align=4) for r in rows]
        fused = {"flags": ("contract",)}
        products = [builder.fmul(everywhere(factor), values, **fused) for factor in factors]
        after = [builder.fadd(*pair, **fused) for pair in zip(sums, products, strict=True)]
        following = builder.add(k, ir.Constant(size.type, 1))
        for phi, first, new in zip(
            [k, *sums], [ir.Constant(size.type, 0), *begin], [following, *after], strict=True
        ):
            phi.add_incoming(first, before)
            phi.add_incoming(new, loop)
        end = builder.append_basic_block("end")
        builder.cbranch(builder.icmp_signed("<", following, size), loop, end)
        builder.position_at_end(end)
        for cells, total in zip(tile, after, strict=True):
            builder.store(total, cells, align=4)
        return context.get_dummy_value()

    @intrinsic
    def add_tile(typing, left, right, out, row, column):
        return types.void(left, right, out, types.intp, types.intp), code

    return add_tile


_add_8_16, _add_8_4, _add_8_1 = _adding_tile(8, 16), _adding_tile(8, 4), _adding_tile(8, 1)
_add_1_64, _add_1_16 = _adding_tile(1, 64), _adding_tile(1, 16)
_add_1_4, _add_1_1 = _adding_tile(1, 4), _adding_tile(1, 1)


@njit(cache=True, nogil=True)
def add_product(left, right, out):
    """Add left (m, k) @ right (k, n) to out (m, n), for k from 1.

    All are float32; ``right`` may be int8. The rows of ``right`` and ``out`` are contiguous.
    """
    m, n = out.shape
    row = 0
    while row + 8 <= m:
        column = 0
        while column + 16 <= n:
            _add_8_16(left, right, out, row, column)
            column += 16
        while column + 4 <= n:
            _add_8_4(left, right, out, row, column)
            column += 4
        while column < n:
            _add_8_1(left, right, out, row, column)
            column += 1
        row += 8
    while row < m:
        column = 0
        while column + 64 <= n:
            _add_1_64(left, right, out, row, column)
            column += 64
        while column + 16 <= n:
            _add_1_16(left, right, out, row, column)
            column += 16
        while column + 4 <= n:
            _add_1_4(left, right, out, row, column)
            column += 4
        while column < n:
            _add_1_1(left, right, out, row, column)
            column += 1
        row += 1


@njit(cache=True, nogil=True)
def _copy(source, target):
    """Copy one row to another."""
    for f in range(len(source)):
        target[f] = source[f]


@njit(cache=True, nogil=True)
def score_block(order, k, due, epoch, vectors, documents, weights, block, scores):
    """Score the next rows that are due in this epoch, from place k of ``order`` on.

    Row i is ``vectors[documents[i]]``; ``weights`` have the shape (d, width). The vectors go to
    ``block`` (BLOCK, d), the scores to ``scores`` (BLOCK, width). Returns the number of rows.
    """
    size = 0
    while k < len(order) and size < BLOCK:
        i = order[k]
        if due[i] <= epoch:
            _copy(vectors[documents[i]], block[size])
            size += 1
        k += 1
    scores[:] = ZERO
    add_product(block, weights, scores)
    return size


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc", "nsz"})
def add_block_scores(block, scores, at, moved, changes, n_moved, score):
    """Add the scores of row ``at`` of a block to ``score`` (width,).

    They are those of `score_block`, and what rows before it in the block have added to the
    weights since: their vectors ``moved`` (BLOCK, d) times their ``changes`` (BLOCK, width).
    """
    for c in range(len(score)):
        score[c] += scores[at, c]
    for before in range(n_moved):
        product = ZERO
        for f in range(block.shape[1]):
            product += moved[before, f] * block[at, f]
        for c in range(len(score)):
            score[c] += product * changes[before, c]


@njit(cache=True, nogil=True)
def note_change(block, at, change, moved, changes, n_moved):
    """Note that row ``at`` of a block adds its vector times ``change`` (width,) to the weights."""
    _copy(block[at], moved[n_moved])
    _copy(change, changes[n_moved])


@njit(cache=True, nogil=True)
def move_weights(moved, changes, n_moved, weights):
    """Add to the weights (d, width) what the rows of a block have changed."""
    if n_moved:
        add_product(moved[:n_moved].T, changes[:n_moved], weights)


@njit(cache=True, nogil=True)
def write_scores(dense, rows, visits, out_ptr, out, offset, bias, values, scale):
    """Write what dense columns and biases say of the s children of a chunk.

    ``visits`` are the visits, ``rows`` the row of ``dense`` (n, d) of each; the scores of visit v
    go to ``out`` from ``out_ptr[v] + offset`` on. ``values`` (d, s) are the weights in steps,
    ``scale`` (s,) the step of each child, as ``bias`` (s,) is its bias.
    """
    d, s = values.shape
    size = min(len(visits), BLOCK)
    block, scores = np.empty((size, d), np.float32), np.empty((size, s), np.float32)
    for begin in range(0, len(visits), BLOCK):
        here = min(len(visits) - begin, BLOCK)
        for b in range(here):
            _copy(dense[rows[visits[begin + b]]], block[b])
        scores[:] = ZERO
        add_product(block[:here], values, scores[:here])
        for b in range(here):
            first = out_ptr[visits[begin + b]] + offset
            for c in range(s):
                out[first + c] = bias[c] + scores[b, c] * scale[c]
