"""Functions of the array API standard that `mg` does not have in the same form; `mg.array_api` contains them.

The standard differs from `mg` in six points.  A tensor without dims has full weight in the promotion of dtypes.  Sums
of unsigned integers are unsigned.  `axis` may be left out only for a tensor of one dim.  A caller can require or forbid
a copy.  A cast does not discard imaginary parts.  `floor_divide` of infinities rounds the true quotient.
"""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from minigrad.core import dtype as engine
from minigrad.core.device import default_device
from minigrad.core.dtype import DType
from minigrad.declare.names import MG, namespaces
from minigrad.errors import ArgumentError, DTypeError, ShapeError
from minigrad.ops import casting, creation
from minigrad.runtime.tensor import Tensor, describe, expect_tensors

OURS = namespaces[MG]
# The dtypes of the standard; float16 and bfloat16 are not among them.
DTYPES = [dtype for dtype in engine.ALL if dtype.itemsize > 2 or not dtype.is_float]
KINDS = {
    "bool": ("bool",), "signed integer": ("int",), "unsigned integer": ("uint",), "integral": ("int", "uint"),
    "real floating": ("float",), "complex floating": ("complex",), "numeric": ("int", "uint", "float", "complex"),
}  # fmt: skip


def joined(*operands: Any) -> tuple[Any, ...]:
    """Convert the tensors to their common dtype if one has no dims and the dtypes differ; return all operands.

    In the standard, a tensor without dims has full weight in the promotion of dtypes.
    """
    tensors = [x for x in operands if isinstance(x, Tensor)]
    if len({x.dtype for x in tensors}) < 2 or all(x.ndim for x in tensors):
        return operands
    dtype = result_type(*tensors)
    return tuple(x.to(dtype) if isinstance(x, Tensor) else x for x in operands)


def same_ndim(*tensors: Tensor) -> tuple[Tensor, ...]:
    """Return the tensors with the same number of dims, by adding leading dims of length 1."""
    n = max(x.ndim for x in tensors)
    return tuple(x.reshape((1,) * (n - x.ndim) + tuple(x.shape)) for x in tensors)


def system(x1: Tensor, x2: Tensor) -> tuple[Tensor, ...]:
    """Return the operands of `solve` in their common dtype; an x2 with two or more dims always consists of matrices."""
    dtype = result_type(x1, x2)
    a, b = x1.to(dtype), x2.to(dtype)
    return (a, b) if b.ndim < 2 else same_ndim(a, b)


def paired(name: str, x1: Tensor, x2: Tensor, axes: Any) -> tuple[Any, ...]:
    """Return the operands of a product over axes.

    Raises ShapeError if their lengths differ along these axes, where `mg` would broadcast a length of 1.
    """
    left, right = (range(-axes, 0), range(axes)) if isinstance(axes, int) else axes
    for i, j in zip(left, right, strict=False):
        there = -x1.ndim <= i < x1.ndim and -x2.ndim <= j < x2.ndim
        if there and x1.shape[i] != x2.shape[j]:
            raise ShapeError(
                f"{name}: the lengths along axis {i} of x1 and axis {j} of x2 must be equal, got {describe(x1)} and "
                f"{describe(x2)}; transpose or reshape one of them"
            )
    return joined(x1, x2)


def wide(x: Tensor, dtype: Any) -> Any:
    """Return the dtype of a sum or product: `dtype`, or by default uint64 for unsigned integers, otherwise None."""
    return engine.uint64 if dtype is None and x.dtype.kind == "uint" else dtype


def floored(x1: Any, x2: Any) -> Tensor:
    """Return floor(x1/x2), also for infinities, where `mg.floor_divide` follows Python."""
    quotient: Tensor = OURS["floor_divide"](x1, x2)
    if not quotient.dtype.is_float:
        return quotient
    infinite = (abs(x1) == math.inf) | (abs(x2) == math.inf)
    return OURS["where"](infinite, OURS["div"](x1, x2, rounding_mode="trunc"), quotient)


def total(x: Tensor, dtype: Any) -> Tensor:
    """Return the sums along the last dim, in the dtype of `wide`."""
    return x.sum(-1, dtype=wide(x, dtype))


def axes(x: Tensor, axis: Any) -> Any:
    """Return the axes as a sequence, from one axis, several axes, or None for all axes of x."""
    return range(x.ndim) if axis is None else axis if isinstance(axis, (tuple, list)) else (axis,)


