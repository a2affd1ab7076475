"""Variances and standard deviations over any set of dims, and the ops of their gradients.

The mean is computed first and stored in the dtype of the accumulator, so that a large mean does not reduce the accuracy
of the deviations from it.  One op requests both passes; the second pass reads the elements and their mean.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from math import prod
from typing import Annotated, Any

import numpy as np

from minigrad.backends.launch import Launch
from minigrad.backends.steps import Steps, Value
from minigrad.core.conditions import Floating
from minigrad.core.dtype import as_dtype
from minigrad.core.op import ScalarFn, Spec
from minigrad.core.reducer import Reducer
from minigrad.core.requests import Elementwise, Reduce
from minigrad.core.roles import Correction, Dims, Flag, Role, Scalar, role_of
from minigrad.declare.decorators import composed, kernel
from minigrad.declare.partials import average, declared
from minigrad.declare.rules import floating, joint, same_shape, shape_of_reduction, twice, with_kept_dims
from minigrad.errors import ArgumentError
from minigrad.kernels.scalar import bound, formula
from minigrad.ops.reduction.sums import mean, restore, sum, wide
from minigrad.runtime.tensor import Tensor

Ints = tuple[int, ...]


TOTAL = formula("total(acc, x)", "acc + x")
DIFFERENCE = formula("difference(x, center)", "x - center")
SQUARED_DEVIATION = formula("squared_deviation(x, center)", "(x - center) * (x - center)")
# For two results that store the mean in different dtypes.
MEAN_TWICE = formula("mean_twice(acc, n)", "acc / n, acc / n", results=2)
# If n is not greater than the correction, the divisor is 0.
VARIANCE = formula("mean_of_squares(acc, n, correction)", "acc / (n - correction if n > correction else 0)")
# The root is computed before any rounding to the dtype of the result.
DEVIATION = formula(
    "root_mean_of_squares(acc, n, correction)", "math.sqrt(acc / (n - correction if n > correction else 0))"
)
MEAN = declared(TOTAL, "zero", order="sum", finish=average, linear=True)
MEANS = declared(TOTAL, "zero", order="sum", finish=MEAN_TWICE, linear=True, results=2)


@lru_cache(maxsize=64)
def squares_of(correction: float, last: ScalarFn) -> Reducer:
    """Return the reduction of elements and their mean to a variance or a standard deviation, which `last` computes."""
    return declared(TOTAL, "zero", order="sum", map=SQUARED_DEVIATION, finish=bound(last, correction))


def center(backend: Any, outs: tuple[Spec, ...], x: Any, dims: Ints) -> tuple[Steps, Value, np.dtype[Any]]:
    """Return the steps that compute the mean over `dims`, the mean as an operand of later steps, and its dtype.

    The mean is expanded to the shape of x.  If there is a second result, the steps write the mean into it as well.
    """
    compute = np.dtype(x.dtype.accumulator)
    steps = Steps(backend, outs, (x,))
    kept = tuple(1 if d in dims else n for d, n in enumerate(x.shape))
    mean = steps.work(kept, as_dtype(compute))
    means = [mean, *steps.outs[1:]]
    steps.ask(Reduce(MEAN if len(means) == 1 else MEANS, compute, dims), means, steps.operands[0])
    return steps, mean.seen(mean.layout.expand(x.shape)), compute


@kernel(
    dtype=floating, shape=same_shape, vjp=(lambda g, *, dims: centered(g, dims=dims),), linear=joint("input"),
    batch="reduction", namespace=(), complex=True,
)  # fmt: skip
def centered(backend: Any, out: Spec, input: Tensor, *, dims: Dims):
    """Return the deviation of each element from the mean over `dims`.

    Gradient: the deviation of each element of g from the mean of g.
    """
    steps, mean, compute = center(backend, (out,), input, dims)
    steps.ask(Elementwise(DIFFERENCE, compute), steps.outs[0], steps.operands[0], mean)
    return steps.launch


def share(x: Tensor, dims: Ints, correction: float) -> float:
    """Return 1 / (n - correction) for n elements over `dims`; inf if n is not larger than the correction."""
    n = prod(x.shape[d] for d in dims)
    return 1.0 / (n - correction) if n > correction else math.inf


def variance_gradient(x: Tensor, dims: Ints, correction: float) -> Tensor:
    """Return the derivative of a variance with respect to each element."""
    return centered(x, dims=dims) * (2.0 * share(x, dims, correction))


def deviation_gradient(x: Tensor, y: Tensor, dims: Ints, correction: float) -> Tensor:
    """Return the derivative of a standard deviation y with respect to each element; 0 where y is 0."""
    size = restore(y, dims, x.shape)
    nothing = size == 0.0
    scaled = centered(x, dims=dims) * share(x, dims, correction)
    return nothing.where_cond(0.0, scaled / nothing.where_cond(1.0, size))


def from_mean(backend: Any, outs: tuple[Spec, ...], x: Any, dims: Ints, correction: float, last: ScalarFn) -> Launch:
    """Return a launch of both passes: the mean, and the sum of squared deviations from the mean.

    `last` computes the first result from this sum.  A second result is the mean.
    """
    steps, mean, compute = center(backend, tuple([with_kept_dims(out, x.shape, dims) for out in outs]), x, dims)
    steps.ask(Reduce(squares_of(float(correction), last), compute, dims), steps.outs[0], steps.operands[0], mean)
    return steps.launch


@kernel(
    dtype=floating, shape=shape_of_reduction, batch="reduction", namespace=(), label="var",
    vjp=(lambda g, x, *, dims, correction: restore(g, dims, x.shape) * variance_gradient(x, dims, correction),),
    jvp=lambda dx, x, *, dims, keepdim, correction: sum(dx * variance_gradient(x, dims, correction), dims, keepdim),
)  # fmt: skip
def variance(backend: Any, out: Spec, x: Tensor, *, dims: Dims, keepdim: Flag, correction: Scalar):
    """Return the variance over `dims`.  Gradient: 2*g*(x - mean)/(n - correction)."""
    return from_mean(backend, (out,), x, dims, correction, VARIANCE)


@kernel(
    dtype=floating, shape=shape_of_reduction, batch="reduction", namespace=(), label="std",
    vjp=(lambda g, x, y, *, dims, correction: restore(g, dims, x.shape) * deviation_gradient(x, y, dims, correction),),
    jvp=lambda dx, x, y, *, dims, keepdim, correction: sum(
        dx * deviation_gradient(x, y, dims, correction), dims, keepdim
    ),
)  # fmt: skip
def deviation(backend: Any, out: Spec, x: Tensor, *, dims: Dims, keepdim: Flag, correction: Scalar):
    """Return the standard deviation over `dims`.  Gradient: g*(x - mean)/((n - correction)*y), 0 where y is 0."""
    return from_mean(backend, (out,), x, dims, correction, DEVIATION)


def with_mean(g0: Tensor | None, g1: Tensor | None, x: Tensor, gradient: Callable[[], Tensor], dims: Ints) -> Tensor:
    """Return the gradient for the elements from g0 of a variance or deviation, and g1 of the mean; one may be None.

    gradient: the function that returns the derivative of the variance or the deviation.
    """
    parts = [] if g0 is None else [restore(g0, dims, x.shape) * gradient()]
    if g1 is not None:
        parts.append(restore((wide(g1) / prod(x.shape[d] for d in dims)).to(g1.dtype), dims, x.shape))
    return parts[0] + parts[1] if len(parts) > 1 else parts[0]


@kernel(
    dtype=twice(floating), shape=twice(shape_of_reduction), batch="reduction", namespace=(), label="var_mean",
    outputs=("var", "mean"),
    vjp=(lambda g0, g1, x, *, dims, correction: with_mean(
        g0, g1, x, lambda: variance_gradient(x, dims, correction), dims
    ),),
    jvp=lambda dx, x, *, dims, keepdim, correction: (
        sum(dx * variance_gradient(x, dims, correction), dims, keepdim), mean(dx, dims, keepdim)
    ),
)  # fmt: skip
def variance_and_mean(backend: Any, var: Spec, mean: Spec, x: Tensor, *, dims: Dims, keepdim: Flag, correction: Scalar):
    """Return the variance and the mean over `dims`.  Gradient: 2*g0*(x - mean)/(n - correction) + g1/n."""
    return from_mean(backend, (var, mean), x, dims, correction, VARIANCE)


@kernel(
    dtype=twice(floating), shape=twice(shape_of_reduction), batch="reduction", namespace=(), label="std_mean",
    outputs=("std", "mean"),
    vjp=(lambda g0, g1, x, std, *, dims, correction: with_mean(
        g0, g1, x, lambda: deviation_gradient(x, std, dims, correction), dims
    ),),
    jvp=lambda dx, x, std, *, dims, keepdim, correction: (
        sum(dx * deviation_gradient(x, std, dims, correction), dims, keepdim), mean(dx, dims, keepdim)
    ),
)  # fmt: skip
def deviation_and_mean(
    backend: Any, std: Spec, mean: Spec, x: Tensor, *, dims: Dims, keepdim: Flag, correction: Scalar
):
    """Return the standard deviation and the mean over `dims`.

    Gradient: g0*(x - mean)/((n - correction)*std) + g1/n; the first term is 0 where std is 0.
    """
    return from_mean(backend, (std, mean), x, dims, correction, DEVIATION)


def spread_dims(value: Any, op: str, name: str, operands: Sequence[Any]) -> Any:
    """Read the argument `dim` of a variance; a bool is returned as it is, because it is PyTorch's `unbiased`."""
    return value if isinstance(value, bool) else DIMS.read(value, op, name, operands)


