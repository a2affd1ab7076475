"""Gates: one half of a tensor times a function of the other half; one launch for each of the two passes."""

# The bodies of scalar functions are data, which the specialiser reads; they carry no types.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import math
from typing import Any

from minigrad.backends.steps import Steps, Value
from minigrad.core.op import Op, Spec
from minigrad.core.roles import Dim
from minigrad.declare.decorators import kernel
from minigrad.declare.rules import floating, joint, to_float
from minigrad.errors import ShapeError
from minigrad.kernels.scalar import scalar_of
from minigrad.ops.shape.joining import cat
from minigrad.runtime.tensor import Tensor


def gated(a, b):
    """Return a * sigmoid(b), one element of glu."""
    return a * math.logistic(b)  # type: ignore[attr-defined]


def gated_back(g, a, b):
    """Return the gradients of a and b for one element of glu."""
    s = math.logistic(b)  # type: ignore[attr-defined]
    return g * s, g * a * s * (1 - s)


GATED, GATED_BACK = scalar_of(gated), scalar_of(gated_back, results=2)


def halved(op: Op, input: Spec, *, dim: int) -> tuple[int, ...]:
    """Return the shape with half of the length along `dim`.  Raises ShapeError for an odd length."""
    if not input.shape or input.shape[dim] % 2:
        raise ShapeError(
            f"{op.label}: dim {dim} of the input must have an even length, got {input!r}; pass another dim", op=op.label
        )
    return (*input.shape[:dim], input.shape[dim] // 2, *input.shape[dim + 1 :])


def halves(x: Value, dim: int) -> list[Value]:
    """Return the two equal parts of x along a dim."""
    half = x.shape[dim] // 2
    return [x.at(dim, start, half) for start in (0, half)]


def glu_tangent(dinput: Tensor, input: Tensor, dim: int) -> Tensor:
    """Return the tangent of glu."""
    (da, db), (a, b) = dinput.chunk(2, dim), input.chunk(2, dim)
    s = b.sigmoid()
    return da * s + db * a * s * (1.0 - s)


def glu_gradient(g: Tensor, input: Tensor, dim: int) -> Tensor:
    """Return the gradient of glu in differentiable tensor code."""
    a, b = input.chunk(2, dim)
    s = b.sigmoid()
    return cat([g * s, g * a * s * (1.0 - s)], dim)


@kernel(
    dtype=floating, shape=lambda op, g, input, *, dim: input.shape, linear=joint("g"), namespace=(), out=False,
    batch=lambda g, input, *, dim, batch: glu_backward(g, input, dim + 1),
)  # fmt: skip
def glu_backward(backend, out, g: Tensor, input: Tensor, dim: Dim):
    """Return the gradient of glu in one launch; derivatives of higher order use `glu_gradient`."""
    steps = Steps(backend, (out,), (g, input))
    (result,), (head, source) = steps.outs, steps.operands
    steps.each(GATED_BACK, halves(result, dim), head, *halves(source, dim))
    return steps.launch


@kernel(
    dtype=lambda op, specs, **params: to_float(op, specs)[1], shape=halved,
    vjp=(lambda g, input, *, dim: glu_gradient(g, input, dim),),
    jvp=lambda dinput, input, *, dim: glu_tangent(dinput, input, dim),
    batch=lambda input, *, dim, batch: glu(input, dim + 1), method=True, out=False,
)  # fmt: skip
def glu(backend, out, input: Tensor, dim: Dim = -1):
    """Return the first half of input along `dim` times the sigmoid of the second half.

    Gradient: g*s for the first half a, and g*a*s*(1 - s) for the second half, with s the sigmoid of the second half.
    Source: Dauphin and others, arXiv 1612.08083.
    Raises ShapeError if the input has an odd length along `dim`.
    """
    steps = Steps(backend, (out,), (input,))
    steps.each(GATED, steps.outs[0], *halves(steps.operands[0], dim))
    return steps.launch


RULE: Any = glu.op.rules[0]  # type: ignore[attr-defined]
RULE.fused = glu_backward
