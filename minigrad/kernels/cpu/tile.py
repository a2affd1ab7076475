"""The register tile of matrix products and convolutions: the only loop that Numba cannot compile well from Python.

`register_tile` makes an intrinsic that accumulates a `rows x columns` piece of a product in vector registers.  For each
k it loads a row of B once, broadcasts an element of each row of A to a vector, and issues one multiply-add per
register.  It reads both operands where they are, with any strides of A and dense rows of B.  With `by`, a table instead
of a stride has the start of each row of A, or of each row of B; this is how a convolution reads an image.  Tiles at an
edge load and store with a mask.  With `paired`, each element of A and B is a pair of bfloat16, and one instruction adds
both products to a float32.  `processor.py` determines the size of the tile.  Only generated modules import this
file.  They contain its hash, so a change of this file changes the text, and thereby the name, of a kernel.

Source: Goto and van de Geijn, "Anatomy of high-performance matrix multiplication", ACM TOMS 34(3), 2008; the division
into panels and a micro-kernel is that of Van Zee and van de Geijn, "BLIS", ACM TOMS 41(3), 2015.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic

I1, I32, I64 = ir.IntType(1), ir.IntType(32), ir.IntType(64)
Emit = Callable[[Any], Any]


def register_tile(
    dtype: str, lanes: int, rows: int, vectors: int, by: str = "", paired: bool = False
) -> Callable[..., None]:  # fmt: skip
    """Return the function tile(a, ao, am, ak, b, bo, bk, wide, c, co, ldc, depth, h, w, alpha, add).

    It computes c = alpha * a @ b, or c + alpha * a @ b with `add`, on the first `h` rows and `w` columns of a tile.

    The elements are a[ao + i * am + k * ak], b[bo + k * bk + j] and c[co + i * ldc + j] of 1-d arrays of this dtype.
    `wide` columns of b may be read, at least w.  With by="rows", am is a pair (table, at), and row i of a starts at ao
    + table[at + i].  With by="depth", bk is such a pair for the rows of b.  depth is at least 1.  With `paired`,
    elements of a and b are int32 with the bits of two bfloat16.  With NUMBA_DISABLE_JIT=1 the function is plain NumPy.
    """
    if config.DISABLE_JIT:  # type: ignore[attr-defined, unused-ignore]
        return python_tile(by, paired)

    def codegen(context, builder, sig, args):  # type: ignore[no-untyped-def]
        a, b, c = (pointer(context, builder, sig, args, k) for k in (0, 4, 8))
        ao, am, ak, bo, bk, wide, co, ldc, depth, h, w, alpha, add = (
            args[k] for k in (1, 2, 3, 5, 6, 7, 9, 10, 11, 12, 13, 14, 15)
        )
        a, b, c = (builder.gep(p, [o]) for p, o in ((a, ao), (b, bo), (c, co)))

        def table(pair: Any, where: int) -> Emit:
            kind = sig.args[where][0]
            data = context.make_array(kind)(context, builder, builder.extract_value(pair, 0)).data
            first = builder.gep(data, [builder.extract_value(pair, 1)])
            return lambda k: builder.load(builder.gep(first, [k]))

        row_start = table(am, 2) if by == "rows" else lambda i: builder.mul(i, am)
        right_start = table(bk, 6) if by == "depth" else lambda k: builder.mul(k, bk)
        tile = _Tile(builder, dtype, lanes, rows, vectors, paired)
        starts = [builder.gep(a, [row_start(tile.row(m, h))]) for m in range(rows)]
        tile.emit(starts, ak, lambda k: builder.gep(b, [right_start(k)]), wide, c, ldc, depth, h, w, alpha, add)
        return context.get_dummy_value()

    def typed(a, am, b, bk, c):  # type: ignore[no-untyped-def]
        n = types.intp
        return types.void(a, n, am, n, b, n, bk, n, c, n, n, n, n, n, c.dtype, types.boolean)

    @intrinsic  # type: ignore[untyped-decorator, unused-ignore]
    def tile(typingctx, a, ao, am, ak, b, bo, bk, wide, c, co, ldc, depth, h, w, alpha, add):  # type: ignore[no-untyped-def]
        pair = types.Tuple((types.int64[::1], types.intp))
        return typed(a, pair if by == "rows" else types.intp, b, pair if by == "depth" else types.intp, c), codegen

    made: Callable[..., None] = tile
    return made


def pointer(context: Any, builder: Any, sig: Any, args: Any, k: int) -> Any:
    """Return the address of the first element of array argument k."""
    return context.make_array(sig.args[k])(context, builder, args[k]).data


def element_type(dtype: str) -> Any:
    """Return LLVM's type of one element."""
    kind = np.dtype(dtype)
    if kind.kind != "f":
        return ir.IntType(8 * kind.itemsize)
    return ir.FloatType() if kind.itemsize == 4 else ir.DoubleType()


