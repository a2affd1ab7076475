"""Conversions between float16 and float32 with the machine's own instructions, if it has them.

Numba has no float16 arithmetic on a CPU, but LLVM has the conversions.  x86 with F16C or AVX-512, and every 64-bit Arm,
convert a vector of float16 in one instruction; the integer arithmetic of `kernels/half.py` needs twenty.  Other
machines compile that arithmetic.  Only generated modules import this file.  They contain its hash, so a change of this
file changes the text, and thereby the name, of a kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import binding, ir
from numba import config, njit, types
from numba.extending import intrinsic

from minigrad.kernels import half
from minigrad.kernels.cpu.processor import features


def converters() -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """Return the functions half_to_float and float_to_half.

    The first converts uint16 bits to float32, the second float32 to uint16 bits, to nearest, with ties to even.  nan
    stays nan, but its payload may differ from that of `kernels/half.py`.
    """
    if not has_instructions():
        compiled: Any = njit(error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)  # type: ignore[call-overload, unused-ignore]
        return compiled(half.half_to_float), compiled(half.float_to_half)

    @intrinsic  # type: ignore[untyped-decorator, unused-ignore]
    def half_to_float(typingctx, h):  # type: ignore[no-untyped-def]
        def codegen(context, builder, sig, args):  # type: ignore[no-untyped-def]
            return builder.fpext(builder.bitcast(args[0], ir.HalfType()), ir.FloatType())

        return types.float32(types.uint16), codegen

    @intrinsic  # type: ignore[untyped-decorator, unused-ignore]
    def float_to_half(typingctx, x):  # type: ignore[no-untyped-def]
        def codegen(context, builder, sig, args):  # type: ignore[no-untyped-def]
            return builder.bitcast(builder.fptrunc(args[0], ir.HalfType()), ir.IntType(16))

        return types.uint16(types.float32), codegen

    pair: Any = (half_to_float, float_to_half)
    made: tuple[Callable[[Any], Any], Callable[[Any], Any]] = pair
    return made


def has_instructions() -> bool:
    """Return whether this machine converts float16 itself; False with NUMBA_DISABLE_JIT=1 (plain Python)."""
    if config.DISABLE_JIT:  # type: ignore[attr-defined, unused-ignore]
        return False
    return "f16c" in features() or binding.get_default_triple().startswith("aarch64")
