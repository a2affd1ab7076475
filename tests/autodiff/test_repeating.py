"""The calls of a node's rules are collected once per kind; later passes repeat them with the same results.

A kind is collected at its second backward pass, so each test makes at least four passes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad.autodiff import repeating

PASSES, DEVICE = 4, "reference"
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "sum of two": lambda x, z: x + z,
    "difference": lambda x, z: x - z,
    "product": lambda x, z: x * z,
    "view": lambda x, z: x.reshape(3, 2).mT.unsqueeze(0),
    "cat": lambda x, z: mg.cat([x, z]),
    "stack": lambda x, z: mg.stack([x, z, x], 1),
    "both as they are": lambda x, z: (x + z) + (x + z),
    "broadcast": lambda x, z: x + z[0],
    "sum": lambda x, z: x.sum(0) + z,
    "several results": lambda x, z: mg.max(x * z, 1).values,
    "joint": lambda x, z: mg.nn.functional.layer_norm(x, (3,), z[0], z[1]),
}


def leaves(rows: int = 2) -> tuple[Any, Any]:
    """Return two leaves; another number of rows has plans of its own, without kinds of other tests."""
    rng = np.random.default_rng(5)
    return tuple([mg.Var(rng.uniform(0.5, 2.0, (rows, 3)), device=DEVICE) for _ in range(2)])


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the names of the ops whose rules have run."""
    names: list[str] = []
    rules = repeating.partial_gradients

    def counted(node: Any, *arguments: Any) -> Any:
        names.append(node.op.name)
        return rules(node, *arguments)

    monkeypatch.setattr(repeating, "partial_gradients", counted)
    return names


@pytest.mark.parametrize("name", FUNCTIONS)
def test_each_pass_has_the_gradients_of_a_recorded_pass(name: str) -> None:
    x, z = leaves()
    for k in range(PASSES):
        y = FUNCTIONS[name](x, z)
        g = mg.tensor(np.random.default_rng(k).uniform(-1.0, 1.0, y.shape), device=DEVICE)
        want = mg.grad(y, [x, z], g, create_graph=True, allow_unused=True)
        got = mg.grad(y, [x, z], g, allow_unused=True)
        for a, b in zip(got, want):
            assert (a is None) == (b is None)
            if a is not None:
                np.testing.assert_allclose(a.numpy(), b.detach().numpy(), rtol=1e-12)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_gradient_shares_memory_with_the_gradient_that_the_user_passes(name: str) -> None:
    x, z = leaves()
    for _ in range(PASSES):
        y = FUNCTIONS[name](x, z)
        g = mg.ones_like(y.detach())
        y.backward(g)
        found = {v: v.grad.numpy().copy() for v in (x, z) if v.grad is not None}
        g.zero_()
        assert all(np.array_equal(v.grad.numpy(), before) for v, before in found.items())
        with mg.no_grad():
            for v in found:
                v.grad.fill_(7.0)
        assert not g.numpy().any() and all(v.grad.storage is not g.storage for v in found)
        assert len({v.grad.storage for v in found}) == len(found)
        x.grad = z.grad = None


def test_gradients_add_up_beside_a_hook_that_keeps_its_gradient() -> None:
    x, z = leaves()
    kept: list[Any] = []
    x.register_hook(lambda g: kept.append(g))
    g = mg.ones(2, 3, dtype="float64", device=DEVICE)
    for k in range(1, PASSES + 1):
        (x + z).backward(g)
        assert x.grad.tolist() == z.grad.tolist() == [[float(k)] * 3] * 2
    assert all(each.tolist() == [[1.0] * 3] * 2 for each in kept) and g.tolist() == [[1.0] * 3] * 2


def test_a_graph_that_is_retained_gives_the_same_gradients_again() -> None:
    x, z = leaves()
    y = (x * z).exp().sum()
    first = mg.grad(y, [x, z], retain_graph=True)
    for _ in range(PASSES):
        again = mg.grad(y, [x, z], retain_graph=True)
        assert [g.tolist() for g in again] == [g.tolist() for g in first]
    (gx,) = mg.grad(y, [x], create_graph=True)
    assert mg.grad(gx.sum(), x).shape == (2, 3)


def test_rules_run_twice_and_once_on_placeholders(runs: list[str]) -> None:
    x, z = leaves()
    for _ in range(PASSES):
        mg.grad(mg.atan2(x[:1], z[:1]), [x, z], mg.ones(1, 3, dtype="float64", device=DEVICE))
    assert runs.count("atan2") == 3


