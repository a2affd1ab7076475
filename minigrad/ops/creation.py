"""Create tensors: filled with a value, with evenly spaced values, and from Python and NumPy data.

The arguments are those of PyTorch: a shape as ints or as one tuple, then dtype, device and requires_grad by keyword.
The graph does not record these functions.  With requires_grad=True each of them returns a Var.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from minigrad.backends.registry import backend_of
from minigrad.config import settings
from minigrad.core.device import CPU, as_device, default_device
from minigrad.core.dtype import BY_NUMPY, DType, as_dtype, bool_, default_float, fit_number, float64, inferred, int64
from minigrad.core.formats import MemoryFormat, format_of, layout_in, preserve_format
from minigrad.core.layout import Layout
from minigrad.core.op import Spec
from minigrad.core.requests import Arange, Copy
from minigrad.core.roles import Number, Shape, Size, read_flag
from minigrad.core.shape import as_shape
from minigrad.core.storage import Storage
from minigrad.core.strides import extent
from minigrad.declare.decorators import kernel, public
from minigrad.declare.factories import FLAG, call_of, later
from minigrad.errors import ArgumentError, DTypeError, ShapeError
from minigrad.ops.casting import clone, same_dtype
from minigrad.runtime.data import refuse_masked, store
from minigrad.runtime.dispatch import number
from minigrad.runtime.operands import NUMBERS
from minigrad.runtime.tensor import PLAIN, Tensor, describe, expect_tensors
from minigrad.runtime.var import Var

SMALL = 4096  # the largest number of computed elements that are stored for later calls, which takes 32 kB


@public()
def tensor(
    data: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False, *, pin_memory: bool | None = False
) -> Tensor:
    """Return a new tensor with the elements of a number, nested lists, an array or a tensor.

    DTypes: Python floats become the default float, ints become int64, and bools become bool. Arrays keep their dtype.
    Raises ShapeError for ragged lists, DTypeError for an element that is not a number, or for requires_grad with
    integers.
    """
    if requires_grad.__class__ is not bool:
        read_flag(requires_grad, "tensor", "requires_grad")
    if pin_memory.__class__ is not bool:
        FLAG.read(pin_memory, "tensor", "pin_memory", ())
    check = partial(expect_float, "tensor", requires_grad=True) if requires_grad else None
    return leaf(Tensor(*store(data, dtype, device, check=check)), requires_grad)


@public()
def from_numpy(ndarray: np.ndarray[Any, Any]) -> Tensor:
    """Return a CPU tensor that shares the array's memory: a write to either is visible in both.

    Raises DTypeError for a dtype that minigrad does not support, ShapeError for memory that cannot be shared, because
    it is read-only, byte-swapped or unaligned, or because a stride is not a multiple of the item size.  `mg.tensor`
    copies such an array.
    """
    array = ndarray
    if array.__class__ is not np.ndarray:
        if not isinstance(array, np.ndarray):
            raise DTypeError(
                f"from_numpy: expected a NumPy array, got {type(array).__name__}; use mg.tensor for a list"
            )
        refuse_masked("from_numpy", array)
    kind, flags = array.dtype, array.flags
    native = BY_NUMPY.get(kind)
    if native is not None and flags.carray:  # row-major, aligned and writable
        flat = array if array.ndim == 1 else array.reshape(-1)
        flat = flat if kind is native.storage else flat.view(native.storage)
        return Tensor(Storage(flat, native, CPU), Layout.contiguous(array.shape))
    dtype, size = as_dtype(kind), array.itemsize
    if not kind.isnative or not flags.writeable or not flags.aligned:
        raise ShapeError(sharing_fault(array))
    if any(s % size for s in array.strides):
        raise ShapeError(
            f"from_numpy: the byte strides must be multiples of the element size {size}, got {array.strides}; copy the "
            "array with mg.tensor(array)"
        )
    strides = tuple(s // size for s in array.strides)
    low, end = extent(array.shape, strides, 0)
    # The storage begins at the lowest address of the array.
    forwards = array[tuple(slice(None, None, -1 if s < 0 else 1) for s in strides)]
    first = forwards[(slice(0, 1),) * array.ndim] if array.ndim else array.reshape(1)
    base = np.lib.stride_tricks.as_strided(first.view(dtype.storage), (end - low,), (size,), writeable=True)
    return Tensor(Storage(base, dtype, CPU), Layout.make(tuple(array.shape), strides, -low))


def sharing_fault(array: np.ndarray[Any, Any]) -> str:
    """Return the message for an array that no tensor can share, which names its fault."""
    if not array.dtype.isnative:
        fault = "byte-swapped"
    elif not array.flags.aligned:
        fault = "not aligned"
    else:
        fault = "read-only, as x.detach().numpy() is if gradients flow through x, because no graph would detect a write"
    return (
        f"from_numpy: expected an array whose memory a tensor can share, got {describe(array)}, which is {fault}; copy "
        "it with mg.tensor(array)"
    )


# ---- filled ---------------------------------------------------------------------------------------------------------


@public(out=True)
def full(
    size: int | Sequence[int], fill_value: float, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """Return a tensor filled with one value; the default dtype is that of a Python number with this value.

    fill_value: a number, or a tensor without dims, which does not receive a gradient.
    """
    if fill_value.__class__ not in NUMBERS:
        (fill_value,) = as_numbers(fill_value)
        expect_numbers("full", fill_value=fill_value)
    kind = inferred(type(fill_value)) if dtype is None else as_dtype(dtype)
    return filled("full", (size,), fill_value, kind, device, requires_grad)


def filled(
    name: str, size: Sequence[Any], value: float, dtype: DType, device: Any, requires_grad: bool,
    memory_format: MemoryFormat | None = None,
) -> Tensor:  # fmt: skip
    """Return the recipe of a tensor filled with a number.

    size: a shape in any form that the public functions accept.  name: the public function, for messages.
    """
    if requires_grad:
        expect_float(name, dtype, True)
    shape, where = as_shape(size, name), default_device() if device is None else as_device(device)
    try:
        element = number(value, dtype, where)
    except DTypeError as error:
        raise DTypeError(f"{name}: {error}") from None
    return call_of(fill, element, shape=shape, memory_format=memory_format)


@public(makes=True)
def scalar_tensor(s: float, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Return a tensor of shape () with one number; the default dtype is the default float."""
    kind = default_float() if dtype is None else as_dtype(dtype)
    if s.__class__ not in NUMBERS:
        expect_numbers("scalar_tensor", s=s)
    return filled("scalar_tensor", (), s, kind, device, requires_grad)


