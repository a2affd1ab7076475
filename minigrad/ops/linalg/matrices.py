"""Norms of vectors and matrices, powers, and chains of products, under the names of `torch.linalg`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any

from minigrad.core.conditions import Inexact, Ndim, Square
from minigrad.core.roles import Choice, Dim, Flag, Int, IntsOrNone, Number, read_scalar
from minigrad.core.shape import normalize_dim
from minigrad.declare.decorators import composed, public
from minigrad.declare.forms import as_float
from minigrad.declare.names import LINALG, MG
from minigrad.errors import ShapeError
from minigrad.ops.casting import clone
from minigrad.ops.creation import arange, eye
from minigrad.ops.linalg import vectors
from minigrad.ops.linalg.products import matmul
from minigrad.ops.linalg.spectra import svdvals
from minigrad.ops.linalg.systems import inv, solve
from minigrad.ops.pointwise.compare import where
from minigrad.ops.reduction import norms
from minigrad.ops.reduction.scan import cumprod
from minigrad.ops.reduction.sums import amax, amin, sum
from minigrad.ops.shape import views
from minigrad.ops.shape.rearranging import movedim
from minigrad.ops.shape.views import expand, reshape
from minigrad.runtime.tensor import Tensor, describe
from minigrad.runtime.tracers import Tracer

Known = dict[tuple[int, int], tuple[int, int]]


@composed()
def vector_norm(x: Tensor, ord: Any = 2, dim: Any = None, keepdim: Flag = False, *, dtype: Any = None) -> Tensor:
    """Return the vector norm of order `ord`, a number, over `dim`, by default over all elements; see `mg.norm`."""
    ord = read_scalar(ord, "vector_norm", "ord", (x,))
    return norms.norm(x, ord, dim, keepdim, dtype=dtype)


@composed(of=vectors.cross)
def cross(input: Tensor, other: Tensor, *, dim: int = -1) -> Tensor:
    """Return the cross products of vectors along `dim`, which is the last dim by default; see `mg.cross`."""
    return vectors.cross(input, other, dim)


@composed()
def matrix_norm(
    A: Tensor, ord: Any = "fro", dim: Any = (-2, -1), keepdim: Flag = False, *, dtype: Any = None
) -> Tensor:
    """Return the norms of the matrices in two dims.

    ord: "fro", the square root of the sum of squares; "nuc", the sum of the singular values; 2 or -2, the largest or
    smallest singular value; 1 or -1, the largest or smallest sum of the magnitudes in a column; inf or -inf, the
    largest or smallest sum of the magnitudes in a row.
    Gradient: for "nuc", 2 and -2, U diag(g) Vh with the singular vectors of these singular values.
    """
    dims = tuple([normalize_dim(d, A.ndim, "matrix_norm", A) for d in (dim if isinstance(dim, (tuple, list)) else ())])
    if len(set(dims)) != 2:
        raise ShapeError(
            f"matrix_norm: dim must be two dims of {describe(A)}, got {dim}; pass two different dims such as dim=(-2, "
            "-1)"
        )
    if ord == "fro":
        return norms.norm(A, 2, dims, keepdim, dtype=dtype)
    if ord in (2, -2, "nuc"):
        values = svdvals(movedim(as_float("matrix_norm", A, dtype), dims, (-2, -1)))
        result = sum(values, -1) if ord == "nuc" else extreme(values, ord, -1)
        return result.unsqueeze(min(dims)).unsqueeze(max(dims)) if keepdim else result
    Choice("fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf).expect("matrix_norm", ord=ord)
    rows, columns = dims if abs(ord) == 1 else dims[::-1]
    result = extreme(norms.norm(A, 1, rows, True, dtype=dtype), ord, columns, True)
    return result if keepdim else result.squeeze(dims)


norms.OF_MATRICES["nuc"] = lambda x, dims, keepdim: matrix_norm(x, "nuc", dims, keepdim)


def extreme(x: Tensor, ord: float, dim: int, keepdim: bool = False) -> Tensor:
    """Return the largest magnitude along `dim` for a positive order, or the smallest for a negative order.

    The largest of no elements is 0.
    """
    if ord < 0:
        return amin(x, dim, keepdim)
    return (amax if x.shape[dim] else sum)(x, dim, keepdim)


@composed(of=norms.norm)
def norm(input: Tensor, ord: Any = None, dim: Any = None, keepdim: Flag = False, *, dtype: Any = None) -> Tensor:
    """Return `vector_norm` over one dim, or `matrix_norm` over two dims.

    Without `ord` and `dim`, the result is the vector norm of order 2 of all elements.  With `ord` and without `dim`, a
    tensor of one dim is a vector, and a tensor of two dims is a matrix.
    """
    if ord is None or isinstance(dim, int) or (dim is None and input.ndim == 1) or (dim is not None and len(dim) == 1):
        return vector_norm(input, 2 if ord is None else ord, dim, keepdim, dtype=dtype)
    if dim is None and input.ndim != 2:
        raise ShapeError(
            f"norm: dim is required with ord for more than 2 dims, got {describe(input)}; pass dim=(-2, -1), for "
            "example"
        )
    return matrix_norm(input, ord, (0, 1) if dim is None else dim, keepdim, dtype=dtype)


@composed(namespace=MG, in_place=True)
def renorm(
    input: Annotated[Tensor, Ndim(least=2)], p: Annotated[float, Number(above=0, example=2)], dim: Dim,
    maxnorm: Annotated[float, Number(0, example=1)],
) -> Tensor:  # fmt: skip
    """Return the tensor with its slices along `dim` scaled down where their norm of order p exceeds maxnorm."""
    size = norms.norm(input, p, tuple([d for d in range(input.ndim) if d != dim]), True)
    # As in PyTorch, 1e-7 is added, so that no norm is larger than maxnorm after rounding.
    return input * where(size > maxnorm, maxnorm / (size + 1e-7), 1.0)


@public()
def diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Return a view of the diagonals of matrices, which are in the last two dims by default; see `mg.diagonal`."""
    return views.diagonal(A, offset, dim1, dim2)


