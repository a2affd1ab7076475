"""To and from NumPy and whoever speaks DLPack or the array protocol."""

from __future__ import annotations

from typing import Any

import numpy as np

from minigrad.errors import DTypeError, GradientError, ShapeError
from minigrad.ops.creation import from_numpy
from minigrad.runtime.tensor import Tensor, describe, host_array


def numpy(x: Tensor) -> Any:
    """The elements as a NumPy array that shares memory: a write to either shows in both.

    bfloat16 comes as ml_dtypes.bfloat16.  Raises GradientError for a tensor that requires a gradient: a write through
    the array would go unnoticed; detach() it first.
    """
    if x.requires_grad:
        raise GradientError(f"numpy: {describe(x)} requires a gradient; use x.detach().numpy()", op="numpy")
    return host_array(x)


def to_array(x: Tensor, dtype: Any = None, copy: bool | None = None) -> Any:
    """What np.asarray(x) calls: a copy for tensors that require a gradient, shared memory otherwise."""
    array = numpy(x) if copy is False else host_array(x)
    if x.requires_grad:
        array = array.copy()
    return array.astype(dtype) if dtype is not None and array.dtype != dtype else np.array(array) if copy else array


def dlpack(x: Tensor, **arguments: Any) -> Any:
    """The DLPack capsule; x must not require a gradient, and bfloat16 has no NumPy type to travel as.

    Negative strides are refused: PyTorch 2.13 aborts the process when it is given one.
    """
    if any(s < 0 for s in x.strides):
        raise ShapeError(f"dlpack: {describe(x)} has strides {x.strides}; export x.contiguous()", op="dlpack")
    if x.dtype.name == "bfloat16":
        raise DTypeError(f"dlpack: NumPy cannot export {describe(x)}; convert with .to(mg.float32)", op="dlpack")
    return numpy(x).__dlpack__(**arguments)


def from_dlpack(source: Any) -> Tensor:
    """A tensor that shares memory with any object that has `__dlpack__` on the CPU."""
    if not hasattr(source, "__dlpack__"):
        raise DTypeError(f"from_dlpack: {describe(source)} has no __dlpack__; mg.tensor copies lists", op="from_dlpack")
    return from_numpy(np.from_dlpack(source))


Tensor.numpy = numpy  # type: ignore[attr-defined]
Tensor.__array__ = to_array  # type: ignore[attr-defined]
Tensor.__dlpack__ = dlpack  # type: ignore[attr-defined]
Tensor.__dlpack_device__ = lambda x: (1, 0)  # type: ignore[attr-defined]