def only_axis(name: str, x: Tensor, axis: int | None) -> int:
    """Return the axis, or 0 for None.  Raises ArgumentError for None if x has more than one dim."""
    if axis is None and x.ndim > 1:
        raise ArgumentError(
            f"{name}: axis is required for a tensor with more than one dim, got {describe(x)}; pass axis=0, for example"
        )
    return 0 if axis is None else axis


def only_ones(x: Tensor, axis: Any) -> tuple[int, ...]:
    """Return the axes as a tuple.  Raises ShapeError, a ValueError, unless each has length 1."""
    results = tuple(axes(x, axis))
    if any(-x.ndim <= d < x.ndim and x.shape[d] != 1 for d in results):
        raise ShapeError(
            f"squeeze: the length along axis {axis} must be 1, got {describe(x)}; pass an axis of length 1"
        )
    return results


def scan(first: int, x: Tensor, axis: int | None, dtype: Any, initial: Any) -> Tensor:
    """Return a cumulative sum for first=0, or a cumulative product for first=1.

    If `initial` is true, the result begins with the additional element `first`.
    """
    function = OURS["cumprod" if first else "cumsum"]
    axis = only_axis(function.__name__, x, axis)
    y: Tensor = function(x, axis, dtype=wide(x, dtype))
    if not initial:
        return y
    front = creation.full((*y.shape[:axis], 1, *y.shape[axis:][1:]), first, dtype=y.dtype, device=y.device)
    return OURS["cat"]([front, y], axis)


def grouped(x: Tensor, fields: str) -> Any:
    """Return the distinct elements as a named tuple with the given fields.

    The field `indices` has the position of the first occurrence of each distinct element.
    """
    kind = RESULTS[fields]
    values, inverse, counts = OURS["unique"](x, return_inverse=True, return_counts=True)
    results = {"values": values, "inverse_indices": inverse, "counts": counts}
    if "indices" in kind._fields:
        order = OURS["argsort"](inverse.reshape(-1), stable=True)
        results["indices"] = order[counts.cumsum(0) - counts]
    return kind(**{name: results[name] for name in kind._fields})


RESULTS: dict[str, Any] = {
    fields: NamedTuple("unique", [(field, Tensor) for field in fields.split()])
    for fields in ("values indices inverse_indices counts", "values counts", "values inverse_indices")
}


def made(dtype: Any, device: Any) -> dict[str, Any]:
    """Return the keyword arguments of a function that makes a tensor."""
    return {"dtype": dtype, "device": device}


def diagonal_ones(rows: int, columns: int | None, k: int, dtype: Any, device: Any) -> Tensor:
    """Return a matrix with ones on the k-th diagonal and zeros elsewhere."""
    values = np.eye(rows, columns, k)
    return creation.tensor(values, dtype or engine.default_float(), device)


def row(start: complex, stop: complex, num: int, endpoint: Any, dtype: Any, device: Any) -> Tensor:
    """Return `num` evenly spaced values from start to stop; stop is included only with `endpoint`."""
    values = np.linspace(start, stop, num, endpoint=bool(endpoint))
    default = engine.default_complex() if values.dtype.kind == "c" else engine.default_float()
    return creation.tensor(values, dtype or default, device)


# ---- arrays and dtypes ----------------------------------------------------------------------------------------------


def asarray(obj: Any, /, *, dtype: Any = None, device: Any = None, copy: Any = None) -> Tensor:
    """Convert numbers, nested lists, an array or a tensor to a tensor.

    obj: Numbers, nested lists of numbers, an array or a tensor.
    device: Device of the result.
    copy: True always copies, False raises if a copy is necessary, and None (the default) copies only if necessary.

    Returns: A tensor that shares the memory of `obj` if this is possible and `copy` is not True.

    Raises ArgumentError if `copy` is False and only a copy is possible.
    """
    if copy:
        return creation.tensor(obj, dtype, device) if not isinstance(obj, Tensor) else obj.to(
            dtype or obj.dtype, obj.device if device is None else device, copy=True)  # fmt: skip
    if isinstance(obj, Tensor):
        result: Tensor = obj.to(dtype or obj.dtype, obj.device if device is None else device)
    else:
        result = OURS["as_tensor"](obj, dtype=dtype, device=device or default_device())
    same = result is obj or (isinstance(obj, np.ndarray) and result.data_ptr() == obj.ctypes.data)
    if copy is False and not same:
        raise ArgumentError(
            f"asarray: copy=False forbids a copy, but {describe(obj)} must be copied here; pass copy=None"
        )
    return result


