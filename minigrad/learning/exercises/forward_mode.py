"""Exercises of notebook 08: forward mode, and how reverse mode is derived from it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import minigrad as mg
from minigrad.autodiff.batches import BatchTransform
from minigrad.runtime.tracers import stack
from minigrad.learning.grading import Exercises, Wrong, expect_close, as_results

EXERCISES = Exercises()

Map = Callable[[Any], Any]
Pair = tuple[float, float]
Lines = list[tuple[int, float, int]]


def divided(a: Pair, b: Pair) -> Pair:
    """Return the value and the slope of a quotient, by the quotient rule."""
    return a[0] / b[0], (a[1] * b[0] - a[0] * b[1]) / (b[0] * b[0])


@EXERCISES(
    "08.1", divided, "The quotient rule, which is all that a division needs in forward mode.",
    "The value is the quotient of the values. For the slope, use the quotient rule: (a/b)' is ...",
    "(a' b - a b') / (b b), with a, a' = a[0], a[1].",
    "Return (a[0] / b[0], (a[1] * b[0] - a[0] * b[1]) / b[0]**2).",
)  # fmt: skip
def grade_divided(answer: Any) -> None:
    """Test pairs with a slope in both operands, in one, and in neither."""
    pairs = (
        ((6.0, 1.0), (2.0, 0.0)), ((1.0, 0.0), (4.0, 1.0)), ((3.0, -2.0), (-0.5, 5.0)), ((2.0, 0.0), (8.0, 0.0)),
    )  # fmt: skip
    for a, b in pairs:
        got = as_results(answer(a, b), 2, f"divided({a}, {b})", "a pair (value, slope)")
        for name, mine, theirs in zip(("value", "slope"), got, divided(a, b)):
            expect_close(mine, theirs, f"the {name} of divided({a}, {b})", 1e-9)


def jacobian(f: Map, x: Any) -> Any:
    """Return the Jacobian of f at x: forward mode computes a column for each input."""
    units = mg.eye(len(x), dtype="float64")
    return mg.stack([mg.func.jvp(f, (x,), (units[k],))[1] for k in range(len(x))], 1)


@EXERCISES(
    "08.2", jacobian, "A Jacobian by columns costs one run for each input.",
    "Which v makes Jv the first column of J?",
    "v = (1, 0, 0, ...), a row of mg.eye(len(x), dtype='float64'); mg.func.jvp(f, (x,), (v,)) is f(x) and Jv.",
    "Collect the second entry for each row of the unit matrix, and mg.stack them along dim 1.",
)  # fmt: skip
def grade_jacobian(answer: Any) -> None:
    """Test functions with more, fewer and equally many results as inputs; no Jacobian is symmetric."""
    for name, f, point in (
        ("x[:-1] * x[1:]", lambda x: x[:-1] * x[1:], [1.0, -2.0, 0.5]),
        ("x[0] * (1, 2, 3, 4) + x[1]", lambda x: x[0] * mg.linspace(1.0, 4.0, 4, dtype="float64") + x[1], [2.0, 3.0]),
        ("x * x.sum()", lambda x: x * x.sum(), [1.0, 2.0, -0.5]),
    ):  # fmt: skip
        x = mg.tensor(point, dtype="float64")
        expect_close(answer(f, x), jacobian(f, x), f"the Jacobian of {name}", 1e-9)


def curvature(f: Map, x: Any, v: Any) -> Any:
    """Return <v, Hv>, computed by forward mode over reverse mode."""
    return (v * mg.func.jvp(mg.func.grad(f), (x,), (v,))[1]).sum()


@EXERCISES(
    "08.3", curvature, "Forward over reverse: second derivatives along one direction, at the cost of a few gradients.",
    "Hv is the derivative of the gradient along v. Which mode computes a derivative along v?",
    "mg.func.jvp of mg.func.grad(f) returns the gradient and Hv; mg.func.hvp returns Hv. Multiply by v and sum.",
    "Return (v * mg.func.hvp(f, (x,), (v,))).sum().",
)  # fmt: skip
def grade_curvature(answer: Any) -> None:
    """Test the result to nine digits, and that no batch of directions is used."""
    calls = 0

    def counted(f: Map) -> Map:
        def called(x: Any) -> Any:
            nonlocal calls
            calls += 1
            if any(isinstance(transform, BatchTransform) for transform in stack.transforms):
                raise Wrong("this computes the whole Hessian; only its product with v is needed")
            return f(x)

        return called

    for name, f in (
        ("(x*x*x).sum()", lambda x: (x * x * x).sum()),
        ("x[0] * x[1] * x[2]", lambda x: x[0] * x[1] * x[2]),
    ):
        for point, way in (([1.0, 2.0, -1.0], [1.0, 0.0, 0.0]), ([0.5, -1.0, 2.0], [1.0, -2.0, 3.0])):
            x, v = mg.tensor(point, dtype="float64"), mg.tensor(way, dtype="float64")
            calls = 0
            got = answer(counted(f), x, v)
            expect_close(got, curvature(f, x, v), f"the curvature of {name} at {point} along {way}", 1e-9)
            if calls > 2:
                raise Wrong(f"f was called {calls} times; a derivative of a derivative calls it once")


def push(lines: Lines, v: Sequence[float]) -> list[float]:
    """Return the slopes after all lines, for given slopes before the first line."""
    slopes = list(v)
    for j, c, i in lines:
        slopes[j] += c * slopes[i]
    return slopes


def pull(lines: Lines, u: Sequence[float]) -> list[float]:
    """Run the lines in reverse order, each with its ends swapped."""
    counts = list(u)
    for j, c, i in reversed(lines):
        counts[i] += c * counts[j]
    return counts


@EXERCISES(
    "08.4", pull,
    "Reverse mode is forward mode's list, from the last line to the first, with both ends of each line swapped.",
    "If slope j counts u[j] in the end, and c times slope i was added to it, by how much does the weight of slope i "
    "grow?",
    "By c * u[j]. But u[j] must be complete by then: it includes all terms that later lines add.",
    "counts = list(u); for j, c, i in reversed(lines): counts[i] += c * counts[j]; return counts.",
)  # fmt: skip
def grade_pull(answer: Any) -> None:
    """Compare with the matrix that `push` makes of unit vectors; only in the first case, the lines may be reordered."""
    for lines, size in (
        ([(2, 3.0, 0), (2, -1.0, 1)], 3),
        ([(1, 2.0, 0), (2, 5.0, 1), (3, 1.0, 2), (3, 1.0, 1)], 4),
        ([(2, 0.5, 0), (2, 2.0, 1), (0, -1.0, 2), (3, 4.0, 0), (1, 1.0, 3)], 4),
    ):
        table = np.stack([push(lines, unit) for unit in np.eye(size).tolist()], 1)
        for u in ([1.0] + [0.0] * (size - 1), [0.0] * (size - 1) + [1.0], [1.0, -2.0, 0.5, 3.0][:size]):
            expect_close(answer(list(lines), list(u)), table.T @ np.array(u), f"pull({lines}, {u})", 1e-9)
