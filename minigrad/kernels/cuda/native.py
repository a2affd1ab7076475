"""Instructions that kernels use by name: wide loads and stores, conversions of float16, atomic additions.

They are Numba intrinsics, which numba-cuda also compiles.  The text of a kernel contains the hash of this file.  The
simulator defines the same names for the kernels that it runs (`backends/cuda/words.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

I32 = ir.IntType(32)
WIDTHS = (1, 2, 4, 8, 16)  # how many elements one load or store may have, in at most 16 bytes


def natives() -> dict[str, Any]:
    """Return the instructions by name.

    load_W(p, i): return the elements p[i] to p[i + W - 1] as a tuple, by one load; their address must be a multiple of
    their size.  store_W(p, i, values): store them in the same way.

    half_to_float(h), float_to_half(x): the machine's own conversions of the bits of a float16.

    complex(a, b): the complex number with these parts.

    atomic_add(p, i, x): p[i] += x, atomically, for each part of a complex number by itself.  atomic_max(p, i, x):
    p[i] = max(p[i], x), atomically, of signed integers.

    copy_async(a, to, p, i, n): start to copy 8 elements of 16 bits from p[i] to a[to] in shared memory; n is 8, or 0 to
    write zeros.  copies_sent(): end a group of copies.  copies_landed_N(): wait until at most N groups are incomplete.

    ldmatrix(a, i), ldmatrix_turned(a, i): load four 8 x 8 matrices of 16-bit elements; the 32 lanes pass where the rows
    begin.  For each matrix, a lane receives two neighbours of a row, or of a column, as a word of 32 bits.

    mma_float16(a0 .. a3, b0, b1, c0 .. c3), mma_bfloat16: c + a @ b of a warp; c is 16 x 8, and the inner dim is 16.
    """
    names: dict[str, Any] = {}
    for width in WIDTHS:
        names[f"load_{width}"], names[f"store_{width}"] = loader(width), storer(width)
    names |= {"half_to_float": intrinsic(_half_to_float), "float_to_half": intrinsic(_float_to_half)}
    names |= {"copy_async": intrinsic(_copy_async), "copies_sent": assembled("cp.async.commit_group;")}
    names |= {f"copies_landed_{n}": assembled(f"cp.async.wait_group {n};") for n in (0, 1)}
    names |= {"ldmatrix": matrices(""), "ldmatrix_turned": matrices(".trans")}
    names |= {"mma_float16": multiplier("f16"), "mma_bfloat16": multiplier("bf16")}
    names |= {"complex": complex}
    return names | {"atomic_add": intrinsic(_atomic_add), "atomic_max": intrinsic(_atomic_max)}


def vector_of(context: Any, dtype: Any, width: int) -> tuple[Any, int, int]:
    """Return the vector type in which `width` elements are moved.

    The other results are the count of elements in each part of the vector, and its size in bytes.  Small elements are
    moved in words of 32 bits, because a vector of eight 16-bit elements would be split in two.
    """
    size = width * dtype.bitwidth // 8
    if isinstance(dtype, types.Complex):
        return ir.VectorType(context.get_data_type(dtype.underlying_float), 2 * width), 1, size
    if dtype.bitwidth >= 32 or size % 4:
        return ir.VectorType(context.get_data_type(dtype), width), 1, size
    return ir.VectorType(I32, size // 4), 32 // dtype.bitwidth, size


def address(context: Any, builder: Any, kind: Any, value: Any, i: Any) -> Any:
    """Return the address of an element of a pointer or flat array; an array index is truncated to 32 bits."""
    if isinstance(kind, types.CPointer):
        return builder.gep(value, [i])
    return builder.gep(context.make_array(kind)(context, builder, value).data, [builder.trunc(i, I32)])


def pair(context: Any, builder: Any, kind: Any, real: Any, imag: Any) -> Any:
    """Return a complex number from its parts."""
    number = context.make_complex(builder, kind)
    number.real, number.imag = real, imag
    return number._getvalue()


def loader(width: int) -> Callable[..., Any]:
    """Return the instruction load_W."""

    def load(typingctx, p, i):
        def codegen(context, builder, sig, args):
            vector, each, size = vector_of(context, p.dtype, width)
            pointer = builder.bitcast(address(context, builder, p, args[0], args[1]), vector.as_pointer())
            loaded = builder.load(pointer, align=size)
            if isinstance(p.dtype, types.Complex):
                halves = [builder.extract_element(loaded, I32(k)) for k in range(2 * width)]
                parts = [pair(context, builder, p.dtype, *halves[k : k + 2]) for k in range(0, 2 * width, 2)]
                return context.make_tuple(builder, sig.return_type, parts)
            parts = [builder.extract_element(loaded, I32(k // each)) for k in range(width)]
            if each > 1:  # by shifts: LLVM would turn a cast of the vector into loads of small elements
                kind, bits = context.get_data_type(p.dtype), p.dtype.bitwidth
                parts = [builder.trunc(builder.lshr(x, I32(k % each * bits)), kind) for k, x in enumerate(parts)]
            return context.make_tuple(builder, sig.return_type, parts)

        return types.UniTuple(p.dtype, width)(p, types.int64), codegen

    return intrinsic(load)  # type: ignore[no-any-return]


def storer(width: int) -> Callable[..., Any]:
    """Return the instruction store_W."""

    def store(typingctx, p, i, values):
        def codegen(context, builder, sig, args):
            vector, each, size = vector_of(context, p.dtype, width)
            parts = [
                context.cast(builder, builder.extract_value(args[2], k), kind, p.dtype)
                for k, kind in enumerate(values.types)
            ]
            if isinstance(p.dtype, types.Complex):
                parts = [builder.extract_value(part, k) for part in parts for k in range(2)]
            if each > 1:
                wide = [
                    builder.shl(builder.zext(x, I32), I32(k % each * p.dtype.bitwidth)) for k, x in enumerate(parts)
                ]
                parts = [reduce(builder.or_, wide[k : k + each]) for k in range(0, width, each)]
            made = ir.Constant(vector, ir.Undefined)
            for k, part in enumerate(parts):
                made = builder.insert_element(made, part, I32(k))
            pointer = builder.bitcast(address(context, builder, p, args[0], args[1]), vector.as_pointer())
            builder.store(made, pointer, align=size)
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
        pointer = address(context, builder, p, args[0], args[1])
        if isinstance(p.dtype, types.Integer):
            builder.atomic_rmw("add", pointer, args[2], "monotonic")
            return context.get_dummy_value()
        # NVVM does not support LLVM's atomic addition of floats.  `red` returns no value, so the thread does not wait.
        added = [args[2]]
        if isinstance(p.dtype, types.Complex):
            added = [builder.extract_value(args[2], k) for k in range(2)]
        kind, letter = ("f32", "f") if added[0].type == ir.FloatType() else ("f64", "d")
        size, whole = (4 if letter == "f" else 8), builder.ptrtoint(pointer, ir.IntType(64))
        call = ir.FunctionType(ir.VoidType(), [whole.type, added[0].type])
        for k, x in enumerate(added):
            at = builder.add(whole, ir.IntType(64)(k * size))
            builder.asm(call, f"red.add.{kind} [$0], $1;", f"l,{letter},~{{memory}}", [at, x], True)
        return context.get_dummy_value()

    return types.void(p, types.int64, p.dtype), codegen


def _atomic_max(typingctx, p, i, x):
    def codegen(context, builder, sig, args):
        pointer = address(context, builder, p, args[0], args[1])
        builder.atomic_rmw("max", pointer, args[2], "monotonic")
        return context.get_dummy_value()

    return types.void(p, types.int64, p.dtype), codegen


# ---- the tensor cores, and what feeds them


def assembled(text: str) -> Callable[..., Any]:
    """Return an instruction without operands that memory accesses must not cross."""

    def instruction(typingctx):
        def codegen(context, builder, sig, args):
            builder.asm(ir.FunctionType(ir.VoidType(), []), text, "~{memory}", [], True)
            return context.get_dummy_value()

        return types.void(), codegen

    return intrinsic(instruction)  # type: ignore[no-any-return]


def shared_address(context: Any, builder: Any, kind: Any, value: Any, i: Any) -> Any:
    """Return the address of an element of a shared array, in the form for instructions on shared memory."""
    data = context.make_array(kind)(context, builder, value).data
    base = builder.ptrtoint(builder.addrspacecast(data, ir.PointerType(data.type.pointee, 3)), I32)
    return builder.add(base, builder.mul(builder.trunc(i, I32), I32(kind.dtype.bitwidth // 8)))


def _copy_async(typingctx, a, to, p, i, n):
    def codegen(context, builder, sig, args):
        target = shared_address(context, builder, a, args[0], args[1])
        pointer = address(context, builder, p, args[2], args[3])
        source = builder.ptrtoint(
            builder.addrspacecast(pointer, ir.PointerType(pointer.type.pointee, 1)), ir.IntType(64)
        )
        size = builder.shl(builder.trunc(args[4], I32), I32(1))
        call = ir.FunctionType(ir.VoidType(), [I32, source.type, I32])
        text = "cp.async.cg.shared.global [$0], [$1], 16, $2;"
        builder.asm(call, text, "r,l,r,~{memory}", [target, source, size], True)
        return context.get_dummy_value()

    return types.void(a, types.int64, p, types.int64, types.int64), codegen


def several(context: Any, builder: Any, sig: Any, kind: Any, text: str, outs: str, rest: str, args: Any) -> Any:
    """Return the four results of one instruction as a tuple."""
    call = ir.FunctionType(ir.LiteralStructType([kind] * 4), [x.type for x in args])
    made = builder.asm(call, text, f"{','.join([outs] * 4)},{rest}", args, "memory" in rest)
    return context.make_tuple(builder, sig.return_type, [builder.extract_value(made, k) for k in range(4)])


def matrices(turned: str) -> Callable[..., Any]:
    """Return the instruction ldmatrix."""
    text = f"ldmatrix.sync.aligned.m8n8.x4{turned}.shared.b16 {{$0,$1,$2,$3}}, [$4];"

    def load(typingctx, a, i):
        def codegen(context, builder, sig, args):
            pointer = shared_address(context, builder, a, args[0], args[1])
            return several(context, builder, sig, I32, text, "=r", "r,~{memory}", [pointer])

        return types.UniTuple(types.uint32, 4)(a, types.int64), codegen

    return intrinsic(load)  # type: ignore[no-any-return]


def multiplier(kind: str) -> Callable[..., Any]:
    """Return the instruction mma, with sums in float32."""
    text = f"mma.sync.aligned.m16n8k16.row.col.f32.{kind}.{kind}.f32 "
    text += "{$0,$1,$2,$3}, {$4,$5,$6,$7}, {$8,$9}, {$10,$11,$12,$13};"

    def multiply(typingctx, a0, a1, a2, a3, b0, b1, c0, c1, c2, c3):
        def codegen(context, builder, sig, args):
            return several(context, builder, sig, ir.FloatType(), text, "=f", "r,r,r,r,r,r,f,f,f,f", args)

        words, sums = (types.uint32,) * 6, (types.float32,) * 4
        return types.UniTuple(types.float32, 4)(*words, *sums), codegen

    return intrinsic(multiply)  # type: ignore[no-any-return]
