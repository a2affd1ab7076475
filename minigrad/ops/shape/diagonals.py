"""Diagonals and triangles of matrices, and the trace.  `views.diagonal` returns a diagonal as a view."""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated

import numpy as np

from minigrad.config import listeners
from minigrad.core.conditions import Ndim
from minigrad.core.device import Device
from minigrad.core.dtype import int64
from minigrad.core.op import Spec
from minigrad.core.requests import Reduce
from minigrad.core.roles import Int
from minigrad.core.shape import normalize_dim
from minigrad.declare.decorators import composed, kernel
from minigrad.declare.rules import with_kept_dims
from minigrad.ops.casting import clone
from minigrad.ops.creation import arange
from minigrad.ops.pointwise.compare import ge, le, where
from minigrad.ops.reduction.sums import sum
from minigrad.ops.shape.views import adjoint_of, diagonal, expand, reshape
from minigrad.runtime.operands import constant, number
from minigrad.runtime.tensor import Tensor

# ---- the elements on one side of a diagonal of the last two dims -----------------------------------------------------


KEPT = 4096  # longest dim whose positions are cached between calls, which takes 32 kB


@composed(in_place=True)
def tril(input: Tensor, diagonal: Int = 0) -> Tensor:
    """Return the elements on and below a diagonal of the last two dims, with zeros above it.

    Gradient: g on and below the diagonal, and 0 above it.
    """
    last, columns = positions("tril", input, diagonal)
    return where(ge(last, columns), input, number(0, input.dtype, input.device))


@composed(in_place=True)
def triu(input: Tensor, diagonal: Int = 0) -> Tensor:
    """Return the elements on and above a diagonal of the last two dims, with zeros below it.

    Gradient: g on and above the diagonal, and 0 below it.
    """
    first, columns = positions("triu", input, diagonal)
    return where(le(first, columns), input, number(0, input.dtype, input.device))


def positions(name: str, x: Tensor, diagonal: int) -> tuple[Tensor, Tensor]:
    """Return, for each row of a matrix, the column of the diagonal, as a column vector, and all column indices."""
    Ndim(least=2, advice="add a dim with unsqueeze(0)").expect(name, input=x)
    rows, columns = x.shape[-2:]
    start = max(-rows, min(columns, diagonal))  # all diagonals outside the matrix are equivalent
    if max(rows, columns) <= KEPT:
        return counted(start, rows, x.device, 1), counted(0, columns, x.device, 0)
    return arange(start, start + rows, device=x.device).unsqueeze(1), arange(columns, device=x.device)


@lru_cache(maxsize=128)
def counted(start: int, count: int, device: Device, trailing: int) -> Tensor:
    """Return the constant start, start + 1, ... with `trailing` dims of length 1; it is cached for many calls."""
    return constant(np.arange(start, start + count).reshape(count, *(1,) * trailing), int64, device)


listeners.append(counted.cache_clear)


# ---- matrices from diagonals, and the trace --------------------------------------------------------------------------


@composed(out=False)
def diag_embed(input: Annotated[Tensor, Ndim(least=1)], offset: Int = 0, dim1: Int = -2, dim2: Int = -1) -> Tensor:
    """Return matrices that have the last dim of the input as a diagonal, and zeros elsewhere.

    offset: the diagonal; 0 is the main diagonal, and positive values are above it.
    dim1, dim2: the positions of the two dims of the matrices in the result.
    Gradient: the diagonal of g.
    """
    ndim, n = input.ndim + 1, input.shape[-1] + abs(offset)
    first, second = (normalize_dim(dim, ndim, "diag_embed") for dim in (dim1, dim2))
    shape = list(input.shape[:-1])
    for d in sorted((first, second)):
        shape.insert(d, n)
    return adjoint_of(diagonal, input, tuple(shape), offset=offset, dim1=first, dim2=second)


@composed()
def diag(input: Annotated[Tensor, Ndim(1, 2, advice="use diagonal for more dims")], diagonal: Int = 0) -> Tensor:
    """Return a matrix with a vector as a diagonal and zeros elsewhere, or a copy of a diagonal of a matrix."""
    return diag_embed(input, diagonal) if input.ndim == 1 else clone(input.diagonal(diagonal))


@composed(out=False)
def diagflat(input: Tensor, offset: Int = 0) -> Tensor:
    """Return a matrix with all elements of the input, in row-major order, as a diagonal, and zeros elsewhere."""
    return diag_embed(reshape(input, -1), offset)


@kernel(
    dtype=lambda op, specs: specs[0].dtype.sum_dtype, shape=lambda op, input: (), linear=True, method=True,
    vjp=(lambda g, *, in_shape: adjoint_of(diagonal, expand(g, shape=(min(in_shape),)), in_shape),),
    batch=lambda input, *, batch: sum(diagonal(input, 0, 1, 2), 1),
)  # fmt: skip
def trace(backend, out, input: Annotated[Tensor, Ndim(2, advice="use diagonal for other numbers of dims")]):
    """Return the sum of the diagonal of a matrix; as in `sum`, integers become int64.

    Gradient: g on the diagonal, and 0 elsewhere.
    """
    line = Spec(input.layout.diagonal(0, 0, 1), input.dtype)
    request = Reduce(sum.op.reducer, np.dtype(input.dtype.accumulator), (0,))  # type: ignore[attr-defined]
    return backend.prepare(request, with_kept_dims(out, line.shape, (0,)), line)
