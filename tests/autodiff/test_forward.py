"""Forward mode for one op: the adjoint identity for every row, and each method against one that is always right.

`<u, J v> == <J^T u, v>` holds for random u and v, never ones, in float64 on `reference`.  The derivative of the
derivative rule is the oracle of declared rules, of linear ops and of elementwise ones.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import complex_ops
import numpy as np
import pytest
from cases import over
from op_calls import OpCall, calls, calls_of, everything_kept, inner, leaves, like, lying_behind, lying_otherwise
from op_rows.row import Row
from op_table import BY_NAME, ROWS
from selection import over_rows
from two_results import twice_and_thrice

import minigrad as mg
from minigrad.autodiff.checks import node_of
from minigrad.autodiff.engine import reachable
from minigrad.autodiff.forward import by_transposing, pushforward
from minigrad.autodiff.tangents import TangentCall
from minigrad.core.shape import Window
from minigrad.ops import casting
from minigrad.ops.indexing import sorting
from minigrad.ops.linalg import products as linalg
from minigrad.ops.nn import windows
from minigrad.ops.shape import views
from minigrad.runtime.dispatch import apply
from minigrad.runtime.graph import Output

SMOOTH = [row for row in ROWS if row.smooth]


def along(y: Any, tangents: dict[int, Any]) -> Any:
    """The tangent of y, from those of the leaves it was computed from, by id: one pushforward after the other."""
    known = dict(tangents)
    for call in calls_of(y):
        given = [None if parent is None else known.get(parent.id) for parent in call.node.parents]
        found = pushforward(call.op, call.params, call.primals, given, call.results)
        for k, t in enumerate(found):
            known[call.node.id if call.node.ids is None else call.node.ids[k]] = t
    return known.get(node_of(y).id)


def differentiable(call: OpCall) -> list[int]:
    """The operands of a call that can have a tangent."""
    rules = call.op.rules * len(call.primals) if call.op.variadic else call.op.rules
    return [k for k, x in enumerate(call.primals) if x.dtype.is_float and rules[k] is not None]


def some_tangents(call: OpCall, numbers: Sequence[int], seed: int = 3, lying: Any = lying_otherwise) -> tuple[Any, ...]:
    rng = np.random.default_rng(seed)
    return tuple(lying(like(x, rng)) if k in numbers else None for k, x in enumerate(call.primals))


def oracle(call: OpCall, tangents: tuple[Any, ...]) -> tuple[Any, ...]:
    """The tangents of the results by the derivative of the derivative rules."""
    record = TangentCall(call.op, call.params, call.primals, tangents, call.results)
    left = {k for k, t in enumerate(tangents) if t is not None}
    return tuple(by_transposing(record, left)[1])


def assert_same(found: Sequence[Any], wanted: Sequence[Any], what: Any, rtol: float = 1e-9) -> None:
    for k, (mine, theirs) in enumerate(zip(found, wanted, strict=True)):
        if mine is None or theirs is None:
            there = theirs if mine is None else mine
            assert there is None or not np.any(there.tolist()), f"{what}: result {k} is {mine} and {theirs}"
            continue
        assert mine.shape == theirs.shape and mine.dtype is theirs.dtype, f"{what}: {mine} {theirs}"
        np.testing.assert_allclose(mine.tolist(), theirs.tolist(), rtol=rtol, atol=1e-11, err_msg=f"{what}, result {k}")


# ---- the whole table ------------------------------------------------------------------------------------------------


@over_rows(SMOOTH, items=20)
def test_the_adjoint_of_a_row(row: Row) -> None:
    rng = np.random.default_rng(11)
    xs = leaves(row)
    variables = [x for x in xs if x.is_variable]
    vs = [like(x, rng) for x in variables]
    with everything_kept():
        y = row.fn(*xs)
        u = like(y, rng)
        with mg.no_grad():
            pushed = along(y, {x.id: v for x, v in zip(variables, vs, strict=True)})
        pulled = mg.grad(y, variables, u, allow_unused=True)
    assert pushed is None or (pushed.shape == y.shape and pushed.dtype is y.dtype)
    want = inner(pulled, vs)
    assert inner([u], [pushed]) == pytest.approx(want, rel=1e-9, abs=1e-10), f"{row.name}: <u, J v> and <J^T u, v>"


@over_rows(SMOOTH, items=20)
def test_each_op_of_a_row_against_the_derivative_of_its_derivative(row: Row) -> None:
    for call in calls(row):
        numbers = differentiable(call)
        for n, asked in enumerate([numbers, numbers, *([k] for k in numbers if len(numbers) > 1)]):
            tangents = some_tangents(call, asked, lying=lying_behind if n == 1 else lying_otherwise)
            with mg.no_grad():
                found = pushforward(call.op, call.params, call.primals, tangents, call.results)
                assert_same(found, oracle(call, tangents), f"{call} in {asked}", 1e-9 if exact(call) else 1e-5)


def exact(call: OpCall) -> bool:
    """Whether all floats are float64; random numbers are float32."""
    return all(x.dtype is mg.float64 or not x.dtype.is_float for x in (*call.primals, *call.results))


def test_every_op_with_a_derivative_is_tried() -> None:
    tried = {call.op.name for row in SMOOTH for call in calls(row)}
    ours = {name: op for name, op in mg.schema.items() if "/minigrad/ops/" in op.where.replace("\\", "/")}
    assert {name for name, op in ours.items() if op.differentiable} - tried - complex_ops.NAMES == set()


@over_rows(SMOOTH, items=20)
def test_the_oracle_is_the_transpose_of_the_rules(row: Row) -> None:
    # The oracle itself: <u, J v> with J from the derivative of the rules, and <J^T u, v> by the rules.
    for call in calls(row):
        primals = [x.detach().requires_grad_() if k in differentiable(call) else x for k, x in enumerate(call.primals)]
        results = call.again(primals)
        rng = np.random.default_rng(5)
        floats = [y for y in results if y.dtype.is_float and y.requires_grad]
        us = [like(y, rng) for y in floats]
        tracked = [x for x in primals if x.is_variable]
        pulled = mg.grad(floats, tracked, us, allow_unused=True)
        tangents = some_tangents(call, differentiable(call))
        pushed = oracle(call, tangents)
        given = [t for t in tangents if t is not None]
        want = inner([t for t, y in zip(pushed, results, strict=True) if y.dtype.is_float], us)
        assert inner(pulled, given) == pytest.approx(want, rel=1e-9 if exact(call) else 1e-4, abs=1e-10), call


@over_rows(SMOOTH, items=20)
def test_a_tangent_is_the_limit_of_difference_quotients(row: Row) -> None:
    step = 1e-6
    rng = np.random.default_rng(2)
    xs = leaves(row)
    vs = {x.id: like(x, rng) for x in xs if x.is_variable}
    with everything_kept():
        y = row.fn(*xs)
        pushed = along(y, vs)
    with mg.no_grad():
        high, low = (row.fn(*[x + vs[x.id] * s if x.id in vs else x for x in xs]) for s in (step, -step))
    want = ((high - low) / (2 * step)).tolist()
    np.testing.assert_allclose(np.zeros(y.shape) if pushed is None else pushed.tolist(), want, rtol=2e-6, atol=2e-8)


DIFFERENTIATED = ["mul", "div", "exp", "atan2", "softmax", "cumprod", "logcumsumexp", "prod-1-keepdim", "layer_norm",
                  "matmul", "addmm", "recurrence", "cross_entropy", "cross_entropy-sum", "narrow", "cat",
                  "gelu", "rms_norm"]  # fmt: skip


@over("name", DIFFERENTIATED)
def test_a_pushforward_is_tensor_code_that_can_be_differentiated(name: str) -> None:
    row = BY_NAME[name]
    xs = leaves(row)
    vs = [mg.Var(like(x, np.random.default_rng(4))) for x in xs]

    def pushed(*given: Any) -> Any:
        """J v as a function of the operands and of v: every op of the row on tracked values."""
        xs, vs = given[: len(given) // 2], given[len(given) // 2 :]
        return pushed_through(row, xs, vs)

    with everything_kept():
        y = row.fn(*xs)
        with mg.no_grad():  # where no derivative is asked for, another way may be taken
            plain = along(y, {x.id: v.detach() for x, v in zip(xs, vs, strict=True)})
        np.testing.assert_allclose(pushed(*xs, *vs).tolist(), plain.tolist(), rtol=1e-9, atol=1e-12)
        mg.testing.gradcheck(pushed, [*xs, *vs], modes=("reverse",))  # it looks its arguments up in a graph


def pushed_through(row: Row, xs: Sequence[Any], vs: Sequence[Any]) -> Any:
    """The tangent of a row as tensor code of both: each op sees its operands and results with their history."""
    y = row.fn(*xs)
    known = {node_of(x).id: v for x, v in zip(xs, vs, strict=True)}
    values = {node_of(x).id: x for x in xs}
    for call in calls_of(y):
        parents = [None if p is None else p.id for p in call.node.parents]
        primals = [values.get(p, x) for p, x in zip(parents, call.primals, strict=True)]
        several = call.node.ids is not None
        results = [
            mg.Tensor(r.storage, r.layout, Output(call.node, k) if several else call.node) if r.dtype.is_float else r
            for k, r in enumerate(call.results)
        ]
        found = pushforward(call.op, call.params, primals, [known.get(p) for p in parents], results)
        for k, key in enumerate(call.node.ids or (call.node.id,)):
            known[key], values[key] = found[k], results[k]
    return known[node_of(y).id]


# ---- zeros, dtypes, shapes ------------------------------------------------------------------------------------------


def f64(*values: float) -> Any:
    return mg.tensor(values, dtype="float64", device="reference")


def push(fn: Any, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
    found = apply(fn.op, tuple(primals), params)
    results = (found,) if fn.op.result is None else tuple(found)
    tangents = pushforward(fn.op, params, primals, tangents, results)
    return tangents[0] if fn.op.result is None else tangents


def test_no_tangent_is_a_zero_that_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = f64(1.0, 2.0), f64(3.0, 4.0)
    assert push(mg.mul, (a, b), (None, None)) is None
    t = push(mg.add, (a, b), (b, None))
    assert t is b, "the tangent of a sum is that of its only operand that has one"
    assert push(mg.mul, (a, b), (None, a)).tolist() == [1.0, 4.0]


def test_what_is_no_float_has_no_tangent() -> None:
    x, t = f64(3.0, 1.0, 2.0), f64(0.5, 0.25, 2.0)
    values, places = push(sorting.sort, (x,), (t,), dim=0, descending=False)
    assert values.tolist() == [0.25, 2.0, 0.5] and places is None
    assert push(mg.gt, (x, t), (t, x)) is None
    assert push(casting.cast, (x,), (t,), dtype=mg.int64) is None
    with pytest.raises(
        mg.GradientError, match=r"mul: only operands with a floating dtype can have a tangent, got .* for int64\(3,\)"
    ):
        push(mg.mul, (x, mg.tensor([1, 2, 3], device="reference")), (None, t))


@pytest.mark.parametrize(
    ("t", "error", "message"),
    [
        (lambda: f64(1.0), mg.ShapeError, r"exp: the tangent must have the shape and dtype .* got float64\(1,\)"),
        (lambda: mg.ones(2, device="reference"), mg.DTypeError, r"exp: the tangent must have .* got float32\(2,\)"),
        (
            lambda: mg.ones(2, dtype="float64"),
            mg.DeviceError,
            r"exp: the tangent must be on reference .* got float64\(2,\) on cpu",
        ),
    ],
)
def test_a_tangent_has_the_shape_dtype_and_device_of_its_operand(t: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        push(mg.exp, (f64(1.0, 2.0),), (t(),))


def test_an_operand_without_a_rule_lets_no_tangent_pass() -> None:
    h, x = mg.ones(1, 1, 2, device="reference"), mg.ones(1, 1, 4, device="reference")
    window = Window((4,), (2,), (2,), (0,), (1,))
    with pytest.raises(
        mg.GradientError, match=r"max_pool_back: this op is not differentiable with respect to its operand 'x'"
    ):
        push(windows.max_pool_back, (h, x), (None, x), window=window)


@over("fn", [mg.add, mg.sub, mg.mul, mg.div, mg.maximum, mg.atan2, linalg.matmul])
@over("asked", [(0,), (1,), (0, 1)], ids=str)
def test_a_tangent_takes_the_dtype_of_the_result(fn: Any, asked: tuple[int, ...]) -> None:
    a = mg.tensor([[1.0, 2.0], [3.0, 4.5]], dtype="float16", device="reference")
    b = mg.tensor([[3.0, 1.0], [0.5, 4.0]], dtype="float32", device="reference")
    t = push(fn, (a, b), (a if 0 in asked else None, b if 1 in asked else None))
    assert t.dtype is mg.float32 and t.shape == (2, 2)


@over("fn", [mg.add, mg.sub, mg.mul, mg.div, mg.maximum, mg.atan2, mg.hypot])
@over("asked", [(0,), (1,), (0, 1)], ids=str)
def test_the_tangent_of_a_broadcast_operand_is_stretched(fn: Any, asked: tuple[int, ...]) -> None:
    a, b = f64(1.0, 2.0, 3.0), f64(0.5, 4.0).reshape(2, 1)
    given = [x * 0.25 + 1.0 if k in asked else None for k, x in enumerate((a, b))]
    t = push(fn, (a, b), given)
    wide = [x.expand(2, 3).contiguous() for x in (a, b)]
    want = push(fn, wide, [None if g is None else g.expand(2, 3).contiguous() for g in given])
    assert t.shape == (2, 3)
    np.testing.assert_allclose(t.tolist(), want.tolist(), rtol=1e-12)


def test_a_rule_counts_on_a_g_of_the_shape_and_dtype_of_the_result() -> None:
    seen = []

    def rule(g: Any, b: Any, *, y_shape: Any) -> Any:
        seen.append(g.dtype)
        return g.reshape(y_shape) * b

    @mg.elementwise(dtype=mg.rules.promote, vjp=(rule, lambda g, a: g * a))
    def particular(a, b):
        """a * b."""
        return a * b

    a = mg.tensor([2.0], device="reference")
    assert push(particular, (a, f64(3.0, 5.0)), (a, None)).tolist() == [6.0, 10.0]
    assert seen == [mg.float64]


def test_a_view_of_a_tangent_that_lies_otherwise_than_its_operand() -> None:
    x, t = f64(*range(6)).reshape(2, 3), f64(*range(6)).reshape(3, 2).transpose(0, 1)
    assert push(views.as_view, (x,), (t,), shape=(-1,)).tolist() == [0.0, 2.0, 4.0, 1.0, 3.0, 5.0]
    params = {"size": (2, 2), "stride": (1, 2), "storage_offset": 1}
    assert push(views.as_strided, (x,), (t,), **params).tolist() == [[2.0, 1.0], [4.0, 3.0]]
    assert push(views.as_strided, (x,), (lying_behind(t),), **params).tolist() == [[2.0, 1.0], [4.0, 3.0]]


def test_modes_agree_at_kinks_and_ties() -> None:
    x = f64(0.0, -0.0, 2.0, 2.0)
    ones = f64(1.0, 1.0, 1.0, 1.0)
    assert push(mg.abs, (x,), (ones,)).tolist() == [0.0, 0.0, 1.0, 1.0]
    assert push(mg.maximum, (x, ones * 2.0), (ones, None)).tolist() == [0.0, 0.0, 0.5, 0.5]
    t = push(mg.amax, (x,), (f64(5.0, 5.0, 1.0, 3.0),), dims=None, keepdim=False)
    assert t.item() == 2.0, "half of the slope goes to each of two that tie, in both modes"


# ---- an op whose rules are not what they should be ------------------------------------------------------------------


def adjoint_gap(op: Any, *primals: Any) -> float:
    """<u, J v> - <J^T u, v> for an op of one result."""
    rng = np.random.default_rng(9)
    xs = [mg.Var(x) for x in primals]
    vs = [like(x, rng) for x in xs]
    y = op(*xs)
    u = like(y, rng)
    pulled = mg.grad(y, xs, u, retain_graph=True)
    pushed = push(op, [x.detach() for x in xs], vs)
    return inner([u], [pushed]) - inner(pulled, vs)


def through(rule: Any, **more: Any) -> Any:
    """A kernel that copies, with a rule of its own."""

    @mg.kernel(dtype=mg.rules.floating, shape=mg.rules.same_shape, vjp=(rule,), **more)
    def copied(backend, out, x):
        """x, copied."""
        return backend.prepare(mg.requests.Copy(), out, x)

    return copied


def test_a_rule_that_is_linear_code_passes() -> None:
    assert adjoint_gap(through(lambda g: g * 1.0), f64(1.0, 2.0, 3.0)) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(
    "rule",
    [lambda g: g.detach() * 1.0, lambda g: mg.tensor(g.tolist(), dtype=g.dtype, device=g.device)],
    ids=["detach", "values"],
)
def test_a_rule_that_cuts_its_g_off_is_named(rule: Any) -> None:
    with pytest.raises(mg.GradientError, match=r"copied: the VJP rule for 'x' does not use its argument g"):
        adjoint_gap(through(rule), f64(1.0, 2.0, 3.0))


@pytest.mark.parametrize(
    ("rule", "more"),
    [
        (lambda g: g * 0.5 + g.detach() * 0.5, {}),
        (lambda g: g * g, {}),
        (lambda g: g * 2.0, {"jvp": lambda dx: dx * 3.0}),
        (lambda g: g * 2.0, {"linear": True}),
    ],
    ids=["half cut off", "a square", "a jvp of another op", "a claim of another op"],
)
def test_rules_that_do_not_agree_fail_the_adjoint_test(rule: Any, more: Any) -> None:
    assert abs(adjoint_gap(through(rule, **more), f64(1.0, 2.0, 3.0))) > 1e-3


# ---- declared rules -------------------------------------------------------------------------------------------------


def test_a_declared_rule_comes_first_and_is_given_what_it_names() -> None:
    seen = []

    def rule(dx, x, y, *, x_shape, y_dtype):
        seen.append((x.tolist(), y.tolist(), x_shape, y_dtype))
        return dx * y

    @mg.elementwise(dtype=mg.rules.to_float, vjp=(lambda g, y: g * y,), jvp=rule)
    def my_exp(x):
        """exp(x)."""
        return math.exp(x)

    t = push(my_exp, (f64(0.0, 1.0),), (f64(2.0, 3.0),))
    assert t.tolist() == pytest.approx([2.0, 3.0 * math.e])
    assert seen == [([0.0, 1.0], pytest.approx([1.0, math.e]), (2,), mg.float64)]


def test_a_declared_rule_covers_the_operands_that_it_names_and_the_rest_is_derived() -> None:
    @mg.elementwise(dtype=mg.rules.promote, vjp=(lambda g, b: g * b, lambda g, a: g * a), jvp=lambda da, b: da * b)
    def my_mul(a, b):
        """a * b."""
        return a * b

    a, b = f64(2.0), f64(3.0)
    assert push(my_mul, (a, b), (f64(1.0), f64(10.0))).item() == 23.0
    assert push(my_mul, (a, b), (None, f64(10.0))).item() == 20.0


def test_a_rule_is_given_zeros_for_a_tangent_that_is_not_there() -> None:
    seen = []

    @mg.elementwise(dtype=mg.rules.promote, vjp=(lambda g: g, lambda g: g),
                    jvp=lambda da, db: seen.append(db.tolist()) or da + db)  # fmt: skip
    def my_add(a, b):
        """a + b."""
        return a + b

    assert push(my_add, (f64(2.0, 1.0), f64(3.0)), (f64(1.0, 4.0), None)).tolist() == [1.0, 4.0]
    assert seen == [[0.0]]


@pytest.mark.parametrize(
    ("gives", "error", "message"),
    [
        (lambda dx: 3.0, mg.GradientError, r"must return .* the result float64\(2,\), got float 3\.0"),
        (
            lambda dx: mg.ones(3, dtype="float64", device="reference"),
            mg.ShapeError,
            r"must return .*, got float64\(3,\)",
        ),
        (lambda dx: dx > 0.0, mg.GradientError, r"must return a tangent .*, got bool\(2,\)"),
        (lambda dx: dx.to("cpu"), mg.DeviceError, r"must return a tangent .* on reference, got float64\(2,\) on cpu"),
        (lambda dx: (dx, dx), mg.GradientError, r"must return a tangent .*, got tuple"),
    ],
    ids=["number", "shape", "bool", "device", "two"],
)
def test_what_a_declared_rule_gives_is_looked_at(gives: Any, error: Any, message: str) -> None:
    op = through(lambda g: g, jvp=gives)
    with pytest.raises(error, match=f"copied: the JVP rule {message}"):
        push(op, (f64(1.0, 2.0),), (f64(1.0, 2.0),))


def test_a_declared_rule_may_not_write_into_what_it_is_given() -> None:
    op = through(lambda g: g, jvp=lambda dx: dx.mul_(2.0))
    with pytest.raises(mg.GradientError, match=r"the jvp rule at .* must not write into its argument 'dx'"):
        push(op, (f64(1.0, 2.0),), (f64(1.0, 2.0),))


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (
            lambda dz: dz,
            r"the parameter 'dz' of the JVP rule is none of a tangent \(dx\), an operand or a result \(y\)",
        ),
        (lambda x: x, "a JVP rule must receive the tangent of at least one operand by name"),
        (lambda dx, *, size: dx, "the JVP rule uses 'size', which is neither a parameter nor a static fact"),
    ],
)
def test_a_jvp_rule_that_names_what_is_not_there_is_refused(rule: Any, message: str) -> None:
    with pytest.raises(mg.DeclarationError, match=rf"copied: {message}"):
        through(lambda g: g, jvp=rule)


def test_a_name_that_could_be_two_things_is_refused() -> None:
    with pytest.raises(
        mg.DeclarationError, match=r"the parameter 'dx' of the JVP rule could be two things; rename the operand"
    ):

        @mg.elementwise(dtype=mg.rules.promote, vjp=(lambda g: g, lambda g: g), jvp=lambda dx: dx)
        def unclear(x, dx):
            """Its second operand is called as the tangent of its first."""
            return x + dx


def test_an_op_of_several_results_with_zeros_for_what_nothing_used() -> None:
    for more in ({}, {"linear": True}, {"jvp": lambda dx: (dx * 2.0, dx * 3.0)}):
        a, b = push(twice_and_thrice(**more), (f64(1.0, 5.0),), (f64(1.0, -1.0),))
        assert (a.tolist(), b.tolist()) == ([2.0, -2.0], [3.0, -3.0])
    with pytest.raises(
        mg.GradientError,
        match="two_and_three: the JVP rule must return a tuple of 2 tangents, one per result, got 3 tangents",
    ):
        push(twice_and_thrice(jvp=lambda dx: (dx, dx, dx)), (f64(1.0),), (f64(1.0),))


def test_the_derivative_of_the_derivative_does_not_walk_the_history_of_its_operands() -> None:
    x = mg.Var(f64(0.5, 0.25, 2.0))
    y = x
    for _ in range(50):
        y = y * 1.01
    before = y.op.id
    z = mg.softmax(y, 0)
    nodes, older = reachable([z.op], before + 1)
    assert [node.name for node in nodes] == ["softmax"] and older == []
    ends: list[Any] = []
    reachable([z.op], before + 1, ends)
    assert ends == [y.op]


@pytest.mark.parametrize("name", ["amax", "amin"])
def test_the_tangent_of_an_extreme_is_shared_by_ties_and_by_nan(name: str) -> None:
    sign = 1.0 if name == "amax" else -1.0
    x = mg.tensor([[1.0, math.nan, 2.0], [3.0, 3.0, 1.0]], dtype=mg.float64, device="reference") * sign
    dx = mg.tensor([[1.0, 2.0, 3.0], [1.0, 2.0, 5.0]], dtype=mg.float64, device="reference")
    for kept, shape in ((False, (2,)), (True, (2, 1))):
        tangent = mg.func.jvp(lambda x, kept=kept: getattr(mg, name)(x, 1, kept), (x,), (dx,))[1]
        assert tangent.shape == shape and tangent.reshape(2).tolist() == [2.0, 1.5]


@pytest.mark.parametrize("name", ["layer_norm", "rms_norm"])
def test_the_tangent_of_rows_is_differentiated_in_the_tangent_and_in_the_rows_alone(name: str) -> None:
    rng = np.random.default_rng(8)
    x, v, u, w = (mg.tensor(rng.uniform(0.5, 1.5, shape), device="reference") for shape in ((2, 3), (2, 3), (2, 3), 3))
    more = (w, w) if name == "layer_norm" else (w,)
    norm = lambda x: getattr(mg.nn.functional, name)(x, (3,), *more)
    pushed = lambda x, v: (mg.func.jvp(norm, (x,), (v,))[1] * u).sum()
    slope = mg.func.grad(lambda x: (norm(x) * u).sum())
    np.testing.assert_allclose(mg.func.grad(pushed, 1)(x, v).tolist(), slope(x).tolist(), rtol=1e-9, atol=1e-12)
    bend = mg.func.grad(lambda x: (slope(x) * v).sum())(x)
    np.testing.assert_allclose(mg.func.grad(pushed)(x, v).tolist(), bend.tolist(), rtol=1e-9, atol=1e-12)
