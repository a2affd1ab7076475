"""To and from NumPy and whoever speaks DLPack or the array protocol."""

from __future__ import annotations

from typing import Any

import numpy as np

from minigrad.errors import ArgumentError, DTypeError, GradientError, ShapeError
from minigrad.ops.creation import from_numpy
from minigrad.runtime.tensor import Tensor, describe, host_array


def numpy(x: Tensor) -> Any:
    """The elements as a NumPy array that shares memory: a write to either shows in both.

    bfloat16 comes as ml_dtypes.bfloat16.  Raises GradientError for a tensor that requires a gradient; detach() it
    first.  The array is read-only where gradients flow through others on the same memory, as after detach(): a graph
    would not notice a write; x.detach().clone().numpy() can be written.
    """
    refuse_tracked(x, "numpy")
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
    """The DLPack capsule; x must not require a gradient, and bfloat16 has no NumPy type to travel as.

    The arguments are the protocol's, and go to NumPy as they come.  As with numpy(), memory that gradients flow through
    is read-only, to who asks for a version that can say so; PyTorch asks, and writes all the same, unnoticed.
    Negative strides are refused: PyTorch 2.13 aborts the process when it is given one.
    """
    if any(s < 0 for s in x.strides):
        raise ShapeError(f"dlpack: {describe(x)} has strides {x.strides}; export x.contiguous()", op="dlpack")
    if x.dtype.name == "bfloat16":
        raise DTypeError(f"dlpack: NumPy cannot export {describe(x)}; convert with .to(mg.float32)", op="dlpack")
    given = {"stream": stream, "max_version": max_version, "dl_device": dl_device, "copy": copy}
    refuse_tracked(x, "numpy")
    # Version 1 of the protocol can say that an array is read-only; those who speak an older one get what there is.
    array = shared_array(x) if max_version is not None and max_version[0] >= 1 else host_array(x)
    return array.__dlpack__(**{name: value for name, value in given.items() if value is not None})


def dlpack_device(x: Tensor) -> tuple[int, int]:
    """DLPack's name of the device: the CPU."""
    return 1, 0


def from_dlpack(source: Any) -> Tensor:
    """A tensor that shares memory with any object that has `__dlpack__` on the CPU."""
    if not hasattr(source, "__dlpack__"):
        raise DTypeError(f"from_dlpack: {describe(source)} has no __dlpack__; mg.tensor copies lists", op="from_dlpack")
    return from_numpy(np.from_dlpack(source))


NAMES = {"numpy": numpy, "__array__": to_array, "__dlpack__": dlpack, "__dlpack_device__": dlpack_device}
for _name, _function in NAMES.items():
    setattr(Tensor, _name, _function)
