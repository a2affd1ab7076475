"""To and from NumPy and whoever speaks DLPack or the array protocol."""

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
    """The elements as a NumPy array that shares memory: a write to either shows in both.

    bfloat16 comes as ml_dtypes.bfloat16.  Raises GradientError for a tensor that requires a gradient; detach() it
    first.  The array is read-only where gradients flow through others on the same memory, as after detach(): a graph
    would not notice a write; x.detach().clone().numpy() can be written.
    """
    refuse_tracked(x, "numpy")
    note_left(x, "numpy")
    return shared_array(x)


def refuse_tracked(x: Tensor, name: str) -> None:
    """Raise GradientError for a tensor that requires a gradient."""
    if x.requires_grad:
        raise GradientError(f"{name}: {describe(x)} requires a gradient; use x.detach().numpy()", op=name)


def shared_array(x: Tensor) -> Any:
    """The memory as an array, which may be written only if no graph can have saved what is there."""
    array = host_array(x)
    if x.storage.tracked is True:
        array.flags.writeable = False
    return array


def to_array(x: Tensor, dtype: Any = None, copy: bool | None = None) -> Any:
    """What np.asarray(x) calls: a copy for tensors that require a gradient, shared memory otherwise.

    copy=False shares or raises: GradientError for a tensor that requires a gradient, ArgumentError (a ValueError, as
    NumPy wants it) for another dtype.
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
    """The DLPack capsule; x must not require a gradient, and on the CPU bfloat16 has no NumPy type to travel as.

    The arguments are the protocol's; for memory of the host they go to NumPy as they come.  As with numpy(), memory
    that gradients flow through is read-only, to who asks for a version that can say so; PyTorch asks, and writes all
    the same, unnoticed.  Negative strides are refused: PyTorch 2.13 aborts the process when it is given one.
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
    # Version 1 of the protocol can say that an array is read-only; those who speak an older one get what there is.
    array = shared_array(x) if versioned else host_array(x)
    return array.__dlpack__(**{name: value for name, value in arguments.items() if value is not None})


def dlpack_device(x: Tensor) -> tuple[int, int]:
    """DLPack's name of the device: 1 is the CPU, 2 CUDA; and which one."""
    return backend_of(x.device).dlpack_device, x.device.index


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor that shares memory with an object of another library, which has `__dlpack__`.

    It may be on the CPU, or on a device that takes such memory; `__cuda_array_interface__` will do too.  Work of the
    other library so far comes before ours on that memory.
    device: where the tensor is to be.  copy: True for memory of its own, False to raise where a copy would be needed.
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
    """A tensor over the memory of an object of another library."""
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
    """The module with the functions of the array API standard: `mg.array_api`.

    Raises ArgumentError, a ValueError, for a version that it does not have.
    """
    from minigrad.api import array_api

    if api_version not in (None, "2021.12", "2022.12", "2023.12", array_api.__array_api_version__):
        raise ArgumentError(f"__array_namespace__: version {api_version!r} of the standard is not there; leave it out")
    return array_api


def to_device(x: Tensor, device: Any, /, *, stream: None = None) -> Tensor:
    """x on a device, as the array API standard spells it; x itself where it is there.

    Raises ArgumentError for a stream: work on a device is in order here.
    """
    if stream is not None:
        raise ArgumentError(f"to_device: expected stream=None, got {stream!r}; leave it out", op="to_device")
    return to(x, device=device)


def array_interface(x: Tensor) -> dict[str, Any]:
    """The description that CuPy, Numba and others read of a tensor in a CUDA device's memory, which they share.

    Raises AttributeError for one elsewhere and for bfloat16, which has no name there: hasattr tells; GradientError for
    one that requires a gradient.
    """
    result = backend_of(x.device).array_interface(x.storage, x.layout)
    if result is None:
        raise AttributeError(f"{describe(x)} on {x.device} has no __cuda_array_interface__")
    refuse_tracked(x, "__cuda_array_interface__")
    return result


def array_function(x: Tensor, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """Serve a function of NumPy that is called on tensors: see `numpy_calls.py`."""
    from minigrad.api import numpy_calls

    return numpy_calls.array_function(x, function, types, args, kwargs)


class ArrayUfunc:
    """`__array_ufunc__`: of the class, where ufuncs look for it, a function; of a tensor None.

    Masked arrays look at the tensor; with a function there they would convert it and lose its gradient, with None they
    let the tensor's own operator refuse them.
    """

    def __get__(self, x: Tensor | None, kind: type) -> Any:
        if x is not None:
            return None
        from minigrad.api import numpy_calls

        return numpy_calls.ufunc

    def __set__(self, x: Tensor, value: Any) -> None:
        raise AttributeError("__array_ufunc__ cannot be set")


HOST = 1  # DLPack's number of the CPU
NAMES: dict[str, Any] = {
    "numpy": numpy, "__array__": to_array, "__dlpack__": dlpack, "__dlpack_device__": dlpack_device,
    "__cuda_array_interface__": property(array_interface), "__array_namespace__": array_namespace,
    "to_device": to_device, "__array_function__": array_function, "__array_ufunc__": ArrayUfunc(),
}  # fmt: skip
for _name, _function in NAMES.items():
    setattr(Tensor, _name, _function)
