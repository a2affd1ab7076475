"""The register tile of matrix products and convolutions: the only loop that Numba cannot compile well from Python.

`register_tile` makes an intrinsic that accumulates a `rows x columns` piece of a product in vector registers.  For each
k it loads a row of B once, broadcasts an element of each row of A to a vector, and issues one multiply-add per
register.  It reads both operands where they are, with any strides of A and dense rows of B.  With `by`, a table instead
of a stride has the start of each row of A, or of each row of B; this is how a convolution reads an image.  Tiles at an
edge load and store with a mask.  With `paired`, each element of A and B is a pair of bfloat16, and one instruction adds
both products to a float32.  With `far`, it requests the memory of the next tiles (decision 107).  `processor.py`
determines the size of the tile.  Only generated modules import this file.  They contain its hash, so a change of this
file changes the text, and thereby the name, of a kernel.

Source: Goto and van de Geijn, "Anatomy of high-performance matrix multiplication", ACM TOMS 34(3), 2008; the division
into panels and a micro-kernel is that of Van Zee and van de Geijn, "BLIS", ACM TOMS 41(3), 2015.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.extending import intrinsic

from minigrad.kernels.cpu.emitting import I64, Vectors, pointer

Emit = Callable[[Any], Any]


class NextTiles(NamedTuple):
    """Describe the cache lines that a tile requests for the next tiles.

    ahead: the distance in elements from an element of A to one whose line is requested.
    later: the address of an element of B.
    pace: the distance from it to that of the next k, whose line is requested with the next k.
    """

    ahead: Any
    later: Any
    pace: Any


def register_tile(
    dtype: str, lanes: int, rows: int, vectors: int, by: str = "", paired: bool = False, far: bool = False
) -> Callable[..., None]:
    """Return the function tile(a, ao, am, ak, b, bo, bk, wide, c, co, ldc, depth, h, w, alpha, add, ahead=0, ...).

    It computes c = alpha * a @ b, or c + alpha * a @ b with `add`, on the first `h` rows and `w` columns of a tile.

    The elements are a[ao + i * am + k * ak], b[bo + k * bk + j] and c[co + i * ldc + j] of 1-d arrays of this dtype.
    `wide` columns of b may be read, at least w.  With by="rows", am is a pair (table, at), and row i of a starts at ao
    + table[at + i].  With by="depth", bk is such a pair for the rows of b.  depth is at least 1.  With `paired`,
    elements of a and b are int32 with the bits of two bfloat16.  If `ahead` is not 0, the tile also requests the cache
    lines `ahead` elements after its elements of a.  With `far`, it always does, and it has two more arguments, `later`
    and `pace`: for each k, it requests the line of b[later + k * pace]; before, it requests its lines of c.  With
    NUMBA_DISABLE_JIT=1 the function is plain NumPy.
    """
    if config.DISABLE_JIT:  # type: ignore[attr-defined, unused-ignore]
        return python_tile(by, paired)

    def codegen(context, builder, sig, args):  # type: ignore[no-untyped-def]
        a, b, c = (pointer(context, builder, sig, args, k) for k in (0, 4, 8))
        ao, am, ak, bo, bk, wide, co, ldc, depth, h, w, alpha, add, ahead, later, pace = (
            args[k] for k in (1, 2, 3, 5, 6, 7, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18)
        )
        requests = NextTiles(ahead, builder.gep(b, [later]), pace)
        a, b, c = (builder.gep(p, [o]) for p, o in ((a, ao), (b, bo), (c, co)))

        def table(pair: Any, where: int) -> Emit:
            kind = sig.args[where][0]
            data = context.make_array(kind)(context, builder, builder.extract_value(pair, 0)).data
            first = builder.gep(data, [builder.extract_value(pair, 1)])
            return lambda k: builder.load(builder.gep(first, [k]))

        row_start = table(am, 2) if by == "rows" else lambda i: builder.mul(i, am)
        right_start = table(bk, 6) if by == "depth" else lambda k: builder.mul(k, bk)
        tile = Tile(builder, dtype, lanes, rows, vectors, paired, far)
        starts = [builder.gep(a, [row_start(tile.row(m, h))]) for m in range(rows)]
        right: Emit = lambda k: builder.gep(b, [right_start(k)])  # noqa: E731
        tile.emit(starts, ak, right, wide, c, ldc, depth, h, w, alpha, add, requests)
        return context.get_dummy_value()

    def typed(a, am, b, bk, c):  # type: ignore[no-untyped-def]
        n = types.intp
        return types.void(a, n, am, n, b, n, bk, n, c, n, n, n, n, n, c.dtype, types.boolean, n, n, n)

    @intrinsic  # type: ignore[untyped-decorator, unused-ignore]
    def tile(  # type: ignore[no-untyped-def]
        typingctx, a, ao, am, ak, b, bo, bk, wide, c, co, ldc, depth, h, w, alpha, add, ahead=0, later=0, pace=0
    ):
        pair = types.Tuple((types.int64[::1], types.intp))
        return typed(a, pair if by == "rows" else types.intp, b, pair if by == "depth" else types.intp, c), codegen

    made: Callable[..., None] = tile
    return made


def python_tile(by: str, paired: bool) -> Callable[..., None]:
    """Return the same function in NumPy, so that a debugger can step through the generated module."""

    def tile(a, ao, am, ak, b, bo, bk, wide, c, co, ldc, depth, h, w, alpha, add, *requests):  # type: ignore[no-untyped-def]
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


class Tile(Vectors):
    """Emits the LLVM code of one tile."""

    def __init__(
        self, builder: Any, dtype: str, lanes: int, rows: int, vectors: int, paired: bool = False, far: bool = False
    ) -> None:
        super().__init__(builder, dtype, lanes)
        self.rows, self.vectors, self.paired, self.far = rows, vectors, paired, far

    def emit(
        self, starts: list[Any], ak: Any, right: Emit, wide: Any, c: Any, ldc: Any, depth: Any, h: Any, w: Any,
        alpha: Any, add: Any, requests: NextTiles,
    ) -> None:  # fmt: skip
        """Emit a loop over k without masks, and one with a masked last vector for each number of readable vectors."""
        builder = self.builder
        alpha = self.spread(alpha)
        if self.far:
            for m, v in product(range(self.rows), range(self.vectors)):
                self.prefetch(self.pointer(c, ldc, m, v))
        inside = builder.icmp_signed("<", wide, self.number(self.vectors * self.lanes))
        with builder.if_else(inside, likely=False) as (narrow, full):
            with full:
                sums = self.loop_ahead(starts, ak, right, depth, requests)
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
                        asked = requests if self.far else None
                        sums = self.loop(starts, ak, right, depth, count, self.within(wide, count - 1), asked)
                        self.store_part(sums, c, ldc, alpha, add, h, w)

    def loop_ahead(self, starts: list[Any], ak: Any, right: Emit, depth: Any, requests: NextTiles) -> list[list[Any]]:
        """Emit the loop over k for whole rows of B: with requests for the next tile of A, and without.

        The requests save 3 to 11 % if A is in panels, because the processor does not foresee where the next panel
        begins.  They cost 2 % otherwise (decision 086).
        """
        if self.far or isinstance(requests.ahead, ir.Constant):  # otherwise the caller does not pass a distance
            return self.loop(starts, ak, right, depth, self.vectors, None, requests if self.far else None)
        builder, made = self.builder, []
        with builder.if_else(builder.icmp_signed("!=", requests.ahead, self.number(0))) as cases:
            for case, asked in zip(cases, (requests, None), strict=True):
                with case:
                    sums = self.loop(starts, ak, right, depth, self.vectors, None, asked)
                    made.append((sums, builder.block))
        merged = [[builder.phi(self.vector) for _ in range(self.vectors)] for _ in range(self.rows)]
        for sums, block in made:
            for line, values in zip(merged, sums, strict=True):
                for phi, value in zip(line, values, strict=True):
                    phi.add_incoming(value, block)
        return merged

    def loop(
        self,
        starts: list[Any],
        ak: Any,
        right: Emit,
        depth: Any,
        vectors: int,
        last: Any,
        requests: NextTiles | None = None,
    ) -> list[list[Any]]:
        """Emit the loop over k, and return its sums; `last` masks the last vector of a row of B."""
        builder, entry = self.builder, self.builder.block
        loop, done = builder.append_basic_block("k"), builder.append_basic_block("done")
        builder.branch(loop)
        builder.position_at_end(loop)
        k, at = builder.phi(I64), builder.phi(I64)
        sums = [[builder.phi(self.vector) for _ in range(vectors)] for _ in range(self.rows)]
        if requests is not None:
            self.prefetch(builder.gep(starts[0], [builder.add(at, requests.ahead)]))
            if self.far:  # the second-level cache contains the next panel: the first one is full of this panel
                self.prefetch(builder.gep(requests.later, [builder.mul(k, requests.pace)]), 2)
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

    def row(self, m: int, h: Any) -> Any:
        """Return the row index m, or 0 if the tile has at most m rows; results for rows beyond it are not stored."""
        builder = self.builder
        return builder.select(builder.icmp_signed(">", h, self.number(m)), self.number(m), self.number(0))

    def pointer(self, c: Any, ldc: Any, m: int, v: int) -> Any:
        row = self.builder.gep(c, [self.builder.mul(ldc, self.number(m))])
        return self.builder.gep(row, [self.number(v * self.lanes)])
