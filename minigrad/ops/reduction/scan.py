"""Along one dim: cumulative sums, products, minima, maxima and log-sums; differences, integrals and derivatives.

Sums accumulate as reductions do: integers in int64, float32 in float64, float16 and bfloat16 in float32.  The scan
`recurrence` computes the derivatives.  With it, the gradients of products and of log-sums take one pass each.  They are
correct also for elements of 0 and for any range of exponents.
"""

from __future__ import annotations

import math
from typing import Annotated, Any

import numpy as np

from minigrad.core.conditions import Ndim, Numeric, expect_elements, expect_shape
from minigrad.core.dtype import DType, promote
from minigrad.core.op import Op, Spec
from minigrad.core.requests import RunningExtreme, Scan
from minigrad.core.roles import Cast, Choice, Dim, Flag, Size, ViewDims
from minigrad.core.shape import normalize_dims
from minigrad.declare.decorators import composed, kernel
from minigrad.declare.forms import as_float
from minigrad.declare.partials import declared
from minigrad.declare.rules import floating, joint, same_shape, twice, values_and_positions, widen
from minigrad.errors import ArgumentError
from minigrad.kernels.scalar import formula
from minigrad.ops.casting import clone, to
from minigrad.ops.indexing.gathering import gather, scatter_add, zeros_of
from minigrad.ops.pointwise.compare import where
from minigrad.ops.pointwise.explog import log_of_two
from minigrad.ops.reduction.sums import sum
from minigrad.ops.shape.joining import cat
from minigrad.ops.shape.parts import real
from minigrad.ops.shape.views import expand, narrow, reshape, select
from minigrad.runtime.dispatch import number
from minigrad.runtime.tensor import Tensor


def _sum_dtype(op: Op, specs: tuple[Spec, ...], **params: Any) -> DType:
    return widen(op, specs)[1]


def _flipped(spec: Spec, dim: int, reverse: bool) -> Spec:
    """Return the layout flipped along `dim` if `reverse`; a forward scan over it is a backward scan of the tensor."""
    return Spec(spec.layout.flip(dim), spec.dtype) if reverse else spec


def _moved(x: Tensor, dim: int, later: bool, fill: float) -> Tensor:
    """Shift x by one position along `dim`, to the end if `later`, otherwise to the start; the gap becomes `fill`."""
    n = x.shape[dim]
    if n == 0:
        return x
    edge = expand(number(fill, x.dtype, x.device), shape=(*x.shape[:dim], 1, *x.shape[dim + 1 :]))
    kept = narrow(x, dim=dim, start=0 if later else 1, length=n - 1)
    return cat([edge, kept] if later else [kept, edge], dim)


# ---- sums, products, log-sums ---------------------------------------------------------------------------------------


RUNNING_SUM = formula("running_sum(acc, x)", "acc + x")
RUNNING_PRODUCT = formula("running_product(acc, x)", "acc * x")


def running_log(acc, x):
    """Return log(exp(acc) + exp(x)), the next value of logcumsumexp."""
    return log_of_two(x, acc)


RUNNING_LINE = formula("running_line(acc, x, factor)", "x + factor * acc")  # the next value of a recurrence
LOWEST = -math.inf  # the value for an empty sum: log(0)
SUM = declared(RUNNING_SUM, "zero", order="sum", linear=True)
PRODUCT = declared(RUNNING_PRODUCT, "one", order="sum")
LOG = declared(running_log, "lowest", combine=running_log)
# Imaginary parts are determined up to 2*pi, so the order of additions decides about them; this is PyTorch's order.
COMPLEX_LOG = declared(running_log, "lowest", order="sequential")
LINE = declared(RUNNING_LINE, "zero", order="sequential")


@kernel(
    dtype=_sum_dtype, shape=same_shape, vjp=(lambda g, *, dim: reversed_cumsum(g, dim),), linear=joint("input"),
    batch="along", method=True, in_place=True, complex=True,
)  # fmt: skip
def cumsum(backend, out, input: Tensor, dim: Dim, *, dtype: Cast = None):
    """Return the cumulative sum along `dim`: at each position, the sum of the elements up to this position.

    dtype: the dtype to which the input is cast first, and which the result has. By default, bool and integers become
    int64.
    Gradient: at each position, the sum of g from this position to the end.
    """
    return backend.prepare(Scan(SUM, np.dtype(input.dtype.accumulator), dim), out, input)


