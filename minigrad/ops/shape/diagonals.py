"""Matrices from diagonals, and the trace.  `views.diagonal` returns a diagonal; `diag_embed` is its adjoint."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from minigrad.core.conditions import Ndim
from minigrad.core.op import Spec
from minigrad.core.requests import Reduce
from minigrad.core.roles import Int
from minigrad.core.shape import normalize_dim
from minigrad.declare.decorators import composed, kernel
from minigrad.declare.rules import with_kept_dims
from minigrad.ops.casting import clone
from minigrad.ops.reduction.sums import sum
from minigrad.ops.shape.views import adjoint_of, diagonal, expand, reshape
from minigrad.runtime.tensor import Tensor


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
