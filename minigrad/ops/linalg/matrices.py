"""Norms of vectors and matrices, powers and chains of products under the names of `torch.linalg`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from minigrad.core.roles import Dim, Flag, Int, Scalar
from minigrad.core.shape import normalize_dim
from minigrad.declare.decorators import composed, public
from minigrad.declare.forms import as_float
from minigrad.declare.names import LINALG
from minigrad.errors import ArgumentError, ShapeError
from minigrad.ops.casting import clone
from minigrad.ops.creation import arange, eye
from minigrad.ops.linalg import vectors
from minigrad.ops.linalg.products import matmul
from minigrad.ops.linalg.spectra import svdvals
from minigrad.ops.linalg.systems import inv
from minigrad.ops.pointwise.compare import where
from minigrad.ops.reduction import norms
from minigrad.ops.reduction.scan import cumprod
from minigrad.ops.reduction.sums import amax, amin, sum
from minigrad.ops.shape import views
from minigrad.ops.shape.rearranging import movedim
from minigrad.ops.shape.views import expand, reshape
from minigrad.runtime.tensor import Tensor, describe

Known = dict[tuple[int, int], tuple[int, int]]


@composed(namespace=LINALG, method=False)
def vector_norm(x: Tensor, ord: Any = 2, dim: Any = None, keepdim: Flag = False, *, dtype: Any = None) -> Tensor:
    """Return the norm of order `ord` over `dim`, by default of all elements: `mg.norm`."""
    return norms.norm(x, ord, dim, keepdim, dtype=dtype)


@composed(of=vectors.cross, namespace=LINALG, method=False)
def cross(input: Tensor, other: Tensor, *, dim: int = -1) -> Tensor:
    """Return `mg.cross` along the last dim, unless another is given."""
    return vectors.cross(input, other, dim)


@composed(namespace=LINALG, method=False)
def matrix_norm(
    A: Tensor, ord: Any = "fro", dim: Any = (-2, -1), keepdim: Flag = False, *, dtype: Any = None
) -> Tensor:
    """Return the norm of matrices over two dims, of the order "fro", "nuc", 1, -1, 2, -2, inf or -inf.

    "nuc" is the sum of singular values, 2 and -2 the largest and the smallest one; 1 and -1 the largest and smallest
    sum of magnitudes of a column, inf and -inf of a row.
    Gradient: of "nuc", 2 and -2 U diag(g) Vh of those singular vectors.
    """
    dims = tuple([normalize_dim(d, A.ndim, "matrix_norm", A) for d in (dim if isinstance(dim, (tuple, list)) else ())])
    if len(set(dims)) != 2:
        raise ShapeError(f"matrix_norm: dim must be two dims of {describe(A)}, got {dim}", op="matrix_norm")
    if ord == "fro":
        return norms.norm(A, 2, dims, keepdim, dtype=dtype)
    if ord in (2, -2, "nuc"):
        values = svdvals(movedim(as_float("matrix_norm", A, dtype), dims, (-2, -1)))
        result = sum(values, -1) if ord == "nuc" else extreme(values, ord, -1)
        return result.unsqueeze(min(dims)).unsqueeze(max(dims)) if keepdim else result
    if ord not in (1, -1, math.inf, -math.inf):
        raise ArgumentError(
            f"matrix_norm: ord must be 'fro', 'nuc', 1, -1, 2, -2, inf or -inf, got {ord!r}", op="matrix_norm"
        )
    rows, columns = dims if abs(ord) == 1 else dims[::-1]
    result = extreme(norms.norm(A, 1, rows, True, dtype=dtype), ord, columns, True)
    return result if keepdim else result.squeeze(dims)


norms.OF_MATRICES["nuc"] = lambda x, dims, keepdim: matrix_norm(x, "nuc", dims, keepdim)


def extreme(x: Tensor, ord: float, dim: int, keepdim: bool = False) -> Tensor:
    """Return the largest of magnitudes for a positive order, which of none is 0, the smallest for a negative one."""
    if ord < 0:
        return amin(x, dim, keepdim)
    return (amax if x.shape[dim] else sum)(x, dim, keepdim)


@composed(of=norms.norm, namespace=LINALG, method=False)
def norm(input: Tensor, ord: Any = None, dim: Any = None, keepdim: Flag = False, *, dtype: Any = None) -> Tensor:
    """Return `vector_norm` over one dim, or over all without `ord` and `dim`; `matrix_norm` over two dims.

    Without `dim`, a tensor of two dims is a matrix if `ord` is given.
    """
    if ord is None or isinstance(dim, int) or (dim is None and input.ndim == 1) or (dim is not None and len(dim) == 1):
        return norms.norm(input, 2 if ord is None else ord, dim, keepdim, dtype=dtype)
    if dim is None and input.ndim != 2:
        raise ShapeError(f"norm: ord without dim needs 1 or 2 dims, got {describe(input)}; pass dim", op="norm")
    return matrix_norm(input, ord, (0, 1) if dim is None else dim, keepdim, dtype=dtype)


@composed()
def renorm(input: Tensor, p: Scalar, dim: Dim, maxnorm: Scalar) -> Tensor:
    """Return the slices along `dim` whose norm of order p is above maxnorm scaled down to it."""
    if p <= 0 or maxnorm < 0 or input.ndim < 2:
        raise ArgumentError(f"renorm: p > 0, maxnorm >= 0 and 2 dims are needed, got {p}, {maxnorm}, {describe(input)}")
    size = norms.norm(input, p, tuple([d for d in range(input.ndim) if d != dim]), True)
    # PyTorch adds 1e-7, so that no norm is larger than maxnorm.
    return input * where(size > maxnorm, maxnorm / (size + 1e-7), 1.0)


@public(namespace=LINALG)
def diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Return `mg.diagonal` of matrices in the last two dims: a view."""
    return views.diagonal(A, offset, dim1, dim2)


