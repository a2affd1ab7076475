"""Each optimizer and option takes PyTorch's steps: next to PyTorch where it is installed, else by frozen numbers."""

from __future__ import annotations

import inspect
import json
import math
from typing import Any

import numpy as np
import pytest
from cases import over
from optim_cases import FROZEN, NAMES, OPTIMIZERS, STEPS, gradients, values

import minigrad as mg
from minigrad.declare.many import many
from minigrad.testing import gradcheck

CASES = [pytest.param(name, options, id=label) for (name, options), label in zip(OPTIMIZERS, NAMES)]


def parameters(dtype: Any, device: str) -> list[Any]:
    """Return a parameter for each shape; the kernels of float64 are the reference device's, which compiles nothing."""
    return [mg.Var(v, device=device) for v in values(0, dtype)]


def step(optimizer: Any, params: list[Any], arrays: list[Any]) -> None:
    """Take a step with gradients."""
    for p, g in zip(params, arrays):
        p.grad = mg.tensor(g, device=p.device)
    optimizer.step()


@over(("name", "options"), CASES)
def test_twenty_steps_end_at_the_frozen_numbers(name: str, options: dict[str, Any]) -> None:
    params = parameters(np.float64, "reference")
    optimizer = getattr(mg.optim, name)(params, **options)
    for k in range(STEPS):
        step(optimizer, params, gradients(k, [p.detach().numpy() for p in params]))
    expected = json.loads(FROZEN.read_text())["optimizers"][NAMES[OPTIMIZERS.index((name, options))]]
    result = np.concatenate([p.detach().numpy().ravel() for p in params])
    np.testing.assert_allclose(result, expected, rtol=1e-9, atol=1e-11)


DIFFERENTIABLE = [
    case for case in CASES if "differentiable" in inspect.signature(getattr(mg.optim, case.values[0])).parameters
]


@over(("name", "options"), DIFFERENTIABLE)
def test_a_differentiable_step_is_the_plain_step_with_gradients(name: str, options: dict[str, Any]) -> None:
    make: Any = getattr(mg.optim, name)
    start, g = [mg.Var(v, dtype="float64", device="reference") for v in ([1.0, -2.0, 0.5], [0.3, 0.7, -0.4])]

    def after(p: Any, g: Any) -> Any:
        optimizer = make([p], differentiable=True, **options)
        for k in (1, 2):
            p.grad = g * k
            optimizer.step()
        return p

    plain = mg.Var(start.detach().clone())
    optimizer = make([plain], **options)
    for k in (1, 2):
        step(optimizer, [plain], [g.detach().numpy() * k])
    np.testing.assert_allclose(after(start.clone(), g).detach().numpy(), plain.detach().numpy(), rtol=1e-12)
    assert gradcheck(lambda p, g: after(p * 1, g), (start, g), modes=("reverse",))
    with pytest.raises(mg.GradientError, match="cannot write into a Var"):
        after(mg.Var(start.detach().clone()), g)


def test_a_learning_rate_and_a_users_rule_are_differentiated() -> None:
    options: Any = {"dtype": "float64", "device": "reference"}

    def adam(lr: Any) -> Any:
        p = mg.ones(2, **options).requires_grad_().clone()
        optimizer = mg.optim.AdamW([p], lr=lr, differentiable=True)
        for _ in range(2):
            p.grad = mg.ones(2, **options)
            optimizer.step()
        return p

    assert gradcheck(adam, (mg.Var(mg.tensor(0.1, **options)),), modes=("reverse",))

    @many
    def rule(p: Any, g: Any, *, lr: float) -> Any:
        return p - lr * math.exp(-p) * g if p > 0 and g > 0 else p

    p, g = (mg.Var(mg.tensor(v, **options)) for v in ([1.0, -2.0, 0.5], [0.3, 0.7, -0.4]))
    assert gradcheck(lambda p, g: rule.recorded((p, g), lr=0.5)[0], (p, g), modes=("reverse",))
    half = mg.tensor([1.0], dtype="float16", device="reference")
    (y,) = many(ratio).recorded((half, half), eps=1e-7)
    assert y.dtype is mg.float16 and y.item() == 1.0


def ratio(p: Any, g: Any, *, eps: float) -> Any:
    """Return 1 for p = g; eps is below the smallest number of float16."""
    return (p - g + eps) / eps


