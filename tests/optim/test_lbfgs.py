"""L-BFGS finds the minimum of Rosenbrock's valley, in PyTorch's steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minigrad as mg

START = [-1.2, 1.0]


def valley(x: Any) -> Any:
    """Rosenbrock's function, whose minimum is at ones."""
    return ((1 - x[:-1]) ** 2 + 100 * (x[1:] - x[:-1] ** 2) ** 2).sum()


def steps(x: Any, optimizer: Any, count: int) -> list[float]:
    """Return the losses of some steps."""

    def closure() -> Any:
        optimizer.zero_grad()
        loss = valley(x)
        loss.backward()
        return loss

    return [optimizer.step(closure).item() for _ in range(count)]


def test_the_minimum_is_found() -> None:
    x = mg.Var(START, dtype="float64", device="reference")
    optimizer = mg.optim.LBFGS([x], tolerance_change=1e-14, line_search_fn="strong_wolfe")
    losses = steps(x, optimizer, 4)
    np.testing.assert_allclose(x.detach().numpy(), [1, 1], atol=1e-6)
    assert losses[0] == pytest.approx(24.2) and losses[-1] < 1e-12
    assert optimizer.state[x]["func_evals"] < 80


def test_a_run_goes_on_from_its_state() -> None:
    x = mg.Var(START, dtype="float64", device="reference")
    optimizer = mg.optim.LBFGS([x], max_iter=3, line_search_fn="strong_wolfe")
    steps(x, optimizer, 2)
    y = mg.Var(x.detach())
    other = mg.optim.LBFGS([y])
    other.load_state_dict(optimizer.state_dict())
    assert steps(x, optimizer, 2) == steps(y, other, 2) and x.tolist() == y.tolist()


def test_a_step_at_a_gradient_of_zero_changes_nothing() -> None:
    x = mg.Var(START, dtype="float64", device="reference")
    optimizer = mg.optim.LBFGS([x], tolerance_grad=-1.0)
    assert float(optimizer.step(lambda: (x * 0.0).sum() + 3.0)) == 3.0 and x.tolist() == list(START)


@pytest.mark.torch
@pytest.mark.parametrize("options", [{"line_search_fn": "strong_wolfe", "history_size": 3}, {"lr": 1e-3}, {}])
def test_steps_are_pytorchs(options: dict[str, Any]) -> None:
    torch = pytest.importorskip("torch")
    start = [*START, 0.5, -0.7]
    x = mg.Var(start, dtype="float64", device="reference")
    y = torch.nn.Parameter(torch.tensor(start, dtype=torch.float64))
    ours, theirs = mg.optim.LBFGS([x], **options), torch.optim.LBFGS([y], **options)
    np.testing.assert_allclose(steps(x, ours, 5), steps(y, theirs, 5), rtol=1e-9)
    np.testing.assert_allclose(x.detach().numpy(), y.detach().numpy(), rtol=1e-9)
    for count in ("func_evals", "n_iter"):
        assert ours.state[x][count] == theirs.state[y][count]


def test_a_loss_that_is_a_line_is_left_without_an_error() -> None:
    x = mg.Var([1.0, 2.0], dtype="float64", device="reference")
    optimizer = mg.optim.LBFGS([x], max_iter=3, line_search_fn="strong_wolfe")

    def closure() -> Any:
        optimizer.zero_grad()
        loss = x.sum()
        loss.backward()
        return loss

    first = optimizer.step(closure).item()
    assert first == 3.0 and closure().item() < first


def test_a_complex_parameter_moves_like_its_pairs_of_real_numbers() -> None:
    pairs = mg.Var([START, [2.0, 0.5]], dtype="float64", device="reference")
    numbers = mg.Var([complex(*START), 2 + 0.5j], dtype="complex128", device="reference")
    losses = []
    for x in (pairs, numbers):
        optimizer = mg.optim.LBFGS([x], max_iter=4, line_search_fn="strong_wolfe")

        def closure(x: Any = x, optimizer: Any = optimizer) -> Any:
            optimizer.zero_grad()
            loss = valley(mg.view_as_real(x).reshape(-1) if x.is_complex() else x.reshape(-1))
            loss.backward()
            return loss

        losses.append([optimizer.step(closure).item() for _ in range(3)])
    assert losses[0] == pytest.approx(losses[1]) and losses[0][-1] < losses[0][0]
    np.testing.assert_allclose(mg.view_as_real(numbers.detach()).numpy(), pairs.detach().numpy())