def computed(values: np.ndarray[Any, Any], dtype: Any, device: Any) -> Tensor:
    """Return the tensor of many computed values; of a few values, the recipe that copies them in later calls."""
    x = Tensor(*store(values, dtype, device))
    return x if values.size > SMALL or Tensor not in PLAIN else call_of(clone, x, memory_format=None)


def leaf(x: Tensor, requires_grad: bool) -> Tensor:
    """Return x, or with requires_grad a Var on the same storage."""
    return Var.of(x) if requires_grad else x


def expect_float(name: str, dtype: Any, requires_grad: bool) -> None:
    """Raise DTypeError if a gradient is required and the dtype is not a float; name: the public function."""
    if requires_grad:
        Var.check_dtype(as_dtype(dtype), name)


@kernel(
    dtype=same_dtype, shape=lambda op, value, *, shape, memory_format=None: layout_in("", shape, memory_format),
    vjp=(lambda g: g.sum(),), linear=True, namespace=(), complex=True,
    batch=lambda value, *, batch, shape: value.reshape(batch, *(1,) * len(shape)).expand(batch, *shape),
)  # fmt: skip
def fill(backend, out, value, *, shape: Shape, memory_format=None):
    """Return a tensor in which every element has the value of a scalar.  Gradient: the sum of g."""
    return backend.prepare(Copy(), out, Spec(value.layout.expand(out.shape), value.dtype))


def expect_numbers(name: str, **values: Any) -> None:
    """Raise DTypeError unless every argument is a Python or NumPy number."""
    for argument, value in values.items():
        if not isinstance(value, (bool, int, float, complex, np.generic)):
            raise DTypeError(f"{name}: {argument} must be a number, got {describe(value)}; pass a Python int or float")


def as_numbers(*values: Any) -> list[Any]:
    """Return the values with tensors without dims converted to Python numbers."""
    return [x.item() if isinstance(x, Tensor) and not x.ndim else x for x in values]


def expect_fit(name: str, value: float, dtype: DType) -> None:
    """Raise DTypeError unless `dtype` can represent the number."""
    try:
        fit_number(value, dtype)
    except DTypeError as error:
        raise DTypeError(f"{name}: {error}") from None


@public(out=True)
def empty(
    *size: int | Sequence[int], dtype: Any = None, device: Any = None, requires_grad: bool = False,
    memory_format: Any = None,
) -> Tensor:  # fmt: skip
    """Return a tensor with uninitialized elements, which must be written before they are read."""
    kind = default_float() if dtype is None else as_dtype(dtype)
    return blank("empty", size, kind, device, requires_grad, memory_format)


