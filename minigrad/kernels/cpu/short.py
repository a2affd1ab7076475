"""Sums of float32 that are rarely widened: vectors are added to each other a few times before they become float64.

Converting an element costs more than adding it.  Here eight vectors are added in float32 to one vector, which is then
widened and added to a float64 total.  Each element takes part in at most eight float32 additions, so the error is at
most 8 * 2**-24 of the sum of magnitudes, whatever the length.  Only generated modules import this file.  They contain
its hash, so a change of this file changes the text, and thereby the name, of a kernel.

Source: the bound is that of recursive summation, Higham, "Accuracy and Stability of Numerical Algorithms", 2nd ed.,
equation 4.4, for eight additions; the float64 total adds 2**-53 for each vector.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic

I1, I32, I64 = ir.IntType(1), ir.IntType(32), ir.IntType(64)
RUN = 8  # number of vectors that are added before the sum is widened
BYTES = 4  # size of a float32 in bytes


def short_sums(lanes: int) -> Callable[[Any], Any]:
    """Return the function short_sum(x), which sums a 1-d, dense array of float32 as a float64.

    The sum is inf or nan if a few of the elements are too large to be added in float32.  With NUMBA_DISABLE_JIT=1 the
    function is plain NumPy.

    lanes: the lanes of a vector, of which at most 8 are used.  With 16, memory beyond the caches is read at 16 GB/s
    instead of 31 GB/s on one core of a Zen 4, and memory in the caches is not read faster.
    """
    lanes = min(8, lanes)
    if config.DISABLE_JIT:  # type: ignore[attr-defined, unused-ignore]
        return lambda x: python_short_sum(x, lanes)

    @intrinsic  # type: ignore[untyped-decorator, unused-ignore]
    def short_sum(typingctx, x):  # type: ignore[no-untyped-def]
        def codegen(context, builder, sig, args):  # type: ignore[no-untyped-def]
            array = context.make_array(sig.args[0])(context, builder, args[0])
            n = builder.extract_value(array.shape, 0)
            return Sum(builder, lanes).emit(array.data, n)

        return types.float64(x), codegen

    made: Any = short_sum
    return made  # type: ignore[no-any-return]


class Sum:
    """Emits the LLVM loops of one short sum."""

    def __init__(self, builder: Any, lanes: int) -> None:
        self.builder, self.lanes = builder, lanes
        self.vector = ir.VectorType(ir.FloatType(), lanes)
        self.wide = ir.VectorType(ir.DoubleType(), lanes)

    def emit(self, data: Any, n: Any) -> Any:
        """Emit the loop over whole runs, and a shorter run for the other elements."""
        builder, lanes = self.builder, self.lanes
        total = cgutils.alloca_once_value(builder, ir.Constant(self.wide, None))
        rest = builder.urem(n, I64(RUN * lanes))
        whole = builder.sub(n, rest)
        with cgutils.for_range_slice(builder, I64(0), whole, I64(RUN * lanes), inc=True) as (i, _):
            line = [self.load(data, builder.add(i, I64(k * lanes))) for k in range(RUN)]
            while len(line) > 1:
                line = [builder.fadd(a, b) for a, b in zip(line[::2], line[1::2], strict=True)]
            self.widen(total, line[0])
        with builder.if_then(builder.icmp_signed(">", rest, I64(0))):
            few = cgutils.alloca_once_value(builder, ir.Constant(self.vector, None))
            odd = builder.urem(rest, I64(lanes))
            last = builder.sub(n, odd)
            with cgutils.for_range_slice(builder, whole, last, I64(lanes), inc=True) as (i, _):
                builder.store(builder.fadd(builder.load(few), self.load(data, i)), few)
            self.widen(total, builder.fadd(builder.load(few), self.load_some(data, last, odd)))
        return self.joined(builder.load(total))

    def pointer(self, data: Any, at: Any) -> Any:
        return self.builder.bitcast(self.builder.gep(data, [at]), self.vector.as_pointer())

    def load(self, data: Any, at: Any) -> Any:
        return self.builder.load(self.pointer(data, at), align=BYTES)

    def load_some(self, data: Any, at: Any, count: Any) -> Any:
        """Load `count` lanes; the others are zero, and their memory is not read."""
        builder, mask = self.builder, ir.VectorType(I1, self.lanes)
        counts = builder.insert_element(ir.Constant(ir.VectorType(I64, self.lanes), ir.Undefined), count, I32(0))
        spread = builder.shuffle_vector(counts, counts, ir.Constant(ir.VectorType(I32, self.lanes), None))
        numbers = ir.Constant(ir.VectorType(I64, self.lanes), [I64(k) for k in range(self.lanes)])
        there = builder.icmp_signed("<", numbers, spread)
        kind = ir.FunctionType(self.vector, [self.vector.as_pointer(), I32, mask, self.vector])
        name = f"llvm.masked.load.v{self.lanes}f32.p0"
        load = cgutils.get_or_insert_function(builder.module, kind, name)
        return builder.call(load, [self.pointer(data, at), I32(BYTES), there, ir.Constant(self.vector, None)])

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
