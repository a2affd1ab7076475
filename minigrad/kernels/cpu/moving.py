"""Copy bytes between addresses, and prefetch lines of memory.

A join has any number of operands of any dtype, and one kernel over addresses is enough for all of them.  The hardware
prefetcher cannot predict random rows, so a kernel that has the indices of the next rows prefetches them.  Only
generated modules import this file.  They contain its hash, so a change of this file changes the text, and thereby the
name, of a kernel.
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
    """Return the functions move(to, source, n) and fetch(array, at).

    move copies n bytes between addresses.  fetch prefetches array[at]: it changes no value, and the position may be
    outside the array.  With NUMBA_DISABLE_JIT=1 both are plain Python.
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
            builder.call(ask, [position, I32(0), I32(3), I32(1)])  # LLVM's codes: read access, all cache levels, data
            return context.get_dummy_value()

        return types.void(array, types.int64), codegen

    return move, fetch


def python_move(to: Any, source: Any, n: Any) -> None:
    """Copy n bytes between addresses, in Python."""
    ctypes.memmove(int(to), int(source), int(n))
