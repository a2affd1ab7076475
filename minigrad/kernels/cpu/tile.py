"""The register tile of the matrix product: the one loop that Numba cannot write well enough from Python.

`register_tile` makes an intrinsic that multiplies a packed panel of A with a packed panel of B and keeps the whole
`rows x columns` result in vector registers: per step of k it loads a row of B once, spreads each element of A over a
vector, and issues one multiply-add per register.  `tile_shape` fits the tile to the host's registers.  Only generated
matmul modules import this file; they carry its hash, because Numba's cache does not see a change in it.

Source: Goto and van de Geijn, "Anatomy of high-performance matrix multiplication", ACM TOMS 34(3), 2008; the split
into panels and a micro-kernel is that of Van Zee and van de Geijn, "BLIS", ACM TOMS 41(3), 2015.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import binding, ir
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic

I32, I64 = ir.IntType(32), ir.IntType(64)


def tile_shape(dtype: str) -> tuple[int, int, int]:
    """(lanes of a vector, rows, vectors a row) for float32 or float64 on this machine.

    28 of 32 registers accumulate with AVX-512, 12 of 16 with AVX2, 16 of 32 with NEON, 8 of 16 with SSE; the rest hold
    the row of B and the spread element of A.
    """
    features = binding.get_host_cpu_features()
    size = np.dtype(dtype).itemsize
    if features.get("avx512f"):
        return 64 // size, 14, 2
    if features.get("avx2"):
        return 32 // size, 6, 2
    return 16 // size, 8 if features.get("neon") else 4, 2


def register_tile(dtype: str, lanes: int, rows: int, vectors: int) -> Callable[..., None]:
    """The function tile(a, ao, b, bo, c, co, depth, ldc, first): c (+)= a.T @ b on one tile.

    a[ao:] holds `depth` columns of `rows` elements, b[bo:] `depth` rows of `vectors * lanes`; c[co:] has rows every
    `ldc`.  `first` stores, else the product is added to what c holds.  All arrays have one dimension and this dtype.
    With NUMBA_DISABLE_JIT=1 it is plain NumPy.
    """
    if config.DISABLE_JIT:  # type: ignore[attr-defined, unused-ignore]
        return python_tile(rows, vectors * lanes)

    @intrinsic  # type: ignore[untyped-decorator, unused-ignore]
    def tile(typingctx, a, ao, b, bo, c, co, depth, ldc, first):  # type: ignore[no-untyped-def]
        n = types.intp
        sig = types.void(a, n, b, n, c, n, n, n, types.boolean)

        def codegen(context, builder, sig, args):  # type: ignore[no-untyped-def]
            pointers = [
                builder.gep(context.make_array(sig.args[k])(context, builder, args[k]).data, [args[k + 1]])
                for k in (0, 2, 4)
            ]
            _Tile(builder, dtype, lanes, rows, vectors).emit(*pointers, *args[6:])
            return context.get_dummy_value()

        return sig, codegen

    made: Callable[..., None] = tile
    return made


def python_tile(rows: int, columns: int) -> Callable[..., None]:
    """The same function without a compiler, so that the generated module can be stepped through."""

    def tile(a, ao, b, bo, c, co, depth, ldc, first):  # type: ignore[no-untyped-def]
        left = a[ao : ao + depth * rows].reshape(depth, rows)
        right = b[bo : bo + depth * columns].reshape(depth, columns)
        product = left.T @ right
        for i in range(rows):
            z = c[co + i * ldc : co + i * ldc + columns]
            z[:] = product[i] if first else z + product[i]

    return tile


class _Tile:
    """Emits the LLVM of one tile."""

    def __init__(self, builder: Any, dtype: str, lanes: int, rows: int, vectors: int) -> None:
        self.builder, self.lanes, self.rows, self.vectors = builder, lanes, rows, vectors
        element = ir.FloatType() if dtype == "float32" else ir.DoubleType()
        self.align = np.dtype(dtype).itemsize
        self.vector = ir.VectorType(element, lanes)
        # fmuladd is one instruction where the machine has it, and a product and a sum where it has not; fma would
        # be a library call there.
        suffix = f"v{lanes}f{8 * self.align}"
        signature = ir.FunctionType(self.vector, [self.vector] * 3)
        self.muladd = cgutils.get_or_insert_function(builder.module, signature, f"llvm.fmuladd.{suffix}")

    def emit(self, a: Any, b: Any, c: Any, depth: Any, ldc: Any, first: Any) -> None:
        """The loop over k with all accumulators as phi nodes, then the stores.  depth is at least 1."""
        builder, entry = self.builder, self.builder.block
        loop, done = builder.append_basic_block("k"), builder.append_basic_block("done")
        builder.branch(loop)
        builder.position_at_end(loop)
        k = builder.phi(I64)
        k.add_incoming(ir.Constant(I64, 0), entry)
        sums = [builder.phi(self.vector) for _ in range(self.rows * self.vectors)]
        for phi in sums:
            phi.add_incoming(ir.Constant(self.vector, [0.0] * self.lanes), entry)
        added = self.step(a, b, k, sums)
        following = builder.add(k, ir.Constant(I64, 1))
        k.add_incoming(following, loop)
        for phi, value in zip(sums, added, strict=True):
            phi.add_incoming(value, loop)
        builder.cbranch(builder.icmp_signed("<", following, depth), loop, done)
        builder.position_at_end(done)
        self.store(c, ldc, first, added)

    def step(self, a: Any, b: Any, k: Any, sums: list[Any]) -> list[Any]:
        """One k: a row of B, an element of A for each row, a multiply-add for each accumulator."""
        builder = self.builder
        row = builder.gep(b, [builder.mul(k, ir.Constant(I64, self.vectors * self.lanes))])
        column = builder.gep(a, [builder.mul(k, ir.Constant(I64, self.rows))])
        right = [self.load(builder.gep(row, [ir.Constant(I64, v * self.lanes)])) for v in range(self.vectors)]
        undefined = ir.Constant(self.vector, ir.Undefined)
        everywhere = ir.Constant(ir.VectorType(I32, self.lanes), [0] * self.lanes)
        added = []
        for m in range(self.rows):
            x = builder.load(builder.gep(column, [ir.Constant(I64, m)]))
            x = builder.insert_element(undefined, x, ir.Constant(I32, 0))
            x = builder.shuffle_vector(x, undefined, everywhere)
            for v in range(self.vectors):
                added.append(builder.call(self.muladd, [x, right[v], sums[m * self.vectors + v]]))
        return added

    def store(self, c: Any, ldc: Any, first: Any, sums: list[Any]) -> None:
        """Write the tile, or add it to what is there."""
        builder = self.builder
        places = []
        for m in range(self.rows):
            row = builder.gep(c, [builder.mul(ldc, ir.Constant(I64, m))])
            places += [builder.gep(row, [ir.Constant(I64, v * self.lanes)]) for v in range(self.vectors)]
        with builder.if_else(first) as (write, add):
            with write:
                for place, value in zip(places, sums, strict=True):
                    builder.store(value, self.wide(place), align=self.align)
            with add:
                for place, value in zip(places, sums, strict=True):
                    builder.store(builder.fadd(self.load(place), value), self.wide(place), align=self.align)

    def wide(self, pointer: Any) -> Any:
        return self.builder.bitcast(pointer, self.vector.as_pointer())

    def load(self, pointer: Any) -> Any:
        return self.builder.load(self.wide(pointer), align=self.align)
