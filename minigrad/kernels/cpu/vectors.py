"""Copies by whole vectors, for packing: transposed squares of elements, and pieces of rows.

LLVM compiles a loop over two arrays to tests whether they overlap, and a transposed copy to single elements.  These
intrinsics load and store vectors of any alignment.  Only generated modules import this file, as they import `tile.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.extending import intrinsic

from minigrad.kernels.cpu.emitting import I32, I64, element_type, pointer


def transpose_block(dtype: str, lanes: int, paired: bool = False, most: int = 8) -> Callable[..., None]:
    """Return the function transpose(x, at, step, z, to, pitch), which transposes a square of elements.

    Its side is `min(lanes, most)`.  It stores x[at + j * step + i] in z[to + i * pitch + j].  With `paired`, x has
    16-bit elements, and the pair that begins with x[at + j * step + 2 * i] is stored.
    """
    size = min(lanes, most)
    if config.DISABLE_JIT:  # type: ignore[attr-defined, unused-ignore]
        return python_transpose(size, paired)

    @intrinsic  # type: ignore[untyped-decorator, unused-ignore]
    def transpose(typingctx, x, at, step, z, to, pitch):  # type: ignore[no-untyped-def]
        n = types.intp

        def codegen(context, builder, sig, args):  # type: ignore[no-untyped-def]
            source = builder.gep(pointer(context, builder, sig, args, 0), [args[1]])
            target = builder.gep(pointer(context, builder, sig, args, 3), [args[4]])
            vector = ir.VectorType(element_type(dtype), size)
            align = np.dtype(dtype).itemsize // (2 if paired else 1)
            lines = []
            for j in range(size):
                element = builder.gep(source, [builder.mul(args[2], ir.Constant(I64, j))])
                lines.append(builder.load(builder.bitcast(element, vector.as_pointer()), align=align))
            for i, line in enumerate(turned(builder, lines, size)):
                element = builder.gep(target, [builder.mul(args[5], ir.Constant(I64, i))])
                builder.store(line, builder.bitcast(element, vector.as_pointer()), align=np.dtype(dtype).itemsize)
            return context.get_dummy_value()

        return types.void(x, n, n, z, n, n), codegen

    made: Callable[..., None] = transpose
    return made


def copy_of_row(dtype: str, count: int) -> Callable[..., None]:
    """Return the function copy_row(x, at, z, to), which stores x[at : at + count] in z[to : to + count].

    It loads and stores whole vectors.  A loop over the elements of two slices takes two to three times as long, because
    LLVM does not know that the arrays are separate.
    """
    if config.DISABLE_JIT:  # type: ignore[attr-defined, unused-ignore]
        return python_copy(count)

    @intrinsic  # type: ignore[untyped-decorator, unused-ignore]
    def copy_row(typingctx, x, at, z, to):  # type: ignore[no-untyped-def]
        def codegen(context, builder, sig, args):  # type: ignore[no-untyped-def]
            source, target = (builder.gep(pointer(context, builder, sig, args, k), [args[k + 1]]) for k in (0, 2))
            vector = ir.VectorType(element_type(dtype), count).as_pointer()
            align = np.dtype(dtype).itemsize
            row = builder.load(builder.bitcast(source, vector), align=align)
            builder.store(row, builder.bitcast(target, vector), align=align)
            return context.get_dummy_value()

        return types.void(x, types.intp, z, types.intp), codegen

    made: Callable[..., None] = copy_row
    return made


def turned(builder: Any, lines: list[Any], size: int) -> list[Any]:
    """Return a square of vectors transposed: blocks of 1, 2, 4 ... are exchanged with their mirror images."""
    mask = ir.VectorType(I32, size)
    block = 1
    while block < size:
        upper = [c if not c & block else c - block + size for c in range(size)]
        lower = [c + block if not c & block else c + size for c in range(size)]
        for i in range(size):
            if not i & block:
                x, y = lines[i], lines[i + block]
                lines[i] = builder.shuffle_vector(x, y, ir.Constant(mask, upper))
                lines[i + block] = builder.shuffle_vector(x, y, ir.Constant(mask, lower))
        block *= 2
    return lines


def python_transpose(size: int, paired: bool) -> Callable[..., None]:
    """Return the function of `transpose_block` in NumPy."""

    def transpose(x, at, step, z, to, pitch):  # type: ignore[no-untyped-def]
        i, j = np.arange(size)[:, None], np.arange(size)
        if paired:
            words = x[at + j * step + 2 * i].astype(np.uint32) | x[at + j * step + 2 * i + 1].astype(np.uint32) << 16
            z[to + i * pitch + j] = words.view(np.int32)
        else:
            z[to + i * pitch + j] = x[at + j * step + i]

    return transpose


def python_copy(count: int) -> Callable[..., None]:
    """Return the function of `copy_of_row` in NumPy."""

    def copy_row(x, at, z, to):  # type: ignore[no-untyped-def]
        z[to : to + count] = x[at : at + count]

    return copy_row
