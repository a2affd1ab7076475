"""Upsampling of images."""

from __future__ import annotations

from typing import Any

from minigrad.nn import functional as F
from minigrad.nn.modules.derived import FromFunction
from minigrad.runtime.tensor import Tensor

__all__ = ["Upsample", "UpsamplingBilinear2d", "UpsamplingNearest2d"]


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
