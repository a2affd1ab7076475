"""Layers that rearrange elements: flattening, shuffles, and windows of images as columns."""

from __future__ import annotations

from typing import Any

from minigrad.errors import ArgumentError
from minigrad.nn import functional as F
from minigrad.nn.modules.derived import FromFunction
from minigrad.nn.modules.module import Module
from minigrad.runtime.tensor import Tensor

__all__ = ["ChannelShuffle", "Flatten", "Fold", "PixelShuffle", "PixelUnshuffle", "Unflatten", "Unfold"]


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
