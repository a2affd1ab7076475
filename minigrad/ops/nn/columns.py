"""Windows of images as the columns of a matrix (`unfold`, `fold`), and moves between channels and pixels."""

from __future__ import annotations

from math import prod
from typing import Annotated, Any

from minigrad.core.conditions import Filled, Ndim, expect_multiple
from minigrad.core.layout import Layout
from minigrad.core.roles import Ints, Number
from minigrad.declare.decorators import composed, kernel, public
from minigrad.declare.names import FUNCTIONAL, MG
from minigrad.declare.rules import joint
from minigrad.errors import ShapeError
from minigrad.kernels.scalar import formula
from minigrad.ops.casting import rearrange, same_dtype
from minigrad.ops.nn.convolution import per_dim
from minigrad.ops.shape.padding import constant_pad_nd
from minigrad.ops.shape.views import reshape
from minigrad.runtime.tensor import Tensor, describe

# ---- windows and columns ---------------------------------------------------------------------------------------------


Two = tuple[int, int]
ADDED = formula("_added(a, b)", "a + b")


@composed(namespace=())
def im2col(input: Tensor, kernel_size: Ints, dilation: Ints = 1, padding: Ints = 0, stride: Ints = 1) -> Tensor:
    """Return the windows of images (N, C, H, W) as columns (N, C*kernel, windows), for `nn.functional.unfold`."""
    Ndim(3, 4, layout="(C, H, W) or (N, C, H, W)").expect("unfold", input=input)
    Filled(input.ndim - 1, "inner dim").expect("unfold", input=input)
    size, step, margin, stride = pairs("unfold", kernel_size, dilation, padding, stride)
    (*front, c), counts = input.shape[:-2], counts_of("unfold", input.shape[-2:], size, step, margin, stride)
    x = constant_pad_nd(input, (margin[1], margin[1], margin[0], margin[0])) if any(margin) else input
    columns = windows_of(x, size=size, step=step, stride=stride)
    return reshape(columns, (*front, c * prod(size), prod(counts)))


@composed(namespace=())
def col2im(input: Tensor, output_size: Ints, kernel_size: Ints, dilation: Ints = 1, padding: Ints = 0,
           stride: Ints = 1) -> Tensor:  # fmt: skip
    """Return images (N, C, H, W) to which columns (N, C*kernel, windows) are added, for `nn.functional.fold`."""
    image = per_dim("fold", "output_size", output_size, 2, 0)
    size, step, margin, stride = pairs("fold", kernel_size, dilation, padding, stride)
    counts = counts_of("fold", image, size, step, margin, stride)
    wanted = f"(N, C*{prod(size)}, {prod(counts)})"
    if input.ndim not in (2, 3) or input.shape[-1] != prod(counts) or input.shape[-2] % prod(size):
        raise ShapeError(
            f"fold: input must have the shape {wanted}, or this shape without N, got {describe(input)}; change "
            "output_size or kernel_size, for example"
        )
    front, c = input.shape[:-2], input.shape[-2] // prod(size)
    padded = tuple([image[d] + 2 * margin[d] for d in (0, 1)])
    y = windows_added(reshape(input, (*front, c, *size, *counts)), image=padded, size=size, step=step, stride=stride)
    return y[..., margin[0] : margin[0] + image[0], margin[1] : margin[1] + image[1]]


