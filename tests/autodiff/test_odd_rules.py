"""A rule in an unusual form returns the same with and without a graph; it is fused only on request.

With `fuse=True` a rule is called once, with symbols; one that does anything but elementwise ops still runs as it is.
"""

from __future__ import annotations

import contextlib
import math
import random
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from cases import over

import minigrad as mg
from minigrad.core.op import Rule
from minigrad.declare.fused import fuse, trace

SCALE = 2.0
TABLE = [2.0, 3.0]
THING = types.SimpleNamespace(scale=2.0)
SEEN: list[Any] = []


def declare(*rules: Callable[..., Any], fuse: bool | None = None) -> Any:
    """An op of one or two operands with these rules; none of them is its derivative."""
    if len(rules) == 1:

        @mg.elementwise(dtype=mg.rules.promote, vjp=rules, fuse=fuse)
        def odd(x):
            """Twice x."""
            return x * 2.0

        return odd

    @mg.elementwise(dtype=mg.rules.promote, vjp=rules, fuse=fuse)
    def odd_pair(a, b):
        """The sum of a and b."""
        return a + b

    return odd_pair


def both_ways(op: Callable[..., Any], *xs: Any, seed: int = 0) -> tuple[list[Any], list[Any]]:
    """The gradients of the Vars among xs as the engine fuses them, and by the recorded walk."""
    y = op(*xs)
    g = mg.tensor(np.random.default_rng(seed).uniform(0.5, 1.5, y.shape), dtype=y.dtype, device=y.device)
    leaves = [x for x in xs if x.is_variable]
    fused = mg.grad(y, leaves, g, retain_graph=True)
    recorded = mg.grad(y, leaves, g, create_graph=True)
    return list(fused), list(recorded)


def assert_same(fused: Sequence[Any], recorded: Sequence[Any], rtol: float = 0.0) -> None:
    for mine, theirs in zip(fused, recorded, strict=True):
        assert mine.dtype is theirs.dtype and mine.shape == theirs.shape
        np.testing.assert_allclose(mine.tolist(), theirs.tolist(), rtol=rtol)


def with_table(g, x, k=1):
    return g * x * TABLE[k]


def branches(g, x):
    if x.ndim == 1:
        return g * x * 2.0
    return g * x * 3.0


def swallows(g, x):
    try:
        return g * x.exp() * x.shape[0]
    except Exception:
        return g * x * 5.0


def suppresses(g, x):
    factor = 1.0
    with contextlib.suppress(Exception):
        factor = float(len(x))
    return g * x * factor


def loops(g, x):
    total = g * 0.0
    for row in x:
        total = total + row
    return total * g


def default_argument(scale: float = SCALE) -> Callable[..., Any]:
    def helper(x, s=scale):
        return x * s

    return lambda g, x: g * helper(x) * 1.0