@kernel(
    dtype=_sum_dtype, shape=same_shape, vjp=(lambda g, *, dim: cumsum(g, dim),), linear=joint("input"), batch="along",
    namespace=(), complex=True,
)  # fmt: skip
def reversed_cumsum(backend, out, input: Tensor, dim: Dim):
    """Return, at each position along `dim`, the sum of the elements from this position to the end.

    Gradient: the cumulative sum of g.
    """
    compute = np.dtype(input.dtype.accumulator)
    return backend.prepare(Scan(SUM, compute, dim), _flipped(out, dim, True), _flipped(input, dim, True))


def _recurrence_gradient(g: Tensor, factor: Tensor, dim: int, reverse: bool) -> Tensor:
    """Return the gradient of x in a recurrence: g, plus the later elements of g times the factors between."""
    return recurrence(g, _moved(factor, dim, reverse, 0.0), dim, not reverse)


@kernel(
    dtype=floating, shape=same_shape,
    vjp=(
        lambda g, factor, *, dim, reverse: _recurrence_gradient(g, factor, dim, reverse),
        lambda g, factor, y, *, dim, reverse: (
            _recurrence_gradient(g, factor, dim, reverse) * _moved(y, dim, not reverse, 0.0)
        ),
    ),
    linear=joint("x"), namespace=(),
    jvp=lambda dfactor, factor, y, *, dim, reverse: recurrence(
        dfactor * _moved(y, dim, not reverse, 0.0), factor, dim, reverse
    ),
    batch="along", complex=True,
)  # fmt: skip
def recurrence(backend, out, x: Tensor, factor: Tensor, dim: Dim, reverse: Flag = False):
    """Return y[i] = x[i] + factor[i] * y[i - 1] along `dim`, with y[-1] = 0; with reverse, it starts at the end.

    Gradient: for x, h, the reverse recurrence of g with the factors; for factor, h[i] * y[i - 1].
    """
    rows = [_flipped(s, dim, reverse) for s in (x, factor)]
    return backend.prepare(Scan(LINE, np.dtype(out.dtype.accumulator), dim), _flipped(out, dim, reverse), *rows)


def _cumprod_rule(g: Tensor, x: Tensor, y: Tensor, dim: int) -> Tensor:
    """Return the gradient of each element without a division, so that it is correct for elements of 0.

    It is the product of the elements before, times the sum of the later g, each times the product of the elements
    between.
    """
    after = recurrence(g, _moved(x, dim, False, 0.0), dim, True)
    return _moved(y, dim, True, 1.0) * after


@kernel(
    dtype=_sum_dtype, shape=same_shape, vjp=(lambda g, input, y, *, dim: _cumprod_rule(g, input, y, dim),),
    jvp=lambda dinput, input, y, *, dim: recurrence(dinput * _moved(y, dim, True, 1.0), input, dim), batch="along",
    method=True, in_place=True, complex=True,
)  # fmt: skip
def cumprod(backend, out, input: Tensor, dim: Dim, *, dtype: Cast = None):
    """Return the cumulative product along `dim`: at each position, the product of the elements up to this position.

    dtype: the dtype to which the input is cast first, and which the result has. By default, bool and integers become
    int64.
    Gradient: computed without a division, so it is correct for elements of 0 as well.
    """
    return backend.prepare(Scan(PRODUCT, np.dtype(input.dtype.accumulator), dim), out, input)


def _logcumsumexp_rule(g: Tensor, x: Tensor, y: Tensor, dim: int) -> Tensor:
    """Return exp(x - y) of each element, times the sum of the g from it on, each times exp(y - its y).

    Real values y never decrease, so all exponents are at most 0.
    """
    nothing = real(y) == LOWEST
    level = where(nothing, 0.0, y)
    step = where(nothing, 0.0, (level - _moved(level, dim, False, math.inf)).exp())
    after = recurrence(g, step, dim, True)
    return where(nothing, 0.0, (x - level).exp() * after)


@kernel(
    dtype=floating, shape=same_shape, vjp=(lambda g, input, y, *, dim: _logcumsumexp_rule(g, input, y, dim),),
    batch="along", method=True, complex=True,
)  # fmt: skip
def logcumsumexp(backend, out, input: Tensor, dim: Dim):
    """Return log(cumsum(exp(input))) along `dim`, without overflow.  Raises DTypeError for integers."""
    return backend.prepare(Scan(COMPLEX_LOG if out.dtype.is_complex else LOG, out.dtype.compute, dim), out, input)


