"""mg.Function: a derivative that is written by hand works like any other, or raises an error that names it."""

from __future__ import annotations

import gc
import warnings
import weakref
from typing import Any

import numpy as np
import pytest
from own_functions import Modern, Square, function, keep_input, saving, slope
from points import leaf, row

import minigrad as mg
from minigrad.autodiff import batching
from minigrad.autodiff.batching import batched
from minigrad.autodiff.calling import FunctionCall, FunctionNode
from minigrad.autodiff.forward import pushforward
from minigrad.autodiff.function import once_differentiable
from minigrad.autodiff.holding import saved_tensors_hooks
from minigrad.errors import DeviceError, DTypeError, GradientError, ShapeError, StorageError
from minigrad.testing import gradcheck, gradgradcheck
from minigrad.viz.explain import explanation


@pytest.mark.parametrize("kind", [Square, Modern])
def test_its_derivatives_of_first_and_second_order(kind: Any) -> None:
    gradcheck(lambda x: kind.apply(x).sin(), [leaf(0.3, 1.2, -2.0)])
    gradgradcheck(lambda x: kind.apply(x).sin() * kind.apply(x), [leaf(0.3, 1.2, -2.0)])


def test_an_output_that_was_saved_is_a_part_of_the_graph() -> None:
    def forward(ctx: Any, x: Any) -> Any:
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    gradgradcheck(function(forward, lambda ctx, g: g * ctx.saved_tensors[0]).apply, [leaf(0.3, 1.2)])


def two(zeros: bool, seen: list[Any], mark: bool = False) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.set_materialize_grads(zeros)
        a, b = x * 2.0, x * 3.0
        if mark:
            ctx.mark_non_differentiable(b)
        return a, b

    def backward(ctx: Any, ga: Any, gb: Any) -> Any:
        seen.append((ga, gb))
        return ga * 2.0 if gb is None else ga * 2.0 + gb * 3.0

    return function(forward, backward)


def test_f1_an_output_that_nothing_used_has_zeros_or_none() -> None:
    for zeros, expected in ((True, [0.0]), (False, None)):
        seen: list[Any] = []
        x = leaf(1.0)
        a, _ = two(zeros, seen).apply(x)
        a.sum().backward()
        assert seen[0][0].tolist() == [1.0] and x.grad.tolist() == [2.0]
        assert seen[0][1] is None if expected is None else seen[0][1].tolist() == expected


def test_f2_what_is_marked_or_no_float_carries_no_gradient() -> None:
    seen: list[Any] = []
    x = leaf(1.0)
    a, b = two(True, seen, mark=True).apply(x)
    assert a.requires_grad and not b.requires_grad
    (a + b).sum().backward()
    assert seen[0][1].tolist() == [0.0] and x.grad.tolist() == [2.0]
    kinds: list[Any] = []
    whole = function(lambda ctx, x: (x * 2.0, x.to(mg.int64)), lambda ctx, ga, gb: (kinds.append(gb), ga * 2.0)[1])
    a, b = whole.apply(x)
    assert not b.requires_grad
    a.sum().backward()
    assert kinds[0].dtype is mg.int64 and kinds[0].tolist() == [0]


