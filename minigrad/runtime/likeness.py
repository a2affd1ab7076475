"""Comparison of a value with a tensor in shape, dtype and device: a value for `.grad`, or the result of a hook."""

from __future__ import annotations

from typing import Any

from minigrad.errors import DeviceError, DTypeError, GradientError, MinigradError, ShapeError
from minigrad.runtime.tensor import Tensor, describe


def unlike(value: Any, like: Tensor) -> tuple[type[MinigradError], str] | None:
    """Return the error class for a value that differs from `like` in shape, dtype or device, and a description.

    The result is None if the value fits.
    """
    if not isinstance(value, Tensor):
        return GradientError, describe(value)
    if value.shape != like.shape:
        return ShapeError, describe(value)
    if value.dtype is not like.dtype:
        return DTypeError, describe(value)
    if value.device is not like.device:
        return DeviceError, f"{describe(value)} on {value.device}"
    return None
