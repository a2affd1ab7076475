"""Gradients of slices are added in place to the gradient of the whole, but never to a tensor that a user holds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad.autodiff import engine, grads

DEVICE = "reference"


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """For each part that was visited, whether its gradient was added in place."""
    found: list[bool] = []

    def watched(*args: Any) -> bool:
        found.append(grads.added_in_place(*args))
        return found[-1]

    monkeypatch.setattr(engine, "added_in_place", watched)
    return found


def whole(*shape: int) -> Any:
    return mg.Var(np.arange(np.prod(shape), dtype=np.float64).reshape(shape), device=DEVICE)


def test_every_slice_but_the_first_is_one_addition(taken: list[bool]) -> None:
    x = whole(4, 3)
    h = x * 1.0
    sum((h[t] * float(t + 1)).sum() for t in range(4)).backward()  # type: ignore[union-attr]
    assert taken == [False, True, True, True]
    assert x.grad.tolist() == [[1.0] * 3, [2.0] * 3, [3.0] * 3, [4.0] * 3]


@pytest.mark.parametrize(
    "part",
    [
        lambda h: h[1:3, ::2], lambda h: h[:, None, 1], lambda h: h.select(1, 2), lambda h: h.narrow(0, 1, 2),
        lambda h: h.diagonal(1), lambda h: h[-1],
    ],
)  # fmt: skip
def test_parts_that_overlap_add_up(part: Any, taken: list[bool]) -> None:
    x = whole(4, 3)
    h = x * 1.0
    y = (part(h) ** 2).sum() + (part(h) * 3.0).sum() + (h * h).sum()
    y.backward()
    assert any(taken)
    want = 2 * x.detach().numpy()
    index = np.zeros((4, 3))
    mask = part(mg.arange(12, device=DEVICE).reshape(4, 3)).reshape(-1).tolist()
    index.reshape(-1)[mask] = 1
    assert np.array_equal(x.grad.numpy(), want + index * (want + 3))


def test_a_gradient_that_somebody_holds_is_not_written() -> None:
    x, held = whole(3, 2), []
    h = x * 2.0
    h.register_hook(lambda g: held.append(g))
    seed = mg.ones(3, 2, dtype="float64", device=DEVICE)
    outputs = [h, h[0], h[1]]
    grads = [seed, seed[0], seed[1]]
    (g,) = mg.grad(outputs, [x], grads)
    assert seed.tolist() == [[1.0, 1.0]] * 3 and g.tolist() == [[4.0, 4.0], [4.0, 4.0], [2.0, 2.0]]
    assert held[0].tolist() == [[2.0, 2.0], [2.0, 2.0], [1.0, 1.0]]


def test_a_part_with_hooks_of_its_own_runs_its_rule(taken: list[bool]) -> None:
    x, seen = whole(3), []
    h = x * 1.0
    first, second = h[0], h[1]
    second.op.register_hook(lambda inputs, outputs: seen.append(inputs[0].tolist()))
    (first + second * 2.0).backward()
    assert seen == [[0.0, 2.0, 0.0]] and len(taken) == 1
    assert x.grad.tolist() == [1.0, 2.0, 0.0]


def test_a_recorded_backward_pass_writes_nothing_in_place(taken: list[bool]) -> None:
    x = whole(3)
    h = x * x
    (g,) = mg.grad((h[0] * h[1]).sum() + h[2], [x], create_graph=True)
    assert taken == []
    (second,) = mg.grad(g.sum(), [x])
    a, b = 0.0, 1.0
    assert second.tolist() == [2 * b * b + 4 * a * b, 2 * a * a + 4 * a * b, 2.0]


def test_parts_of_a_tensor_that_nobody_asked_for_are_left_out() -> None:
    x, z = whole(3), whole(3)
    h = x * 1.0
    assert mg.grad((h[0] + h[1] + z[0]).sum(), [z])[0].tolist() == [1.0, 0.0, 0.0]
