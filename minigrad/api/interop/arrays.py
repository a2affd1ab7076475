"""Conversion to and from NumPy and other libraries that use DLPack or the array protocol."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from minigrad.backends.registry import ACCELERATOR, backend_of, device_of_dlpack
from minigrad.core.device import as_device
from minigrad.core.dtype import default_float
from minigrad.core.layout import Layout
from minigrad.core.storage import Storage
from minigrad.errors import ArgumentError, DeviceError, DTypeError, GradientError, ShapeError
from minigrad.ops.casting import to
from minigrad.ops.creation import from_numpy, leaf
from minigrad.runtime.data import host_array, refuse_masked
from minigrad.runtime.journal import note_left
from minigrad.runtime.recording import mode
from minigrad.runtime.tensor import Tensor, describe

HOST = 1  # DLPack's number for the device kind CPU


def numpy(x: Tensor, *, force: bool = False) -> Any:
    """Return a NumPy array that shares the memory of the tensor, so a write to one is visible in the other.

    A bfloat16 tensor becomes an array of dtype `ml_dtypes.bfloat16`.  The array is read-only if gradients flow through
    another tensor on the same memory, as after `detach()`, because a graph would not detect a write.
    `x.detach().clone().numpy()` returns a writable array.
    force: whether to detach a tensor that requires a gradient and to copy a tensor from another device first.
    Raises GradientError for a tensor that requires a gradient, unless force=True or under `no_grad`; detach() it first.
    """
    if force:
        return numpy(x.detach().cpu())
    refuse_tracked(x, "numpy")
    note_left(x, "numpy")
    return shared_array(x)


def refuse_tracked(x: Tensor, name: str) -> None:
    """Raise GradientError for a tensor that requires a gradient, unless recording is off."""
    if x.requires_grad and mode.enabled:
        raise GradientError(
            f"{name}: expected a tensor that does not require a gradient, got {describe(x)}, which does; use "
            "x.detach().numpy()"
        )


def shared_array(x: Tensor) -> Any:
    """Return an array on the memory of a tensor; it is read-only if a graph may have saved the elements."""
    array = host_array(x)
    if x.storage.tracked is True:
        array.flags.writeable = False
    return array


def to_array(x: Tensor, dtype: Any = None, copy: bool | None = None) -> Any:
    """Return the array for `np.asarray(x)`: a copy if x requires a gradient, otherwise an array with shared memory.

    With copy=True the array is always a copy, and with copy=False the memory is always shared.
    Raises GradientError with copy=False if x requires a gradient, and ArgumentError (a ValueError, as NumPy requires)
    with copy=False if the dtype differs.
    """
    if copy is not False:
        note_left(x, "np.asarray")
    array = numpy(x) if copy is False else shared_array(x)
    if dtype is not None and array.dtype != dtype:
        if copy is False:
            raise ArgumentError(
                f"__array__: copy=False requires that dtype is the dtype of the tensor {describe(x)}, got dtype "
                f"{np.dtype(dtype)}; pass copy=None"
            )
        return array.astype(dtype)
    return array.copy() if copy or x.requires_grad else array


def dlpack(
    x: Tensor, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None
) -> Any:
    """Return the DLPack capsule of a tensor.

    The protocol defines the arguments.  For host memory, they are passed to NumPy unchanged.  If gradients flow through
    another tensor on the same memory, the capsule has the read-only flag, which exists since version 1 of the protocol.
    PyTorch requests this version but ignores the flag, and minigrad cannot detect PyTorch's writes.
    Raises GradientError if x requires a gradient, DTypeError for bfloat16 on the CPU, for which NumPy has no type,
    ShapeError for negative strides, because PyTorch 2.13 would abort the process, and DeviceError if x is in the memory
    of a device and `dl_device` is neither this device nor, without copy=False, the host.  For host memory, NumPy raises
    BufferError for another `dl_device` than the host.
    """
    if any(s < 0 for s in x.strides):
        raise ShapeError(
            f"__dlpack__: DLPack cannot describe {describe(x)} with the strides {x.strides}; export x.contiguous()",
            op="dlpack",
        )
    refuse_tracked(x, "numpy")
    versioned = max_version is not None and max_version[0] >= 1
    backend = backend_of(x.device)
    if backend.dlpack_device != HOST:
        if dl_device is not None and tuple(dl_device) != dlpack_device(x):
            if tuple(dl_device) != (HOST, 0) or copy is False:
                raise DeviceError(
                    f"__dlpack__: dl_device must be the device {x.device} of the tensor, or the host without "
                    f"copy=False, got {dl_device} for {describe(x)}; move the tensor with .to(device)",
                    op="dlpack",
                )
            return dlpack(x.to("cpu"), max_version=max_version)
        shown = x.clone() if copy else x
        readonly = shown.storage.tracked is True
        return backend.capsule(shown.storage, shown.layout, stream=stream, versioned=versioned, readonly=readonly)
    if x.dtype.name == "bfloat16":
        raise DTypeError(
            f"__dlpack__: NumPy has no dtype for {describe(x)}; convert the tensor with .to(mg.float32)", op="dlpack"
        )
    arguments = {"stream": stream, "max_version": max_version, "dl_device": dl_device, "copy": copy}
    # Version 1 of the protocol has a read-only flag; a consumer of an older version gets the memory without one.
    array = shared_array(x) if versioned else host_array(x)
    return array.__dlpack__(**{name: value for name, value in arguments.items() if value is not None})


def dlpack_device(x: Tensor) -> tuple[int, int]:
    """Return DLPack's id of the device, 1 for the CPU or 2 for CUDA, and the index of the device."""
    return backend_of(x.device).dlpack_device, x.device.index


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """Return a tensor that shares memory with an object of another library.

    ext_tensor: Object with `__dlpack__` on the CPU or on a supported device, or with `__cuda_array_interface__`.
    Earlier work of the other library on its memory completes before minigrad's.
    device: Device of the result; by default that of the object.
    copy: True always copies the memory. False raises if a copy is needed. None copies only if it is needed.

    Raises DTypeError if the object supports neither protocol.
    Raises DeviceError if the device of the object does not support shared memory, or if `copy` is False and `device` is
    another one.
    Raises StorageError if the memory is read-only memory of a device.
    """
    x = shared_by_dlpack(ext_tensor)
    if device is None or as_device(device) is x.device:
        return x.clone() if copy else x
    if copy is False:
        raise DeviceError(
            f"from_dlpack: copy=False requires memory on {device}, got {describe(x)} on {x.device}; pass copy=None"
        )
    return x.to(device)


