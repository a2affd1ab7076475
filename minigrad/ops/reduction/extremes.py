"""Minimum and maximum along a dim with their positions: max, min, argmax and argmin.

The first of tied elements is taken. nan is the largest element for max and the smallest for min.  Several dims count as
one, row-major.  The values alone, whose ties share a gradient, are reductions: `amax` and `amin` of `sums.py`.
"""

from __future__ import annotations

from typing import Any

from minigrad.core.op import Op, Spec
from minigrad.core.requests import ArgReduce, Extreme
from minigrad.core.roles import DimOrDims, DimOrOther, Flag
from minigrad.core.shape import normalize_dims, numel
from minigrad.declare.decorators import kernel
from minigrad.declare.rules import index_dtype, twice, values_and_positions
from minigrad.errors import ShapeError
from minigrad.kernels.scalar import parse
from minigrad.ops.indexing.gathering import gather, scatter_add, zeros_of
from minigrad.ops.pointwise.arithmetic import maximum, minimum
from minigrad.ops.reduction.sums import amax, amin
from minigrad.runtime.into import copy_result
from minigrad.runtime.tensor import Tensor


def _extreme_shape(op: Op, input: Spec, *, dim: int, keepdim: bool) -> tuple[int, ...]:
    if input.shape[dim] == 0:
        raise ShapeError(
            f"{op.label}: {input!r} has no element along dim {dim}, so none is the largest or smallest", op=op.label
        )
    return (*input.shape[:dim], *((1,) if keepdim else ()), *input.shape[dim + 1 :])


def _kept(out: Spec, x: Spec, dim: int) -> Spec:
    """Return a result with length 1 at `dim`."""
    return out if len(out.shape) == len(x.shape) else Spec(out.layout.unsqueeze(dim), out.dtype)


def greater(best, x):
    """Whether x takes the place of `best` as the largest: the first nan stays, ties go to the first."""
    return (x > best and best == best) or (x != x and best == best)


def less(best, x):
    """Whether x takes the place of `best` as the smallest."""
    return (x < best and best == best) or (x != x and best == best)


GREATER, LESS = parse(greater), parse(less)


def _over_several(op: Any, input: Tensor, dim: Any, keepdim: bool, out: Any) -> Any:
    """argmax or argmin over all dims, or a set of dims, which count as one, row-major; None for one dim."""
    if isinstance(dim, int) or not isinstance(input, Tensor):
        return None
    dims = normalize_dims(dim, input.ndim, op.op.label, input)
    if len(dims) == 1:
        return op(input, dims[0], keepdim, out=out)
    rest = tuple(d for d in range(input.ndim) if d not in dims)
    flat = input.permute(rest + dims).reshape(
        *(input.shape[d] for d in rest), numel(tuple(input.shape[d] for d in dims))
    )
    if not keepdim:
        return op(flat, len(rest), out=out)
    found = op(flat, len(rest)).reshape(tuple(1 if d in dims else n for d, n in enumerate(input.shape)))
    return found if out is None else copy_result(op.op.label, found, out)


@kernel(
    dtype=index_dtype, shape=_extreme_shape, batch="along", method=True,
    otherwise=lambda input, dim, keepdim, out: _over_several(argmax, input, dim, keepdim, out),
)  # fmt: skip
def argmax(backend, out, input: Tensor, dim: DimOrDims = None, keepdim: Flag = False):
    """Return the int64 position of the largest element, of all or along `dim`; the first of ties, and nan wins."""
    return backend.prepare(ArgReduce(GREATER, dim), _kept(out, input, dim), input)


@kernel(
    dtype=index_dtype, shape=_extreme_shape, batch="along", method=True,
    otherwise=lambda input, dim, keepdim, out: _over_several(argmin, input, dim, keepdim, out),
)  # fmt: skip
def argmin(backend, out, input: Tensor, dim: DimOrDims = None, keepdim: Flag = False):
    """Return the int64 position of the smallest element, of all or along `dim`; the first of ties, and nan wins."""
    return backend.prepare(ArgReduce(LESS, dim), _kept(out, input, dim), input)


def _back(g: Tensor, indices: Tensor, shape: tuple[int, ...], dim: int, keepdim: bool) -> Tensor:
    """g where each value was read, along a dim that went."""
    if not keepdim:
        g, indices = g.unsqueeze(dim), indices.unsqueeze(dim)
    return scatter_add(zeros_of(shape, g), dim, indices, g)


def _tangent(dx: Tensor, indices: Tensor, dim: int, keepdim: bool) -> tuple[Tensor, None]:
    """Return the tangent where each value was read."""
    if keepdim:
        return gather(dx, dim, indices), None
    return gather(dx, dim, indices.unsqueeze(dim)).squeeze(dim), None


EXTREME: dict[str, Any] = {
    "dtype": values_and_positions,
    "shape": twice(_extreme_shape),
    "outputs": ("values", "indices"),
    "vjp": (lambda g, indices, *, in_shape, dim, keepdim: _back(g, indices, in_shape, dim, keepdim),),
    "jvp": lambda dinput, indices, *, dim, keepdim: _tangent(dinput, indices, dim, keepdim),
    "batch": "along",
    "method": True,
}


def _without_dim(over_all: Any, of_two: Any, input: Any, dim: Any, out: Any) -> Any:
    """max or min of all elements, or of two tensors; None for one dim."""
    if isinstance(dim, Tensor):
        return of_two(input, dim, out=out)
    return over_all(input, out=out) if dim is None else None


@kernel(**EXTREME, otherwise=lambda input, dim, keepdim, out: _without_dim(amax, maximum, input, dim, out))
def max(backend, values, indices, input: Tensor, dim: DimOrOther = None, keepdim: Flag = False):
    """Return the largest element; with an int `dim`, (values, indices) along it; with a second tensor, `maximum`.

    Gradient: to the first of ties for a dim; shared evenly without one.
    """
    kept = (_kept(values, input, dim), _kept(indices, input, dim))
    return backend.prepare(Extreme(GREATER, dim), kept, input)


@kernel(**EXTREME, otherwise=lambda input, dim, keepdim, out: _without_dim(amin, minimum, input, dim, out))
def min(backend, values, indices, input: Tensor, dim: DimOrOther = None, keepdim: Flag = False):
    """Return the smallest element; with an int `dim`, (values, indices) along it; with a second tensor, `minimum`."""
    kept = (_kept(values, input, dim), _kept(indices, input, dim))
    return backend.prepare(Extreme(LESS, dim), kept, input)
