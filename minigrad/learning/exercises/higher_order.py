"""Exercises of notebook 09: derivatives of derivatives."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import minigrad as mg
from minigrad.learning.grading import Exercises, expect_close, gradient_of

EXERCISES = Exercises()

Map = Callable[..., Any]


def second(f: Map, x: Any) -> Any:
    """Return the second derivative of f at x: `mg.grad` twice."""
    return mg.grad(mg.grad(f(x), x, create_graph=True), x)


@EXERCISES(
    "09.1", second, "The second derivative: record the first derivative, then differentiate it.",
    "The first derivative is mg.grad(f(x), x). Why can you not take mg.grad of this result?",
    "It was not recorded. Pass create_graph=True to the first mg.grad; the second needs none.",
    "first = mg.grad(f(x), x, create_graph=True), and return mg.grad(first, x).",
)  # fmt: skip
def grade_second(answer: Any) -> None:
    """Compare second derivatives to nine digits."""
    for name, f, right in (
        ("x*x*x", lambda x: x * x * x, lambda x: 6 * x),
        ("tanh(x)", lambda x: x.tanh(), lambda x: -2 * math.tanh(x) * (1 - math.tanh(x) ** 2)),
        ("x*x*tanh(x)", lambda x: x * x * x.tanh(), _bent),
    ):
        for point in (0.7, -1.3):
            got = answer(f, mg.Var(point, dtype="float64"))
            expect_close(got, right(point), f"the second derivative of {name} at {point}", 1e-9)


def _bent(x: float) -> float:
    """Return the second derivative of x*x*tanh(x)."""
    y = math.tanh(x)
    return 2 * y + 4 * x * (1 - y * y) - 2 * x * x * y * (1 - y * y)


def slope_penalty(critic: Map, x: Any) -> Any:
    """Return the mean of (|slope| - 1)**2 over the points x."""
    slopes = mg.grad(critic(x).sum(), x, create_graph=True)
    return (((slopes * slopes).sum(1).sqrt() - 1.0) ** 2).mean()


@EXERCISES(
    "09.2", slope_penalty, "A gradient in a loss needs a graph, so that training can differentiate it.",
    "The gradient of critic(x).sum() with respect to x has one row per point: the gradient at this point.",
    "The length of a row is (slopes * slopes).sum(1).sqrt(). Training differentiates this whole expression.",
    "slopes = mg.grad(critic(x).sum(), x, create_graph=True); return ((length - 1.0) ** 2).mean().",
)  # fmt: skip
def grade_slope_penalty(answer: Any) -> None:
    """Compare the value of the penalty, and its gradient with respect to the weights of the critic."""
    for values, points in (
        ([1.0, -2.0], [[0.1, 0.2], [0.5, -0.3], [0.0, 0.4]]),
        ([0.3, 0.8], [[-1.0, 0.5], [0.2, 0.9], [1.0, 1.0]]),
    ):
        w = mg.Var(values, dtype="float64")

        def critic(x: Any, w: Any = w) -> Any:
            return (x @ w).tanh()

        got = answer(critic, mg.Var(points, dtype="float64"))
        want = slope_penalty(critic, mg.Var(points, dtype="float64"))
        where = f"for the critic tanh(x @ w) with w = {values}"
        expect_close(got, want, f"the penalty {where}", 1e-9)
        cut = "the value is right, but no gradient flows from it to the weights: training treats it as a constant"
        gradient = gradient_of(got, w, cut)
        expect_close(gradient, mg.grad(want, w), f"the gradient of the penalty with respect to w {where}", 1e-9)


def root(f: Map, x: Any) -> Any:
    """Return the point after eight steps of Newton's method from x."""
    for _ in range(8):
        table = mg.func.jacfwd(f)(x).numpy()
        x = x - mg.from_numpy(np.linalg.solve(table, f(x).numpy()))
    return x


