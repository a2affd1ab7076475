"""Exercises of notebook 01: derivatives by nudging."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from minigrad.learning.grading import Exercises, Wrong, as_float, expect_close

EXERCISES = Exercises()

Function = Callable[[float], float]


def central(f: Function, x: float, h: float) -> float:
    """Return the central difference quotient of f at x with the step h."""
    return (f(x + h) - f(x - h)) / (2 * h)


@EXERCISES(
    "01.1", central, "The central difference: it nudges x to both sides, so error terms in odd powers of h cancel.",
    "Look at f a little to the right of x and a little to the left.",
    "What is the distance between these two points? It is not h.",
    "Return (f(x + h) - f(x - h)) divided by the distance 2 * h.",
)  # fmt: skip
def grade_central(answer: Any) -> None:
    """Compare the quotients of three functions, each at three points with three steps."""
    for name, f in (("x*x", lambda x: x * x), ("x**3", lambda x: x**3), ("exp(x)", math.exp)):
        for x, h in ((1.5, 0.1), (-0.7, 0.01), (0.0, 0.5)):
            expect_close(answer(f, x, h), central(f, x, h), f"central(f, {x}, {h}) of f = {name}", 1e-9)


def richardson(f: Function, x: float, h: float) -> float:
    """Combine two central quotients so that the error term in h*h cancels."""
    return (4 * central(f, x, h / 2) - central(f, x, h)) / 3


@EXERCISES(
    "01.2", richardson, "Richardson: combine two estimates so that their known error cancels.",
    "Two equations with the unknowns d and c: central(f, x, h) = d + c*h*h, and central(f, x, h / 2) = d + c*h*h/4.",
    "4 times the second minus the first does not contain c. How many times does it contain d?",
    "4 times the one with h/2, minus the one with h, and that divided by 3.",
)  # fmt: skip
def grade_richardson(answer: Any) -> None:
    """Test that the result is exact for t**4, and that its error is of fourth order for sin."""
    for x, h in ((1.0, 0.5), (-2.0, 0.1)):
        got, want = answer(lambda t: t**4, x, h), 4 * x**3
        what = f"richardson of t**4 at {x} with h = {h}"
        if isinstance(got, float) and math.isclose(got, 3 * want):
            raise Wrong(
                f"{what} is {got:.8g}, three times the expected value: c has cancelled, but three derivatives remain"
            )
        parts = [f"{central(lambda t: t**4, x, each):.8g}" for each in (h, h / 2)]
        expect_close(got, want, f"{what}, where central returns {parts[0]} with h and {parts[1]} with h/2,", 1e-9)
    errors = [abs(answer(math.sin, 1.0, h) - math.cos(1.0)) for h in (0.2, 0.1)]
    if not 8 < errors[0] / max(errors[1], 1e-300) < 32:
        raise Wrong(
            f"halving h should make the error 16 times smaller; here it went from {errors[0]:.3g} to {errors[1]:.3g}"
        )
    expect_close(
        answer(math.exp, 0.3, 0.2), richardson(math.exp, 0.3, 0.2), "richardson of exp at 0.3 with h = 0.2", 1e-12
    )


def best_step(order: int) -> float:
    """Return the step at which truncation and rounding errors are about equal: eps ** (1 / (order + 1))."""
    return float(2.0 ** (-52 / (order + 1)))


@EXERCISES(
    "01.3", best_step, "The best step grows with the order of the method.",
    "The truncation error is about h**order, the rounding error about eps / h. One falls as the other grows.",
    "They are equal where h**(order + 1) is eps, which is 2**-52 in float64.",
    "Return 2.0 ** (-52 / (order + 1)).",
)  # fmt: skip
def grade_best_step(answer: Any) -> None:
    """Test that the step is within a factor of 4 of the formula, for three orders."""
    for order in (1, 2, 4):
        got, want = as_float(answer(order), f"best_step({order})"), best_step(order)
        if not 0.25 <= got / want <= 4:
            raise Wrong(f"for order {order} the best step is about {want:.1e}, but yours is {got!r}")


def complex_step(f: Callable[[complex], complex], x: float) -> float:
    """Return the derivative as the imaginary part of f after a step along the imaginary axis, divided by the step."""
    return f(complex(x, 1e-30)).imag / 1e-30


@EXERCISES(
    "01.4", complex_step, "The complex step: no subtraction, so no digits are lost.",
    "f(x + ih) is f(x) + ih f'(x) + ...: where is the derivative in it?",
    "It is the imaginary part, divided by h. How small may h be?",
    "Take h = 1e-30 and return f(complex(x, h)).imag / h.",
)  # fmt: skip
def grade_complex_step(answer: Any) -> None:
    """Compare with the derivative to about 14 digits; a difference quotient has about half as many."""
    import cmath

    for name, f, slope, x in (
        ("z*z*z", lambda z: z * z * z, lambda x: 3 * x * x, 1.7),
        ("exp(z)/z", lambda z: cmath.exp(z) / z, lambda x: math.exp(x) * (x - 1) / (x * x), 0.9),
        ("sin(z)", cmath.sin, math.cos, -2.2),
    ):
        got, want = as_float(answer(f, x), f"complex_step of {name}"), slope(x)
        if not abs(got - want) <= 1e-14 * max(1.0, abs(want)):  # nan is wrong too
            raise Wrong(f"the derivative of {name} at {x} is {want!r}, but yours is {got!r}{advice(got, want)}")


def advice(got: float, want: float) -> str:
    """Return advice for a complex step whose result shows its mistake, otherwise ""."""
    if got == 0:
        return ": did the step go along the imaginary axis?"
    if not abs(got - want) <= 0.01 * max(1.0, abs(want)):
        return ""
    return (
        ": a step along the imaginary axis needs no subtraction, so it may be as small as 1e-30, but not smaller than "
        "the smallest float, about 1e-308"
    )
