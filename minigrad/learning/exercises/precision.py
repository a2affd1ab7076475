"""Exercises of appendix A1: the precision microscope."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import minigrad as mg
from minigrad.learning.grading import (
    Exercises,
    Wrong,
    as_float,
    expect_digits,
    expect_digits_at,
    expect_returned,
    tried,
)

EXERCISES = Exercises()


def gap(x: float, fraction: int) -> float:
    """Return the distance from x to the next larger number of the dtype."""
    return 2.0 ** (math.frexp(x)[1] - 1 - fraction)


@EXERCISES(
    "A1.1", gap, "The gap is the gap at 1, times the power of two at or below the number.",
    "From 1 to 2 all gaps are 2.0**-fraction. And from 2 to 4, from 1024 to 2048, from a half to 1?",
    "With each power of two the gaps double. Which power of two is the largest that is not above x?",
    "exponent = math.floor(math.log2(x)); the gap is 2.0 ** (exponent - fraction).",
)  # fmt: skip
def grade_gap(answer: Any) -> None:
    """Test four dtypes, at powers of two and at other numbers."""
    for fraction in (23, 10, 7, 52):
        for x in (1.0, 1.999, 0.75, 0.1, 1000.0, 1024.0, 3.0e-3, 0.5):
            what = f"gap({x}, {fraction})"
            expect_digits(as_float(answer(x, fraction), what), gap(x, fraction), what, 1e-9)


def one_minus_cos(x: Any) -> Any:
    """Return 1 - cos(x) as 2 * sin(x/2)**2."""
    s = (x * 0.5).sin()
    return s * s * 2.0


@EXERCISES(
    "A1.2", one_minus_cos, "A formula without a difference has nothing to cancel.",
    "Where x is small, cos(x) is nearly 1. Put x = 2a into the formula from school.",
    "1 - cos(x) is 2 * sin(x/2)**2: this formula has no subtraction.",
    "s = (x * 0.5).sin(), and return 2.0 * s * s.",
)  # fmt: skip
def grade_one_minus_cos(answer: Any) -> None:
    """Test values and derivatives at points from 1e-9 to 3, in two dtypes."""
    points = [1e-9, 3e-4, -0.02, 0.7, 2.0, 3.0]
    for dtype, allowed in ((mg.float32, 2.0**-20), (mg.float64, 2.0**-48)):
        x = mg.Var(points, dtype=dtype)
        got = answer(x)
        what = f"one_minus_cos({{x}}) in {dtype}"
        exact = x.detach().double().numpy()
        expect_returned(got, "one_minus_cos(x)")
        expect_digits_at(points, got, 2 * np.sin(exact / 2) ** 2, what, allowed)
        if not isinstance(got, mg.Tensor) or got.dtype is not dtype:
            kind = getattr(got, "dtype", type(got).__name__)
            raise Wrong(
                f"one_minus_cos(x) for x in {dtype} returns {kind}, but a tensor of the dtype of x was expected"
            )
        if not got.requires_grad:
            raise Wrong("one_minus_cos(x) has the right values, but no gradient flows through it")
        expect_digits_at(points, mg.grad(got.sum(), x), np.sin(exact), f"the derivative of {what}", allowed)


def careful_sum(numbers: list[Any]) -> Any:
    """Return a sum by Kahan's method, which adds the error of each step to the next.

    Source: W. Kahan, "Further remarks on reducing truncation errors", Communications of the ACM 8(1), 1965.
    """
    total = lost = numbers[0] - numbers[0]
    for number in numbers:
        number = number + lost
        new = total + number
        lost = (total - new) + number
        total = new
    return total


@EXERCISES(
    "A1.3", careful_sum, "The rounding error of an addition can be computed and stored.",
    "Keep two numbers: the total, and the rounding error of the last addition.",
    "Before you add the next number to the total, add the last rounding error to this number. Then compute the new "
    "rounding error.",
    "number = number + lost; new = total + number; lost = (total - new) + number; total = new.",
)  # fmt: skip
def grade_careful_sum(answer: Any) -> None:
    """Test sums of thousands of positive numbers."""
    rng = np.random.default_rng(5)
    for what, numbers in (
        ("4096 tenths in float16", np.full(4096, 0.1, np.float16)),
        ("3000 numbers from 0 to 1 in float16", rng.random(3000).astype(np.float16)),
        ("0.25, and 3000 times 0.0001, in float16", np.array([0.25] + 3000 * [1e-4], np.float16)),
        ("20000 tenths in float32", np.full(20000, 0.1, np.float32)),
    ):
        got = as_float(tried(answer, list(numbers), on=what), f"the sum of {what}")
        eps = float(np.finfo(numbers.dtype).eps)
        expect_digits(got, math.fsum(map(float, numbers)), f"the sum of {what}", 2 * eps)


def unscaled_gradient(loss: Callable[[Any], Any], w: Any, scale: float) -> Any:
    """Return the gradient in float32; it is cast before it is divided."""
    return mg.grad(loss(w) * scale, w).to(mg.float32) / scale


@EXERCISES(
    "A1.4", unscaled_gradient,
    "Scale the loss before the backward pass, and unscale the gradient after its cast to float32.",
    "The gradient of scale * loss is scale * gradient. What is multiplied, and where?",
    "mg.grad(loss(w) * scale, w) is the scaled gradient, in float16. Divided there, it is too small again.",
    "Cast first, with .to(mg.float32) or .float(), then divide by scale.",
)  # fmt: skip
def grade_unscaled_gradient(answer: Any) -> None:
    """Test gradients that float16 cannot represent, and gradients that it can."""
    for exponent, scale in ((-15, 2.0**14), (-17, 2.0**15), (-8, 2.0**6)):
        x = mg.tensor([k / 1024 for k in (1, 2, 3, 4)], dtype="float16")
        w = mg.Var([0.5, 0.25, 0.5, 1.0], dtype="float16", name="w")
        target = w.detach() * x + 2.0**exponent

        def loss(w: Any, x: Any = x, target: Any = target) -> Any:
            miss = w * x - target
            return (miss * miss).mean()

        what = f"unscaled_gradient(loss, w, {scale:g})"
        got = answer(loss, w, scale)
        expect_digits(got, -(2.0**exponent) * np.array([1.0, 2.0, 3.0, 4.0]) / 2048, what, 1e-3)
        if getattr(got, "dtype", None) is not mg.float32:
            raise Wrong(f"{what} is right, but in {getattr(got, 'dtype', type(got).__name__)} instead of float32")
