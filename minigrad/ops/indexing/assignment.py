"""Implement `x[...] = value`, and other functions that write a value into an existing tensor.

For a basic index, the value is written into a view.  For index tensors and masks, `index_copy` writes the values in
place; for a mask and a single value, `where` does.  A write into a tracked tensor, or of a tracked value, is recorded.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from minigrad.core.dtype import DType, bool_, iinfo, int64, uint64
from minigrad.core.layout import Layout
from minigrad.core.op import Op
from minigrad.core.strides import stretched_strides
from minigrad.errors import DeviceError, GradientError, ShapeError, StorageError
from minigrad.ops.casting import cast, clone
from minigrad.ops.creation import tensor, zeros
from minigrad.ops.indexing.gathering import index_copy
from minigrad.ops.indexing.masks import fill_masked, mask_over, positions_of
from minigrad.ops.indexing.positions import Gathers, as_one, order_back, side_by_side
from minigrad.ops.indexing.subscript import INDEX, entries_of, plain_view, read_index
from minigrad.ops.pointwise.compare import where
from minigrad.ops.shape.put import put
from minigrad.ops.shape.views import as_view, basic_index, expand, permute, reshape
from minigrad.runtime.data import nested_shape, store
from minigrad.runtime.dispatch import number
from minigrad.runtime.into import write
from minigrad.runtime.iterables import tensors_in
from minigrad.runtime.recording import is_grad_enabled, no_grad
from minigrad.runtime.tensor import PLAIN, Tensor, describe
from minigrad.runtime.tracers import Tracer, ViewOf
from minigrad.runtime.var import Var
from minigrad.runtime.writing import check_writable

CAST = cast.op  # type: ignore[attr-defined]
CLONE: Op = clone.op  # type: ignore[attr-defined]
COMMON = 1000.0  # numbers of smaller magnitude are in the range of every float dtype, and take a short path
COPY_IN: Op = index_copy.op  # type: ignore[attr-defined]


def set_item(x: Tensor, index: Any, value: Any) -> None:
    """Assign `x[index] = value`, for basic indices, index tensors and masks.

    The value broadcasts and is cast to the dtype of x.  A write into a tracked tensor, or of a tracked value, is
    recorded.  If index tensors select a position twice, the last value is stored and receives the gradient.
    Raises GradientError for a Var outside no_grad, and the same errors as `x[index]`.
    """
    if x.__class__ not in PLAIN and isinstance(x, Tracer):
        set_traced(x, index, value)
        return
    y = plain_view(x, index) if x.__class__ in PLAIN else None
    if y is not None:
        copy_into(x if y.layout is x.layout else y, without_ones(value, y.ndim), "index", x)
        return
    y, gathers = read_index(x, index)
    if not gathers:
        copy_into(y, without_ones(value, y.ndim), "index", x)
    elif len(gathers) == 1 and gathers[0][1].dtype is bool_ and prod(shape_of(value)) == 1:
        fill_where(y, *gathers[0], value, x)
    else:
        put_at(y, gathers, value, x)


def without_ones(value: Any, ndim: int) -> Any:
    """Return the value of a write without leading dims of length 1 that exceed `ndim`."""
    while isinstance(value, (Tensor, np.ndarray)) and value.ndim > ndim and value.shape[0] == 1:
        value = value[0]
    return value


def put_at(y: Tensor, gathers: Gathers, value: Any, x: Tensor) -> None:
    """Write a value into y, which is x or a view of x, at index tensors and masks; it broadcasts and is cast."""
    repeats = not y.layout.is_contiguous and y.layout.may_overlap_itself() and prod(shape_of(value)) == 1
    tensors = (*tensors_of("index", value), *[index for _, index in gathers])
    check_writable("index", x, tensors, x is y and not repeats)
    if repeats:  # one value for all positions, so it does not matter which of the positions that share memory is last
        mask = zeros(y.shape, dtype=bool_, device=y.device)
        put_at(mask, gathers, True, mask)
        fill_masked(y, 0, mask, as_source(value, x))
        return
    check_writable("index", y)
    y, dim, shape, positions, source = located(y, gathers, value, x)
    # If y shares memory with the source or the index, they are copied, because reads and writes are interleaved.
    source, positions = (clone(v) if v.storage.memory is y.storage.memory else v for v in (source, positions))
    if shape == y.shape or prod(shape) == 0 or y.layout.reshape(shape) is not None:
        part = y if shape == y.shape else as_view(y, shape=shape)
        write(COPY_IN, (part, positions, source), {"dim": dim}, part)
    else:  # the strides do not permit these dims to be merged
        whole = index_copy(reshape(y, shape), dim, positions, source)
        write(CLONE, (reshape(whole, y.shape),), {}, y)


def located(y: Tensor, gathers: Gathers, value: Any, x: Tensor) -> tuple[Tensor, int, tuple[int, ...], Tensor, Tensor]:
    """Return (y, dim, shape, positions, source): the arguments with which one `index_copy` writes `value`.

    In the result y, the indexed dims are next to each other.  `shape` is the shape of y after these dims are merged
    into the single dim `dim`.  `positions` are the positions along `dim`, and `source` is the value, expanded to one
    slice per position.
    """
    y, dim, count, positions = chosen_by(y, gathers)
    lead, rest, n = y.shape[:dim], y.shape[dim + count :], positions.numel()
    value = without_ones(value, len(lead) + positions.ndim + len(rest))
    expect_fit(y, "index", x, value, (*lead, *positions.shape, *rest))
    source = cast(as_source(value, x), dtype=y.dtype)
    if source.numel() == 1:
        source = expand(reshape(source, ()), shape=(*lead, n, *rest))
    else:
        source = reshape(expand(source, shape=(*lead, *positions.shape, *rest)), (*lead, n, *rest))
    return y, dim, as_one(y.shape, dim, count), reshape(positions, (n,)), source


def chosen_by(y: Tensor, gathers: Gathers) -> tuple[Tensor, int, int, Tensor]:
    """Return (y, dim, count, positions), with the meaning that they have in `side_by_side`."""
    dim, index = gathers[0]
    if len(gathers) > 1:
        return side_by_side(y, gathers)
    return (y, dim, index.ndim, positions_of(index)) if index.dtype is bool_ else (y, dim, 1, index)


def fill_where(y: Tensor, dim: int, mask: Tensor, value: Any, x: Tensor) -> None:
    """Write a value of one element into y where a mask is True; `dim` is the first dim that the mask covers."""
    check_writable("index", x, tensors_of("index", value), False)
    # One element broadcasts to any number of positions, so the True elements of the mask need not be counted.
    expect_fit(y, "index", x, value, (*y.shape[:dim], mask.numel(), *y.shape[dim + mask.ndim :]))
    fill_masked(y, dim, mask, as_source(value, x))


def as_source(value: Any, x: Tensor) -> Tensor:
    """Return the value of a write into x as a tensor."""
    if value.__class__ is float and x.dtype.is_float and -COMMON < value < COMMON:
        return number(value, x.dtype, x.device)
    return value if isinstance(value, Tensor) else Tensor(*store(value, exact_dtype(value, x), x.device, "index"))


def exact_dtype(value: Any, x: Tensor) -> DType | None:
    """Return the dtype for a value of Python numbers: that of x if the default dtype could lose precision, or None."""
    if isinstance(value, (np.ndarray, np.generic)):
        return None
    large = x.dtype is uint64 and isinstance(value, int) and value > iinfo(int64).max
    return x.dtype if x.dtype.is_float or large else None


def shape_of(value: Any) -> tuple[int, ...]:
    """Return the shape of the value of a write, which may be a tensor, an array, a number or nested lists."""
    return tuple(value.shape) if isinstance(value, (Tensor, np.ndarray)) else nested_shape(value)


# ---- writes inside a transform: a function computes the new value, which replaces the old value ----------------------


def begin_write(name: str, x: Any) -> None:
    """Raise an error unless x, a tensor inside a transform, may be written."""
    begin = getattr(x.transform, "begin_write", None)
    if begin is None:
        check_writable(name, x)
    else:
        begin(name, x)


def set_traced(x: Any, index: Any, value: Any) -> None:
    """Assign `x[index] = value` for a tensor x inside a transform."""
    entries, gathers = entries_of(x, index)
    seen = INDEX.prepare(Layout.contiguous(x.shape), index=entries)  # type: ignore[misc]
    base = value.base if isinstance(value, Tracer) and not gathers else None
    if base.__class__ is ViewOf and base.source is x and base.layout() == seen:
        return  # `x[0] += 1` has written into this view
    begin_write("index", x)
    tensors_of("index", value)
    y = basic_index(x, index=entries)
    if not gathers:
        expect_fit(y, "index", x, value, y.shape)
        part = expand(cast(as_source(value, x), dtype=x.dtype), shape=y.shape)
    elif len(gathers) == 1 and gathers[0][1].dtype is bool_ and prod(shape_of(value)) == 1:
        dim, mask = gathers[0]
        part = where(mask_over(y, dim, mask), reshape(cast(as_source(value, x), dtype=x.dtype), ()), y)
    else:
        moved, dim, shape, positions, source = located(y, gathers, value, x)
        part = reshape(index_copy(reshape(moved, shape), dim, positions, source), moved.shape)
        if moved is not y:
            part = permute(part, dims=order_back(gathers, y.ndim))
    view = {"size": seen.shape, "stride": seen.strides, "storage_offset": seen.offset}
    x.transform.end_write("index", x, put(x, part, **view))


def copy_into(y: Tensor, value: Any, name: str, x: Tensor) -> None:
    """Write a value into y, which is x or a view of x; the value broadcasts and is cast."""
    if y.__class__ not in PLAIN and isinstance(y, Tracer):
        begin_write(name, y)
        expect_fit(y, name, x, value, y.shape)
        values = expand(cast(as_source(value, x), dtype=y.dtype), shape=y.shape)
        y.transform.end_write(name, y, clone(values))  # type: ignore[attr-defined]
        return
    check_writable(name, x, tensors_of(name, value), x is y)
    check_writable(name, y)
    expect_fit(y, name, x, value, y.shape)
    source = as_source(value, x)
    if source.layout.shape != y.layout.shape:
        source = expand(source, shape=y.shape)
    if source.dtype is y.dtype:
        write(CLONE, (source,), {}, y)
    else:
        write(CAST, (source,), {"dtype": y.dtype}, y)


def set_var(x: Var, value: Any) -> Var:
    """Write a value into this Var, in place; the shapes must be equal, and the dtype is cast.

    Raises ShapeError for another shape, and StorageError for a tensor that shares the storage of this Var.
    """
    set_value(x, value, "set")
    return x


def set_value(x: Tensor, value: Any, name: str) -> None:
    """Write a value into the memory of x without recording it; `name` is the caller's name in messages."""
    if isinstance(value, Tensor) and value.storage.memory is x.storage.memory:
        raise StorageError(
            f"{name}: the value must not share memory with the {kind_of(x)} {describe(x)}, but it is a view of this "
            "memory; pass value.clone()"
        )
    shape = shape_of(value)
    if shape != x.shape:
        raise ShapeError(
            f"{name}: the value must have the shape of the {kind_of(x)} {describe(x)}, got shape {shape}; reshape or "
            "expand the value", lhs=x.shape, rhs=shape,
        )  # fmt: skip
    source = tensor(value, x.dtype, x.device) if not isinstance(value, Tensor) else value.detach()
    if source.device is not x.device:
        source = tensor(source, x.dtype, x.device)
    with no_grad():
        write(CAST, (source,), {"dtype": x.dtype}, x)


