"""x[...]: basic indices as views, an index tensor as a gather, a mask as what it chooses; and assignment to them.

Ints, slices, None and Ellipsis give a view of the same memory; one 1-d (or n-d) index tensor, list or mask copies.
`indexing.py` and `masks.py` have the ops behind it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from minigrad.core.dtype import bool_
from minigrad.core.op import Op
from minigrad.core.roles import WHOLE, Entries
from minigrad.core.strides import stretched_strides
from minigrad.errors import (
    ArgumentError,
    DeviceError,
    DTypeError,
    GradientError,
    IndexOutOfRange,
    ShapeError,
    StorageError,
)
from minigrad.ops.casting import cast, clone
from minigrad.ops.creation import tensor
from minigrad.ops.indexing import index_select_along
from minigrad.ops.masks import choose, count_true, put
from minigrad.ops.views import expand, index_with
from minigrad.runtime.data import host_numbers, nested_shape
from minigrad.runtime.dispatch import run_view, write
from minigrad.runtime.levels import Wrapped, level_of
from minigrad.runtime.plans import plan_for
from minigrad.runtime.recording import is_grad_enabled, no_grad
from minigrad.runtime.tensor import PLAIN, Tensor, describe
from minigrad.runtime.var import Var
from minigrad.runtime.writing import check_writable

CAST = cast.op  # type: ignore[attr-defined]
CLONE: Op = clone.op  # type: ignore[attr-defined]
FULL_LIMIT = 1024
_full: dict[Any, Entries] = {}  # indices of values of transforms in full, by number of dims and as they were written
INDEX: Op = index_with.op  # type: ignore[attr-defined]


def get_item(x: Tensor, index: Any) -> Tensor:
    """x[index]: ints, slices, None and Ellipsis give a view; one index tensor, list of ints or mask a copy.

    Raises IndexOutOfRange for too many indices or a position outside, DTypeError for an index of another type.
    """
    if x.__class__ in PLAIN:
        written = as_written(index)
        if written is not None:
            key = (x.layout, x.dtype, x.device, written)
            plan = INDEX.plans.get(key)
            if plan is None:
                plan = plan_for(INDEX, (x,), {"index": in_full(x, list(written))}, key)
            return run_view(INDEX, plan, x)
    elif isinstance(x, Wrapped):
        written = as_written(index)
        if written is not None:
            full = _full.get((x.ndim, written))
            if full is None:
                if len(_full) >= FULL_LIMIT:
                    _full.clear()
                full = _full[x.ndim, written] = in_full(x, list(written))
            level = level_of(INDEX, (x,))  # the door, without a look at a parameter that is canonical
            assert level is not None
            seen: Tensor = level.call(INDEX, (x,), {"index": full})
            return seen
    y, gathers = read_index(x, index)
    for dim, positions in gathers:
        y = choose(y, dim, positions) if positions.dtype is bool_ else take(y, dim, positions)
    return y


def as_written(index: Any) -> tuple[Any, ...] | None:
    """A basic index as part of a key, a slice as its three numbers; None for one with anything but plain ints in it."""
    entries = []
    for item in index if index.__class__ is tuple else (index,):
        if item.__class__ is slice:
            item = (item.start, item.stop, item.step)
            for v in item:
                if v is not None and v.__class__ is not int:
                    return None
        elif item.__class__ is not int and item is not None and item is not Ellipsis:
            return None
        entries.append(item)
    return tuple(entries)


def in_full(x: Tensor, items: list[Any]) -> Entries:
    """The entries of an index with all dims of x in the place of `...` or behind them.

    Raises IndexOutOfRange for more than x has dims, ArgumentError for a second `...`.
    """
    used = sum(dims_of(item) for item in items)
    if used > x.ndim:
        raise IndexOutOfRange(f"index: {used} indices for {describe(x)}, which has {x.ndim} dims", op="index")
    if sum(1 for item in items if item is Ellipsis) > 1:
        raise ArgumentError(f"index: more than one Ellipsis (...) for {describe(x)}, and one can be filled", op="index")
    spot = next((k for k, item in enumerate(items) if item is Ellipsis), len(items))
    return Entries((*items[:spot], *[WHOLE] * (x.ndim - used), *items[spot + 1 :]))


def take(x: Tensor, dim: int, positions: Tensor) -> Tensor:
    """x[..., positions, ...]: the dims of an n-d index tensor take the place of `dim`."""
    flat = index_select_along(x, positions.reshape(-1), dim=dim)
    return flat if positions.ndim == 1 else flat.reshape(*x.shape[:dim], *positions.shape, *x.shape[dim + 1 :])


def read_index(x: Tensor, index: Any) -> tuple[Tensor, list[tuple[int, Tensor]]]:
    """The view that the basic indices make, and the index tensors with the dim that each stands at."""
    items = [as_index(x, item) for item in (index if isinstance(index, tuple) else (index,))]
    basic: list[Any] = []
    gathers, dim, at = [], 0, 0  # at: in x
    for item in in_full(x, items):
        if is_mask(item):
            expect_mask(x, item, x.shape[at : at + item.ndim])
            gathers.append((dim, item if isinstance(item, Tensor) else tensor(item, device=x.device)))
            basic += [WHOLE] * item.ndim
        elif isinstance(item, Tensor):
            gathers.append((dim, item))
            basic.append(WHOLE)
        else:
            basic.append(item)
        at += dims_of(item)
        dim += not isinstance(item, int)
    if len(gathers) > 1:
        raise ArgumentError(
            f"index: {len(gathers)} index tensors for {describe(x)}; one is possible, use gather for more", op="index"
        )
    return (index_with(x, index=Entries(basic)) if basic.count(WHOLE) < len(basic) else x), gathers


def dims_of(item: Any) -> int:
    """How many dims of the operand an entry of an index stands for."""
    if item is None or item is Ellipsis:
        return 0
    return int(item.ndim) if is_mask(item) else 1


def is_mask(item: Any) -> bool:
    """Whether an entry of an index chooses by truth values; an array is not yet a tensor, its shape comes first."""
    return isinstance(item, np.ndarray) or (isinstance(item, Tensor) and item.dtype is bool_)


def expect_mask(x: Tensor, mask: Tensor | np.ndarray[Any, Any], shape: tuple[int, ...]) -> None:
    """Raise ShapeError unless a mask has the lengths of the dims that it stands for."""
    if mask.shape != shape:
        raise ShapeError(
            f"index: the mask bool{mask.shape} stands for dims of shape {shape} of {describe(x)}; they must agree",
            op="index",
        )


def as_index(x: Tensor, item: Any) -> Any:
    """One entry of an index, checked: int, a slice as its three numbers, None, Ellipsis, an integer Tensor, or a mask
    as a Tensor or an array."""
    if item is None or item is Ellipsis:
        return item
    if isinstance(item, slice):
        return tuple(None if v is None else as_position(v) for v in (item.start, item.stop, item.step))
    if isinstance(item, (list, np.ndarray)):
        numbers = item if isinstance(item, np.ndarray) else host_numbers(item, nested_shape(item))[0]
        if numbers.size and numbers.dtype.kind not in "biu":
            raise not_an_index(x, f"ndarray {numbers.dtype}{numbers.shape}")
        if numbers.dtype.kind == "b" and numbers.ndim:
            return numbers
        item = tensor(numbers, dtype=None if numbers.size else "int64", device=x.device)
    if isinstance(item, Tensor):
        if item.dtype is bool_ and item.ndim:
            return item
        if not item.dtype.is_int:
            raise not_an_index(x, describe(item))
        # One place for each of a batch is no number, but it may be gathered.
        return int(item.item()) if item.ndim == 0 and not isinstance(item, Wrapped) else item
    return as_position(item)


def not_an_index(x: Tensor, shown: str) -> DTypeError:
    """The error for an index of another dtype."""
    return DTypeError(
        f"index: an index tensor for {describe(x)} needs an integer dtype, or bool for a mask, got {shown}",
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
    """x[index] = value, through the view that basic indices make, or where a mask holds.

    The value broadcasts and is cast.  A write into a tracked tensor, or of one, is recorded.
    Raises GradientError for a Var outside no_grad.
    """
    y, gathers = read_index(x, index)
    if not gathers:
        copy_into(y, value, "index", x)
        return
    dim, mask = gathers[0]
    if mask.dtype is not bool_:
        raise ArgumentError(
            f"index: assignment to {describe(x)} takes ints, slices, None, ... and masks; use index_add for tensors",
            op="index",
        )
    check_writable("index", x, given_tensors("index", value))
    check_writable("index", y)
    expect_room(y, "index", x, value, (*y.shape[:dim], count_true(mask), *y.shape[dim + mask.ndim :]))
    source = value if isinstance(value, Tensor) else tensor(value, device=x.device)
    put(y, dim, mask, source)


def copy_into(y: Tensor, value: Any, name: str, x: Tensor) -> None:
    """Write value, broadcast and cast, into y's memory, which is x or what an index sees of it."""
    check_writable(name, x, given_tensors(name, value))
    check_writable(name, y)
    expect_room(y, name, x, value, y.shape)
    source = value if isinstance(value, Tensor) else tensor(value, device=x.device)
    if source.layout.shape != y.layout.shape:
        source = expand(source, shape=y.shape)
    if source.dtype is y.dtype:
        write(CLONE, (source,), {}, y)
    else:
        write(CAST, (source,), {"dtype": y.dtype}, y)


