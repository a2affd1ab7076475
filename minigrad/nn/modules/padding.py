"""Padding of the dims after the channels: constant, reflected, replicated or circular."""

from __future__ import annotations

from typing import Any

from minigrad.nn import functional as F
from minigrad.nn.modules.derived import repeated
from minigrad.nn.modules.module import Module
from minigrad.runtime.tensor import Tensor

__all__ = [
    "CircularPad1d", "CircularPad2d", "CircularPad3d", "ConstantPad1d", "ConstantPad2d", "ConstantPad3d",
    "ReflectionPad1d", "ReflectionPad2d", "ReflectionPad3d", "ReplicationPad1d", "ReplicationPad2d",
    "ReplicationPad3d", "ZeroPad1d", "ZeroPad2d", "ZeroPad3d",
]  # fmt: skip


class _Pad(Module):
    """Padding in one mode of `mg.nn.functional.pad`; `padding` is one number, or pairs that start with the last dim."""

    _dims: int
    _mode: str
    _shown = "padding /"

    def __init_subclass__(cls, dims: int = 0, mode: str = "", **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if dims:
            cls._dims, cls._mode = dims, mode

    def __init__(self, padding: int | tuple[int, ...]) -> None:
        super().__init__()
        self.padding = repeated(padding, 2 * self._dims)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self._mode)


class _ConstantPad(_Pad):
    """Padding with a value."""

    _shown = "padding value"

    def __init__(self, padding: int | tuple[int, ...], value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)


class _ZeroPad(_ConstantPad):
    """Padding with zeros."""

    _shown = "padding /"

    def __init__(self, padding: int | tuple[int, ...]) -> None:
        super().__init__(padding, 0.0)


class ConstantPad1d(_ConstantPad, dims=1, mode="constant"):
    """Pad the last dim with `value`; `padding` is (left, right), or one number."""


class ConstantPad2d(_ConstantPad, dims=2, mode="constant"):
    """Pad images with `value`; `padding` is (left, right, top, bottom), or one number for all sides.

    >>> mg.nn.ConstantPad2d((1, 0, 0, 0), 7.0)(mg.zeros(1, 1, 1, 2)).tolist()
    [[[[7.0, 0.0, 0.0]]]]
    """


class ConstantPad3d(_ConstantPad, dims=3, mode="constant"):
    """Pad volumes with `value`; `padding` is (left, right, top, bottom, front, back), or one number for all sides."""


class ZeroPad1d(_ZeroPad, dims=1, mode="constant"):
    """Pad the last dim with zeros; `padding` is the same as for `ConstantPad1d`."""


class ZeroPad2d(_ZeroPad, dims=2, mode="constant"):
    """Pad images with zeros; `padding` is the same as for `ConstantPad2d`."""


class ZeroPad3d(_ZeroPad, dims=3, mode="constant"):
    """Pad volumes with zeros; `padding` is the same as for `ConstantPad3d`."""


class ReflectionPad1d(_Pad, dims=1, mode="reflect"):
    """Pad the last dim by reflection, without repeating the outer elements."""


class ReflectionPad2d(_Pad, dims=2, mode="reflect"):
    """Pad images by reflection, without repeating the outer pixels."""


class ReflectionPad3d(_Pad, dims=3, mode="reflect"):
    """Pad volumes by reflection, without repeating the outer elements."""


class ReplicationPad1d(_Pad, dims=1, mode="replicate"):
    """Pad the last dim with copies of its first and last element."""


class ReplicationPad2d(_Pad, dims=2, mode="replicate"):
    """Pad images with copies of their outer pixels."""


class ReplicationPad3d(_Pad, dims=3, mode="replicate"):
    """Pad volumes with copies of their outer elements."""


class CircularPad1d(_Pad, dims=1, mode="circular"):
    """Pad the last dim with elements from its opposite end."""


class CircularPad2d(_Pad, dims=2, mode="circular"):
    """Pad images with pixels from their opposite side."""


class CircularPad3d(_Pad, dims=3, mode="circular"):
    """Pad volumes with elements from their opposite side."""
