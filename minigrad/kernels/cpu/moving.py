"""Bytes moved from address to address, and lines of memory that are prefetched.

A join has any number of operands of any dtype: one kernel over addresses serves them all.  The hardware prefetcher
cannot predict random rows, so a kernel that has the next rows prefetches them.  Only generated modules import this
file; they carry its hash, because the text identifies a kernel.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic

I32 = ir.IntType(32)
BYTES = ir.IntType(8).as_pointer()


def movers() -> tuple[Callable[..., None], Callable[..., None]]:
    """move(to, source, n): n bytes from one address to another; fetch(array, at): array[at] is read soon.

    A fetch changes nothing and may name a place that is not there.  With NUMBA_DISABLE_JIT=1 both are plain Python.
    """
    if config.DISABLE_JIT:  # type: ignore[attr-defined, unused-ignore]
        return python_move, lambda array, at: None

    @intrinsic  # type: ignore[untyped-decorator, unused-ignore]
    def move(typingctx, to, source, n):  # type: ignore[no-untyped-def]
        def codegen(context, builder, sig, args):  # type: ignore[no-untyped-def]
            positions = [builder.inttoptr(address, BYTES) for address in args[:2]]
            cgutils.raw_memcpy(builder, *positions, args[2], 1)
            return context.get_dummy_value()

        return types.void(types.int64, types.int64, types.int64), codegen

    @intrinsic  # type: ignore[untyped-decorator, unused-ignore]
    def fetch(typingctx, array, at):  # type: ignore[no-untyped-def]
        def codegen(context, builder, sig, args):  # type: ignore[no-untyped-def]
            data = context.make_array(sig.args[0])(context, builder, args[0]).data
            position = builder.bitcast(builder.gep(data, [args[1]]), BYTES)
            kind = ir.FunctionType(ir.VoidType(), [BYTES, I32, I32, I32])
            ask = builder.module.declare_intrinsic("llvm.prefetch", [BYTES], kind)
            builder.call(ask, [position, I32(0), I32(3), I32(1)])  # to read, to keep near, data
            return context.get_dummy_value()

        return types.void(array, types.int64), codegen

    return move, fetch


def python_move(to: Any, source: Any, n: Any) -> None:
    """`move` in Python."""
    ctypes.memmove(int(to), int(source), int(n))
