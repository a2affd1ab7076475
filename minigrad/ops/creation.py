"""Tensors from nothing: filled, counted, from Python and NumPy data.

Arguments are PyTorch's: shapes as ints or one tuple, then dtype, device, requires_grad by keyword.  None of these is
an op of the graph; with requires_grad=True each gives a Var.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from minigrad.backends.registry import backend_of
from minigrad.core.device import as_device, default_device
from minigrad.core.dtype import DType, as_dtype, default_float, fit_number, float64, int64
from minigrad.core.formats import expect_format
from minigrad.core.layout import Layout
from minigrad.core.requests import Arange, Fill
from minigrad.core.roles import Shape, Size
from minigrad.core.shape import as_shape
from minigrad.core.storage import Storage
from minigrad.core.strides import extent
from minigrad.declare.decorators import kernel, public
from minigrad.declare.record import schema
from minigrad.errors import ArgumentError, DTypeError, ShapeError
from minigrad.ops.casting import same_dtype
from minigrad.runtime.data import host_numbers, nested_shape, refuse_masked, store
from minigrad.runtime.dispatch import SCALAR, number, run_one
from minigrad.runtime.tensor import PLAIN, Tensor, describe, expect_tensors
from minigrad.runtime.var import Var


@public()
def tensor(data: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Return a new tensor with the elements of a number, nested lists, an array or a tensor.

    DTypes: Python floats become the default float, ints int64, bools bool; arrays keep theirs.
    Raises ShapeError for ragged lists, DTypeError for an element that is not a number, or for requires_grad with
    integers.
    """
    if not requires_grad:
        return Tensor(*store(data, dtype, device))
    if dtype is None and not isinstance(data, (Tensor, np.ndarray, np.generic)):
        dtype = host_numbers(data, nested_shape(data))[1]
    return Var(data, dtype, device)