def kind_of(x: Tensor) -> str:
    """Return the noun for x in messages, "Var" or "tensor"."""
    return "Var" if x.is_variable else "tensor"


def expect_fit(y: Tensor, name: str, x: Tensor, value: Any, wanted: tuple[int, ...]) -> None:
    """Raise ShapeError or DeviceError unless a value broadcasts to the shape `wanted` and is on the device of x."""
    shape = shape_of(value)
    if stretched_strides(shape, (0,) * len(shape), wanted) is None:
        shown = describe(value) if isinstance(value, (Tensor, np.ndarray)) else f"a list of shape {shape}"
        target = describe(y) if wanted == y.shape else f"the {wanted} that the index chooses of {describe(y)}"
        raise ShapeError(
            f"{name}: the value must broadcast to {target}, got {shown}; from the right, each size must be equal or "
            "1, so reshape the value"
        )
    if isinstance(value, Tensor) and value.device is not x.device:
        raise DeviceError(
            f"{name}: the value must be on the device {x.device} of {describe(x)}, got {describe(value)} on "
            f"{value.device}; move the value with .to({str(x.device)!r})"
        )


def tensors_of(name: str, value: Any) -> tuple[Tensor, ...]:
    """Return the value of a write as a tuple of one tensor, or an empty tuple if the value is not a tensor.

    Raises GradientError for a list with tensors that require a gradient, because a list is copied without gradients.
    """
    if isinstance(value, Tensor):
        return (value,)
    for x in tensors_in(value) if is_grad_enabled() else ():
        if x.requires_grad:
            raise GradientError(
                f"{name}: a list of values must not contain a tensor that requires a gradient, got {describe(x)}, "
                "whose gradient would be lost; join the values with mg.stack"
            )
    return ()
