"""Implement `x[...]`: basic indices return views, and index tensors and masks return copies.

Basic indices are ints, slices, None and Ellipsis.  `gathering.py` and `masks.py` have the ops for index tensors, lists
and masks, `positions.py` combines several index tensors into one, and `assignment.py` implements `x[...] = value`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minigrad.core.conditions import expect_shape
from minigrad.core.dtype import bool_, uint8
from minigrad.core.op import Op
from minigrad.core.roles import WHOLE, Entries
from minigrad.errors import ArgumentError, IndexDTypeError, IndexOutOfRange, IndexShapeError, warn
from minigrad.ops.casting import cast
from minigrad.ops.creation import tensor
from minigrad.ops.indexing.gathering import index_select
from minigrad.ops.indexing.masks import choose
from minigrad.ops.indexing.positions import are_pair, arranged, as_one, joined, pair_select, side_by_side
from minigrad.ops.shape.views import basic_index, permute
from minigrad.runtime.data import host_numbers, nested_shape, refuse_masked
from minigrad.runtime.dispatch import run_view
from minigrad.runtime.observers import DIRECT
from minigrad.runtime.plans import plan_for
from minigrad.runtime.tensor import PLAIN, Tensor, describe
from minigrad.runtime.tracers import Tracer, called_by, transform_of

FULL_LIMIT = 1024
_full: dict[Any, Entries] = {}  # complete indices for tensors inside transforms, by number of dims and index
# For a layout and an index with index tensors: the basic entries, the dims of the index tensors in the view of these
# entries, whether this view differs from the tensor, and whether `pair_select` reads it.
_gathers: dict[Any, tuple[Entries, tuple[int, ...], bool, bool]] = {}
INDEX: Op = basic_index.op  # type: ignore[attr-defined]


def get_item(x: Tensor, index: Any) -> Tensor:
    """Return x[index]: a view for ints, slices, None and Ellipsis; a copy for index tensors, lists and masks.

    Several index tensors broadcast, and together select elements or slices, as in PyTorch.  True and False add a new
    dim of length 1 or 0.
    Raises IndexOutOfRange for too many indices or a position outside its dim, IndexDTypeError for an index of another
    type, IndexShapeError for a mask of another shape and for index tensors that do not broadcast.
    """
    if x.__class__ in DIRECT:
        indices: list[Tensor] = []
        written = as_written(index, indices)
        if written is not None:
            return gathered(x, index, written, indices) if indices else viewed(x, written)
        if index.__class__ in PLAIN and index.dtype is bool_ and covers(index, x):  # type: ignore[attr-defined]
            return choose(x, 0, index)
    elif isinstance(x, Tracer):
        written = as_written(index)
        if written is not None:
            full = _full.get((x.ndim, written))
            if full is None:
                if len(_full) >= FULL_LIMIT:
                    _full.clear()
                full = _full[x.ndim, written] = in_full(x, list(written))
            # This is the dispatch of the op without its checks, because the index is in canonical form.
            transform = transform_of(INDEX, (x,))
            assert transform is not None
            return called_by(transform, INDEX, (x,), {"index": full})
    y, gathers = read_index(x, index)
    if not gathers:  # `x[...]` must be a new view and not x itself
        return basic_index(x, index=Entries((WHOLE,) * x.ndim)) if y is x else y
    dim, positions = gathers[0]
    if len(gathers) > 1:
        y, dim, count, positions = side_by_side(y, gathers)
        y = y.reshape(as_one(y.shape, dim, count))
    return choose(y, dim, positions) if positions.dtype is bool_ else take(y, dim, positions)


def covers(mask: Tensor, x: Tensor) -> bool:
    """Return whether a mask has dims, which are the first dims of x, and is on the device of x."""
    shape = mask.layout.shape
    return bool(shape) and shape == x.layout.shape[: len(shape)] and mask.device is x.device


def gathered(x: Tensor, index: Any, written: tuple[Any, ...], indices: list[Tensor]) -> Tensor:
    """Return x[index] for basic entries and index tensors; `written` is the index as a key."""
    key = (x.layout, written)
    entry = _gathers.get(key)
    if entry is None:
        entries, gathers = entries_of(x, index)
        if len(_gathers) >= FULL_LIMIT:
            _gathers.clear()
        dims, changes = tuple([dim for dim, _ in gathers]), entries.count(WHOLE) < len(entries)
        y = basic_index(x, index=entries) if changes else x
        entry = _gathers[key] = entries, dims, changes, are_pair(y, dims, indices)
    entries, dims, changes, pair = entry
    y = basic_index(x, index=entries) if changes else x
    if pair:
        return pair_select(y, indices[0], indices[1], dim=dims[0])
    if len(dims) == 1:
        return take(y, dims[0], indices[0])
    positions = joined(y, dims, indices)
    order, dim = arranged(y.ndim, dims)
    y = y if order is None else permute(y, dims=order)
    return take(y.reshape(as_one(y.shape, dim, len(dims))), dim, positions)


def viewed(x: Tensor, written: tuple[Any, ...]) -> Tensor:
    """Return the view of a basic index, given as a key, from a cached plan."""
    key = (x.layout, x.dtype, x.device, written)
    plan = INDEX.plans.get(key)
    if plan is None:
        plan = plan_for(INDEX, (x,), {"index": in_full(x, list(written))}, key)
    return run_view(INDEX, plan, x)


def plain_view(x: Tensor, index: Any) -> Tensor | None:
    """Return x[index] of a plain tensor for a basic index; None for any other index."""
    written = as_written(index)
    return None if written is None else viewed(x, written)


def as_written(index: Any, indices: list[Tensor] | None = None) -> tuple[Any, ...] | None:
    """Return an index as a hashable key, with each slice as a tuple of its three numbers.

    indices: a list that receives the integer tensors of an index; they are in the key as their layouts.
    Returns None unless all numbers are plain ints and all tensors are in `indices`.
    """
    entries: list[Any] = []
    for item in index if index.__class__ is tuple else (index,):
        if item.__class__ is slice:
            item = (item.start, item.stop, item.step)
            for v in item:
                if v is not None and v.__class__ is not int:
                    return None
        elif item.__class__ is not int and item is not None and item is not Ellipsis:
            if indices is None or not selects(item):
                return None
            indices.append(item)
            item = indices[-1].layout
        entries.append(item)
    return tuple(entries)


def selects(item: Any) -> bool:
    """Return whether an entry of an index is an index tensor outside transforms: integers with at least one dim.

    uint8 is the dtype of old masks, which `as_index` converts.
    """
    kind = item.dtype if item.__class__ in PLAIN else bool_  # type: ignore[attr-defined]
    return kind.is_int and kind is not uint8 and bool(item.layout.shape)


def in_full(x: Tensor, items: list[Any]) -> Entries:
    """Return the entries of an index, completed so that each dim of x has an entry.

    Full slices `:` replace `...`; without `...`, full slices are appended.
    Raises IndexOutOfRange for more indices than dims of x, ArgumentError for a second `...`.
    """
    used = sum(dims_of(item) for item in items)
    if used > x.ndim:
        raise IndexOutOfRange(
            f"index: at most {x.ndim} indices are allowed for {describe(x)}, got {used}; remove {used - x.ndim}"
        )
    if sum(1 for item in items if item is Ellipsis) > 1:
        raise ArgumentError(
            f"index: at most one Ellipsis (...) is allowed for {describe(x)}, got more; write the other dims as `:`"
        )
    spot = next((k for k, item in enumerate(items) if item is Ellipsis), len(items))
    return Entries((*items[:spot], *[WHOLE] * (x.ndim - used), *items[spot + 1 :]))


def take(x: Tensor, dim: int, positions: Tensor) -> Tensor:
    """Return x[..., positions, ...], in which the dims of the index tensor replace `dim`."""
    if positions.ndim == 1:
        return index_select(x, dim, positions)
    flat = index_select(x, dim, positions.reshape(-1))
    return flat.reshape(*x.shape[:dim], *positions.shape, *x.shape[dim + 1 :])


def read_index(x: Tensor, index: Any) -> tuple[Tensor, list[tuple[int, Tensor]]]:
    """Return the view of the basic indices of an index, and each index tensor or mask with its dim in this view."""
    entries, gathers = entries_of(x, index)
    return (basic_index(x, index=entries) if entries.count(WHOLE) < len(entries) else x), gathers


def entries_of(x: Tensor, index: Any) -> tuple[Entries, list[tuple[int, Tensor]]]:
    """Return the basic entries of an index for all dims, and each index tensor or mask with its dim in their view."""
    items = [as_index(x, item) for item in (index if several_entries(index) else (index,))]
    basic: list[Any] = []
    gathers, dim, at = [], 0, 0  # at: the current dim of x
    for item in in_full(x, items):
        if is_mask(item):
            expect_shape(
                "index",
                x.shape[at : at + item.ndim],
                "the shape of the indexed dims of",
                x,
                "reshape the mask",
                IndexShapeError,
                mask=item,
            )
            gathers.append((dim, item if isinstance(item, Tensor) else tensor(item, device=x.device)))
            basic += [WHOLE] * item.ndim
        elif isinstance(item, Truth):
            gathers.append((dim, tensor([0] * item.holds, dtype="int64", device=x.device)))
            basic.append(None)
        elif isinstance(item, Tensor):
            gathers.append((dim, item))
            basic.append(WHOLE)
        else:
            basic.append(item)
        at += dims_of(item)
        dim += dims_of(item) if is_mask(item) else not isinstance(item, int)
    return Entries(basic), gathers


def several_entries(index: Any) -> bool:
    """Return whether an index is a tuple, or a list that can only stand for a tuple, as in `x[[slice(2), [0, 1]]]`."""
    if not isinstance(index, list):
        return isinstance(index, tuple)
    return any(v is None or v is Ellipsis or isinstance(v, slice) or getattr(v, "ndim", 0) for v in index)


class Truth:
    """An index entry that is a boolean: a new dim of length 1, from which it selects one element or none."""

    def __init__(self, holds: bool) -> None:
        self.holds = holds


def dims_of(item: Any) -> int:
    """Return the number of dims of the operand that an entry of an index consumes."""
    if item is None or item is Ellipsis or isinstance(item, Truth):
        return 0
    return int(item.ndim) if is_mask(item) else 1


def is_mask(item: Any) -> bool:
    """Return whether an index entry may be a mask: a bool tensor, or an array, whose shape is checked first."""
    return isinstance(item, np.ndarray) or (isinstance(item, Tensor) and item.dtype is bool_)


def as_index(x: Tensor, item: Any) -> Any:
    """Check one entry of an index, and return it in one of a few forms.

    The forms are an int, the three numbers of a slice, None, Ellipsis, a Truth, an integer tensor, and a mask as a
    tensor or an array.
    """
    if item is None or item is Ellipsis:
        return item
    if isinstance(item, (bool, np.bool_)):
        return Truth(bool(item))
    if isinstance(item, slice):
        return tuple(None if v is None else as_position(v) for v in (item.start, item.stop, item.step))
    if isinstance(item, (list, tuple, range, np.ndarray)):
        refuse_masked("index", item)
        numbers = item if isinstance(item, np.ndarray) else host_numbers(list(item), nested_shape(list(item)))[0]
        if numbers.size and numbers.dtype.kind not in "biu":
            raise not_an_index(x, f"ndarray {numbers.dtype}{numbers.shape}")
        if numbers.dtype.kind == "b":
            return numbers if numbers.ndim else Truth(bool(numbers))
        item = tensor(numbers, dtype=None if numbers.size else "int64", device=x.device)
    if isinstance(item, Tensor):
        if item.dtype is uint8:
            warn("index: a uint8 index is a mask, as in PyTorch; pass mask.bool(), or .long() for positions")
            item = cast(item, dtype=bool_)
        if item.dtype is bool_:
            return item if item.ndim else Truth(bool(item.item()))
        if not item.dtype.is_int:
            raise not_an_index(x, describe(item))
        # An index that differs for each sample of a batch is not an int, but it can be gathered.
        return int(item.item()) if item.ndim == 0 and not isinstance(item, Tracer) else item
    return as_position(item)


def not_an_index(x: Tensor, shown: str) -> IndexDTypeError:
    """Return the IndexDTypeError for an index tensor that is neither integer nor bool."""
    return IndexDTypeError(
        f"index: an index tensor for {describe(x)} must have an integer dtype, or bool for a mask, got {shown}; "
        "convert it with .long()"
    )


def as_position(value: Any) -> int:
    """Return an int from an object with `__index__`.  Raises IndexDTypeError for bool and for other objects."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise IndexDTypeError(
            f"index: an index must be an int, a slice, None, ... or an integer tensor, got {describe(value)}; convert "
            "the value with int()"
        )
    return int(value.__index__())