@composed(namespace=LINALG, method=False, out=False)
def vander(x: Tensor, N: int | None = None) -> Tensor:
    """Return the powers 0 to N - 1 of each element, as a last dim; N is the length of the last dim if None."""
    x = x if x.ndim else x[None]
    n = x.shape[-1] if N is None else N
    if n < 2:
        raise ShapeError(f"vander: expected N > 1, got {describe(x)} and {N}", op="vander")
    later = arange(n, device=x.device) > 0
    return cumprod(where(later, x.unsqueeze(-1), 1), -1)


@composed(namespace=LINALG, method=False)
def matrix_power(A: Tensor, n: Int) -> Tensor:
    """Return A @ A @ ... n times, by repeated squares; the identity for 0, powers of the inverse for negative n.

    Raises ArgumentError for a negative power of a singular matrix.
    """
    if A.ndim < 2 or A.shape[-1] != A.shape[-2]:
        raise ShapeError(
            f"matrix_power: expected square matrices of shape (..., n, n), got {describe(A)}", op="matrix_power"
        )
    if n < 0:
        return matrix_power(inv(A), -n)
    if n == 0:
        one = expand(eye(A.shape[-1], dtype=A.dtype, device=A.device), shape=A.shape)
        return where(one != one, A, one)  # the result does not depend on A, so its gradient is 0
    if n == 1:
        return clone(A)
    half = A if n < 4 else matrix_power(A, n // 2)
    return half @ half if n % 2 == 0 else half @ half @ A


@composed(namespace=LINALG, method=False)
def multi_dot(tensors: Sequence[Tensor]) -> Tensor:
    """Return the product of two or more matrices in the cheapest order; the first and the last may be vectors.

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
    """Return the product of a part of a chain of matrices, made in the best order."""
    if end - start == 1:
        return chain[start]
    _, split = cheapest(sizes, known, start, end)
    return matmul(chained(chain, sizes, known, start, split), chained(chain, sizes, known, split, end))


def cheapest(sizes: list[int], known: Known, start: int, end: int) -> tuple[int, int]:
    """Return the least multiplications for a part of a chain of matrices, and where to split it."""
    if end - start == 1:
        return 0, start
    if (start, end) not in known:
        known[start, end] = min(
            (cheapest(sizes, known, start, k)[0] + cheapest(sizes, known, k, end)[0]
             + sizes[start] * sizes[k] * sizes[end], k)
            for k in range(start + 1, end)
        )  # fmt: skip
    return known[start, end]
