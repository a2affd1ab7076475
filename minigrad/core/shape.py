"""Shapes and dims: parsing, counting, broadcasting and the inference of sizes.

These are small functions on tuples of sizes.  Every message has the op's name, so that the wrong call is easy to find.
`layout` defines the meaning of a shape in memory.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minigrad.errors import ArgumentTypeError, IndexOutOfRange, ShapeError

Shape = tuple[int, ...]
INTS = {int}


class Size(tuple[int, ...]):
    """The shape of a tensor: a tuple of ints with the method `numel`.  It equals a plain tuple and prints like one.

    Slices, sums and multiples have the same type, as in PyTorch: `x.shape[1:].numel()`.
    Raises ArgumentTypeError for sizes that are not ints.
    """

    __slots__ = ()

    def __new__(cls, sizes: Iterable[Any] = ()) -> Size:
        return tuple.__new__(cls, [as_int(size, "a size", "Size") for size in sizes])

    def __getitem__(self, key: Any) -> Any:
        part = tuple.__getitem__(self, key)
        return tuple.__new__(Size, part) if part.__class__ is tuple else part

    def __add__(self, other: Any) -> Size:  # a NumPy array adds and multiplies a Size itself
        return tuple.__new__(Size, tuple.__add__(self, other)) if isinstance(other, tuple) else NotImplemented

    def __radd__(self, other: Any) -> Size:
        return tuple.__new__(Size, tuple.__add__(other, self)) if isinstance(other, tuple) else NotImplemented

    def __mul__(self, count: Any) -> Size:
        return NotImplemented if isinstance(count, np.ndarray) else tuple.__new__(Size, tuple.__mul__(self, count))

    __rmul__ = __mul__

    def numel(self) -> int:
        """Return the number of elements."""
        return math.prod(self)


def contiguous_strides(shape: Shape) -> Shape:
    """Return row-major strides in elements.

    >>> contiguous_strides((2, 3, 4))
    (12, 4, 1)
    """
    strides = []
    step = 1
    for size in reversed(shape):
        strides.append(step)
        step *= size or 1  # as in PyTorch, an empty dim does not make the strides of the others 0
    return tuple(reversed(strides))


def as_int(value: Any, what: str, op: str) -> int:
    """Return `value` as an int.  Raise ArgumentError for a value that is not an int, and for True and False."""
    try:
        if not isinstance(value, bool):
            return operator.index(value)
    except TypeError:
        pass
    raise ArgumentTypeError(f"{op}: {what} must be an int, got {value!r}; convert it with int()", value=value)


def normalize_dim(dim: int, ndim: int, op: str, owner: Any = None) -> int:
    """Return `dim` counted from the front; a negative `dim` counts from the end.

    owner: the shape or the tensor to which the dims belong, for the error message.

    Raises IndexOutOfRange if there is no such dim.
    """
    result = as_int(dim, "dim", op)
    if -ndim <= result < ndim:
        return result + ndim if result < 0 else result
    valid = f"valid are {-ndim} to {ndim - 1}" if ndim else "a scalar has no dims"
    raise IndexOutOfRange(
        f"{op}: dim {dim} is out of range for {_named(owner, ndim)}; {valid}",
        dim=dim, shape=getattr(owner, "shape", owner),
    )  # fmt: skip


def _named(owner: Any, ndim: int) -> str:
    if owner is None:
        return f"{ndim} dims"
    return f"shape {owner}" if isinstance(owner, tuple) else f"{owner.dtype}{owner.shape}"


def normalize_dims(dims: int | Iterable[int] | None, ndim: int, op: str, owner: Any = None) -> Shape:
    """Return the dims counted from the front, sorted; None means all dims.  `owner` is used as in `normalize_dim`.

    Raises IndexOutOfRange if there is no such dim.
    Raises ShapeError if a dim is named twice.
    """
    if dims is None:
        return tuple(range(ndim))
    # An array or a tensor without dims is one number, although its class is iterable.
    several: Any = dims if isinstance(dims, Iterable) and getattr(dims, "ndim", True) else (dims,)
    listed: Shape = tuple(several)
    result = sorted(normalize_dim(dim, ndim, op, owner) for dim in listed)
    for left, right in pairwise(result):
        if left == right:
            raise ShapeError(
                f"{op}: dim {left} is named twice in {listed} for {_named(owner, ndim)}; list each dim once",
                dim=left, dims=listed, shape=getattr(owner, "shape", owner),
            )  # fmt: skip
    return tuple(result)


def broadcast_shapes(op: str, *shapes: Shape) -> Shape:
    """Return the shape to which all shapes broadcast: aligned at the last dim, sizes must be equal or 1.

    Raises ShapeError if two sizes differ and neither is 1.

    >>> broadcast_shapes("add", (2, 1), (3,))
    (2, 3)
    """
    if not shapes:
        return ()
    result = shapes[0]
    for shape in shapes[1:]:
        result = result if shape == result else _broadcast_two(op, result, shape, shapes)
    return result


def _broadcast_two(op: str, lhs: Shape, rhs: Shape, shapes: tuple[Shape, ...]) -> Shape:
    ndim = max(len(lhs), len(rhs))
    left, right = (1,) * (ndim - len(lhs)) + lhs, (1,) * (ndim - len(rhs)) + rhs
    sizes = []
    for dim, (a, b) in enumerate(zip(left, right)):
        if a != b and a != 1 and b != 1:
            # The shape () is left out, because it fits every shape.
            listed = " and ".join(str(shape) for shape in shapes if shape)
            raise ShapeError(
                f"{op}: shapes {listed} do not broadcast: dim {dim} is {a} against {b}, and only equal sizes or 1 "
                "broadcast; insert a dim of length 1 with unsqueeze, or slice to equal sizes",
                lhs=shapes[0], rhs=shapes[-1], shapes=shapes, dim=dim,
            )  # fmt: skip
        sizes.append(b if a == 1 else a)
    return tuple(sizes)


def as_shape(args: Any, op: str = "shape", *, hole: bool = False) -> tuple[Any, ...]:
    """Return a shape from an int, a tuple, a list, or the varargs of a method, which may contain one tuple.

    With `hole`, one size may be unknown, written as -1 or `()`; `infer_hole` computes it.

    Raises ShapeError if a size is negative.
    Raises ArgumentError if a size is not an int.

    >>> as_shape(3), as_shape([2, 3]), as_shape(((2, 3),))
    ((3,), (2, 3), (2, 3))
    """
    if not isinstance(args, (tuple, list)):
        args = (args,)
    elif len(args) == 1 and isinstance(args[0], (tuple, list)):
        args = args[0]
    for size in args:
        if size.__class__ is not int or size < 0:
            break
    else:  # in most calls, all sizes are ints already
        return args if args.__class__ is tuple else tuple(args)
    sizes = tuple(-1 if hole and isinstance(size, tuple) and not size else as_int(size, "a size", op) for size in args)
    lowest = -1 if hole else 0
    for size in sizes:
        if size < lowest:
            raise ShapeError(
                f"{op}: sizes must be 0 or more{', or -1' if hole else ''}, got {size} in {sizes}; pass a size "
                "that is not negative",
                shape=sizes,
            )
    return sizes


def infer_hole(shape: tuple[Any, ...], numel: int, op: str = "reshape", source: Shape | None = None) -> Shape:
    """Return `shape` with its unknown size (-1 or `()`) replaced so that the shape has `numel` elements.

    A shape without an unknown size must already have `numel` elements.

    Raises ShapeError if no size is possible, or two sizes are unknown.

    >>> infer_hole((2, -1), 6)
    (2, 3)
    """
    open_dims = [dim for dim, size in enumerate(shape) if size == -1 or size == ()]
    if len(open_dims) > 1:
        raise ShapeError(
            f"{op}: at most one size can be -1, got {len(open_dims)} in {shape}; write the other sizes",
            shape=shape,
        )
    known = math.prod(size for dim, size in enumerate(shape) if dim not in open_dims)
    if open_dims and known and numel % known == 0:
        dim = open_dims[0]
        return (*shape[:dim], numel // known, *shape[dim + 1 :])
    if not open_dims and known == numel:
        return shape
    what = f"{source} of {numel} elements" if source is not None else f"{numel} elements"
    if open_dims and not known and not numel:
        reason = ", where any size would fit; write the size instead of -1"
    elif open_dims and known:
        reason = f"; pass sizes whose product divides {numel}"
    else:
        reason = f"; pass sizes whose product is {numel}"
    raise ShapeError(f"{op}: cannot {op} {what} to {shape}{reason}", shape=source, target=shape, numel=numel)


def pooled_size(n: int, window: int, stride: int, padding: int, dilation: int, ceil_mode: bool) -> int:
    """Return how many windows fit along a dim.

    With `ceil_mode`, a last window that begins inside the padded dim and ends outside also counts.

    >>> pooled_size(5, 2, 2, 0, 1, False), pooled_size(5, 2, 2, 0, 1, True)
    (2, 3)
    """
    span = n + 2 * padding - dilation * (window - 1) - 1
    count = (-(-span // stride) if ceil_mode else span // stride) + 1
    return count - 1 if ceil_mode and (count - 1) * stride >= n + padding else count


def window_counts(outputs: int, n: int, window: int, stride: int, padding: int, pad_counts: bool) -> NDArray[np.int64]:
    """Return how many positions each window along a dim covers; positions of the padding count if `pad_counts`."""
    start = np.arange(outputs) * stride - padding
    end = np.minimum(start + window, n + padding)
    return end - start if pad_counts else np.minimum(end, n) - np.maximum(start, 0)


# ---- windows that slide over spatial dims ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Window:
    """Describe the windows of a convolution or pooling; each field has one int per spatial dim.

    size: spatial size of the result.
    taps: size of a window; () for a convolution, whose weight specifies the size.
    groups: number of parts of the channels that a convolution treats separately.
    pad_counts, divisor: for a mean, whether the padding counts, and the divisor of the sum; None stands for the count.
    """

    size: Shape
    taps: Shape
    stride: Shape
    padding: Shape
    dilation: Shape
    groups: int = 1
    pad_counts: bool = True
    divisor: int | None = None

    def to(self, size: Sequence[int], groups: int | None = None) -> Window:
        """Return the same windows with another size of the result, or with another number of groups."""
        return changed(self, tuple(size), self.groups if groups is None else groups)

    def __str__(self) -> str:
        """Return PyTorch's arguments that differ from their defaults, such as "kernel_size=2, padding=1"."""
        ones = (1,) * len(self.size)
        arguments = {
            "kernel_size": (self.taps, ()), "stride": (self.stride, self.taps or ones),
            "padding": (self.padding, (0,) * len(ones)), "dilation": (self.dilation, ones), "groups": (self.groups, 1),
            "count_include_pad": (self.pad_counts, True), "divisor_override": (self.divisor, None),
        }  # fmt: skip
        other = {name: value for name, (value, usual) in arguments.items() if value != usual}
        equal = {name: value[0] for name, value in other.items() if isinstance(value, tuple) and len({*value}) == 1}
        return ", ".join(f"{name}={value}" for name, value in (other | equal).items())


@lru_cache(1024)
def changed(window: Window, size: Shape, groups: int) -> Window:
    """Return windows with this size and number of groups; equal calls return one object, by which plans are found."""
    return replace(window, size=size, groups=groups)