class Bfloat(ir.types.Type):
    """LLVM's type bfloat, which llvmlite does not have."""

    def _to_string(self) -> str:
        return "bfloat"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Bfloat)

    def __hash__(self) -> int:
        return hash(Bfloat)


def python_tile(by: str, paired: bool) -> Callable[..., None]:
    """Return the same function in NumPy, so that a debugger can step through the generated module."""

    def tile(a, ao, am, ak, b, bo, bk, wide, c, co, ldc, depth, h, w, alpha, add):  # type: ignore[no-untyped-def]
        rows = am[0][am[1] : am[1] + h] if by == "rows" else np.arange(h) * am
        depths = bk[0][bk[1] : bk[1] + depth] if by == "depth" else np.arange(depth) * bk
        left = a[ao + rows[:, None] + np.arange(depth) * ak]
        right = b[bo + depths[:, None] + np.arange(w)]
        positions = co + np.arange(h)[:, None] * ldc + np.arange(w)
        product = alpha * (sums_of_pairs(left, right) if paired else left @ right)
        c[positions] = c[positions] + product if add else product

    return tile


def sums_of_pairs(left: Any, right: Any) -> Any:
    """Return the product of two matrices of pairs of bfloat16, whose bits are the upper half of a float32."""

    def floats(words: Any) -> tuple[Any, Any]:
        bits = words.astype(np.uint32)
        return (bits << np.uint32(16)).view(np.float32), (bits & np.uint32(0xFFFF0000)).view(np.float32)

    (a, b), (c, d) = floats(left), floats(right)
    return a @ c + b @ d


