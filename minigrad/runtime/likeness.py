"""Whether something can stand for a tensor: what `.grad` is given, and what a hook gives back."""

from __future__ import annotations

from typing import Any

from minigrad.errors import DeviceError, DTypeError, GradientError, MinigradError, ShapeError
from minigrad.runtime.tensor import Tensor, describe


def unlike(value: Any, like: Tensor) -> tuple[type[MinigradError], str] | None:
    """The error to raise for what has not the shape, dtype and device of `like`, and what was given, in words."""
    if not isinstance(value, Tensor):
        return GradientError, describe(value)
    if value.shape != like.shape:
        return ShapeError, describe(value)
    if value.dtype is not like.dtype:
        return DTypeError, describe(value)
    if value.device is not like.device:
        return DeviceError, f"{describe(value)} on {value.device}"
    return None