def astype(x: Tensor, dtype: Any, /, *, copy: Any = True, device: Any = None) -> Tensor:
    """Return x in another dtype.

    x: The tensor.
    copy: Whether the result is a copy even if the dtype and the device do not change.
    device: Device of the result; by default that of `x`.

    Returns: New tensor, or `x` itself if nothing changes and `copy` is False.

    Raises DTypeError if `x` is complex and `dtype` is a dtype of real numbers.
    """
    expect_tensors("astype", x)
    if x.dtype.is_complex and not (engine.as_dtype(dtype).is_complex or engine.as_dtype(dtype) is engine.bool_):
        raise DTypeError(
            f"astype: a complex tensor cannot be cast to {dtype}, got {describe(x)}; pass xp.real(x) or xp.imag(x)"
        )
    return casting.to(x, dtype, x.device if device is None else device, copy=bool(copy))


def nonzero(x: Tensor, /) -> Any:
    """Return the positions of the nonzero elements.

    x: Tensor with at least one dim.

    Returns (tuple of Tensor): One int64 tensor per dim.

    Raises ShapeError if `x` has no dims.
    """
    if not x.ndim:
        raise ShapeError(f"nonzero: expected an array with at least 1 dim, got {describe(x)}; use x.reshape(1)")
    return OURS["nonzero"](x, as_tuple=True)


def result_type(*arrays_and_dtypes: Any) -> DType:
    """Return the promoted dtype of tensors, dtypes and Python numbers.

    arrays_and_dtypes (Tensor, DType or number): At least one tensor or dtype. A tensor without dims counts as any
    other.

    Raises ArgumentError if there is neither a tensor nor a dtype.
    """
    dtypes = [x if isinstance(x, DType) else x.dtype for x in arrays_and_dtypes if isinstance(x, (Tensor, DType))]
    if not dtypes:
        shown = ", ".join(map(repr, arrays_and_dtypes)) or "no arguments"
        raise ArgumentError(
            f"result_type: expected at least one tensor or dtype, got {shown}; pass mg.tensor(1.0), for example"
        )
    result = dtypes[0]
    for dtype in dtypes[1:]:
        result = engine.promote(result, dtype)
    for number in arrays_and_dtypes:
        if not isinstance(number, (Tensor, DType)):
            result = engine.promote_number(result, number)
    return result


def can_cast(from_: Any, to: DType, /) -> bool:
    """Return whether the promotion of a dtype with another dtype of the same kind is the other dtype.

    A float dtype can also be cast to a complex dtype.

    from_ (DType or Tensor): The dtype to cast, or a tensor of this dtype.

    Returns: True if the cast keeps every value; False also for other dtypes of different kinds.
    """
    dtype: DType = getattr(from_, "dtype", from_)
    try:
        kinds = engine.category(dtype) == engine.category(to) or (dtype.is_float and to.is_complex)
        return dtype is to or (kinds and engine.promote(dtype, to) is to)
    except DTypeError:
        return False


def isdtype(dtype: DType, kind: Any) -> bool:
    """Return whether a dtype equals another dtype or belongs to a kind, such as "integral".

    dtype: The dtype.
    kind (DType, str or tuple): Another dtype, the name of a kind such as "real floating", or a tuple of these.

    Returns: True if `dtype` is the other dtype, or belongs to the kind.  For a tuple, True if at least one element
    matches.

    Raises ArgumentError if `kind` is a string that is not the name of a kind.
    """
    if isinstance(kind, tuple):
        return any(isdtype(dtype, each) for each in kind)
    if isinstance(kind, str) and kind not in KINDS:
        raise ArgumentError(
            f"isdtype: kind must be a dtype or one of {', '.join(KINDS)}, got {kind!r}; pass 'real floating', for "
            "example"
        )
    return dtype.kind in KINDS[kind] if isinstance(kind, str) else dtype is kind


def namespace_info() -> SimpleNamespace:
    """Return the object that the standard defines for properties of a library: capabilities, devices and dtypes."""

    def dtypes(*, device: Any = None, kind: Any = None) -> dict[str, DType]:
        return {each.name: each for each in DTYPES if kind is None or isdtype(each, kind)}

    def default_dtypes(*, device: Any = None) -> dict[str, DType]:
        return {
            "real floating": engine.default_float(), "complex floating": engine.default_complex(),
            "integral": engine.int64, "indexing": engine.int64,
        }  # fmt: skip

    return SimpleNamespace(
        capabilities=lambda: {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64},
        default_device=default_device, default_dtypes=default_dtypes, devices=lambda: [default_device()], dtypes=dtypes,
    )  # fmt: skip


FUNCTIONS = (asarray, astype, nonzero, result_type, can_cast, isdtype)
