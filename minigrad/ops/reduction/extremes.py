"""Minimum and maximum along a dim with their positions: max, min, argmax and argmin.

If elements are tied, the position is that of the first.  nan is the largest element for max and the smallest element
for min.  Several dims count as one dim, in row-major order.  `amax` and `amin` of `sums.py` return only the values;
they are reductions, and distribute the gradient evenly over tied elements.
"""

from __future__ import annotations

from math import prod
from typing import Any

from minigrad.core.conditions import expect_elements
from minigrad.core.op import Op, Spec
from minigrad.core.requests import Extreme
from minigrad.core.roles import DimOrDims, DimOrOther, Flag, read_flag
from minigrad.core.shape import normalize_dims
from minigrad.declare.decorators import kernel
from minigrad.declare.rules import index_dtype, twice, values_and_positions
from minigrad.kernels.scalar import formula
from minigrad.ops.indexing.gathering import gather, scatter_add, zeros_of
from minigrad.ops.pointwise.arithmetic import maximum, minimum
from minigrad.ops.reduction.sums import amax, amin
from minigrad.ops.shape.views import reshape
from minigrad.runtime.into import copy_result
from minigrad.runtime.tensor import Tensor


def extreme_shape(op: Op, input: Spec, *, dim: int, keepdim: bool) -> tuple[int, ...]:
    """Return the shape of one element per row.  Raises ShapeError if the rows have no elements."""
    expect_elements(op.label, input, dim)
    return (*input.shape[:dim], *((1,) if keepdim else ()), *input.shape[dim + 1 :])


def kept(out: Spec, x: Spec, dim: int) -> Spec:
    """Return the Spec of a result with the reduced dim as length 1."""
    return out if len(out.shape) == len(x.shape) else Spec(out.layout.unsqueeze(dim), out.dtype)


# Whether x replaces `best`: the first nan and the first of tied elements stay.
GREATER = formula("greater(best, x)", "(x > best and best == best) or (x != x and best == best)")
LESS = formula("less(best, x)", "(x < best and best == best) or (x != x and best == best)")


def _over_several(op: Any, input: Tensor, dim: Any, keepdim: bool, out: Any) -> Any:
    """Return argmax or argmin over several dims, which count as one in row-major order; None if `dim` is an int.

    op: `argmax` or `argmin`.  If `dim` is None, the result is for all dims.
    """
    if isinstance(dim, int) or not isinstance(input, Tensor):
        return None
    dims, keepdim = normalize_dims(dim, input.ndim, op.op.label, input), read_flag(keepdim, op.op.label, "keepdim")
    if len(dims) == 1:
        return op(input, dims[0], keepdim, out=out)
    rest = tuple(d for d in range(input.ndim) if d not in dims)
    flat = input.permute(rest + dims).reshape(
        *(input.shape[d] for d in rest), prod(tuple(input.shape[d] for d in dims))
    )
    if not keepdim:
        return op(flat, len(rest), out=out)
    found = op(flat, len(rest)).reshape(tuple(1 if d in dims else n for d, n in enumerate(input.shape)))
    return found if out is None else copy_result(op.op.label, found, out)


@kernel(
    dtype=index_dtype, shape=extreme_shape, batch="along", method=True,
    otherwise=lambda input, dim, keepdim, out: _over_several(argmax, input, dim, keepdim, out),
    sole=lambda input: argmax(input if input.layout.ndim == 1 else reshape(input, (-1,)), 0),
)  # fmt: skip
def argmax(backend, out, input: Tensor, dim: DimOrDims = None, keepdim: Flag = False):
    """Return the position of the largest element, of all elements or along `dim`, in int64.

    nan counts as the largest element.  If elements are tied, the position is that of the first.
    """
    return backend.prepare(Extreme(GREATER, dim), kept(out, input, dim), input)


@kernel(
    dtype=index_dtype, shape=extreme_shape, batch="along", method=True,
    otherwise=lambda input, dim, keepdim, out: _over_several(argmin, input, dim, keepdim, out),
    sole=lambda input: argmin(input if input.layout.ndim == 1 else reshape(input, (-1,)), 0),
)  # fmt: skip
def argmin(backend, out, input: Tensor, dim: DimOrDims = None, keepdim: Flag = False):
    """Return the position of the smallest element, of all elements or along `dim`, in int64.

    nan counts as the smallest element.  If elements are tied, the position is that of the first.
    """
    return backend.prepare(Extreme(LESS, dim), kept(out, input, dim), input)


def _back(g: Tensor, indices: Tensor, shape: tuple[int, ...], dim: int, keepdim: bool) -> Tensor:
    """Return the gradient of the input: g at the position of each value along `dim`, and 0 elsewhere."""
    if not keepdim:
        g, indices = g.unsqueeze(dim), indices.unsqueeze(dim)
    return scatter_add(zeros_of(shape, g), dim, indices, g)


def _tangent(dx: Tensor, indices: Tensor, dim: int, keepdim: bool) -> tuple[Tensor, None]:
    """Return the tangent at the position of each value, and None for the positions, which have no tangent."""
    if keepdim:
        return gather(dx, dim, indices), None
    return gather(dx, dim, indices.unsqueeze(dim)).squeeze(dim), None


EXTREME: dict[str, Any] = {
    "dtype": values_and_positions,
    "shape": twice(extreme_shape),
    "outputs": ("values", "indices"),
    "vjp": (lambda g, indices, *, in_shape, dim, keepdim: _back(g, indices, in_shape, dim, keepdim),),
    "jvp": lambda dinput, indices, *, dim, keepdim: _tangent(dinput, indices, dim, keepdim),
    "batch": "along",
    "method": True,
}


def _without_dim(over_all: Any, of_two: Any, input: Any, dim: Any, out: Any) -> Any:
    """Return the max or min of all elements if `dim` is None, or of two tensors if it is a tensor; otherwise None."""
    if isinstance(dim, Tensor):
        return of_two(input, dim, out=out)
    return over_all(input, out=out) if dim is None else None


@kernel(**EXTREME, otherwise=lambda input, dim, keepdim, out: _without_dim(amax, maximum, input, dim, out), sole=amax)
def max(backend, values, indices, input: Tensor, dim: DimOrOther = None, keepdim: Flag = False):
    """Return the largest of all elements.

    With an int `dim`, return the named tuple (values, indices) of the largest elements along this dim.  With a tensor
    as the second argument, return `maximum` of both tensors.  If an element is nan, the result is nan.
    Gradient: with an int `dim`, g for the first of tied elements; without it, g is divided evenly among them.
    """
    outs = (kept(values, input, dim), kept(indices, input, dim))
    return backend.prepare(Extreme(GREATER, dim), outs, input)


@kernel(**EXTREME, otherwise=lambda input, dim, keepdim, out: _without_dim(amin, minimum, input, dim, out), sole=amin)
def min(backend, values, indices, input: Tensor, dim: DimOrOther = None, keepdim: Flag = False):
    """Return the smallest of all elements.

    With an int `dim`, return the named tuple (values, indices) of the smallest elements along this dim.  With a tensor
    as the second argument, return `minimum` of both tensors.  If an element is nan, the result is nan.
    Gradient: with an int `dim`, g for the first of tied elements; without it, g is divided evenly among them.
    """
    outs = (kept(values, input, dim), kept(indices, input, dim))
    return backend.prepare(Extreme(LESS, dim), outs, input)
