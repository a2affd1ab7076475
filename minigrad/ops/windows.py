"""Windows over spatial dims: the largest element or the mean of each, as ops.

A window's largest element is the first of equals, in row-major order, and its gradient goes there; nan is larger than
all.  The padding counts as -inf for the largest, as 0 for the mean.  Every order of derivative follows from pairs of
ops that are each other's adjoint: `max_pool_back` puts elements where the largest are, `max_pool_pick` takes them from
there, `avg_pool_with` and `avg_pool_back` are the mean and its spreading.  `pooling.py` is what users call.
"""

from __future__ import annotations

from typing import Any

from minigrad.core.dtype import DType, int64
from minigrad.core.op import Op, Spec
from minigrad.core.requests import AvgPool, MaxPool
from minigrad.declare.decorators import kernel
from minigrad.declare.rules import joint, twice
from minigrad.errors import DTypeError
from minigrad.ops.batch_rules import folded

Ints = tuple[int, ...]

# ---- rules ----------------------------------------------------------------------------------------------------------


def _numbers(op: Op, specs: tuple[Spec, ...], **params: Any) -> DType:
    if specs[0].dtype.kind == "bool":
        raise DTypeError(f"{op.label}: got {specs[0]!r}; the largest of a window needs numbers", op=op.label)
    return specs[0].dtype


def _numbers_and_positions(op: Op, specs: tuple[Spec, ...], **params: Any) -> tuple[DType, DType]:
    return _numbers(op, specs), int64


def _floats(op: Op, specs: tuple[Spec, ...], **params: Any) -> DType:
    if not specs[0].dtype.is_float:
        raise DTypeError(f"{op.label}: got {specs[0]!r}; a mean needs floats", op=op.label)
    return specs[0].dtype


def _sized(op: Op, x: Spec, *others: Spec, size: Ints, **params: Any) -> Ints:
    return (*x.shape[:2], *size)


# ---- the largest ----------------------------------------------------------------------------------------------------


@kernel(
    dtype=_numbers,
    shape=_sized,
    vjp=(
        lambda g, x, *, window, stride, padding, dilation: max_pool_back(
            g, x.detach(), size=x.shape[2:], window=window, stride=stride, padding=padding, dilation=dilation
        ),
    ),
    jvp=lambda dx, x, *, size, window, stride, padding, dilation: max_pool_pick(
        dx, x.detach(), size=size, window=window, stride=stride, padding=padding, dilation=dilation
    ),
    batch=lambda x, *, size, window, stride, padding, dilation: folded(
        max_pool_with, (x,), size=size, window=window, stride=stride, padding=padding, dilation=dilation
    ),
)
def max_pool_with(backend, out, x, *, size, window, stride, padding, dilation):
    """The largest element of each window.  Gradient: g where the first largest is."""
    return backend.prepare(MaxPool("values", window, stride, padding, dilation), out, x)


@kernel(
    dtype=_numbers_and_positions,
    shape=twice(_sized),
    outputs=("values", "indices"),
    vjp=(
        lambda g, x, *, window, stride, padding, dilation: max_pool_back(
            g, x.detach(), size=x.shape[2:], window=window, stride=stride, padding=padding, dilation=dilation
        ),
    ),
    batch=lambda x, *, size, window, stride, padding, dilation: folded(
        max_pool_indices, (x,), size=size, window=window, stride=stride, padding=padding, dilation=dilation
    ),
)
def max_pool_indices(backend, values, indices, x, *, size, window, stride, padding, dilation):
    """The largest element of each window, and where in its plane, counted row by row, the first such element is."""
    return backend.prepare(MaxPool("places", window, stride, padding, dilation), (values, indices), x)


@kernel(
    dtype=_floats,
    shape=_sized,
    vjp=(
        lambda g, x, *, output_shape, window, stride, padding, dilation: max_pool_pick(
            g, x, size=output_shape[2:], window=window, stride=stride, padding=padding, dilation=dilation
        ),
        None,
    ),
    linear=joint("output"),
    batch=lambda output, x, *, size, window, stride, padding, dilation: folded(
        max_pool_back,
        (
            output,
            x,
        ),
        size=size,
        window=window,
        stride=stride,
        padding=padding,
        dilation=dilation,
    ),
)
def max_pool_back(backend, out, output, x, *, size, window, stride, padding, dilation):
    """Zeros, with each element of `output` added where x has the first largest of its window."""
    return backend.prepare(MaxPool("back", window, stride, padding, dilation), out, output, x)


@kernel(
    dtype=_floats,
    shape=_sized,
    vjp=(
        lambda g, x, *, window, stride, padding, dilation: max_pool_back(
            g, x, size=x.shape[2:], window=window, stride=stride, padding=padding, dilation=dilation
        ),
        None,
    ),
    linear=joint("h"),
    batch=lambda h, x, *, size, window, stride, padding, dilation: folded(
        max_pool_pick,
        (
            h,
            x,
        ),
        size=size,
        window=window,
        stride=stride,
        padding=padding,
        dilation=dilation,
    ),
)
def max_pool_pick(backend, out, h, x, *, size, window, stride, padding, dilation):
    """The elements of h that lie where x has the first largest of each window."""
    return backend.prepare(MaxPool("pick", window, stride, padding, dilation), out, h, x)


# ---- the mean -------------------------------------------------------------------------------------------------------


@kernel(
    dtype=_floats,
    shape=_sized,
    vjp=(
        lambda g, *, x_shape, window, stride, padding, pad_counts, divisor: avg_pool_back(
            g, size=x_shape[2:], window=window, stride=stride, padding=padding, pad_counts=pad_counts, divisor=divisor
        ),
    ),
    linear=True,
    batch=lambda x, *, size, window, stride, padding, pad_counts, divisor: folded(
        avg_pool_with,
        (x,),
        size=size,
        window=window,
        stride=stride,
        padding=padding,
        pad_counts=pad_counts,
        divisor=divisor,
    ),
)
def avg_pool_with(backend, out, x, *, size, window, stride, padding, pad_counts, divisor):
    """The mean of each window.  Gradient: g, divided likewise, all over its window."""
    return backend.prepare(AvgPool("values", window, stride, padding, pad_counts, divisor), out, x)


@kernel(
    dtype=_floats,
    shape=_sized,
    vjp=(
        lambda g, *, output_shape, window, stride, padding, pad_counts, divisor: avg_pool_with(
            g, size=output_shape[2:], window=window, stride=stride, padding=padding, pad_counts=pad_counts,
            divisor=divisor,
        ),
    ),
    linear=True,
    batch=lambda output, *, size, window, stride, padding, pad_counts, divisor: folded(
        avg_pool_back, (output,), size=size, window=window, stride=stride, padding=padding, pad_counts=pad_counts,
        divisor=divisor,
    ),
)  # fmt: skip
def avg_pool_back(backend, out, output, *, size, window, stride, padding, pad_counts, divisor):
    """Each element, divided by what its window counts, added all over the window.  Gradient: the mean of windows."""
    return backend.prepare(AvgPool("back", window, stride, padding, pad_counts, divisor), out, output)