def test_the_older_name_of_saved_tensors_warns() -> None:
    class Doubled(mg.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_variables
            return g * 2 + x * 0

    with pytest.warns(DeprecationWarning, match="use saved_tensors"):
        Doubled.apply(leaf(1.0)).backward()
    assert issubclass(mg.autograd.function.InplaceFunction, mg.autograd.Function)


def test_an_argument_that_is_returned_as_not_differentiable_has_no_history() -> None:
    class Constant(mg.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.mark_non_differentiable(x)
            return x, x * 2

        @staticmethod
        def backward(ctx: Any, g: Any, h: Any) -> Any:
            return h * 2

    for x in (leaf(1.0, 2.0), leaf(1.0, 2.0) * 1):
        y, z = Constant.apply(x)
        assert not y.requires_grad and y.op is None and z.requires_grad
        assert y.storage is x.storage and mg.grad(z.sum(), x).tolist() == [2.0, 2.0]


def test_f3_needs_input_grad_says_what_is_asked_for() -> None:
    seen: list[Any] = []

    def forward(ctx: Any, x: Any, n: int, y: Any) -> Any:
        seen.append(ctx.needs_input_grad)
        return x * n + y

    def backward(ctx: Any, g: Any) -> Any:
        seen.append(ctx.needs_input_grad)
        return g * 3.0, None, None

    x = leaf(1.0)
    function(forward, backward).apply(x, 3, row(1.0)).sum().backward()
    assert seen == [(True, False, False)] * 2 and x.grad.tolist() == [3.0]
    z = leaf(1.0)
    seen.clear()
    y = function(forward, lambda ctx, g: (seen.append(ctx.needs_input_grad), (None, None, g))[1]).apply(x, 3, z)
    assert mg.grad(y, z).tolist() == [1.0]
    assert seen == [(True, False, True), (False, False, True)]  # in this pass, only one is


def once(ctx: Any, g: Any) -> Any:
    return g * 2.0 * ctx.saved_tensors[0]


def by_numpy(ctx: Any, g: Any) -> Any:
    return mg.from_numpy(g.detach().numpy() * 2.0 * ctx.saved_tensors[0].detach().numpy())


def between(ctx: Any, x: Any) -> Any:
    ctx.save_for_backward(x * 2.0)
    return x * x


def between_as_attribute(ctx: Any, x: Any) -> Any:
    ctx.twice = x * 2.0
    return x * x


F4 = {
    "once_differentiable": (saving, once_differentiable(once), r"Own can be differentiated only once"),
    "numpy": (saving, by_numpy, r"Own can be differentiated only once"),
    "a value between": (between, lambda ctx, g: g * ctx.saved_tensors[0], r"which forward made in between"),
    "an attribute": (between_as_attribute, lambda ctx, g: g * ctx.twice, r"which forward made in between"),
}


@pytest.mark.parametrize("name", F4)
def test_f4_a_second_derivative_that_would_lack_a_part_raises(name: str) -> None:
    forward, backward, message = F4[name]
    x = mg.Var([3.0], dtype="float64")
    own = function(forward, backward)
    y = (own.apply(x) + x**3.0).sum()
    first = mg.grad(y, x, create_graph=True)
    assert first.tolist() == [33.0]
    with pytest.raises(GradientError, match=message):
        mg.grad(first, x)
    assert mg.grad(y, x).tolist() == [33.0]


def test_a_linear_function_has_a_second_derivative_of_zero() -> None:
    thrice = function(lambda ctx, x: x * 3.0, lambda ctx, g: g * 3.0)
    x = leaf(2.0)
    first = mg.grad((thrice.apply(x) + x * x * x).sum(), x, create_graph=True)
    assert first.tolist() == [15.0] and mg.grad(first, x).tolist() == [12.0]


def test_a_mask_that_is_an_argument_or_no_float_may_be_saved() -> None:
    def forward(ctx: Any, x: Any, mask: Any) -> Any:
        ctx.save_for_backward(x, mask, x > 0.0)
        return x * x * mask

    def backward(ctx: Any, g: Any) -> Any:
        x, mask, positive = ctx.saved_tensors
        return g * 2.0 * x * mask * positive, None

    x = leaf(3.0, 2.0)
    first = mg.grad(function(forward, backward).apply(x, row(1.0, 0.0)).sum(), x, create_graph=True)
    assert first.tolist() == [6.0, 0.0] and mg.grad(first.sum(), x).tolist() == [2.0, 0.0]


def test_f5_a_returned_input_is_a_new_tensor_on_the_same_memory() -> None:
    x = leaf(1.0)
    y = function(lambda ctx, x: x, lambda ctx, g: g * 7.0).apply(x)
    assert y is not x and y.storage is x.storage
    y.sum().backward()
    assert x.grad.tolist() == [7.0]


def test_f6_an_argument_that_is_written_without_a_word_is_refused() -> None:
    def forward(ctx: Any, x: Any) -> Any:
        return x.mul_(2.0).clone()

    x = leaf(1.0)
    z = x * 1.0
    before = (z * z).sum()
    with pytest.raises(GradientError, match=r"Own: forward wrote into its argument 'x'.*ctx\.mark_dirty\(x\)"):
        function(forward, lambda ctx, g: g).apply(z)
    with pytest.raises(StorageError, match=r"mul.* saved its operand 'input'"):
        before.backward()
    # A buffer may be written: no gradient is asked of it.
    buffer = row(1.0)
    counting = function(lambda ctx, x, buffer: (buffer.add_(1.0), x * 2.0)[1], lambda ctx, g: (g * 2.0, None))
    counting.apply(x, buffer).sum().backward()
    assert buffer.tolist() == [2.0] and x.grad.tolist() == [2.0]


def test_an_argument_that_is_written_and_returned_needs_no_mark() -> None:
    def forward(ctx: Any, x: Any, row: Any) -> Any:
        x.data[1] = row  # as solvers of differential equations fill their stages
        return x

    def backward(ctx: Any, g: Any) -> Any:
        return g.index_fill(0, mg.tensor([1], device="reference"), 0.0), g[1]

    x, v = leaf(3.0), leaf(5.0)
    stages = mg.stack([x, x])
    saved = stages[0] * stages[0]  # beside the part that is written
    filled = function(forward, backward).apply(stages, v)
    assert filled is stages
    (saved + filled[1] * filled[0]).sum().backward()
    assert x.grad.tolist() == [6.0 + 5.0] and v.grad.tolist() == [3.0]


def doubling(ctx: Any, x: Any) -> Any:
    ctx.mark_dirty(x)
    return x.mul_(2.0)


Doubled = function(doubling, lambda ctx, g: g * 2.0)


def test_f6_a_marked_argument_is_the_output() -> None:
    x = leaf(3.0)
    z = x * 1.0
    y = Doubled.apply(z)
    assert y is z and y.op.name == "Own" and y.tolist() == [6.0]
    (y * y).sum().backward()  # (2 x)**2
    assert x.grad.tolist() == [24.0]
    buffer = row(1.0)
    assert Doubled.apply(buffer) is buffer and buffer.tolist() == [2.0] and not buffer.requires_grad
    with pytest.raises(GradientError, match=r"forward writes into float64\(1,\), a Var, which a recorded"):
        Doubled.apply(leaf(1.0))
    with pytest.raises(GradientError, match=r"forward writes into float64\(1,\), a view"):
        Doubled.apply(leaf(1.0, 2.0)[:1])
    x = leaf(1.0, 2.0)
    z = x * 1.0
    part = Doubled.apply(z[:1])
    assert z.tolist() == [2.0, 2.0] and mg.grad((z * z).sum(), x, retain_graph=True).tolist() == [8.0, 4.0]
    part.mul_(3.0)
    Doubled.apply(z)
    assert mg.grad((z * z).sum(), x).tolist() == [288.0, 16.0]  # (12 x0)**2 + (2 x1)**2
    with pytest.raises(GradientError, match=r"expects an argument of forward that forward also returns"):
        function(lambda ctx, x: (ctx.mark_dirty(x), x * 2.0)[1], slope).apply(x * 1.0)


def test_f6_what_was_saved_of_a_marked_argument_is_stale() -> None:
    x = leaf(3.0)
    z = x * 1.0
    before = (z * z).sum()
    Doubled.apply(z)
    with pytest.raises(StorageError, match=r"mul.* saved its operand 'input'"):
        before.backward()


def test_what_was_saved_and_written_since_is_noticed() -> None:
    x = leaf(3.0)
    y = Square.apply(x)
    with mg.no_grad():
        x.mul_(2.0)
    with pytest.raises(StorageError, match=r"Own.* saved its operand 'x'.* at version 0"):
        y.backward()


ANSWERS = {
    "too few": (lambda g: (g,), GradientError, r".* 2 arguments .*\(x, z\), got 1 gradient"),
    "too many": (lambda g: (g, g, g), GradientError, r".* 2 arguments .*, got 3 gradients"),
    "shape": (lambda g: (row(1.0, 2.0, 3.0), g), ShapeError, r"must return .*64\(2,\) .* for 'x', got float64\(3,\)"),
    "number": (lambda g: (1.0, g), GradientError, r"must return a gradient .* for 'x', got float 1\.0"),
    "integers": (lambda g: (g.to(mg.int64), g), DTypeError, r"must return a gradient .* for 'x', got int64\(2,\)"),
    "device": (lambda g: (g.to("cpu"), g), DeviceError, r"must return a gradient .* for 'x', got float64\(2,\) on cpu"),
}  # fmt: skip


@pytest.mark.parametrize("name", ANSWERS)
def test_f7_what_backward_gives_is_looked_at(name: str) -> None:
    answer, error, message = ANSWERS[name]
    x, z = leaf(1.0, 2.0), leaf(3.0, 4.0)
    y = function(lambda ctx, x, z: x * z, lambda ctx, g: answer(g)).apply(x, z)
    with pytest.raises(error, match=rf"Own: backward at .*test_function\.py:\d+ {message}"):
        y.backward()
    assert x.grad is None and z.grad is None


def test_f7_a_broadcast_gradient_is_summed_and_a_dtype_is_cast_and_nones_at_the_end_are_fine() -> None:
    x = leaf(1.0, 2.0)
    ones = mg.ones((3, 2), dtype="float64", device="reference")
    function(lambda ctx, x: x * 2.0, lambda ctx, g: ones).apply(x).backward()
    assert x.grad.tolist() == [3.0, 3.0]
    y = function(lambda ctx, x: x * 2.0, lambda ctx, g: (g.to(mg.float32), None, None)).apply(x)
    found = mg.grad(y, x)
    assert found.dtype is mg.float64 and found.tolist() == [1.0, 1.0]


def test_f8_none_is_no_gradient_and_a_freed_graph_says_so() -> None:
    x = leaf(1.0)
    function(lambda ctx, x: x * 2.0, lambda ctx, g: None).apply(x).sum().backward()
    assert x.grad is None
    y = Square.apply(x)
    y.backward()
    with pytest.raises(GradientError, match=r"the graph of Own.* was freed"):
        y.backward()


@pytest.mark.parametrize("wrap", [lambda x: [x], lambda x: (1, x), lambda x: {"x": [x]}], ids=["list", "tuple", "dict"])
def test_f8_a_tensor_that_tracks_inside_of_a_container_is_refused(wrap: Any) -> None:
    first = function(lambda ctx, xs: mg.ones(1), lambda ctx, g: None)
    with pytest.raises(GradientError, match=r"Own: float64\(1,\) requires a gradient and is inside a .*no gradient"):
        first.apply(wrap(leaf(1.0)))
    assert first.apply(wrap(row(1.0))).tolist() == [1.0]
    with mg.no_grad():
        assert first.apply(wrap(leaf(1.0))).tolist() == [1.0]
    with pytest.raises(TypeError, match="keyword"):
        first.apply(xs=leaf(1.0))


def test_forward_is_not_recorded_and_may_fill_memory() -> None:
    modes: list[bool] = []

    def forward(ctx: Any, x: Any) -> Any:
        modes.append(mg.is_grad_enabled())
        y = mg.empty_like(x)
        y.copy_(x.detach())
        y.mul_(3.0)
        return y

    x = leaf(2.0)
    y = function(forward, lambda ctx, g: g * 3.0).apply(x)
    (y * y).sum().backward()
    assert modes == [False] and x.grad.tolist() == [36.0] and y.op.name == "Own"


def test_what_is_no_tensor_comes_back_as_it_is() -> None:
    x = leaf(1.0)
    y, n, none = function(lambda ctx, x: (x * 2.0, 3, None), lambda ctx, g, *rest: g * 2.0 * len(rest)).apply(x)
    assert (n, none) == (3, None)
    y.sum().backward()
    assert x.grad.tolist() == [4.0]
    with pytest.raises(GradientError, match=r"Own: forward must return a tensor or a tuple of tensors, got float 3\.0"):
        function(lambda ctx, x: 3.0, slope).apply(x)
    with pytest.raises(GradientError, match=r"must return None for 'n', which is not a tensor, got float 1\.0"):
        function(lambda ctx, x, n: x * n, lambda ctx, g: (g, 1.0)).apply(x, 2).backward()


WRITES = {
    "mul_": (lambda g: g.mul_(2.0), lambda g: g * 2.0),
    "zero_": (lambda g: g.zero_(), lambda g: g * 0.0),
    "masked_fill_": (lambda g: g.masked_fill_(g > 0.0, 5.0), lambda g: mg.where(g > 0.0, 5.0, g)),
    "[0] = 7": (lambda g: (g.__setitem__(0, 7.0), g)[1], lambda g: mg.cat([g[:1] * 0.0 + 7.0, g[1:]])),
}
LOSSES: Any = {
    "sum": lambda y: y.sum(),
    "mean": lambda y: y.mean(),
    "scaled": lambda y: (y * 3.0).sum(),
    "view": lambda y: (y.reshape(-1) * 3.0).sum(),
    "square": lambda y: (y * y).sum(),
}


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("write", WRITES)
def test_a_backward_may_write_into_the_gradient_that_it_is_given(write: str, loss: str) -> None:
    def gradients(rule: Any) -> list[Any]:
        own = function(lambda x: x * 1.0, lambda ctx, g: rule(g), lambda ctx, inputs, output: None)
        x = mg.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
        run = lambda x: LOSSES[loss](own.apply(x))
        run(x).backward()
        (again,) = mg.grad(run(x), [x], create_graph=True)
        inside = [mg.func.grad(run)(x), mg.vmap(mg.func.grad(run))(x[None])[0], mg.jit(mg.func.grad(run))(x)]
        return [g.tolist() for g in (x.grad, again, *inside)]

    with warnings.catch_warnings(action="ignore"):
        writing, pure = (gradients(rule) for rule in WRITES[write])
    assert writing == pure


def test_no_other_object_sees_what_a_backward_writes_into_its_gradient() -> None:
    own = function(saving, lambda ctx, g: g.mul_(10.0))
    a, b, seen, seed = leaf(1.0), leaf(1.0), list[Any](), row(3.0)
    for first in (True, False):
        u, v = own.apply(a), b * 1.0
        u.register_hook(seen.append)
        u.retain_grad()
        ((u + v if first else v + u) * 3.0).sum().backward()
        assert u.grad.tolist() == [3.0]
    (own.apply(a) + own.apply(a)).backward(seed)
    assert (a.grad.item(), b.grad.item(), seed.item(), [g.item() for g in seen]) == (120.0, 6.0, 3.0, [3.0, 3.0])
    y, z = function(lambda ctx, x: (x * 1.0, x * 2.0), lambda ctx, g, h: g.add_(h.add_(1.0))).apply(b)
    y.sum().backward()
    assert b.grad.item() == 8.0 and z.requires_grad


def test_a_backward_may_not_write_into_a_saved_value() -> None:
    y = function(saving, lambda ctx, g: g * ctx.saved_tensors[0].mul_(2.0)).apply(leaf(1.0) * 1.0)
    with pytest.raises(GradientError, match=r"backward at .* must not write into its argument 'saved 0'"):
        y.backward()


def test_a_graph_with_a_function_dies_with_its_last_result() -> None:
    gc.disable()
    try:
        y = Square.apply(leaf(1.0))
        node = weakref.ref(y.op)
        del y
        assert node() is None, "a cycle keeps the graph"
    finally:
        gc.enable()


def test_pictures_and_explanations_know_it() -> None:
    y = Square.apply(leaf(1.0)).sum()
    assert any("Own" in node.label for node in mg.viz.graph(y).nodes)
    assert "saves       x (float64(1,))" in explanation(y)


def test_a_call_is_a_node_that_runs_backward_itself_also_where_its_values_are_packed() -> None:
    own = function(lambda c, x: x * x, lambda ctx, g: (None, g * 2.0 * ctx.saved_tensors[0]),
                   lambda ctx, inputs, output: ctx.save_for_backward(inputs[1]))  # fmt: skip
    x = mg.Var(row(3.0, 2.0))
    plain = own.apply(row(5.0), x)
    with saved_tensors_hooks(lambda v: v.tolist(), lambda v: row(*v)):
        packed = own.apply(row(5.0), x)
    for y in (plain, packed):
        assert type(y.op) is FunctionNode and len(y.op.op.saves) == 1 == len(y.op.op.picks)
        g = mg.grad(y, x, create_graph=True)
        assert g.tolist() == [6.0, 4.0] and mg.grad(g, x).tolist() == [2.0, 2.0]


def test_backward_is_not_run_without_a_gradient_or_an_operand_that_requires_one() -> None:
    seen: list[Any] = []

    def backward(ctx: Any, a: Any, b: Any) -> Any:
        seen.append((a, b))
        return a * 2.0 + b * 3.0

    both = function(lambda x: (x * 2.0, x * 3.0), backward, keep_input)
    stop = function(lambda x: x * 1.0, lambda ctx, g: None, keep_input)
    x = leaf(1.0, 2.0)
    assert mg.grad((stop.apply(both.apply(x)[0]) + x).sum(), x).tolist() == [1.0, 1.0]
    y, _ = both.apply(x)
    assert mg.grad((y * y).sum(), y).tolist() == [4.0, 8.0] and seen == []


def test_a_picture_numbers_the_values_that_forward_made_in_between() -> None:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x, x.exp(), x.sin())
        return x * 2.0

    y = function(forward, lambda ctx, g: g * 2.0).apply(leaf(1.0, 2.0))
    assert [y.op.op.value_name(k) for k in y.op.op.saves[0]] == ["x", "a value between, 1", "a value between, 2"]
    assert "a value between, 2" in explanation(y)


@pytest.mark.filterwarnings("ignore:Own. vmap has no batching rule")
def test_each_call_of_a_loop_over_a_batch_has_values_of_its_own() -> None:
    x = mg.Var([[1.0, 2.0], [3.0, 4.0]], dtype="float64", device="reference")
    own = function(lambda x: x * x, slope, keep_input)
    assert mg.grad(mg.func.vmap(own.apply)(x).sum(), x).tolist() == [[2.0, 4.0], [6.0, 8.0]]


def test_a_forward_that_takes_ctx_has_no_batches() -> None:
    with pytest.raises(GradientError, match="a Function whose forward has the parameter ctx"):
        mg.func.vmap(Square.apply)(row(1.0, 2.0))


# ---- as an op: forward mode and batches -----------------------------------------------------------------------------

Pushed = function(lambda x: x * x, slope, keep_input, jvp=staticmethod(lambda ctx, dx: dx * 2.0 * ctx.saved_tensors[0]))


def called(kind: Any, *inputs: Any) -> tuple[Any, tuple[Any, ...]]:
    call = FunctionCall(kind, inputs)
    operands = call.tensors
    found = call.run(operands)
    return call, (found,) if call.result is None else found


@pytest.mark.parametrize("kind", [Pushed, Modern], ids=["declared", "derived"])
def test_forward_mode_by_its_jvp_or_from_its_backward(kind: Any) -> None:
    x, t = row(3.0, 2.0), row(1.0, 10.0)
    call, results = called(kind, x)
    (found,) = pushforward(call, {}, [x], [t], results)
    assert found is not None and found.tolist() == [6.0, 40.0]


def test_forward_mode_of_several_results_and_of_one_that_is_differentiable_once() -> None:
    both = function(
        lambda x, n, z: (x * z, x * n),
        lambda ctx, a, b: (a * ctx.saved_tensors[1] + b * 3.0, None, a * ctx.saved_tensors[0]),
        lambda ctx, inputs, output: ctx.save_for_backward(inputs[0], inputs[2]),
    )  # fmt: skip
    x, z, t = row(2.0), row(5.0), row(1.0)
    call, results = called(both, x, 3, z)
    first, second = pushforward(call, {}, [x, z], [t, None], results)
    assert first.tolist() == [5.0] and second.tolist() == [3.0]
    call, results = called(function(lambda x: x * x, once_differentiable(once), keep_input), x)
    with pytest.raises(GradientError, match="does not use its argument g"):
        pushforward(call, {}, [x], [t], results)


def test_a_batch_by_its_vmap_or_by_a_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batching, "_looped", set())  # each op warns once per process
    seen: list[Any] = []

    def vmap(info: Any, in_dims: Any, x: Any, n: int) -> Any:
        seen.append((info.batch_size, in_dims))
        return (x * x * n).transpose(0, 1), 1

    x = mg.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], dtype="float64", device="reference")
    own = function(lambda x, n: x * x * n, slope, keep_input, vmap=staticmethod(vmap))
    found = batched(FunctionCall(own, (x[0], 2)), {}, [x], [True])
    assert found.tolist() == (x * x * 2.0).tolist() and seen == [(3, (0, None))]
    with pytest.warns(UserWarning, match="Own: vmap has no batching rule"):
        found = batched(FunctionCall(Modern, (x[0],)), {}, [x], [True])
    assert found.tolist() == (x * x).tolist()


