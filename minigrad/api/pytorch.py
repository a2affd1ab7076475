"""Common methods of PyTorch: sizes and kinds, conversion to the form of another tensor, changes of the size.

This module computes nothing: each method calls functions of `Tensor`, `views`, `casting` or `creation`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from minigrad.api.constructors import as_kind
from minigrad.backends.registry import ACCELERATOR, backend_of, started
from minigrad.core.device import as_device
from minigrad.core.dtype import uint8
from minigrad.core.formats import CHANNELS_LAST, MemoryFormat, format_of, layout_in, preserve_format
from minigrad.core.layout import Layout
from minigrad.core.roles import read_flag
from minigrad.core.shape import as_shape, normalize_dim
from minigrad.core.storage import Storage
from minigrad.declare.decorators import public
from minigrad.declare.names import MG
from minigrad.errors import ArgumentError, DeviceError, DTypeError, GradientError, StorageError, warn
from minigrad.ops import casting, creation
from minigrad.ops.linalg.matrices import vector_norm
from minigrad.ops.pointwise import arithmetic
from minigrad.ops.reduction import norms as lengths
from minigrad.ops.reduction import sums
from minigrad.ops.shape import views
from minigrad.runtime.changes import move, rebind
from minigrad.runtime.recording import mode
from minigrad.runtime.tensor import Tensor, describe, expect_tensors

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


def dim_order(x: Tensor, *, ambiguity_check: bool | list[Any] = False) -> tuple[int, ...]:
    """Return the dims from that with the largest stride to that with the smallest.

    ambiguity_check: True requires that no other order describes the same memory; a list of memory formats, that x has
    exactly one of them.  Otherwise ArgumentError is raised.
    """
    formats = isinstance(ambiguity_check, list) and all(isinstance(each, MemoryFormat) for each in ambiguity_check)
    if not formats:
        read_flag(ambiguity_check, "dim_order", "ambiguity_check")
    if formats:
        clear = sum(x.is_contiguous(each) for each in ambiguity_check) == 1  # type: ignore[union-attr]
    else:
        clear = not ambiguity_check or (1 not in x.shape and len({*x.strides}) == x.ndim)
    if clear:
        return x.layout.memory_order()
    raise ArgumentError(
        f"dim_order: expected a tensor with one order of its dims, or with one of the formats, got {describe(x)} with "
        f"strides {x.strides}; omit ambiguity_check"
    )


def untyped_storage(x: Tensor) -> Storage:
    """Return the storage of x as bytes."""
    return x.storage.seen_as(uint8)


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


def volatile(x: Tensor) -> bool:
    """Return False.  PyTorch replaced this attribute by `no_grad`; an assignment to it has no effect and warns."""
    return False


def set_volatile(x: Tensor, value: bool) -> None:
    """Warn that an assignment to `volatile` has no effect."""
    warn("volatile has no effect; write `with mg.no_grad():`")


def get_device(x: Tensor) -> int:
    """Return the index of the tensor's CUDA device, or -1 for a tensor on the CPU."""
    return x.device.index if x.device.kind == "cuda" else -1


# ---- kinds of tensors -----------------------------------------------------------------------------------------------


@public(namespace=MG)
def is_complex(input: Tensor) -> bool:
    """Return whether the dtype is complex."""
    expect_tensors("is_complex", input)
    return input.dtype.is_complex


@public(namespace=MG)
def is_nonzero(input: Tensor) -> bool:
    """Return whether the only element is not zero.  Raises ArgumentError for another number of elements."""
    expect_tensors("is_nonzero", input)
    if input.numel() != 1:
        raise ArgumentError(
            f"is_nonzero: expected a tensor of one element, got {describe(input)}; use .any() or .all() for several "
            "elements"
        )
    return bool(input)