# ---- cumulative minima and maxima -----------------------------------------------------------------------------------


# Whether x replaces `best`, the extremum so far; an equal x and a nan do.
NOT_LESS = formula("not_less(best, x)", "x >= best or x != x")
NOT_GREATER = formula("not_greater(best, x)", "x <= best or x != x")


RUNNING: dict[str, Any] = {
    "dtype": values_and_positions,
    "shape": twice(same_shape),
    "outputs": ("values", "indices"),
    "vjp": (lambda g, indices, *, dim: scatter_add(zeros_of(g.shape, g), dim, indices, g),),
    "jvp": lambda dinput, indices, *, dim: (gather(dinput, dim, indices), None),
    "batch": "along",
    "method": True,
}


@kernel(**RUNNING)
def cummax(backend, values, indices, input: Tensor, dim: Dim):
    """Return the cumulative maximum along `dim` and its positions, as the named tuple (values, indices).

    nan counts as the largest element.  If elements are tied, the position is that of the last.
    Gradient: at each position, the sum of g over the results that selected this element.
    """
    return backend.prepare(RunningExtreme(NOT_LESS, dim), (values, indices), input)


@kernel(**RUNNING)
def cummin(backend, values, indices, input: Tensor, dim: Dim):
    """Return the cumulative minimum along `dim` and its positions, as the named tuple (values, indices).

    nan counts as the smallest element.  If elements are tied, the position is that of the last.
    Gradient: at each position, the sum of g over the results that selected this element.
    """
    return backend.prepare(RunningExtreme(NOT_GREATER, dim), (values, indices), input)


# ---- differences, integrals and derivatives of sampled functions -----------------------------------------------------


@composed()
def diff(
    input: Annotated[Tensor, Ndim(least=1)],
    n: Size = 1,
    dim: Dim = -1,
    prepend: Tensor | None = None,
    append: Tensor | None = None,
) -> Tensor:
    """Return the n-th differences along `dim`: n times, each element minus the element before it."""
    if n == 0:
        return clone(input)
    parts = [part for part in (prepend, input, append) if part is not None]
    x = cat(parts, dim) if len(parts) > 1 else input
    for _ in range(min(n, x.shape[dim])):
        later, before = (narrow(x, dim, start, x.shape[dim] - 1) for start in (1, 0))
        x = later != before if x.dtype.kind == "bool" else later - before
    return x


@composed(method=False, out=False)
def trapezoid(y: Tensor, x: Tensor | None = None, *, dx: Any = 1, dim: Dim = -1) -> Tensor:
    """Return the integral along `dim` by the trapezoidal rule.

    x: the sample points; by default they are at the distance dx from each other.
    """
    empty = y.ndim > 0 and not y.shape[dim]  # without elements the integral is 0, for any x
    if x is not None or y.dtype.kind == "bool" or not y.ndim or empty:
        return sum(areas("trapezoid", y, None if empty else x, 1 if empty else dx, dim), dim)
    values, n = as_float("trapezoid", y), y.shape[dim]
    ends = select(values, dim, 0) + select(values, dim, n - 1)
    return (sum(values, dim) - ends * 0.5) * dx


@composed(method=False, out=False)
def trapz(y: Tensor, x: Tensor | None = None, *, dx: Any = 1, dim: Dim = -1) -> Tensor:
    """Return `trapezoid(y, x, dx=dx, dim=dim)`; `trapz` is its older name in PyTorch and NumPy."""
    return trapezoid(y, x, dx=dx, dim=dim)


@composed(method=False, out=False)
def cumulative_trapezoid(y: Tensor, x: Tensor | None = None, *, dx: Any = 1, dim: Dim = -1) -> Tensor:
    """Return the integrals from the first sample to each later sample along `dim`; see `trapezoid`."""
    return cumsum(areas("cumulative_trapezoid", y, x, dx, dim), dim)


