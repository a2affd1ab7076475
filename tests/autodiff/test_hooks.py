"""Hooks of a node receive the complete gradient of a result before its rules, and may replace it."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest
from points import leaf
from two_results import twice_and_thrice

import minigrad as mg
from minigrad.errors import ArgumentError, DeviceError, DTypeError, GradientError, ShapeError


def test_a_hook_sees_the_sum_of_all_uses_once() -> None:
    x, seen = leaf(2.0), []
    y = x * 3.0
    y.register_hook(lambda g: seen.append(g.tolist()))
    (y * 3.0 + y * 4.0).sum().backward()
    assert seen == [[7.0]] and x.grad.tolist() == [21.0]


def test_hooks_run_in_order_and_each_sees_what_the_one_before_gave() -> None:
    x, seen = leaf(2.0), []
    y = x * 3.0
    for factor in (10.0, 2.0):
        y.register_hook(lambda g, factor=factor: (seen.append(g.item()), g * factor)[1])
    y.sum().backward()
    assert seen == [1.0, 10.0] and x.grad.tolist() == [60.0]


def test_a_removed_hook_is_not_called() -> None:
    x = leaf(2.0)
    y = x * 3.0
    handle = y.register_hook(lambda g: g * 10.0)
    kept = y.register_hook(lambda g: g * 2.0)
    handle.remove()
    handle.remove()
    y.sum().backward(retain_graph=True)
    assert x.grad.tolist() == [6.0]
    kept.remove()
    y.sum().backward()
    assert x.grad.tolist() == [9.0]


def test_a_hook_may_remove_itself_and_register_another_on_an_earlier_node() -> None:
    x, seen = leaf(2.0), []
    y = x * 3.0
    z = y * 2.0

    def once(g: Any) -> None:
        seen.append("z")
        handle.remove()
        y.register_hook(lambda g: seen.append("y"))

    handle = z.register_hook(once)
    z.sum().backward(retain_graph=True)
    z.sum().backward()
    assert seen == ["z", "y", "y"]


def test_a_hook_counts_for_an_input_of_grad_too() -> None:
    x = leaf(2.0)
    y = x * 3.0
    y.register_hook(lambda g: g * 10.0)
    assert mg.grad((y * y).sum(), y).tolist() == [120.0]


def test_a_hook_on_the_output_of_a_backward_sees_what_it_begins_with() -> None:
    x = leaf(2.0)
    y = (x * 3.0).sum()
    y.register_hook(lambda g: g * 5.0)
    y.backward()
    assert x.grad.tolist() == [15.0]


def test_what_a_hook_does_is_differentiated_under_create_graph() -> None:
    x = leaf(3.0)
    y = x * x
    y.register_hook(lambda g: g * x)
    first = mg.grad(y, x, create_graph=True)
    assert first.tolist() == [18.0]
    assert mg.grad(first, x).tolist() == [12.0]


def test_recording_is_off_in_a_hook_without_create_graph() -> None:
    x, modes = leaf(2.0), []
    y = x * x
    y.register_hook(lambda g: modes.append(mg.is_grad_enabled()))
    y.backward(retain_graph=True)
    mg.grad(y, x, create_graph=True)
    assert modes == [False, True]


def test_the_hooks_of_each_result_of_an_op_are_its_own() -> None:
    op, x = twice_and_thrice(), leaf(1.0)
    r = op(x)
    r.a.register_hook(lambda g: g * 10.0)
    r.b.register_hook(lambda g: g * 100.0)
    (r.a + r.b).sum().backward()
    assert x.grad.tolist() == [320.0]
    again = op(x)
    again.b.register_hook(lambda g: pytest.fail("nothing used this result"))
    again.a.sum().backward()


@pytest.mark.parametrize(
    ("give", "error", "message"),
    [
        (
            lambda g: g.reshape(1, 2),
            ShapeError,
            r"must return None or a gradient .*, got float64\(1, 2\)",
        ),
        (lambda g: g.to(mg.float32), DTypeError, r"must return None or a gradient .*, got float32\(2,\)"),
        (
            lambda g: g.to("cpu"),
            DeviceError,
            r"must return None or a gradient .* on reference, .*, got float64\(2,\) on cpu",
        ),
        (lambda g: 3.0, GradientError, r"must return None or a gradient .*, got float 3\.0"),
    ],
    ids=["shape", "dtype", "device", "number"],
)
def test_what_a_hook_gives_is_looked_at(give: Any, error: Any, message: str) -> None:
    x = leaf(1.0, 2.0)
    y = x * 3.0
    y.register_hook(give)
    with pytest.raises(error, match=rf"register_hook: the hook at .*test_hooks\.py:\d+ on mul {message}"):
        y.sum().backward()
    assert x.grad is None


def test_a_hook_may_not_write_into_the_gradient() -> None:
    x = leaf(1.0, 2.0)
    y = x * 3.0
    y.register_hook(lambda g: g.mul_(2.0))
    with pytest.raises(GradientError, match=r"on mul must not write into the gradient float64\(2,\)"):
        (y * 1.0).backward()


def test_what_a_hook_raises_passes_on_and_leaves_grad_alone() -> None:
    x = leaf(2.0)
    y = x * 3.0

    def broken(g: Any) -> None:
        raise KeyError("mine")

    y.register_hook(broken)
    with pytest.raises(KeyError, match="mine"):
        y.sum().backward()
    assert x.grad is None


def test_a_gradient_that_a_hook_keeps_is_not_changed_afterwards() -> None:
    x, kept = leaf(1.0, 2.0), []
    y = x * 1.0
    y.register_hook(kept.append)
    (y * 2.0 + y * 3.0).sum().backward()
    x.grad.mul_(100.0)
    (x * 7.0).sum().backward()
    assert kept[0].tolist() == [5.0, 5.0]


def test_what_cannot_be_called_is_no_hook() -> None:
    with pytest.raises(
        ArgumentError, match=r"register_hook: a hook of BackpropOp.* must be a function of the gradient"
    ):
        (leaf(2.0) * 2.0).register_hook(3.0)
    with pytest.raises(ArgumentError, match=r"register_hook: a hook of a tensor \(1,\) must be a function"):
        leaf(2.0).register_hook(3.0)


def test_a_node_without_hooks_has_none_and_one_with_hooks_dies_as_ever() -> None:
    y = leaf(2.0) * 2.0
    assert y.op.hooks is None and mg.sort(leaf(2.0), 0).values.op.hooks is None
    gc.disable()
    try:
        handle = y.register_hook(lambda g: None)
        node = weakref.ref(y.op)
        del y
        assert node() is None, "a handle keeps no graph"
        handle.remove()
    finally:
        gc.enable()


# ---- the study's programs, and the order of it all ------------------------------------------------------------------


def test_h1_tensor_hooks_then_retain_grad_then_before_the_rules_then_after() -> None:
    x, seen = leaf(2.0), []
    y = x * 3.0
    y.register_hook(lambda g: (seen.append(("t1", g.item())), g * 10.0)[1])
    y.retain_grad()
    y.register_hook(lambda g: (seen.append(("t2", g.item())), g * 10.0)[1])
    y.op.register_prehook(lambda gs: seen.append(("before", gs[0].item())))
    y.op.register_hook(lambda parts, gs: seen.append(("after", parts[0].item(), gs[0].item())))
    y.sum().backward()
    assert seen == [("t1", 1.0), ("t2", 10.0), ("before", 100.0), ("after", 300.0, 100.0)]
    assert y.grad.tolist() == [100.0] and x.grad.tolist() == [300.0]


def test_h2_the_hook_of_a_leaf_is_called_once_a_backward_with_the_sum() -> None:
    x, seen = leaf(2.0), []
    handle = x.register_hook(lambda g: seen.append(g.item()))
    (x * 3.0 + x * 4.0).sum().backward()
    assert seen == [7.0] and x.grad.tolist() == [7.0]
    x.grad = None
    seen.clear()
    for _ in range(2):
        (x * 3.0).sum().backward()
    assert seen == [3.0, 3.0] and x.grad.tolist() == [6.0]
    handle.remove()
    x.register_hook(lambda g: g * 2.0)
    assert mg.grad((x * 3.0).sum(), x).tolist() == [6.0] and len(seen) == 2


def test_h3_a_hook_after_accumulation_is_given_the_leaf_and_not_called_by_grad() -> None:
    x, seen = leaf(2.0), []

    def take(p: Any) -> None:
        seen.append(p.grad.item())
        p.grad = None

    x.register_post_accumulate_grad_hook(take)
    (x * 3.0 + x * 4.0).sum().backward()
    assert seen == [7.0] and x.grad is None
    mg.grad((x * 3.0).sum(), x)
    assert seen == [7.0]
    with pytest.raises(GradientError, match=r"expected a leaf that requires a gradient, .*; use register_hook"):
        (x * 1.0).register_post_accumulate_grad_hook(take)
    x.register_post_accumulate_grad_hook(lambda p: p)
    with pytest.raises(GradientError, match=r"the hook at .* on the Var float64\(1,\) must return None"):
        (x * 3.0).sum().backward()


def test_h7_hooks_stay_with_the_value_for_which_they_were_registered() -> None:
    x, seen = leaf(2.0), []
    y = x * 1.0
    y.register_hook(lambda g: seen.append(("a", g.item())))
    y = y * 5.0
    y.register_hook(lambda g: seen.append(("b", g.item())))
    y.sum().backward()
    assert seen == [("b", 1.0), ("a", 5.0)]


def test_h7_a_gradient_is_retained_of_the_tensor_as_it_is_in_the_end() -> None:
    x, seen = leaf(1.0, 2.0), []
    y = x * 1.0
    y.retain_grad()
    y.mul_(5.0)
    y.sum().backward()
    assert y.grad.tolist() == [1.0, 1.0] and x.grad.tolist() == [5.0, 5.0]
    y = x * 1.0
    v = y[:1]
    v.register_hook(lambda g: seen.append(g))
    y.mul_(5.0)
    assert mg.grad(v.sum(), x).tolist() == [5.0, 0.0] and seen == []


def test_retain_grad_adds_up_and_is_no_affair_of_a_leaf() -> None:
    x = leaf(2.0)
    y = x * 3.0
    assert y.grad is None and not y.retains_grad
    y.retain_grad()
    y.retain_grad()
    x.retain_grad()
    assert y.retains_grad and not x.retains_grad
    for _ in range(2):
        (y * y).sum().backward(retain_graph=True)
    assert y.grad.tolist() == [24.0] and x.grad.tolist() == [72.0]
    y.grad = None
    mg.grad((y * 2.0).sum(), [x, y])
    assert y.grad.tolist() == [2.0]
    y.grad = mg.tensor([5.0], dtype=y.dtype, device=y.device)
    assert y.grad.tolist() == [5.0] and y.retains_grad
    with pytest.raises(
        GradientError, match=r"retain_grad: expected a tensor that requires a gradient, got float64\(1,\)"
    ):
        x.detach().retain_grad()


def test_the_gradient_that_is_retained_is_ones_own_and_recorded_under_create_graph() -> None:
    x = leaf(3.0)
    y = x * x
    y.retain_grad()
    (y * y).sum().backward(create_graph=True)
    assert mg.grad(y.grad.sum(), x).tolist() == [12.0]  # 2 y = 2 x**2
    y.grad.detach().zero_()
    assert x.grad.tolist() == [108.0]


def test_hooks_of_a_node_may_replace_what_passes() -> None:
    x, z = leaf(2.0), leaf(5.0)
    y = x * z
    before = y.op.register_prehook(lambda gs: (gs[0] * 10.0,))
    y.op.register_hook(lambda parts, gs: (parts[0] * 2.0, None))
    y.sum().backward(retain_graph=True)
    assert x.grad.tolist() == [100.0] and z.grad.tolist() == [20.0]
    before.remove()
    assert [g.tolist() for g in mg.grad(y, [x, z])] == [[10.0], [2.0]]


def test_hooks_of_a_node_run_in_order() -> None:
    x = leaf(2.0)
    y = x * 3.0
    y.op.register_prehook(lambda gs: (gs[0] * 10.0,))
    y.op.register_prehook(lambda gs: (gs[0] + 1.0,))
    y.op.register_hook(lambda parts, gs: (parts[0] * 2.0, None))
    y.op.register_hook(lambda parts, gs: (parts[0] + 5.0, None))
    y.sum().backward()
    assert x.grad.tolist() == [(1.0 * 10.0 + 1.0) * 3.0 * 2.0 + 5.0]


def test_a_hook_of_a_node_is_given_the_gradient_of_each_operand_in_its_place() -> None:
    x, seen = leaf(2.0), []
    note = lambda parts, gs: seen.append([None if g is None else g.item() for g in parts])
    one, two = leaf(3.0).detach() * x, x / x
    one.op.register_hook(note)
    two.op.register_hook(note)
    (one + two).sum().backward()
    assert sorted(seen, key=str) == [[0.5, -0.5], [None, 3.0]]


def test_hooks_of_a_node_do_not_run_where_a_walk_ends() -> None:
    x, seen = leaf(2.0), []
    y = x * 3.0
    y.op.register_prehook(lambda gs: seen.append("before"))
    y.op.register_hook(lambda parts, gs: seen.append("after"))
    mg.grad((y * y).sum(), y, retain_graph=True)
    assert seen == []
    mg.grad((y * y).sum(), [x, y])
    assert seen == ["before", "after"]


@pytest.mark.parametrize(
    ("give", "error", "message"),
    [
        (lambda parts, gs: (parts[0],), GradientError, r"must return None or a tuple of 2 gradients, got 1 gradients"),
        (
            lambda parts, gs: (parts[0], gs[0]),
            GradientError,
            r"must return None for an input without a gradient, got float64\(2,\)",
        ),
        (lambda parts, gs: (parts[0].sum(), None), ShapeError, r"must return None or a gradient .*, got float64\(\)"),
        (lambda parts, gs: parts[0].mul_(2.0), GradientError, r"must not write into the gradient float64\(2,\)"),
    ],
)
def test_what_a_hook_of_a_node_gives_is_looked_at(give: Any, error: Any, message: str) -> None:
    x = leaf(1.0, 2.0)
    y = x * mg.tensor([1.0, 1.0], dtype="float64", device="reference")
    y.op.register_hook(give)
    with pytest.raises(error, match=rf"register_hook: the hook at .*test_hooks\.py:\d+ on mul {message}"):
        y.sum().backward()


def test_hooks_of_a_node_of_several_results_see_all_of_them() -> None:
    r, seen = twice_and_thrice()(x := leaf(1.0)), []
    r.a.op.register_prehook(lambda gs: seen.append([None if g is None else g.item() for g in gs]))
    r.a.sum().backward()
    assert seen == [[1.0, None]] and x.grad.tolist() == [2.0]


def test_hooks_of_leaves_are_forgotten_with_them() -> None:
    from minigrad.runtime.hooks import leaf_hooks, retained

    gc.collect()
    before = len(leaf_hooks), len(retained)
    x = leaf(2.0)
    x.register_hook(lambda g: None)
    y = x * 1.0
    y.retain_grad()
    assert (len(leaf_hooks), len(retained)) == (before[0] + 1, before[1] + 1)
    del x, y
    gc.collect()
    assert (len(leaf_hooks), len(retained)) == before


def test_h10_a_tensor_without_gradient_takes_no_hook() -> None:
    with pytest.raises(
        GradientError, match=r"register_hook: expected a tensor that requires a gradient, got float64\(1,\)"
    ):
        leaf(2.0).detach().register_hook(lambda g: None)


def test_hooks_see_gradients_on_another_dtype_and_device() -> None:
    seen: list[Any] = []
    x = mg.Var([1.0, 2.0])
    x.register_hook(lambda g: seen.append(g.tolist()))
    (x * 2.0).sum().backward()
    assert seen == [[2.0, 2.0]]


# ---- only these inputs, and where their gradients go ----------------------------------------------------------------


def test_backward_of_inputs_adds_to_these_alone() -> None:
    x, z = leaf(2.0), leaf(5.0)
    y = x * z
    w = y * 3.0
    grads = w.sum().backward(inputs=[x, y], retain_graph=True)
    assert x.grad.tolist() == [15.0] and z.grad is None and y.grad.tolist() == [3.0]
    assert len(grads) == 2 and grads[y].tolist() == [3.0]
    w.sum().backward(inputs=x)
    assert x.grad.tolist() == [30.0] and z.grad is None
    with pytest.raises(GradientError, match=r"backward: inputs must require a gradient, got float64\(1,\)"):
        (x * z).sum().backward(inputs=[x.detach()])
    with pytest.raises(GradientError, match="backward: inputs must be None"):
        (x * z).sum().backward(inputs=[])


def test_a_second_backward_adds_in_place_unless_the_gradient_is_of_a_store() -> None:
    x = leaf(1.0, 2.0)
    (x * 3.0).sum().backward()
    place = x.grad.data_ptr()
    (x * 4.0).sum().backward()
    assert x.grad.data_ptr() == place and x.grad.tolist() == [7.0, 7.0]
    kept = x.grad
    (x * 4.0).sum().backward()
    assert kept.tolist() == x.grad.tolist() == [11.0, 11.0]
    view = x.grad[:1]
    (x * 4.0).sum().backward()
    assert view.tolist() == [15.0] and x.grad.tolist() == [15.0, 15.0]
    store = (x * 4.0).sum().backward()
    store = (x * 4.0).sum().backward()
    assert store[x].tolist() == [4.0, 4.0] and x.grad.tolist() == [23.0, 23.0]
    x.grad = None
    kept = (x * 4.0).sum().backward()[x]  # the store is gone
    (x * 4.0).sum().backward()
    assert kept.tolist() == [4.0, 4.0] and x.grad.tolist() == [8.0, 8.0]


def test_the_gradient_of_a_leaf_is_there_as_soon_as_its_last_use_was_visited() -> None:
    weights = [mg.Var([[0.5, -1.0], [2.0, 0.25]], name=name) for name in "abc"]
    arrived: list[list[str]] = []
    for w in weights:
        w.register_post_accumulate_grad_hook(
            lambda _: arrived.append([str(w.name) for w in weights if w.grad is not None])
        )
    y = mg.tensor([[1.0, 2.0]])
    for w in weights:
        y = y @ w
    (y.sum() + weights[1].sum()).backward()  # b is used twice, and the first use is visited last
    assert arrived == [["c"], ["b", "c"], ["a", "b", "c"]]


def test_a_late_hook_may_write_into_a_gradient_that_others_shared() -> None:
    a, b = mg.Var([1.0, 2.0]), mg.Var([3.0, 4.0])

    def scaled(x: mg.Var) -> None:
        assert x.grad is not None
        x.grad.mul_(10.0)

    a.register_post_accumulate_grad_hook(scaled)
    total = a + b
    (total * total + b).sum().backward()
    assert a.grad.tolist() == [80.0, 120.0] and b.grad.tolist() == [9.0, 13.0]


def test_gradients_of_two_passes_add_up_before_late_hooks_see_them() -> None:
    x = mg.Var([1.0, 2.0])
    seen: list[list[float]] = []
    x.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.tolist()))
    for _ in range(2):
        (x * x).sum().backward()
    assert seen == [[2.0, 4.0], [4.0, 8.0]]


def test_hooks_of_a_leaf_s_node_run_around_the_accumulation() -> None:
    x, log = leaf(1.0), []
    node = x.expand_as(x).grad_fn.next_functions[0][0]
    node.register_prehook(lambda gs: (log.append("node"), (gs[0] * 10.0,))[1])
    x.register_hook(lambda g: log.append("tensor"))
    node.register_hook(lambda none, gs: log.append((none, gs[0].item(), x.grad.item())))
    (x * 2.0).sum().backward()
    assert log == ["tensor", "node", ((), 20.0, 20.0)]
    log.clear()
    assert mg.grad((x * 2.0).sum(), x).tolist() == [2.0] and log == ["tensor"]
    node(mg.full_like(x, 5.0))
    assert x.grad.tolist() == [25.0]