def from_file(
    filename: str, shared: bool | None = None, size: int = 0, *, dtype: Any = None, requires_grad: bool = False
) -> Tensor:
    """Return a vector over the first `size` elements of a file, which is mapped into memory.

    filename: the path.  shared: whether writes change the file; otherwise only this process sees its writes.
    """
    storage = Storage.from_file(filename, dtype or default_float(), size, shared=bool(shared))
    return leaf(Tensor(storage, Layout.contiguous((size,))), requires_grad)


def shared_by_dlpack(source: Any) -> Tensor:
    """Return a tensor on the memory of an object of another library, on the device of that object."""
    refuse_masked("from_dlpack", source)
    if type(source).__name__ == "PyCapsule":  # DLPack's older form, as from `x.__dlpack__()`
        source = SimpleNamespace(__dlpack__=lambda capsule=source, **options: capsule)
    if hasattr(source, "__dlpack__"):
        number, index = source.__dlpack_device__() if hasattr(source, "__dlpack_device__") else (HOST, 0)
        if number == HOST:
            return from_numpy(np.from_dlpack(source))
        where = device_of_dlpack(int(number), int(index))
    elif hasattr(source, "__cuda_array_interface__"):
        where = as_device(ACCELERATOR)
    else:
        raise DTypeError(
            f"from_dlpack: expected an object with the method __dlpack__, got {describe(source)}; copy a list with "
            "mg.tensor(...)"
        )
    return Tensor(*backend_of(where).adopt(source, where))


def to_device(x: Tensor, device: Any, /, *, stream: None = None) -> Tensor:
    """Return x on a device, under the array API's name of `to`; x itself if it is on that device.

    Raises ArgumentError for a stream, because minigrad runs the work on a device in order.
    """
    if stream is not None:
        raise ArgumentError(f"to_device: stream must be None, got {stream!r}; omit stream")
    return to(x, device=device)


def array_interface(x: Tensor) -> dict[str, Any]:
    """Return `__cuda_array_interface__`, which CuPy, Numba and other libraries read to share memory on a CUDA device.

    Raises AttributeError, so that hasattr works, for a tensor on another device and for bfloat16, for which the
    interface has no name.  Raises GradientError if the tensor requires a gradient.
    """
    result = backend_of(x.device).array_interface(x.storage, x.layout)
    if result is None:
        raise AttributeError(f"{describe(x)} on {x.device} has no __cuda_array_interface__")
    refuse_tracked(x, "__cuda_array_interface__")
    return result
