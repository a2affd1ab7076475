"""Conversion to and from NumPy and other libraries that use DLPack or the array protocol."""

from __future__ import annotations

from typing import Any

import numpy as np

from minigrad.backends.registry import ACCELERATOR, backend_of, device_of_dlpack
from minigrad.core.device import as_device
from minigrad.errors import ArgumentError, DeviceError, DTypeError, GradientError, ShapeError
from minigrad.ops.casting import to
from minigrad.ops.creation import from_numpy
from minigrad.runtime.data import host_array, refuse_masked
from minigrad.runtime.journal import note_left
from minigrad.runtime.tensor import Tensor, describe


def numpy(x: Tensor) -> Any:
    """Return the elements as a NumPy array that shares memory: a write to either shows in both.

    bfloat16 comes as ml_dtypes.bfloat16.  Raises GradientError for a tensor that requires a gradient; detach() it
    first.  The array is read-only where gradients flow through others on the same memory, as after detach(): a graph
    would not detect a write; x.detach().clone().numpy() can be written.
    """
    refuse_tracked(x, "numpy")
    note_left(x, "numpy")
    return shared_array(x)


def refuse_tracked(x: Tensor, name: str) -> None:
    """Raise GradientError for a tensor that requires a gradient."""
    if x.requires_grad:
        raise GradientError(f"{name}: {describe(x)} requires a gradient; use x.detach().numpy()", op=name)


def shared_array(x: Tensor) -> Any:
    """Return the memory as an array, which may be written only if no graph can have saved its elements."""
    array = host_array(x)
    if x.storage.tracked is True:
        array.flags.writeable = False
    return array


def to_array(x: Tensor, dtype: Any = None, copy: bool | None = None) -> Any:
    """Serve np.asarray(x): a copy for tensors that require a gradient, shared memory otherwise.

    copy=False shares or raises: GradientError for a tensor that requires a gradient, ArgumentError (a ValueError, as
    NumPy requires) for another dtype.
    """
    array = numpy(x) if copy is False else shared_array(x)
    if dtype is not None and array.dtype != dtype:
        if copy is False:
            raise ArgumentError(f"array: {describe(x)} as {np.dtype(dtype)} needs a copy, and copy=False forbids it")
        return array.astype(dtype)
    return array.copy() if copy or x.requires_grad else array


def dlpack(
    x: Tensor, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None
) -> Any:
    """Return the DLPack capsule; x must not require a gradient, and NumPy has no type for bfloat16 on the CPU.

    The protocol defines the arguments; for host memory they go to NumPy unchanged.  As with numpy(), memory that
    gradients flow through is read-only if the consumer requests a version with that flag.  PyTorch requests it, and
    still writes, undetected.  Negative strides are refused: PyTorch 2.13 aborts the process for them.
    """
    if any(s < 0 for s in x.strides):
        raise ShapeError(f"dlpack: {describe(x)} has strides {x.strides}; export x.contiguous()", op="dlpack")
    refuse_tracked(x, "numpy")
    versioned = max_version is not None and max_version[0] >= 1
    backend = backend_of(x.device)
    if backend.dlpack_device != HOST:
        if dl_device is not None and tuple(dl_device) != dlpack_device(x):
            if tuple(dl_device) != (HOST, 0) or copy is False:
                raise DeviceError(f"dlpack: {describe(x)} on {x.device} is not on device {dl_device}", op="dlpack")
            return dlpack(x.to("cpu"), max_version=max_version)
        shown = x.clone() if copy else x
        readonly = shown.storage.tracked is True
        return backend.capsule(shown.storage, shown.layout, stream=stream, versioned=versioned, readonly=readonly)
    if x.dtype.name == "bfloat16":
        raise DTypeError(f"dlpack: NumPy cannot export {describe(x)}; convert with .to(mg.float32)", op="dlpack")
    arguments = {"stream": stream, "max_version": max_version, "dl_device": dl_device, "copy": copy}
    # Version 1 of the protocol has a read-only flag; a consumer of an older version gets the memory without one.
    array = shared_array(x) if versioned else host_array(x)
    return array.__dlpack__(**{name: value for name, value in arguments.items() if value is not None})


