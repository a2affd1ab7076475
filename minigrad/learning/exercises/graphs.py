"""Exercises of notebook 03: pictures of the graph."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

import minigrad as mg
from minigrad import f64
from minigrad.learning.grading import Exercises, Wrong, expect_close, expect_returned, as_results, tried

EXERCISES = Exercises()


def reached(y: Any) -> set[str]:
    """Return the names of the Vars under y, by a traversal of the ops."""
    names: set[str] = set()
    seen: set[int] = set()
    todo = [y if y.op is None else y.op]
    while todo:
        node = todo.pop()
        if node is None or node.id in seen:
            continue
        seen.add(node.id)
        if isinstance(node, mg.BackpropOp):
            todo.extend(node.parents)
        else:
            names.add(node.name)
    return names


def graphs() -> Iterable[tuple[str, Any]]:
    """Return named graphs that are difficult for a traversal."""
    a, b, c = (mg.Var(1.5 + k, dtype=f64, name=name) for k, name in enumerate("abc"))
    yield "a * b", a * b
    yield "(a * 2 + b) * (c + b)", (a * 2.0 + b) * (c + b)
    yield "a * c.detach()", a * c.detach()
    yield "c, the Var itself", c
    with mg.no_grad():
        cut = b * c
    yield "a + cut, where cut = b * c was computed under no_grad", a + cut
    y = a
    for _ in range(12):
        y = y + y
    yield "a, doubled 12 times by y = y + y", y


@EXERCISES(
    "03.1", reached, "A stack and a set of visited ids are enough to read a graph.",
    "It is `under` of notebook 02, with y.op instead of y and node.parents instead of v.parents.",
    "Keep a list of the nodes to visit and a set of the visited ids. A parent that is None is a constant; a parent "
    "that is a mg.Var ends the path, and its name belongs to the result.",
    "Begin with [y.op or y]. Take one; skip it if it is None or its id was seen; if it is a mg.BackpropOp, add its "
    "parents to the list, otherwise add its name to the set.",
)  # fmt: skip
def grade_reached(answer: Any) -> None:
    """Test the names of the Vars for each graph."""
    for name, y in graphs():
        got, want = tried(answer, y, on=f"y = {name}"), reached(y)
        expect_returned(got, "reached(y)")
        if not isinstance(got, (set, frozenset, list, tuple)) or not all(isinstance(each, str) for each in got):
            raise Wrong(
                f"reached(y) should return a set of names, such as {{'a', 'b'}}; for y = {name} it returned {got!r}"
            )
        if set(got) != want or len(set(got)) != len(got):
            raise Wrong(f"for y = {name} the Vars are {sorted(want)}, but yours are {sorted(got)}")


def scaled(x: Any) -> Any:
    """Return x scaled to [0, 1]; gradients flow through the extrema too."""
    low, high = x.amin(), x.amax()
    return (x - low) / (high - low)


def slope_of(answer: Any, values: Any, weights: Any, what: str, dtype: Any = f64) -> tuple[Any, Any]:
    """Return an answer's value and the gradient of <weights, value>; raise Wrong with the reason if there is none."""
    with mg.debug():
        x, factors = mg.Var(values, dtype=dtype, name="x"), mg.tensor(weights, dtype=dtype)
        y = answer(x)
        expect_returned(y, what)
        if not isinstance(y, mg.Tensor):
            raise Wrong(f"{what} returns {type(y).__name__}, but a tensor was expected")
        if y.shape != factors.shape:
            raise Wrong(f"{what} has shape {y.shape}, but {factors.shape} was expected")
        total = (y * factors).sum()
        if not total.requires_grad:
            raise Wrong(f"{what} is cut: {x.explain_grad(total)}")
    g = mg.grad(total, x, allow_unused=True)
    return y, mg.zeros_like(x) if g is None else g


@EXERCISES(
    "03.2", scaled, "The smallest and the largest element depend on x too.",
    "tolist() returns Python numbers, which are constants to the graph.",
    "x.amin() is a tensor that records how it was computed.",
    "low, high = x.amin(), x.amax(); the other line stays.",
)  # fmt: skip
def grade_scaled(answer: Any) -> None:
    """Test values and gradients, with the largest element at different positions."""
    for values in ([1.0, 3.0, 2.0], [-2.0, 0.5, -4.0], [10.0, 7.0, 8.5]):
        for weights in ([1.0, 0.0, 0.0], [0.3, -1.2, 0.7]):
            what = f"scaled({values})"
            y, g = slope_of(answer, values, weights, what)
            want_y, want_g = slope_of(scaled, values, weights, what)
            expect_close(y, want_y, what, 1e-9)
            expect_close(
                g, want_g, f"the gradient of <{weights}, {what}>, the sum of its elements times these weights,"
            )


def safe_root(x: Any) -> Any:
    """Return the root of positive elements, and 0 for others, without nan."""
    positive = x > 0.0
    return mg.where(positive, mg.where(positive, x, 1.0).sqrt(), 0.0)


@EXERCISES(
    "03.3", safe_root, "No nan arises: the branch that was not chosen receives 0, and not 0 times infinity.",
    "Both branches of where() are computed and differentiated, whichever is chosen.",
    "So the operand of the root must be harmless where x is not positive. Which function can choose it?",
    "mg.where(x > 0, mg.where(x > 0, x, 1.0).sqrt(), 0.0): the inner where() replaces the operand of the root with 1.",
)  # fmt: skip
def grade_safe_root(answer: Any) -> None:
    """Test elements that are zero, negative and positive."""
    for values in ([0.0, 4.0, -1.0], [9.0, 0.25, 0.0], [-3.0, -0.5, 2.0]):
        what = f"safe_root({values})"
        y, g = slope_of(answer, values, [1.0, 2.0, -1.0], what)
        want_y, want_g = slope_of(safe_root, values, [1.0, 2.0, -1.0], what)
        expect_close(y, want_y, what, 1e-9)
        expect_close(g, want_g, f"the gradient of the sum of [1, 2, -1] times {what}")


def separate(a: Any, b: Any, x: Any) -> tuple[Any, Any]:
    """Return both gradients; the first backward pass retains the graph."""
    return mg.grad(a, x, retain_graph=True), mg.grad(b, x)


@EXERCISES(
    "03.4", separate,
    "Two backward passes through one graph return two separate gradients, if the first one retains the graph.",
    "Which argument does the error after a second backward name?",
    "`.grad` adds up over backward passes. mg.grad(y, x) returns the gradient and does not change `.grad`.",
    "Return mg.grad(a, x, retain_graph=True), mg.grad(b, x).",
)  # fmt: skip
def grade_separate(answer: Any) -> None:
    """Test losses that share a part, in both orders."""
    for values in ([1.0, -2.0], [0.5, 3.0]):
        for swapped in (False, True):
            x = mg.Var(values, dtype=f64, name="x")
            shared = (x * x).tanh()
            pair = [(shared * shared).sum(), (shared * 3.0).sum()]
            got = answer(*(pair[::-1] if swapped else pair), x)
            as_results(got, 2, "separate(a, b, x)", "a pair of gradients")
            slope = 2 * np.array(values) * (1 - np.tanh(np.square(values)) ** 2)
            want = [2 * np.tanh(np.square(values)) * slope, 3 * slope]
            for k, (mine, right) in enumerate(zip(got, want[::-1] if swapped else want)):
                expect_close(mine, right, f"the gradient of {'ab'[k]} with respect to x = {values}", 1e-9)
