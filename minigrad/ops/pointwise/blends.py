"""Elementwise ops with three or four operands; each runs in one launch, and so does each of their gradients."""

# The bodies of scalar functions are data, which the specialiser reads; they carry no types.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from collections.abc import Sequence

from minigrad.core.op import Op, Spec
from minigrad.core.roles import Scalar
from minigrad.declare.decorators import composed, elementwise
from minigrad.declare.rules import Pair, number, to_float
from minigrad.runtime.tensor import Tensor


@elementwise(
    dtype=to_float,
    vjp=(
        lambda g, weight: g * (1.0 - weight),
        lambda g, weight: g * weight,
        lambda g, input, end: g * (end - input),
    ),
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


@elementwise(
    dtype=to_float,
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


@composed(in_place=True, out=False)
def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Scalar = 1, out: Tensor | None = None) -> Tensor:
    """Return input + value * tensor1 * tensor2, element by element; shapes broadcast."""
    return add_product(input, tensor1, tensor2, value, out=out)


@composed(in_place=True, out=False)
def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Scalar = 1, out: Tensor | None = None) -> Tensor:
    """Return input + value * tensor1 / tensor2, element by element; shapes broadcast.

    Integers are converted to the default float.
    """
    return add_quotient(input, tensor1, tensor2, value, out=out)
