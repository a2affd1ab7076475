"""Norms of vectors and matrices, distances, powers and chains of products under the names of `torch.linalg`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from minigrad.core.roles import Dim, Flag, Int, Scalar
from minigrad.core.shape import normalize_dim
from minigrad.declare.decorators import composed
from minigrad.declare.names import LINALG
from minigrad.errors import ArgumentError, ShapeError
from minigrad.ops.casting import clone
from minigrad.ops.creation import arange, eye
from minigrad.ops.linalg import vectors
from minigrad.ops.linalg.products import matmul
from minigrad.ops.pointwise.compare import where
from minigrad.ops.reduction.norms import norm
from minigrad.ops.reduction.scan import cumprod
from minigrad.ops.reduction.sums import amax, amin
from minigrad.ops.shape.views import expand, reshape
from minigrad.runtime.tensor import Tensor, describe

Known = dict[tuple[int, int], tuple[int, int]]


@composed(namespace=LINALG, method=False)
def vector_norm(x: Tensor, ord: Any = 2, dim: Any = None, keepdim: Flag = False, *, dtype: Any = None) -> Tensor:
    """The norm of order `ord` over `dim`, of all elements without one: `mg.norm`."""
    return norm(x, ord, dim, keepdim, dtype=dtype)


@composed(of=vectors.cross, namespace=LINALG, method=False)
def cross(input: Tensor, other: Tensor, *, dim: int = -1) -> Tensor:
    """`mg.cross` along the last dim, unless another is given."""
    return vectors.cross(input, other, dim)


@composed(namespace=LINALG, method=False)
def matrix_norm(
    A: Tensor, ord: Any = "fro", dim: Any = (-2, -1), keepdim: Flag = False, *, dtype: Any = None
) -> Tensor:
    """The norm of matrices over two dims: "fro", or the largest (1) or smallest (-1) sum of a column, inf of a row.

    Raises ArgumentError for the orders 2, -2 and "nuc", which singular values are needed for.
    """
    dims = tuple([normalize_dim(d, A.ndim, "matrix_norm", A) for d in (dim if isinstance(dim, (tuple, list)) else ())])
    if len(set(dims)) != 2:
        raise ShapeError(f"matrix_norm: dim must be two dims of {describe(A)}, got {dim}", op="matrix_norm")
    if ord == "fro":
        return norm(A, 2, dims, keepdim, dtype=dtype)
    if ord not in (1, -1, math.inf, -math.inf):
        raise ArgumentError(
            f"matrix_norm: ord must be 'fro', 1, -1, inf or -inf, got {ord!r}"
            + ("; it is made of singular values, which are not offered" if ord in (2, -2, "nuc") else ""),
            op="matrix_norm",
        )
    rows, columns = dims if abs(ord) == 1 else dims[::-1]
    result = (amax if ord > 0 else amin)(norm(A, 1, rows, True, dtype=dtype), columns, True)
    return result if keepdim else result.squeeze(dims)


@composed(method=False, out=False)
def dist(input: Tensor, other: Tensor, p: Scalar = 2) -> Tensor:
    """The norm of order p of input - other, over all elements; the two broadcast."""
    return norm(input - other, p)


@composed(method=False, out=False)
def cdist(x1: Tensor, x2: Tensor, p: Scalar = 2.0, compute_mode: Any = "use_mm_for_euclid_dist_if_necessary") -> Tensor:
    """The distance of order p of each row of x1 from each row of x2, (..., m, k) and (..., n, k) to (..., m, n).

    compute_mode: has no effect, for differences are taken before squares.
    """
    if x1.ndim < 2 or x2.ndim < 2 or x1.shape[-1] != x2.shape[-1] or p < 0:
        raise ShapeError(f"cdist: expected rows of one length and p >= 0, got {describe(x1)}, {describe(x2)} and {p}")
    return norm(x1.unsqueeze(-2) - x2.unsqueeze(-3), p if x1.shape[-1] else 2, -1)


@composed()
def renorm(input: Tensor, p: Scalar, dim: Dim, maxnorm: Scalar) -> Tensor:
    """The slices along `dim` whose norm of order p is above maxnorm scaled down to it."""
    if p <= 0 or maxnorm < 0 or input.ndim < 2:
        raise ArgumentError(f"renorm: p > 0, maxnorm >= 0 and 2 dims are needed, got {p}, {maxnorm}, {describe(input)}")
    size = norm(input, p, tuple([d for d in range(input.ndim) if d != dim]), True)
    return input * where(size > maxnorm, maxnorm / (size + 1e-7), 1.0)  # PyTorch adds this, so that none is above


@composed(namespace=LINALG, method=False, out=False)
def vander(x: Tensor, N: int | None = None) -> Tensor:
    """The powers 0 to N - 1 of each element, as a last dim; N is the length of the last dim if None."""
    x = x if x.ndim else x[None]
    n = x.shape[-1] if N is None else N
    if n < 2:
        raise ShapeError(f"vander: expected N > 1, got {describe(x)} and {N}", op="vander")
    later = arange(n, device=x.device) > 0
    return cumprod(where(later, x.unsqueeze(-1), 1), -1)


@composed(namespace=LINALG, method=False)
def matrix_power(A: Tensor, n: Int) -> Tensor:
    """A @ A @ ... n times, by repeated squares; the identity for 0.  Negative powers are not offered."""
    if A.ndim < 2 or A.shape[-1] != A.shape[-2] or n < 0:
        raise ArgumentError(
            f"matrix_power: expected square matrices and n >= 0, got {describe(A)} and {n}; there is no inverse",
            op="matrix_power",
        )
    if n == 0:
        return clone(expand(eye(A.shape[-1], dtype=A.dtype, device=A.device), shape=A.shape))
    if n == 1:
        return clone(A)
    half = A if n < 4 else matrix_power(A, n // 2)
    return half @ half if n % 2 == 0 else half @ half @ A


@composed(namespace=LINALG, method=False)
def multi_dot(tensors: Sequence[Tensor]) -> Tensor:
    """The product of two matrices or more in the order that multiplies least; the first and the last may be vectors.

    Source: Cormen, Leiserson, Rivest, Stein, Introduction to Algorithms, 3rd edition, section 15.2.
    """
    first, last, ends = tensors[0], tensors[-1], (0, len(tensors) - 1)
    if len(tensors) < 2 or any(x.ndim != 2 and (x.ndim != 1 or k not in ends) for k, x in enumerate(tensors)):
        raise ShapeError(f"multi_dot: expected two matrices or more, got {', '.join(map(describe, tensors))}")
    chain = [x if x.ndim == 2 else x.unsqueeze(0 if k == 0 else 1) for k, x in enumerate(tensors)]
    sizes = [x.shape[0] for x in chain] + [chain[-1].shape[1]]
    y = chained(chain, sizes, {}, 0, len(chain))
    return reshape(y, (*first.shape[:-1], *(last.shape[1:])))


def chained(chain: list[Tensor], sizes: list[int], known: Known, start: int, end: int) -> Tensor:
    """The product of a part of a chain of matrices, made in the best order."""
    if end - start == 1:
        return chain[start]
    _, split = cheapest(sizes, known, start, end)
    return matmul(chained(chain, sizes, known, start, split), chained(chain, sizes, known, split, end))


def cheapest(sizes: list[int], known: Known, start: int, end: int) -> tuple[int, int]:
    """The least multiplications for a part of a chain of matrices, and where to split it."""
    if end - start == 1:
        return 0, start
    if (start, end) not in known:
        known[start, end] = min(
            (cheapest(sizes, known, start, k)[0] + cheapest(sizes, known, k, end)[0]
             + sizes[start] * sizes[k] * sizes[end], k)
            for k in range(start + 1, end)
        )  # fmt: skip
    return known[start, end]