class _Tile:
    """Emits the LLVM code of one tile."""

    def __init__(self, builder: Any, dtype: str, lanes: int, rows: int, vectors: int, paired: bool = False) -> None:
        self.builder, self.lanes, self.rows, self.vectors, self.paired = builder, lanes, rows, vectors, paired
        kind = np.dtype(dtype)
        self.align, self.floats = kind.itemsize, kind.kind == "f"
        self.vector = ir.VectorType(element_type(dtype), lanes)
        self.name = f"v{lanes}{'f' if self.floats else 'i'}{8 * self.align}"
        self.zero = ir.Constant(self.vector, [0.0 if self.floats else 0] * lanes)
        self.mask = ir.VectorType(I1, lanes)

    def emit(
        self, starts: list[Any], ak: Any, right: Emit, wide: Any, c: Any, ldc: Any, depth: Any, h: Any, w: Any,
        alpha: Any, add: Any,
    ) -> None:  # fmt: skip
        """Emit a loop over k without masks, and one with a masked last vector for each number of readable vectors."""
        builder = self.builder
        alpha = self.spread(alpha)
        inside = builder.icmp_signed("<", wide, self.number(self.vectors * self.lanes))
        with builder.if_else(inside, likely=False) as (narrow, full):
            with full:
                sums = self.loop(starts, ak, right, depth, self.vectors, None)
                whole = builder.and_(
                    builder.icmp_signed(">=", h, self.number(self.rows)),
                    builder.icmp_signed(">=", w, self.number(self.vectors * self.lanes)),
                )
                with builder.if_else(whole, likely=True) as (all_of_it, part):
                    with all_of_it:
                        self.store(sums, c, ldc, alpha, add)
                    with part:
                        self.store_part(sums, c, ldc, alpha, add, h, w)
            with narrow:
                for count in range(1, self.vectors + 1):
                    some = builder.and_(
                        builder.icmp_signed(">", wide, self.number((count - 1) * self.lanes)),
                        builder.icmp_signed("<=", wide, self.number(count * self.lanes)),
                    )
                    with builder.if_then(some):
                        sums = self.loop(starts, ak, right, depth, count, self.within(wide, count - 1))
                        self.store_part(sums, c, ldc, alpha, add, h, w)

    def loop(self, starts: list[Any], ak: Any, right: Emit, depth: Any, vectors: int, last: Any) -> list[list[Any]]:
        """Emit the loop over k, and return its sums; `last` masks the last vector of a row of B."""
        builder, entry = self.builder, self.builder.block
        loop, done = builder.append_basic_block("k"), builder.append_basic_block("done")
        builder.branch(loop)
        builder.position_at_end(loop)
        k, at = builder.phi(I64), builder.phi(I64)
        sums = [[builder.phi(self.vector) for _ in range(vectors)] for _ in range(self.rows)]
        row = right(k)
        line = [self.load(builder.gep(row, [self.number(v * self.lanes)])) for v in range(vectors - 1)]
        end = builder.gep(row, [self.number((vectors - 1) * self.lanes)])
        line.append(self.load(end) if last is None else self.load_masked(end, last))
        added = []
        for m in range(self.rows):
            element = builder.load(builder.gep(starts[m], [at]))
            x = self.spread(builder.bitcast(element, self.vector.element) if self.paired else element)
            join = self.add_pairs if self.paired else self.muladd
            added.append([join(x, line[v], sums[m][v]) for v in range(vectors)])
        following, further = builder.add(k, self.number(1)), builder.add(at, ak)
        for phi, start, value in (
            (k, self.number(0), following),
            (at, self.number(0), further),
            *((p, self.zero, n) for old, new in zip(sums, added, strict=True) for p, n in zip(old, new, strict=True)),
        ):
            phi.add_incoming(start, entry)
            phi.add_incoming(value, loop)
        builder.cbranch(builder.icmp_signed("<", following, depth), loop, done)
        builder.position_at_end(done)
        return added

    def store(self, sums: list[list[Any]], c: Any, ldc: Any, alpha: Any, add: Any) -> None:
        """Write a whole tile, or add it to the stored elements."""
        builder = self.builder
        cells = [(self.pointer(c, ldc, m, v), value) for m, line in enumerate(sums) for v, value in enumerate(line)]
        with builder.if_else(add) as (more, write):
            with more:
                for pointer, value in cells:
                    builder.store(self.muladd(alpha, value, self.load(pointer)), self.cast(pointer), align=self.align)
            with write:
                for pointer, value in cells:
                    builder.store(self.times(alpha, value), self.cast(pointer), align=self.align)

    def store_part(self, sums: list[list[Any]], c: Any, ldc: Any, alpha: Any, add: Any, h: Any, w: Any) -> None:
        """Write the first h rows and w columns of a tile, or add them to the stored elements."""
        builder = self.builder
        masks = [self.within(w, v) for v in range(len(sums[0]))]
        nowhere = ir.Constant(self.mask, [0] * self.lanes)
        old = [builder.select(add, mask, nowhere) for mask in masks]
        for m, line in enumerate(sums):
            with builder.if_then(builder.icmp_signed(">", h, self.number(m))):
                for v, value in enumerate(line):
                    pointer = self.pointer(c, ldc, m, v)
                    self.store_masked(self.muladd(alpha, value, self.load_masked(pointer, old[v])), pointer, masks[v])

    # ---- pieces ----

    def number(self, value: int) -> Any:
        return ir.Constant(I64, value)

    def row(self, m: int, h: Any) -> Any:
        """Return the row index m, or 0 if the tile has at most m rows; results for rows beyond it are not stored."""
        builder = self.builder
        return builder.select(builder.icmp_signed(">", h, self.number(m)), self.number(m), self.number(0))

    def pointer(self, c: Any, ldc: Any, m: int, v: int) -> Any:
        row = self.builder.gep(c, [self.builder.mul(ldc, self.number(m))])
        return self.builder.gep(row, [self.number(v * self.lanes)])

    def within(self, width: Any, v: int) -> Any:
        """Return the mask of the lanes of vector v that are in the first `width` columns.

        The comparison uses at most as many bits as an element has, because LLVM moves it into loops.
        """
        builder = self.builder
        kind = I64 if self.align == 8 else I32
        counts = ir.VectorType(kind, self.lanes)
        lanes = ir.Constant(counts, [v * self.lanes + k for k in range(self.lanes)])
        width = width if kind is I64 else builder.trunc(width, I32)
        one = builder.insert_element(ir.Constant(counts, ir.Undefined), width, ir.Constant(I32, 0))
        everywhere = ir.Constant(ir.VectorType(I32, self.lanes), [0] * self.lanes)
        return builder.icmp_signed("<", lanes, builder.shuffle_vector(one, one, everywhere))

    def spread(self, x: Any) -> Any:
        """Return a vector with the element x in every lane."""
        undefined = ir.Constant(self.vector, ir.Undefined)
        x = self.builder.insert_element(undefined, x, ir.Constant(I32, 0))
        return self.builder.shuffle_vector(x, undefined, ir.Constant(ir.VectorType(I32, self.lanes), [0] * self.lanes))

    def times(self, x: Any, y: Any) -> Any:
        return self.builder.fmul(x, y) if self.floats else self.builder.mul(x, y)

    def muladd(self, x: Any, y: Any, z: Any) -> Any:
        """Return x * y + z.

        LLVM compiles fmuladd to one instruction if the machine has it, otherwise to a product and a sum; fma would be a
        library call then.
        """
        if not self.floats:
            return self.builder.add(self.builder.mul(x, y), z)
        return self.builder.call(self.function(f"llvm.fmuladd.{self.name}", self.vector, [self.vector] * 3), [x, y, z])

    def add_pairs(self, x: Any, y: Any, z: Any) -> Any:
        """Return the sum of z and the products of both elements of each pair."""
        pairs = ir.VectorType(Bfloat(), 2 * self.lanes)
        name = f"llvm.x86.avx512bf16.dpbf16ps.{32 * self.lanes}"
        add = self.function(name, self.vector, [self.vector, pairs, pairs])
        return self.builder.call(add, [z, self.builder.bitcast(x, pairs), self.builder.bitcast(y, pairs)])

    def function(self, name: str, result: Any, arguments: list[Any]) -> Any:
        return cgutils.get_or_insert_function(self.builder.module, ir.FunctionType(result, arguments), name)

    def cast(self, pointer: Any) -> Any:
        return self.builder.bitcast(pointer, self.vector.as_pointer())

    def load(self, pointer: Any) -> Any:
        return self.builder.load(self.cast(pointer), align=self.align)

    def load_masked(self, pointer: Any, mask: Any) -> Any:
        """Load a vector; lanes outside the mask are zero, and their memory is not read."""
        pointer = self.cast(pointer)
        load = self.function(
            f"llvm.masked.load.{self.name}.p0", self.vector, [pointer.type, I32, self.mask, self.vector]
        )
        return self.builder.call(load, [pointer, ir.Constant(I32, self.align), mask, self.zero])

    def store_masked(self, value: Any, pointer: Any, mask: Any) -> None:
        pointer = self.cast(pointer)
        store = self.function(
            f"llvm.masked.store.{self.name}.p0", ir.VoidType(), [self.vector, pointer.type, I32, self.mask]
        )
        self.builder.call(store, [value, pointer, ir.Constant(I32, self.align), mask])
