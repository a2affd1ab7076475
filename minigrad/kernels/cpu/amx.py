"""The tiles of AMX, Intel's matrix extension: the loads, products and stores that Numba cannot compile from Python.

A tile is one of eight registers of 16 rows of 64 bytes.  A left tile has 16 rows of 32 bfloat16, and a right tile has
16 rows of 16 pairs of bfloat16, the elements of rows 2k and 2k + 1 of the operand.  One instruction adds their product
to a tile of 16x16 float32.  Four tiles of sums, two left tiles and two right tiles compute a block of SIDE x SIDE
elements.  A thread must configure the tiles before it uses them, and a process without the permission of the operating
system ends at the first use: `processor.py` requests this permission.  Only generated modules import this
file.  They contain its hash, so a change of this file changes the text, and thereby the name, of a kernel.

Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 1, chapter 18 ("Programming with Intel
Advanced Matrix Extensions"), and volume 2, LDTILECFG and TDPBF16PS.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic

from minigrad.kernels.cpu.emitting import I32, I64, Bfloat, Vectors, pointer
from minigrad.kernels.cpu.tile import sums_of_pairs
from minigrad.kernels.cpu.vectors import turned
from minigrad.kernels.half import float_to_bfloat

I8 = ir.IntType(8)
SIDE, ROWS, TILE = 32, 16, 512  # rows of a block, rows of a tile, elements of a tile
# Palette 1; 64 bytes in each row of each of the eight tiles, as 16-bit numbers; 16 rows in each tile.
CONFIGURATION = bytes([1, *[0] * 15, *[64, 0] * 8, *[0] * 16, *[ROWS] * 8, *[0] * 8])
Functions = tuple[Callable[..., Any], ...]


def tile_functions() -> Functions:
    """Return configure(), release(), pack_tile(...), add_block(...) and store_block(...).

    configure, release: allow this thread to use tiles, and end this.

    pack_tile(x, at, across, along, z, to, width, depth, left): z[to:] is the left or the right tile of the bfloat16
    x[at + j * across + k * along] with j < width and k < depth, and zeros; one of the two steps is 1.

    add_block(a, at, step, pitch, b, bt, depth, sums, to, more): sums[to:], a block, is the product of `depth` pairs of
    tiles, added to the stored sums with `more`.  The right tiles begin at b[bt].  The left tiles begin at a[at] and are
    `step` apart; the rows of a tile are `pitch` apart, and the second one of a pair has the rows after the first one.

    store_block(sums, at, c, ca, cm, out, to, pitch, h, w, alpha, beta, more): store alpha * sums, h rows and w columns,
    in out[to:], whose rows are `pitch` apart; with `more`, add beta * c, whose rows are `cm` apart.  c and out are both
    bfloat16 or both float32.

    With NUMBA_DISABLE_JIT=1 the functions are plain NumPy.
    """
    if config.DISABLE_JIT:  # type: ignore[attr-defined, unused-ignore]
        return python_functions()
    return tuple(intrinsic(each) for each in (_configure, _release, _pack_tile, _add_block, _store_block))


def tile_call(builder: Any, name: str, *arguments: Any) -> None:
    """Emit the instruction of a tile; integers are the numbers of tiles."""
    values = [I8(x) if isinstance(x, int) else x for x in arguments]
    kind = ir.FunctionType(ir.VoidType(), [x.type for x in values])
    builder.call(cgutils.get_or_insert_function(builder.module, kind, f"llvm.x86.{name}"), values)


def _configure(typingctx):  # type: ignore[no-untyped-def]
    def codegen(context, builder, sig, args):  # type: ignore[no-untyped-def]
        kept = cgutils.global_constant(builder, "tiles", ir.Constant(ir.ArrayType(I8, 64), bytearray(CONFIGURATION)))
        tile_call(builder, "ldtilecfg", builder.bitcast(kept, I8.as_pointer()))
        return context.get_dummy_value()

    return types.void(), codegen


def _release(typingctx):  # type: ignore[no-untyped-def]
    def codegen(context, builder, sig, args):  # type: ignore[no-untyped-def]
        tile_call(builder, "tilerelease")
        return context.get_dummy_value()

    return types.void(), codegen


def _pack_tile(typingctx, x, at, across, along, z, to, width, depth, left):  # type: ignore[no-untyped-def]
    def codegen(context, builder, sig, args):  # type: ignore[no-untyped-def]
        source, target = (builder.gep(pointer(context, builder, sig, args, k), [args[k + 1]]) for k in (0, 4))
        across, along, width, depth, left = (args[k] for k in (2, 3, 6, 7, 8))

        def store(lines: list[Any]) -> None:
            for k, line in enumerate(lines):
                cell = builder.bitcast(builder.gep(target, [I64(k * SIDE)]), line.type.as_pointer())
                builder.store(line, cell, align=2)

        def store_either(lines: list[Any], is_turned: Any) -> None:
            with builder.if_else(is_turned) as (turn, keep):
                with turn:
                    store(turned(builder, list(lines), ROWS))
                with keep:
                    store(lines)

        with builder.if_else(builder.icmp_signed("==", along, I64(1))) as (dense_columns, dense_rows):
            with dense_columns:
                store_either(pairs_in_columns(builder, source, across, width, depth), builder.not_(left))
            with dense_rows:
                store_either(pairs_in_rows(builder, source, along, width, depth), left)
        return context.get_dummy_value()

    n = types.intp
    return types.void(x, n, n, n, z, n, n, n, types.boolean), codegen


def pairs_in_columns(builder: Any, source: Any, step: Any, width: Any, depth: Any) -> list[Any]:
    """Load the first `depth` elements of each of the first `width` columns, which are dense, as pairs."""
    vectors, some = Vectors(builder, "int16", SIDE), first_bits(builder, depth, SIDE)
    lines = []
    for j in range(ROWS):
        mask = if_within(builder, j, width, some, vectors.mask)
        line = vectors.load_masked(builder.gep(source, [builder.mul(step, I64(j))]), mask)
        lines.append(builder.bitcast(line, ir.VectorType(I32, ROWS)))
    return lines


def pairs_in_rows(builder: Any, source: Any, step: Any, width: Any, depth: Any) -> list[Any]:
    """Load the first `width` elements of each of the first `depth` rows, which are dense; two rows make pairs."""
    vectors, some = Vectors(builder, "int16", ROWS), first_bits(builder, width, ROWS)
    order = ir.Constant(ir.VectorType(I32, SIDE), [k // 2 + k % 2 * ROWS for k in range(SIDE)])
    lines = []
    for k in range(0, SIDE, 2):
        both = []
        for row in (k, k + 1):
            mask = if_within(builder, row, depth, some, vectors.mask)
            both.append(vectors.load_masked(builder.gep(source, [builder.mul(step, I64(row))]), mask))
        lines.append(builder.bitcast(builder.shuffle_vector(*both, order), ir.VectorType(I32, ROWS)))
    return lines


def first_bits(builder: Any, count: Any, lanes: int) -> Any:
    """Return an integer of `lanes` bits, whose lowest `count` bits are set."""
    low = builder.select(builder.icmp_signed("<", count, I64(0)), I64(0), count)
    bits = builder.sub(builder.shl(I64(1), low), I64(1))
    every = builder.icmp_signed(">=", count, I64(lanes))
    return builder.trunc(builder.select(every, I64((1 << lanes) - 1), bits), ir.IntType(lanes))


def if_within(builder: Any, k: int, count: Any, bits: Any, mask: Any) -> Any:
    """Return bits as a mask if k is less than `count`, or an empty mask."""
    inside = builder.icmp_signed(">", count, I64(k))
    return builder.bitcast(builder.select(inside, bits, ir.Constant(bits.type, 0)), mask)


def _add_block(typingctx, a, at, step, pitch, b, bt, depth, sums, to, more):  # type: ignore[no-untyped-def]
    def codegen(context, builder, sig, args):  # type: ignore[no-untyped-def]
        left, right, block = (
            builder.bitcast(builder.gep(pointer(context, builder, sig, args, k), [args[k + 1]]), I8.as_pointer())
            for k in (0, 4, 7)
        )
        step, pitch, depth, more = args[2], builder.mul(args[3], I64(2)), args[6], args[9]
        line = I64(4 * SIDE)  # bytes of a row of the block
        corners = [builder.gep(block, [I64(4 * SIDE * ROWS * (k // 2) + 64 * (k % 2))]) for k in range(4)]
        with builder.if_else(more) as (again, anew):
            with again:
                for k, corner in enumerate(corners):
                    tile_call(builder, "tileloadd64", k, corner, line)
            with anew:
                for k in range(4):
                    tile_call(builder, "tilezero", k)
        with cgutils.for_range(builder, depth, intp=I64) as loop:
            upper = builder.gep(left, [builder.mul(loop.index, builder.mul(step, I64(2)))])
            under = builder.gep(upper, [builder.mul(pitch, I64(ROWS))])
            first = builder.gep(right, [builder.mul(loop.index, I64(4 * TILE))])
            second = builder.gep(first, [I64(2 * TILE)])
            dense = I64(2 * SIDE)
            for tile, source, row in ((4, upper, pitch), (6, first, dense), (7, second, dense), (5, under, pitch)):
                tile_call(builder, "tileloadd64", tile, source, row)
            for k in range(4):
                tile_call(builder, "tdpbf16ps", k, 4 + k // 2, 6 + k % 2)
        for k, corner in enumerate(corners):
            tile_call(builder, "tilestored64", k, corner, line)
        return context.get_dummy_value()

    n = types.intp
    return types.void(a, n, n, n, b, n, n, sums, n, types.boolean), codegen


def _store_block(  # type: ignore[no-untyped-def]
    typingctx, sums, at, c, ca, cm, out, to, pitch, h, w, alpha, beta, more
):
    def codegen(context, builder, sig, args):  # type: ignore[no-untyped-def]
        block, added, target = (builder.gep(pointer(context, builder, sig, args, k), [args[k + 1]]) for k in (0, 2, 5))
        cm, pitch, h, w, more = (args[k] for k in (4, 7, 8, 9, 12))
        floats, stored = Vectors(builder, "float32", ROWS), Vectors(builder, "int16", SIDE)
        alpha, beta = floats.spread(args[10]), floats.spread(args[11])
        bits = first_bits(builder, w, SIDE)
        mask = builder.bitcast(bits, stored.mask)
        parts = [builder.trunc(builder.lshr(bits, ir.Constant(I32, v)), ir.IntType(ROWS)) for v in (0, ROWS)]
        halves = [(v, builder.bitcast(part, floats.mask)) for v, part in zip((0, ROWS), parts, strict=True)]
        is_wide = sig.args[5].dtype == types.float32

        def load(line: Any) -> list[Any]:
            if is_wide:
                return [floats.load_masked(builder.gep(line, [I64(v)]), half) for v, half in halves]
            return floats_of(builder, stored.load_masked(line, mask))

        def store(line: list[Any], cell: Any) -> None:
            if not is_wide:
                stored.store_masked(builder.bitcast(to_bfloats(builder, *line), stored.vector), cell, mask)
            for (v, half), x in zip(halves if is_wide else (), line):
                floats.store_masked(x, builder.gep(cell, [I64(v)]), half)

        def row(k: Any, adds: bool) -> None:
            start = builder.gep(block, [builder.mul(k, I64(SIDE))])
            line = [builder.fmul(alpha, floats.load(builder.gep(start, [I64(v)]))) for v in (0, ROWS)]
            if adds:
                more = load(builder.gep(added, [builder.mul(k, cm)]))
                line = [builder.fadd(x, builder.fmul(beta, y)) for x, y in zip(line, more, strict=True)]
            store(line, builder.gep(target, [builder.mul(k, pitch)]))

        with builder.if_else(more) as cases:
            for adds, case in zip((True, False), cases, strict=True):
                with case, cgutils.for_range(builder, h, intp=I64) as loop:
                    row(loop.index, adds)
        return context.get_dummy_value()

    n, real = types.intp, types.float32
    return types.void(sums, n, c, n, n, out, n, n, n, n, real, real, types.boolean), codegen


def floats_of(builder: Any, bits: Any) -> list[Any]:
    """Return the bits of 32 bfloat16 as two vectors of float32."""
    halves, kind = [], ir.VectorType(I32, ROWS)
    for start in (0, ROWS):
        half = builder.shuffle_vector(bits, bits, ir.Constant(kind, [start + k for k in range(ROWS)]))
        upper = builder.shl(builder.zext(half, kind), ir.Constant(kind, [16] * ROWS))
        halves.append(builder.bitcast(upper, ir.VectorType(ir.FloatType(), ROWS)))
    return halves


def to_bfloats(builder: Any, low: Any, high: Any) -> Any:
    """Return 32 bfloat16, rounded to nearest even, from two vectors of float32."""
    kind = ir.FunctionType(ir.VectorType(Bfloat(), SIDE), [high.type, low.type])
    name = f"llvm.x86.avx512bf16.cvtne2ps2bf16.{32 * ROWS}"
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), [high, low])


def python_functions() -> Functions:
    """Return the functions of `tile_functions` in NumPy, so that a debugger can step through the generated module."""

    def pack_tile(x, at, across, along, z, to, width, depth, left):  # type: ignore[no-untyped-def]
        elements = np.zeros((ROWS, SIDE), np.uint16)
        j, k = np.arange(max(0, min(width, ROWS)))[:, None], np.arange(max(0, min(depth, SIDE)))
        elements[: len(j), : len(k)] = x[at + j * across + k * along]
        pairs = elements.reshape(ROWS, ROWS, 2)
        z[to : to + TILE] = (pairs if left else pairs.swapaxes(0, 1)).reshape(-1)

    def add_block(a, at, step, pitch, b, bt, depth, sums, to, more):  # type: ignore[no-untyped-def]
        block = sums[to : to + SIDE * SIDE].reshape(SIDE, SIDE)
        block[:] = block if more else 0
        lines = np.arange(ROWS)[:, None] * pitch + np.arange(SIDE)
        for k in range(depth):
            left = [a[at + k * step + i * ROWS * pitch + lines] for i in (0, 1)]
            right = [b[bt + (2 * k + j) * TILE :][:TILE].reshape(ROWS, SIDE) for j in (0, 1)]
            words = [[x.copy().view(np.int32) for x in each] for each in (left, right)]
            block += np.block([[sums_of_pairs(x, y) for y in words[1]] for x in words[0]])

    def store_block(sums, at, c, ca, cm, out, to, pitch, h, w, alpha, beta, more):  # type: ignore[no-untyped-def]
        i, j = np.arange(min(h, SIDE))[:, None], np.arange(min(w, SIDE))
        values = alpha * sums[at + i * SIDE + j]
        is_wide = out.dtype == np.float32
        if more:
            added = c[ca + i * cm + j]
            values = values + beta * (added if is_wide else (added.astype(np.uint32) << np.uint32(16)).view(np.float32))
        out[to + i * pitch + j] = values if is_wide else np.vectorize(float_to_bfloat, otypes=[np.uint16])(values)

    return lambda: None, lambda: None, pack_tile, add_block, store_block