@public(namespace=MG)
def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Return whether two tensors have the same shape."""
    expect_tensors("is_same_size", input, other)
    return input.shape == other.shape


def is_signed(x: Tensor) -> bool:
    """Return whether the dtype has negative numbers."""
    return x.dtype.is_signed


def is_set_to(x: Tensor, tensor: Tensor) -> bool:
    """Return whether another tensor has the same memory and the same layout."""
    return x.storage is tensor.storage and x.layout == tensor.layout


def same(name: str) -> Callable[[Tensor], Tensor]:
    """Return a conversion method that returns the tensor itself, because every tensor is dense and has its own sign."""

    def method(x: Tensor) -> Tensor:
        return x

    method.__name__ = method.__qualname__ = name
    method.__doc__ = "Return x itself: it is dense, and its sign is that of its elements."
    return method


def never(name: str, noun: str = "tensor") -> Callable[[Tensor], bool]:
    """Return a method that returns False, for a kind of tensor or of device that minigrad does not have."""

    def answer(x: Tensor) -> bool:
        return False

    answer.__name__ = answer.__qualname__ = name
    answer.__doc__ = f"Return False: there is no such {noun}."
    return answer


def itemsize(x: Tensor) -> int:
    """Return the number of bytes of an element."""
    return x.dtype.itemsize


def record_stream(x: Tensor, stream: Any) -> None:
    """Do nothing: the method exists for code from PyTorch; minigrad reuses the memory of a device in stream order."""


# ---- as another -----------------------------------------------------------------------------------------------------


def type(x: Tensor, dtype: Any = None, non_blocking: bool = False) -> Any:
    """Return x in another dtype; without `dtype`, return the name of the dtype of x, such as "float32".

    The conversion is that of `to`.
    dtype: a dtype, one of PyTorch's old constructors such as `mg.LongTensor`, or the name of a dtype or a constructor.
    """
    if dtype is None:
        return x.dtype.name
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
            f"pin_memory: expected a tensor that does not require a gradient, got {describe(x)}; pin x.detach()"
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
    return x.view(other.shape)


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


# ---- sizes in place -------------------------------------------------------------------------------------------------


def resize_(x: Tensor, *size: int | Sequence[int], memory_format: Any = None) -> Tensor:
    """Change the shape of x, in place, and return x, whose elements are then those of its memory, in order.

    If the memory has too few elements, x moves to new memory, its further elements are undefined, and its views stay on
    the old memory.  This counts as a write, so a graph that saved x detects it.
    Raises GradientError if x requires a gradient.
    """
    if x.requires_grad:
        raise GradientError(
            f"resize_: expected a tensor that does not require a gradient, got {describe(x)}; use reshape, which is "
            "recorded"
        )
    shape = as_shape(size, "resize_")
    fresh = layout_in("resize_", shape, memory_format)
    if shape == x.shape and memory_format not in CHANNELS_LAST:
        return x
    # PyTorch has no negative strides: its `flip` is a copy.
    memory = x.reshape(-1) if min(x.strides, default=0) < 0 else x
    first, kept = memory.offset, memory.storage.numel - memory.offset
    layout = Layout.make(shape, fresh.strides, first)
    if layout.numel > kept:
        larger = creation.empty(layout.numel, dtype=x.dtype, device=x.device)
        larger[:kept] = Tensor(memory.storage, Layout.contiguous((kept,), first))
        memory, layout = larger, fresh
    if memory is not x:
        move(x, memory.storage, layout)
    else:
        rebind(x, x.storage, layout)
        x.storage.version += 1
    return x


def resize_as_(x: Tensor, other: Tensor, *, memory_format: Any = None) -> Tensor:
    """Change the shape of x to that of `other`, in place; see `resize_`.

    memory_format: `mg.preserve_format` is the format of `other`.
    """
    expect_tensors("resize_as_", x, other)
    chosen = format_of(other.layout) if memory_format is preserve_format else memory_format
    return resize_(x, other.shape, memory_format=chosen)


def set_(
    x: Tensor, source: Any = None, storage_offset: int = 0, size: Sequence[int] | None = None,
    stride: Sequence[int] | None = None,
) -> Tensor:  # fmt: skip
    """Make x a tensor over other memory, in place, and return x.

    source: a tensor or a storage of the dtype and the device of x, or the bytes of one; None empties x.  size, stride,
    storage_offset: the elements of a storage; without `size` they are those of a tensor, or all elements in one dim.
    It counts as a write to the memory of the source, so a graph that saved that memory raises StorageError in its
    backward pass.
    Raises GradientError if x requires a gradient and the write would be recorded, DTypeError for another dtype,
    StorageError outside the memory.
    """
    if x.requires_grad and (mode.enabled or not x.is_variable):
        raise GradientError(
            "set_: expected a leaf under mg.no_grad() or a tensor that does not require a gradient, got "
            f"{describe(x)}; pass x.detach()"
        )
    source = creation.empty(0, dtype=x.dtype, device=x.device) if source is None else source
    storage = source.storage if isinstance(source, Tensor) else source.read_as(x.dtype)
    if (storage.dtype, storage.device) != (x.dtype, x.device):
        raise DTypeError(
            f"set_: source must be {x.dtype} on {x.device} as {describe(x)}, got {storage.dtype} on {storage.device}; "
            "convert it with .to(...)"
        )
    if size is None:
        layout = source.layout if isinstance(source, Tensor) else Layout.contiguous((storage.numel,))
    else:
        layout = Layout.contiguous(as_shape((size,), "set_"), storage_offset)
        layout = layout if stride is None else layout.as_strided(layout.shape, tuple(stride), storage_offset)
    if not layout.fits(storage.numel):
        raise StorageError(
            f"set_: size and stride must stay inside the {storage.numel} elements of source, got {layout}; reduce size"
        )
    move(x, storage, layout)
    return x


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


def dist(x: Tensor, other: Tensor, p: float = 2) -> Tensor:
    """Return the p-norm of x - other: see `mg.dist`."""
    return vector_norm(arithmetic.sub(x, other), p)


FUNCTIONS = (
    size, dim, dim_order, stride, storage_offset, untyped_storage, element_size, is_floating_point, type, type_as, cpu,
    cuda, pin_memory,
    is_pinned, view_as, reshape_as, expand_as, sum_to_size, get_device, resize_, resize_as_, set_, share_memory_, norm,
    dist, is_complex, is_nonzero, is_same_size, is_signed, is_set_to, record_stream,
    *[same(name) for name in ("resolve_neg", "to_dense")],
    *[never(name) for name in ("is_conj", "is_neg", "is_distributed", "is_shared")],
)  # fmt: skip
PROPERTIES = (
    nbytes, itemsize, is_cuda, is_cpu,
    *[never(f"is_{kind}", "device") for kind in ("xpu", "mps", "meta")],
    *[never(f"is_{kind}") for kind in ("sparse", "sparse_csr", "quantized", "nested", "mkldnn", "vulkan", "ipu", "xla",
                                       "maia", "mtia")],
)  # fmt: skip
