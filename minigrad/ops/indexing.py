"""Reading and writing by position: basic indices as views, index tensors as gathers, joins.

An index tensor may hold negative positions, which count from the end; its range is checked before anything is
allocated.  `x[...]` with ints, slices, None and Ellipsis is a view; one 1-d (or n-d) index tensor or list copies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from minigrad.backends.base import Backend
from minigrad.backends.registry import backend_of
from minigrad.core.dtype import DType
from minigrad.core.op import Op, Spec
from minigrad.core.shape import normalize_dim
from minigrad.core.strides import stretched_strides
from minigrad.dispatch import number
from minigrad.errors import ArgumentError, DeviceError, DTypeError, IndexOutOfRange, ShapeError
from minigrad.ops.creation import tensor
from minigrad.ops.declare import kernel
from minigrad.ops.rules import common
from minigrad.ops.views import expand, select, slice_, unsqueeze
from minigrad.tensor import Tensor, describe, expect_tensors, host_numbers, nested_shape
from minigrad.writing import check_writable

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


# ---- x[...] ---------------------------------------------------------------------------------------------------------


def get_item(x: Tensor, index: Any) -> Tensor:
    """x[index]: ints, slices, None and Ellipsis give a view; one index tensor (or list of ints) a copy.

    Raises IndexOutOfRange for too many indices or a position outside, DTypeError for an index of another type.
    """
    y, gathers = read_index(x, index)
    for dim, positions in gathers:
        y = take(y, dim, positions)
    return y


def take(x: Tensor, dim: int, positions: Tensor) -> Tensor:
    """x[..., positions, ...]: the dims of an n-d index tensor take the place of `dim`."""
    flat = index_select_along(x, positions.reshape(-1), dim=dim)
    return flat if positions.ndim == 1 else flat.reshape(*x.shape[:dim], *positions.shape, *x.shape[dim + 1 :])


def read_index(x: Tensor, index: Any) -> tuple[Tensor, list[tuple[int, Tensor]]]:
    """The view that the basic indices make, and the index tensors with the dim that each stands at."""
    items = list(index) if isinstance(index, tuple) else [index]
    items = [as_index(x, item) for item in items]
    used = sum(1 for item in items if item is not None and item is not Ellipsis)
    if used > x.ndim:
        raise IndexOutOfRange(f"index: {used} indices for {describe(x)}, which has {x.ndim} dims", op="index")
    if sum(1 for item in items if item is Ellipsis) > 1:
        raise ArgumentError(f"index: more than one Ellipsis (...) for {describe(x)}, and one can be filled", op="index")
    spot = next((k for k, item in enumerate(items) if item is Ellipsis), len(items))
    items[spot : spot + 1] = [slice(None)] * (x.ndim - used)
    y, dim, gathers = x, 0, []
    for item in items:
        if item is None:
            y = unsqueeze(y, dim=dim)
        elif isinstance(item, int):
            y = select(y, dim=dim, index=item)
            continue
        elif isinstance(item, Tensor):
            gathers.append((dim, item))
        elif item != slice(None):
            y = slice_(y, dim=dim, start=item.start, stop=item.stop, step=1 if item.step is None else item.step)
        dim += 1
    if len(gathers) > 1:
        raise ArgumentError(
            f"index: {len(gathers)} index tensors for {describe(x)}; one is possible, use gather for more", op="index"
        )
    return y, gathers


def as_index(x: Tensor, item: Any) -> Any:
    """One entry of an index, checked: int, slice, None, Ellipsis or an integer Tensor."""
    if item is None or item is Ellipsis:
        return item
    if isinstance(item, slice):
        return slice(*(None if v is None else as_position(v) for v in (item.start, item.stop, item.step)))
    if isinstance(item, (list, np.ndarray)):
        numbers = item if isinstance(item, np.ndarray) else host_numbers(item, nested_shape(item))[0]
        if numbers.size and numbers.dtype.kind not in "iu":
            raise not_an_index(x, f"ndarray {numbers.dtype}{numbers.shape}")
        item = tensor(numbers, dtype=None if numbers.size else "int64", device=x.device)
    if isinstance(item, Tensor):
        if not item.dtype.is_int:
            raise not_an_index(x, describe(item))
        return int(item.item()) if item.ndim == 0 else item
    return as_position(item)


def not_an_index(x: Tensor, shown: str) -> DTypeError:
    """The error for an index of another dtype, masks among them."""
    return DTypeError(
        f"index: an index tensor for {describe(x)} needs an integer dtype, got {shown}; mg.where takes masks",
        op="index",
    )


def as_position(value: Any) -> int:
    """An int from anything that counts as one but bool, which elsewhere would be a mask.  Raises DTypeError."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise DTypeError(
            f"index: {describe(value)} is no index; use int, slice, None, ... or an integer tensor", op="index"
        )
    return int(value.__index__())


def set_item(x: Tensor, index: Any, value: Any) -> None:
    """x[index] = value, through the view that basic indices make; the value broadcasts and is cast.

    Raises GradientError for a Var or a tracked tensor outside no_grad.
    """
    y, gathers = read_index(x.detach(), index)
    if gathers:
        raise ArgumentError(
            f"index: assignment to {describe(x)} takes ints, slices, None and ...; use index_add for tensors",
            op="index",
        )
    copy_into(y, value, "index", x)


def copy_into(y: Tensor, value: Any, name: str, x: Tensor) -> None:
    """Write value, broadcast and cast, into y's memory, which is x or what an index sees of it."""
    check_writable(name, x)
    check_writable(name, y, tuple(tensors_in(value)))
    shape = value.shape if isinstance(value, (Tensor, np.ndarray)) else nested_shape(value)
    if stretched_strides(shape, (0,) * len(shape), y.shape) is None:
        shown = describe(value) if isinstance(value, (Tensor, np.ndarray)) else f"a list of shape {shape}"
        raise ShapeError(
            f"{name}: {shown} does not broadcast to {describe(y)}; from the right, each size must be equal or 1",
            op=name,
        )
    if isinstance(value, Tensor) and value.device is not x.device:
        raise DeviceError(
            f"{name}: {describe(value)} is on {value.device} and {describe(x)} on {x.device}; "
            f"move one with .to({str(x.device)!r})",
            op=name,
        )
    source = value if isinstance(value, Tensor) else tensor(value, device=x.device)
    layout = source.layout.expand(y.shape)
    if y.numel():
        backend_of(y.device).copy(Spec(y.layout, y.dtype), Spec(layout, source.dtype))(
            source.storage.buffer, y.storage.buffer
        )
    y.storage.bump()


def tensors_in(value: Any) -> Iterator[Tensor]:
    """The tensors that a value to be written is or holds, in nested lists: their gradients would be lost."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors_in(item)