def test_operands_that_are_wanted_distinguish_kinds() -> None:
    x, z = leaves(5)
    for _ in range(PASSES):
        y, g = x * z, mg.ones(5, 3, dtype="float64", device=DEVICE)
        assert mg.grad(y, x, g, retain_graph=True).tolist() == z.tolist()
        assert mg.grad(y, z, g, retain_graph=True).tolist() == x.tolist()
        assert [each.tolist() for each in mg.grad(y, [x, z], g)] == [z.tolist(), x.tolist()]
        assert mg.grad(x * z.detach(), x, g).tolist() == z.tolist()


def test_layouts_of_the_gradient_distinguish_kinds() -> None:
    x, z = leaves()
    for _ in range(PASSES):
        for g in (
            mg.ones(2, 3, dtype="float64", device=DEVICE),
            mg.ones(3, 2, dtype="float64", device=DEVICE).mT,
            mg.ones((), dtype="float64", device=DEVICE).expand(2, 3),
        ):
            assert mg.grad(x * z, x, g).tolist() == z.tolist()


def test_slices_at_many_offsets_do_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mg.config.settings, "plan_limit", 10)
    x, z = leaves(4)
    long = mg.tensor(np.random.default_rng(1).uniform(-1.0, 1.0, 200), device=DEVICE)
    for k in range(100):
        y = x * z
        g = long[k : k + 12].reshape(4, 3)
        assert mg.grad(y, x, g).tolist() == (g * z).tolist()
        assert len(y.op.plan.facts) <= 10


def test_results_without_a_gradient_distinguish_kinds() -> None:
    x, _ = leaves()
    for _ in range(PASSES):
        low, high = mg.aminmax(x, dim=1)
        assert mg.grad(low.sum(), x, retain_graph=True).numpy().sum() == 2.0
        assert mg.grad(high.sum(), x, retain_graph=True).numpy().sum() == 2.0
        assert mg.grad((low + high).sum(), x).numpy().sum() == 4.0


def test_a_kind_of_one_parent_serves_nodes_with_two() -> None:
    x, z = leaves(6)
    g = mg.ones(6, 3, dtype="float64", device=DEVICE)
    for _ in range(PASSES):
        assert mg.grad(mg.hypot(x, x), x, g).shape == (6, 3)
    (gx, gz), y = mg.grad(mg.hypot(x, z), [x, z], g), np.hypot(x.detach().numpy(), z.detach().numpy())
    np.testing.assert_allclose(gx.numpy(), x.detach().numpy() / y)
    np.testing.assert_allclose(gz.numpy(), z.detach().numpy() / y)


def test_rules_of_users_run_in_each_pass() -> None:
    calls: list[int] = []

    def rule(g: Any, x: Any) -> Any:
        calls.append(len(calls))
        return g * x * float(len(calls))

    @mg.elementwise(dtype=mg.rules.promote, vjp=(rule,))
    def counting(x):
        """Twice x."""
        return x * 2.0

    x = mg.Var([1.0, 2.0], device=DEVICE)
    found = [mg.grad(counting(x).sum(), x).tolist() for _ in range(PASSES)]
    assert len(calls) == PASSES and found == [[float(k), 2.0 * k] for k in range(1, PASSES + 1)]


def test_layouts_of_saved_values_distinguish_kinds() -> None:
    x, z = leaves(7)
    g = mg.tensor(np.random.default_rng(3).uniform(-1.0, 1.0, (7, 3)), device=DEVICE)
    want = (g * x).tolist()
    for _ in range(PASSES):
        assert mg.grad(x.mT * z.mT, z, g.mT).tolist() == want
        base = x * 1.0
        base.mT.mul_(z.mT)  # the rule reads a dense copy of the old value, whose operand is transposed
        assert mg.grad(base, z, g).tolist() == want


def test_observers_and_hooks_of_nodes_see_each_pass() -> None:
    x, z = leaves()
    seen: list[Any] = []
    for _ in range(PASSES):
        y = x * z
        y.op.register_hook(lambda inputs, outputs: seen.append(inputs[0].tolist()))
        y.sum().backward()
    assert seen == [z.tolist()] * PASSES
    with mg.autograd.detect_anomaly(), pytest.raises(mg.GradientError, match="sqrt"):
        mg.sqrt(x * 0.0).sum().backward()