DIMS: Any = role_of(Dims)
SpreadDims = Annotated[Any, Role("Dims", DIMS.doc, DIMS.type, spread_dims)]


def spread_of(function: Any, x: Tensor, dim: Any, correction: float, unbiased: Any, keepdim: bool) -> Any:
    """Call the op of a variance or deviation with the public arguments; as in PyTorch, `dim` may be `unbiased`."""
    if isinstance(dim, bool):
        dim, unbiased = tuple(range(x.ndim)), dim
    if x.dtype.is_complex:
        return spread_of_parts(function, x, dim, divisor(function.op.label, x.real, correction, unbiased), keepdim)
    correction = divisor(function.op.label, x, correction, unbiased)
    return function(x, dims=dim, keepdim=keepdim, correction=correction)


def spread_of_parts(function: Any, x: Tensor, dims: Ints, correction: float, keepdim: bool) -> Any:
    """Return a variance or deviation of complex numbers: the variance is the sum of the variances of both parts."""
    one, other = [variance(part, dims=dims, keepdim=keepdim, correction=correction) for part in (x.real, x.imag)]
    spread = one + other
    if function in (deviation, deviation_and_mean):
        spread = spread.sqrt()
    return spread if function.op.result is None else function.op.result(spread, mean(x, dims, keepdim))