@pytest.mark.torch
@over(("dtype", "device"), [("float32", "cpu"), ("float64", "reference")])
@over(("name", "options"), CASES)
def test_parameters_states_and_options_are_pytorchs(
    name: str, options: dict[str, Any], dtype: str, device: str
) -> None:
    torch = pytest.importorskip("torch")
    ours = parameters(dtype, device)
    theirs = [torch.nn.Parameter(torch.tensor(v)) for v in values(0, dtype)]
    a, b = getattr(mg.optim, name)(ours, **options), getattr(torch.optim, name)(theirs, **options)
    for k in range(STEPS):
        arrays = gradients(k, [p.detach().numpy() for p in theirs])
        for p, g in zip(theirs, arrays):
            p.grad = torch.tensor(g)
        step(a, ours, arrays)
        b.step()
    tolerance = {"rtol": 2e-5, "atol": 2e-6} if dtype == "float32" else {"rtol": 1e-9, "atol": 1e-11}
    for p, q in zip(ours, theirs):
        np.testing.assert_allclose(p.detach().numpy(), q.detach().numpy(), **tolerance)
    ours_state, theirs_state = a.state_dict(), b.state_dict()
    assert ours_state["param_groups"] == theirs_state["param_groups"]
    assert ours_state["state"].keys() == theirs_state["state"].keys()
    for key, state in theirs_state["state"].items():
        assert ours_state["state"][key].keys() == state.keys()
        for entry, value in state.items():
            mine = ours_state["state"][key][entry]
            assert f"torch.{mine.dtype}" == str(value.dtype), entry
            np.testing.assert_allclose(mine.numpy(), value.numpy(), **tolerance)


@pytest.mark.torch
@over(("name", "options"), CASES)
def test_a_state_dict_of_pytorch_goes_on_here_and_the_other_way_round(name: str, options: dict[str, Any]) -> None:
    torch = pytest.importorskip("torch")
    arrays = values(0, "float64")
    theirs = [torch.nn.Parameter(torch.tensor(v)) for v in arrays]
    b = getattr(torch.optim, name)(theirs, **options)
    for k in range(3):
        for p, g in zip(theirs, gradients(k, arrays)):
            p.grad = torch.tensor(g)
        b.step()
    ours = [mg.Var(p.detach().numpy(), device="reference") for p in theirs]
    a = getattr(mg.optim, name)(ours)
    a.load_state_dict(b.state_dict())
    again = [torch.nn.Parameter(torch.tensor(p.detach().numpy())) for p in ours]
    c = getattr(torch.optim, name)(again)
    state = a.state_dict()
    for entries in state["state"].values():
        entries.update({k: torch.tensor(v.numpy()) for k, v in entries.items() if isinstance(v, mg.Tensor)})
    c.load_state_dict(state)
    a.load_state_dict(b.state_dict())  # the entries were written into the dicts of a
    for k in range(3, 8):
        for params in (theirs, again):
            for p, g in zip(params, gradients(k, arrays)):
                p.grad = torch.tensor(g)
        step(a, ours, gradients(k, arrays))
        b.step()
        c.step()
    for p, q, r in zip(ours, theirs, again):
        np.testing.assert_allclose(p.detach().numpy(), q.detach().numpy(), rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(r.detach().numpy(), q.detach().numpy(), rtol=1e-9, atol=1e-11)


def test_halves_are_computed_in_float32_and_rounded_when_they_are_stored() -> None:
    for dtype in ("float16", "bfloat16"):
        p = mg.Var(mg.tensor([1.0, -2.0, 3.0], dtype=dtype))
        p.grad = mg.tensor([0.5, 0.25, -1.0], dtype=dtype)
        mg.optim.SGD([p], lr=0.1).step()
        expected = np.array([1.0, -2.0, 3.0], np.float32) - np.float32(0.1) * np.array([0.5, 0.25, -1.0], np.float32)
        assert p.detach().tolist() == mg.tensor(expected).to(p.dtype).tolist()


@over(("name", "options"), CASES)
def test_a_run_that_is_loaded_ends_with_the_same_bits(name: str, options: dict[str, Any]) -> None:
    arrays, params = values(0, np.float64), parameters(np.float64, "reference")
    optimizer = getattr(mg.optim, name)(params, **options)
    for k in range(3):
        step(optimizer, params, gradients(k, arrays))
    again = [mg.Var(p.detach()) for p in params]
    other = getattr(mg.optim, name)(again)
    other.load_state_dict(optimizer.state_dict())
    for k in range(3, 6):
        step(optimizer, params, gradients(k, arrays))
        step(other, again, gradients(k, arrays))
    for p, q in zip(params, again):
        assert p.detach().numpy().tobytes() == q.detach().numpy().tobytes()