@public()
def from_numpy(ndarray: np.ndarray[Any, Any]) -> Tensor:
    """Return a CPU tensor that shares the array's memory: a write to either is visible in both.

    Raises DTypeError for dtypes that minigrad lacks, ShapeError where the memory cannot be shared (read-only,
    unaligned, strides that are not a multiple of the element): `mg.tensor(array)` copies those.
    """
    array = ndarray
    if not isinstance(array, np.ndarray):
        raise DTypeError(f"from_numpy: expected a numpy array, got {type(array).__name__}; mg.tensor takes lists")
    refuse_masked("from_numpy", array)
    dtype = as_dtype(array.dtype)
    size = array.itemsize
    if not array.dtype.isnative or not array.flags.writeable or not array.flags.aligned:
        raise ShapeError("from_numpy: a read-only, byte-swapped or unaligned array cannot be shared; use mg.tensor")
    if any(s % size for s in array.strides):
        raise ShapeError(f"from_numpy: byte strides {array.strides} are not multiples of {size}; use mg.tensor")
    strides = tuple(s // size for s in array.strides)
    low, end = extent(array.shape, strides, 0)
    # The copy begins at the lowest address.
    forwards = array[tuple(slice(None, None, -1 if s < 0 else 1) for s in strides)]
    first = forwards[(slice(0, 1),) * array.ndim] if array.ndim else array.reshape(1)
    base = np.lib.stride_tricks.as_strided(first.view(dtype.storage), (end - low,), (size,), writeable=True)
    return Tensor(Storage(base, dtype, as_device("cpu")), Layout.make(tuple(array.shape), strides, -low))


# ---- filled ---------------------------------------------------------------------------------------------------------


@public(out=True)
def full(
    size: int | Sequence[int], fill_value: float, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """Return a tensor filled with one value; by default the dtype is that of the value."""
    expect_numbers("full", fill_value=fill_value)
    kind = as_dtype(dtype if dtype is not None else type(fill_value))
    return filled("full", (size,), fill_value, kind, device, requires_grad)


def filled(name: str, size: Sequence[Any], value: float, dtype: DType, device: Any, requires_grad: bool) -> Tensor:
    """Return a tensor filled with a number.  size: a shape in any form.  name: of the function, for errors."""
    expect_float(dtype, requires_grad)
    shape, where = as_shape(size, name), default_device() if device is None else as_device(device)
    try:
        element = number(value, dtype, where)
    except DTypeError as error:
        raise DTypeError(f"{name}: {error}", op=name) from None
    op = schema["fill"]
    plan = op.plans.get((SCALAR, dtype, where, shape)) if element.__class__ in PLAIN else None
    x = fill(element, shape=shape) if plan is None else run_one(op, plan, element)  # which takes half as long
    return leaf(x, requires_grad)


@public()
def scalar_tensor(s: float, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Return a tensor of shape () with one number, of the default float unless a dtype is given."""
    kind = default_float() if dtype is None else dtype
    return full((), s, dtype=kind, device=device, requires_grad=requires_grad)


def leaf(x: Tensor, requires_grad: bool) -> Tensor:
    """x, as a Var on the same storage where it is to have a gradient."""
    return Var.of(x) if requires_grad else x


def expect_float(dtype: DType, requires_grad: bool) -> None:
    """Raise DTypeError if a gradient is required and the dtype is not floating."""
    if requires_grad:
        Var.check_dtype(dtype)


@kernel(
    dtype=same_dtype,
    shape=lambda op, value, *, shape: shape,
    vjp=(lambda g: g.sum(),),
    linear=True,
    namespace=(),
    batch=lambda value, *, shape, batch: value.reshape(batch, *(1,) * len(shape)).expand(batch, *shape),
)
def fill(backend, out, value, *, shape: Shape):
    """Return a tensor of one value, which is a scalar.  Gradient: the sum of g."""
    return backend.prepare(Fill(), out, value)


def expect_numbers(name: str, **values: Any) -> None:
    """Raise DTypeError unless every argument is a Python or NumPy number."""
    for argument, value in values.items():
        if not isinstance(value, (bool, int, float, np.generic)):
            raise DTypeError(f"{name}: {argument} must be a number, got {describe(value)}", op=name)


def as_numbers(*values: Any) -> list[Any]:
    """Numbers, which may be given as tensors without dims."""
    return [x.item() if isinstance(x, Tensor) and not x.ndim else x for x in values]


def expect_fit(name: str, value: float, dtype: DType) -> None:
    """Raise DTypeError unless `dtype` holds the number."""
    try:
        fit_number(value, dtype)
    except DTypeError as error:
        raise DTypeError(f"{name}: {error}", op=name) from None


@public(out=True)
def empty(
    *size: int | Sequence[int],
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """Return uninitialised memory; read it only after writing it."""
    expect_format("empty", memory_format)
    kind = default_float() if dtype is None else as_dtype(dtype)
    where = default_device() if device is None else as_device(device)
    layout = Layout.contiguous(as_shape(size, "empty"))
    expect_float(kind, requires_grad)
    return leaf(Tensor(backend_of(where).allocate(layout.numel, kind, where), layout), requires_grad)


@public(out=True)
def zeros(*size: int | Sequence[int], dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Return zeros, of the default float unless a dtype is given."""
    kind = default_float() if dtype is None else as_dtype(dtype)
    return filled("zeros", size, 0.0, kind, device, requires_grad)


@public(out=True)
def ones(*size: int | Sequence[int], dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Return ones, of the default float unless a dtype is given."""
    kind = default_float() if dtype is None else as_dtype(dtype)
    return filled("ones", size, 1.0, kind, device, requires_grad)


@public()
def empty_like(
    input: Tensor, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, memory_format: Any = None
) -> Tensor:
    """Return `empty` with the shape, dtype and device of x."""
    expect_format("empty_like", memory_format)
    expect_tensors("empty_like", input)
    return empty(input.shape, dtype=dtype or input.dtype, device=device or input.device, requires_grad=requires_grad)


@public()
def zeros_like(
    input: Tensor, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, memory_format: Any = None
) -> Tensor:
    """Return zeros with the shape, dtype and device of x."""
    expect_format("zeros_like", memory_format)
    return full_like(input, 0.0, dtype=dtype, device=device, requires_grad=requires_grad)


@public()
def ones_like(
    input: Tensor, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, memory_format: Any = None
) -> Tensor:
    """Return ones with the shape, dtype and device of x."""
    expect_format("ones_like", memory_format)
    return full_like(input, 1.0, dtype=dtype, device=device, requires_grad=requires_grad)


@public()
def full_like(
    input: Tensor,
    fill_value: float,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """Return a tensor filled with one value, with the shape, dtype and device of x."""
    expect_format("full_like", memory_format)
    expect_tensors("full_like", input)
    kind, where = dtype or input.dtype, device or input.device
    return full(input.shape, fill_value, dtype=kind, device=where, requires_grad=requires_grad)


# ---- counted --------------------------------------------------------------------------------------------------------


@public(out=True)
def arange(
    start: float, end: float | None = None, step: float = 1, *, dtype: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Return start, start+step, ... below end (above it for a negative step); arange(n) starts at 0.

    DTypes: int64 if all arguments are ints, otherwise the default float.
    Raises ArgumentError for a step of zero, DTypeError for ints that the dtype does not hold.
    """
    if end is None:
        start, end = 0, start
    expect_numbers("arange", start=start, end=end, step=step)
    # NumPy's small integers would wrap in the arithmetic below.
    start, end, step = (v.item() if isinstance(v, np.generic) else v for v in (start, end, step))
    length = (end - start) / step if step else math.nan
    if not math.isfinite(length):
        raise ArgumentError(
            f"arange: start, end and step must be finite and the step cannot be zero, got {start}, {end} and {step}",
            op="arange",
        )
    whole = all(isinstance(v, int) for v in (start, end, step))
    dtype = as_dtype(dtype) if dtype is not None else int64 if whole else default_float()
    count = max(0, math.ceil(length))
    if whole and count:
        expect_fit("arange", start, dtype)
        expect_fit("arange", start + (count - 1) * step, dtype)
    where = default_device() if device is None else as_device(device)
    expect_float(dtype, requires_grad)
    wide = float64 if dtype.is_float else int64
    # Counting in int64 wraps like uint64, so values of uint64 are passed as int64 with the same bits.
    first, by = (number(v if dtype.is_float else (int(v) + 2**63) % 2**64 - 2**63, wide, where) for v in (start, step))
    return leaf(count_up(first, by, count=count, dtype=dtype), requires_grad)


@kernel(
    dtype=lambda op, specs, *, count, dtype: dtype,
    shape=lambda op, start, step, *, count, dtype: (count,),
    namespace=(),
)
def count_up(backend, out, start, step, *, count: Size, dtype):
    """Return start + i * step for i = 0 .. count - 1: what `arange` calls."""
    return backend.prepare(Arange(), out, start, step)


@public(out=True)
def linspace(
    start: float, end: float, steps: int, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """Return `steps` values from start to end, both included.  Ends may be 0-d tensors; they get no gradient."""
    start, end = as_numbers(start, end)
    expect_numbers("linspace", start=start, end=end)
    (count,) = as_shape(steps, "linspace")
    values = np.linspace(start, end, count)
    return tensor(values, dtype or default_float(), device, requires_grad)


@public(out=True)
def logspace(
    start: float, end: float, steps: int, base: float = 10.0, *, dtype: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Return `steps` powers of base with evenly spaced exponents, both ends included; see `linspace`."""
    start, end = as_numbers(start, end)
    expect_numbers("logspace", start=start, end=end, base=base)
    kind = default_float() if dtype is None else as_dtype(dtype)
    expect_float(kind, requires_grad)
    exponents = linspace(start, end, steps, dtype=float64, device=device)
    powers: Tensor = base**exponents
    return leaf(powers.to(kind), requires_grad)


@public(out=True)
def eye(n: int, m: int | None = None, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Return ones on the diagonal of an n x m matrix (m = n when omitted)."""
    rows, columns = as_shape((n, n if m is None else m), "eye")
    return tensor(np.eye(rows, columns), dtype or default_float(), device, requires_grad)
