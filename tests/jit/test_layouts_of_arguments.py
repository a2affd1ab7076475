"""Arguments of any layout: elements before the first one, none at all, other offsets in each call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from cases import over

import minigrad as mg

A = np.arange(24, dtype=np.float32).reshape(4, 6)
LAYOUTS: dict[str, Callable[[mg.Tensor], mg.Tensor]] = {
    "rows from the last": lambda x: x.flip(0), "columns from the last": lambda x: x.flip(1),
    "both": lambda x: x.flip(0, 1), "rotated": mg.rot90, "a part": lambda x: x[1:, 1:4].flip(1),
    "a part of both": lambda x: x.flip(0, 1)[1:, ::2], "stepped": lambda x: x[::2].flip(0),
    "none": lambda x: x[:0].flip(1),
}  # fmt: skip


@over("layout", LAYOUTS.values(), ids=LAYOUTS.keys())
@pytest.mark.parametrize("device", ["reference", "cpu"])
def test_arguments_with_negative_strides(layout: Callable[[mg.Tensor], mg.Tensor], device: str) -> None:
    def write(x: mg.Tensor) -> mg.Tensor:
        x.add_(x * 2.0)
        return x[::-1]

    for function in (lambda x: x * 2.0 + 1.0, write):
        step = mg.jit(function, fuse=device == "reference")
        for k in range(4):
            ours, theirs = (mg.tensor(np.pad(A + k, 3), device=device)[k : k + 4, k : k + 6] for _ in range(2))
            result, wanted = step(layout(ours)), function(layout(theirs))
            assert mg.equal(result, wanted) and mg.equal(ours, theirs)


def test_a_gradient_flows_to_a_flipped_argument() -> None:
    x = mg.Var(A, device="reference")
    step = mg.jit(lambda x: (x * x).sum())
    for _ in range(3):
        x.grad = None
        step(x.flip(0)).backward()
        assert x.grad is not None and mg.equal(x.grad, mg.tensor(2.0 * A, device="reference"))


@pytest.mark.parametrize("shape", [(4, 0), (0, 4), (3, 0, 2)])
def test_a_program_without_elements_can_be_printed(shape: tuple[int, ...]) -> None:
    step = mg.jit(lambda x: (x.mT * 2.0).sum(-1))
    for _ in range(3):
        wanted = step(mg.zeros(*shape, device="reference"))
    mg.viz.program(step)
    space: dict[str, Any] = {}
    exec(step.source(), space)
    result = np.ones(wanted.shape, np.float32)
    space["run"](np.zeros(shape, np.float32), result)
    assert np.array_equal(result, wanted.numpy())
