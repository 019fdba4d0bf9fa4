"""Products of small matrices that stay in vector registers.

They are as fast as those of a linear algebra library, which would pack the matrices first; and
each cell has the same bits, however many rows are multiplied at once.
"""

from itertools import product

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.codegen import get_host_cpu_features
from numba.extending import intrinsic

from labelgrove.core.jit import njit
from labelgrove.models.linear.plain_products import DOT_ROWS

LANES = 16 if "+avx512f" in get_host_cpu_features() else 8  # numbers in a vector register


def _place(builder, array, i, j, kind):
    """Return the address of cell (i, j) of an array, as that of a number or vector."""
    strides = cgutils.unpack_tuple(builder, array.strides)
    offset = builder.add(builder.mul(i, strides[0]), builder.mul(j, strides[1]))
    start = builder.bitcast(array.data, ir.IntType(8).as_pointer())
    return builder.bitcast(builder.gep(start, [offset]), kind.as_pointer())


def _everywhere(builder, value, vector):
    """Return a vector that has a number in all places."""
    nothing, zero = ir.Constant(vector, ir.Undefined), ir.Constant(ir.IntType(32), 0)
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), vector.count), [0] * vector.count)
    return builder.shuffle_vector(builder.insert_element(nothing, value, zero), nothing, zeros)


def _adding_tile(n_rows, n_columns):
    """Return a function that adds a tile of a product to an array.

    It is written in LLVM's own language, with the tile in vector registers: Numba would keep it
    in memory, because it cannot know that the arrays do not overlap. Every cell is a sum in the
    same order, whatever the size of its tile.
    """
    number, vector = ir.FloatType(), ir.VectorType(ir.FloatType(), n_columns)

    def code(context, builder, signature, arguments):
        arrays = [
            context.make_array(kind)(context, builder, value)
            for kind, value in zip(signature.args[:3], arguments[:3], strict=True)
        ]
        row, column = arguments[3:]
        size = cgutils.unpack_tuple(builder, arrays[0].shape)[1]
        rows = [builder.add(row, ir.Constant(size.type, r)) for r in range(n_rows)]
        left, right, out = arrays
        whole = signature.args[1].dtype == types.int8
        stored = ir.VectorType(ir.IntType(8), n_columns) if whole else vector
        tile = [_place(builder, out, r, column, vector) for r in rows]
        begin = [builder.load(cells, align=4) for cells in tile]
        before, loop = builder.block, builder.append_basic_block("loop")
        builder.branch(loop)
        builder.position_at_end(loop)
        k, sums = builder.phi(size.type), [builder.phi(vector) for _ in rows]
        values = builder.load(_place(builder, right, k, column, stored), align=1 if whole else 4)
        values = builder.sitofp(values, vector) if whole else values
        factors = [builder.load(_place(builder, left, r, k, number), align=4) for r in rows]
        fused = {"flags": ("contract",)}
        products = [
            builder.fmul(_everywhere(builder, factor, vector), values, **fused)
            for factor in factors
        ]
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
    Further rows of ``left`` and ``right`` are not read.
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


def _sums_of(builder, vectors):
    """Return a vector with the sum of each of as many vectors as they have lanes, in order."""
    lanes, size = len(vectors), len(vectors)
    kind = ir.VectorType(ir.IntType(32), lanes)
    while size > 1:  # every vector holds runs of this size, each of which is still to be summed
        halves = [
            ir.Constant(kind, [i for i in range(2 * lanes) if i // (size // 2) % 2 == half])
            for half in (0, 1)
        ]
        vectors = [
            builder.fadd(*(builder.shuffle_vector(one, other, half) for half in halves))
            for one, other in zip(vectors[::2], vectors[1::2], strict=True)
        ]
        size //= 2
    return vectors[0]


def dots_tile(lanes):
    """Return a function that writes a tile of left @ right.T to an array.

    A vector of partial sums for each cell stays in a register. There are as many cells as lanes,
    so that in the end their sums fill one vector: with 16 lanes 4 columns, 16 of 32 registers,
    with 8 lanes 2 columns, 8 of 16.
    """
    number, vector = ir.FloatType(), ir.VectorType(ir.FloatType(), lanes)
    n_columns = lanes // DOT_ROWS

    def code(context, builder, signature, arguments):
        arrays = [
            context.make_array(kind)(context, builder, value)
            for kind, value in zip(signature.args[:3], arguments[:3], strict=True)
        ]
        row, column = arguments[3:]
        size = cgutils.unpack_tuple(builder, arrays[0].shape)[1]
        zero = ir.Constant(size.type, 0)
        rows = [builder.add(row, ir.Constant(size.type, r)) for r in range(DOT_ROWS)]
        columns = [builder.add(column, ir.Constant(size.type, c)) for c in range(n_columns)]
        left, right, out = arrays
        lefts = [_place(builder, left, r, zero, number) for r in rows]
        rights = [_place(builder, right, c, zero, number) for c in columns]
        before, loop = builder.block, builder.append_basic_block("loop")
        builder.branch(loop)
        builder.position_at_end(loop)
        k, sums = builder.phi(size.type), [builder.phi(vector) for _ in range(lanes)]

        def values(start):
            place = builder.bitcast(builder.gep(start, [k]), vector.as_pointer())
            return builder.load(place, align=4)

        fused = {"flags": ("contract",)}
        pairs = product(map(values, lefts), map(values, rights))
        products = [builder.fmul(*pair, **fused) for pair in pairs]
        after = [builder.fadd(*pair, **fused) for pair in zip(sums, products, strict=True)]
        following = builder.add(k, ir.Constant(size.type, lanes))
        for phi, new in zip([k, *sums], [following, *after], strict=True):
            phi.add_incoming(ir.Constant(phi.type, None), before)
            phi.add_incoming(new, loop)
        end = builder.append_basic_block("end")
        builder.cbranch(builder.icmp_signed("<", following, size), loop, end)
        builder.position_at_end(end)
        tile, part = _sums_of(builder, after), ir.VectorType(ir.IntType(32), n_columns)
        for r, place in enumerate(rows):
            cells = ir.Constant(part, [r * n_columns + c for c in range(n_columns)])
            target = _place(builder, out, place, column, ir.VectorType(number, n_columns))
            builder.store(builder.shuffle_vector(tile, tile, cells), target, align=4)
        return context.get_dummy_value()

    @intrinsic
    def write_tile(typing, left, right, out, row, column):
        return types.void(left, right, out, types.intp, types.intp), code

    return write_tile


_write_dots, _DOT_COLUMNS = dots_tile(LANES), LANES // DOT_ROWS


@njit(cache=True, nogil=True)
def write_dots(left, right, out):
    """Write left (m, k) @ right.T (k, n) to the first n columns of out (m, n or more).

    All are float32 with contiguous rows; m and n are multiples of DOT_ROWS, k of WHOLE_VECTORS.
    """
    for column in range(0, right.shape[0], _DOT_COLUMNS):
        for row in range(0, left.shape[0], DOT_ROWS):
            _write_dots(left, right, out, row, column)
