"""Comparisons of tensors: isclose for each element, allclose and equal for whole tensors; type tests; as_tensor."""

from __future__ import annotations

from typing import Annotated, Any

from minigrad.core.conditions import expect_same
from minigrad.core.device import as_device
from minigrad.core.dtype import as_dtype, int64
from minigrad.core.roles import Flag, Number
from minigrad.declare.decorators import composed, public, reduction
from minigrad.declare.rules import logical
from minigrad.kernels.scalar import formula
from minigrad.ops.casting import to
from minigrad.ops.creation import from_numpy, tensor
from minigrad.ops.pointwise.arithmetic import maximum, minimum
from minigrad.ops.reduction.sums import all, both
from minigrad.runtime.data import host_element
from minigrad.runtime.tensor import PLAIN, Tensor, expect_tensors

Tolerance = Annotated[float, Number(0)]


@composed(out=False)
def isclose(
    input: Tensor, other: Tensor, rtol: Tolerance = 1e-05, atol: Tolerance = 1e-08, equal_nan: Flag = False
) -> Tensor:
    """Return whether input == other or |input - other| <= atol + rtol*|other|, for each element.

    An infinite difference is never close.  nan is close to nan only with equal_nan=True.
    Raises DTypeError for different dtypes, ArgumentError for a negative tolerance.
    """
    expect_same("dtype", "isclose", input=input, other=other)
    a, b = input.detach(), other.detach()
    alike = a == b
    if equal_nan and a.dtype.is_inexact:
        alike = alike | ((a != a) & (b != b))
    if not (rtol or atol):
        return alike
    if a.dtype.is_inexact:
        gap = (a - b).abs()
        return alike | (gap.isfinite() & (gap <= b.abs() * rtol + atol))
    a, b = to(a, int64), to(b, int64)
    gap = maximum(a, b) - minimum(a, b)  # negative if it is too large for int64
    return alike | ((gap >= 0) & (gap <= b.abs() * rtol + atol))


@public(method=True)
def allclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """Return whether `isclose` holds for all elements."""
    return bool(all(isclose(input, other, rtol, atol, equal_nan)).item())


@public(method=True)
def equal(input: Tensor, other: Tensor) -> bool:
    """Return whether two tensors have the same shape and equal elements; nan is not equal to nan."""
    if input.__class__ not in PLAIN or other.__class__ not in PLAIN:
        expect_tensors("equal", input, other)
    if input.layout.shape != other.layout.shape:
        return False
    result = all_equal(input, other) if input.dtype is other.dtype else all(input.detach() == other.detach())
    return bool(host_element(result) if result.__class__ in PLAIN else result.item())


ALIKE = formula("alike(a, b)", "a == b")


@reduction(
    dtype=logical, identity="one", combine=both, map=ALIKE, namespace=(), label="equal"
)  # fmt: skip
def all_equal(acc, x):
    """Return whether the elements of two tensors of one dtype are equal."""
    return acc if x != 0 else 0


@public()
def is_tensor(obj: Any) -> bool:
    """Return whether an object is a tensor."""
    return isinstance(obj, Tensor)


@public()
def is_floating_point(input: Tensor) -> bool:
    """Return whether the dtype is a float."""
    expect_tensors("is_floating_point", input)
    return input.dtype.is_float


@public()
def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """Return data as a tensor, without a copy if possible.

    A tensor is returned itself, unless its dtype or device changes; it stays connected to its graph.  The memory of an
    array on the CPU is shared if its layout and dtype allow it.  Otherwise the data is copied, as by `tensor`.
    """
    if isinstance(data, Tensor):
        wanted = data.device if device is None else as_device(device)
        return to(data, dtype=data.dtype if dtype is None else as_dtype(dtype), device=wanted)
    if hasattr(data, "__array_interface__") and hasattr(data, "flags"):
        fits = data.flags.writeable and data.flags.aligned and data.dtype.isnative
        kind = as_dtype(data.dtype) if dtype is None else as_dtype(dtype)
        if fits and kind.numpy == data.dtype and (device is None or as_device(device).kind == "cpu"):
            return from_numpy(data)
    return tensor(data, dtype, device)
