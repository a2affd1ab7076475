"""Sums of float32 that are rarely widened: vectors are added to each other a few times before they become float64.

Converting an element costs more than adding it.  Here eight vectors are added in float32 to one vector, which is then
widened and added to a float64 total.  Each element takes part in at most eight float32 additions, so the error is at
most 8 * 2**-24 of the sum of magnitudes, whatever the length.  Only generated modules import this file.  They contain
its hash, so a change of this file changes the text, and thereby the name, of a kernel.

Source: the bound is that of recursive summation, Higham, "Accuracy and Stability of Numerical Algorithms", 2nd ed.,
equation 4.4, for eight additions; the float64 total adds 2**-53 for each vector.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic

from minigrad.kernels.cpu.emitting import I1, I32, I64, pointer

RUN = 8  # number of vectors that are added before the sum is widened
BYTES = 4  # size of a float32 in bytes


def short_sums(lanes: int) -> Callable[..., Any]:
    """Return the function short_sum(x, at, n), which sums x[at : at + n] as a float64; x has dense elements of float32.

    The sum is inf or nan if a few of the elements are too large to be added in float32.  With NUMBA_DISABLE_JIT=1 the
    function is plain NumPy.

    lanes: the lanes of a vector, of which at most 8 are used.  With 16, memory beyond the caches is read at 16 GB/s
    instead of 31 GB/s on one core of a Zen 4, and memory in the caches is not read faster.
    """
    lanes = min(8, lanes)
    if config.DISABLE_JIT:  # type: ignore[attr-defined, unused-ignore]
        return lambda x, at, n: python_short_sum(x[at : at + n], lanes)

    @intrinsic  # type: ignore[untyped-decorator, unused-ignore]
    def short_sum(typingctx, x, at, n):  # type: ignore[no-untyped-def]
        def codegen(context, builder, sig, args):  # type: ignore[no-untyped-def]
            data = builder.gep(pointer(context, builder, sig, args, 0), [args[1]])
            return Sum(builder, lanes).emit(data, args[2])

        return types.float64(x, types.intp, types.intp), codegen

    made: Callable[..., Any] = short_sum
    return made


def sums_of_rows(lanes: int) -> Callable[..., None]:
    """Return the function add_rows(acc, x, at, step, count), which adds rows of float32 to a row of float64.

    The rows begin at x[at], x[at + step] and so on, and are as long as acc.  The sum of eight rows is widened only
    once: each element takes part in three float32 additions, so the error is at most 3 * 2**-24 of the sum of
    magnitudes.  If a sum overflows, its element of acc is not finite from then on.
    """
    lanes = min(8, lanes)
    if config.DISABLE_JIT:  # type: ignore[attr-defined, unused-ignore]
        return python_add_rows

    @intrinsic  # type: ignore[untyped-decorator, unused-ignore]
    def add_rows(typingctx, acc, x, at, step, count):  # type: ignore[no-untyped-def]
        def codegen(context, builder, sig, args):  # type: ignore[no-untyped-def]
            array = context.make_array(sig.args[0])(context, builder, args[0])
            data = builder.gep(pointer(context, builder, sig, args, 1), [args[2]])
            Sum(builder, lanes).add_rows(array.data, builder.extract_value(array.shape, 0), data, *args[3:])
            return context.get_dummy_value()

        n = types.intp
        return types.void(acc, x, n, n, n), codegen

    made: Callable[..., None] = add_rows
    return made


class Sum:
    """Emits the LLVM loops of one short sum."""

    def __init__(self, builder: Any, lanes: int) -> None:
        self.builder, self.lanes = builder, lanes
        self.vector = ir.VectorType(ir.FloatType(), lanes)
        self.wide = ir.VectorType(ir.DoubleType(), lanes)

    def emit(self, data: Any, n: Any) -> Any:
        """Emit the loop over whole runs, and shorter runs for the other elements."""
        builder, lanes = self.builder, self.lanes
        total = cgutils.alloca_once_value(builder, ir.Constant(self.wide, None))
        rest = builder.urem(n, I64(RUN * lanes))
        whole = builder.sub(n, rest)
        with cgutils.for_range_slice(builder, I64(0), whole, I64(RUN * lanes), inc=True) as (i, _):
            self.widen(total, self.run(data, i, RUN))
        with builder.if_then(builder.icmp_signed(">", rest, I64(0))):
            few, at = (cgutils.alloca_once_value(builder, start) for start in (ir.Constant(self.vector, None), whole))
            for count in (4, 2, 1):
                with builder.if_then(builder.icmp_signed("!=", builder.and_(rest, I64(count * lanes)), I64(0))):
                    builder.store(builder.fadd(builder.load(few), self.run(data, builder.load(at), count)), few)
                    builder.store(builder.add(builder.load(at), I64(count * lanes)), at)
            odd = builder.urem(rest, I64(lanes))
            self.widen(total, builder.fadd(builder.load(few), self.load_some(data, builder.load(at), odd)))
        return self.joined(builder.load(total))

    def add_rows(self, acc: Any, n: Any, data: Any, step: Any, count: Any) -> None:
        """Emit the loops that add rows of n elements to n sums: eight together, and the rest as 4, 2 and 1."""
        builder = self.builder

        def together(size: int, first: Any) -> None:
            starts = [builder.mul(step, builder.add(first, I64(k))) for k in range(size)]
            self.add_together(acc, n, [builder.gep(data, [start]) for start in starts])

        rest = builder.urem(count, I64(RUN))
        with cgutils.for_range_slice(builder, I64(0), builder.sub(count, rest), I64(RUN), inc=True) as (i, _):
            together(RUN, i)
        for size in (4, 2, 1):
            with builder.if_then(builder.icmp_signed("!=", builder.and_(rest, I64(size)), I64(0))):
                together(size, builder.and_(count, I64(-2 * size)))

    def add_together(self, acc: Any, n: Any, rows: list[Any]) -> None:
        """Emit the loops that add a few rows of n elements to n sums.

        The last vector of a row overlaps the one before it, and its first lanes add zero.  It comes first, so that the
        vector before it is not loaded while it is being stored.  Rows shorter than a vector are added one by one.
        """
        builder, lanes = self.builder, self.lanes
        odd = builder.urem(n, I64(lanes))
        with builder.if_else(builder.icmp_signed(">=", n, I64(lanes)), likely=True) as (long, short):
            with long:
                with builder.if_then(builder.icmp_signed(">", odd, I64(0))):
                    self.add_at(acc, rows, builder.sub(n, I64(lanes)), self.last(odd))
                with cgutils.for_range_slice(builder, I64(0), builder.sub(n, odd), I64(lanes), inc=True) as (i, _):
                    self.add_at(acc, rows, i)
            with short, cgutils.for_range(builder, n) as loop:
                sums = builder.gep(acc, [loop.index])
                more = self.tree([builder.load(builder.gep(row, [loop.index])) for row in rows])
                builder.store(builder.fadd(builder.load(sums), builder.fpext(more, ir.DoubleType())), sums)

    def add_at(self, acc: Any, rows: list[Any], at: Any, there: Any = None) -> None:
        """Add one vector of each row to the sums, only in the lanes `there` if they are given."""
        builder = self.builder
        value = self.tree([self.load(row, at) for row in rows])
        if there is not None:
            value = builder.select(there, value, ir.Constant(self.vector, None))
        sums = builder.bitcast(builder.gep(acc, [at]), self.wide.as_pointer())
        total = builder.fadd(builder.load(sums, align=2 * BYTES), builder.fpext(value, self.wide))
        builder.store(total, sums, align=2 * BYTES)

    def run(self, data: Any, at: Any, count: int) -> Any:
        """Return the sum of `count` vectors from data[at] on."""
        return self.tree([self.load(data, self.builder.add(at, I64(k * self.lanes))) for k in range(count)])

    def tree(self, line: list[Any]) -> Any:
        """Return the sum of a power of two of values: of pairs, of pairs of their sums, and so on."""
        while len(line) > 1:
            line = [self.builder.fadd(a, b) for a, b in zip(line[::2], line[1::2], strict=True)]
        return line[0]

    def pointer(self, data: Any, at: Any) -> Any:
        return self.builder.bitcast(self.builder.gep(data, [at]), self.vector.as_pointer())

    def load(self, data: Any, at: Any) -> Any:
        return self.builder.load(self.pointer(data, at), align=BYTES)

    def load_some(self, data: Any, at: Any, count: Any) -> Any:
        """Load `count` lanes; the others are zero, and their memory is not read."""
        builder, mask = self.builder, ir.VectorType(I1, self.lanes)
        there = self.lanes_from(count, range(self.lanes))
        kind = ir.FunctionType(self.vector, [self.vector.as_pointer(), I32, mask, self.vector])
        name = f"llvm.masked.load.v{self.lanes}f32.p0"
        load = cgutils.get_or_insert_function(builder.module, kind, name)
        return builder.call(load, [self.pointer(data, at), I32(BYTES), there, ir.Constant(self.vector, None)])

    def last(self, count: Any) -> Any:
        """Return the mask of the last `count` lanes."""
        return self.lanes_from(count, range(self.lanes - 1, -1, -1))

    def lanes_from(self, count: Any, numbers: Sequence[int]) -> Any:
        """Return the mask of the lanes whose number is less than `count`."""
        builder = self.builder
        kind = ir.VectorType(I32, self.lanes)  # as wide as an element, so that the comparison is one instruction
        counts = builder.insert_element(ir.Constant(kind, ir.Undefined), builder.trunc(count, I32), I32(0))
        spread = builder.shuffle_vector(counts, counts, ir.Constant(kind, None))
        return builder.icmp_signed("<", ir.Constant(kind, [I32(k) for k in numbers]), spread)

    def widen(self, total: Any, value: Any) -> None:
        """Add value to total, in float64."""
        builder = self.builder
        builder.store(builder.fadd(builder.load(total), builder.fpext(value, self.wide)), total)

    def joined(self, value: Any) -> Any:
        """Return the sum of all lanes: the upper half is added to the lower one, repeatedly."""
        builder, width = self.builder, self.lanes
        while width > 1:
            width //= 2
            low, high = ([I32(k) for k in range(first, first + width)] for first in (0, width))
            kind = ir.VectorType(I32, width)
            halves = (builder.shuffle_vector(value, value, ir.Constant(kind, half)) for half in (low, high))
            value = builder.fadd(*halves)
        return builder.extract_element(value, I32(0))


def python_add_rows(acc: Any, x: Any, at: int, step: int, count: int) -> None:
    """Add rows to acc, in NumPy."""
    rows = np.lib.stride_tricks.as_strided(x[at:], (count, len(acc)), (step * x.itemsize, x.itemsize))
    for start in range(0, count, RUN):
        line = np.zeros((RUN, len(acc)), np.float32)
        line[: count - start] = rows[start : start + RUN]
        while len(line) > 1:
            line = line[::2] + line[1::2]
        acc += line[0]


def python_short_sum(x: Any, lanes: int) -> Any:
    """Return the sum of x as a float64, in NumPy."""
    total = np.zeros(lanes)
    for start in range(0, len(x), RUN * lanes):
        run = np.zeros(RUN * lanes, np.float32)
        piece = x[start : start + RUN * lanes]
        run[: len(piece)] = piece
        line = run.reshape(RUN, lanes)
        while len(line) > 1:
            line = line[::2] + line[1::2]
        total += line[0]
    while len(total) > 1:
        total = total[: len(total) // 2] + total[len(total) // 2 :]
    return total[0]