ODD: dict[str, Callable[..., Any]] = {
    "ndim": lambda g, x: g * x * (2.0 if x.ndim == 1 else 3.0),
    "not-ndim": lambda g, x: g * x * (2.0 if x.ndim != 1 else 3.0),
    "shape": lambda g, x: g * x * float(x.shape[0]),
    "shape-equal": lambda g, x: g * x * (x.shape == (2, 3)),
    "dtype": lambda g, x: g * x * (2.0 if x.dtype is mg.float64 else 3.0),
    "dtype-equal": lambda g, x: g * x * (2.0 if x.dtype == mg.float32 else 3.0),
    "numel": lambda g, x: g * x * x.numel(),
    "len": lambda g, x: g * x * len(x),
    "item": lambda g, x: g * x * x.sum().item(),
    "float": lambda g, x: g * x * float(x.sum()),
    "truth": lambda g, x: g * x * (2.0 if bool(x.sum() > 0.0) else 3.0),
    "conditional": lambda g, x: g * x * 2.0 if x.sum() > 0.0 else g,
    "iteration": loops,
    "item-access": lambda g, x: g * x * x[0],
    "transpose": lambda g, x: (g.T * x.T).T * 2.0,
    "isinstance": lambda g, x: g * x * (2.0 if isinstance(x, mg.Tensor) else 3.0),
    "is": lambda g, x: g * x * (2.0 if g is x else 3.0),
    "is-none": lambda g, x: g * x * (2.0 if x is not None else 3.0),
    "class": lambda g, x: g * x * (2.0 if x.__class__ is mg.Tensor else 3.0),
    "hasattr": lambda g, x: g * x * (2.0 if hasattr(x, "shape") else 3.0),
    "getattr": lambda g, x: g * x * getattr(x, "ndim", 7),
    "format": lambda g, x: g * x * len(f"{x.shape}"),
    "try": swallows,
    "suppress": suppresses,
    "branches": branches,
    "full": lambda g, x: mg.full(x.shape, 3.0, dtype=x.dtype, device=x.device) * g,
    "stack": lambda g, x: mg.stack([g, x], 0).sum(0) * 2.0,
    "keyword": lambda g, x: g * mg.clamp(x, min=0.0) * 2.0,
    "method-keyword": lambda g, x: g * x.clamp(max=1.0) * 2.0,
    "out": lambda g, x: mg.mul(g, x, out=mg.empty_like(g)) * 2.0 if not mg.is_grad_enabled() else g * x * 2.0,
    "function": lambda g, x: mg.exp(x) * g * 2.0,
    "numpy": lambda g, x: g * x * float(np.sin(x.detach().tolist()).sum()),
    "math": lambda g, x: g * x * math.exp(x.sum()),
    "math-constant": lambda g, x: g * x * math.sqrt(2.0 * math.pi),
    "global": lambda g, x: g * x * SCALE,
    "global-list": lambda g, x: with_table(g, x),
    "object": lambda g, x: g * x * THING.scale,
    "default-argument": default_argument(),
    "side-effect": lambda g, x: (SEEN.append(1), g * x * 2.0)[1],
    "unused-lines": lambda g, x: (g * x * 3.0, g)[1],
    "same-twice": lambda g, x: x * g + x * g,
    "given-back": lambda g, x: g,
    "value-back": lambda g, x: x,
    "without-g": lambda g, x: x * 0.0 + 3.0,
    "truth-sum": lambda g, x: (((x > 0.0) + (x > -9.0)) == (x > -9.0)).where_cond(g, g * x) * 2.0,
    "truth-product": lambda g, x: ((x > 0.0) * (x < 9.0)).where_cond(g, g * x) * 2.0,
    "cast": lambda g, x: g * (x > 0.0).to(g.dtype) * 2.0,
    "huge": lambda g, x: g * x * (2**53 + 1) * 2.0**-53,
    "power": lambda g, x: g * x**2 + g * x**0.5 + 2.0**x,
    "equal-none": lambda g, x: g * x * (2.0 if x == None else 3.0),  # noqa: E711
    "starred": lambda g, x: g.mul(*[x]) * 2.0,
    "nested": lambda g, x: (lambda z: z * g)(x) * 2.0,
}
# These break the promise of `fuse=True`: they take another path for a symbol than for a tensor, catch its errors, or
# act on something outside.
BREAKING = {"try", "suppress", "isinstance", "class", "equal-none", "side-effect"}
CASES = [
    (name, dtype, fuse)
    for name in ODD
    for dtype in ("float32", "float64", "float16")
    for fuse in (None, True)
    if not (fuse and name in BREAKING)
]


@over(("name", "dtype", "fuse"), CASES, ids=[f"{name}-{dtype}{'-fuse' if fuse else ''}" for name, dtype, fuse in CASES])
@over("shape", [(3,), (2, 3)], ids=str)
def test_an_odd_rule_means_the_same_both_ways(name: str, dtype: str, fuse: bool | None, shape: tuple[int, ...]) -> None:
    op = declare(ODD[name], fuse=fuse)
    x = mg.Var(np.linspace(0.25, 2.0, math.prod(shape)).reshape(shape), dtype=dtype, device="reference")
    assert_same(*both_ways(op, x), rtol={"float16": 4e-3, "float32": 1e-6, "float64": 1e-14}[dtype])


