"""What those who come from PyTorch ask of a tensor daily: sizes and kinds, "as that other one", "a new one like this".

Nothing is computed here: each is a word for what `Tensor`, views or creation have.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from minigrad.backends.registry import ACCELERATOR, backend_of, started
from minigrad.core.device import as_device
from minigrad.core.dtype import as_dtype
from minigrad.core.layout import Layout
from minigrad.core.shape import as_shape, normalize_dim
from minigrad.declare.decorators import public
from minigrad.declare.names import MG
from minigrad.errors import DeviceError, GradientError
from minigrad.ops import casting, creation
from minigrad.ops.reduction import norms as lengths
from minigrad.ops.reduction import sums
from minigrad.ops.shape import views
from minigrad.runtime.tensor import Tensor, describe, expect_tensors

# ---- what it is -----------------------------------------------------------------------------------------------------


def size(x: Tensor, dim: int | None = None) -> Any:
    """The shape, or the length of one dim."""
    return x.shape if dim is None else x.shape[normalize_dim(dim, x.ndim, "size", x)]


def dim(x: Tensor, dim: int | None = None) -> int:
    """The number of dims; with an argument, as in candle, the length of that dim."""
    return x.ndim if dim is None else int(x.shape[normalize_dim(dim, x.ndim, "dim", x)])


def stride(x: Tensor, dim: int | None = None) -> Any:
    """The steps of all dims in elements, or that of one."""
    return x.strides if dim is None else x.strides[normalize_dim(dim, x.ndim, "stride", x)]


def storage_offset(x: Tensor) -> int:
    """Position of the first element in the storage."""
    return x.offset


def element_size(x: Tensor) -> int:
    """Bytes of an element."""
    return x.dtype.itemsize


def nbytes(x: Tensor) -> int:
    """Bytes of all elements that the tensor shows."""
    return x.numel() * x.dtype.itemsize


def is_floating_point(x: Tensor) -> bool:
    """Whether the dtype is a float."""
    return x.dtype.is_float


def is_cuda(x: Tensor) -> bool:
    """Whether it is on a CUDA device."""
    return x.device.kind == "cuda"


# ---- as another -----------------------------------------------------------------------------------------------------


def type(x: Tensor, dtype: Any = None) -> Any:
    """x in another dtype, as `to`; without one the name of its own, "float32"."""
    return x.dtype.name if dtype is None else casting.to(x, as_dtype(dtype))


def type_as(x: Tensor, other: Tensor) -> Tensor:
    """x in the dtype of other, and on its device."""
    expect_tensors("type_as", x, other)
    return casting.to(x, other)


def cpu(x: Tensor) -> Tensor:
    """x on the CPU; x itself where it is there."""
    return casting.to(x, device="cpu")


def cuda(x: Tensor, device: Any = None, non_blocking: bool = False) -> Tensor:
    """x on a CUDA device, the first one; x itself where it is there.  non_blocking: as that of `to`."""
    return casting.to(x, device="cuda" if device is None else device, non_blocking=non_blocking)


def pin_memory(x: Tensor, device: Any = None) -> Tensor:
    """A copy in pinned memory of the host, which the device reads by itself: `to` with non_blocking does not wait then.

    Returns x itself where it is pinned.  Raises DeviceError for a tensor that is not on the CPU, or where the device
    cannot be used; GradientError for one that requires a gradient.
    """
    if x.requires_grad:
        raise GradientError(f"pin_memory: {describe(x)} requires a gradient; detach() it first", op="pin_memory")
    if x.device.kind != "cpu":
        raise DeviceError(f"pin_memory: {describe(x)} is on {x.device}; only memory of the CPU is pinned")
    if is_pinned(x, device):
        return x
    storage = backend_of(as_device(device or ACCELERATOR)).pinned(x.numel(), x.dtype)
    y = Tensor(storage, Layout.contiguous(x.shape))
    y.copy_(x)
    return y


def is_pinned(x: Tensor, device: Any = None) -> bool:
    """Whether it is in pinned memory of the host, for copies to a device."""
    backend = started(as_device(device or ACCELERATOR).kind)
    return backend is not None and backend.is_pinned(x.storage)


def view_as(x: Tensor, other: Tensor) -> Tensor:
    """A view in the shape of other; see `view`."""
    expect_tensors("view_as", x, other)
    y: Tensor = x.view(other.shape)
    return y


def reshape_as(x: Tensor, other: Tensor) -> Tensor:
    """x in the shape of other; see `reshape`."""
    expect_tensors("reshape_as", x, other)
    return views.reshape(x, other.shape)


def expand_as(x: Tensor, other: Tensor) -> Tensor:
    """A view stretched to the shape of other; see `expand`."""
    expect_tensors("expand_as", x, other)
    return views.expand(x, shape=other.shape)


@public(namespace=MG)
def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of all positions along `dim`, which goes."""
    expect_tensors("unbind", input)
    d = normalize_dim(dim, input.ndim, "unbind", input)
    return tuple([views.select(input, dim=d, index=k) for k in range(input.shape[d])])


def sum_to_size(x: Tensor, *size: int | Sequence[int]) -> Tensor:
    """The sum over the dims along which a tensor of that size was stretched to the shape of x; see `expand`."""
    expect_tensors("sum_to_size", x)
    return sums.sum_to(x, as_shape(size, "sum_to_size"))


@public(namespace=MG)
def numel(input: Tensor) -> int:
    """The number of elements."""
    expect_tensors("numel", input)
    return input.numel()


# ---- a new one like this --------------------------------------------------------------------------------------------


def new_tensor(x: Tensor, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A copy of data in the dtype and on the device of x; see `mg.tensor`."""
    return creation.tensor(data, dtype or x.dtype, device or x.device, requires_grad)


def newly(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """x.new_zeros(...) and its like: what a function makes of a size, in the dtype and on the device of x."""

    def method(
        x: Tensor, *size: int | Sequence[int], dtype: Any = None, device: Any = None, requires_grad: bool = False
    ) -> Tensor:
        return function(*size, dtype=dtype or x.dtype, device=device or x.device, requires_grad=requires_grad)

    method.__name__ = method.__qualname__ = f"new_{function.__name__}"
    method.__doc__ = f"`mg.{function.__name__}` of a size, of the dtype and on the device of x."
    return method


def new_full(
    x: Tensor, size: Any, fill_value: float, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """One value, of the dtype and on the device of x; see `mg.full`."""
    kind, where = dtype or x.dtype, device or x.device
    return creation.full(
        as_shape((size,), "new_full"), fill_value, dtype=kind, device=where, requires_grad=requires_grad
    )


# ---- how long it is -------------------------------------------------------------------------------------------------


def norm(
    x: Tensor, p: float | str | None = "fro", dim: int | Sequence[int] | None = None, keepdim: bool = False,
    dtype: Any = None,
) -> Tensor:  # fmt: skip
    """Return the norm of order `p` over `dim`: see `mg.norm`."""
    return lengths.norm(x, p, dim, keepdim, dtype=dtype)


FUNCTIONS = (
    size, dim, stride, storage_offset, element_size, is_floating_point, type, type_as, cpu, cuda, pin_memory,
    is_pinned, view_as, reshape_as, expand_as, sum_to_size, unbind, new_tensor,
    newly(creation.empty), newly(creation.zeros), newly(creation.ones), new_full, norm,
)  # fmt: skip
PROPERTIES = (nbytes, is_cuda)