@pytest.mark.parametrize("dims", [(None,), (0, 0), [0]])
def test_batch_dims_have_the_form_of_the_outputs(dims: Any) -> None:
    own = function(lambda x: x * 2.0, slope, keep_input, vmap=staticmethod(lambda info, in_dims, x: (x * 2.0, dims)))
    with pytest.raises(GradientError, match="must return batch dims of the form of its outputs"):
        mg.func.vmap(own.apply)(mg.ones(2, 3, device="reference"))


def test_each_of_several_outputs_has_a_batch_dim() -> None:
    def twice(dims: Any) -> Any:
        rule = staticmethod(lambda info, in_dims, x: ((x, x * 1.0), dims))
        return mg.func.vmap(function(lambda x: (x, x), slope, keep_input, vmap=rule).apply)

    x = mg.arange(4.0, device="reference").reshape(2, 2)
    assert [y.tolist() for y in twice(0)(x)] == [x.tolist(), x.tolist()]
    assert [y.tolist() for y in twice((0, 1))(x)] == [x.tolist(), x.T.tolist()]
    with pytest.raises(GradientError, match="must return batch dims of the form of its outputs"):
        twice((0,))(x)


def test_backward_and_vjp_are_one_method() -> None:
    own = function(lambda x: x * 2.0, slope, keep_input, vjp=staticmethod(slope))
    y = own.apply(mg.Var(1.0, device="reference"))
    with pytest.raises(GradientError, match="must define backward or vjp, which are two names of one method, got both"):
        y.backward()


