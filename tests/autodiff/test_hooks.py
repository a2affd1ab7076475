"""Hooks of a node: they see the complete gradient of a result before its rules do, and may replace it."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest
from two_results import twice_and_thrice

import minigrad as mg
from minigrad.errors import ArgumentError, DeviceError, DTypeError, GradientError, ShapeError


def leaf(*values: float) -> Any:
    return mg.Var(list(values) or [2.0], dtype="float64", device="reference")


def test_a_hook_sees_the_sum_of_all_uses_once() -> None:
    x, seen = leaf(), []
    y = x * 3.0
    y.op.register_hook(lambda g: seen.append(g.tolist()))
    (y * 3.0 + y * 4.0).sum().backward()
    assert seen == [[7.0]] and x.grad.tolist() == [21.0]


def test_hooks_run_in_order_and_each_sees_what_the_one_before_gave() -> None:
    x, seen = leaf(), []
    y = x * 3.0
    for factor in (10.0, 2.0):
        y.op.register_hook(lambda g, factor=factor: (seen.append(g.item()), g * factor)[1])
    y.sum().backward()
    assert seen == [1.0, 10.0] and x.grad.tolist() == [60.0]


def test_a_removed_hook_is_not_called() -> None:
    x = leaf()
    y = x * 3.0
    handle = y.op.register_hook(lambda g: g * 10.0)
    kept = y.op.register_hook(lambda g: g * 2.0)
    handle.remove()
    handle.remove()
    y.sum().backward(retain_graph=True)
    assert x.grad.tolist() == [6.0]
    kept.remove()
    y.sum().backward()
    assert x.grad.tolist() == [9.0]


def test_a_hook_may_remove_itself_and_register_another_on_an_earlier_node() -> None:
    x, seen = leaf(), []
    y = x * 3.0
    z = y * 2.0

    def once(g: Any) -> None:
        seen.append("z")
        handle.remove()
        y.op.register_hook(lambda g: seen.append("y"))

    handle = z.op.register_hook(once)
    z.sum().backward(retain_graph=True)
    z.sum().backward()
    assert seen == ["z", "y", "y"]


def test_a_hook_counts_for_an_input_of_grad_too() -> None:
    x = leaf()
    y = x * 3.0
    y.op.register_hook(lambda g: g * 10.0)
    assert mg.grad((y * y).sum(), y).tolist() == [120.0]


def test_a_hook_on_the_output_of_a_backward_sees_what_it_begins_with() -> None:
    x = leaf()
    y = (x * 3.0).sum()
    y.op.register_hook(lambda g: g * 5.0)
    y.backward()
    assert x.grad.tolist() == [15.0]


def test_what_a_hook_does_is_differentiated_under_create_graph() -> None:
    x = leaf(3.0)
    y = x * x
    y.op.register_hook(lambda g: g * x)
    first = mg.grad(y, x, create_graph=True)
    assert first.tolist() == [18.0]
    assert mg.grad(first, x).tolist() == [12.0]


def test_recording_is_off_in_a_hook_without_create_graph() -> None:
    x, modes = leaf(), []
    y = x * x
    y.op.register_hook(lambda g: modes.append(mg.is_grad_enabled()))
    y.backward(retain_graph=True)
    mg.grad(y, x, create_graph=True)
    assert modes == [False, True]


def test_the_hooks_of_each_result_of_an_op_are_its_own() -> None:
    op, x = twice_and_thrice(), leaf(1.0)
    r = op(x)
    r.a.op.register_hook(lambda g: g * 10.0)
    r.b.op.register_hook(lambda g: g * 100.0)
    (r.a + r.b).sum().backward()
    assert x.grad.tolist() == [320.0]
    again = op(x)
    again.b.op.register_hook(lambda g: pytest.fail("nothing used this result"))
    again.a.sum().backward()
    with pytest.raises(ArgumentError, match=r"two_and_three has the results a, b; register the hook on one of them"):
        r.a.op.node.register_hook(lambda g: g)


@pytest.mark.parametrize(
    ("give", "error", "message"),
    [
        (lambda g: g.reshape(1, 2), ShapeError, r"gave float64\(1, 2\); expected None, or a gradient float64\(2,\) on"),
        (lambda g: g.to(mg.float32), DTypeError, r"gave float32\(2,\); expected"),
        (lambda g: g.to("cpu"), DeviceError, r"gave float64\(2,\) on cpu; expected .* on reference"),
        (lambda g: 3.0, GradientError, r"gave float 3\.0; expected"),
    ],
    ids=["shape", "dtype", "device", "number"],
)
def test_what_a_hook_gives_is_looked_at(give: Any, error: Any, message: str) -> None:
    x = leaf(1.0, 2.0)
    y = x * 3.0
    y.op.register_hook(give)
    with pytest.raises(error, match=rf"register_hook: the hook at .*test_hooks\.py:\d+ on mul {message}"):
        y.sum().backward()
    assert x.grad is None


def test_a_hook_may_not_write_into_the_gradient() -> None:
    x = leaf(1.0, 2.0)
    y = x * 3.0
    y.op.register_hook(lambda g: g.mul_(2.0))
    with pytest.raises(GradientError, match=r"on mul wrote into the gradient float64\(2,\), which others share"):
        (y * 1.0).backward()


def test_what_a_hook_raises_passes_on_and_leaves_grad_alone() -> None:
    x = leaf()
    y = x * 3.0

    def broken(g: Any) -> None:
        raise KeyError("mine")

    y.op.register_hook(broken)
    with pytest.raises(KeyError, match="mine"):
        y.sum().backward()
    assert x.grad is None


def test_a_gradient_that_a_hook_keeps_is_not_changed_afterwards() -> None:
    x, kept = leaf(1.0, 2.0), []
    y = x * 1.0
    y.op.register_hook(kept.append)
    (y * 2.0 + y * 3.0).sum().backward()
    x.grad.mul_(100.0)
    (x * 7.0).sum().backward()
    assert kept[0].tolist() == [5.0, 5.0]


def test_what_cannot_be_called_is_no_hook() -> None:
    with pytest.raises(ArgumentError, match=r"register_hook: a hook of BackpropOp.*must be a function of the gradient"):
        (leaf() * 2.0).op.register_hook(3.0)


def test_a_node_without_hooks_has_none_and_one_with_hooks_dies_as_ever() -> None:
    y = leaf() * 2.0
    assert y.op.hooks is None and mg.sort(leaf(), 0).values.op.hooks is None
    gc.disable()
    try:
        handle = y.op.register_hook(lambda g: None)
        node = weakref.ref(y.op)
        del y
        assert node() is None, "a handle keeps no graph"
        handle.remove()
    finally:
        gc.enable()