def blank(name: str, size: Sequence[Any], dtype: DType, device: Any, requires_grad: bool, memory_format: Any) -> Tensor:
    """Return the recipe of a tensor with uninitialized elements; the parameters are those of `filled`."""
    if requires_grad:
        expect_float(name, dtype, True)
    shape, where = as_shape(size, name), default_device() if device is None else as_device(device)
    layout = layout_in(name, shape, memory_format)
    if settings.fill_uninitialized:
        value = number(math.nan if dtype.is_inexact else dtype.highest, dtype, where)
        make: Any = call_of(fill, value, shape=(layout.numel,))
        return later(lambda: Tensor(make().storage, layout))
    allocate = backend_of(where).maker(layout.numel, dtype, where)
    return later(lambda: Tensor(allocate(), layout))


@public(out=True)
def zeros(*size: int | Sequence[int], dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Return a tensor filled with zeros; the default dtype is the default float."""
    kind = default_float() if dtype is None else as_dtype(dtype)
    return filled("zeros", size, 0.0, kind, device, requires_grad)


@public(out=True)
def ones(*size: int | Sequence[int], dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Return a tensor filled with ones; the default dtype is the default float."""
    kind = default_float() if dtype is None else as_dtype(dtype)
    return filled("ones", size, 1.0, kind, device, requires_grad)


@public(like=True)
def empty_like(
    input: Tensor, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, memory_format: Any = None
) -> Tensor:
    """Return an uninitialized tensor with the shape, dtype and device of the input."""
    expect_tensors("empty_like", input)
    kind, where = input.dtype if dtype is None else as_dtype(dtype), input.device if device is None else device
    wanted = format_like("empty_like", input, memory_format)
    return blank("empty_like", (input.shape,), kind, where, requires_grad, wanted)


def format_like(name: str, input: Tensor, memory_format: Any) -> MemoryFormat | None:
    """Return the memory format of a new tensor with the shape of the input: that of the input by default."""
    if memory_format is None or memory_format is preserve_format:
        return format_of(input.layout)
    layout_in(name, input.shape, memory_format)  # raises an error for other values
    return memory_format


@public(like=True)
def zeros_like(
    input: Tensor, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, memory_format: Any = None
) -> Tensor:
    """Return a tensor of zeros with the shape, dtype and device of the input."""
    return filled_like("zeros_like", input, 0.0, dtype, device, requires_grad, memory_format)


@public(like=True)
def ones_like(
    input: Tensor, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, memory_format: Any = None
) -> Tensor:
    """Return a tensor of ones with the shape, dtype and device of the input."""
    return filled_like("ones_like", input, 1.0, dtype, device, requires_grad, memory_format)


@public(like=True)
def full_like(
    input: Tensor, fill_value: float, *, dtype: Any = None, device: Any = None, requires_grad: bool = False,
    memory_format: Any = None,
) -> Tensor:  # fmt: skip
    """Return a tensor filled with one value, with the shape, dtype and device of the input."""
    if fill_value.__class__ not in NUMBERS:
        (fill_value,) = as_numbers(fill_value)
        expect_numbers("full_like", fill_value=fill_value)
    return filled_like("full_like", input, fill_value, dtype, device, requires_grad, memory_format)


def filled_like(
    name: str, input: Tensor, value: float, dtype: Any, device: Any, requires_grad: bool, memory_format: Any
) -> Tensor:
    """Return the recipe of a tensor filled with a number, with the shape of the input; name: the public function."""
    if input.__class__ not in PLAIN:
        expect_tensors(name, input)
    kind, wanted = input.dtype if dtype is None else as_dtype(dtype), format_like(name, input, memory_format)
    return filled(name, (input.shape,), value, kind, input.device if device is None else device, requires_grad, wanted)


# ---- counted --------------------------------------------------------------------------------------------------------


@public(out=True)
def arange(
    start: float, end: float | None = None, step: float = 1, *, dtype: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Return the values start, start+step, ... that are less than end; arange(n) starts at 0.

    With a negative step, the values are greater than end.
    DTypes: int64 if all arguments are ints, otherwise the default float. With dtype=mg.int64, floats are truncated
    first, so arange(2.5, dtype=mg.int64) has two values, as in PyTorch.
    Raises ArgumentError for a step of zero, or for arguments that are not finite, DTypeError for ints that the dtype
    cannot represent.
    """
    if end is None:
        start, end = 0, start
    whole = start.__class__ is int and end.__class__ is int and step.__class__ is int
    if not whole:
        start, end, step = as_numbers(start, end, step)
        expect_numbers("arange", start=start, end=end, step=step)
        # NumPy's narrow integers would wrap in the arithmetic below.
        start, end, step = [v.item() if isinstance(v, np.generic) else v for v in (start, end, step)]
        whole = isinstance(start, int) and isinstance(end, int) and isinstance(step, int)
    length = (end - start) / step if step else math.nan
    if not math.isfinite(length):
        raise ArgumentError(
            f"arange: start, end and step must be finite and the step cannot be zero, got {start}, {end} and {step}; "
            "pass three finite numbers and a step other than 0"
        )
    dtype = as_dtype(dtype) if dtype is not None else int64 if whole else default_float()
    if dtype is int64 and not whole:
        return arange(*truncated(dtype, start, end, step), dtype=dtype, device=device, requires_grad=requires_grad)
    count = max(0, math.ceil(length))
    if whole and count:
        expect_fit("arange", start, dtype)
        expect_fit("arange", start + (count - 1) * step, dtype)
    if requires_grad:
        expect_float("arange", dtype, True)
    where = default_device() if device is None else as_device(device)
    wide = float64 if dtype.is_float else int64
    if not dtype.is_float:  # counting in int64 wraps like uint64, so values of uint64 are passed with the same bits
        start, step = [int(v) if -(2**63) <= v < 2**63 else (int(v) + 2**63) % 2**64 - 2**63 for v in (start, step)]
    first, by = number(start, wide, where), number(step, wide, where)
    return call_of(count_up, first, by, count=count, dtype=dtype)


def truncated(dtype: DType, *ends: Any) -> list[Any]:
    """Truncate the ends of a range toward zero for an integer dtype, as PyTorch does; nan and infinities remain."""
    return [int(v) if dtype.is_int and isinstance(v, float) and math.isfinite(v) else v for v in ends]


@kernel(
    dtype=lambda op, specs, *, count, dtype: dtype,
    shape=lambda op, start, step, *, count, dtype: (count,),
    namespace=(),
)
def count_up(backend, out, start, step, *, count: Size, dtype):
    """Return start + i * step for i from 0 to count - 1; `arange` calls this op."""
    return backend.prepare(Arange(), out, start, step)


@public(out=True)
def linspace(
    start: complex, end: complex, steps: int, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """Return `steps` evenly spaced values from start to end, both included, on a line of complex numbers if one is.

    start and end may be tensors without dims; they do not receive a gradient. For an integer dtype, they are truncated
    first.
    """
    start, end = as_numbers(start, end)
    expect_numbers("linspace", start=start, end=end)
    count = Number(0, whole=True, error=ShapeError).read(steps, "linspace", "steps", ())
    kind = spaced_dtype("linspace", dtype, requires_grad, start, end)
    start, end = truncated(kind, start, end)
    return computed(np.linspace(start, end, count), kind, device)


def spaced_dtype(name: str, dtype: Any, requires_grad: bool, *ends: Any) -> DType:
    """Return the dtype of spaced values.  Raises DTypeError for bool, which has only two values."""
    kind = default_float() if dtype is None else as_dtype(dtype)
    kind = kind.to_complex() if dtype is None and any(map(np.iscomplexobj, ends)) else kind
    if kind is bool_:
        raise DTypeError(f"{name}: dtype must be a dtype of numbers, got bool; compare the values instead")
    expect_float(name, kind, requires_grad)
    return kind


@public(out=True)
def logspace(
    start: complex, end: complex, steps: int, base: float = 10.0, *, dtype: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Return `steps` powers of base, whose exponents are `linspace(start, end, steps)`, with its rule for integers."""
    start, end = as_numbers(start, end)
    expect_numbers("logspace", start=start, end=end, base=base)
    kind = spaced_dtype("logspace", dtype, requires_grad, start, end)
    start, end = truncated(kind, start, end)
    exponents = linspace(start, end, steps, dtype=float64.to_complex() if kind.is_complex else float64, device=device)
    powers: Tensor = base**exponents
    return leaf(powers.to(kind), requires_grad)


@public(out=True)
def eye(n: int, m: int | None = None, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Return an n x m matrix with ones on the diagonal and zeros elsewhere; by default, m is n."""
    rows, columns = as_shape((n, n if m is None else m), "eye")
    kind = default_float() if dtype is None else as_dtype(dtype)
    expect_float("eye", kind, requires_grad)
    where = default_device() if device is None else as_device(device)
    return call_of(unit_matrix, number(1, kind, where), rows=rows, columns=columns)


@kernel(
    dtype=same_dtype, shape=lambda op, value, *, rows, columns: (rows, columns), vjp=(lambda g: g.diagonal().sum(),),
    linear=True, namespace=(), complex=True,
    batch=lambda value, *, rows, columns, batch: (
        value.reshape(batch, 1, 1) * eye(rows, columns, dtype=value.dtype, device=value.device)
    ),
)  # fmt: skip
def unit_matrix(steps, out, value, *, rows: Size, columns: Size):
    """Return a matrix with a scalar on the diagonal, and zeros elsewhere; `eye` calls this op with 1.

    Gradient: the sum of the diagonal of g.
    """
    steps.fill(out, 0)
    steps.copy(out.seen(out.layout.diagonal()), value)
