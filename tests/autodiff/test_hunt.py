"""Random small programs: fused backward, recorded backward and finite differences agree, or backward raises.

A program is drawn once from its seed and can be run at any point.  It may write in place, under `no_grad`, into what it
has computed, into views of that, into buffers and, by adding a number, into its Vars.  The differences are those of
what the program really computes, writes and all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad.errors import GradientError, StorageError

SHAPE = (2, 3)
Step = Callable[[list[Any]], None]

UNARY: list[Callable[[Any], Any]] = [
    mg.sin, mg.tanh, mg.sigmoid, mg.nn.functional.silu, mg.square, lambda x: mg.exp(x * 0.3), lambda x: mg.erf(x),
    lambda x: mg.log1p(x * x), lambda x: mg.sqrt(x * x + 1.0), lambda x: -x, lambda x: 2.0 - x * 0.5,
    lambda x: 1.0 / (x * x + 1.0), lambda x: x,
]  # fmt: skip
BINARY: list[Callable[[Any, Any], Any]] = [
    lambda a, b: a + b, lambda a, b: a - b * 0.5, lambda a, b: a * b, lambda a, b: a / (b * b + 1.0),
    lambda a, b: mg.hypot(a, b * b + 1.0), lambda a, b: mg.where(b.detach() > 0.0, a, a * 2.0),
]  # fmt: skip
VIEWS: list[Callable[[Any], Any]] = [
    lambda x: x[::-1], lambda x: x[:, ::-1], lambda x: x.T.reshape(2, 3), lambda x: x.reshape(3, 2).T,
    lambda x: x[:1].expand(2, 3), lambda x: x[:, 1:2].expand(2, 3), lambda x: x.reshape(6).reshape(2, 3),
    lambda x: mg.cat([x[1:], x[:1]], 0), lambda x: mg.stack([x[1], x[0]], 0), lambda x: x.flip(0),
]  # fmt: skip
REDUCTIONS: list[Callable[[Any], Any]] = [
    lambda x: x - x.mean(1, keepdim=True), lambda x: x * x.sum(0), lambda x: x + x.sum(), lambda x: x.softmax(1),
    lambda x: x * (x * x).mean(), lambda x: x.cumsum(1), lambda x: x.logsumexp(1, keepdim=True) + x,
]  # fmt: skip
WRITES: list[Callable[[Any], Any]] = [
    lambda x: x.add_(0.25), lambda x: x.mul_(0.5), lambda x: x[:1].mul_(2.0), lambda x: x[:, 1:].add_(1.0),
    lambda x: x.detach().sub_(0.5), lambda x: x.__setitem__(0, 0.5), lambda x: x.fill_(0.3),
    lambda x: x.T.sin_(), lambda x: mg.exp(x.detach().clone(), out=x),
]  # fmt: skip
SHIFTS: list[Callable[[Any], Any]] = [lambda x: x.add_(0.25), lambda x: x.set(x.detach() - 0.5),
                                      lambda x: x.as_tensor().sub_(0.125), lambda x: x[:1].add_(0.5)]  # fmt: skip


def one_of(rng: np.random.Generator, choices: list[Any]) -> Any:
    return choices[int(rng.integers(len(choices)))]


def append(make: Callable[..., Any], *positions: int) -> Step:
    return lambda values: values.append(make(*[values[k] for k in positions]))


def write(change: Callable[[Any], Any], position: int) -> Step:
    def step(values: list[Any]) -> None:
        x = values[position]
        if 0 in x.strides:  # elements that share memory cannot be written
            return
        # A Var stands for what it is now: a write that is no shift would be a part of the program to the differences.
        of_a_var = any(x.storage is leaf.storage for leaf in values[:2])
        with mg.no_grad():
            (SHIFTS[0] if of_a_var and change not in SHIFTS else change)(x)

    return step


def draw(seed: int) -> tuple[list[Step], bool]:
    """The steps of a program over two Vars and a buffer, and whether it writes."""
    rng = np.random.default_rng(seed)
    steps: list[Step] = []
    count, writes = 3, seed % 3 != 0
    written = False
    for _ in range(int(rng.integers(4, 9))):
        kind = int(rng.integers(8 if writes else 6))
        recent = [int(k) for k in rng.integers(0, count, 2)]
        if kind == 6:
            position = int(rng.integers(2, count))
            steps.append(write(one_of(rng, WRITES), position))
            written = True
            continue
        if kind == 7:
            steps.append(write(one_of(rng, SHIFTS), int(rng.integers(2))))
            written = True
            continue
        family = (UNARY, BINARY, VIEWS, REDUCTIONS, UNARY, BINARY)[kind]
        operands = (count - 1, recent[0]) if family is BINARY else (recent[0] if rng.random() < 0.3 else count - 1,)
        steps.append(append(one_of(rng, family), *operands))
        count += 1
    return steps, written


def run(steps: list[Step], *arrays: Any) -> tuple[list[Any], Any]:
    """The Vars, and the sum of all values that were made from them, each with a weight of its own."""
    xs = [mg.Var(a, device="reference") for a in arrays]
    values: list[Any] = [*xs, mg.full(SHAPE, 0.75, dtype="float64", device="reference")]
    for step in steps:
        step(values)
    total = xs[0] * 0.5 + xs[1] * 0.25
    for k, value in enumerate(values[3:]):
        total = total + value * (0.3 + 0.1 * k) if k % 2 or k == len(values) - 4 else total
    return xs, total


def differences(steps: list[Step], weights: Any, *arrays: Any) -> list[Any]:
    """Central differences of <weights, program> in every element."""
    result = []
    for at in range(len(arrays)):
        slope = np.zeros(SHAPE)
        for index in np.ndindex(SHAPE):
            ends = []
            for step in (1e-6, -1e-6):
                moved = [a.copy() for a in arrays]
                moved[at][index] += step
                with mg.no_grad():
                    ends.append(float((np.array(run(steps, *moved)[1].tolist()) * weights).sum()))
            slope[index] = (ends[0] - ends[1]) / 2e-6
        result.append(slope)
    return result


def outcome(seed: int) -> str:
    """ "right" or "refused"; fails where a gradient is wrong."""
    steps, written = draw(seed)
    rng = np.random.default_rng(seed + 1000)
    arrays = [rng.uniform(0.2, 1.2, SHAPE) for _ in range(2)]
    weights = rng.uniform(0.5, 1.5, SHAPE)
    g = mg.tensor(weights, device="reference")
    xs, y = run(steps, *arrays)
    try:
        fused = mg.grad(y, xs, g, retain_graph=True, allow_unused=True)
    except (GradientError, StorageError):
        assert written, "a program without writes has a gradient"
        with pytest.raises((GradientError, StorageError)):
            mg.grad(y, xs, g, create_graph=True, allow_unused=True)
        return "refused"
    recorded = mg.grad(y, xs, g, create_graph=True, allow_unused=True)
    grads = y.backward(g)
    for x, mine, theirs, numeric in zip(xs, fused, recorded, differences(steps, weights, *arrays), strict=True):
        np.testing.assert_allclose(mine.tolist(), theirs.tolist(), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(mine.tolist(), grads[x].tolist(), rtol=0, atol=0)
        np.testing.assert_allclose(mine.tolist(), numeric, rtol=1e-5, atol=1e-6)
    return "right"


@pytest.mark.parametrize("start", range(0, 120, 10))
def test_a_random_program_has_the_right_gradient_or_none(start: int) -> None:
    outcomes = [outcome(seed) for seed in range(start, start + 10)]
    assert outcomes.count("right") >= 3


def test_the_hunt_meets_both_outcomes() -> None:
    outcomes = [outcome(seed) for seed in (1, 2, 4, 5, 7, 8, 10, 11, 13, 14)]
    assert set(outcomes) == {"right", "refused"}