def set_var(x: Var, value: Any) -> Var:
    """Write `value` into this Var, in place; shape must agree, the dtype is cast.

    Raises ShapeError for another shape, StorageError for a tensor that shares this Var's storage.
    """
    set_value(x, value, "set")
    return x


def set_value(x: Tensor, value: Any, name: str) -> None:
    """Write `value` into the memory of x, unrecorded; `name` is what asked for it."""
    if isinstance(value, Tensor) and value.storage is x.storage:
        raise StorageError(
            f"{name}: the {kind_of(x)} {describe(x)} cannot be set to a tensor that is derived from its own value and "
            f"shares its storage; clone() it first",
            op=name,
        )
    shape = tuple(value.shape) if isinstance(value, (Tensor, np.ndarray)) else nested_shape(value)
    if shape != x.shape:
        raise ShapeError(
            f"{name}: a value of shape {shape} does not fit the {kind_of(x)} {describe(x)}; shapes must agree",
            op=name, lhs=x.shape, rhs=shape,
        )  # fmt: skip
    given = tensor(value, x.dtype, x.device) if not isinstance(value, Tensor) else value.detach()
    if given.device is not x.device:
        given = tensor(given, x.dtype, x.device)
    with no_grad():
        write(CAST, (given,), {"dtype": x.dtype}, x)