LARGE, SMALL = math.sqrt(2 + math.sqrt(3)), math.sqrt(2 - math.sqrt(3))  # where a circle and a hyperbola cross


def _circle_and_hyperbola(x: Any) -> Any:
    """Return the residuals of x0*x0 + x1*x1 = 4 and x0*x1 = 1."""
    return mg.stack([x[0] * x[0] + x[1] * x[1] - 4.0, x[0] * x[1] - 1.0])


@EXERCISES(
    "09.3", root, "Newton for equations: the Jacobian determines where the tangents meet zero.",
    "One step needs f(x), and the Jacobian at x: mg.func.jacfwd(f)(x) or mg.func.jacrev(f)(x).",
    "np.linalg.solve(J, f(x)) returns the inverse of J times f(x); take .numpy() of both.",
    "for _ in range(8): x = x - mg.from_numpy(np.linalg.solve(J.numpy(), f(x).numpy())), with J at the new x.",
)  # fmt: skip
def grade_root(answer: Any) -> None:
    """Test two independent equations, and a system of two coupled equations."""
    for name, f, start, right in (
        ("x*x - 2, for each of two", lambda x: x * x - 2.0, [1.0, 3.0], [math.sqrt(2), math.sqrt(2)]),
        ("(x0*x0 + x1*x1 - 4, x0*x1 - 1)", _circle_and_hyperbola, [2.0, 0.3], [LARGE, SMALL]),
        ("(x0*x0 + x1*x1 - 4, x0*x1 - 1)", _circle_and_hyperbola, [-0.4, -2.0], [-SMALL, -LARGE]),
    ):  # fmt: skip
        got = answer(f, mg.tensor(start, dtype="float64"))
        expect_close(got, right, f"the root of {name} from {start}", 1e-9)


def derivative_of_answer(g: Map, solve: Map, x: Any) -> float:
    """Return dz/dx = -g_x / g_z at the solution z of g(z, x) = 0."""
    by_z, by_x = mg.func.grad(g, argnums=(0, 1))(solve(x), x)
    return -float(by_x.item()) / float(by_z.item())


def _bisected(g: Map, low: float, high: float) -> Map:
    """Return a solver by bisection: it branches on Python numbers, so it is not differentiable."""

    def solve(x: Any) -> Any:
        at, left, right = float(x.item()), low, high
        for _ in range(80):
            middle = (left + right) / 2
            left, right = (middle, right) if g(middle, at) < 0 else (left, middle)
        return mg.tensor((left + right) / 2, dtype="float64")

    return solve


@EXERCISES(
    "09.4", derivative_of_answer, "A solution has a derivative, which does not depend on the method of the solver.",
    "Where g(z, x) = 0 holds for every x, the derivative of g(z(x), x) with respect to x is 0 too. Write it out.",
    "g_z * dz/dx + g_x = 0. mg.func.grad(g, argnums=(0, 1)) returns both derivatives at (z, x).",
    "z = solve(x); g_z, g_x = mg.func.grad(g, argnums=(0, 1))(z, x); return -g_x.item() / g_z.item().",
)  # fmt: skip
def grade_derivative_of_answer(answer: Any) -> None:
    """Test two equations for which a formula of dz/dx is known."""
    cubic = _bisected(lambda z, x: z * z * z + z - x, -10.0, 10.0)
    quotient = _bisected(lambda z, x: z * x - 1.0, 0.0, 100.0)
    for name, g, solve, right in (
        ("z*z*z + z - x", lambda z, x: z * z * z + z - x, cubic, lambda z, x: 1 / (3 * z * z + 1)),
        ("z*x - 1", lambda z, x: z * x - 1.0, quotient, lambda z, x: -1 / (x * x)),
    ):
        for point in (0.5, 2.0):
            x = mg.tensor(point, dtype="float64")
            want = right(solve(x).item(), point)
            expect_close(answer(g, solve, x), want, f"dz/dx at x = {point} where {name} = 0", 1e-7)
