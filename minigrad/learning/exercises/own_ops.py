"""Exercises of notebook 11: custom ops."""

from __future__ import annotations

from typing import Any

import minigrad as mg
from minigrad.runtime.tensor import Tensor
from minigrad.learning.grading import Exercises, Wrong, expect_close, as_results

EXERCISES = Exercises()


def drawn(*shape: int) -> Tensor:
    """Return numbers of both signs, which are the same in each call."""
    count = 1
    for n in shape:
        count *= n
    return (mg.arange(count).to(mg.float64) * 1.7 + 0.3).sin().reshape(shape) * 2.0


def log_cosh_rule(g: Tensor, x: Tensor) -> Tensor:
    """Return the gradient of x; the derivative of log(cosh(x)) is tanh(x)."""
    return g * x.tanh()


@EXERCISES(
    "11.1", log_cosh_rule, "The derivative of log(cosh(x)) is tanh(x).",
    "Use the chain rule: the derivative of log times the derivative of cosh.",
    "It is sinh(x) / cosh(x). Which function is this?",
    "Return g * x.tanh(); a quotient of sinh and cosh would overflow where x is large.",
)  # fmt: skip
def grade_log_cosh(answer: Any) -> None:
    """Test incoming gradients that are not 1, and large elements."""
    for g, x in ((drawn(5), drawn(5).flip(0)), (drawn(2, 3) * 3.0, drawn(2, 3) * 20.0)):
        expect_close(answer(g, x), log_cosh_rule(g, x), f"the gradient at x = {x.tolist()}")


def weighted_rules(g: Tensor, x: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
    """Return the gradients of x and w: 2*w*x and x*x + 3*w*w, each times g."""
    return g * 2.0 * w * x, g * (x * x + 3.0 * w * w)


@EXERCISES(
    "11.2", weighted_rules, "One rule per operand, each multiplied by g.",
    "Hold w constant and differentiate with respect to x. Then exchange the two.",
    "With respect to w there are two terms: x*x and 3*w*w.",
    "Return (g * 2.0 * w * x, g * (x * x + 3.0 * w * w)).",
)  # fmt: skip
def grade_weighted(answer: Any) -> None:
    """Test both gradients in this order."""
    g, x, w = drawn(4), drawn(4).flip(0), drawn(4) + 1.0
    found = as_results(answer(g, x, w), 2, "the function", "a pair of gradients, of x and of w,")
    for name, got, want in zip(("x", "w"), found, weighted_rules(g, x, w), strict=True):
        expect_close(got, want, f"the gradient of {name}")


def norm_rule(g: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """Return g*x/y, and 0 if y is 0."""
    return g * x / (y + (y == 0))


@EXERCISES(
    "11.3", norm_rule, "The gradient of a norm is the direction, and 0 at the kink.",
    "Write the norm as a square root of a sum, and use y for the root.",
    "You get g*x/y. What happens where y is 0?",
    "Divide by y + (y == 0), which is 1 where y is 0, and y elsewhere.",
)  # fmt: skip
def grade_norm(answer: Any) -> None:
    """Test points other than 0, with g that is not 1, and the point 0."""
    for x in (drawn(3), drawn(2, 3) * 5.0):
        y, g = x.square().sum().sqrt(), mg.tensor(1.5, dtype=mg.float64)
        expect_close(answer(g, x, y), norm_rule(g, x, y), f"the gradient at x = {x.tolist()} with g = 1.5")
    zero, g = mg.zeros(3, dtype=mg.float64), mg.tensor(1.0, dtype=mg.float64)
    expect_close(answer(g, zero, g * 0.0), zero, "the gradient at x = [0, 0, 0]")


class Clipped(mg.Function):
    """The identity function with a gradient that is clipped."""

    @staticmethod
    def forward(x: Any) -> Any:
        """Return x unchanged."""
        return x.clone()

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        """Save nothing, because `backward` needs no values."""

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        """Return the gradient, limited to [-1, 1]."""
        return g.clamp(-1.0, 1.0)


@EXERCISES(
    "11.4", Clipped, "A Function's backward may differ from the derivative of its forward.",
    "Only backward must change.",
    "Tensors have a method that limits elements to a range.",
    "Return g.clamp(-1.0, 1.0).",
)  # fmt: skip
def grade_clip(answer: Any) -> None:
    """Test that values are unchanged, and that gradients of both signs are cut."""
    if not (isinstance(answer, type) and issubclass(answer, mg.Function)):
        raise Wrong("a subclass of mg.Function was expected; pass the class, and do not call apply")
    x = mg.Var([1.0, -2.0, 3.0, 0.5], dtype=mg.float64)
    y = answer.apply(x)
    expect_close(y, x, "ClipGradient.apply(x)")
    (y * mg.tensor([5.0, -7.0, 0.25, -0.5], dtype=mg.float64)).sum().backward()
    expect_close(x.grad, [1.0, -1.0, 0.25, -0.5], "where [5, -7, 0.25, -0.5] comes in, the gradient of x")