def divisor(name: str, x: Tensor, correction: float, unbiased: Any) -> float:
    """Return the correction from the arguments `correction` and `unbiased`, its older form.

    Raises DTypeError if x is not a float tensor, and ArgumentError if both arguments are passed.
    """
    Floating.expect(name, input=x)
    if unbiased is None:
        return correction
    if correction != 1:
        raise ArgumentError(
            f"{name}: correction and unbiased must not be passed together, because unbiased is the older form of "
            f"correction, got correction={correction} and unbiased={unbiased}; omit unbiased"
        )
    return 1.0 if unbiased else 0.0


@composed()
def var(
    input: Tensor, dim: SpreadDims = None, correction: Correction = 1, keepdim: Flag = False, *,
    unbiased: bool | None = None,
) -> Tensor:  # fmt: skip
    """Return the variance over `dim`: the sum of squared deviations from the mean, divided by n - correction.

    It is computed in two passes, the mean first.
    unbiased: PyTorch's older form of `correction`; True stands for 1 and False for 0.
    Gradient: 2*g*(x - mean)/(n - correction).
    """
    return spread_of(variance, input, dim, correction, unbiased, keepdim)


@composed()
def std(
    input: Tensor, dim: SpreadDims = None, correction: Correction = 1, keepdim: Flag = False, *,
    unbiased: bool | None = None,
) -> Tensor:  # fmt: skip
    """Return the standard deviation over `dim`, which is the square root of `var`.

    Gradient: g*(x - mean)/((n - correction)*y) with the result y; 0 where all elements are equal.
    """
    return spread_of(deviation, input, dim, correction, unbiased, keepdim)


@composed(out=False)
def var_mean(
    input: Tensor, dim: SpreadDims = None, correction: Correction = 1, keepdim: Flag = False, *,
    unbiased: bool | None = None,
) -> Any:  # fmt: skip
    """Return the variance and the mean over `dim` as a named tuple, computed in the two passes of `var`."""
    return spread_of(variance_and_mean, input, dim, correction, unbiased, keepdim)


@composed(out=False)
def std_mean(
    input: Tensor, dim: SpreadDims = None, correction: Correction = 1, keepdim: Flag = False, *,
    unbiased: bool | None = None,
) -> Any:  # fmt: skip
    """Return the standard deviation and the mean over `dim` as a named tuple, computed in two passes."""
    return spread_of(deviation_and_mean, input, dim, correction, unbiased, keepdim)
