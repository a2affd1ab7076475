"""Common methods of PyTorch: sizes and kinds, conversion to the form of another tensor, new tensors of the same form.

This module computes nothing: each method calls functions of `Tensor`, `views`, `casting` or `creation`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minigrad.backends.registry import ACCELERATOR, backend_of, started
from minigrad.core.device import as_device
from minigrad.core.dtype import default_float
from minigrad.core.formats import expect_format
from minigrad.core.layout import Layout
from minigrad.core.shape import as_shape, normalize_dim
from minigrad.core.storage import Storage
from minigrad.declare.decorators import public
from minigrad.declare.names import MG
from minigrad.errors import ArgumentError, DeviceError, GradientError, warn
from minigrad.ops import casting, creation
from minigrad.ops.reduction import norms as lengths
from minigrad.ops.reduction import sums
from minigrad.ops.shape import views
from minigrad.runtime.changes import rebind
from minigrad.runtime.tensor import Tensor, describe, expect_tensors, old_constructor

# ---- sizes and kinds ------------------------------------------------------------------------------------------------


def size(x: Tensor, dim: int | None = None) -> Any:
    """Return the shape, or the length of `dim`."""
    return x.shape if dim is None else x.shape[normalize_dim(dim, x.ndim, "size", x)]


def dim(x: Tensor, dim: int | None = None) -> int:
    """Return the number of dims; with the argument `dim`, return the length of that dim, as in candle."""
    return x.ndim if dim is None else int(x.shape[normalize_dim(dim, x.ndim, "dim", x)])


def stride(x: Tensor, dim: int | None = None) -> Any:
    """Return the strides of all dims, or that of `dim`, in elements."""
    return x.strides if dim is None else x.strides[normalize_dim(dim, x.ndim, "stride", x)]


def storage_offset(x: Tensor) -> int:
    """Return the position of the first element in the storage."""
    return x.offset


def element_size(x: Tensor) -> int:
    """Return the number of bytes of an element."""
    return x.dtype.itemsize


def nbytes(x: Tensor) -> int:
    """Return the number of bytes of all elements of the tensor, not of its storage."""
    return x.numel() * x.dtype.itemsize


def is_floating_point(x: Tensor) -> bool:
    """Return whether the dtype is a float."""
    return x.dtype.is_float


def is_cuda(x: Tensor) -> bool:
    """Return whether the tensor is on a CUDA device."""
    return x.device.kind == "cuda"


def is_cpu(x: Tensor) -> bool:
    """Return whether the tensor is in the memory of the host."""
    return x.device.kind != "cuda"


def on_other(name: str) -> Callable[[Tensor], bool]:
    """Return the property, always False, for a kind of device that minigrad does not support."""

    def absent(x: Tensor) -> bool:
        return False

    absent.__name__ = absent.__qualname__ = name
    absent.__doc__ = "Return False: there is no such device."
    return absent


def volatile(x: Tensor) -> bool:
    """Return False.  PyTorch replaced this attribute by `no_grad`; an assignment to it has no effect and warns."""
    return False


def set_volatile(x: Tensor, value: bool) -> None:
    """Warn that an assignment to `volatile` has no effect."""
    warn("volatile has no effect; write `with mg.no_grad():`")


def get_device(x: Tensor) -> int:
    """Return the index of the tensor's CUDA device, or -1 for a tensor on the CPU."""
    return x.device.index if x.device.kind == "cuda" else -1


# ---- as another -----------------------------------------------------------------------------------------------------


def type(x: Tensor, dtype: Any = None, non_blocking: bool = False) -> Any:
    """Return x in another dtype; without `dtype`, return the name of the dtype of x, such as "float32".

    The conversion is that of `to`.
    dtype: a dtype, one of PyTorch's old constructors such as `mg.LongTensor`, or the name of a dtype or a constructor.
    """
    if dtype is None:
        return x.dtype.name
    from minigrad.api.legacy import as_kind

    kind, device = as_kind(dtype)
    return casting.to(x, kind, device=device, non_blocking=non_blocking)


def type_as(x: Tensor, other: Tensor) -> Tensor:
    """Return x in the dtype and on the device of `other`."""
    expect_tensors("type_as", x, other)
    return casting.to(x, other)


def cpu(x: Tensor) -> Tensor:
    """Return x on the CPU; x itself if it is on the CPU."""
    return casting.to(x, device="cpu")


