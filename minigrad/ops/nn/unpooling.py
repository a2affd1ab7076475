"""Max unpooling over 1, 2 and 3 dims, which returns the largest elements of windows to their positions in an image."""

from __future__ import annotations

from math import prod
from typing import Any

from minigrad.core.conditions import Integral, Like, Ndim
from minigrad.declare.decorators import composed
from minigrad.errors import ShapeError
from minigrad.ops.indexing.gathering import zeros_of
from minigrad.ops.indexing.placing import scatter
from minigrad.ops.nn.convolution import IntOrInts, per_dim
from minigrad.ops.shape.views import reshape
from minigrad.runtime.tensor import Tensor, describe


@composed()
def max_unpool1d(
    input: Tensor, indices: Tensor, kernel_size: IntOrInts, stride: IntOrInts | None = None, padding: IntOrInts = 0,
    output_size: Any = None,
) -> Tensor:  # fmt: skip
    """Return zeros with the elements of input at the indices that `max_pool1d` returned; see `max_unpool2d`."""
    return unpooled("max_unpool1d", 1, input, indices, kernel_size, stride, padding, output_size)


@composed()
def max_unpool2d(
    input: Tensor, indices: Tensor, kernel_size: IntOrInts, stride: IntOrInts | None = None, padding: IntOrInts = 0,
    output_size: Any = None,
) -> Tensor:  # fmt: skip
    """Return images of zeros with the elements of input at the indices that `max_pool2d` returned.

    If an index occurs more than once, the last element is stored.
    indices: the row-major position of each element in its plane, an integer tensor in the shape of input.
    output_size: the size of the images, or their whole shape; the default is (n - 1) * stride - 2 * padding +
    kernel_size along a dim of n elements. Each size may differ from the default by less than the stride.
    Gradient: g at the indices, and 0 for an element that was overwritten.
    """
    return unpooled("max_unpool2d", 2, input, indices, kernel_size, stride, padding, output_size)


@composed()
def max_unpool3d(
    input: Tensor, indices: Tensor, kernel_size: IntOrInts, stride: IntOrInts | None = None, padding: IntOrInts = 0,
    output_size: Any = None,
) -> Tensor:  # fmt: skip
    """Return zeros with the elements of input at the indices that `max_pool3d` returned; see `max_unpool2d`."""
    return unpooled("max_unpool3d", 3, input, indices, kernel_size, stride, padding, output_size)


INDICES = "pass the indices that max_pool returned with return_indices=True"


def unpooled(
    name: str, dims: int, x: Tensor, indices: Tensor, window: Any, stride: Any, padding: Any, output_size: Any
) -> Tensor:
    """Check the arguments, and return zeros of the size of the images with the elements at their positions."""
    Ndim(dims + 1, dims + 2).expect(name, input=x)
    Integral.expect(name, x, indices=indices)
    Like("shape", advice=INDICES).expect(name, x, indices=indices)
    taps = per_dim(name, "kernel_size", window, dims, 1)
    steps = taps if stride is None or stride in ((), []) else per_dim(name, "stride", stride, dims, 1)
    pads = per_dim(name, "padding", padding, dims, 0)
    size = tuple((n - 1) * s - 2 * p + k for n, s, p, k in zip(x.shape[-dims:], steps, pads, taps, strict=True))
    if output_size is not None:
        wanted = per_dim(name, "output_size", tuple(output_size)[-dims:], dims, 1)
        if any(abs(m - n) >= s for m, n, s in zip(wanted, size, steps, strict=True)):
            raise ShapeError(
                f"{name}: output_size must differ from {size} by less than the stride {steps}, got {wanted}; pass the "
                "size of the image that was pooled",
                op=name,
            )
        size = wanted
    if min(size) < 1:
        raise ShapeError(
            f"{name}: the result must have a size of at least 1, got size {size} for {describe(x)}, kernel_size {taps} "
            f"and padding {pads}; reduce padding",
            op=name,
        )
    front = x.shape[:-dims]
    rows = [reshape(y, (prod(front), prod(x.shape[-dims:]))) for y in (indices, x)]
    return reshape(scatter(zeros_of((prod(front), prod(size)), x), 1, *rows), (*front, *size))
