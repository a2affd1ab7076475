"""Elementwise ops with three or four operands, each in one launch: clamps, interpolation, sums of products."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minigrad.core.dtype import promote_all, promote_number
from minigrad.core.op import Op, Spec
from minigrad.core.roles import Factor, Scalar
from minigrad.declare.decorators import composed, elementwise
from minigrad.declare.rules import Pair, number, promote, refuse, to_float
from minigrad.errors import ArgumentError
from minigrad.runtime.tensor import Tensor, describe

# ---- clamps to a lower and an upper bound ----------------------------------------------------------------------------


@elementwise(
    dtype=promote, name="clamp", namespace=(),
    vjp=(
        lambda g, x, lo, hi: ((x >= lo) & (x <= hi)).where_cond(g, 0.0),
        lambda g, x, lo, hi: ((x < lo) & (lo <= hi)).where_cond(g, 0.0),
        lambda g, x, hi, lo: ((x > hi) | (lo > hi)).where_cond(g, 0.0),
    ),
)  # fmt: skip
def clamp_between(x, lo, hi):
    """Return min(max(x, lo), hi); the result is nan if x or a bound is nan.

    Gradient: for x, g between the bounds and at a bound, 0 outside. Where x is outside, the bound that was taken
    receives g.
    """
    low = x if x >= lo or x != x else lo
    return low if low <= hi or low != low else hi


@composed(of=clamp_between, in_place=True)
def clamp(input: Tensor, min: Any = None, max: Any = None, *, out: Tensor | None = None) -> Tensor:
    """Return min(max(input, min), max); either bound may be None, a number or a tensor.

    Gradient: for the input, g between the bounds and at a bound, 0 outside. Where the input is outside, the bound that
    was taken receives g.
    Raises ArgumentError if both bounds are None.
    """
    if min is None and max is None:
        raise ArgumentError(
            f"clamp: at least one of min and max is required for {describe(input)}, got neither; pass min=0, for "
            "example"
        )
    low = limits_of(input, max)[0] if min is None else min
    high = limits_of(input, min)[1] if max is None else max
    return clamp_between(input, low, high, out=out)


def limits_of(x: Tensor, bound: Any) -> tuple[Any, Any]:
    """Return the bounds that clamp no value of the dtype to which x and the other bound are promoted."""
    kind = x.dtype
    if not kind.is_float:
        tensor = isinstance(bound, Tensor)
        kind = promote_all([(y.dtype, y.ndim) for y in (x, bound)]) if tensor else promote_number(kind, bound)
    return (float("-inf"), float("inf")) if kind.is_float else (kind.lowest, kind.highest)


@composed(in_place=True, out=False)
def clamp_min(input: Tensor, min: Any, *, out: Tensor | None = None) -> Tensor:
    """Return the larger of the input and `min`.

    Gradient: g for the input where it is not below `min`; otherwise g for `min`.
    """
    return clamp_between(input, min, limits_of(input, min)[1], out=out)


@composed(in_place=True, out=False)
def clamp_max(input: Tensor, max: Any, *, out: Tensor | None = None) -> Tensor:
    """Return the smaller of the input and `max`.

    Gradient: g for the input where it is not above `max`; otherwise g for `max`.
    """
    return clamp_between(input, limits_of(input, max)[0], max, out=out)


# ---- interpolation and sums of products ------------------------------------------------------------------------------


@elementwise(
    dtype=to_float,
    vjp=(lambda g, weight: g * (1.0 - weight), lambda g, weight: g * weight, lambda g, input, end: g * (end - input)),
)
def lerp(input, end, weight):
    """Return input + weight * (end - input); the result is exactly `end` for the weight 1.

    Gradient: g*(1 - weight) for input, g*weight for end, and g*(end - input) for weight.
    """
    return input + weight * (end - input) if abs(weight) < 0.5 else end - (end - input) * (1 - weight)


def with_value(op: Op, specs: Sequence[Spec]) -> Pair:
    """Promote as `number`, after a check of the operands without the last one, which is the number `value`."""
    number(op, specs[:-1])
    return number(op, specs)


@elementwise(dtype=with_value, vjp="derived", namespace=(), label="addcmul")
def add_product(input, tensor1, tensor2, value=1):
    """Return input + value * tensor1 * tensor2.

    Gradient: g for input; for each factor, g times the product of the two other factors.
    """
    return input + value * tensor1 * tensor2


def with_floats(op: Op, specs: Sequence[Spec]) -> Pair:
    """Promote as `promote`, after a check that an operand other than the number `value` is a float or complex."""
    if any(s.dtype.is_inexact for s in specs[:-1]):
        return promote(op, specs)
    raise refuse(op, specs[:-1], "expected a float, because integers have two divisions; convert one with .float()")


@elementwise(
    dtype=with_floats,
    vjp=(
        lambda g: g,
        lambda g, tensor2, value: g * value / tensor2,
        lambda g, tensor1, tensor2, value: -(g * value * (tensor1 / tensor2)) / tensor2,
        lambda g, tensor1, tensor2: g * (tensor1 / tensor2),
    ),
    namespace=(),
    label="addcdiv",
)
def add_quotient(input, tensor1, tensor2, value=1):
    """Return input + value * tensor1 / tensor2.

    Gradient: g for input, g*value/tensor2 for tensor1, -g*value*tensor1/tensor2**2 for tensor2, and g*tensor1/tensor2
    for value.
    """
    return input + value * (tensor1 / tensor2)


@composed(in_place=True, out=False, older=("value",))
def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Factor = 1, out: Tensor | None = None) -> Tensor:
    """Return input + value * tensor1 * tensor2, element by element; shapes broadcast."""
    return add_product(input, tensor1, tensor2, value, out=out)


@composed(in_place=True, out=False, older=("value",))
def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Factor = 1, out: Tensor | None = None) -> Tensor:
    """Return input + value * tensor1 / tensor2, element by element; shapes broadcast.

    Raises DTypeError if all tensors are integers.
    """
    return add_quotient(input, tensor1, tensor2, value, out=out)


@composed(out=False)
def affine(input: Tensor, mul: Scalar, add: Scalar) -> Tensor:
    """Return input * mul + add."""
    return input * mul + add
