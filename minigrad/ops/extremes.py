"""Extremes along a dim with their positions: max, min, argmax and argmin.

Ties give the first; nan is larger than everything, and smaller.  Several dims count as one, row-major.  The extremes
alone, whose ties share a gradient, are folds: `amax` and `amin` of `reduce.py`.
"""

from __future__ import annotations

from typing import Any

from minigrad.core.op import Op, Spec
from minigrad.core.requests import ArgReduce, Extreme
from minigrad.core.roles import Dim
from minigrad.core.shape import normalize_dim, normalize_dims, numel
from minigrad.declare.decorators import kernel
from minigrad.declare.rules import index_dtype, twice, values_and_places
from minigrad.errors import ShapeError
from minigrad.kernels.scalar import parse
from minigrad.ops.indexing import gather_along, scatter_add_along, zeros_of
from minigrad.ops.reduce import amax, amin
from minigrad.runtime.tensor import Tensor, expect_tensors


def _arg_shape(op: Op, x: Spec, *, dim: int) -> tuple[int, ...]:
    if x.shape[dim] == 0:
        raise ShapeError(
            f"{op.label}: {x!r} has no element along dim {dim}, so none is the largest or smallest", op=op.label
        )
    return (*x.shape[:dim], *x.shape[dim + 1 :])


def _kept(out: Spec, x: Spec, dim: int) -> Spec:
    return Spec(out.layout.unsqueeze(dim), out.dtype)


def greater(best, x):
    """Whether x takes the place of `best` as the largest: the first nan stays, ties go to the first."""
    return (x > best and best == best) or (x != x and best == best)


def less(best, x):
    """Whether x takes the place of `best` as the smallest."""
    return (x < best and best == best) or (x != x and best == best)


GREATER, LESS = parse(greater), parse(less)


@kernel(dtype=index_dtype, shape=_arg_shape, batch="along")
def argmax_along(backend, out, x, *, dim: Dim):
    """Position of the largest element along one dim; ties give the first, nan wins."""
    return backend.prepare(ArgReduce(GREATER, dim), _kept(out, x, dim), x)


@kernel(dtype=index_dtype, shape=_arg_shape, batch="along")
def argmin_along(backend, out, x, *, dim: Dim):
    """Position of the smallest element along one dim; ties give the first, nan wins."""
    return backend.prepare(ArgReduce(LESS, dim), _kept(out, x, dim), x)


def _positions(along: Any, name: str, x: Tensor, dim: int | tuple[int, ...] | None, keepdim: bool) -> Tensor:
    """argmax or argmin over one dim, a set of dims, or all: several dims count as one, row-major."""
    expect_tensors(name, x)
    dims = normalize_dims(dim, x.ndim, name, x)
    if len(dims) == 1:
        result = along(x, dim=dims[0])
    else:
        rest = tuple(d for d in range(x.ndim) if d not in dims)
        flat = x.permute(rest + dims).reshape(*(x.shape[d] for d in rest), numel(tuple(x.shape[d] for d in dims)))
        result = along(flat, dim=len(rest))
    if not keepdim:
        return result
    return result.reshape(tuple(1 if d in dims else n for d, n in enumerate(x.shape)))


def argmax(input: Tensor, dim: int | tuple[int, ...] | None = None, keepdim: bool = False) -> Tensor:
    """Position of the largest element (int64): of all, or along `dim`; ties give the first, nan wins."""
    return _positions(argmax_along, "argmax", input, dim, keepdim)


def argmin(input: Tensor, dim: int | tuple[int, ...] | None = None, keepdim: bool = False) -> Tensor:
    """Position of the smallest element (int64): of all, or along `dim`; ties give the first, nan wins."""
    return _positions(argmin_along, "argmin", input, dim, keepdim)


def _to_places(g: Tensor, indices: Tensor, shape: tuple[int, ...], dim: int) -> Tensor:
    """g where each value was read, along a dim that went."""
    return scatter_add_along(zeros_of(shape, g), indices.unsqueeze(dim), g.unsqueeze(dim), dim=dim)


EXTREME: dict[str, Any] = {
    "dtype": values_and_places,
    "shape": twice(_arg_shape),
    "outputs": ("values", "indices"),
    "vjp": (lambda g, indices, *, in_shape, dim: _to_places(g, indices, in_shape, dim),),
    "jvp": lambda dx, indices, *, dim: (gather_along(dx, indices.unsqueeze(dim), dim=dim).squeeze(dim), None),
    "batch": "along",
}


@kernel(**EXTREME)
def max_along(backend, values, indices, x, *, dim: Dim):
    """The largest element along one dim and its position; ties give the first, nan wins."""
    return backend.prepare(Extreme(GREATER, dim), (_kept(values, x, dim), _kept(indices, x, dim)), x)


@kernel(**EXTREME)
def min_along(backend, values, indices, x, *, dim: Dim):
    """The smallest element along one dim and its position; ties give the first, nan wins."""
    return backend.prepare(Extreme(LESS, dim), (_kept(values, x, dim), _kept(indices, x, dim)), x)


def _extremes(along: Any, x: Tensor, dim: int, keepdim: bool) -> Any:
    expect_tensors(along.op.label, x)
    found = along(x, dim=dim)
    if not keepdim or not x.ndim:
        return found
    d = normalize_dim(dim, x.ndim, along.op.label, x)
    return along.op.result(*[y.unsqueeze(d) for y in found])


def max(input: Tensor, dim: int | Tensor | None = None, keepdim: bool = False) -> Any:
    """Largest of all elements; with an int `dim`, (values, indices) along it; with a second tensor, `maximum`.

    Gradient: to the first of ties for a dim; shared evenly without one.
    """
    if isinstance(dim, Tensor):
        return input.maximum(dim)
    return amax(input, None, keepdim) if dim is None else _extremes(max_along, input, dim, keepdim)


def min(input: Tensor, dim: int | Tensor | None = None, keepdim: bool = False) -> Any:
    """Smallest of all elements; with an int `dim`, (values, indices) along it; with a second tensor, `minimum`."""
    if isinstance(dim, Tensor):
        return input.minimum(dim)
    return amin(input, None, keepdim) if dim is None else _extremes(min_along, input, dim, keepdim)
