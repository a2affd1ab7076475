"""The rank of a word among eight neighbours, by one comparison of vectors.

A loop over the neighbours would need an addition for each of them.  Only generated modules import this file, as they
import `emitting.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import config, types
from numba.extending import intrinsic

from minigrad.kernels.cpu.emitting import I32, I64, pointer

NEIGHBOURS = 8


def ranks() -> Callable[..., Any]:
    """Return the function rank(words, at, word): how many of words[at : at + 8] are less than `word`, all uint64."""
    if config.DISABLE_JIT:  # type: ignore[attr-defined, unused-ignore]
        return lambda words, at, word: int((words[at : at + NEIGHBOURS] < word).sum())

    @intrinsic  # type: ignore[untyped-decorator, unused-ignore]
    def rank(typingctx, words, at, word):  # type: ignore[no-untyped-def]
        def codegen(context, builder, sig, args):  # type: ignore[no-untyped-def]
            vector = ir.VectorType(I64, NEIGHBOURS)
            start = builder.gep(pointer(context, builder, sig, args, 0), [args[1]])
            line = builder.load(builder.bitcast(start, vector.as_pointer()), align=8)
            unset = ir.Constant(vector, ir.Undefined)
            one = builder.insert_element(unset, args[2], I32(0))
            every = builder.shuffle_vector(one, unset, ir.Constant(ir.VectorType(I32, NEIGHBOURS), [0] * NEIGHBOURS))
            less = builder.bitcast(builder.icmp_unsigned("<", line, every), ir.IntType(NEIGHBOURS))
            return builder.zext(builder.ctpop(less), I64)

        return types.int64(words, types.intp, types.uint64), codegen

    made: Callable[..., Any] = rank
    return made
