"""Tensors over existing memory, functions that write into their argument, and windows, under PyTorch's names.

The module is imported when one of its names is used for the first time.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minigrad.api.in_place import METHODS
from minigrad.api.interop.arrays import from_dlpack
from minigrad.core.conditions import Ndim
from minigrad.core.device import CPU
from minigrad.core.dtype import as_dtype, default_float, float64
from minigrad.core.layout import Layout
from minigrad.core.roles import Number, read_flag
from minigrad.core.shape import as_shape, normalize_dim
from minigrad.core.storage import Storage
from minigrad.errors import ArgumentError, DTypeError
from minigrad.ops import creation
from minigrad.ops.pointwise.explog import pow
from minigrad.ops.pointwise.special import i0
from minigrad.ops.shape.views import strided_view as as_strided
from minigrad.runtime.tensor import Tensor, describe, expect_tensors
from minigrad.runtime.var import Var

__all__ = ["as_strided"]

globals().update({name: getattr(Tensor, name) for name in METHODS})  # as `mg.clamp_(x, 0.0)`


# ---- existing memory ------------------------------------------------------------------------------------------------


def frombuffer(buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Tensor:
    """Return a vector over the memory of an object with Python's buffer protocol, which it shares.

    buffer: Memory that is read-only, such as that of `bytes`, is copied, because a tensor can be written.
    dtype: The dtype of the elements.
    count: The number of elements; a negative number stands for all elements after `offset`.
    offset: The number of bytes before the first element.
    requires_grad: Whether the result is a Var.

    Raises ArgumentError if the elements are not inside the memory, or if there are none.

    >>> mg.frombuffer(bytearray([1, 0, 2, 0]), dtype=mg.int16).tolist()
    [1, 2]
    """
    kind, view = as_dtype(dtype), memoryview(buffer).cast("B")
    rest = view.nbytes - offset
    numel = rest // kind.itemsize if count < 0 else count
    if offset < 0 or not 0 < numel * kind.itemsize <= rest or (count < 0 and rest % kind.itemsize):
        raise ArgumentError(
            f"frombuffer: expected whole {kind} elements of {kind.itemsize} bytes inside the {view.nbytes} bytes of "
            f"the buffer, got count={count} and offset={offset}; change count or offset"
        )
    part = view[offset : offset + numel * kind.itemsize]
    storage = Storage.from_buffer(bytearray(part) if view.readonly else part, kind)
    return creation.leaf(Tensor(storage, Layout.contiguous((numel,))), requires_grad)


def asarray(
    obj: Any, *, dtype: Any = None, device: Any = None, copy: bool | None = None, requires_grad: bool | None = None
) -> Tensor:
    """Return an object as a tensor, which shares its memory if this is possible.

    obj: A tensor, a NumPy array, an object with DLPack or Python's buffer protocol, a number or nested lists.
    dtype: The dtype of the result; for an object with the buffer protocol alone, also that of its elements.
    device (Device): The device of the result.
    copy: True always copies, False raises an error where a copy is necessary, None copies only then.
    requires_grad: Whether gradients flow to the result; None, the default, stands for those of `obj`, and False
    detaches it.

    Raises ArgumentError if `copy` is False and the memory cannot be shared.

    >>> x = mg.zeros(2)
    >>> mg.asarray(x).data_ptr() == x.data_ptr(), mg.asarray(x, copy=True).data_ptr() == x.data_ptr()
    (True, False)
    """
    view = over_memory(obj, dtype)
    x = creation.tensor(obj, dtype=dtype, device=device) if view is None else view
    if view is not None:
        x = x.detach() if requires_grad is False or not x.requires_grad else x
        y = x.to(dtype=as_dtype(dtype) if dtype is not None else x.dtype, device=x.device if device is None else device)
        view, x = (y if y is x else None), y
    if copy is False and view is None:
        raise ArgumentError(
            f"asarray: copy=False requires an object whose memory a tensor of this dtype and device can share, got "
            f"{describe(obj)}; pass copy=None"
        )
    if copy and view is not None:
        x = x.clone()
    if requires_grad and not x.requires_grad:
        creation.expect_float("asarray", x.dtype, True)
        x = Var.of(x)
    return x


def over_memory(obj: Any, dtype: Any) -> Tensor | None:
    """Return a tensor over the memory of an object, or None if its elements must be copied."""
    if isinstance(obj, Tensor):
        return obj
    if isinstance(obj, np.ndarray):
        able = obj.dtype.isnative and obj.flags.aligned and not any(s % obj.itemsize for s in obj.strides)
        return creation.from_numpy(obj) if able and obj.flags.writeable else None
    if isinstance(obj, (str, np.generic)):
        return None
    if hasattr(obj, "__dlpack__") or type(obj).__name__ == "PyCapsule":
        return from_dlpack(obj)
    try:
        view = memoryview(obj)
    except TypeError:
        return None
    if view.readonly:
        view = memoryview(bytearray(view))
    return frombuffer(view, dtype=default_float() if dtype is None else dtype)


def empty_strided(
    size: Sequence[int], stride: Sequence[int], *, dtype: Any = None, device: Any = None, requires_grad: bool = False,
    pin_memory: bool | None = False,
) -> Tensor:  # fmt: skip
    """Return a tensor with uninitialized elements, of a size and with the given strides, in elements."""
    shape, steps = as_shape((size,), "empty_strided"), as_shape((stride,), "empty_strided")
    if len(shape) != len(steps):
        raise ArgumentError(
            f"empty_strided: size and stride must have equal lengths, got {shape} and {steps}; pass one stride per dim"
        )
    numel = 0 if 0 in shape else 1 + sum((n - 1) * s for n, s in zip(shape, steps))
    x = creation.empty(numel, dtype=dtype, device=device, pin_memory=pin_memory)  # type: ignore[call-arg]
    return creation.leaf(Tensor(x.storage, Layout.make(shape, steps, 0)), requires_grad)


def empty_permuted(
    size: Sequence[int], physical_layout: Sequence[int], *, dtype: Any = None, device: Any = None,
    requires_grad: bool = False, pin_memory: bool | None = False,
) -> Tensor:  # fmt: skip
    """Return a tensor with uninitialized elements, without gaps.

    physical_layout: the order of the dims in memory, from the outermost to the innermost.
    """
    order = [normalize_dim(d, len(size), "empty_permuted", tuple(size)) for d in physical_layout]
    layout = Layout.contiguous(tuple([size[d] for d in order])).permute([*map(int, np.argsort(order))])
    options = {"dtype": dtype, "device": device, "requires_grad": requires_grad, "pin_memory": pin_memory}
    return empty_strided(layout.shape, layout.strides, **options)


# ---- matrices and ranges --------------------------------------------------------------------------------------------


def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """Return the matrix of the powers of the elements of a vector, one power per column.

    N: the number of columns, by default the number of elements.  increasing: whether the powers rise from 0 to N - 1;
    otherwise they fall from N - 1 to 0, as in NumPy.
    """
    expect_tensors("vander", x)
    Ndim(1).expect("vander", x=x)
    count = x.shape[0] if N is None else Number(0, whole=True).read(N, "vander", "N", (x,))
    read_flag(increasing, "vander", "increasing")
    first, last, step = (0, count, 1) if increasing else (count - 1, -1, -1)
    return pow(x.unsqueeze(1), creation.arange(first, last, step, device=x.device))


def range(
    start: float, end: float | None = None, step: float = 1, *, out: Tensor | None = None, dtype: Any = None,
    device: Any = None, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Return the numbers from `start` to `end`, which is included, as PyTorch's old `range`; see `arange`."""
    kind = as_dtype(dtype) if dtype is not None else default_float() if out is None else out.dtype
    low, high, step = creation.as_numbers(*((0, start) if end is None else (start, end)), step)
    low, high, step = creation.truncated(kind, low, high, step)
    if step == 0 or not 0 <= (high - low) / step < math.inf:
        raise ArgumentError(
            f"range: the step must lead from start to end, got start={low}, end={high} and step={step}; change the "
            "sign of step"
        )
    count = math.floor((high - low) / step) + 1
    arange: Any = creation.arange
    options = {"out": out, "dtype": kind, "device": device, "requires_grad": requires_grad}
    return arange(low, low + (count if isinstance(low + step, int) else count - 0.5) * step, step, **options)