def test_a_function_without_vmap_warns_once_with_its_own_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    looped: set[Any] = set()
    monkeypatch.setattr(batching, "_looped", looped)
    own = function(lambda x: x * x, slope, keep_input)
    x = mg.tensor([[1.0], [3.0]], dtype="float64", device="reference")
    with pytest.warns(UserWarning, match=r"Own: vmap has no .*; define the static method vmap\(info, in_dims") as found:
        mg.func.vmap(own.apply)(x)
        mg.func.vmap(own.apply)(x)
    assert len(found) == 1 and "batch=" not in str(found[0].message)
    assert looped == {own}, "a call must not stay alive"
    looped.clear()
    own.generate_vmap_rule = True
    assert mg.func.vmap(own.apply)(x).tolist() == [[1.0], [9.0]] and not looped


def test_a_kernel_of_ones_own() -> None:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return mg.from_numpy(np.cbrt(x.detach().numpy()))

    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return g * x.abs().pow(-2.0 / 3.0) / 3.0

    x = mg.Var([8.0, 27.0], dtype="float64")
    gradcheck(function(forward, backward).apply, [x])
    gradgradcheck(function(forward, backward).apply, [x])


def test_what_a_call_holds_goes_with_its_result() -> None:
    class Keeps(mg.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.held = held = mg.ones(3)
            seen.append(weakref.ref(held))
            return x * 2.0

        @staticmethod
        def backward(ctx, g):
            return g * 2.0

    seen: list[Any] = []
    x = mg.Var([1.0, 2.0])
    gc.collect()
    gc.disable()
    try:
        y = Keeps.apply(x)
        assert seen[0]() is not None
        del y
        assert seen[0]() is None
    finally:
        gc.enable()


def test_a_function_with_a_context_has_a_derivative_forward() -> None:
    class Twice(mg.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_forward(x * 2.0)
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def jvp(ctx: Any, t: Any) -> Any:
            return ctx.saved_tensors[0] * t

        @staticmethod
        def vjp(ctx: Any, g: Any) -> Any:
            return 2.0 * ctx.saved_tensors[0] * g

    x, dual = leaf(3.0), mg.autograd.forward_ad
    with dual.dual_level():
        value, tangent = dual.unpack_dual(Twice.apply(dual.make_dual(x, row(10.0))))
        assert tangent.tolist() == [60.0] and mg.grad(value.sum(), x).tolist() == [6.0]
    assert mg.func.jvp(Twice.apply, (row(3.0),), (row(10.0),))[1].tolist() == [60.0]


def test_an_integer_has_no_tangent_in_the_jvp_of_a_function() -> None:
    class Scaled(mg.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, n: Any, z: Any) -> Any:
            ctx.n = n
            return x * n + z, n.clone()

        @staticmethod
        def jvp(ctx: Any, t: Any, of_n: Any, of_z: Any) -> Any:
            assert of_n is None and of_z.tolist() == [0.0]
            return ctx.n * t, None

    n = mg.tensor([3], device="reference")
    y, t = mg.func.jvp(lambda x: Scaled.apply(x, n, row(1.0))[0], (row(2.0),), (row(10.0),))
    assert (y.tolist(), t.tolist()) == ([7.0], [30.0])


def test_a_generated_rule_of_vmap_is_the_rule_of_the_parts() -> None:
    class Product(mg.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x: Any, w: Any, power: int = 2) -> Any:
            return x**power * w, power

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            x, w, _ = inputs
            y, ctx.power = output
            assert y.shape == x.shape == w.shape == (2,)
            ctx.save_for_backward(x, y)

        @staticmethod
        def backward(ctx: Any, g: Any, _: Any) -> Any:
            x, y = ctx.saved_tensors
            return g * ctx.power * y / x, g * x**ctx.power, None

    x, w = mg.Var([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], dtype="float64", device="reference"), leaf(1.0, 10.0)
    y = mg.func.vmap(lambda x: Product.apply(x, w, 2)[0])(x)
    assert y.tolist() == [[1.0, 40.0], [9.0, 160.0], [25.0, 360.0]]
    assert mg.grad(y.sum(), [x, w])[1].tolist() == [35.0, 56.0]
    assert mg.grad(mg.func.vmap(lambda x: Product.apply(x, w, 2)[0])(x).sum(), x).tolist() == [
        [2.0, 40.0], [6.0, 80.0], [10.0, 120.0]]  # fmt: skip
    each = mg.func.vmap(mg.func.grad(lambda x, w: Product.apply(x, w, 2)[0].sum()), (0, None))(x.detach(), w.detach())
    assert each.tolist() == [[2.0, 40.0], [6.0, 80.0], [10.0, 120.0]]


def test_a_tensor_that_is_returned_twice_remains_one_tensor() -> None:
    def backward(ctx: Any, g: Any, h: Any) -> Any:
        return g * 2.0 + h * 2.0

    x = leaf(3.0)
    first, second = function(lambda ctx, x: (x * 2.0,) * 2, backward).apply(x)
    assert first is second and mg.grad((first * second).sum(), x).tolist() == [24.0]


def test_a_tensor_that_forward_returns_twice_is_one_result() -> None:
    class Twice(mg.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            y = x * 2
            return y, y

        @staticmethod
        def backward(ctx: Any, g: Any, h: Any) -> Any:
            return g * 2 + h * 20

    x = mg.Var([1.0], device="reference")
    p, q = Twice.apply(x)
    assert p is q and (p.sum() + 3 * q.sum()).backward()[x].tolist() == [80.0], "the last place, as in PyTorch"


def test_the_node_of_a_result_that_forward_wrote_in_parts_and_saved_is_that_of_the_function() -> None:
    class Stacked(mg.Function):
        @staticmethod
        def forward(ctx: Any, x: mg.Tensor) -> mg.Tensor:
            ctx.rate = 2.0
            y = mg.empty(2, *x.shape, dtype=x.dtype, device=x.device)
            y[0], y[1] = x, x * 2.0
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx: Any, g: mg.Tensor) -> mg.Tensor:
            (y,) = ctx.saved_tensors
            return g[0] + ctx.rate * g[1] + 0.0 * y[0]

    x = mg.Var([1.0, 2.0], device="reference")
    y = Stacked.apply(x)
    memory = y.data_ptr()
    assert y.grad_fn.rate == 2.0  # a solver reads its options so
    assert mg.grad((y * y).sum(), x, retain_graph=True).tolist() == [10.0, 20.0]
    y.mul_(2.0)
    assert y.data_ptr() == memory
    with pytest.raises(StorageError, match=r"saved its output, .*, but it was changed in place since"):
        mg.grad(y.sum(), x)
