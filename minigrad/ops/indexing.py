"""Reading and adding by index tensors: gather, index_select and their adjoints.

An index tensor may hold negative positions, which count from the end; its range is checked before anything is
allocated.  The `_exact` ops take positions that a kernel has found, and nobody looks again.  `subscript.py` has
`x[...]`, `masks.py` what truth values choose.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minigrad.backends.base import Backend
from minigrad.core.dtype import DType
from minigrad.core.op import Op, Spec
from minigrad.core.shape import normalize_dim
from minigrad.dispatch import number
from minigrad.errors import DTypeError, IndexOutOfRange, ShapeError
from minigrad.ops.declare import kernel
from minigrad.ops.rules import common
from minigrad.ops.views import expand
from minigrad.tensor import Tensor, expect_tensors

# ---- rules ----------------------------------------------------------------------------------------------------------


def _dtype(op: Op, specs: tuple[Spec, ...], *, dim: int) -> DType:
    index = specs[op.operands.index("index")]
    if not index.dtype.is_int:
        raise DTypeError(
            f"{op.label}: the index into {specs[0]!r} must have an integer dtype, got {index!r}", op=op.label
        )
    return common([s for name, s in zip(op.operands, specs, strict=True) if name != "index"])


def _in_range(op: Op, backend: Backend, specs: tuple[Spec, ...], params: dict[str, Any]) -> Callable[..., None]:
    """A look at the index values before the op allocates: every position must exist."""
    k = op.operands.index("index")
    dim, size = params["dim"], specs[0].shape[params["dim"]]
    bounds = backend.index_bounds(specs[k])
    empty = specs[k].layout.numel == 0

    def check(*operands: Tensor) -> None:
        if empty:
            return
        low, high = bounds(operands[k].storage.buffer)
        if low < -size or high >= size:
            wrong = low if low < -size else high
            raise IndexOutOfRange(
                f"{op.label}: index {wrong} is out of range for dim {dim} of size {size} of {specs[0]!r}; "
                f"positions are {-size} to {size - 1}",
                op=op.label,
                index=wrong,
                dim=dim,
                size=size,
            )

    return check


def _gather_shape(op: Op, x: Spec, index: Spec, *, dim: int) -> tuple[int, ...]:
    _same_but(op, x, index, dim)
    return index.shape


def _same_but(op: Op, x: Spec, index: Spec, dim: int) -> None:
    fits = len(x.shape) == len(index.shape) and all(
        n <= m for d, (n, m) in enumerate(zip(index.shape, x.shape, strict=True)) if d != dim
    )
    if not fits:
        raise ShapeError(
            f"{op.label}: the index {index!r} must have as many dims as {x!r} and fit inside it except along dim {dim}",
            op=op.label,
            lhs=x.shape,
            rhs=index.shape,
        )


def _scatter_shape(op: Op, x: Spec, index: Spec, src: Spec, *, dim: int) -> tuple[int, ...]:
    _same_but(op, x, index, dim)
    if src.shape != index.shape:
        raise ShapeError(f"{op.label}: src {src!r} and index {index!r} must have one shape", op=op.label)
    return x.shape


def _select_shape(op: Op, x: Spec, index: Spec, *, dim: int) -> tuple[int, ...]:
    if len(index.shape) != 1:
        raise ShapeError(f"{op.label}: the index into {x!r} must have 1 dim, got {index!r}", op=op.label)
    return (*x.shape[:dim], index.shape[0], *x.shape[dim + 1 :])


def _add_shape(op: Op, x: Spec, index: Spec, src: Spec, *, dim: int) -> tuple[int, ...]:
    wanted = _select_shape(op, x, index, dim=dim)
    if src.shape != wanted:
        raise ShapeError(f"{op.label}: src {src!r} must have shape {wanted}: {x!r} with {index!r} along dim {dim}")
    return x.shape


def _zeros(shape: tuple[int, ...], like: Tensor) -> Tensor:
    return expand(number(0.0, like.dtype, like.device), shape=shape)


# ---- gathers and their adjoints -------------------------------------------------------------------------------------


@kernel(
    dtype=_dtype,
    shape=_gather_shape,
    check=_in_range,
    vjp=(lambda g, index, *, in_shape, dim: scatter_add_along(_zeros(in_shape, g), index, g, dim=dim), None),
    linear=True,
)
def gather_along(backend, out, x, index, *, dim):
    """out[i, j, k] = x[i, index[i, j, k], k] for dim 1.  Gradient: g added where it was read."""
    return backend.gather(out, x, index, dim)


@kernel(
    dtype=_dtype,
    shape=_scatter_shape,
    check=_in_range,
    vjp=(lambda g: g, None, lambda g, index, *, dim: gather_along(g, index, dim=dim)),
    linear=True,
)
def scatter_add_along(backend, out, x, index, src, *, dim):
    """x with src added at the positions of `gather`.  Gradient: g, and g gathered."""
    return backend.scatter_add(out, x, index, src, dim)


@kernel(
    dtype=_dtype,
    shape=_select_shape,
    check=_in_range,
    vjp=(lambda g, index, *, in_shape, dim: index_add_along(_zeros(in_shape, g), index, g, dim=dim), None),
    linear=True,
)
def index_select_along(backend, out, x, index, *, dim):
    """The slices of x along `dim` that a 1-d index names.  Gradient: g added back slice by slice."""
    return backend.index_select(out, x, index, dim)


@kernel(
    dtype=_dtype,
    shape=_add_shape,
    check=_in_range,
    vjp=(lambda g: g, None, lambda g, index, *, dim: index_select_along(g, index, dim=dim)),
    linear=True,
)
def index_add_along(backend, out, x, index, src, *, dim):
    """x with the slices of src added along `dim` where a 1-d index says.  Gradient: g, and g's slices."""
    return backend.index_add(out, x, index, src, dim)