def window_layout(image: Layout, size: Two, step: Two, stride: Two) -> Layout:
    """Return the layout (..., kernel, windows) of the windows of images (..., H, W).

    `kernel` and `windows` are two dims each.
    """
    (height, width), (down, right) = image.shape[-2:], image.strides[-2:]
    counts = [(n - step[d] * (size[d] - 1) - 1) // stride[d] + 1 for d, n in enumerate((height, width))]
    strides = (step[0] * down, step[1] * right, stride[0] * down, stride[1] * right)
    return Layout.make((*image.shape[:-2], *size, *counts), (*image.strides[:-2], *strides), image.offset)


@kernel(
    dtype=same_dtype, namespace=(), label="unfold", complex=True, linear=joint("input"),
    shape=lambda op, input, **params: window_layout(input.layout, **params).shape,
    vjp=(lambda g, *, in_shape, **params: windows_added(g, image=in_shape[-2:], **params),),
    batch="front",
)  # fmt: skip
def windows_of(steps, out, input: Tensor, *, size, step, stride):
    """Return a copy of the windows (..., kernel, windows) of images (..., H, W).

    Gradient: each element of g, added to the pixel from which it was read.
    """
    (source,) = steps.operands
    steps.copy(out, source.seen(window_layout(input.layout, size, step, stride)))


@kernel(
    dtype=same_dtype, namespace=(), label="fold", complex=True, linear=joint("input"),
    shape=lambda op, input, *, image, **params: (*input.shape[:-4], *image),
    vjp=(lambda g, *, image, **params: windows_of(g, **params),),
    batch="front",
)  # fmt: skip
def windows_added(steps, out, input: Tensor, *, image, size, step, stride):
    """Return images (..., H, W) of zeros to which windows (..., kernel, windows) are added.

    Gradient: the windows of g.
    """
    (source,) = steps.operands
    targets, at = window_layout(out.layout, size, step, stride), len(out.shape) - 2
    apart = all(k * (n - 1) < m for n, k, m in zip(size, step, stride))
    if not apart or targets.numel < out.layout.numel:
        steps.fill(out, 0)
    if apart:  # windows do not overlap, so elements are copied instead of added
        steps.copy(out.seen(targets), source)
        return
    total, kept = out, out.dtype.accumulate if out.dtype.is_float else out.dtype
    if kept is not out.dtype:  # sums in half precision are computed in float32
        total = steps.work(out.shape, kept)
        targets = window_layout(total.layout, size, step, stride)
        steps.fill(total, 0)
    for i in range(size[0]):
        for j in range(size[1]):
            target, part = (x.select(at, i).select(at, j) for x in (targets, input.layout))
            images = total.seen(target)
            steps.each(ADDED, images, images, source.seen(part))
    if total is not out:
        steps.copy(out, total)


@public()
def unfold(input: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Tensor:
    """Return the windows of images (N, C, H, W), or of one image (C, H, W), as columns (N, C*kernel, windows).

    Gradient: `fold` of g, which adds each element to the pixel from which it was read.
    """
    return im2col(input, kernel_size, dilation, padding, stride)


@public()
def fold(
    input: Tensor, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Tensor:
    """Return images (N, C, H, W) to which columns (N, C*kernel, windows) are added.

    Each element is added to the pixel from which `unfold` would read it.
    Gradient: `unfold` of g.
    """
    return col2im(input, output_size, kernel_size, dilation, padding, stride)


def pairs(name: str, kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> Any:
    """Return each argument as a pair, for the height and the width.  Raises ArgumentError for other values."""
    named = {"kernel_size": kernel_size, "dilation": dilation, "padding": padding, "stride": stride}
    return [per_dim(name, key, value, 2, int(key != "padding")) for key, value in named.items()]


def counts_of(name: str, image: Any, size: Any, step: Any, margin: Any, stride: Any) -> list[int]:
    """Return the number of windows along the height and the width.

    Raises ShapeError if a window does not fit into the image.
    """
    counts = [(image[d] + 2 * margin[d] - step[d] * (size[d] - 1) - 1) // stride[d] + 1 for d in (0, 1)]
    if min(counts) < 1:
        cover = tuple([step[d] * (size[d] - 1) + 1 for d in (0, 1)])
        padded = tuple([image[d] + 2 * margin[d] for d in (0, 1)])
        raise ShapeError(
            f"{name}: windows of kernel_size {size} with dilation {step} cover {cover} pixels, but the padded image "
            f"has {padded}; reduce kernel_size or dilation, or increase padding"
        )
    return counts


# ---- channels and pixels; each op is one copy ------------------------------------------------------------------------


BOTH = (MG, FUNCTIONAL)
Factor = Annotated[int, Number(1, whole=True, example=2, error=ShapeError)]


@composed(namespace=BOTH, channels_last=True)
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


@composed(namespace=BOTH, channels_last=True)
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


@composed(namespace=BOTH, channels_last=True)
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
