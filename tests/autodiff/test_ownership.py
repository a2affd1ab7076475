"""A gradient that is returned shares memory with no other tensor, whatever the rules do."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from cases import over

import minigrad as mg

KEPT = mg.tensor([5.0, 5.0], device="reference")
STASH: list[Any] = []
ARRAY = np.array([5.0, 5.0], np.float32)


def declare(rule: Callable[..., Any]) -> Callable[..., Any]:
    @mg.elementwise(dtype=mg.rules.promote, vjp=(rule,))
    def passed_on(x):
        """Twice x."""
        return x * 2.0

    return passed_on


def stashing(g, x):
    STASH.append(g * x)
    return STASH[-1]


def var(*values: float) -> Any:
    return mg.Var(list(values), device="reference")


RULES: dict[str, Callable[..., Any]] = {
    "output": lambda g, y: y,
    "operand": lambda g, x: x,
    "detached operand": lambda g, x: x.detach(),
    "view of the operand": lambda g, x: x[::-1][::-1],
    "gradient": lambda g: g,
    "view of the gradient": lambda g: g.reshape(2, 1).reshape(2),
    "kept tensor": lambda g: KEPT,
    "stashed result": stashing,
    "fused": lambda g, x, y: g * x * y,
}


@over("name", RULES)
@over("create_graph", [False, True], ids=["plain", "recorded"])
def test_zeroing_a_gradient_changes_nothing_else(name: str, create_graph: bool) -> None:
    op = declare(RULES[name])
    x, seed = var(1.0, 2.0), mg.tensor([3.0, 4.0], device="reference")
    y = op(x)
    y.backward(seed, retain_graph=True, create_graph=create_graph)
    with mg.no_grad():
        x.grad.zero_()
    assert x.tolist() == [1.0, 2.0] and y.tolist() == [2.0, 4.0] and seed.tolist() == [3.0, 4.0]
    assert KEPT.tolist() == [5.0, 5.0]
    assert not STASH or STASH.pop().tolist() == [3.0, 8.0]


@pytest.mark.parametrize("name", RULES)
def test_setting_a_var_leaves_its_gradients_alone(name: str) -> None:
    op = declare(RULES[name])
    x = var(1.0, 2.0)
    y = op(x)
    y.backward(mg.tensor([3.0, 4.0], device="reference"), retain_graph=True)
    result = mg.grad(y, x, mg.tensor([3.0, 4.0], device="reference"))
    before = x.grad.tolist()
    x.set([7.0, 7.0])
    y.detach().zero_()
    STASH.clear()
    assert x.grad.tolist() == before and result.tolist() == before


@pytest.mark.parametrize("name", RULES)
def test_what_grad_returns_is_the_callers(name: str) -> None:
    op = declare(RULES[name])
    x, seed = var(1.0, 2.0), mg.tensor([3.0, 4.0], device="reference")
    y = op(x)
    mg.grad(y, x, seed, retain_graph=True).zero_()
    assert x.tolist() == [1.0, 2.0] and y.tolist() == [2.0, 4.0] and seed.tolist() == [3.0, 4.0]
    assert KEPT.tolist() == [5.0, 5.0]
    STASH.clear()


def test_a_rule_may_give_back_the_memory_of_an_array() -> None:
    @mg.elementwise(dtype=mg.rules.promote, vjp=(lambda g: mg.from_numpy(ARRAY),))
    def from_an_array(x):
        """Twice x."""
        return x * 2.0

    x = mg.Var([1.0, 2.0])
    from_an_array(x).backward()
    x.grad.zero_()
    assert ARRAY.tolist() == [5.0, 5.0]


def test_gradients_that_pass_unchanged_to_several_leaves_are_apart() -> None:
    x, z, seed = var(1.0, 2.0), var(3.0, 4.0), mg.tensor([5.0, 6.0], device="reference")
    for gradients in (mg.grad(x + z, [x, z], seed), mg.grad(x + z, [x, z]), mg.grad((x + z) + (x + z), [x, z])):
        before = gradients[1].tolist()
        gradients[0].zero_()
        assert gradients[1].tolist() == before and seed.tolist() == [5.0, 6.0]
    grads = (x + z).backward(seed)
    x.grad.zero_()
    assert z.grad.tolist() == grads[z].tolist() == seed.tolist() == [5.0, 6.0]


def test_the_gradient_of_a_value_in_between_is_apart_from_that_of_the_leaf() -> None:
    x = var(1.0, 2.0)
    y = x + 0.0
    z = y + 0.0
    gz, gy, gx = mg.grad(z, [z, y, x], mg.tensor([5.0, 6.0], device="reference"))
    gy.zero_()
    assert gx.tolist() == gz.tolist() == [5.0, 6.0]


def test_an_input_that_is_asked_for_twice_is_given_twice() -> None:
    x = var(1.0, 2.0)
    first, second = mg.grad(x * 3.0, [x, x])
    first.zero_()
    assert second.tolist() == [3.0, 3.0]


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.sum(),
        lambda x: x.expand(3, 2),
        lambda x: x.reshape(2, 1).expand(2, 3).sum(1),
        lambda x: x[::-1],
        lambda x: x.reshape(1, 2).T,
        lambda x: x[:1],
        lambda x: x * 1.0,
        lambda x: x,
    ],
)
def test_every_gradient_may_be_written(function: Callable[[Any], Any]) -> None:
    x = var(1.0, 2.0)
    y = function(x)
    result = mg.grad(y, x, retain_graph=True)
    again = mg.grad(y, x, retain_graph=True)
    y.backward()
    expected = x.grad.tolist()
    assert result.tolist() == expected
    result.zero_()
    assert x.grad.tolist() == expected == again.tolist()
    x.grad.add_(1.0)
    assert result.tolist() == [0.0, 0.0] and again.tolist() == expected


def test_a_gradient_that_is_the_engines_own_is_not_copied() -> None:
    x = mg.Var(np.ones(8, np.float32), device="reference")
    seed = mg.ones(8, device="reference")
    for y, results in ((x * 3.0, 1), (x * x, 2), ((x * 3.0) * 2.0, 2)):  # two products, one of which becomes the sum
        before = mg.memory_stats().allocations
        mg.grad(y, x, seed, retain_graph=True)
        between = mg.memory_stats().allocations
        x.grad = None
        y.backward(seed)
        assert (between - before, mg.memory_stats().allocations - between) == (results, results)


@pytest.mark.parametrize("jit", [False, True])
def test_a_pass_adds_to_the_memory_of_grad(jit: bool) -> None:
    """As in PyTorch, whoever else refers to it: scripts assign parts of one vector, or keep a list of gradients."""
    device = "cpu" if jit else "reference"
    flat, a, b = mg.zeros(5, device=device), mg.Var([1.0, 1.0], device=device), mg.Var([1.0] * 3, device=device)
    a.grad, b.grad = flat[:2], flat[2:]
    array = np.zeros(2, np.float32)
    c = mg.Var([1.0, 1.0], device=device)
    c.grad = mg.from_numpy(array) if device == "cpu" else None

    def step() -> None:
        ((a * 2.0).sum() + (b * b).sum() + c.sum()).backward()

    call = mg.jit(step) if jit else step
    for _ in range(3):
        call()
    assert flat.tolist() == [6.0] * 5 and a.grad.data_ptr() == flat.data_ptr()
    assert c.grad.tolist() == [3.0, 3.0] and (device != "cpu" or array.tolist() == [3.0, 3.0])
    gradients = [b.grad]
    b.grad.zero_()
    call()
    assert gradients[0].tolist() == [2.0] * 3 and flat.tolist() == [8.0, 8.0, 2.0, 2.0, 2.0]


def test_the_gradients_of_an_earlier_call_do_not_change() -> None:
    x, z = var(1.0, 2.0), var(3.0, 4.0)
    history = [(x * x + z).backward() for _ in range(20)]
    assert {tuple(grads[x].tolist()) for grads in history} == {(2.0, 4.0)}
    assert x.grad.tolist() == [40.0, 80.0] and z.grad.tolist() == [20.0, 20.0]
    kept = x.grad
    (x * x).backward(create_graph=True)
    assert kept.tolist() == [40.0, 80.0] and x.grad.tolist() == [42.0, 84.0]


def test_stores_keep_gradients_that_are_exchanged_copied_or_printed() -> None:
    x, z = var(1.0, 2.0), var(3.0, 4.0)
    grads = (x * 3.0 + z * 5.0).backward()
    twin = copy.copy(grads)
    x.grad, z.grad = z.grad, x.grad
    (x + z).backward()
    for store in (grads, twin):
        assert store[x].tolist() == [3.0, 3.0] and store[z].tolist() == [5.0, 5.0]
    assert x.grad.tolist() == [6.0, 6.0] and z.grad.tolist() == [4.0, 4.0]
    x.grad = None
    grads = (x * 3.0).backward()
    kept = x.grad
    assert "GradStore" in repr(grads)
    (x * 3.0).backward()
    assert kept.tolist() == [6.0, 6.0] and grads[x].tolist() == [3.0, 3.0]
    layer = mg.nn.Linear(2, 1, bias=False, device="reference")
    for owner in (layer, mg.optim.SGD(layer.parameters())):
        owner.zero_grad()
        grads = layer(mg.ones(1, 2, device="reference")).sum().backward()
        g = grads[layer.weight]
        owner.zero_grad(set_to_none=False)
        assert g.tolist() == grads[layer.weight].tolist() == [[1.0, 1.0]] and layer.weight.grad.tolist() == [[0.0, 0.0]]


def test_a_gradient_may_be_a_view_of_another_dtype() -> None:
    x, memory, z = var(1.0, 2.0), mg.zeros(8, dtype="uint8", device="reference"), var(1.0, 2.0)
    numbers = mg.zeros(2, dtype="complex64", device="reference")
    x.grad, z.grad = memory.view(mg.float32), numbers.imag
    for _ in range(2):
        (x * 3.0 + z).backward()
    assert memory.view(mg.float32).tolist() == [6.0, 6.0] and numbers.tolist() == [2j, 2j]
    mg.optim.SGD([x, z]).zero_grad(set_to_none=False)
    assert not memory.any().item() and numbers.tolist() == [0j, 0j]


def test_a_shallow_copy_has_no_gradient() -> None:
    x = var(1.0, 2.0)
    (x * 3.0).backward()
    twin = copy.copy(x)
    assert twin.grad is None
    twin.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0] and twin.grad.tolist() == [1.0, 1.0]


def test_gradients_that_cannot_be_written_are_replaced() -> None:
    x = var(1.0, 2.0)
    x.grad = mg.ones(1, device="reference").expand(2)
    (x * x).backward()
    assert x.grad.tolist() == [3.0, 5.0]
    x.grad = (x * 2.0).detach() * x
    old = x.grad
    (x * x).backward()
    assert old.tolist() == [2.0, 8.0] and x.grad.tolist() == [4.0, 12.0]


def test_zero_grad_writes_zeros_into_the_memory_of_grad() -> None:
    layer = mg.nn.Linear(2, 1, bias=False, device="reference")
    for owner in (layer, mg.optim.SGD(layer.parameters())):
        layer.weight.grad = memory = mg.tensor([[np.nan, 1.0]], device="reference")
        owner.zero_grad(set_to_none=False)
        assert memory.tolist() == [[0.0, 0.0]] and layer.weight.grad is memory
