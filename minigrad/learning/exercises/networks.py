"""Exercises of notebook 14: a convolutional network and a small GPT."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import minigrad as mg
from minigrad.learning.grading import Exercises, Wrong, as_array, expect_close, gradient_of, as_results

EXERCISES = Exercises()

Answer = Callable[..., Any]
CLOSE = 1e-4  # tolerance for float32


def conv_cost(inputs: int, outputs: int, kernel: int, stride: int, padding: int, side: int) -> tuple[int, int, int]:
    """Return the parameters, the side of the output and the multiply-adds of one image."""
    size = (side + 2 * padding - kernel) // stride + 1
    weights = outputs * inputs * kernel * kernel
    return weights + outputs, size, weights * size * size


@EXERCISES(
    "14.1", conv_cost, "The cost of a convolution: few parameters, many multiply-adds.",
    "At how many positions does a window of `kernel` pixels fit into side + 2 * padding pixels?",
    "size = (side + 2 * padding - kernel) // stride + 1. One kernel has inputs * kernel * kernel weights and one bias.",
    "weights = outputs * inputs * kernel**2. Return (weights + outputs, size, weights * size**2).",
)  # fmt: skip
def grade_conv_cost(answer: Answer) -> None:
    """Test strides with a remainder, no padding, and kernels as large as the image."""
    for given in (
        (1, 16, 3, 1, 1, 8), (16, 32, 3, 1, 1, 4), (3, 8, 5, 1, 0, 32), (4, 6, 3, 2, 1, 9), (2, 5, 3, 2, 0, 8),
        (1, 1, 7, 3, 2, 7), (3, 2, 4, 1, 0, 4),
    ):  # fmt: skip
        got = as_results(answer(*given), 3, "conv_cost", "a tuple of three ints")
        told = "conv_cost(inputs={}, outputs={}, kernel={}, stride={}, padding={}, side={})".format(*given)
        names = ("the number of parameters", "the side of the output", "the number of multiply-adds")
        for name, mine, right in zip(names, got, conv_cost(*given)):
            expect_close(mine, right, f"{name} of {told}", 1e-12)


def attention(q: Any, k: Any, v: Any) -> Any:
    """Return weighted means of the values; the weights of later positions are 0."""
    later = mg.ones(len(q), len(q), dtype=mg.bool).triu(1)
    scores = (q @ k.T) * q.shape[1] ** -0.5
    return scores.masked_fill(later, -1e9).softmax(-1) @ v


@EXERCISES(
    "14.2", attention, "Causal attention: later positions are masked before the softmax.",
    "Element [i, j] of (q @ k.T) * d ** -0.5 is the score with which position i reads position j. Which elements must "
    "not count?",
    "Those with j > i: mg.ones(n, n, dtype=mg.bool).triu(1). If their score is -1e9, the softmax makes them 0.",
    "return scores.masked_fill(later, -1e9).softmax(-1) @ v",
    excluded=("scaled_dot_product_attention",),
)  # fmt: skip
def grade_attention(answer: Answer) -> None:
    """Test the values, and that no later position has an effect."""
    rng = np.random.default_rng(0)
    for length, width in ((4, 3), (6, 2)):
        q, k, v = (2 * rng.standard_normal((length, width)) for _ in range(3))
        want = attention(*(mg.tensor(x, dtype="float32") for x in (q, k, v)))
        got = as_array(answer(*(mg.tensor(x, dtype="float32") for x in (q, k, v))), "attention")
        if got.shape == (length, width) and not np.allclose(got[0], v[0], atol=1e-3):
            raise Wrong(f"position 0 can read itself only, so its row is v[0], {v[0].round(3).tolist()}; "
                        f"yours is {got[0].round(3).tolist()}")  # fmt: skip
        expect_close(got, want, f"attention over {length} positions", 1e-3)


def draw(scores: Any, temperature: float, k: int, u: float) -> int:
    """Return the first index at which the sum of the probabilities exceeds u."""
    shifted = np.exp((scores - scores.max()) / temperature)
    shifted[np.argsort(scores)[: len(scores) - k]] = 0.0
    sums = np.cumsum(shifted / shifted.sum())
    return int(np.argmax(sums > min(u, sums[-1] * (1 - 1e-15))))


@EXERCISES(
    "14.3", draw, "Sampling: temperature and top k change the probabilities, one random number selects.",
    "Subtract the largest score first; the softmax does not change, and no exponential overflows.",
    "Set the exponentials of all but the k largest scores to 0, then divide by their sum. np.argsort sorts.",
    "np.cumsum(p) are the sums of the probabilities; np.argmax(sums > u) is the first index above u.",
)  # fmt: skip
def grade_draw(answer: Answer) -> None:
    """Test low and high temperatures, one candidate and all of them, and scores whose exponentials overflow."""
    rng = np.random.default_rng(0)
    for scores, temperature, k in (
        (np.array([0.1, 2.0, -1.0, 1.5]), 1.0, 4), (np.array([0.1, 2.0, -1.0, 1.5]), 0.5, 2),
        (np.array([3.0, 1.0, 2.0]), 1.0, 1), (np.array([1000.0, 999.0, -1000.0, 998.5]), 1.2, 3),
        (rng.standard_normal(20), 0.7, 20), (rng.standard_normal(20), 1.5, 8),
    ):  # fmt: skip
        for u in (0.0, 0.15, 0.37, 0.62, 0.88, 0.999):
            got, want = answer(scores.copy(), temperature, k, u), draw(scores, temperature, k, u)
            told = f"draw({scores.round(3).tolist()}, temperature={temperature}, k={k}, u={u})"
            expect_close(got, want, told, 1e-12)


class BatchNorm(mg.nn.Module):
    """Normalize columns by the batch in training mode, and by running values in evaluation mode."""

    def __init__(self, size: int, eps: float = 1e-5, momentum: float = 0.1) -> None:
        super().__init__()
        self.eps, self.momentum = eps, momentum
        self.weight, self.bias = mg.nn.Parameter(mg.ones(size)), mg.nn.Parameter(mg.zeros(size))
        self.register_buffer("running_mean", mg.zeros(size))
        self.register_buffer("running_var", mg.ones(size))

    running_mean: Any
    running_var: Any

    def forward(self, x: Any) -> Any:
        """Return a tensor with the shape of x."""
        mean, var = self.running_mean, self.running_var
        if self.training:
            mean = x.mean(0)
            var = ((x - mean) ** 2).mean(0)
            new = ((self.running_mean, mean.detach()), (self.running_var, var.detach() * (len(x) / (len(x) - 1))))
            for old, value in new:
                old.mul_(1 - self.momentum).add_(self.momentum * value)
        return (x - mean) / (var + self.eps).sqrt() * self.weight + self.bias


@EXERCISES(
    "14.4", BatchNorm, "Batch normalization: the batch in training mode, stored values in evaluation mode.",
    "nn.Parameter for weight and bias; self.register_buffer(name, tensor) for the running values. self.training is "
    "the mode.",
    "In training mode: mean = x.mean(0), var = ((x - mean) ** 2).mean(0). The running values are not a part of the "
    "graph: use mean.detach(), and var.detach() * n / (n - 1).",
    "self.running_mean.mul_(1 - momentum).add_(momentum * mean.detach()), the same for the variance; at the end (x - "
    "mean) / (var + eps).sqrt() * weight + bias, with running values in evaluation mode.",
    excluded=("BatchNorm1d", "batch_norm"),
)  # fmt: skip
def grade_batch_norm(answer: Answer) -> None:
    """Test the registered names, two training batches with gradients, the running statistics, and evaluation."""
    rng = np.random.default_rng(0)
    module = answer(3)
    if not isinstance(module, mg.nn.Module):
        raise Wrong(f"BatchNorm(3) returns {type(module).__name__}, but a module was expected")
    for kind, registered, names in (("parameters", module.named_parameters(), ["bias", "weight"]),
                                    ("buffers", module.named_buffers(), ["running_mean", "running_var"])):  # fmt: skip
        found = sorted(name for name, _ in registered)
        if found != names:
            raise Wrong(f"BatchNorm(3) has the {kind} {found}, but {names} were expected")
    for options in ({}, {"eps": 0.3, "momentum": 0.25}):
        ours, theirs = answer(3, **options), BatchNorm(3, **options)
        expect_same_state(ours, theirs, "at the start")
        state = {name: mg.tensor(rng.uniform(0.5, 2.0, 3), dtype="float32") for name in theirs.state_dict()}
        for each in (ours, theirs):
            each.load_state_dict(state)
        told = f" with {options}" if options else ""
        for n in (5, 2):
            values = 1.0 + 2.0 * rng.standard_normal((n, 3))
            expect_same_step(ours, theirs, values, f"for a batch of {n} in training mode{told}")
            expect_same_state(ours, theirs, f"after a batch of {n}{told}")
        ours.eval(), theirs.eval()
        expect_same_step(ours, theirs, values, f"in evaluation mode{told}")
        expect_same_state(ours, theirs, f"after evaluation mode{told}")


def expect_same_step(ours: Any, theirs: Any, values: Any, told: str) -> None:
    """Raise Wrong unless the outputs agree, and the gradients of the sum of the cubed outputs."""
    mine, right = (mg.Var(values, dtype="float32") for _ in range(2))
    got, want = ours(mine), theirs(right)
    expect_close(got, want, f"the output {told}", CLOSE)
    cut = f"the output {told} is right, but no gradient flows to the input, the weight and the bias"
    gradients = gradient_of((got * got * got).sum(), [mine, ours.weight, ours.bias], cut)
    wanted = mg.grad((want * want * want).sum(), [right, theirs.weight, theirs.bias])
    for name, a, b in zip(("the input", "weight", "bias"), gradients, wanted):
        expect_close(a, b, f"the gradient with respect to {name} {told}", 2e-3)


def expect_same_state(ours: Any, theirs: Any, told: str) -> None:
    """Raise Wrong unless parameters and buffers agree."""
    found = ours.state_dict()
    for name, value in theirs.state_dict().items():
        expect_close(found[name], value, f"{name} {told}", CLOSE)
