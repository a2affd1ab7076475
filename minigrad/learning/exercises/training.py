"""Exercises of notebook 13: training a network."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import minigrad as mg
from minigrad.learning.grading import Exercises, Wrong, expect_close, gradient_of, as_results

EXERCISES = Exercises()

Answer = Callable[..., Any]
CLOSE = 1e-4  # tolerance for float32


def cross_entropy(scores: Any, truth: Any) -> Any:
    """Return the mean of -log(probability of the right class)."""
    return -scores.log_softmax(1).gather(1, truth.unsqueeze(1)).mean()


@EXERCISES(
    "13.1", cross_entropy,
    "The cross entropy. Softmax and logarithm belong together; separately, one of them overflows.",
    "log(softmax(x)) is x minus the logarithm of the sum of exp(x). One op computes all of it.",
    "scores.log_softmax(1) returns all logarithms; gather(1, truth.unsqueeze(1)) selects one per row.",
    "Return -scores.log_softmax(1).gather(1, truth.unsqueeze(1)).mean().",
    excluded=("cross_entropy", "CrossEntropyLoss", "nll_loss"),
)  # fmt: skip
def grade_cross_entropy(answer: Answer) -> None:
    """Test values, gradients, and scores whose exponentials overflow."""
    rng = np.random.default_rng(0)
    for name, values in (
        ("small scores", rng.standard_normal((4, 3))),
        ("scores of five rows", 2 * rng.standard_normal((5, 7))),
        ("scores up to 1000", np.array([[1000.0, 0.0, -1000.0], [5.0, 1000.0, 999.0]])),
    ):
        truth = mg.tensor([k % values.shape[1] for k in range(len(values))])
        ours, theirs = (mg.Var(values, dtype="float32") for _ in range(2))
        got, want = answer(ours, truth), mg.nn.functional.cross_entropy(theirs, truth)
        expect_close(got, want, f"the loss of {name}", CLOSE)
        cut = "the value is right, but no gradient flows from it to the scores; stay with tensors"
        gradient = gradient_of(got, ours, cut)
        expect_close(gradient, mg.grad(want, theirs), f"the gradient with respect to {name}", CLOSE)


def momentum(weight: Any, gradient: Any, speed: Any, rate: float) -> tuple[Any, Any]:
    """Return the weight after a step with the new speed, and that speed."""
    speed = 0.9 * speed + gradient
    return weight - rate * speed, speed


@EXERCISES(
    "13.2", momentum, "Momentum: each gradient counts, but it counts less with every step.",
    "Compute the new speed first, from the old speed and the gradient.",
    "speed = 0.9 * speed + gradient. The weight moves with the new speed.",
    "Return (weight - rate * speed, speed) with that speed.",
    fills=True,
)  # fmt: skip
def grade_momentum(answer: Answer) -> None:
    """Test three steps, from a speed that is not 0."""
    weight, speed = np.array([1.0, -2.0]), np.array([0.5, 0.0])
    for gradient, rate in (([1.0, 2.0], 0.1), ([-0.5, 0.3], 0.1), ([4.0, -1.0], 0.01)):
        got = answer(mg.tensor(weight), mg.tensor(gradient, dtype="float64"), mg.tensor(speed), rate)
        as_results(got, 2, "momentum", "(new weight, new speed)")
        wanted = momentum(weight, np.array(gradient), speed, rate)
        given = f"for weight {weight.tolist()}, gradient {gradient}, speed {speed.tolist()}, rate {rate}"
        for name, mine, theirs in zip(("weight", "speed"), got, wanted):
            expect_close(mine, theirs, f"the new {name} {given}", CLOSE)
        weight, speed = wanted


def clipped(gradients: Sequence[Any], limit: float) -> list[Any]:
    """Multiply all tensors by the same factor, which is at most 1."""
    total = float(np.sqrt(sum(float((g.numpy() ** 2).sum()) for g in gradients)))
    return [g * min(1.0, limit / total) if total else g for g in gradients]


@EXERCISES(
    "13.3", clipped, "Clipping by the total length does not change the direction of the step.",
    "Imagine one vector with all elements of all gradients. What is its length?",
    "total is the square root of the sum of all squares, over all tensors. If it is larger than limit, which factor "
    "makes it equal to limit?",
    "Multiply each tensor by min(1.0, limit / total); if total is 0, return the tensors unchanged.",
)  # fmt: skip
def grade_clipped(answer: Answer) -> None:
    """Test long gradients, short gradients, and zeros."""
    for values, limit in (
        (([3.0, 4.0], [12.0]), 1.0),
        (([3.0, 4.0], [12.0]), 14.0),
        (([0.6, -0.8], [0.0]), 0.5),
        (([6.0, 0.0], [0.0, 0.0, 8.0]), 20.0),
        (([0.0, 0.0], [0.0]), 1.0),
    ):
        given = [mg.tensor(v, dtype="float64") for v in values]
        got = as_results(answer(list(given), limit), len(given), "clipped", f"a list of {len(given)} tensors")
        for k, (mine, theirs) in enumerate(zip(got, clipped([mg.tensor(v, dtype="float64") for v in values], limit))):
            expect_close(mine, theirs, f"the gradient {values[k]} in {list(values)}, clipped to {limit},", CLOSE)


class RMSNorm(mg.nn.Module):
    """Divide rows by the root of the mean of their squares; multiply columns by a parameter."""

    def __init__(self, size: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.eps = eps
        self.weight = mg.nn.Parameter(mg.ones(size))

    def forward(self, x: Any) -> Any:
        """Return a tensor with the shape of x."""
        return x / ((x * x).mean(-1, keepdim=True) + self.eps).sqrt() * self.weight


@EXERCISES(
    "13.4", RMSNorm, "A module: parameters are attributes, and forward is a function of them and of the input.",
    "In __init__, store eps, and assign a parameter to self.weight. A plain tensor is not a parameter.",
    "self.weight = nn.Parameter(mg.ones(size)). In forward, the mean of the squares of each row is (x * x).mean(-1, "
    "keepdim=True).",
    "return x / ((x * x).mean(-1, keepdim=True) + self.eps).sqrt() * self.weight",
    excluded=("RMSNorm", "rms_norm"),
)  # fmt: skip
def grade_rms_norm(answer: Answer) -> None:
    """Test that the parameter is registered; then values, gradients, both arguments, and inputs with three dims."""
    module = answer(4)
    if not isinstance(module, mg.nn.Module):
        raise Wrong(f"RMSNorm(4) returns {type(module).__name__}, but a module was expected")
    found = {name: tuple(p.shape) for name, p in module.named_parameters()}
    if found != {"weight": (4,)}:
        raise Wrong(f"RMSNorm(4) has the parameters {found}, but {{'weight': (4,)}} was expected; "
                    "assign an nn.Parameter to self.weight after super().__init__()")  # fmt: skip
    expect_close(module.weight, np.ones(4), "the weight at the start", CLOSE)
    rng = np.random.default_rng(0)
    for shape, eps in (((3, 4), 1e-6), ((2, 3, 5), 1e-6), ((4, 3), 0.5)):
        ours, theirs = answer(shape[-1], eps), RMSNorm(shape[-1], eps)
        for weight in (np.ones(shape[-1]), rng.standard_normal(shape[-1])):
            for each in (ours, theirs):
                each.load_state_dict({"weight": mg.tensor(weight, dtype="float32")})
            x = mg.tensor(3 * rng.standard_normal(shape), dtype="float32")
            told = f"an input of shape {shape} with eps={eps} and weight {weight.round(3).tolist()}"
            got, want = ours(x), theirs(x)
            expect_close(got, want, f"the output for {told}", CLOSE)
            cut = "the output is right, but no gradient flows from it to the weight"
            gradient, right = (
                gradient_of((got * got).sum(), ours.weight, cut),
                mg.grad((want * want).sum(), theirs.weight),
            )
            expect_close(gradient, right, f"the weight's gradient for {told}", 1e-3)
