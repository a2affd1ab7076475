"""Layers that rearrange elements: flattening, shuffles, windows of images as columns, padding, and resizing."""

from __future__ import annotations

from typing import Any

from minigrad.errors import ArgumentError
from minigrad.nn import functional as F
from minigrad.nn.modules.derived import FromFunction, repeated
from minigrad.nn.modules.module import Module
from minigrad.runtime.tensor import Tensor


class Flatten(Module):
    """Join the dims from `start_dim` to `end_dim` into one.

    >>> mg.nn.Flatten()(mg.zeros(2, 3, 4)).shape
    (2, 12)
    """

    _shown = "start_dim end_dim"

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input: Tensor) -> Tensor:
        return input.flatten(self.start_dim, self.end_dim)


class Unflatten(Module):
    """Split one dim into several dims with the lengths `unflattened_size`.

    >>> mg.nn.Unflatten(1, (3, 4))(mg.zeros(2, 12)).shape
    (2, 3, 4)
    """

    _shown = "dim unflattened_size"

    def __init__(self, dim: int, unflattened_size: Any) -> None:
        super().__init__()
        if not isinstance(dim, int):
            raise ArgumentError(
                f"Unflatten: dim must be an int, because tensors have no named dims, got {dim!r}; pass dim=1, for "
                "example"
            )
        self.dim, self.unflattened_size = dim, unflattened_size

    def forward(self, input: Tensor) -> Tensor:
        return input.unflatten(self.dim, self.unflattened_size)


class PixelShuffle(FromFunction, of=F.pixel_shuffle, fields="upscale_factor"):
    """Move channels to pixels: (N, C * r * r, H, W) becomes (N, C, H * r, W * r)."""


class PixelUnshuffle(FromFunction, of=F.pixel_unshuffle, fields="downscale_factor"):
    """Move pixels to channels; this is the inverse of `PixelShuffle`."""


class ChannelShuffle(FromFunction, of=F.channel_shuffle, fields="groups"):
    """Interleave the channels: channel k of group g becomes channel g of group k."""


class Unfold(FromFunction, of=F.unfold, fields="kernel_size dilation padding stride"):
    """Return the windows of images as columns: (N, C * window, number of windows)."""


class Fold(FromFunction, of=F.fold, fields="output_size kernel_size dilation padding stride"):
    """Sum the windows of `Unfold` into images of size `output_size`."""


# ---- padding ---------------------------------------------------------------------------------------------------------


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


# ---- resizing --------------------------------------------------------------------------------------------------------


class Upsample(FromFunction, of=F.interpolate, fields="size scale_factor mode align_corners recompute_scale_factor"):
    """Resize the dims after the channels to a given size or by a factor.

    size: Size of the result, without batch and channel dims.  Pass either `size` or `scale_factor`.
    scale_factor (float or tuple of float): Factor for each resized dim.
    align_corners: Whether the centres of the corner pixels of input and result coincide.  Only for linear and cubic
    modes.
    recompute_scale_factor: Whether positions are computed from the quotient of the integer sizes, instead of
    `scale_factor`.

    >>> mg.nn.Upsample(scale_factor=2)(mg.zeros(1, 1, 3, 3)).shape
    (1, 1, 6, 6)
    """

    def _prepared(self, fields: dict[str, Any]) -> dict[str, Any]:
        factor = fields["scale_factor"]
        if factor is not None:
            fields["scale_factor"] = tuple(map(float, factor)) if isinstance(factor, (tuple, list)) else float(factor)
        return fields

    def extra_repr(self) -> str:
        name = "size" if self.scale_factor is None else "scale_factor"
        return f"{name}={getattr(self, name)!r}, mode={self.mode!r}"


class _Fixed(Upsample, fields="size scale_factor"):
    """Upsampling of 2-d images in one mode."""

    def forward(self, input: Tensor) -> Tensor:
        align = True if self.mode == "bilinear" else None
        return F.interpolate(input, self.size, self.scale_factor, self.mode, align)


class UpsamplingNearest2d(_Fixed, of=F.interpolate):
    """Resize images (N, C, H, W) by repeating pixels."""

    mode = "nearest"


class UpsamplingBilinear2d(_Fixed, of=F.interpolate):
    """Resize images (N, C, H, W) by bilinear interpolation with align_corners=True."""

    mode = "bilinear"