@pytest.mark.parametrize("fuse", [False, True])
def test_operands_that_broadcast_mean_the_same_both_ways(fuse: bool) -> None:
    op = declare(lambda g, a: g * a * 2.0 + g, lambda g, a, b: (a * a + 1.0) * b * g, fuse=fuse)
    a = mg.Var([[0.5], [1.5]], device="reference")
    b = mg.Var([1.0, 2.0, 3.0], device="reference")
    assert_same(*both_ways(op, a, b), rtol=1e-6)
    without_g = declare(lambda g, a: a * 2.0 + 1.0, lambda g: g, fuse=fuse)
    assert_same(*both_ways(without_g, a, b), rtol=1e-6)


MIXED = [("float32", "int64"), ("float32", "int8"), ("float16", "float32"), ("float32", "float64"),
         ("float16", "int32"), ("bfloat16", "float16"), ("float32", "bool")]  # fmt: skip


@pytest.mark.parametrize(("left", "right"), MIXED, ids=["-".join(pair) for pair in MIXED])
def test_operands_of_two_dtypes_mean_the_same_both_ways(left: str, right: str) -> None:
    # int8 wraps at 128 as a tensor, and not in a loop over floats.
    op = declare(lambda g, a, b: g * a * (b * b), lambda g, b: g * (b * b * b), fuse=True)
    a = mg.Var([0.5, 1.5, 2.5], dtype=left, device="reference")
    values = mg.tensor([1, 5, 12], device="reference").to(right)
    b = mg.Var(values, device="reference") if values.dtype.is_float else values
    assert_same(*both_ways(op, a, b))


def test_a_rule_that_writes_on_its_way_means_what_it_says() -> None:
    def tripled(g, x):
        r = g * x
        s = r
        r *= 3.0
        return r + s  # the same tensor twice

    op = declare(tripled)
    assert gradient(op) == 12.0


def test_a_sum_of_truth_values_is_no_line_of_a_loop() -> None:
    fn = lambda g, x: (((x > 0.0) + (x > 1.0)) == (x > 1.0)).where_cond(g, g * x) * 2.0
    assert trace(mg.schema["sin"], Rule(fn, ("x",), ()), "rule") is None


@pytest.mark.parametrize(("left", "right"), MIXED, ids=["-".join(pair) for pair in MIXED])
def test_a_rule_of_this_package_over_two_dtypes_means_the_same_both_ways(left: str, right: str) -> None:
    a = mg.Var([0.5, 1.5, 2.5], dtype=left, device="reference")
    values = mg.tensor([1, 5, 12], device="reference").to(right)
    b = mg.Var(values, device="reference") if values.dtype.is_float else values
    for op in (mg.div, mg.mul) if right == "bool" else (mg.div, mg.pow, mg.hypot, mg.maximum):
        assert_same(*both_ways(op, a, b))


# ---- which rules are fused ------------------------------------------------------------------------------------------


def test_a_rule_of_a_user_is_fused_only_where_the_declaration_asks_for_it() -> None:
    plain, never, asked = (declare(lambda g, x: g * x * 2.0, fuse=fuse) for fuse in (None, False, True))
    for public in (plain, never):
        assert fuse(public.op, 0) is public.op.rules[0].fn
    assert fuse(asked.op, 0) is not asked.op.rules[0].fn


def test_a_rule_of_one_op_is_that_op_only_where_the_declaration_asks_for_it() -> None:
    rule = lambda g, b: g * b
    assert fuse(declare(rule, rule).op, 0) is rule
    assert fuse(declare(rule, rule, fuse=True).op, 0) is mg.mul


def test_a_number_from_outside_is_a_constant_of_a_fused_rule() -> None:
    scale = 2.0
    op = declare(lambda g, x: g * x * scale, fuse=True)
    assert gradient(op) == 4.0
    scale = 5.0
    assert gradient(op) == 4.0


