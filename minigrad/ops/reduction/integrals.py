"""Differences, integrals and derivatives of sampled functions: diff, trapezoid and gradient."""

from __future__ import annotations

from typing import Annotated, Any

from minigrad.core.conditions import Ndim, Numeric, expect_elements, expect_shape
from minigrad.core.roles import Choice, Dim, Size, ViewDims
from minigrad.core.shape import normalize_dims
from minigrad.declare.decorators import composed
from minigrad.declare.forms import as_float
from minigrad.errors import ArgumentError
from minigrad.ops.casting import clone
from minigrad.ops.reduction.scan import cumsum
from minigrad.ops.reduction.sums import sum
from minigrad.ops.shape.joining import cat
from minigrad.ops.shape.views import narrow, reshape, select
from minigrad.runtime.tensor import Tensor


@composed()
def diff(
    input: Tensor, n: Size = 1, dim: Dim = -1, prepend: Tensor | None = None, append: Tensor | None = None
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
            "spacing=1.0, for example",
            op="gradient",
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
