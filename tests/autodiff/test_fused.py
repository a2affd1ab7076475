"""A rule that was fused into one kernel returns the same as the rule as tensor code, for every elementwise op."""

import numpy as np
from cases import over
from op_rows.row import Row
from op_support import RTOL, arrays, operands
from op_table import ROWS

import minigrad as mg
from minigrad.core.op import Rule
from minigrad.declare.fused import fuse, trace
from minigrad.declare.record import schema

RULES = [
    (name, k)
    for name, op in schema.items()
    if op.kind == "elementwise" and "/minigrad/ops/" in op.where.replace("\\", "/")
    for k, rule in enumerate(op.rules)
    if rule is not None
]
SMOOTH = [row for row in ROWS if row.elementwise and row.smooth and row.ops]


def fresh(op, k):
    rule = op.rules[k]
    return trace(op, Rule(rule.fn, rule.saves, rule.facts), "rule")


# The compiled kernels of fused rules are compared with these in `backends/test_by_address.py`.
CASES = [(row, dtype) for row in SMOOTH for dtype in ("float64", "float16", "float32") if dtype in row.dtypes]


@over(("row", "dtype"), CASES, ids=[f"{row.name}-{dtype}" for row, dtype in CASES])
def test_fused_and_recorded_backwards_agree(row: Row, dtype: str) -> None:
    device = "reference"
    values = operands(row, arrays(row), dtype, device)
    xs = [mg.Var(x) if x.dtype.is_float else x for x in values]
    leaves = [x for x in xs if x.is_variable]
    y = row.fn(*xs)
    g = mg.tensor(np.random.default_rng(1).uniform(0.5, 1.5, y.shape), dtype=y.dtype, device=device)
    fused = mg.grad(y, leaves, g, retain_graph=True, allow_unused=True)
    recorded = mg.grad(y, leaves, g, create_graph=True, allow_unused=True)
    for mine, theirs in zip(fused, recorded, strict=True):
        a, b = (np.asarray(t.to(mg.float64).detach().tolist()) for t in (mine, theirs))
        np.testing.assert_allclose(a, b, rtol=8 * RTOL[dtype], atol=8 * RTOL[dtype] * max(1.0, np.abs(b).max()))


def test_most_rules_with_more_than_one_op_are_fused() -> None:
    fused = {f"{name}-{k}" for name, k in RULES if fresh(schema[name], k) is not None}
    for name in ("sigmoid-0", "log_sigmoid-0", "tanh-0", "div-1", "pow-0", "pow-1", "maximum-0", "relu-0", "clamp-0",
                 "erf-0", "softplus-1"):  # fmt: skip
        assert name in fused, name


def test_a_rule_of_one_op_is_that_op() -> None:
    assert fuse(schema["mul"], 0) is mg.mul  # g * b
    assert fuse(schema["sub"], 1) is mg.neg  # -g
    assert fuse(schema["log2"], 0) is not schema["log2"].rules[0].fn  # g / (x * ln 2)
    assert fuse(schema["add"], 0) is schema["add"].rules[0].fn  # g


def test_a_rule_that_asks_for_values_or_shapes_is_left_as_it_is() -> None:
    for rule in (
        Rule(lambda g, x: g * x + 1.0 if x.sum() > 0 else g, ("x",), ()),
        Rule(lambda g, x: g * (x + 1.0) if x else g, ("x",), ()),
        Rule(lambda g, x: mg.zeros_like(g) * x + g, ("x",), ()),
        Rule(lambda g, x: (g * x).reshape(g.shape) * 2.0, ("x",), ()),
    ):
        assert trace(schema["sin"], rule, "rule") is None


def test_a_fused_rule_writes_shared_steps_once() -> None:
    def rule(g, x):
        s = x.sigmoid()
        return g * s * (x * (1.0 - s) + 1.0)

    scalar = trace(schema["sin"], Rule(rule, ("x",), ()), "rule")
    assert scalar is not None
    calls = [line.value.func.id for line in scalar.node.body[:-1]]
    assert calls.count("sigmoid") == 1


def test_truth_values_choose_and_are_never_multiplied() -> None:
    masked = Rule(lambda g, x: g * (x > 0.0) * 2.0, ("x",), ())
    chosen = Rule(lambda g, x: ((x > 0.0) & (x < 1.0)).where_cond(g, 0.0) * 2.0, ("x",), ())
    assert trace(schema["sin"], masked, "rule") is None
    assert trace(schema["sin"], chosen, "rule") is not None


def test_the_walk_launches_one_kernel_for_a_fused_rule() -> None:
    x = mg.Var(np.linspace(-1, 1, 8, dtype=np.float32))
    g = mg.tensor(np.ones(8, np.float32))
    for _ in range(2):
        y = mg.sigmoid(x)
        before = mg.memory_stats().allocations
        mg.grad(y, x, g)
        assert mg.memory_stats().allocations == before + 1
