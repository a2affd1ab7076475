"""Move elements between the channels and the pixels of images, and permute channels; each op is one copy."""

from __future__ import annotations

from typing import Annotated

from minigrad.core.conditions import Ndim, expect_multiple
from minigrad.core.roles import Number
from minigrad.declare.decorators import composed
from minigrad.declare.names import FUNCTIONAL, MG
from minigrad.errors import ShapeError
from minigrad.ops.shape.moves import rearrange
from minigrad.runtime.tensor import Tensor

BOTH = (MG, FUNCTIONAL)
Factor = Annotated[int, Number(1, whole=True, example=2, error=ShapeError)]


@composed(namespace=BOTH)
def pixel_shuffle(input: Tensor, upscale_factor: Factor) -> Tensor:
    """Return images (..., C*r*r, H, W) as (..., C, H*r, W*r): each r*r channels become a square of r*r pixels.

    upscale_factor: the side r of a square, in pixels.
    """
    r = upscale_factor
    front, channels, height, width = image("pixel_shuffle", input)
    factors = {"upscale_factor**2": r * r}
    expect_multiple("pixel_shuffle", "the number of channels", channels, input, "change upscale_factor", **factors)
    k, c = len(front), channels // (r * r)
    order = (*range(k), k, k + 3, k + 1, k + 4, k + 2)
    return rearrange(input, (*front, c, r, r, height, width), order, (*front, c, height * r, width * r))


@composed(namespace=BOTH)
def pixel_unshuffle(input: Tensor, downscale_factor: Factor) -> Tensor:
    """Return images (..., C, H*r, W*r) as (..., C*r*r, H, W): each square of r*r pixels becomes r*r channels.

    downscale_factor: the side r of a square, in pixels.
    """
    r = downscale_factor
    front, c, height, width = image("pixel_unshuffle", input)
    for what, size in (("the height", height), ("the width", width)):
        expect_multiple("pixel_unshuffle", what, size, input, "change downscale_factor or pad", downscale_factor=r)
    k, h, w = len(front), height // r, width // r
    order = (*range(k), k, k + 2, k + 4, k + 1, k + 3)
    return rearrange(input, (*front, c, h, r, w, r), order, (*front, c * r * r, h, w))


@composed(namespace=BOTH)
def channel_shuffle(input: Annotated[Tensor, Ndim(least=3)], groups: Factor) -> Tensor:
    """Return images (N, C, ...) with permuted channels: the first channel of each group, then the second, and so on."""
    expect_multiple("channel_shuffle", "the number of channels", input.shape[1], input, "change groups", groups=groups)
    n, c, *rest = input.shape
    sizes = n, groups, c // groups, *rest
    return rearrange(input, sizes, (0, 2, 1, *range(3, len(sizes))), (n, c, *rest))


def image(name: str, x: Tensor) -> tuple[tuple[int, ...], int, int, int]:
    """Return the leading dims of images, and the channels, the height and the width of an image."""
    Ndim(least=3, layout="(..., C, H, W)").expect(name, input=x)
    return x.shape[:-3], *x.shape[-3:]  # type: ignore[return-value]
