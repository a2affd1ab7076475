"""`mg.jit(f, verify=n)`: every nth call runs the function too, from the same state, and compares all bits."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import minigrad as mg
from minigrad import nn
from minigrad.nn import functional as F


def training_step(verify: int):  # type: ignore[no-untyped-def]
    """A step with everything that a snapshot has to put back, and a function that returns its state."""
    mg.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout(0.5), nn.Linear(4, 2)).to("reference")
    optimizer = mg.optim.AdamW(model.parameters(), lr=0.1)
    schedule = mg.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
    calls = itertools.count()

    def step(x, t):
        next(calls)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), t)
        loss.backward()
        optimizer.step()
        schedule.step()
        return loss

    def state():
        tensors = [*model.state_dict().values(), *[s["exp_avg"] for s in optimizer.state.values()]]
        return [x.tolist() for x in tensors], optimizer.param_groups[0]["lr"], float(mg.rand(1).item())

    return mg.jit(step, verify=verify), state, calls


@pytest.mark.parametrize("n", [1, 3])
def test_a_verified_program_leaves_what_another_leaves(n: int) -> None:
    x = mg.tensor(np.linspace(-1, 1, 15).reshape(5, 3), dtype="float32", device="reference")
    t = mg.tensor([0, 1, 0, 1, 1], device="reference")
    ends = []
    for verify in (0, n):
        step, state, calls = training_step(verify)
        ends.append(([step(x, t).item() for _ in range(8)], *state()))
        assert next(calls) == 2 + (verify and -(-7 // verify))
    assert ends[0] == ends[1]


def test_a_difference_is_reported() -> None:
    clock = itertools.count(1)
    array = np.array([1.0])
    f = mg.jit(lambda x: x * float(array[0]), verify=2)
    x = mg.tensor([1.0, 2.0], device="reference")
    for _ in range(3):
        f(x)
    array[0] = next(clock) + 1
    with pytest.raises(
        mg.RecordingError, match=r"result 0, float32\(2,\), differs in at least one bit from the result in eager mode"
    ):
        for _ in range(2):
            f(x)


def test_gradients_and_writes_are_compared() -> None:
    factor, w = np.array([2.0]), mg.Var([1.0], device="reference")
    memory = mg.zeros(1, device="reference")

    @mg.jit(verify=1)
    def f(x):
        w.grad = None
        (w * x).sum().backward()
        memory.add_(float(factor[0]))
        return x

    x = mg.tensor([3.0], device="reference")
    for _ in range(3):
        f(x)
    assert memory.tolist() == [6.0]
    factor[0] = 5.0
    with pytest.raises(mg.RecordingError, match="a tensor of 1 elements of float32"):
        f(x)


@pytest.mark.parametrize("wrong", [-1, 1.5, True, "all"])
def test_a_wrong_interval_is_refused(wrong: object) -> None:
    with pytest.raises(mg.ArgumentError, match=r"verify must (be an int|not be negative), got"):
        mg.jit(lambda x: x, verify=wrong)  # type: ignore[arg-type]