@composed(out=False)
def vander(x: Tensor, N: int | None = None) -> Tensor:
    """Return the Vandermonde matrix: the powers 0 to N - 1 of each element, along a new last dim."""
    x = x if x.ndim else x[None]
    n = x.shape[-1] if N is None else N
    if n < 2:
        raise ShapeError(
            f"vander: x must be a vector and N must be positive, got {describe(x)} and N={N}; omit N, or pass a "
            "larger value"
        )
    later = arange(n, device=x.device) > 0
    return cumprod(where(later, x.unsqueeze(-1), 1), -1)


@composed()
def tensorinv(A: Tensor, ind: Int = 2) -> Tensor:
    """Return the inverse of `tensordot(A, ., A.ndim - ind)`: A as a matrix with `ind` dims of rows, inverted.

    Raises ShapeError unless the first `ind` dims have as many elements as the others.
    """
    front, behind = A.shape[:ind], A.shape[ind:]
    return reshape(inv(reshape(A, (math.prod(front), math.prod(behind)))), (*behind, *front))


@composed()
def tensorsolve(A: Tensor, B: Tensor, dims: IntsOrNone = None) -> Tensor:
    """Return X with tensordot(A, X, X.ndim) = B.

    dims: the dims of A that are moved to the end first; A then begins with the shape of B.
    """
    moved = movedim(A, dims, tuple(range(A.ndim - len(dims), A.ndim))) if dims else A
    shape = moved.shape[B.ndim :]
    return reshape(solve(reshape(moved, (B.numel(), math.prod(shape))), reshape(B, -1)), shape)