def cuda(x: Tensor, device: Any = None, non_blocking: bool = False) -> Tensor:
    """Return x on a CUDA device; x itself if it is on that device.

    device: the device; the first CUDA device if None.  non_blocking: as for `to`.
    """
    return casting.to(x, device="cuda" if device is None else device, non_blocking=non_blocking)


def pin_memory(x: Tensor, device: Any = None) -> Tensor:
    """Return a copy of x in pinned (page-locked) host memory, or x itself if its memory is already pinned.

    A CUDA device reads pinned memory directly, so `x.to(device, non_blocking=True)` does not wait for the copy.
    device: the device that reads the memory; by default the CUDA device.
    Raises DeviceError if x is not on the CPU or if the device cannot be used, GradientError if x requires a gradient.
    """
    if x.requires_grad:
        raise GradientError(
            f"pin_memory: expected a tensor that does not require a gradient, got {describe(x)}; pin x.detach()",
            op="pin_memory",
        )
    if x.device.kind != "cpu":
        raise DeviceError(
            f"pin_memory: expected a tensor on the CPU, got {describe(x)} on {x.device}; pin the memory of x.cpu()"
        )
    if is_pinned(x, device):
        return x
    storage = backend_of(as_device(device or ACCELERATOR)).pinned(x.numel(), x.dtype)
    y = Tensor(storage, Layout.contiguous(x.shape))
    y.copy_(x)
    return y


def is_pinned(x: Tensor, device: Any = None) -> bool:
    """Return whether the tensor is in pinned host memory, which a device reads directly."""
    backend = started(as_device(device or ACCELERATOR).kind)
    return backend is not None and backend.is_pinned(x.storage)


def view_as(x: Tensor, other: Tensor) -> Tensor:
    """Return a view of x in the shape of `other`; see `view`."""
    expect_tensors("view_as", x, other)
    y: Tensor = x.view(other.shape)
    return y


def reshape_as(x: Tensor, other: Tensor) -> Tensor:
    """Return x in the shape of `other`; see `reshape`."""
    expect_tensors("reshape_as", x, other)
    return views.reshape(x, other.shape)


def expand_as(x: Tensor, other: Tensor) -> Tensor:
    """Return a view of x, expanded to the shape of `other`; see `expand`."""
    expect_tensors("expand_as", x, other)
    return views.expand(x, shape=other.shape)


def sum_to_size(x: Tensor, *size: int | Sequence[int]) -> Tensor:
    """Return x summed to the shape `size`, over the dims along which such a tensor is expanded to the shape of x."""
    expect_tensors("sum_to_size", x)
    return sums.sum_to(x, as_shape(size, "sum_to_size"))


@public(namespace=MG)
def numel(input: Tensor) -> int:
    """Return the number of elements."""
    expect_tensors("numel", input)
    return input.numel()


# ---- new tensors of the same form -----------------------------------------------------------------------------------