# ---- windows --------------------------------------------------------------------------------------------------------


def window(shape: Callable[..., np.ndarray[Any, Any]], doc: str, **defaults: float) -> Callable[..., Tensor]:
    """Return the public function of a window.

    shape: the function of the positions from -1 to 1 and of the parameters, whose defaults are `defaults`.
    """
    name = f"{shape.__name__}_window"

    def make(
        window_length: int, periodic: bool = True, *args: float, dtype: Any = None, device: Any = None,
        requires_grad: bool = False, layout: Any = None, pin_memory: bool | None = False, **named: float,
    ) -> Tensor:  # fmt: skip
        Number(0, whole=True).read(window_length, name, "window_length", ())
        read_flag(periodic, name, "periodic")
        read_flag(requires_grad, name, "requires_grad")
        kind = default_float() if dtype is None else as_dtype(dtype)
        if not kind.is_float:
            raise DTypeError(f"{name}: dtype must be a floating dtype, got {kind}; pass dtype=mg.float32")
        parameters = defaults | dict(zip(defaults, args)) | named
        last = window_length if periodic else window_length - 1
        positions = 2.0 * np.arange(window_length) / max(last, 1) - (window_length > 1)
        values = creation.tensor(shape(positions, **parameters), dtype=kind, device=device, pin_memory=pin_memory)
        return creation.leaf(values, requires_grad)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = (
        f"Return {doc}\n\nwindow_length: the number of elements.\nperiodic: whether the window is one period of a "
        "periodic function, for spectra; otherwise it is symmetric."
    )
    keyword = inspect.Parameter.POSITIONAL_OR_KEYWORD
    hidden = ("args", "named", "layout", "pin_memory")
    kept = [p for p in inspect.signature(make).parameters.values() if p.name not in hidden]
    numbers = [inspect.Parameter(key, keyword, default=value, annotation=float) for key, value in defaults.items()]
    make.__signature__ = inspect.Signature([*kept[:2], *numbers, *kept[2:]])  # type: ignore[attr-defined]
    return make