@composed(namespace=(MG, LINALG), method=True)
def matrix_exp(input: Annotated[Tensor, Square, Inexact]) -> Tensor:
    """Return the exponentials of square matrices: the sum of input^k / k! over all k.

    Each matrix is divided by 2^s so that its norm is at most 1/2, the series has 18 terms, and the result is squared s
    times.
    Source: Moler and Van Loan, "Nineteen dubious ways to compute the exponential of a matrix" (2003), section 3.
    """
    A = input
    if not A.numel():
        return clone(A)
    norm = amax(sum(abs(A.detach()), -1), -1, True).unsqueeze(-1)
    halvings = where(norm.isfinite() & (norm > 0), norm, 1.0).log2().ceil().clamp(-1, 30) + 1
    A = A / halvings.exp2()
    one = expand(eye(A.shape[-1], dtype=A.dtype, device=A.device), shape=A.shape)
    total = one
    for k in range(18, 0, -1):  # Horner's rule
        total = one + matmul(A, total) / k
    # A value of a transform cannot be read, so all steps are computed.
    for k in range(31 if isinstance(A, Tracer) else int(amax(halvings).item())):
        total = where(halvings > k, matmul(total, total), total)
    return total


@composed()
def matrix_power(A: Annotated[Tensor, Square], n: Int) -> Tensor:
    """Return the n-th power of square matrices, computed by repeated squaring.

    The power 0 is the identity, and a negative power is a power of the inverse.
    Raises ArgumentError for a negative power of a singular matrix.
    """
    if n < 0:
        return matrix_power(inv(A), -n)
    if n == 0:
        one = expand(eye(A.shape[-1], dtype=A.dtype, device=A.device), shape=A.shape)
        return where(one != one, A, one)  # the result does not depend on A, so its gradient is 0
    if n == 1:
        return clone(A)
    half = A if n < 4 else matrix_power(A, n // 2)
    return half @ half if n % 2 == 0 else half @ half @ A


@composed()
def multi_dot(tensors: Sequence[Tensor]) -> Tensor:
    """Return the product of two or more matrices, computed in the order with the fewest multiplications.

    The first and the last operand may be vectors.

    Source: Cormen, Leiserson, Rivest, Stein, Introduction to Algorithms, 3rd edition, section 15.2.
    """
    first, last, ends = tensors[0], tensors[-1], (0, len(tensors) - 1)
    if len(tensors) < 2 or any(x.ndim != 2 and (x.ndim != 1 or k not in ends) for k, x in enumerate(tensors)):
        raise ShapeError(
            f"multi_dot: at least two matrices are required, got {', '.join(map(describe, tensors))}; use @ for two "
            "operands"
        )
    chain = [x if x.ndim == 2 else x.unsqueeze(0 if k == 0 else 1) for k, x in enumerate(tensors)]
    sizes = [x.shape[0] for x in chain] + [chain[-1].shape[1]]
    y = chained(chain, sizes, {}, 0, len(chain))
    return reshape(y, (*first.shape[:-1], *(last.shape[1:])))


@composed(namespace=MG, method=False, out=False)
def chain_matmul(*matrices: Annotated[Tensor, Ndim(2)]) -> Tensor:
    """Return the product of matrices; this is PyTorch's older form of `linalg.multi_dot`, which takes a list."""
    return multi_dot(matrices) if len(matrices) > 1 else clone(matrices[0])


def chained(chain: list[Tensor], sizes: list[int], known: Known, start: int, end: int) -> Tensor:
    """Return the product of the matrices from `start` to `end` of a chain, computed in the cheapest order."""
    if end - start == 1:
        return chain[start]
    _, split = cheapest(sizes, known, start, end)
    return matmul(chained(chain, sizes, known, start, split), chained(chain, sizes, known, split, end))


def cheapest(sizes: list[int], known: Known, start: int, end: int) -> tuple[int, int]:
    """Return the smallest number of multiplications for a part of a chain, and the position at which to split it."""
    if end - start == 1:
        return 0, start
    if (start, end) not in known:
        known[start, end] = min(
            (cheapest(sizes, known, start, k)[0] + cheapest(sizes, known, k, end)[0]
             + sizes[start] * sizes[k] * sizes[end], k)
            for k in range(start + 1, end)
        )  # fmt: skip
    return known[start, end]