def kind_of(x: Tensor) -> str:
    """What messages call it."""
    return "Var" if x.is_variable else "tensor"


def expect_room(y: Tensor, name: str, x: Tensor, value: Any, room: tuple[int, ...]) -> None:
    """Raise unless a value to be written into y broadcasts to `room`, and is on the device of x."""
    shape = value.shape if isinstance(value, (Tensor, np.ndarray)) else nested_shape(value)
    if stretched_strides(shape, (0,) * len(shape), room) is None:
        shown = describe(value) if isinstance(value, (Tensor, np.ndarray)) else f"a list of shape {shape}"
        place = describe(y) if room == y.shape else f"the {room} that the mask chooses of {describe(y)}"
        raise ShapeError(
            f"{name}: {shown} does not broadcast to {place}; from the right, each size must be equal or 1", op=name
        )
    if isinstance(value, Tensor) and value.device is not x.device:
        raise DeviceError(
            f"{name}: {describe(value)} is on {value.device} and {describe(x)} on {x.device}; "
            f"move one with .to({str(x.device)!r})",
            op=name,
        )


def given_tensors(name: str, value: Any) -> tuple[Tensor, ...]:
    """The tensor that a value to be written is.

    Raises GradientError for tracked ones in a list: the numbers of a list carry no gradient.
    """
    if isinstance(value, Tensor):
        return (value,)
    for x in tensors_in(value) if is_grad_enabled() else ():
        if x.requires_grad:
            raise GradientError(
                f"{name}: the gradient of {describe(x)} would be lost in a list of values; join them with mg.stack",
                op=name,
            )
    return ()


def tensors_in(value: Any) -> Iterator[Tensor]:
    """The tensors that a value is or holds, in nested lists."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors_in(item)
