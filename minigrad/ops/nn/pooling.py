"""Pooling over 1, 2 and 3 dims, under PyTorch's names: checks of arguments, and calls of the ops of `windows.py`."""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any

from minigrad.core.conditions import Filled, Integral, Like, Ndim
from minigrad.core.roles import Flag, Scalar
from minigrad.core.shape import Window, pooled_size
from minigrad.declare.decorators import composed
from minigrad.declare.names import FUNCTIONAL, MG
from minigrad.declare.variants import family
from minigrad.errors import ArgumentError, ShapeError
from minigrad.ops.indexing.gathering import zeros_of
from minigrad.ops.indexing.placing import scatter
from minigrad.ops.nn.activation import relu
from minigrad.ops.nn.convolution import IntOrInts, Ints, per_dim
from minigrad.ops.nn.windows import avg_pool, max_pool, max_pool_indices
from minigrad.ops.pointwise.arithmetic import sign
from minigrad.ops.pointwise.explog import pow
from minigrad.ops.shape.views import reshape
from minigrad.runtime.tensor import Tensor, describe


@family(
    composed(namespace=(MG, FUNCTIONAL), channels_last=True),
    max_pool1d="Return the largest element of each window along the last dim",
    max_pool3d="Return the largest element of each window of the last three dims",
)
def max_pool2d(
    input: Tensor, kernel_size: IntOrInts, stride: IntOrInts | None = None, padding: IntOrInts = 0,
    dilation: IntOrInts = 1, ceil_mode: bool = False, return_indices: bool | None = False, *, name: str, dims: int,
) -> Any:  # fmt: skip
    """Return the largest element of each window of images (N, C, H, W), or of one image (C, H, W).

    nan counts as the largest element.
    stride: the step between windows; kernel_size if None.
    padding: the number of elements on both sides, at most half of the window; padded elements count as -inf.
    ceil_mode: whether to keep a last window that extends beyond the edge.
    return_indices: whether to return the row-major position of each element in its plane as well, in int64.
    Gradient: g at the first of the largest elements of each window.
    Raises ArgumentError for invalid arguments, ShapeError for a window that is larger than the padded image.
    """
    return max_pooled(name, dims, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


@composed(namespace=(MG, FUNCTIONAL))
def avg_pool1d(
    input: Tensor, kernel_size: IntOrInts, stride: IntOrInts | None = None, padding: IntOrInts = 0,
    ceil_mode: bool = False, count_include_pad: bool = True,
) -> Tensor:  # fmt: skip
    """Return the mean of each window along the last dim; see `avg_pool2d`."""
    return avg_pooled("avg_pool1d", 1, input, kernel_size, stride, padding, ceil_mode, count_include_pad, None)


@family(composed(channels_last=True), avg_pool3d="Return the mean of each window of the last three dims")
def avg_pool2d(
    input: Tensor, kernel_size: IntOrInts, stride: IntOrInts | None = None, padding: IntOrInts = 0,
    ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None, *, name: str,
    dims: int,
) -> Tensor:  # fmt: skip
    """Return the mean of each window of images (N, C, H, W), or of one image (C, H, W).

    stride: the step between windows; kernel_size if None.
    count_include_pad: whether padding counts in the divisor of the sum.
    divisor_override: the divisor of each sum; if None, it is the size of the window.
    Gradient: g divided by the same divisor, added to all elements of the window.
    Raises ArgumentError for invalid arguments, ShapeError for a window that is larger than the padded image, DTypeError
    for an input that is not a float tensor.
    """
    return avg_pooled(name, dims, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


@family(
    composed(channels_last=True),
    lp_pool1d="Return the norm of order `norm_type` of each window along the last dim",
    lp_pool3d="Return the norm of order `norm_type` of each window of the last three dims",
)
def lp_pool2d(
    input: Tensor, norm_type: Scalar, kernel_size: IntOrInts, stride: IntOrInts | None = None, ceil_mode: Flag = False,
    *, name: str, dims: int,
) -> Tensor:  # fmt: skip
    """Return (sum of x**p)**(1/p) of each window of images, with p = norm_type.

    stride: the step between windows; kernel_size if None.
    ceil_mode: whether to keep a last window that extends beyond the edge. As in PyTorch, the sum of such a window is
    the mean of its elements times the number of elements of a whole window.
    Gradient: g * (x/y)**(p - 1) for an element x of a window with the result y, and 0 where the sum is 0.
    Raises ArgumentError, ShapeError or DTypeError in the same cases as `avg_pool2d`.
    """
    taps = per_dim(name, "kernel_size", kernel_size, dims, 1)
    means = avg_pooled(name, dims, pow(input, norm_type), taps, stride, 0, ceil_mode, True, None)
    # As in PyTorch, a negative sum has the power of its magnitude, with its sign.
    return pow(sign(means) * relu(means.abs()) * prod(taps), 1.0 / norm_type)


# ---- arguments ------------------------------------------------------------------------------------------------------


def _check(
    name: str, dims: int, x: Tensor, window: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool,
    pad_counts: bool = True, divisor: int | None = None,
) -> Window:  # fmt: skip
    """Check the arguments of a pooling op, and return its Window."""
    taps = per_dim(name, "kernel_size", window, dims, 1)
    steps = taps if stride is None or stride in ((), []) else per_dim(name, "stride", stride, dims, 1)
    pads, spread = per_dim(name, "padding", padding, dims, 0), per_dim(name, "dilation", dilation, dims, 1)
    sizes = x.shape[-dims:]
    Ndim(dims + 1, dims + 2).expect(name, input=x)
    Filled(x.ndim - 1, "inner dim").expect(name, input=x)
    windows, reach, wide = _laid(sizes, taps, steps, pads, spread, bool(ceil_mode), pad_counts, divisor)
    if wide:
        raise ArgumentError(
            f"{name}: padding must be at most half of the window, which spans {reach} elements, got {pads}; reduce "
            "padding"
        )
    if min(windows.size) < 1:
        raise ShapeError(
            f"{name}: a window that spans {reach} elements must fit into the input, got {describe(x)}; use a smaller "
            "kernel_size or dilation"
        )
    return windows


@lru_cache(1024)
def _laid(
    sizes: Ints, taps: Ints, steps: Ints, pads: Ints, spread: Ints, ceil_mode: bool, pad_counts: bool,
    divisor: int | None,
) -> tuple[Window, Ints, bool]:  # fmt: skip
    """Return the Window, the extent of a window along each dim, and whether the padding exceeds half of the extent.

    Calls with equal arguments return the same Window object, so their plan is found by its identity.
    """
    reach = tuple(d * (k - 1) + 1 for d, k in zip(spread, taps, strict=True))
    wide = any(2 * p > r for p, r in zip(pads, reach, strict=True))
    parts = zip(sizes, taps, steps, pads, spread, strict=True)
    size = tuple(pooled_size(*part, ceil_mode) for part in parts)
    return Window(size, taps, steps, pads, spread, pad_counts=pad_counts, divisor=divisor), reach, wide


def max_pooled(
    name: str, dims: int, x: Tensor, window: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool,
    return_indices: bool,
) -> Any:  # fmt: skip
    """Return the largest elements of windows, and with `return_indices` their positions."""
    windows = _check(name, dims, x, window, stride, padding, dilation, ceil_mode)
    image = x if x.ndim == dims + 2 else x.unsqueeze(0)
    if return_indices:
        pair: Any = max_pool_indices(image, windows)
        values, indices = pair
        return (values, indices) if x.ndim == dims + 2 else (values.squeeze(0), indices.squeeze(0))
    y = max_pool(image, windows)
    return y if x.ndim == dims + 2 else y.squeeze(0)


def avg_pooled(
    name: str, dims: int, x: Tensor, window: Any, stride: Any, padding: Any, ceil_mode: bool, pad_counts: bool,
    divisor: int | None,
) -> Tensor:  # fmt: skip
    """Return the means of windows, for `avg_pool1d` and similar functions."""
    if divisor is not None and (not hasattr(divisor, "__index__") or divisor == 0):
        raise ArgumentError(
            f"{name}: divisor_override must be an int other than 0, got {describe(divisor)}; omit divisor_override to "
            "divide by the size of the window"
        )
    divided = None if divisor is None else int(divisor)
    windows = _check(name, dims, x, window, stride, padding, 1, ceil_mode, bool(pad_counts), divided)
    image = x if x.ndim == dims + 2 else x.unsqueeze(0)
    y = avg_pool(image, windows)
    return y if x.ndim == dims + 2 else y.squeeze(0)


# ---- unpooling: the largest elements of windows return to their positions in an image --------------------------------


@family(
    composed(channels_last=True),
    max_unpool1d="Return zeros with the elements of input at the indices that `max_pool1d` returned",
    max_unpool3d="Return zeros with the elements of input at the indices that `max_pool3d` returned",
)
def max_unpool2d(
    input: Tensor, indices: Tensor, kernel_size: IntOrInts, stride: IntOrInts | None = None, padding: IntOrInts = 0,
    output_size: Any = None, *, name: str, dims: int,
) -> Tensor:  # fmt: skip
    """Return images of zeros with the elements of input at the indices that `max_pool2d` returned.

    If an index occurs more than once, the last element is stored.
    indices: the row-major position of each element in its plane, an integer tensor in the shape of input.
    output_size: the size of the images, or their whole shape; the default is (n - 1) * stride - 2 * padding +
    kernel_size along a dim of n elements. Each size may differ from the default by less than the stride.
    Gradient: g at the indices, and 0 for an element that was overwritten.
    """
    Ndim(dims + 1, dims + 2).expect(name, input=input)
    Filled(input.ndim - 1, "inner dim").expect(name, input=input)
    Integral.expect(name, input, indices=indices)
    Like("shape", advice=INDICES).expect(name, input, indices=indices)
    taps = per_dim(name, "kernel_size", kernel_size, dims, 1)
    steps = taps if stride is None or stride in ((), []) else per_dim(name, "stride", stride, dims, 1)
    pads = per_dim(name, "padding", padding, dims, 0)
    size = tuple((n - 1) * s - 2 * p + k for n, s, p, k in zip(input.shape[-dims:], steps, pads, taps, strict=True))
    if output_size is not None:
        wanted = per_dim(name, "output_size", tuple(output_size)[-dims:], dims, 1)
        if any(abs(m - n) >= s for m, n, s in zip(wanted, size, steps, strict=True)):
            raise ShapeError(
                f"{name}: output_size must differ from {size} by less than the stride {steps}, got {wanted}; pass the "
                "size of the image that was pooled"
            )
        size = wanted
    if min(size) < 1:
        raise ShapeError(
            f"{name}: the result must have a size of at least 1, got size {size} for {describe(input)}, kernel_size "
            f"{taps} and padding {pads}; reduce padding"
        )
    front = input.shape[:-dims]
    rows = [reshape(y, (prod(front), prod(input.shape[-dims:]))) for y in (indices, input)]
    return reshape(scatter(zeros_of((prod(front), prod(size)), input), 1, *rows), (*front, *size))


INDICES = "pass the indices that max_pool returned with return_indices=True"