def new_tensor(x: Tensor, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Return a copy of data in the dtype and on the device of x; see `mg.tensor`."""
    creation.expect_float("new_tensor", dtype or x.dtype, requires_grad)
    return creation.tensor(data, dtype or x.dtype, x.device if device is None else device, requires_grad)


def newly(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Return `x.new_zeros` or a similar method: a creation function with the dtype and the device of x as defaults."""

    def method(
        x: Tensor, *size: int | Sequence[int], dtype: Any = None, device: Any = None, requires_grad: bool = False
    ) -> Tensor:
        creation.expect_float(method.__name__, dtype or x.dtype, requires_grad)
        return function(
            *size, dtype=dtype or x.dtype, device=x.device if device is None else device, requires_grad=requires_grad
        )

    method.__name__ = method.__qualname__ = f"new_{function.__name__}"
    method.__doc__ = f"Return `mg.{function.__name__}` of a size, of the dtype and on the device of x."
    return method


def new_full(
    x: Tensor, size: Any, fill_value: float, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """Return a tensor filled with one value, in the dtype and on the device of x; see `mg.full`."""
    kind, where = dtype or x.dtype, x.device if device is None else device
    creation.expect_float("new_full", kind, requires_grad)
    return creation.full(
        as_shape((size,), "new_full"), fill_value, dtype=kind, device=where, requires_grad=requires_grad
    )


def new(x: Tensor, *sizes: Any) -> Tensor:
    """Return `x.new_empty` of several lengths, or `x.new_tensor` of data."""
    return legacy(sizes, x.dtype, x.device)


def legacy(args: Sequence[Any], dtype: Any, device: Any = None) -> Tensor:
    """Return the result of one of PyTorch's old constructors.

    Ints are the lengths of the dims of a tensor with undefined values.  Any other single argument is a list, an array
    or a tensor to copy.  Raises ArgumentError for several arguments that are not all ints.
    """
    if len(args) == 1 and not isinstance(args[0], (int, np.integer)):
        data = args[0].detach() if isinstance(args[0], Tensor) else args[0]
        if not isinstance(data, (Tensor, np.ndarray, list, tuple)):
            data = list(data)
        return creation.tensor(data, dtype=dtype, device=device)
    if not all(isinstance(length, (int, np.integer)) for length in args):
        raise ArgumentError(
            f"Tensor: expected ints as the lengths of the dims, or one list of values, got {len(args)} arguments of "
            "other types; pass one list, for example"
        )
    return creation.empty([int(length) for length in args] or [0], dtype=dtype, device=device)


def constructed(args: Sequence[Any]) -> tuple[Layout, Storage]:
    """Return the layout and the storage of `mg.Tensor(...)`, which has the default float dtype: see `legacy`."""
    x = legacy(args, default_float())
    return x.layout, x.storage


def resize_(x: Tensor, *size: int | Sequence[int], memory_format: Any = None) -> Tensor:
    """Change the shape of x, in place, and return x, whose elements are then those of its memory, in order.

    If the memory has too few elements, x moves to new memory, its further elements are undefined, and its views stay on
    the old memory.  This counts as a write, so a graph that saved x detects it.
    Raises GradientError if x requires a gradient.
    """
    if x.requires_grad:
        raise GradientError(
            f"resize_: expected a tensor that does not require a gradient, got {describe(x)}; use reshape, which is "
            "recorded",
            op="resize_",
        )
    expect_format("resize_", memory_format)
    shape = as_shape(size, "resize_")
    if shape == x.shape:
        return x
    # PyTorch has no negative strides: its `flip` is a copy.
    memory = x.reshape(-1) if min(x.strides, default=0) < 0 else x
    first, kept = memory.offset, memory.storage.numel - memory.offset
    layout = Layout.contiguous(shape, first)
    if layout.numel > kept:
        larger = creation.empty(layout.numel, dtype=x.dtype, device=x.device)
        larger[:kept] = Tensor(memory.storage, Layout.contiguous((kept,), first))
        memory, layout = larger, Layout.contiguous(shape)
    if memory is not x:
        x.base = None
    rebind(x, memory.storage, layout)
    x.storage.version += 1
    return x


def resize_as_(x: Tensor, other: Tensor, *, memory_format: Any = None) -> Tensor:
    """Change the shape of x to that of `other`, in place; see `resize_`."""
    expect_tensors("resize_as_", x, other)
    return resize_(x, other.shape, memory_format=memory_format)


def share_memory_(x: Tensor) -> Tensor:
    """Return x itself; it is not moved to shared memory.

    Processes exchange gradients through `mg.dist`, and the workers of data loaders use separate memory.
    """
    return x


# ---- norms ----------------------------------------------------------------------------------------------------------


def norm(
    x: Tensor, p: float | str | None = "fro", dim: int | Sequence[int] | None = None, keepdim: bool = False,
    dtype: Any = None,
) -> Tensor:  # fmt: skip
    """Return the norm of order `p` over `dim`; see `mg.norm`."""
    return lengths.norm(x, p, dim, keepdim, dtype=dtype)


FUNCTIONS = (
    size, dim, stride, storage_offset, element_size, is_floating_point, type, type_as, cpu, cuda, pin_memory,
    is_pinned, view_as, reshape_as, expand_as, sum_to_size, new_tensor,
    new, get_device, resize_, resize_as_, share_memory_, newly(creation.empty),
    newly(creation.zeros), newly(creation.ones), new_full, norm,
)  # fmt: skip
PROPERTIES = (nbytes, is_cuda, is_cpu, on_other("is_xpu"), on_other("is_mps"), on_other("is_meta"))
old_constructor.append(constructed)
