"""A call of a Function: the values that it saves, its name in messages, and which of its methods is called."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest
from own_functions import Modern, Square, function, keep_input, saving, slope
from points import leaf, row

import minigrad as mg
from minigrad.autodiff.calling import FunctionCall
from minigrad.autodiff.forward import pushforward
from minigrad.autodiff.function import once_differentiable
from minigrad.errors import GradientError, StorageError

func = mg.func


# ---- what is kept ---------------------------------------------------------------------------------------------------


def test_none_is_kept_in_its_place_and_nothing_but_tensors_besides() -> None:
    def forward(ctx: Any, x: Any, c: Any) -> Any:
        ctx.save_for_backward(None, x, None, c)
        return x * c

    def backward(ctx: Any, g: Any) -> Any:
        first, _, third, c = ctx.saved_tensors
        assert first is third is None
        return g * c, None

    x = leaf(2.0)
    y = function(forward, backward).apply(x, row(5.0))
    assert mg.grad(y, x).tolist() == [5.0]
    with pytest.raises(
        GradientError, match=r"save_for_backward: expected tensors or None, got float 3\.0; store another"
    ):
        function(lambda ctx, x: ctx.save_for_backward(x, 3.0), slope).apply(x)


def test_a_result_that_is_not_asked_for_is_not_kept() -> None:
    with mg.get_allocator("cpu").exact():  # no plan keeps the storage
        y = function(lambda ctx, x: (ctx.save_for_backward(x), x.exp())[1], slope).apply(
            leaf(*range(8))
        )  # pictures want few
    memory, total = weakref.ref(y.storage), y.sum()
    del y
    assert memory() is None and total.requires_grad


def test_a_var_that_forward_has_caught_and_kept_is_a_part_of_the_graph() -> None:
    x, w = leaf(3.0), leaf(5.0)
    own = function(lambda ctx, x: (ctx.save_for_backward(w), x * w)[1], lambda ctx, g: g * ctx.saved_tensors[0])
    first = mg.grad(own.apply(x), x, create_graph=True)
    assert first.tolist() == [5.0] and mg.grad(first, w).tolist() == [1.0]


def test_the_second_of_two_results_is_kept_as_what_it_is() -> None:
    def forward(ctx: Any, x: Any) -> Any:
        a, b = x.sin(), x.exp()
        ctx.save_for_backward(x, b)
        return a, b

    def backward(ctx: Any, a: Any, b: Any) -> Any:
        x, e = ctx.saved_tensors
        return a * x.cos() + b * e

    x = leaf(0.3, 1.2)
    a, b = function(forward, backward).apply(x)
    y, plain = (a * b).sum(), (x.sin() * x.exp()).sum()
    for _ in range(3):
        y, plain = mg.grad(y, x, create_graph=True), mg.grad(plain, x, create_graph=True)
        assert y.tolist() == pytest.approx(plain.tolist())
        y, plain = y.sum(), plain.sum()


def test_a_value_between_that_was_written_since_is_named_by_its_number() -> None:
    between: list[Any] = []

    def forward(ctx: Any, x: Any) -> Any:
        between.append(x * 2.0)
        ctx.save_for_backward(x, between[0])
        return x * x

    y = function(forward, lambda ctx, g: g * ctx.saved_tensors[1]).apply(leaf(3.0))
    between[0].zero_()
    with pytest.raises(StorageError, match=r"Own\(1,\) saved its operand 'a value between, 1', float64\(1,\), at ver"):
        y.backward()


def test_a_view_whose_memory_was_written_is_an_operand_as_it_is_now() -> None:
    x = leaf(2.0, 1.0)
    y = x * 1.0
    v = y[:1]
    y.mul_(3.0)
    assert mg.grad(Square.apply(v), x).tolist() == [36.0, 0.0]


# ---- arguments that are written -------------------------------------------------------------------------------------


def test_two_marked_arguments_are_known_by_their_versions() -> None:
    def forward(ctx: Any, w: Any, a: Any, b: Any) -> Any:
        ctx.mark_dirty(a, b)
        ctx.save_for_backward(w)
        return a.mul_(2.0), b.mul_(3.0)

    def backward(ctx: Any, ga: Any, gb: Any) -> Any:
        return None, ga * 2.0, gb * 3.0

    x, w = leaf(5.0), leaf(1.0)
    for k in (None, 0, 1):
        a, b = results = function(forward, backward).apply(w, x * 1.0, x * 1.0)
        if k is None:
            assert mg.grad(a * b, x).tolist() == [60.0]  # 6 x**2
            continue
        with mg.no_grad():
            results[k].add_(1.0)
        with pytest.raises(GradientError, match=rf"the result of Own\.y{k}\(1,\) was changed in place"):
            mg.grad(results[k], x)
        assert mg.grad(results[1 - k], x).tolist() == [3.0 - k], "the other result was not written"


def test_a_view_from_before_shows_what_a_function_did_that_marks_and_writes_nothing() -> None:
    x = leaf(1.0, 2.0)
    z = x * 1.0
    v = z[:1]
    function(lambda ctx, z: (ctx.mark_dirty(z), z)[1], lambda ctx, g: g * 7.0).apply(z)
    assert mg.grad(v.sum(), x).tolist() == [7.0, 0.0]


# ---- what a call says of itself -------------------------------------------------------------------------------------


def test_its_line_and_its_time_are_known_under_debug() -> None:
    x = leaf(3.0)
    assert Square.apply(x).op.source is None
    with mg.debug():
        y = Square.apply(x)
        assert "test_function_calls.py:" in y.op.source
        (row,) = mg.tape(y)
        assert 0.0 < row.forward < 60.0
        with mg.no_grad():
            z = Square.apply(x)
        reason = x.explain_grad(z).reasons[0]
    assert "Own(1,)" in reason and "no_grad" in reason and "test_function_calls.py:" in reason


# ---- differentiable once --------------------------------------------------------------------------------------------


def test_what_is_differentiable_once_may_give_none() -> None:
    own = function(lambda ctx, x, n: x * n, once_differentiable(lambda ctx, g: (g * 2.0, None)))
    assert mg.grad(own.apply(x := leaf(3.0), 2), x).tolist() == [2.0]


def test_the_gradient_that_came_is_lost_as_well_where_it_is_differentiable_once() -> None:
    x, w = leaf(3.0), leaf(5.0)
    own = function(saving, once_differentiable(slope))
    first = mg.grad(own.apply(x) * w, x, create_graph=True)
    assert first.tolist() == [30.0]
    with pytest.raises(GradientError, match="Own can be differentiated only once"):
        mg.grad(first, w)


# ---- transforms -----------------------------------------------------------------------------------------------------


def test_a_jvp_is_asked_where_there_is_one() -> None:
    tenfold = function(
        lambda x, n, z: (x * z, n, z.exp()),
        lambda ctx, a, n, b: (a, None, b),
        lambda ctx, inputs, output: ctx.save_for_backward(inputs[0], inputs[2], output[2]),
        jvp=staticmethod(jvp_of_a_product_and_an_exponential),
    )  # fmt: skip
    x, z, dx, dz = row(2.0), row(0.5), row(3.0), row(7.0)
    (a, b), (da, db) = func.jvp(lambda x, z: tenfold.apply(x, 4, z)[::2], (x, z), (dx, dz))
    assert a.tolist() == [1.0] and da.tolist() == [10.0 * (3.0 * 0.5 + 2.0 * 7.0)]
    assert db.tolist() == pytest.approx((b * 70.0).tolist())
    call = FunctionCall(tenfold, (x, 4, z))
    first, second = pushforward(call, {}, [x, z], [dx, dz], call.run((x, z)))
    assert first.tolist() == da.tolist() and second.tolist() == db.tolist()


def jvp_of_a_product_and_an_exponential(ctx: Any, dx: Any, dn: Any, dz: Any) -> Any:
    """Ten times what backward would say: it is this that is asked."""
    assert dn is None
    x, z, e = ctx.saved_tensors
    return (dx * z + x * dz) * 10.0, None, dz * e * 10.0


@pytest.mark.parametrize("zeros", [True, False])
def test_forward_mode_of_a_result_that_is_no_float(zeros: bool) -> None:
    seen: list[Any] = []

    def setup(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.set_materialize_grads(zeros)
        ctx.save_for_backward(*inputs)

    def backward(ctx: Any, a: Any, b: Any) -> Any:
        seen.append(None if b is None else (b.dtype, b.tolist()))
        return a * ctx.saved_tensors[0] * 2.0

    own = function(lambda x: (x * x, x.to(mg.int64)), backward, setup)
    x, t = row(3.0), row(5.0)
    call = FunctionCall(own, (x,))
    first, second = pushforward(call, {}, [x], [t], call.run((x,)))
    assert first.tolist() == [30.0] and second is None and seen == [(mg.int64, [0]) if zeros else None]
    own.jvp = staticmethod(lambda ctx, dx: (dx * 10.0, dx))  # what it gives for integers is nobody's
    call = FunctionCall(own, (x,))
    first, second = pushforward(call, {}, [x], [t], call.run((x,)))
    assert first.tolist() == [50.0] and second is None


def test_a_backward_that_gives_zeros_of_its_own_lets_no_tangent_pass() -> None:
    x = row(3.0)
    call = FunctionCall(
        function(lambda x: x.round(), lambda ctx, g: mg.zeros_like(ctx.saved_tensors[0]), keep_input), (x,)
    )
    (found,) = pushforward(call, {}, [x], [x], (call.run((x,)),))
    assert found is None or found.tolist() == [0.0]


def test_a_recorded_call_of_a_forward_that_takes_ctx_has_no_forward_mode() -> None:
    x = row(3.0)
    call = FunctionCall(Square, (x,))
    with pytest.raises(GradientError, match="Own: a Function whose forward has the parameter ctx"):
        pushforward(call, {}, [x], [x], (call.run((x,)),))


def test_a_vmap_of_several_results_may_say_one_dim_for_all() -> None:
    own = function(
        lambda x: (x * 2.0, x * 3.0),
        lambda ctx, a, b: a * 2.0 + b * 3.0,
        keep_input,
        vmap=staticmethod(lambda info, in_dims, x: ((x * 2.0, x * 3.0), 0)),
    )
    a, b = func.vmap(own.apply)(row(1.0, 2.0))
    assert a.tolist() == [2.0, 4.0] and b.tolist() == [3.0, 6.0]


def test_a_batch_of_none_wants_a_vmap() -> None:
    with pytest.raises(GradientError, match="Own: the shape of the result for an empty batch is unknown"):
        func.vmap(Modern.apply)(row(1.0)[:0])


# ---- custom_vjp -----------------------------------------------------------------------------------------------------


def test_residuals_that_are_arguments_or_results_need_no_second_run() -> None:
    ran: list[int] = []

    def fwd(x: Any) -> Any:
        """e to the x."""
        ran.append(1)
        y = x.exp()
        return y, (x, y)

    exponential = mg.custom_vjp(fwd)
    exponential.defvjp(fwd, lambda residuals, g: (g * residuals[1],))
    x = leaf(0.5)
    y = exponential(x)
    assert y.op.op.doc == "e to the x."
    for _ in range(3):
        y = mg.grad(y, x, create_graph=True)
        assert y.tolist() == pytest.approx([0.5**0 * 1.6487212707001282])
    assert ran == [1]


def test_a_function_may_move_its_argument_to_another_device() -> None:
    x = leaf(2.0)
    y = function(lambda ctx, x: x.to("cpu"), lambda ctx, g: g.to("reference") * 3.0).apply(x)
    assert y.device is mg.device("cpu") and y.backward()[x].tolist() == [3.0]


def test_a_graph_of_a_marked_argument_that_is_kept_dies_and_has_second_derivatives() -> None:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.mark_dirty(x)
        x.exp_()
        ctx.save_for_backward(x)
        return x

    x = leaf(0.5)
    y = function(forward, lambda ctx, g: g * ctx.saved_tensors[0]).apply(x * 2.0)
    first = mg.grad(y, x, create_graph=True)
    assert first.tolist() == pytest.approx([2.0 * 2.718281828459045])
    assert mg.grad(first, x).tolist() == pytest.approx([4.0 * 2.718281828459045])
    gc.disable()
    try:
        node = weakref.ref(y.op)
        del y, first
        assert node() is None, "a cycle keeps the graph"
    finally:
        gc.enable()


def test_f5_a_part_of_an_argument_that_is_returned_may_not_be_written() -> None:
    x = leaf(1.0, 2.0)
    part = function(lambda ctx, x: x[:1], lambda ctx, g: mg.cat([g, g * 0.0]))
    for write in (lambda y: y.mul_(2.0), lambda y: y.zero_()):
        with pytest.raises(GradientError, match="is memory of an argument that a Function returned"):
            write(part.apply(x))
    assert x.tolist() == [1.0, 2.0] and mg.grad(part.apply(x), x).tolist() == [1.0, 0.0]


def test_a_result_in_memory_of_its_own_may_be_written() -> None:
    x = leaf(1.0, 2.0)
    y = Square.apply(x)
    y.mul_(3.0)
    assert mg.grad(y.sum(), x).tolist() == [6.0, 12.0]


# ---- a backward that is given values of transforms ------------------------------------------------------------------


@pytest.mark.parametrize("x", [leaf(0.3, 1.2), row(0.3, 1.2)], ids=["Var", "tensor"])
@pytest.mark.parametrize("kind", [Square, Modern])
def test_a_vjp_function_through_it_may_be_transformed(kind: Any, x: Any) -> None:
    c = row(1.0, -2.0)
    units = mg.eye(2, dtype=x.dtype, device=x.device)
    pullback = func.vjp(kind.apply, x)[1]
    pulled = lambda g: pullback(g)[0]
    jacobian = [[0.6, 0.0], [0.0, 2.4]]
    for each in (func.vmap(pulled)(units), func.jacrev(pulled)(c), func.jacfwd(pulled)(c)):
        assert [pytest.approx(line) for line in each.tolist()] == jacobian
    assert func.linearize(pulled, c)[1](c).tolist() == pytest.approx([0.6, -4.8])
    if x.requires_grad:  # the second derivative, by the batch
        assert mg.grad(func.vmap(pulled)(units).sum(), x).tolist() == pytest.approx([2.0, 2.0])


@pytest.mark.parametrize("name", ["jvp", "linearize", "vmap of grad"])
def test_a_derivative_that_a_backward_has_lost_is_refused_under_every_transform(name: str) -> None:
    own = function(saving, once_differentiable(slope))
    kept = func.vjp(own.apply, row(0.3, 1.2))[1]
    pulled = lambda g: kept(g)[0]
    c = row(1.0, -2.0)
    ways = {
        "jvp": lambda: func.jvp(pulled, (c,), (c,)),
        "linearize": lambda: func.linearize(pulled, c)[1](c),
        "vmap of grad": lambda: func.vmap(func.grad(lambda g: pulled(g).sum()))(mg.stack([c, c])),
    }
    with pytest.raises(GradientError, match="Own can be differentiated only once"):
        ways[name]()
