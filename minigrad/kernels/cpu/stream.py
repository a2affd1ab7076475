"""Stores that bypass the caches, for a result so large that the caches drop it before it is read.

An ordinary store reads its line of memory first.  A row that is computed in a scratch row and then streamed avoids that
read, which is a third of softmax's memory traffic.  Such stores are weakly ordered, so each thread calls `settle` after
its last one.  Only generated modules import this file.  They contain its hash, so a change of this file changes the
text, and thereby the name, of a kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic

I64 = ir.IntType(64)
LINE = 64  # bytes of a cache line, and of the vector that is stored at once if the machine has such vectors


def streams(itemsize: int) -> tuple[Callable[..., None], Callable[..., None]]:
    """Return stream(out, at, row, n), which stores row[:n] in out[at : at + n] without the caches, and settle().

    settle() waits until all such stores are complete.  Both arrays are 1-d, dense and of one dtype of this size.  With
    NUMBA_DISABLE_JIT=1 the functions are plain NumPy.
    """
    if config.DISABLE_JIT:  # type: ignore[attr-defined, unused-ignore]
        return python_stream, lambda: None
    lanes = LINE // itemsize

    @intrinsic  # type: ignore[untyped-decorator, unused-ignore]
    def stream(typingctx, out, at, row, n):  # type: ignore[no-untyped-def]
        def codegen(context, builder, sig, args):  # type: ignore[no-untyped-def]
            to, source = (context.make_array(sig.args[k])(context, builder, args[k]).data for k in (0, 2))
            to, n = builder.gep(to, [args[1]]), args[3]
            # Only whole cache lines are streamed; ordinary stores write the elements before and after them.
            odd = builder.and_(builder.neg(builder.ptrtoint(to, I64)), I64(LINE - 1))
            head = builder.udiv(odd, I64(itemsize))
            head = builder.select(builder.icmp_signed("<", head, n), head, n)
            tail = builder.sub(n, builder.urem(builder.sub(n, head), I64(lanes)))
            copy(builder, to, source, I64(0), head)
            vector = ir.VectorType(source.type.pointee, lanes)
            with cgutils.for_range_slice(builder, head, tail, I64(lanes), inc=True) as (i, _):
                value = builder.load(builder.bitcast(builder.gep(source, [i]), vector.as_pointer()), align=itemsize)
                store = builder.store(value, builder.bitcast(builder.gep(to, [i]), vector.as_pointer()), align=LINE)
                store.set_metadata("nontemporal", builder.module.add_metadata([ir.IntType(32)(1)]))
            copy(builder, to, source, tail, n)
            return context.get_dummy_value()

        return types.void(out, types.intp, row, types.intp), codegen

    @intrinsic  # type: ignore[untyped-decorator, unused-ignore]
    def settle(typingctx):  # type: ignore[no-untyped-def]
        def codegen(context, builder, sig, args):  # type: ignore[no-untyped-def]
            builder.fence("seq_cst")
            return context.get_dummy_value()

        return types.void(), codegen

    return stream, settle


def copy(builder: Any, to: Any, source: Any, start: Any, stop: Any) -> None:
    """Store source[start:stop] in to[start:stop], one element at a time."""
    with cgutils.for_range_slice(builder, start, stop, I64(1), inc=True) as (i, _):
        builder.store(builder.load(builder.gep(source, [i])), builder.gep(to, [i]))


def python_stream(out: Any, at: int, row: Any, n: int) -> None:
    """Store row[:n] in out[at : at + n], in NumPy."""
    out[at : at + n] = row[:n]