def hann(x: Any) -> Any:
    return 0.5 + 0.5 * np.cos(math.pi * x)


def hamming(x: Any, alpha: float, beta: float) -> Any:
    return alpha + beta * np.cos(math.pi * x)


def blackman(x: Any) -> Any:
    return 0.42 + 0.5 * np.cos(math.pi * x) + 0.08 * np.cos(2.0 * math.pi * x)


def bartlett(x: Any) -> Any:
    return 1.0 - np.abs(x)


def kaiser(x: Any, beta: float) -> Any:
    curve = i0(creation.tensor(np.append(beta * np.sqrt(np.maximum(0.0, 1.0 - x * x)), beta), float64, CPU)).numpy()
    return curve[:-1] / curve[-1]


hann_window = window(hann, "the Hann window, (1 + cos(pi*t))/2 for t from -1 to 1.")
hamming_window = window(
    hamming, "the Hamming window, alpha + beta*cos(pi*t).\n\nalpha, beta: the coefficients.", alpha=0.54, beta=0.46
)  # fmt: skip
blackman_window = window(blackman, "the Blackman window, 0.42 + 0.5*cos(pi*t) + 0.08*cos(2*pi*t).")
bartlett_window = window(bartlett, "the Bartlett window, 1 - |t|, a triangle.")
kaiser_window = window(kaiser, "the Kaiser window, i0(beta*sqrt(1 - t**2))/i0(beta).\n\nbeta: the shape.", beta=12.0)
