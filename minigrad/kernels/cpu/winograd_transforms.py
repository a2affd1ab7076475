"""The transforms of Winograd's algorithm F(4x4, 3x3), on vectors of channels.

In one dim, a convolution with 3 taps computes four neighbouring outputs from six elements of the image.  As a product
of polynomials, it is an elementwise product of values at six points: 0, 3/4, -3/4, 3/2, -3/2 and infinity.  In two dims
there are 36 products instead of 144.  `winograd_transform` makes an intrinsic that reads a square of vectors, applies a
transform along both dims in registers, and writes a square of vectors.  Only generated modules import this file.  They
contain its hash, so a change of this file changes the text, and thereby the name, of a kernel.

Source: Winograd, "Arithmetic Complexity of Computations", SIAM 1980, chapter 4; Lavin and Gray, "Fast Algorithms for
Convolutional Neural Networks", CVPR 2016.  The points are symmetric, so that the two points of a pair share work, and
they are exact in binary.  Among the pairs of small fractions that were tried, they have nearly the smallest error: 2.7
times that of the direct sum over 64 channels of random numbers.  The usual points 1, -1, 2, -2 have 5.4 times this
error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic

from minigrad.kernels.cpu.emitting import element_type, pointer

I32 = ir.IntType(32)
P, Q = 0.75, 1.5  # the other points are 0 and infinity; these two have both signs
PP, QQ = P * P, Q * Q
NEAR, FAR = 2 * PP * (PP - QQ), 2 * QQ * (QQ - PP)  # the divisors of the weight's values at P and Q
Vectors = Sequence[Any]
Fma = Callable[[float, Any, Any], Any]  # factor * x + y


def input_transform(d: Vectors, fma: Fma) -> Vectors:
    """Evaluate six elements of an image at the points."""
    values = []
    for point, other in ((P, QQ), (Q, PP)):
        even, odd = fma(-other, d[2], d[4]), fma(-other, d[1], d[3])
        values += [fma(point, odd, even), fma(-point, odd, even)]
    ends = [fma(PP * QQ, d[k], fma(-PP - QQ, d[k + 2], d[k + 4])) for k in (0, 1)]
    return [ends[0], *values, ends[1]]


def output_transform(m: Vectors, fma: Fma) -> Vectors:
    """Compute four outputs from the products at the points."""
    near, far = fma(1, m[1], m[2]), fma(1, m[3], m[4])
    odd, further = fma(-1, m[2], m[1]), fma(-1, m[4], m[3])
    return [
        fma(1, m[0], fma(1, near, far)),
        fma(P, odd, fma(Q, further, None)),
        fma(PP, near, fma(QQ, far, None)),
        fma(P * PP, odd, fma(Q * QQ, further, m[5])),
    ]


def gradient_transform(g: Vectors, fma: Fma) -> Vectors:
    """Evaluate four gradients of outputs: the transpose of `output_transform`."""
    values = []
    for point in (P, Q):
        even, odd = fma(point * point, g[2], g[0]), fma(point * point, g[3], g[1])
        values += [fma(point, odd, even), fma(-point, odd, even)]
    return [g[0], *values, g[3]]


def weight_transform(w: Vectors, fma: Fma) -> Vectors:
    """Evaluate three taps at the points."""
    values = []
    for point, scale in ((P, NEAR), (Q, FAR)):
        even = fma(1 / scale, w[0], fma(point * point / scale, w[2], None))
        values += [fma(point / scale, w[1], even), fma(-point / scale, w[1], even)]
    return [fma(1 / (PP * QQ), w[0], None), *values, w[2]]


def weight_gradient_transform(s: Vectors, fma: Fma) -> Vectors:
    """Compute three gradients of taps from the sums of products: the transpose of `weight_transform`."""
    near, far = fma(1, s[1], s[2]), fma(1, s[3], s[4])
    odd, further = fma(-1, s[2], s[1]), fma(-1, s[4], s[3])
    return [
        fma(1 / (PP * QQ), s[0], fma(1 / NEAR, near, fma(1 / FAR, far, None))),
        fma(P / NEAR, odd, fma(Q / FAR, further, None)),
        fma(PP / NEAR, near, fma(QQ / FAR, far, s[5])),
    ]


# Maps each transform to the numbers of elements that it reads and writes along one dim.
TRANSFORMS = {
    input_transform: (6, 6), output_transform: (6, 4), gradient_transform: (4, 6), weight_transform: (3, 6),
    weight_gradient_transform: (6, 3),
}  # fmt: skip


def winograd_transform(name: str, dtype: str, lanes: int) -> Callable[..., None]:
    """Return the function f(x, at, near, z, to, far), which transforms squares.

    It reads a square of vectors of x and stores its transform in a square of vectors of z.  The vectors have `lanes`
    elements and begin at x[at + near[k]] and z[to + far[k]].  near, far: arrays with the positions of the elements of a
    square, row by row.  `output_transform` has two more arguments, added and start: it adds the vector that begins at
    added[start].

    name: the name of a transform.  With NUMBA_DISABLE_JIT=1 the function is plain NumPy.
    """
    transform = next(each for each in TRANSFORMS if each.__name__ == name)
    if config.DISABLE_JIT:  # type: ignore[attr-defined, unused-ignore]
        return python_transform(transform, lanes)
    reads, writes = TRANSFORMS[transform]

    def codegen(context, builder, sig, args):  # type: ignore[no-untyped-def]
        x, near, z, far = (pointer(context, builder, sig, args, k) for k in (0, 2, 3, 5))
        vectors = _Vectors(builder, dtype, lanes)
        x, z = builder.gep(x, [args[1]]), builder.gep(z, [args[4]])
        square = [vectors.load(x, vectors.position(near, k)) for k in range(reads * reads)]
        results = both_dims(transform, square, vectors.fma)
        if len(args) > 6:
            constant = vectors.load(pointer(context, builder, sig, args, 6), args[7])
            results = [vectors.fma(1, result, constant) for result in results]
        for k in range(writes * writes):
            vectors.store(results[k], z, vectors.position(far, k))
        return context.get_dummy_value()

    n = types.intp

    def transformed(typingctx, x, at, near, z, to, far):  # type: ignore[no-untyped-def]
        return types.void(x, n, near, z, n, far), codegen

    def with_bias(typingctx, x, at, near, z, to, far, added, start):  # type: ignore[no-untyped-def]
        return types.void(x, n, near, z, n, far, added, n), codegen

    made: Callable[..., None] = intrinsic(with_bias if transform is output_transform else transformed)
    return made


def both_dims(transform: Callable[..., Vectors], square: Vectors, fma: Fma) -> list[Any]:
    """Apply a transform within the columns of a square, then within its rows."""
    reads, writes = TRANSFORMS[transform]
    columns = [transform(square[j::reads], fma) for j in range(reads)]
    rows = [transform([columns[j][i] for j in range(reads)], fma) for i in range(writes)]
    return [value for row in rows for value in row]


def python_transform(transform: Callable[..., Vectors], lanes: int) -> Callable[..., None]:
    """Return the same function in NumPy."""
    reads, _ = TRANSFORMS[transform]

    def fma(factor: float, x: Any, y: Any) -> Any:
        return np.float32(factor) * x + (0 if y is None else y)

    def transformed(x, at, near, z, to, far, added=None, start=0):  # type: ignore[no-untyped-def]
        square = [x[at + near[k] : at + near[k] + lanes] for k in range(reads * reads)]
        for k, result in enumerate(both_dims(transform, square, fma)):
            z[to + far[k] : to + far[k] + lanes] = result if added is None else result + added[start : start + lanes]

    return transformed


class _Vectors:
    """Emits loads, stores and multiply-adds of vectors."""

    def __init__(self, builder: Any, dtype: str, lanes: int) -> None:
        self.builder, self.lanes, self.align = builder, lanes, np.dtype(dtype).itemsize
        self.kind = ir.VectorType(element_type(dtype), lanes)
        self.name = f"v{lanes}f{8 * self.align}"

    def position(self, table: Any, k: int) -> Any:
        return self.builder.load(self.builder.gep(table, [ir.Constant(ir.IntType(64), k)]))

    def pointer(self, base: Any, position: Any) -> Any:
        return self.builder.bitcast(self.builder.gep(base, [position]), self.kind.as_pointer())

    def load(self, base: Any, position: Any) -> Any:
        return self.builder.load(self.pointer(base, position), align=self.align)

    def store(self, value: Any, base: Any, position: Any) -> None:
        self.builder.store(value, self.pointer(base, position), align=self.align)

    def fma(self, factor: float, x: Any, y: Any) -> Any:
        """Return factor * x + y; y may be None, and then nothing is added."""
        builder = self.builder
        if factor in (1, -1):
            return builder.fadd(y, x) if factor == 1 else builder.fsub(y, x)
        constant = ir.Constant(self.kind, [factor] * self.lanes)
        if y is None:
            return builder.fmul(constant, x)
        kind = ir.FunctionType(self.kind, [self.kind] * 3)
        function = cgutils.get_or_insert_function(builder.module, kind, f"llvm.fmuladd.{self.name}")
        return builder.call(function, [constant, x, y])