@kernel(
    dtype=_dtype,
    shape=_gather_shape,
    vjp=(lambda g, index, *, in_shape, dim: scatter_add_exact(_zeros(in_shape, g), index, g, dim=dim), None),
    linear=True,
)
def gather_exact(backend, out, x, index, *, dim):
    """`gather` for positions that a kernel of ours has found: they are in range, and nobody looks again."""
    return backend.gather(out, x, index, dim)


@kernel(
    dtype=_dtype,
    shape=_scatter_shape,
    vjp=(lambda g: g, None, lambda g, index, *, dim: gather_exact(g, index, dim=dim)),
    linear=True,
)
def scatter_add_exact(backend, out, x, index, src, *, dim):
    """The adjoint of `gather_exact`, with x added."""
    return backend.scatter_add(out, x, index, src, dim)


@kernel(
    dtype=_dtype,
    shape=_select_shape,
    vjp=(lambda g, index, *, in_shape, dim: index_add_exact(_zeros(in_shape, g), index, g, dim=dim), None),
    linear=True,
)
def index_select_exact(backend, out, x, index, *, dim):
    """`index_select` for positions that a kernel has found."""
    return backend.index_select(out, x, index, dim)


@kernel(
    dtype=_dtype,
    shape=_add_shape,
    vjp=(lambda g: g, None, lambda g, index, *, dim: index_select_exact(g, index, dim=dim)),
    linear=True,
)
def index_add_exact(backend, out, x, index, src, *, dim):
    """The adjoint of `index_select_exact`, with x added."""
    return backend.index_add(out, x, index, src, dim)


def gather(x: Tensor, dim: int, index: Tensor) -> Tensor:
    """out[i, j, k] = x[i, index[i, j, k], k] for dim 1, and alike for others."""
    expect_tensors("gather", x)
    return gather_along(x, index, dim=normalize_dim(dim, x.ndim, "gather", x))


def scatter_add(x: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """x with src[i, j, k] added at [i, index[i, j, k], k] for dim 1; repeated positions add up."""
    expect_tensors("scatter_add", x)
    return scatter_add_along(x, index, src, dim=normalize_dim(dim, x.ndim, "scatter_add", x))


def index_select(x: Tensor, dim: int, index: Tensor) -> Tensor:
    """The slices of x along `dim` that the 1-d `index` names, in its order."""
    expect_tensors("index_select", x)
    return index_select_along(x, index, dim=normalize_dim(dim, x.ndim, "index_select", x))


def index_add(x: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: float = 1) -> Tensor:
    """x with alpha * source added along `dim` at the 1-d `index`; repeated positions add up."""
    expect_tensors("index_add", x, index, source)
    src = source if alpha == 1 else source * alpha
    return index_add_along(x, index, src, dim=normalize_dim(dim, x.ndim, "index_add", x))