def dlpack_device(x: Tensor) -> tuple[int, int]:
    """Return DLPack's id of the device: 1 is the CPU, 2 CUDA; and its index."""
    return backend_of(x.device).dlpack_device, x.device.index


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """Return a tensor that shares memory with an object of another library, which has `__dlpack__`.

    It may be on the CPU, or on a device that takes such memory; `__cuda_array_interface__` is accepted too.  Earlier
    work of the other library on that memory completes before minigrad's.
    device: the device of the tensor.  copy: True for memory of its own, False to raise where a copy would be needed.
    Raises DTypeError for other objects, DeviceError for a device that takes none, or that only a copy would reach,
    StorageError for read-only memory of a device.
    """
    x = shared_by_dlpack(ext_tensor)
    if device is None or as_device(device) is x.device:
        return x.clone() if copy else x
    if copy is False:
        raise DeviceError(
            f"from_dlpack: {describe(x)} is on {x.device}, and only a copy could be on {device}", op="from_dlpack"
        )
    return x.to(device)


def shared_by_dlpack(source: Any) -> Tensor:
    """Return a tensor over the memory of an object of another library."""
    refuse_masked("from_dlpack", source)
    if hasattr(source, "__dlpack__"):
        number, index = source.__dlpack_device__() if hasattr(source, "__dlpack_device__") else (HOST, 0)
        if number == HOST:
            return from_numpy(np.from_dlpack(source))
        where = device_of_dlpack(int(number), int(index))
    elif hasattr(source, "__cuda_array_interface__"):
        where = as_device(ACCELERATOR)
    else:
        raise DTypeError(f"from_dlpack: {describe(source)} has no __dlpack__; mg.tensor copies lists", op="from_dlpack")
    return Tensor(*backend_of(where).adopt(source, where))


def array_namespace(x: Tensor, *, api_version: str | None = None) -> Any:
    """Return the module with the functions of the array API standard: `mg.array_api`.

    Raises ArgumentError, a ValueError, for a version that it does not have.
    """
    from minigrad.api import array_api

    if api_version not in (None, "2021.12", "2022.12", "2023.12", array_api.__array_api_version__):
        raise ArgumentError(f"__array_namespace__: version {api_version!r} of the standard is not there; leave it out")
    return array_api


def to_device(x: Tensor, device: Any, /, *, stream: None = None) -> Tensor:
    """Return x on a device, as the array API standard spells it; x itself where it is there.

    Raises ArgumentError for a stream: work on a device is in order here.
    """
    if stream is not None:
        raise ArgumentError(f"to_device: expected stream=None, got {stream!r}; leave it out", op="to_device")
    return to(x, device=device)


def array_interface(x: Tensor) -> dict[str, Any]:
    """Return the description that CuPy, Numba and others read to share a tensor's memory on a CUDA device.

    Raises AttributeError for a tensor elsewhere and for bfloat16, which has no name there, so hasattr works.  Raises
    GradientError for one that requires a gradient.
    """
    result = backend_of(x.device).array_interface(x.storage, x.layout)
    if result is None:
        raise AttributeError(f"{describe(x)} on {x.device} has no __cuda_array_interface__")
    refuse_tracked(x, "__cuda_array_interface__")
    return result


def array_function(x: Tensor, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """Serve a NumPy function that is called on tensors: see `numpy_calls.py`."""
    from minigrad.api import numpy_calls

    return numpy_calls.array_function(x, function, types, args, kwargs)


class ArrayUfunc:
    """`__array_ufunc__`: of the class, where ufuncs search for it, a function; of a tensor None.

    Masked arrays read it from the tensor.  With a function there they would convert the tensor and lose its gradient;
    with None the tensor's own operator refuses them.
    """

    def __get__(self, x: Tensor | None, kind: type) -> Any:
        if x is not None:
            return None
        from minigrad.api import numpy_calls

        return numpy_calls.ufunc

    def __set__(self, x: Tensor, value: Any) -> None:
        raise AttributeError("__array_ufunc__ cannot be set")


HOST = 1  # DLPack's id of the CPU
NAMES: dict[str, Any] = {
    "numpy": numpy, "__array__": to_array, "__dlpack__": dlpack, "__dlpack_device__": dlpack_device,
    "__cuda_array_interface__": property(array_interface), "__array_namespace__": array_namespace,
    "to_device": to_device, "__array_function__": array_function, "__array_ufunc__": ArrayUfunc(),
}  # fmt: skip
for _name, _function in NAMES.items():
    setattr(Tensor, _name, _function)