def areas(name: str, y: Tensor, x: Tensor | None, dx: Any, dim: int) -> Tensor:
    """Return the area of the trapezoid below each pair of neighbouring samples."""
    Ndim(least=1).expect(name, y=y)
    Numeric.expect(name, y=y)
    later, before = pair(as_float(name, y), dim)
    if x is None:
        return (later + before) * (dx / 2.0)
    if x.ndim == 1:
        expect_shape(name, (y.shape[dim],), "the length along dim of y", y, "pass dx for equal distances", x=x)
        x = reshape(x, (x.shape[0], *(1,) * (y.ndim - dim - 1)))
    if x.ndim < y.ndim:
        x = reshape(x, (*(1,) * (y.ndim - x.ndim), *x.shape))
    width = diff_along(x, dim)  # as in PyTorch, the dim is counted from the front if x has more dims
    return (later + before) * width * 0.5


def pair(x: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    """Return two views: all elements along a dim except the first, and all except the last."""
    n = max(x.shape[dim] - 1, 0)
    return narrow(x, dim, min(1, x.shape[dim]), n), narrow(x, dim, 0, n)


def diff_along(x: Tensor, dim: int) -> Tensor:
    """Return the differences between neighbouring elements along a dim, the later minus the earlier element."""
    later, before = pair(x, dim)
    return later - before


@composed(method=False, out=False)
def gradient(
    input: Tensor, *, spacing: Any = 1, dim: ViewDims = None, edge_order: Annotated[int, Choice(1, 2)] = 1
) -> Any:
    """Return the derivatives of a sampled function along each dim, as a tuple with one tensor per dim.

    The derivatives are central differences, and one-sided differences at both ends of a dim.
    spacing: the distance of neighbouring samples, as one number for all dims or one per dim, or a list with a vector of
    the sample points for each dim.
    edge_order: the order of accuracy of the one-sided differences, 1 or 2.
    Raises ArgumentError for another edge_order or a wrong number of spacings, ShapeError if a dim has fewer than
    edge_order + 1 elements.
    """
    dims = normalize_dims(dim, input.ndim, "gradient", input)
    dims = tuple([d % input.ndim for d in dim]) if isinstance(dim, (tuple, list)) else dims
    steps = list(spacing) if isinstance(spacing, (tuple, list)) else [1 if spacing is None else spacing] * len(dims)
    if len(steps) != len(dims):
        raise ArgumentError(
            f"gradient: spacing must be one value or {len(dims)} values, one per dim, got {len(steps)} values; pass "
            "spacing=1.0, for example"
        )
    expect_elements("gradient", input, dims, edge_order + 1, "pass other dims")
    x = as_float("gradient", input)
    return tuple([differences_along(x, d, step, edge_order) for d, step in zip(dims, steps)])


def differences_along(x: Tensor, dim: int, step: Any, edge_order: int) -> Tensor:
    """Return the derivatives along one dim; `step` is the distance of neighbours, or the vector of sample points."""
    n = x.shape[dim]
    shape = (n - 1, *(1,) * (x.ndim - dim - 1))
    if isinstance(step, Tensor) and step.ndim:
        expect_shape("gradient", (n,), "one value per element along the dim of", x, "pass a number", spacing=step)
        width: Any = reshape(diff_along(step, 0), shape)
        x = to(x, promote(x.dtype, step.dtype))  # differences of float32 would round before they are divided by float64
    elif n > 2 and edge_order == 1:
        ends = [narrow(x, dim, k + 1, 1) - narrow(x, dim, k, 1) for k in (0, n - 2)]
        inner = narrow(x, dim, 2, n - 2) - narrow(x, dim, 0, n - 2)
        return cat([ends[0] / step, inner / (step * 2), ends[1] / step], dim)
    else:
        width = x.new_tensor(1.0).expand(shape) * step
    quotient = diff_along(x, dim) / width
    first, last = narrow(quotient, dim, 0, 1), narrow(quotient, dim, n - 2, 1)
    if edge_order == 2:
        first, last = bent(quotient, width, dim, 0, 1), bent(quotient, width, dim, n - 2, n - 3)
    if n == 2:
        return cat([first, last], dim)
    (after, before), (wide, near) = pair(quotient, dim), pair(width, 0)
    return cat([first, (before * wide + after * near) / (wide + near), last], dim)


def bent(quotient: Tensor, width: Tensor, dim: int, k: int, inner: int) -> Tensor:
    """Return the derivative at an end of the parabola through the last three samples.

    k: the index of the outermost interval.  inner: the index of the interval next to it.
    """
    end, near, mine, other = (narrow(x, d, j, 1) for x, d in ((quotient, dim), (width, 0)) for j in (k, inner))
    return end + (end - near) * mine / (mine + other)
