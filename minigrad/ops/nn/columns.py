"""Windows of images as columns of a matrix, and back: what a convolution multiplies, and its adjoint."""

from __future__ import annotations

from typing import Any

from minigrad.core.roles import WHOLE, Entries, Ints
from minigrad.core.shape import numel
from minigrad.declare.decorators import composed, public
from minigrad.declare.names import FUNCTIONAL
from minigrad.errors import ArgumentError, ShapeError
from minigrad.ops.casting import clone
from minigrad.ops.shape.padding import constant_pad_nd
from minigrad.ops.shape.views import adjoint_of, basic_index, permute, reshape
from minigrad.ops.shape.views import unfold as windows
from minigrad.runtime.tensor import Tensor, describe

Pairs = list[tuple[int, int]]


@composed(namespace=(), out=False, method=False)
def im2col(input: Tensor, kernel_size: Ints, dilation: Ints = 1, padding: Ints = 0, stride: Ints = 1) -> Tensor:
    """The windows of images (N, C, H, W) as columns (N, C*kernel, windows); what `nn.functional.unfold` calls."""
    if input.ndim not in (3, 4):
        raise ShapeError(f"unfold: expected (N, C, H, W) or (C, H, W), got {describe(input)}", op="unfold")
    size, step, margin, stride = pairs("unfold", kernel_size, dilation, padding, stride)
    (*front, c), counts = input.shape[:-2], counts_of("unfold", input.shape[-2:], size, step, margin, stride)
    x = constant_pad_nd(input, (margin[1], margin[1], margin[0], margin[0])) if any(margin) else input
    for d in (0, 1):
        x = windows(x, x.ndim - 2, step[d] * (size[d] - 1) + 1, stride[d])[..., :: step[d]]
    columns = clone(permute(x, dims=order(len(front))))  # in memory of its own, even if there is one window
    return reshape(columns, (*front, c * numel(size), numel(counts)))


@composed(namespace=(), out=False, method=False)
def col2im(input: Tensor, output_size: Ints, kernel_size: Ints, dilation: Ints = 1, padding: Ints = 0,
           stride: Ints = 1) -> Tensor:  # fmt: skip
    """Images (N, C, H, W), to which columns (N, C*kernel, windows) are added; what `nn.functional.fold` calls."""
    image, size, step, margin, stride = pairs("fold", output_size, kernel_size, dilation, padding, stride)
    counts = counts_of("fold", image, size, step, margin, stride)
    wanted = f"(N, C*{numel(size)}, {numel(counts)})"
    if input.ndim not in (2, 3) or input.shape[-1] != numel(counts) or input.shape[-2] % numel(size):
        raise ShapeError(f"fold: expected {wanted}, or it without N, got {describe(input)}", op="fold")
    front, c = input.shape[:-2], input.shape[-2] // numel(size)
    y = permute(reshape(input, (*front, c, *size, *counts)), dims=order(len(front)))
    for d in (1, 0):
        span, n = step[d] * (size[d] - 1) + 1, image[d] + 2 * margin[d]
        if step[d] > 1:
            index = Entries((*[WHOLE] * (y.ndim - 1), (None, None, step[d])))
            y = adjoint_of(basic_index, y, (*y.shape[:-1], span), index=index)
        at = y.ndim - 3
        wide = (*y.shape[:at], n, *y.shape[at + 1 : -1])
        y = adjoint_of(windows, y, wide, dimension=at, size=span, step=stride[d])
    return y[..., margin[0] : margin[0] + image[0], margin[1] : margin[1] + image[1]]


@public(namespace=FUNCTIONAL)
def unfold(input: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Tensor:
    """The windows of images (N, C, H, W), or of one without N, as columns (N, C*kernel, windows).

    Gradient: `fold`, each element to where it was read.
    """
    return im2col(input, kernel_size, dilation, padding, stride)


@public(namespace=FUNCTIONAL)
def fold(
    input: Tensor, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Tensor:
    """Images (N, C, H, W) to which columns (N, C*kernel, windows) are added, where `unfold` reads them.

    Gradient: `unfold` of g.
    """
    return col2im(input, output_size, kernel_size, dilation, padding, stride)


def order(k: int) -> tuple[int, ...]:
    """Return the order of (..., C, windows, kernel) as (..., C, kernel, windows), also that of the way back."""
    return (*range(k), k, k + 3, k + 4, k + 1, k + 2)


def pairs(name: str, *values: tuple[int, ...]) -> Any:
    """Return each value as one for the height and one for the width."""
    if wrong := [value for value in values if len(value) not in (1, 2)]:
        raise ArgumentError(f"{name}: expected one value or two, got {wrong[0]}", op=name)
    return [value * (3 - len(value)) for value in values]


def counts_of(name: str, image: Any, size: Any, step: Any, margin: Any, stride: Any) -> list[int]:
    """Return how many windows there are along the height and the width."""
    if min(*size, *step, *stride) < 1 or min(margin) < 0:
        raise ArgumentError(f"{name}: kernel_size, dilation and stride must be positive, padding 0 or more", op=name)
    counts = [(image[d] + 2 * margin[d] - step[d] * (size[d] - 1) - 1) // stride[d] + 1 for d in (0, 1)]
    if min(counts) < 1:
        raise ShapeError(f"{name}: windows of {size} do not fit into images of {tuple(image)}", op=name)
    return counts
