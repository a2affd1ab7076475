"""The matrix product on the CPU: which loop nest a product gets, and the numbers that it reads.

The loops are in `kernels/cpu/matmul.py`, the register tile in `kernels/cpu/tile.py`.  Floats are packed from some
thousand multiply-adds on; below that, and for integers and bools, the plain nest compiles faster and runs faster.
A batch whose right operand does not change is one tall matrix.
"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minigrad.backends.base import Launch
from minigrad.backends.cpu.family import Family, bind, nothing
from minigrad.config import settings
from minigrad.core.dtype import DType
from minigrad.core.layout import Layout
from minigrad.core.op import Spec
from minigrad.core.strides import merge_dims
from minigrad.kernels.cpu import matmul
from minigrad.kernels.specialize import array_type, expression_macro, load, write_kernel

SMALL = 24**3  # multiply-adds of one matrix up to which packing costs more than it saves
WORK = 16  # multiply-adds that weigh as much as one element of an elementwise loop
TASK = 1 << 16  # multiply-adds of a task of the plain nest


class Matmul(Family):
    """The preparer of matrix products."""

    def matmul(self, out: Spec, a: Spec, b: Spec) -> Launch:
        if out.layout.numel == 0:
            return nothing
        inner = a.shape[-1]
        if inner == 0:
            start, end = out.layout.offset, out.layout.offset + out.layout.numel
            return lambda _a, _b, buffer: buffer[start:end].fill(0)
        numbers = matmul_numbers(out.layout, a.layout, b.layout)
        small = int(numbers[0]) * int(numbers[1]) * inner <= SMALL
        parallel = out.layout.numel * inner >= WORK * settings.parallel_threshold
        if small or not out.dtype.is_float:
            copy = b.dtype.storage != out.dtype.compute or numbers[9] != 1
            kernel = self.kernel(write_plain, a.dtype, b.dtype, out.dtype, bool(copy), parallel=parallel)
        elif a.dtype is b.dtype:
            kernel = self.kernel(write_packed, a.dtype, out.dtype, parallel=parallel)
        else:
            return self._matmul_of_mixed_dtypes(out, a, b)
        return bind(kernel, numbers, 2)

    def _matmul_of_mixed_dtypes(self, out: Spec, a: Spec, b: Spec) -> Launch:
        """Both operands cast to the result's dtype first: rare enough to have no kernel of its own."""
        dense = [Spec(Layout.contiguous(x.shape), out.dtype) for x in (a, b)]
        copy_a, copy_b = self.copy(dense[0], a), self.copy(dense[1], b)
        multiply = self.matmul(out, *dense)

        def launch(left: NDArray[Any], right: NDArray[Any], buffer: NDArray[Any]) -> None:
            cast = [np.empty(x.layout.numel, out.dtype.storage) for x in dense]
            copy_a(left, cast[0])
            copy_b(right, cast[1])
            multiply(*cast, buffer)

        return launch


def matmul_numbers(out: Layout, a: Layout, b: Layout) -> NDArray[np.int64]:
    """What the templates read; their docstring lists it.  `out` is contiguous."""
    m, k = a.shape[-2:]
    n = b.shape[-1]
    am = a.strides[-2]
    sizes, (steps_a, steps_b) = merge_dims(a.shape[:-2], [a.strides[:-2], b.strides[:-2]])
    if not any(steps_b):
        # One right operand for all: the batch is more rows, as far as they are evenly spaced.
        rows, (steps,) = merge_dims((*sizes, m), [(*steps_a, am)])
        m, am = (rows[-1], steps[-1]) if rows else (1, am)
        sizes, steps_a = rows[:-1], steps[:-1]
        steps_b = (0,) * len(sizes)
    sizes_b = tuple(size if step else 1 for size, step in zip(sizes, steps_b))
    places = Layout.contiguous(sizes_b)
    steps_packed = tuple(place if step else 0 for place, step in zip(places.strides, steps_b))
    batches = int(np.prod(sizes, dtype=np.int64))
    block = min(m, max(16, TASK // (n * k)))
    numbers = [m, n, k, out.offset, a.offset, am, a.strides[-1], b.offset, b.strides[-2], b.strides[-1]]
    numbers += [batches, places.numel, block, len(sizes), *sizes, *steps_a, *steps_b, *steps_packed, *sizes_b]
    return np.array(numbers, np.int64)


def write_plain(a: DType, b: DType, out: DType, copy: bool, parallel: bool) -> Launch:
    """Write, compile and import the plain loop nest.  copy: the right operand is copied, to be dense and wide."""
    truth = out.kind == "bool"
    # Numba widens integer sums to 64 bits; the cast back wraps around.
    muladd = "{0} or ({1} and {2})" if truth else "T({0} + {1} * {2})"
    label = f"{'copy' if copy else 'rows'}_{'par' if parallel else 'ser'}"
    text = write_kernel(
        f"matmul: {a}, {b} -> {out}, plain, {label}.",
        matmul.plain,
        operands=(a, b),
        out=out,
        compute=out.compute,
        macros={"MULADD": expression_macro(muladd)},
        constants={"ZERO": "False" if truth else "T(0)", "COPY": str(copy)},
        parallel=parallel,
        signature=f"void({array_type(a)}, {array_type(b)}, {array_type(out)}, int64[::1])",
    )
    launch: Launch = load(f"matmul_plain_{a.short}_{b.short}_{out.short}_{label}", text).kernel
    return launch


def write_packed(a: DType, out: DType, parallel: bool) -> Launch:
    """Write, compile and import the packed loop nest of a float dtype; both operands have dtype `a`."""
    direct = out.storage == out.compute
    text = write_kernel(
        f"matmul: {a}, {a} -> {out}, packed, {'parallel' if parallel else 'serial'}.",
        matmul.packed,
        operands=(a, a),
        out=out,
        compute=out.compute,
        macros={},
        constants={"DIRECT": str(direct), "WIDENED": str(not direct)},
        parallel=parallel,
        signature=f"void({array_type(a)}, {array_type(a)}, {array_type(out)}, int64[::1])",
        imports=tile_header(str(out.compute)),
        helpers=(matmul.pack,),
    )
    launch: Launch = load(f"matmul_packed_{a.short}_{out.short}_{'par' if parallel else 'ser'}", text).kernel
    return launch


def tile_header(compute: str) -> str:
    """The lines that give a packed kernel its tile.  The hash makes a new module of it when the tile changes."""
    return (
        f"\nfrom minigrad.kernels.cpu.tile import register_tile, tile_shape\n\n"
        f"# tile.py {tile_hash()}\n"
        f'LANES, MR, VECTORS = tile_shape("{compute}")\n'
        f"NR = VECTORS * LANES\n"
        f"KC, MC, NC = 384, 144, 1024\n"
        f'tile = register_tile("{compute}", LANES, MR, VECTORS)\n'
    )


@cache
def tile_hash() -> str:
    """SHA-256 of the source of `kernels/cpu/tile.py`, which is not imported here: it would import Numba."""
    source = Path(matmul.__file__).with_name("tile.py").read_bytes()
    return hashlib.sha256(source).hexdigest()[:16]
