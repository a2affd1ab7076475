"""Derivatives at extreme operands: a square on the way may overflow or vanish where the derivative does not."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from cases import over

import minigrad as mg

VALUES = (1e-38, 1e-25, 1e-12, 0.5, 1.0, 30.0, 1e7, 1e15, 1e25, 1e38)
SIGNED = (0.0, *VALUES, *[-value for value in VALUES])
# 1 - y of a y that is rounded to 1, an exponent that is rounded to another parity, a difference of two such; a choice
# by a difference that is rounded to 0; a power whose exponent is another by 1; a product that overflows on the way.
ROUNDED = {
    "sigmoid", "celu", "expm1", "pow", "softplus", "huber_loss_each", "margin_ranking_loss_each", "zeta",
    "divergence_of_logs", "poisson_of_log", "poisson", "normal_of",
}  # fmt: skip
# The gradient of a complex result is not one derivative, and needs a real loss.
COMPLEX = {"complex", "polar"}
RULES = [
    name
    for name, op in mg.schema.items()
    if op.kind == "elementwise" and op.result is None and op.differentiable
    and name not in ROUNDED | COMPLEX | {"where", "nan_to_num"}
    and op.public is not None and op.public.__module__.startswith("minigrad.")
]  # fmt: skip


def slopes(op: Any, columns: list[Any], dtype: str) -> list[Any]:
    """The derivatives of an op with respect to each operand that has a rule."""
    xs = [mg.tensor(column, dtype=dtype, device="reference") for column in columns]
    xs = [x if rule is None else mg.Var(x) for x, rule in zip(xs, op.rules, strict=True)]
    leaves = [x for x in xs if x.is_variable]
    gradients = mg.grad(op.public(*xs).sum(), leaves, allow_unused=True)
    return [np.zeros(x.shape) if g is None else g.numpy() for x, g in zip(leaves, gradients, strict=True)]


@pytest.mark.filterwarnings("ignore:overflow encountered in cast")
@over("name", RULES)
def test_a_derivative_that_float32_can_hold_is_that_of_float64(name: str) -> None:
    op = mg.schema[name]
    values = SIGNED if len(op.operands) < 3 else SIGNED[::4]
    columns = [np.array(column, np.float32) for column in zip(*itertools.product(values, repeat=len(op.operands)))]
    # Where float32 has no value, such as 0 times a quotient that overflows, it has no derivative.
    there = ~np.isnan(op.public(*[mg.tensor(x, device="reference") for x in columns]).numpy())
    for narrow, wide in zip(slopes(op, columns, "float32"), slopes(op, columns, "float64"), strict=True):
        size = np.abs(wide)
        held = there & ((wide == 0) | ((size > 1.2e-38) & (size < 3e38)))
        np.testing.assert_allclose(narrow[held], wide[held], rtol=1e-3, atol=1e-38)


@pytest.mark.parametrize("scale", [1e-25, 1e-15, 1.0, 1e15, 1e25])
def test_every_order_of_atan2_and_of_the_inverses_stays_in_range(scale: float) -> None:
    functions = {
        "atan2": lambda x: mg.atan2(x, x.detach() * 2.0), "asinh": lambda x: x.asinh(),
        "acosh": lambda x: (x * 2.0 if scale == 1.0 else x).acosh(),
    }  # fmt: skip
    for name in functions if scale >= 1 else ("atan2", "asinh"):
        found = []
        for dtype in ("float32", "float64"):
            x = mg.Var([scale], dtype=dtype, device="reference")
            (g,) = mg.grad(functions[name](x), [x], create_graph=True)
            (second,) = mg.grad(g, [x])
            pushed = mg.func.jvp(functions[name], (x.detach(),), (mg.ones_like(x.detach()),))[1]
            found.append([g.item(), pushed.item(), second.item()])
        held = abs(found[1][2]) < 1e38  # the second derivative of atan2 at 1e-25 is 1e49
        np.testing.assert_allclose(found[0][: 2 + held], found[1][: 2 + held], rtol=1e-5, atol=1e-38)


@over("scale", [1e-30, 1e-25, 1.0, 1e25, 1e30])
@over("p", ["fro", 1, 2, 3, 0.5, -1, float("inf")])
def test_norms_and_deviations_stay_in_range(p: Any, scale: float) -> None:
    x = mg.Var(np.array([3.0, -4.0]) * scale, dtype="float32", device="reference")
    unit = mg.Var(np.array([3.0, -4.0]), dtype="float64", device="reference")
    for length in (lambda x: x.norm(p), mg.std):
        y, expected = length(x), length(unit)
        assert y.item() == pytest.approx(expected.item() * scale, rel=1e-5)
        assert y.backward()[x].tolist() == pytest.approx(expected.backward()[unit].tolist(), rel=1e-5)


INF = float("inf")
# The elements 0, 3, -3 and the norm and the gradient that PyTorch 2.13 gives of them.
PYTORCH = [
    ("fro", 18**0.5, [0.0, 0.5**0.5, -(0.5**0.5)]), (1, 6.0, [0.0, 1.0, -1.0]),
    (2, 18**0.5, [0.0, 0.5**0.5, -(0.5**0.5)]),
    (3, 54 ** (1 / 3), [0.0, 9 / 54 ** (2 / 3), -9 / 54 ** (2 / 3)]), (0.5, 12.0, [0.0, 2.0, -2.0]),
    (0, 2.0, [0.0, 0.0, 0.0]), (INF, 3.0, [0.0, 0.5, -0.5]), (-INF, 0.0, [0.0, 0.0, 0.0]), (-1, 0.0, [0.0, 0.0, 0.0]),
]  # fmt: skip


@pytest.mark.parametrize(("p", "value", "gradient"), PYTORCH)
def test_the_gradient_of_a_norm_at_zeros_and_ties_is_that_of_pytorch(p: Any, value: float, gradient: Any) -> None:
    x = mg.Var([[0.0, 3.0, -3.0], [0.0, 0.0, 0.0]], dtype="float64", device="reference")
    y = mg.norm(x, p, 1)
    assert y.tolist() == pytest.approx([value, 0.0])
    rows = y.sum().backward()[x].tolist()
    assert rows[0] == pytest.approx(gradient) and rows[1] == [0.0, 0.0, 0.0]


def test_norm_has_the_parameters_of_pytorch() -> None:
    x = mg.tensor([[3.0, 4.0], [6.0, 8.0]], device="reference")
    assert mg.norm(x, 2, 1).tolist() == x.norm(dim=1).tolist() == [5.0, 10.0]
    assert mg.norm(x, 1, (0, 1), True).shape == (1, 1) and x.norm(1).item() == 21.0
    out = mg.empty((), dtype="float64", device="reference")
    assert mg.norm(input=x, p=INF, out=out, dtype="float64") is out and out.item() == 8.0
    assert x.norm(dtype="float64").dtype is mg.float64
    assert mg.tensor([3, 4], device="reference").norm().item() == 5.0
    assert mg.empty(0, 2, device="reference").norm(3, 0).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("p", ["nuclear", "two", True, float("nan"), [2]])
def test_another_p_is_refused(p: Any) -> None:
    with pytest.raises(mg.ArgumentError, match=r"norm: p of float32\(1,\) must be a number, 'fro' or 'nuc', got"):
        mg.norm(mg.ones(1, device="reference"), p)


# 0, -0.0 and the numbers at which bodies choose; what lies between them is smooth for most ops.
JOINTS = (0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0, 6.0, 1e-3, 20.0)
# Their rule is PyTorch's where two choices meet (a bound on both sides, a width of 0, the origin), or stays finite on
# purpose, or the incoming gradient is 0 there.
SETTLED = {
    "at_least",
    "clamp",
    "celu",
    "cross_entropy_of_one",
    "hardshrink",
    "softshrink",
    "heaviside",
    "atan2",
    "where",
    "squared_distance",
}


def quotients(op: Any, columns: list[Any], k: int, step: float) -> Any:
    """One-sided differences of the second order in operand k."""
    steps = [[x + j * step if i == k else x for i, x in enumerate(columns)] for j in range(3)]
    y = [op.public(*[mg.tensor(x, device="reference") for x in moved]).numpy() for moved in steps]
    return (4 * y[1] - 3 * y[0] - y[2]) / (2 * step)


@over("name", [name for name in (*RULES, *sorted(ROUNDED)) if name not in SETTLED])
def test_a_derivative_is_that_of_both_sides_where_they_agree(name: str) -> None:
    """Also at the points where a body chooses: a corner in one part must not hide behind one in another."""
    op = mg.schema[name]
    values = JOINTS if len(op.operands) < 3 else JOINTS[::3]
    columns = [np.array(column) for column in zip(*itertools.product(values, repeat=len(op.operands)))]
    numbers = [k for k, rule in enumerate(op.rules) if rule is not None]
    with np.errstate(all="ignore"):
        gradients = slopes(op, columns, "float64")
        for k, gradient in zip(numbers, gradients, strict=True):
            right, left = (quotients(op, columns, k, step) for step in (1e-5, -1e-5))
            smooth = (abs(right) < 1e5) & (abs(right - left) < 1e-4 * (1 + abs(right)))
            np.testing.assert_allclose(gradient[smooth], right[smooth], rtol=1e-3, atol=1e-3)
