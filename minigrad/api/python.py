"""Python's protocols for tensors: conversion to a number, a boolean and a string, iteration, `len`, `in`, `==`.

A conversion to a single number accepts a tensor with one element, of any shape, and raises an error for more elements.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from minigrad.errors import ArgumentTypeError, DTypeError, ShapeError
from minigrad.ops.pointwise import compare
from minigrad.ops.reduction import sums as reduce
from minigrad.ops.shape import views
from minigrad.runtime.data import host_array, host_element
from minigrad.runtime.journal import note_left
from minigrad.runtime.operands import WeakNumber
from minigrad.runtime.tensor import PLAIN, Tensor, describe
from minigrad.runtime.tracers import with_elements


def only(x: Tensor, name: str) -> Any:
    """Return the only element as a Python number.

    name: the calling function, for messages.  Raises ShapeError unless x has exactly one element; for an index, it is a
    TypeError, as Python's protocol demands.
    """
    if x.layout.numel != 1:
        raise (ArgumentTypeError if name == "index" else ShapeError)(
            f"{name}: expected a tensor of one element, got {describe(x)} of {x.numel()} elements; use tolist()"
            f"{', or x.cos() instead of math.cos(x)' if name == 'float' else ''}"
        )
    value = host_element(x if x.__class__ in PLAIN else handed_out(x, name))
    return float(value) if x.dtype.is_float else value


def item(x: Tensor) -> Any:
    """Return the only element as a Python number.  Raises ShapeError for another number of elements."""
    return only(x, "item")


def tolist(x: Tensor) -> Any:
    """Return the elements as nested Python lists; for shape () the result is a number."""
    if x.__class__ in PLAIN and x.layout.is_contiguous:
        buffer, layout, dtype = x.storage.buffer, x.layout, x.dtype
        if buffer.__class__ is np.ndarray and dtype.storage is dtype.numpy:  # as in `host_element`
            flat = buffer[layout.offset : layout.offset + layout.numel]
            return flat.tolist() if layout.ndim == 1 else flat.reshape(layout.shape).tolist()
    array = host_array(x if x.__class__ in PLAIN else handed_out(x, "tolist"))
    return array.astype(np.float64).tolist() if x.dtype.is_float else array.tolist()


def handed_out(x: Tensor, name: str) -> Tensor:
    """Return a tensor whose elements Python may read, also if x is inside a transform.

    Under `mg.debug()`, the journal records that the elements leave the graph.
    """
    note_left(x, name)
    return with_elements(x)


def as_float(x: Tensor) -> float:
    """Return float(x) of a tensor with one element."""
    return float(only(x, "float"))


def as_complex(x: Tensor) -> complex:
    """Return complex(x) of a tensor with one element."""
    return complex(only(x, "complex"))


def as_int(x: Tensor) -> int:
    """Return int(x) of a tensor with one element, rounded towards zero."""
    return int(only(x, "int"))


def as_index(x: Tensor) -> int:
    """Return the element of an integer tensor with one element as an index, as in range(x)."""
    if not x.dtype.is_int:
        raise DTypeError(f"index: expected an integer dtype, got {describe(x)}; convert it with .long()")
    return int(only(x, "index"))


def rounded(x: Tensor, ndigits: int | None = None) -> Any:
    """Return round(x) or round(x, ndigits) of a tensor with one element, as a Python number.

    `x.round()` rounds all elements of a tensor.
    """
    return round(only(x, "round"), ndigits)


def truth(x: Tensor) -> bool:
    """Return bool(x) of a tensor with one element.

    Raises ShapeError for another number of elements, for which the meaning is ambiguous.
    """
    if x.layout.numel != 1:
        raise ShapeError(
            f"bool: expected a tensor of one element, got {describe(x)}, whose truth is ambiguous; use .any() or .all()"
        )
    return bool(only(x, "bool"))


def length(x: Tensor) -> int:
    """Return the length of the first dim.  Raises TypeError for a scalar, as Python does for other types."""
    if not x.layout.shape:
        raise TypeError(
            "len(): expected a tensor with at least 1 dim, got a tensor of shape (); read its value with .item()"
        )
    return x.layout.shape[0]


def iterate(x: Tensor) -> Iterator[Tensor]:
    """Iterate over the slices along the first dim.  Raises TypeError for a scalar, as Python requires."""
    if x.ndim == 0:
        raise TypeError(f"iter: expected a tensor with at least 1 dim, got {describe(x)}; read the value with .item()")
    return (views.select(x, dim=0, index=k) for k in range(x.shape[0]))


def backwards(x: Tensor) -> Tensor:
    """Return a tensor with the rows in reverse order, as `reversed(x)`; a scalar is returned as it is."""
    return views.flip(x, (0,)) if x.layout.shape else x


def equal_or_not(x: Tensor, other: Any) -> Any:
    """Return x == other, element by element.

    Other objects than tensors, arrays and numbers are compared by identity, so that `x in list` works.
    """
    return compare.eq(x, other) if is_comparable(other) else NotImplemented


def different_or_not(x: Tensor, other: Any) -> Any:
    """Return x != other, element by element; other objects are compared by identity, as for `==`."""
    return compare.ne(x, other) if is_comparable(other) else NotImplemented


def is_comparable(other: Any) -> bool:
    """Return whether `==` compares a tensor with this object element by element.

    It does so with an array that does not broadcast, which then raises an error, since False would be misleading.
    """
    return isinstance(other, (Tensor, bool, int, float, complex, np.generic, np.ndarray, WeakNumber))


def contains(x: Tensor, element: Any) -> bool:
    """Return whether `element`, broadcast to x, equals some element of x, as in NumPy.

    Raises ArgumentTypeError for an object that cannot be compared with the elements, such as a string.
    """
    if not is_comparable(element):
        raise ArgumentTypeError(
            f"in: expected a number or a tensor, got {describe(element)}; wrap a list in mg.tensor(...)"
        )
    return truth(reduce.any(compare.eq(x, element)))


def formatted(x: Tensor, spec: str) -> str:
    """Return `f"{x:.3f}"` for a tensor with one element, formatted as a Python number.

    Without a format specification, the result is str(x), for any number of elements.
    """
    if not spec:
        return str(x)
    if x.layout.numel != 1:
        raise TypeError(
            f"format: the format {spec!r} requires a tensor of one element, got {describe(x)} of {x.numel()} elements; "
            "format the items of tolist(), or print under mg.printoptions(precision=...)"
        )
    return format(only(x, "format"), spec)


def floor_and_rest(x: Tensor, other: Any) -> tuple[Tensor, Tensor]:
    """Return the pair (x // other, x % other)."""
    return x // other, x % other


POSITIONS = {
    "__float__": as_float, "__complex__": as_complex, "__int__": as_int, "__trunc__": as_int,
    "__index__": as_index, "__round__": rounded, "__divmod__": floor_and_rest,
    "__bool__": truth, "__len__": length, "__iter__": iterate, "__contains__": contains, "__format__": formatted,
    "__reversed__": backwards,
    "__eq__": equal_or_not, "__ne__": different_or_not,
}  # fmt: skip
