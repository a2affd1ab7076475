"""Exercises of appendix A2: stability."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import minigrad as mg
from minigrad.learning.exercises.graphs import slope_of
from minigrad.learning.grading import Exercises, Wrong, as_float, expect_close, expect_digits_at, as_results

EXERCISES = Exercises()

Piece = tuple[float, float]


def row_logsumexp(x: Any) -> Any:
    """Return the logsumexp of each row; its largest element is subtracted first."""
    top = x.amax(1, keepdim=True)
    return ((x - top).exp().sum(1, keepdim=True).log() + top).squeeze(1)


@EXERCISES(
    "A2.1", row_logsumexp, "Each row is shifted by its own largest score.",
    "It is `shifted` of section 2, for each row separately. Which score must be subtracted from a row?",
    "x.amax(1, keepdim=True) has one number per row, and a shape that can be subtracted from x.",
    "top = x.amax(1, keepdim=True); ((x - top).exp().sum(1, keepdim=True).log() + top).squeeze(1).",
    excluded=("logsumexp",),
)  # fmt: skip
def grade_row_logsumexp(answer: Any) -> None:
    """Test a square matrix whose rows differ by thousands."""
    for rows in (
        [[0.0, 0.5, -0.25], [1.0, 1.0, 1.0], [2.0, -3.0, 0.0]],
        [[1000.0, 999.0, 998.0], [-1000.0, -1001.0, -1000.5], [0.0, 1.0, -200.0]],
    ):
        z = np.array(rows)
        top = z.max(1, keepdims=True)
        sums = np.exp(z - top).sum(1, keepdims=True)
        weights = np.array([1.0, -2.0, 0.5])
        what = f"row_logsumexp({rows})"
        y, g = slope_of(answer, rows, weights, what, mg.float32)
        expect_close(y, (np.log(sums) + top)[:, 0], what, 1e-5)
        wanted = weights[:, None] * np.exp(z - top) / sums
        expect_close(g, wanted, f"the gradient of {what}, its elements times {weights.tolist()},", 1e-5)


def log1mexp(x: Any) -> Any:
    """Return log(1 - exp(x)), by expm1 near 0 and by log1p elsewhere."""
    near = x > -math.log(2.0)
    far = mg.where(near, -1.0, x)
    return mg.where(near, (-x.expm1()).log(), (-far.exp()).log1p())


@EXERCISES(
    "A2.2", log1mexp, "The small term is computed before it is added to 1: expm1 near 0, log1p far from it.",
    "For x near 0, exp(x) is nearly 1, and 1 - exp(x) is -x.expm1(). For x far below 0, exp(x) itself is small.",
    "mg.where(x > -0.7, (-x.expm1()).log(), (-x.exp()).log1p()) has the right values. Its gradient has a nan: near 0, "
    "the branch that is not chosen has the logarithm of 0.",
    "Give this branch a harmless operand where it is not chosen: far = mg.where(x > -0.7, -1.0, x).",
)  # fmt: skip
def grade_log1mexp(answer: Any) -> None:
    """Test values and derivatives at points from -1e-10 to -80, in two dtypes."""
    points = [-1e-10, -1e-4, -0.3, -0.8, -5.0, -40.0, -80.0]
    for dtype, allowed in ((mg.float32, 2.0**-19), (mg.float64, 2.0**-46)):
        what = f"log1mexp({{x}}) in {dtype}"
        y, g = slope_of(answer, points, np.ones(len(points)), "log1mexp(x)", dtype)
        exact = mg.tensor(points, dtype=dtype).double().numpy()
        value = np.array([math.log(-math.expm1(v)) if v > -0.5 else math.log1p(-math.exp(v)) for v in exact])
        expect_digits_at(points, y, value, what, allowed)
        expect_digits_at(points, g, -1.0 / np.expm1(-exact), f"the derivative of {what}", allowed)


def unit_rows(x: Any) -> Any:
    """Return rows of length 1; rows of zeros remain zeros, also in the gradient."""
    squares = (x * x).sum(1, keepdim=True)
    zero = squares == 0.0
    return mg.where(zero, 0.0, x / mg.where(zero, 1.0, squares).sqrt())


@EXERCISES(
    "A2.3", unit_rows, "The operand of the root is never 0, and the gradient at a row of zeros is 0.",
    "This is exercise 03.3 again: which value must replace a 0 under the root?",
    "squares = (x * x).sum(1, keepdim=True), and mg.where(squares == 0, 1.0, squares).sqrt() is a safe length.",
    "Divide by the safe length, and put mg.where(squares == 0, 0.0, ...) around it, so the gradient is 0 too.",
    excluded=("norm", "vector_norm", "normalize"),
)  # fmt: skip
def grade_unit_rows(answer: Any) -> None:
    """Test matrices with and without a row of zeros."""
    for rows in ([[3.0, 4.0], [1.0, -2.0], [-5.0, 12.0]], [[0.0, 0.0], [6.0, -8.0], [0.0, 2.0]]):
        x = np.array(rows)
        weights = np.array([[1.0, 2.0], [-1.0, 0.5], [2.0, 3.0]])
        length = np.sqrt((x * x).sum(1, keepdims=True))
        safe = np.where(length == 0, 1.0, length)
        unit = x / safe
        slope = np.where(length == 0, 0.0, (weights - unit * (weights * unit).sum(1, keepdims=True)) / safe)
        what = f"unit_rows({rows})"
        y, g = slope_of(answer, rows, weights, what)
        expect_close(y, unit, what, 1e-9)
        expect_close(g, slope, f"the gradient of {what}, its elements times {weights.tolist()},", 1e-9)


def merged(a: Piece, b: Piece) -> Piece:
    """Return the larger top, and the sum of both totals rescaled to it."""
    top = max(a[0], b[0])
    if top == -math.inf:
        return top, 0.0
    return top, a[1] * math.exp(a[0] - top) + b[1] * math.exp(b[0] - top)


@EXERCISES(
    "A2.4", merged, "Both totals are rescaled to the larger top; then they can be added.",
    "Totals can be added if they are sums of exp(score - top) with the same top. Which one is safe?",
    "The larger one. A total moves from its own top to another by a factor: exp(own top - new top).",
    "top = max(a[0], b[0]); a[1] * math.exp(a[0] - top) + b[1] * math.exp(b[0] - top); handle two empty pieces "
    "separately.",
)  # fmt: skip
def grade_merged(answer: Any) -> None:
    """Test pieces with near and distant tops in both orders, and empty pieces."""
    empty = (-math.inf, 0.0)
    pieces = [(0.0, 1.5), (1.0, 2.0), (-1000.0, 1.0), (1000.0, 3.0), (999.0, 1.25), empty]
    for a in pieces:
        for b in pieces:
            what = f"merged({a}, {b})"
            got, want = as_results(answer(a, b), 2, what, "a pair of numbers"), merged(a, b)
            top, total = (as_float(each, what) for each in got)
            if top != want[0]:
                raise Wrong(f"{what} has the top {top:g}, but {want[0]:g} was expected")
            expect_close(total, want[1], f"the total of {what}", 1e-12)
