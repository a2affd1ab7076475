"""The matrix product on the CPU: which kernels a product gets, and the numbers that they read.

The loops are in `kernels/cpu/matmul.py`, the register tile in `kernels/cpu/tile.py`, what is decided by the shapes in
`product.py`.  A product runs in the dtype of
the registers, on the operands where they are; what the tile cannot read in place is copied first: halves, bools and
operands of another dtype are cast, a right operand without dense rows is packed.  One row or one column has a kernel
of its own, and a batch whose right operand does not change is one tall matrix.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minigrad.backends.base import Launch, serves
from minigrad.backends.cpu.family import Family, nothing
from minigrad.backends.cpu.product import (
    Ints,
    Panels,
    Problem,
    blocks_of,
    is_inner_products,
    pays_turned,
    vector_blocks,
    work_of,
)
from minigrad.config import settings
from minigrad.core import requests
from minigrad.core.device import CPU
from minigrad.core.dtype import DType, as_dtype, bool_, int32
from minigrad.core.layout import Layout
from minigrad.core.op import Spec
from minigrad.kernels.cpu import matmul
from minigrad.kernels.specialize import array_type, source_of, write_kernel
from minigrad.kernels.store import load

WORK = 32  # bytes of registers multiplied and added that weigh as much as one element of an elementwise loop
PACKED = 1 << 20  # bytes of a right operand beyond which packing it costs less than it saves
WIDE = 1 << 21  # bytes multiplied and added that are worth two more launches
PRODUCT, MIXED = 0, 2  # modes of the kernels
tile_sizes: dict[str, tuple[int, int]] = {}


class Matmul(Family):
    """The preparers of matrix products."""

    @serves(requests.Product)
    def matmul(self, out: Spec, a: Spec, b: Spec, c: Spec | None = None, *, alpha: float, beta: float) -> Launch:
        launch = self.product(out, a, b, c, alpha, beta)
        return launch if c else lambda x, y, z: launch(x, y, z, z)

    def product(self, out: Spec, a: Spec, b: Spec, c: Spec | None, alpha: float, beta: float) -> Launch:
        """launch(a, b, c, out): alpha * a @ b + beta * c in whatever dtypes; without c, its buffer is not looked at."""
        if out.layout.numel == 0:
            return nothing
        if a.shape[-1] == 0:
            return self._without_product(out, c, beta)
        dtype = int32 if out.dtype is bool_ else as_dtype(out.dtype.compute)
        if any(x.dtype is not dtype for x in (out, a, b, *((c,) if c else ()))):
            return self._cast_product(out, a, b, c, alpha, beta, dtype)
        problem = Problem(out.layout, a.layout, b.layout, c.layout if c else None)
        factors = self._bits(alpha, beta, dtype)
        if is_inner_products(problem):
            problem.part_rows()
        if problem.m == 1 or problem.n == 1:
            return self._vector_product(problem, dtype, c is not None, factors)
        # Not by the setting that decides on threads: which way is taken shows in the last bits.
        if len(out.shape) == 2 and work_of(problem, dtype) >= WIDE and pays_turned(problem):
            return self._turned_product(out, a, b, c, alpha, beta)
        return self._tiled_product(problem, dtype, c is not None, factors)

    def _turned_product(self, out: Spec, a: Spec, b: Spec, c: Spec | None, alpha: float, beta: float) -> Launch:
        """The transpose of the product of the transposes: what has to be packed then is the left operand."""
        result = Spec(Layout.contiguous(out.shape[::-1]), out.dtype)
        multiply = self.product(result, turned(b), turned(a), c and turned(c), alpha, beta)
        turn_back = self.prepare(requests.Copy(), out, turned(result))
        results_of = self.maker(out.layout.numel, out.dtype, CPU)

        def launch(x: NDArray[Any], y: NDArray[Any], z: NDArray[Any], buffer: NDArray[Any]) -> None:
            store = results_of()
            multiply(y, x, z, store.buffer)
            turn_back(store.buffer, buffer)

        return launch

    def _without_product(self, out: Spec, c: Spec | None, beta: float) -> Launch:
        """What is left where the inner dim is empty: beta * c, made by a product with one zero."""
        if c is None:
            start, end = out.layout.offset, out.layout.offset + out.layout.numel
            return lambda _a, _b, _c, buffer: buffer[start:end].fill(0)
        one = Layout.contiguous((1,) * len(out.shape))
        column = Spec(one.expand((*out.shape[:-1], 1)), out.dtype)
        row = Spec(one.expand((*out.shape[:-2], 1, out.shape[-1])), out.dtype)
        launch = self.product(out, column, row, c, 1, beta)
        zero = np.zeros(1, out.dtype.storage)
        return lambda _a, _b, x, buffer: launch(zero, zero, x, buffer)

    def _cast_product(
        self, out: Spec, a: Spec, b: Spec, c: Spec | None, alpha: float, beta: float, dtype: DType
    ) -> Launch:
        """The product of operands cast to `dtype` first, and its result cast back."""
        casts = []
        for x in (a, b, c):
            dense = x and (x if x.dtype is dtype else Spec(dense_like(x.layout), dtype))
            cast = self.prepare(requests.Copy(), dense, x) if dense and x and dense is not x else None
            casts.append((dense, cast))
        result = out if out.dtype is dtype else Spec(Layout.contiguous(out.shape), dtype)
        left, right, added = (dense for dense, _ in casts)
        assert left is not None and right is not None
        multiply = self.product(result, left, right, added, alpha, beta)
        back = None if result is out else self.prepare(requests.Copy(), out, result)

        def launch(*buffers: NDArray[Any]) -> None:
            stores = []
            given: list[NDArray[Any]] = []
            for (dense, cast), buffer in zip(casts, buffers[:3], strict=True):
                if cast is not None:
                    assert dense is not None
                    store = self.allocate(memory_of(dense.layout), dtype, CPU)
                    cast(buffer, store.buffer)
                    stores.append(store)
                    buffer = store.buffer
                given.append(given[0] if dense is None else buffer)
            if back is None:
                multiply(*given, buffers[3])
            else:
                store = self.allocate(result.layout.numel, dtype, CPU)
                multiply(*given, store.buffer)
                back(store.buffer, buffers[3])

        return launch

    # ---- one row or one column ----

    def _vector_product(self, p: Problem, dtype: DType, added: bool, factors: Ints) -> Launch:
        parallel = work_of(p, dtype) >= WORK * settings.parallel_threshold // 2
        kernel = self.kernel(write_vector, dtype, parallel=parallel)
        row = p.m == 1 and p.n > 1
        size, steps = (p.n, (p.bn, p.bk)) if row else (p.m, (p.am, p.ak))
        first, second, step = (p.b, p.a, p.ak) if row else (p.a, p.b, p.bk)
        matrix, other = (p.steps[1], p.steps[0]) if row else p.steps[:2]
        high, deep = vector_blocks(size, p.k, p.batches, along=steps[1] == 1)
        pieces = -(-p.k // deep)
        placed = pieces == 1 and not added and factors == self._bits(1, 0, dtype)
        numbers = [size, p.k, high, deep, p.out if placed else 0, first, *steps, second, step, p.batches, len(p.sizes)]
        table = np.array([*numbers, *p.sizes, *matrix, *other], np.int64)
        if placed:
            if row:
                return lambda a, b, c, out: kernel(b, a, out, table)
            return lambda a, b, c, out: kernel(a, b, out, table)
        finish = self._adding(p, dtype, pieces, added, factors)
        sums_of = self.maker(pieces * p.batches * size, dtype, CPU)

        def launch(a: NDArray[Any], b: NDArray[Any], c: NDArray[Any], out: NDArray[Any]) -> None:
            store = sums_of()
            if row:
                kernel(b, a, store.buffer, table)
            else:
                kernel(a, b, store.buffer, table)
            finish(store.buffer, c, out)

        return launch

    def _adding(self, p: Problem, dtype: DType, pieces: int, added: bool, factors: Ints) -> Launch:
        """launch(pieces, c, out) of what comes after the pieces of a product."""
        kernel = self.kernel(write_add_pieces, dtype, parallel=False)
        mode = MIXED if added else PRODUCT
        numbers = [pieces, p.m, p.n, p.out, p.c, p.cm, p.cn, mode, p.batches, len(p.sizes), *factors]
        table = np.array([*numbers, *p.sizes, *p.steps[2]], np.int64)
        return lambda sums, c, out: kernel(sums, c, out, table)

    @staticmethod
    def _bits(alpha: float, beta: float, dtype: DType) -> Ints:
        """Two factors as they stand among a kernel's numbers."""
        if not dtype.is_float:
            return int(alpha), int(beta)
        first, second = np.array([alpha, beta], np.float64).view(np.int64).tolist()
        return first, second

    # ---- tiles ----

    def _tiled_product(self, p: Problem, dtype: DType, added: bool, factors: Ints) -> Launch:
        parallel = work_of(p, dtype) >= WORK * settings.parallel_threshold
        packed = p.bn != 1 or (p.m >= 64 and p.n * p.k * dtype.itemsize > PACKED)
        at_once = packed and not parallel
        kernel = self.kernel(write_pack_and_multiply if at_once else write_multiply, dtype, parallel=parallel)
        panels = Panels(p, tile_sizes[dtype.name][1]) if packed else None
        pieces, numbers = self._tile_numbers(p, dtype, added, factors, panels)
        if at_once and panels:
            numbers = [panels.room, 2 + len(panels.numbers), *panels.numbers, *numbers]
        table = np.array(numbers, np.int64)
        pack = self._packer(panels, dtype, parallel) if panels and not at_once else None
        if pack is None and pieces == 1:
            return lambda a, b, c, out: kernel(a, b, c, out, table)
        finish = self._adding(p, dtype, pieces, added, factors) if pieces > 1 else None
        rooms = (panels.room if panels else 0, pieces * p.batches * p.m * p.n)
        panels_of, sums_of = (self.maker(n, dtype, CPU) for n in rooms)

        def launch(a: NDArray[Any], b: NDArray[Any], c: NDArray[Any], out: NDArray[Any]) -> None:
            if pack is not None:
                store = panels_of()
                pack(b, store.buffer)
                b = store.buffer
            if finish is None:
                kernel(a, b, c, out, table)
            else:
                sums = sums_of()
                kernel(a, b, c, sums.buffer, table)
                finish(sums.buffer, c, out)

        return launch

    def _tile_numbers(
        self, p: Problem, dtype: DType, added: bool, factors: Ints, panels: Panels | None
    ) -> tuple[int, list[int]]:
        """How many pieces the inner dim is cut into, and the numbers of `multiply`."""
        mr, nr = tile_sizes[dtype.name]
        high, wide, deep = blocks_of(p, mr, nr)
        pieces = -(-p.k // deep)
        mode = MIXED if added and pieces == 1 else PRODUCT
        right = (0, nr * p.k, nr, 1) if panels else (p.b, nr, p.bk, 0)
        steps = panels.steps if panels else p.steps[1]
        first = factors if pieces == 1 else self._bits(1, 0, dtype)
        numbers = [p.m, p.n, p.k, high, wide, deep, p.out if pieces == 1 else 0, p.a, p.am, p.ak, *right]
        numbers += [p.c, p.cm, p.cn, mode, p.batches, len(p.sizes), *first]
        return pieces, [*numbers, *p.sizes, *p.steps[0], *steps, *p.steps[2]]

    def _packer(self, panels: Panels, dtype: DType, parallel: bool) -> Callable[..., None]:
        """launch(b, panels) that packs a right operand."""
        kernel = self.kernel(write_pack, dtype, parallel=parallel and panels.one >= settings.parallel_threshold)
        table = np.array(panels.numbers, np.int64)
        return lambda b, panels: kernel(b, panels, table)


def dense_like(layout: Layout) -> Layout:
    """A layout of its own memory for a copy, in the order in which the operand lies, repeated dims kept as such."""
    order = sorted(range(len(layout.shape)), key=lambda d: -abs(layout.strides[d]))
    sizes = tuple(1 if layout.strides[d] == 0 else layout.shape[d] for d in order)
    dense = Layout.contiguous(sizes)
    strides = [0] * len(order)
    for place, d in enumerate(order):
        strides[d] = 0 if layout.strides[d] == 0 else dense.strides[place]
    return Layout.make(layout.shape, tuple(strides))


def memory_of(layout: Layout) -> int:
    """How many elements a dense layout takes, repeated ones counted once."""
    return layout.span()[1]


def turned(x: Spec) -> Spec:
    """The transpose of a matrix."""
    return Spec(x.layout.transpose(0, 1), x.dtype)


# ---- kernels --------------------------------------------------------------------------------------------------------


def write_multiply(dtype: DType, parallel: bool) -> Launch:
    """Write, compile and import the loops over tiles."""
    return write(matmul.multiply, dtype, parallel, 4, tile_header(str(dtype)), ALPHA=20, BETA=21)


def write_pack(dtype: DType, parallel: bool) -> Launch:
    """Write, compile and import the loops that pack a right operand."""
    return write(matmul.pack, dtype, parallel, 2, tile_header(str(dtype)))


def write_pack_and_multiply(dtype: DType, parallel: bool) -> Launch:
    """Write, compile and import both as one kernel."""
    helpers = (matmul.pack, matmul.multiply)
    return write(matmul.pack_and_multiply, dtype, parallel, 4, tile_header(str(dtype)), helpers, ALPHA=20, BETA=21)


def write_vector(dtype: DType, parallel: bool) -> Launch:
    """Write, compile and import the product of a matrix and a vector; its sums may be taken in any order."""
    helper = '@njit(fastmath={"reassoc", "contract"}, error_model="numpy", no_cpython_wrapper=True)\n'
    header = f"\nT = np.{dtype.compute}\n\n\n{helper}{source_of(matmul.inner)}\n"
    return write(matmul.vector, dtype, parallel, 3, header)


def write_add_pieces(dtype: DType, parallel: bool) -> Launch:
    """Write, compile and import the loop that adds the pieces of a product."""
    return write(matmul.add_pieces, dtype, parallel, 3, "", ALPHA=10, BETA=11)


def write(
    template: Callable[..., Any], dtype: DType, parallel: bool, arrays: int, imports: str,
    helpers: tuple[Callable[..., Any], ...] = (), **factors: int,
) -> Launch:  # fmt: skip
    """A kernel of `arrays` buffers of one dtype and the numbers, among which its factors are."""
    name = template.__name__
    label = "par" if parallel else "ser"
    read = "T(numbers[{0}:{1}].view(np.float64)[0])" if dtype.is_float else "T(numbers[{0}])"
    text = write_kernel(
        f"matmul: {dtype}, {name}, {'parallel' if parallel else 'serial'}.",
        template,
        operands=(dtype,),
        out=dtype,
        compute=dtype.compute,
        constants={factor: read.format(place, place + 1) for factor, place in factors.items()},
        parallel=parallel,
        signature=f"void({', '.join([array_type(dtype)] * arrays)}, int64[::1])",
        imports=imports,
        helpers=helpers,
    )
    module = load(f"matmul_{name}_{dtype.short}_{label}", text)
    if hasattr(module, "MR"):
        tile_sizes[dtype.name] = module.MR, module.NR
    launch: Launch = module.kernel
    return launch


def tile_header(dtype: str) -> str:
    """The lines that give a kernel its tile.  The hash makes a new module of it when the tile changes."""
    return (
        f"\nfrom minigrad.kernels.cpu.tile import register_tile, tile_shape, transpose_block\n\n"
        f"# tile.py {tile_hash()}\n"
        f'LANES, MR, VECTORS = tile_shape("{dtype}")\n'
        f"NR = VECTORS * LANES\n"
        f"SIDE = min(LANES, 8)\n"
        f"KC = 256\n"
        f'tile = register_tile("{dtype}", LANES, MR, VECTORS)\n'
        f'transpose = transpose_block("{dtype}", LANES)\n'
    )


@cache
def tile_hash() -> str:
    """SHA-256 of the source of `kernels/cpu/tile.py`, which is not imported here: it would import Numba."""
    source = Path(matmul.__file__).with_name("tile.py").read_bytes()
    return hashlib.sha256(source).hexdigest()[:16]
