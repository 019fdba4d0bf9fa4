"""A product of small matrices that stays in vector registers.

It is as fast as that of a linear algebra library, which would pack the matrices first; and each
cell has the same bits, however many rows are multiplied at once.
"""

from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic


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
