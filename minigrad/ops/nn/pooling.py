"""Pooling over 1, 2 and 3 dims, under PyTorch's names: the arguments checked, and the ops of `windows.py` called."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from minigrad.core.shape import pooled_size
from minigrad.core.window import Window
from minigrad.declare.decorators import composed
from minigrad.declare.names import FUNCTIONAL, MG
from minigrad.errors import ArgumentError, DTypeError, ShapeError
from minigrad.ops.casting import cast
from minigrad.ops.creation import tensor
from minigrad.ops.indexing.gathering import index_select
from minigrad.ops.nn.convolution import IntOrInts, per_dim
from minigrad.ops.nn.windows import avg_pool, max_pool, max_pool_indices
from minigrad.ops.pointwise.compare import where
from minigrad.ops.reduction.sums import sum, wide
from minigrad.runtime.tensor import Tensor, describe

Ints = tuple[int, ...]


@composed(namespace=(MG, FUNCTIONAL), out=False, method=False)
def max_pool1d(
    input: Tensor, kernel_size: IntOrInts, stride: IntOrInts | None = None, padding: IntOrInts = 0,
    dilation: IntOrInts = 1, ceil_mode: bool = False, return_indices: bool = False,
) -> Any:  # fmt: skip
    """The largest element of each window along the last dim: see `max_pool2d`."""
    return _max_pool("max_pool1d", 1, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


@composed(namespace=(MG, FUNCTIONAL), out=False, method=False)
def max_pool2d(
    input: Tensor, kernel_size: IntOrInts, stride: IntOrInts | None = None, padding: IntOrInts = 0,
    dilation: IntOrInts = 1, ceil_mode: bool = False, return_indices: bool = False,
) -> Any:  # fmt: skip
    """The largest element of each window of images (N, C, H, W), or one (C, H, W); stride is kernel_size if None.

    The padding, at most half a window, counts as -inf; nan counts as the largest.  ceil_mode keeps a last window that
    hangs over the edge.  return_indices: also where each is in its plane, counted row by row, as int64.
    Gradient: g where the first largest element of the window is.
    Raises ArgumentError for arguments that make no sense, ShapeError for a window that does not fit.
    """
    return _max_pool("max_pool2d", 2, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


@composed(namespace=(MG, FUNCTIONAL), out=False, method=False)
def max_pool3d(
    input: Tensor, kernel_size: IntOrInts, stride: IntOrInts | None = None, padding: IntOrInts = 0,
    dilation: IntOrInts = 1, ceil_mode: bool = False, return_indices: bool = False,
) -> Any:  # fmt: skip
    """The largest element of each window of the last three dims: see `max_pool2d`."""
    return _max_pool("max_pool3d", 3, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


@composed(namespace=(MG, FUNCTIONAL), out=False, method=False)
def avg_pool1d(
    input: Tensor, kernel_size: IntOrInts, stride: IntOrInts | None = None, padding: IntOrInts = 0,
    ceil_mode: bool = False, count_include_pad: bool = True,
) -> Tensor:  # fmt: skip
    """The mean of each window along the last dim: see `avg_pool2d`."""
    return _avg_pool("avg_pool1d", 1, input, kernel_size, stride, padding, ceil_mode, count_include_pad, None)


@composed(out=False, method=False)
def avg_pool2d(
    input: Tensor, kernel_size: IntOrInts, stride: IntOrInts | None = None, padding: IntOrInts = 0,
    ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None,
) -> Tensor:  # fmt: skip
    """The mean of each window of images (N, C, H, W), or one (C, H, W); stride is kernel_size if None.

    The sum is divided by the size of the window, padding included or not; or by divisor_override.
    Gradient: g, divided likewise, all over its window.
    Raises as `max_pool2d` does, and DTypeError for a dtype that is no float.
    """
    return _avg_pool(
        "avg_pool2d", 2, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )


@composed(out=False, method=False)
def avg_pool3d(
    input: Tensor, kernel_size: IntOrInts, stride: IntOrInts | None = None, padding: IntOrInts = 0,
    ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None,
) -> Tensor:  # fmt: skip
    """The mean of each window of the last three dims: see `avg_pool2d`."""
    return _avg_pool(
        "avg_pool3d", 3, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )


@composed(namespace=(MG, FUNCTIONAL), out=False, method=False)
def adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Tensor:
    """Means of `output_size` windows of one size, as even as can be, along the last dim: see `adaptive_avg_pool2d`."""
    return _adaptive("adaptive_avg_pool1d", 1, input, output_size)


@composed(out=False, method=False)
def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """The mean of each of output_size windows of images; window o of m is from floor(o n / m) to ceil((o + 1) n / m).

    output_size: an int or one for each dim; None keeps a dim as it is.
    """
    return _adaptive("adaptive_avg_pool2d", 2, input, output_size)


@composed(out=False, method=False)
def adaptive_avg_pool3d(input: Tensor, output_size: Any) -> Tensor:
    """The mean of each of output_size windows of the last three dims: see `adaptive_avg_pool2d`."""
    return _adaptive("adaptive_avg_pool3d", 3, input, output_size)


# ---- arguments ------------------------------------------------------------------------------------------------------


def _check(
    name: str, dims: int, x: Tensor, window: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool
) -> Window:
    """The windows of a pooling op, checked."""
    taps = per_dim(name, "kernel_size", window, dims, 1)
    steps = taps if stride is None or stride in ((), []) else per_dim(name, "stride", stride, dims, 1)
    pads, spread = per_dim(name, "padding", padding, dims, 0), per_dim(name, "dilation", dilation, dims, 1)
    if x.ndim not in (dims + 1, dims + 2) or 0 in x.shape[-dims:]:
        raise ShapeError(
            f"{name}: expected {dims + 1} or {dims + 2} dims and no spatial size of 0, got {describe(x)}", op=name
        )
    reach = tuple(d * (k - 1) + 1 for d, k in zip(spread, taps, strict=True))
    if any(2 * p > r for p, r in zip(pads, reach, strict=True)):
        raise ArgumentError(
            f"{name}: padding {pads} must be at most half of the window, which reaches over {reach}", op=name
        )
    parts = zip(x.shape[-dims:], taps, steps, pads, spread, strict=True)
    size = tuple(pooled_size(*part, bool(ceil_mode)) for part in parts)
    if any(n < 1 for n in size):
        raise ShapeError(f"{name}: a window that reaches over {reach} does not fit into {describe(x)}", op=name)
    return Window(size, taps, steps, pads, spread)


def _max_pool(
    name: str, dims: int, x: Tensor, window: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool,
    return_indices: bool,
) -> Any:  # fmt: skip
    windows = _check(name, dims, x, window, stride, padding, dilation, ceil_mode)
    image = x if x.ndim == dims + 2 else x.unsqueeze(0)
    if return_indices:
        pair: Any = max_pool_indices(image, windows)
        values, indices = pair
        return (values, indices) if x.ndim == dims + 2 else (values.squeeze(0), indices.squeeze(0))
    y = max_pool(image, windows)
    return y if x.ndim == dims + 2 else y.squeeze(0)


def _avg_pool(
    name: str, dims: int, x: Tensor, window: Any, stride: Any, padding: Any, ceil_mode: bool, pad_counts: bool,
    divisor: int | None,
) -> Tensor:  # fmt: skip
    windows = _check(name, dims, x, window, stride, padding, 1, ceil_mode)
    if divisor is not None and (not hasattr(divisor, "__index__") or divisor == 0):
        raise ArgumentError(f"{name}: divisor_override must be an int other than 0, got {describe(divisor)}", op=name)
    image = x if x.ndim == dims + 2 else x.unsqueeze(0)
    windows = replace(windows, pad_counts=bool(pad_counts), divisor=None if divisor is None else int(divisor))
    y = avg_pool(image, windows)
    return y if x.ndim == dims + 2 else y.squeeze(0)


def _adaptive(name: str, dims: int, x: Tensor, output_size: Any) -> Tensor:
    wanted = tuple(output_size) if isinstance(output_size, (tuple, list)) else (output_size,) * dims
    if x.ndim not in (dims + 1, dims + 2) or 0 in x.shape[-dims:] or len(wanted) != dims:
        raise ShapeError(
            f"{name}: expected {dims + 1} or {dims + 2} dims, no spatial size of 0, and {dims} output sizes, got "
            f"{describe(x)} and {describe(output_size)}",
            op=name,
        )
    if not x.dtype.is_float:
        raise DTypeError(f"{name}: got {describe(x)}; a mean needs floats", op=name)
    sizes = tuple(n if m is None else per_dim(name, "output_size", m, 1, 1)[0] for n, m in zip(x.shape[-dims:], wanted))
    if all(n % m == 0 for n, m in zip(x.shape[-dims:], sizes, strict=True)):
        window = tuple(n // m for n, m in zip(x.shape[-dims:], sizes, strict=True))
        return _avg_pool(name, dims, x, window, None, 0, False, True, None)
    y = wide(x)
    for d, m in enumerate(sizes):
        if y.shape[d - dims] != m:
            y = _means(y.transpose(d - dims, -1), m).transpose(d - dims, -1)
    return cast(y, dtype=x.dtype)


def _means(x: Tensor, m: int) -> Tensor:
    """The means of m windows of the last dim.

    Each window is gathered at the length of the longest; a product with zeros would let inf into all of them.
    """
    n = x.shape[-1]
    first = np.arange(m) * n // m
    counts = -(-np.arange(1, m + 1) * n // m) - first
    steps = np.arange(counts.max())
    positions = np.minimum(first[:, None] + steps, n - 1)
    windows = index_select(x, x.ndim - 1, tensor(positions.reshape(-1), device=x.device))
    inside = tensor(steps < counts[:, None], device=x.device)
    total = sum(where(inside, windows.reshape(*x.shape[:-1], *positions.shape), 0.0), -1)
    return total / tensor(counts, dtype=x.dtype, device=x.device)
