"""Ops over spatial windows: the largest element, the mean, and weighted sums of elements.

If several elements of a window are the largest, the first one in row-major order counts, and receives the gradient.
nan is larger than all numbers, and the first nan counts: on the CPU `search` of `kernels/cpu/maxima.py` decides this,
on `reference` `first_of` of `backends/lowering/functions.py`.  Padding counts as -inf, and as 0 for the mean.  Pairs of
ops are adjoints, which gives derivatives of every order: `max_pool_back` adds at the positions of largest elements, and
`max_pool_pick` reads there; `avg_pool_back` distributes the means of `avg_pool`; `resample` computes weighted sums from
tables, or its adjoint with `back`.  `pooling.py`, `adaptive.py` and `resampling.py` have the public functions.
"""

from __future__ import annotations

from typing import Any

from minigrad.core.conditions import Floating, Numeric, Wide
from minigrad.core.dtype import DType, cast_array, int64
from minigrad.core.op import Op, Spec
from minigrad.core.requests import AvgPool, MaxPool, Resample
from minigrad.core.roles import Dim, Flag, Size
from minigrad.core.shape import Window
from minigrad.declare.decorators import kernel
from minigrad.declare.rules import joint, twice
from minigrad.ops.batch_rules import stretched
from minigrad.ops.creation import arange
from minigrad.ops.pointwise.compare import where
from minigrad.ops.shape.rearranging import movedim
from minigrad.ops.shape.views import reshape
from minigrad.runtime.operands import constant
from minigrad.runtime.tensor import Tensor

Ints = tuple[int, ...]
NUMBERS = Numeric.but(wanted="contain numbers, because a maximum of bool is not supported")
FLOATS = Floating.but(wanted="have a floating dtype, because the result is a mean")

# ---- rules ----------------------------------------------------------------------------------------------------------


def _numbers(op: Op, specs: tuple[Spec, ...], **params: Any) -> DType:
    NUMBERS.expect(op.label, input=specs[0])
    return specs[0].dtype


def _floats(op: Op, specs: tuple[Spec, ...], **params: Any) -> DType:
    FLOATS.expect(op.label, input=specs[0])
    return specs[0].dtype


def _sized(op: Op, x: Spec, *others: Spec, window: Window) -> Ints:
    return (*x.shape[:2], *window.size)


# ---- the largest element --------------------------------------------------------------------------------------------


def _max_request(part: str, window: Window) -> MaxPool:
    return MaxPool(part, window.taps, window.stride, window.padding, window.dilation)


@kernel(
    dtype=_numbers, shape=_sized, vjp=(lambda g, x, *, window: max_pool_back(g, x.detach(), window.to(x.shape[2:])),),
    jvp=lambda dx, x, *, window: max_pool_pick(dx, x.detach(), window),
    batch="merged", namespace=(),
)  # fmt: skip
def max_pool(backend, out, x: Tensor, window):
    """Return the largest element of each window.  Gradient: g at the first of the largest elements of each window."""
    return backend.prepare(_max_request("values", window), out, x)


@kernel(
    dtype=lambda op, specs, **params: (_numbers(op, specs), int64), shape=twice(_sized), outputs=("values", "indices"),
    vjp=(lambda g, x, *, window: max_pool_back(g, x.detach(), window.to(x.shape[2:])),),
    batch="merged", namespace=(),
)  # fmt: skip
def max_pool_indices(backend, values, indices, x: Tensor, window):
    """Return the largest element of each window, and the row-major position of the first one in its plane.

    Gradient: g at the first of the largest elements of each window.
    """
    return backend.prepare(_max_request("positions", window), (values, indices), x)


@kernel(
    dtype=_floats, shape=_sized,
    vjp=(lambda g, x, *, output_shape, window: max_pool_pick(g, x, window.to(output_shape[2:])), None),
    linear=joint("output"), batch="merged",
    namespace=(),
)  # fmt: skip
def max_pool_back(backend, out, output: Tensor, x: Tensor, window):
    """Return zeros to which each element of `output` is added, where x has the first largest element of its window."""
    return backend.prepare(_max_request("back", window), out, output, x)


