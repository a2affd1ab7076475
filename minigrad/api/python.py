"""A tensor where Python wants a number, a sequence, a truth or a text.

Where one element is meant, a tensor of one element will do, of whatever shape; more of them raise.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from minigrad.errors import DTypeError, ShapeError
from minigrad.ops.pointwise import compare
from minigrad.ops.reduction import sums as reduce
from minigrad.ops.shape import views
from minigrad.runtime.data import host_array
from minigrad.runtime.journal import note_left
from minigrad.runtime.tensor import PLAIN, Tensor, describe
from minigrad.runtime.tracers import with_elements


def only(x: Tensor, name: str) -> Any:
    """The only element as a Python number; `name` is what asked for it."""
    if x.numel() != 1:
        raise ShapeError(f"{name}: expected one element, got {describe(x)} of {x.numel()}; use tolist()", op=name)
    value = host_array(x if x.__class__ in PLAIN else handed_out(x, name)).reshape(()).item()
    return float(value) if x.dtype.is_float else value


def item(x: Tensor) -> Any:
    """The only element as a Python number.  Raises ShapeError for more or fewer."""
    return only(x, "item")


def tolist(x: Tensor) -> Any:
    """The elements as nested Python lists; a number for shape ()."""
    array = host_array(x if x.__class__ in PLAIN else handed_out(x, "tolist"))
    return array.astype(np.float64).tolist() if x.dtype.is_float else array.tolist()


def handed_out(x: Tensor, name: str) -> Tensor:
    """A tensor with the elements of x, inside of a transform; under debug it is written down that they leave."""
    note_left(x, name)
    return with_elements(x)


def as_float(x: Tensor) -> float:
    """float(x) for one element."""
    return float(only(x, "float"))


def as_complex(x: Tensor) -> complex:
    """complex(x) for one element."""
    return complex(only(x, "complex"))


def as_int(x: Tensor) -> int:
    """int(x) for one element, towards zero."""
    return int(only(x, "int"))


def as_index(x: Tensor) -> int:
    """A one-element integer tensor where Python wants an index, as in range(x)."""
    if not x.dtype.is_int:
        raise DTypeError(f"index: expected an integer dtype, got {describe(x)}", op="index")
    return int(only(x, "index"))


def rounded(x: Tensor, ndigits: int | None = None) -> Any:
    """round(x) and round(x, digits) for one element: a Python number.  `x.round()` rounds all elements."""
    return round(only(x, "round"), ndigits)


def truth(x: Tensor) -> bool:
    """bool(x) for one element.  Raises ShapeError for more, where it is unclear which is meant."""
    if x.numel() != 1:
        raise ShapeError(f"bool: the truth of {describe(x)} is ambiguous; use .any() or .all()", op="bool")
    return bool(only(x, "bool"))


def length(x: Tensor) -> int:
    """The length of the first dim.  Raises TypeError for a scalar, as Python does for what has none."""
    if not x.layout.shape:
        raise TypeError("len(): a tensor of shape () has no length")
    return x.layout.shape[0]


def iterate(x: Tensor) -> Iterator[Tensor]:
    """The slices along the first dim.  Raises TypeError for a scalar: whoever asks whether it has any expects that."""
    if x.ndim == 0:
        raise TypeError(f"iter: {describe(x)} has no dim to walk over; use item()")
    return (views.select(x, dim=0, index=k) for k in range(x.shape[0]))


def equal_or_not(x: Tensor, other: Any) -> Any:
    """x == other.  What is no number falls back to Python's identity, so that `x in list` works."""
    return compare.eq(x, other) if is_comparable(other) else NotImplemented


def different_or_not(x: Tensor, other: Any) -> Any:
    """x != other.  What is no number falls back to Python's identity, as for `==`."""
    return compare.ne(x, other) if is_comparable(other) else NotImplemented


def is_comparable(other: Any) -> bool:
    """Whether `==` compares it element by element; an array may raise there: False would look like an answer."""
    return isinstance(other, (Tensor, bool, int, float, np.generic, np.ndarray))


def contains(x: Tensor, element: Any) -> bool:
    """Whether `element`, which broadcasts, equals some element of x, as in NumPy; False for what is no number."""
    return is_comparable(element) and truth(reduce.any(compare.eq(x, element)))


def formatted(x: Tensor, spec: str) -> str:
    """f"{x:.3f}" for one element, which is written as its number; without a spec it is str(x)."""
    if not spec:
        return str(x)
    if x.numel() != 1:
        raise TypeError(
            f"format: {spec!r} is for one element, got {describe(x)} of {x.numel()}; format those of tolist(), or "
            f"print under mg.printoptions(precision=...)"
        )
    return format(only(x, "format"), spec)


POSITIONS = {
    "__float__": as_float, "__complex__": as_complex, "__int__": as_int, "__trunc__": as_int,
    "__index__": as_index, "__round__": rounded,
    "__bool__": truth, "__len__": length, "__iter__": iterate, "__contains__": contains, "__format__": formatted,
    "__eq__": equal_or_not, "__ne__": different_or_not,
}  # fmt: skip