def test_a_fused_rule_that_gives_no_gradient_of_its_operand_is_refused_as_any_other() -> None:
    op = declare(lambda g, x: (g * x > 0.0) & (x > 0.0), fuse=True)
    with pytest.raises(mg.DTypeError, match=r"odd: the derivative rule for 'x'.*returned bool"):
        gradient(op)


# ---- what is read from outside --------------------------------------------------------------------------------------


def gradient(op: Callable[..., Any]) -> float:
    x = mg.Var([2.0], device="reference")
    value: float = mg.grad(op(x), x).item()
    return value


def test_a_global_number_is_read_at_each_backward(monkeypatch: pytest.MonkeyPatch) -> None:
    op = declare(lambda g, x: g * x * SCALE)
    assert gradient(op) == 4.0
    monkeypatch.setitem(globals(), "SCALE", 10.0)
    assert (gradient(op), gradient(op)) == (20.0, 20.0)
    monkeypatch.undo()
    assert gradient(op) == 4.0


def test_a_number_of_a_closure_is_read_at_each_backward() -> None:
    scale = 2.0
    op = declare(lambda g, x: g * x * scale)
    assert gradient(op) == 4.0
    scale = 5.0
    assert gradient(op) == 10.0


def scaled(x):
    return x * SCALE


def test_a_global_that_a_called_function_reads_is_read_at_each_backward(monkeypatch: pytest.MonkeyPatch) -> None:
    op = declare(lambda g, x: g * scaled(x) * 1.0)
    assert gradient(op) == 4.0
    monkeypatch.setitem(globals(), "SCALE", 10.0)
    assert gradient(op) == 20.0


def test_a_called_function_may_be_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    op = declare(lambda g, x: scaled(x) * g)
    alone = declare(lambda g, x: scaled(g * x))
    assert (gradient(op), gradient(alone)) == (4.0, 4.0)
    monkeypatch.setitem(globals(), "scaled", lambda x: x * 7.0)
    assert (gradient(op), gradient(alone)) == (14.0, 14.0)


def test_a_builtin_may_be_hidden_by_a_global(monkeypatch: pytest.MonkeyPatch) -> None:
    op = declare(lambda g, x: g * abs(x) * 1.0)
    assert gradient(op) == 2.0
    monkeypatch.setitem(globals(), "abs", lambda x: x * 9.0)
    assert gradient(op) == 18.0


@pytest.mark.parametrize(
    ("rule", "change"),
    [
        (lambda g, x: with_table(g, x), lambda: TABLE.__setitem__(1, 2.0 * TABLE[1])),
        (lambda g, x: g * x * THING.scale, lambda: setattr(THING, "scale", 2.0 * THING.scale)),
        (lambda g, x: g * x * scaled.factor, lambda: setattr(scaled, "factor", 2.0 * scaled.factor)),
    ],
    ids=["list", "object", "function"],
)
def test_what_is_changed_and_not_replaced_is_read_at_each_backward(
    rule: Callable[..., Any], change: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scaled, "factor", 3.0, raising=False)
    op = declare(rule)
    before = gradient(op)
    change()
    assert gradient(op) == 2.0 * before


def test_random_numbers_are_drawn_at_each_backward() -> None:
    op = declare(lambda g, x: g * x * random.random())
    assert gradient(op) != gradient(op)


def test_a_side_effect_happens_at_each_backward() -> None:
    op = declare(ODD["side-effect"])
    before = len(SEEN)
    gradient(op)
    gradient(op)
    assert len(SEEN) == before + 2


def test_plain_numbers_and_functions_from_outside_may_be_fused() -> None:
    factor = 0.5
    for fn in (
        lambda g, x: g * x * SCALE,
        lambda g, x: g * x * factor,
        lambda g, x: g * scaled(x),
        lambda g, x: g * x * math.sqrt(2.0 * math.pi),
        lambda g, x: g * abs(x) * 2.0,
    ):
        assert trace(mg.schema["sin"], Rule(fn, ("x",), ()), "rule") is not None