@kernel(
    dtype=_floats, shape=_sized, vjp=(lambda g, x, *, window: max_pool_back(g, x, window.to(x.shape[2:])), None),
    linear=joint("h"), batch="merged", namespace=(),
)  # fmt: skip
def max_pool_pick(backend, out, h: Tensor, x: Tensor, window):
    """Return the elements of h at the positions where x has the first largest element of each window."""
    return backend.prepare(_max_request("pick", window), out, h, x)


# ---- the mean -------------------------------------------------------------------------------------------------------


def _avg_request(part: str, window: Window) -> AvgPool:
    return AvgPool(part, window.taps, window.stride, window.padding, window.pad_counts, window.divisor)


@kernel(
    dtype=_floats, shape=_sized, vjp=(lambda g, *, x_shape, window: avg_pool_back(g, window.to(x_shape[2:])),),
    linear=True, batch="merged", namespace=(),
)  # fmt: skip
def avg_pool(backend, out, x: Tensor, window):
    """Return the mean of each window.  Gradient: g divided by the same divisor, added to all elements of the window."""
    return backend.prepare(_avg_request("values", window), out, x)


@kernel(
    dtype=_floats, shape=_sized, vjp=(lambda g, *, output_shape, window: avg_pool(g, window.to(output_shape[2:])),),
    linear=True, batch="merged", namespace=(),
)  # fmt: skip
def avg_pool_back(backend, out, output: Tensor, window):
    """Return zeros to which each element, divided by the divisor of its window, is added over the whole window.

    Gradient: the mean of g over each window.
    """
    return backend.prepare(_avg_request("back", window), out, output)


# ---- weighted sums ---------------------------------------------------------------------------------------------------


def weighted(x: Tensor, d: int, index: Any, weight: Any) -> Tensor:
    """Return weighted sums of elements along a dim; `index` and `weight` are tables (terms, outputs)."""
    tables = constant(index, int64, x.device), constant(cast_array(weight, x.dtype), x.dtype, x.device)
    return resample(x, *tables, dim=d, size=index.shape[1])


def wide_floats(op: Op, specs: tuple[Spec, ...], **params: Any) -> DType:
    """Return the dtype of the first operand.  Raises DTypeError unless it is float32 or float64."""
    Wide.expect(op.label, input=specs[0])
    return specs[0].dtype


def _resampled_batch(x, index, weight, *, dim, size, back, batch, flags):
    """Return `resample` for a batch.

    If all samples share the tables, the dim is moved by one.  With tables for each sample, the batch and the dim are
    merged, and the tables are joined.
    """
    if not flags[1] and not flags[2]:
        return resample(x, index, weight, dim=dim + 1, size=size, back=back)
    x, index, weight = (stretched(each, flag, batch) for each, flag in zip((x, index, weight), flags, strict=True))
    first = arange(batch, device=x.device) * (size if back else x.shape[dim + 1])
    index = where(index < 0, index, index + reshape(first, (batch, 1, 1)))
    tables = [reshape(movedim(each, 0, 1), (each.shape[1], -1)) for each in (index, weight)]
    row = movedim(x, 0, dim)
    y = resample(
        reshape(row, (*x.shape[1 : dim + 1], -1, *x.shape[dim + 2 :])), *tables, dim=dim, size=batch * size, back=back
    )
    return movedim(reshape(y, (*y.shape[:dim], batch, size, *y.shape[dim + 1 :])), dim, 0)


@kernel(
    dtype=wide_floats,
    shape=lambda op, x, index, weight, *, dim, size, back: (*x.shape[:dim], size, *x.shape[dim + 1 :]),
    vjp=(
        lambda g, index, weight, *, in_shape, dim, back: resample(
            g, index, weight, dim=dim, size=in_shape[dim], back=not back
        ),
        None,
        None,
    ),
    linear=joint("x"),
    batch=_resampled_batch,
    namespace=(),
)
def resample(backend, out, x: Tensor, index: Tensor, weight: Tensor, *, dim: Dim, size: Size, back: Flag = False):
    """Return the sums of the elements at the indices in a table (terms, outputs) along `dim`, times their weights.

    An index of -1 is skipped.
    back: whether to compute the adjoint, which adds elements, times their weights, at these indices.
    Gradient: the adjoint of g.
    """
    return backend.prepare(Resample(dim, back), out, x, index, weight)
