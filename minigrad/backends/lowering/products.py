"""Matrix products and convolutions: all products are stored in temporary memory, and then summed."""

from __future__ import annotations

from collections.abc import Sequence

from minigrad.backends.base import Backend, serves
from minigrad.backends.lowering.functions import BLEND, MEETING, PRODUCT, SUM, TOTAL
from minigrad.backends.lowering.windows import Windows
from minigrad.backends.steps import Steps, Value, shortened, viewed, wide
from minigrad.core.dtype import bool_
from minigrad.core.layout import Layout
from minigrad.core.requests import Convolve, Product, PutBack


@serves(Backend, Product)
def product(steps: Steps, request: Product) -> None:
    """Multiply rows by columns, with sums in float64 that are rounded once; integers sum in int64, which wraps once."""
    (out,), (a, b, *added) = steps.outs, steps.operands
    dtype = wide(out.dtype)
    terms = steps.work((*out.shape, a.shape[-1]), dtype)
    total = steps.work((*out.shape, 1), dtype)
    row, column = a.layout.unsqueeze(-2), b.layout.transpose(-1, -2).unsqueeze(-3)
    steps.each(PRODUCT, terms, a.seen(row), b.seen(column))
    steps.reducer(SUM, total, terms, (len(out.shape),))
    total = viewed(total, out.shape)
    alpha, beta = steps.constant(request.alpha, dtype), steps.constant(request.beta, dtype)
    if added:  # c may be the memory of out: it is read before anything is written there
        steps.each(BLEND, total, total, added[0], alpha, beta)
    elif request.alpha != 1:
        steps.each(PRODUCT, total, total, alpha)
    steps.copy(out, total)


@serves(Backend, Convolve)
def convolve(steps: Steps, request: Convolve) -> None:
    """Multiply two of y, x and w over all their pairs of elements, and sum over the dims that the third does not have.

    The dims are (batch, groups, output channels, image channels, positions, taps).
    """
    (out,), (first, second, *bias) = steps.outs, steps.operands
    y, x, w = {"output": (out, first, second), "input": (first, out, second), "weight": (first, second, out)}[
        request.part
    ]
    dims, groups, dtype = len(y.shape) - 2, request.groups, wide(out.dtype)
    spots, taps = range(4, 4 + dims), range(4 + dims, 4 + 2 * dims)
    windows = Windows(x.shape, y.shape[2:], w.shape[2:], request.stride, request.padding, request.dilation)
    shape = (y.shape[0], groups, y.shape[1] // groups, w.shape[1], *windows.spots, *windows.taps)
    ys, ws = spread(y, 1, groups, [3, *taps]), spread(w, 0, groups, [0, *spots])
    xs = spread(windows.pad(steps, x, dtype), 1, groups, [2]) if request.part != "input" else ys
    pair, over = {
        "output": ((xs, ws), [3, *taps]),
        "input": ((ys, ws), [2]),
        "weight": ((ys, xs), [0, *spots]),
    }[request.part]
    terms, total = steps.work(shape, dtype), steps.work(shortened(shape, over), dtype)
    steps.each(MEETING, terms, *pair, steps.constant(windows.positions >= 0, bool_))
    steps.reducer(SUM, total, terms, over)
    if request.part == "output":
        total, row = viewed(total, y.shape), bias[0]
        steps.each(TOTAL, total, total, row.seen(with_ones(row.layout, range(1, 1 + dims))))
        steps.copy(out, total)
    elif request.part == "input":
        padded = steps.work(windows.padded, dtype)
        steps.ask(PutBack(windows.view), padded, viewed(total, windows.shape))
        steps.copy(out, padded.seen(windows.interior))
    else:
        steps.copy(out, viewed(total, w.shape))


def spread(value: Value, dim: int, groups: int, ones: Sequence[int]) -> Value:
    """Return a tensor with all dims of a convolution: channels in groups, and size 1 in dims that it does not have."""
    return value.seen(with_ones(split(value.layout, dim, groups), ones))


def split(layout: Layout, dim: int, groups: int) -> Layout:
    """Split a dim of channels into two: the groups, and the channels in each."""
    n = layout.shape[dim] // groups
    shape = (*layout.shape[:dim], groups, n, *layout.shape[dim + 1 :])
    step = layout.strides[dim]
    return Layout.make(shape, (*layout.strides[:dim], step * n, step, *layout.strides[dim + 1 :]), layout.offset)


def with_ones(layout: Layout, dims: Sequence[int]) -> Layout:
    """Return a layout with dims of size 1 inserted at some indices.

    The indices are those of the result, from the left.
    """
    for dim in dims:
        layout = layout.unsqueeze(dim)
    return layout
