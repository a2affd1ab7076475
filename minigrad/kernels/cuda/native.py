"""Instructions that kernels are given by name: wide loads and stores, conversions of halves, atomic additions.

They are Numba's intrinsics, which numba-cuda compiles too.  A kernel's text carries the hash of this file; the
simulator gives the same names to the kernels that it runs (`backends/cuda/words.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

I32 = ir.IntType(32)
WIDTHS = (2, 4, 8, 16)  # elements of one load or store, of 16 bytes at most


def natives() -> dict[str, Any]:
    """The names and what they are.

    load_W(p, i): the elements p[i] to p[i + W - 1] as a tuple, by one load; their address is a multiple of their size.
    store_W(p, i, values): the same the other way.
    half_to_float(h), float_to_half(x): the machine's own conversions of the bits of a float16.
    atomic_add(p, i, x): p[i] += x in one step, whoever else does so.
    """
    found: dict[str, Any] = {}
    for width in WIDTHS:
        found[f"load_{width}"], found[f"store_{width}"] = loader(width), storer(width)
    found |= {"half_to_float": intrinsic(_half_to_float), "float_to_half": intrinsic(_float_to_half)}
    return found | {"atomic_add": intrinsic(_atomic_add)}


def vector_of(context: Any, dtype: Any, width: int) -> tuple[Any, int, int]:
    """The vector that so many elements move in, how many of them are in each of its parts, and its bytes.

    Small elements move in words of 32 bits: a vector of eight 16-bit elements would be split in two.
    """
    size = width * dtype.bitwidth // 8
    if dtype.bitwidth >= 32 or size % 4:
        return ir.VectorType(context.get_data_type(dtype), width), 1, size
    return ir.VectorType(I32, size // 4), 32 // dtype.bitwidth, size


def address(context: Any, builder: Any, kind: Any, value: Any, i: Any) -> Any:
    """The address of an element of a pointer or of a flat array."""
    data = value if isinstance(kind, types.CPointer) else context.make_array(kind)(context, builder, value).data
    return builder.gep(data, [i])


def loader(width: int) -> Callable[..., Any]:
    """load_W."""

    def load(typingctx, p, i):
        def codegen(context, builder, sig, args):
            vector, each, size = vector_of(context, p.dtype, width)
            place = builder.bitcast(address(context, builder, p, args[0], args[1]), vector.as_pointer())
            found = builder.load(place, align=size)
            parts = [builder.extract_element(found, I32(k // each)) for k in range(width)]
            if each > 1:  # by shifts: a cast of the vector would be made a load of small elements again
                kind, bits = context.get_data_type(p.dtype), p.dtype.bitwidth
                parts = [builder.trunc(builder.lshr(x, I32(k % each * bits)), kind) for k, x in enumerate(parts)]
            return context.make_tuple(builder, sig.return_type, parts)

        return types.UniTuple(p.dtype, width)(p, types.int64), codegen

    return intrinsic(load)  # type: ignore[no-any-return]


def storer(width: int) -> Callable[..., Any]:
    """store_W."""

    def store(typingctx, p, i, values):
        def codegen(context, builder, sig, args):
            vector, each, size = vector_of(context, p.dtype, width)
            parts = [
                context.cast(builder, builder.extract_value(args[2], k), kind, p.dtype)
                for k, kind in enumerate(values.types)
            ]
            if each > 1:
                wide = [
                    builder.shl(builder.zext(x, I32), I32(k % each * p.dtype.bitwidth)) for k, x in enumerate(parts)
                ]
                parts = [reduce(builder.or_, wide[k : k + each]) for k in range(0, width, each)]
            made = ir.Constant(vector, ir.Undefined)
            for k, part in enumerate(parts):
                made = builder.insert_element(made, part, I32(k))
            place = builder.bitcast(address(context, builder, p, args[0], args[1]), vector.as_pointer())
            builder.store(made, place, align=size)
            return context.get_dummy_value()

        return types.void(p, types.int64, values), codegen

    return intrinsic(store)  # type: ignore[no-any-return]


def _half_to_float(typingctx, h):
    def codegen(context, builder, sig, args):
        return builder.fpext(builder.bitcast(args[0], ir.HalfType()), ir.FloatType())

    return types.float32(types.uint16), codegen


def _float_to_half(typingctx, x):
    def codegen(context, builder, sig, args):
        return builder.bitcast(builder.fptrunc(args[0], ir.HalfType()), ir.IntType(16))

    return types.uint16(types.float32), codegen


def _atomic_add(typingctx, p, i, x):
    def codegen(context, builder, sig, args):
        place = address(context, builder, p, args[0], args[1])
        if isinstance(p.dtype, types.Integer):
            builder.atomic_rmw("add", place, args[2], "monotonic")
            return context.get_dummy_value()
        # NVVM refuses LLVM's own addition of floats; `red` gives nothing back, so nobody waits for it.
        kind, letter = ("f32", "f") if p.dtype.bitwidth == 32 else ("f64", "d")
        whole = builder.ptrtoint(place, ir.IntType(64))
        call = ir.FunctionType(ir.VoidType(), [whole.type, args[2].type])
        builder.asm(call, f"red.add.{kind} [$0], $1;", f"l,{letter},~{{memory}}", [whole, args[2]], True)
        return context.get_dummy_value()

    return types.void(p, types.int64, p.dtype), codegen
