"""Loops over lanes of vectors: the register tile of depthwise convolutions, and running sums along memory.

The tile has sums of products of vectors, whose lanes are channels.  In a depthwise convolution no element is shared
between channels, so the tile of `tile.py` does not apply.  The elements of both operands are found through tables of
offsets.  For the outputs, rows are outputs and the sum is over taps; for the gradient of the weight, rows are taps and
the sum is over outputs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.extending import intrinsic

from minigrad.kernels.cpu.emitting import I32, I64, Vectors, pointer
from minigrad.kernels.cpu.tile import Tile


def sums_of_lanes(dtype: str, lanes: int, rows: int) -> Callable[..., None]:
    """Return the function lane_tile(a, pixels, depths, b, bo, bk, c, co, ldc, depth, h, add).

    It computes c[co + i * ldc + j] = the sum over k of a[pixels[i] + depths[k] + j] * b[bo + k * bk + j] for all lanes
    j and the first `h` rows i, and adds c with `add`.  `pixels` and `depths` are pairs (table, index of the first
    entry), depth is at least 1, and h at most `rows`.
    """
    if config.DISABLE_JIT:  # type: ignore[attr-defined, unused-ignore]
        return python_lanes(lanes)

    def codegen(context, builder, sig, args):  # type: ignore[no-untyped-def]
        a, b, c = (pointer(context, builder, sig, args, k) for k in (0, 3, 6))
        bo, bk, co, ldc, depth, h, add = (args[k] for k in (4, 5, 7, 8, 9, 10, 11))
        b, c = builder.gep(b, [bo]), builder.gep(c, [co])

        def entry(where: int, k: Any) -> Any:
            data = context.make_array(sig.args[where][0])(context, builder, builder.extract_value(args[where], 0)).data
            return builder.load(builder.gep(data, [builder.add(builder.extract_value(args[where], 1), k)]))

        tile = Tile(builder, dtype, lanes, rows, 1)
        starts = [builder.gep(a, [entry(1, tile.row(m, h))]) for m in range(rows)]
        sums = loop(tile, starts, lambda k: entry(2, k), lambda k: builder.gep(b, [builder.mul(k, bk)]), depth)
        one, full = tile.spread(ir.Constant(tile.vector.element, 1.0 if tile.floats else 1)), I64(lanes)
        with builder.if_else(builder.icmp_signed(">=", h, I64(rows)), likely=True) as (whole, part):
            with whole:
                tile.store(sums, c, ldc, one, add)
            with part:
                tile.store_part(sums, c, ldc, one, add, h, full)
        return context.get_dummy_value()

    @intrinsic  # type: ignore[untyped-decorator, unused-ignore]
    def lane_tile(typingctx, a, pixels, depths, b, bo, bk, c, co, ldc, depth, h, add):  # type: ignore[no-untyped-def]
        n, pair = types.intp, types.Tuple((types.int64[::1], types.intp))
        return types.void(a, pair, pair, b, n, n, c, n, n, n, n, types.boolean), codegen

    made: Callable[..., None] = lane_tile
    return made


def loop(
    tile: Tile, starts: list[Any], offset: Callable[[Any], Any], right: Callable[[Any], Any], depth: Any
) -> list[list[Any]]:
    """Emit the loop over k, and return the sum of each row."""
    builder, entry = tile.builder, tile.builder.block
    body, done = builder.append_basic_block("k"), builder.append_basic_block("done")
    builder.branch(body)
    builder.position_at_end(body)
    k = builder.phi(I64)
    sums = [builder.phi(tile.vector) for _ in starts]
    line, at = tile.load(right(k)), offset(k)
    added = [
        tile.muladd(tile.load(builder.gep(start, [at])), line, old) for start, old in zip(starts, sums, strict=True)
    ]
    following = builder.add(k, I64(1))
    for phi, start, value in ((k, I64(0), following), *((p, tile.zero, n) for p, n in zip(sums, added, strict=True))):
        phi.add_incoming(start, entry)
        phi.add_incoming(value, body)
    builder.cbranch(builder.icmp_signed("<", following, depth), body, done)
    builder.position_at_end(done)
    return [[value] for value in added]


def python_lanes(lanes: int) -> Callable[..., None]:
    """Return the same function in NumPy, so that a debugger can step through the generated module."""

    def lane_tile(a, pixels, depths, b, bo, bk, c, co, ldc, depth, h, add):  # type: ignore[no-untyped-def]
        j, (table, begin), (offsets, start) = np.arange(lanes), pixels, depths
        left = a[table[begin : begin + h, None, None] + offsets[start : start + depth, None] + j]
        total = (left * b[bo + np.arange(depth)[:, None] * bk + j]).sum(1, dtype=c.dtype)
        positions = co + np.arange(h)[:, None] * ldc + j
        c[positions] = c[positions] + total if add else total

    return lane_tile


def sums_along(lanes: int) -> Callable[..., float]:
    """Return the function add_along(x, at, z, to, count, total), which returns total + the sum of x[at : at + count].

    It stores the sums up to each element in z[to : to + count].  count is a multiple of `lanes`.  x and z are arrays of
    float32 or float64; the sums are float64.
    """
    if config.DISABLE_JIT:  # type: ignore[attr-defined, unused-ignore]
        return python_sums

    @intrinsic  # type: ignore[untyped-decorator, unused-ignore]
    def add_along(typingctx, x, at, z, to, count, total):  # type: ignore[no-untyped-def]
        def codegen(context, builder, sig, args):  # type: ignore[no-untyped-def]
            source, target = (builder.gep(pointer(context, builder, sig, args, k), [args[k + 1]]) for k in (0, 2))
            return loop_of_sums(Vectors(builder, "float64", lanes), source, target, args[4], args[5])

        n = types.intp
        return types.float64(x, n, z, n, n, types.float64), codegen

    made: Callable[..., float] = add_along
    return made


def loop_of_sums(emit: Vectors, source: Any, target: Any, count: Any, total: Any) -> Any:
    """Emit the loop over vectors, and return the last sum.

    The sums of a vector's first lanes are made in log2(lanes) steps, which add the vector shifted by 1, 2, 4 ... lanes:
    G. E. Blelloch, "Prefix sums and their applications", 1990, section 1.2.  Only the addition of the total waits for
    the previous vector, so a vector takes as long as one element in a loop over elements.
    """
    builder, lanes = emit.builder, emit.lanes
    start, entry = emit.spread(total), builder.block
    body, done = builder.append_basic_block("vector"), builder.append_basic_block("done")
    builder.cbranch(builder.icmp_signed(">", count, I64(0)), body, done)
    builder.position_at_end(body)
    i, carried = builder.phi(I64), builder.phi(emit.vector)
    kind = ir.VectorType(source.type.pointee, lanes).as_pointer()
    x = builder.load(builder.bitcast(builder.gep(source, [i]), kind), align=4)
    sums = builder.fpext(x, emit.vector) if x.type.element != emit.vector.element else x
    step = 1
    while step < lanes:
        order = [lanes] * step + list(range(lanes - step))  # lane `lanes` is the first zero
        sums = builder.fadd(sums, shuffled(builder, sums, emit.zero, order))
        step *= 2
    result = builder.fadd(sums, carried)
    cell = builder.gep(target, [i])
    kind = ir.VectorType(cell.type.pointee, lanes)
    value = builder.fptrunc(result, kind) if kind.element != emit.vector.element else result
    builder.store(value, builder.bitcast(cell, kind.as_pointer()), align=4)
    following = builder.fadd(carried, shuffled(builder, sums, emit.zero, [lanes - 1] * lanes))
    further = builder.add(i, I64(lanes))
    for phi, before, after in ((i, I64(0), further), (carried, start, following)):
        phi.add_incoming(before, entry)
        phi.add_incoming(after, body)
    builder.cbranch(builder.icmp_signed("<", further, count), body, done)
    builder.position_at_end(done)
    last = builder.phi(emit.vector)
    last.add_incoming(start, entry)
    last.add_incoming(following, body)
    return builder.extract_element(last, I32(0))


def shuffled(builder: Any, x: Any, y: Any, order: list[int]) -> Any:
    """Return the lanes of two vectors in another order."""
    return builder.shuffle_vector(x, y, ir.Constant(ir.VectorType(I32, len(order)), order))


def python_sums(x, at, z, to, count, total):  # type: ignore[no-untyped-def]
    """Add the elements one after the other, as `add_along` does with fewer roundings."""
    sums = total + np.cumsum(x[at : at + count], dtype=np.float64)
    z[to : to + count] = sums
    return sums[-1] if count else total
