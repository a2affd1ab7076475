"""Exercises of notebook 06: vector-Jacobian products."""

from __future__ import annotations

from typing import Any

import numpy as np

import minigrad as mg
from minigrad import Tensor
from minigrad.learning.grading import Exercises, Wrong, as_array, expect_close, expect_returned, as_results

EXERCISES = Exercises()


def normal(seed: int, *shape: int) -> Tensor:
    """Return random numbers in float64, which are the same for every answer."""
    return mg.from_numpy(np.random.default_rng(seed).standard_normal(shape))


def summed_to(g: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Return g, summed over the dims that were broadcast."""
    new = g.ndim - len(shape)
    spread = [d + new for d, n in enumerate(shape) if n == 1 and g.shape[d + new] != 1]
    dims = (*range(new), *spread)
    return (g.sum(dims, keepdim=True) if dims else g).reshape(shape)


@EXERCISES(
    "06.1", summed_to, "Gradients of broadcast dims are summed. The engine does this after every rule.",
    "Shapes are aligned at their right ends. Which dims of g does the operand lack? Which of its dims have size 1?",
    "Sum over the first g.ndim - len(shape) dims, and over each dim where shape has 1 and g has more.",
    "Collect the dims; if there are any, sum over them with keepdim=True; reshape(shape) drops the new dims.",
)  # fmt: skip
def grade_summed_to(answer: Any) -> None:
    """Test new dims, expanded dims, both, and neither."""
    for given, shape in (
        ((2, 3), (3,)), ((2, 3), (2, 1)), ((2, 3), ()), ((4, 2, 3), (3,)), ((4, 2, 3), (2, 1)), ((2, 3), (2, 3)),
        ((3, 3), (3,)), ((3, 3), (3, 1)), ((4, 1, 3), (1, 3)), ((2, 3), (1, 1)),
    ):  # fmt: skip
        g = normal(len(given) + 7 * len(shape), *given)
        expect_close(answer(g, shape), summed_to(g, shape), f"summed_to(g, {shape}) of a g of shape {given}", 1e-9)


def linear_rule(g: Tensor, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Return both gradients of a @ b.T."""
    return g @ b, g.T @ a


@EXERCISES(
    "06.2", linear_rule, "Derived with indices, this needs no memory for transposes.",
    "In the sum over i and k of g[i, k] times the derivative of y[i, k] with respect to a[p, q], which terms are not "
    "0?",
    "a[p, q] is in y[p, k] for each k, with the factor b[k, q]: sum over k of g[p, k] b[k, q].",
    "That is g @ b. In the same way, b[p, q] is in y[i, p] for each i, with a[i, q]: g.T @ a.",
)  # fmt: skip
def grade_linear_rule(answer: Any) -> None:
    """Test rectangles, whose shapes reveal mistakes, and squares, which do not."""
    for rows, inner, columns in ((2, 3, 4), (3, 3, 3), (1, 4, 2)):
        g, a, b = normal(1, rows, columns), normal(2, rows, inner), normal(3, columns, inner)
        what = f"linear_rule of a{(rows, inner)} and b{(columns, inner)}"
        got = as_results(answer(g, a, b), 2, what, "a tuple of 2 tensors")
        for name, mine, want in zip("ab", got, linear_rule(g, a, b), strict=True):
            expect_close(mine, want, f"the gradient with respect to {name} in {what}", 1e-9)


def picked_rule(g: Tensor, p: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Return g at the positions that were read, and 0 elsewhere."""
    return mg.zeros(*shape, dtype=g.dtype).scatter_add(1, p.reshape(-1, 1), g.reshape(-1, 1))


@EXERCISES(
    "06.3", picked_rule, "The gradient of a read is a scatter: each gradient is added where its element was read.",
    "What is the gradient of an element that was not read?",
    "Start with zeros of the shape. In row k, at column p[k], put g[k].",
    "mg.zeros(*shape, dtype=g.dtype).scatter_add(1, p.reshape(-1, 1), g.reshape(-1, 1)), or a loop.",
)  # fmt: skip
def grade_picked_rule(answer: Any) -> None:
    """Test wide, tall and square shapes."""
    for places, shape in (([2, 0], (2, 3)), ([1, 1, 0, 1], (4, 2)), ([2, 0, 1], (3, 3)), ([0], (1, 1))):
        g, p = normal(4, shape[0]), mg.tensor(places)
        expect_close(answer(g, p, shape), picked_rule(g, p, shape), f"picked_rule(g, {places}, {shape})", 1e-9)


def log_softmax_rule(g: Tensor, y: Tensor) -> Tensor:
    """Return g minus the softmax times the sum of g."""
    return g - y.exp() * g.sum(1).reshape(-1, 1)


@EXERCISES(
    "06.4", log_softmax_rule, "The gradient of a cross entropy: the predicted probabilities minus the true ones.",
    "The derivative of ln(sum of e**x) with respect to x[j] is e**x[j] / sum of e**x. What is that in terms of y?",
    "It is e**y[j]. So the derivative of y[i] with respect to x[j] is (1 if i == j else 0) - e**y[j].",
    "Multiplied by g[i] and summed over i: g[j] - e**y[j] * (sum of g). Sum over dim 1, and keep the dim.",
)  # fmt: skip
def grade_log_softmax_rule(answer: Any) -> None:
    """Test several shapes, one of which is a square."""
    for k, shape in enumerate(((2, 3), (3, 3), (1, 5), (4, 1))):
        g, y = normal(5 + k, *shape), (normal(6 + k, *shape) * 2.0).log_softmax(1)
        expect_close(answer(g, y), log_softmax_rule(g, y), f"log_softmax_rule for the shape {shape}", 1e-9)


def is_vjp(f: Any, x: Tensor, u: Tensor, gradient: Tensor) -> bool:
    """Return whether the shape is right and the transpose identity holds."""
    if gradient.shape != x.shape:
        return False
    for seed in range(3):
        v = normal(40 + seed, *x.shape)
        _, move = mg.func.jvp(f, (x,), (v,))
        left, right = (u * move).sum().item(), (gradient * v).sum().item()
        if not abs(left - right) <= 1e-8 * (1 + abs(left)):  # nan is wrong too
            return False
    return True


@EXERCISES(
    "06.5", is_vjp, "A check that uses forward mode only, so it shares no mistake with the VJP rule.",
    "Take a random v in the shape of x. Which two numbers must agree?",
    "mg.func.jvp(f, (x,), (v,)) returns y and Jv. Before you multiply gradient and v, compare their shapes.",
    "Return gradient.shape == x.shape and abs((u * Jv).sum().item() - (gradient * v).sum().item()) < 1e-8.",
)  # fmt: skip
def grade_is_vjp(answer: Any) -> None:
    """Test correct gradients, and gradients with a wrong sign, factor, order, element or shape, zeros and nan."""
    matrix = normal(7, 4, 3)
    functions = {
        "x.exp()": lambda x: x.exp(),
        "x.softmax(0)": lambda x: x.softmax(0),
        "matrix @ x": lambda x: (matrix * x).sum(1),
        "matrix + x": lambda x: matrix + x,
        "x * x.sum()": lambda x: x * x.sum(),
    }
    for name, f in functions.items():
        x = normal(8, 3)
        y, back = mg.func.vjp(f, x)
        u = normal(9, *y.shape)
        (right,) = back(u)
        alone = right.clone()
        alone[1] = alone[1] * 2.0
        tried = {
            "the right gradient": (right, True), "minus the right gradient": (-right, False),
            "twice the right gradient": (right * 2.0, False), "the right one reversed": (right.flip(0), False),
            "zeros": (right * 0.0, False), "a gradient with one element doubled": (alone, False),
            "a gradient of nan": (right * np.nan, False),
        }  # fmt: skip
        if name == "matrix + x":
            tried["u itself, which was not summed,"] = (u, False)
        for what, (gradient, want) in tried.items():
            got = answer(f, x, u, gradient)
            expect_returned(got, "is_vjp")
            if as_array(got, "is_vjp").shape != () or bool(got) is not want:
                raise Wrong(f"{what} of f(x) = {name} is given, but is_vjp returns {got!r}; it should return {want}")
