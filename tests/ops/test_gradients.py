"""Every row's first and second derivative against central differences, on both backends.

Cotangents are random.  Each operand is a Var; a layout may stand between it and the op; values are used once, twice
(f(x) + f(x) through one graph) and, for two operands of one domain, as f(x, x).  Dense operands are compared element by
element; with other layouts, and for values used twice, gradients are compared along three random directions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from cases import over, unless_full
from layouts import LAYOUTS, broadcast
from op_calls import like, lying_behind, lying_otherwise
from op_rows.row import Row
from op_support import arrays, assert_refuses_backward, assert_untracked
from op_table import DEVICES, ROWS
from selection import gradient_layout_once_a_family, layout_once_a_family, over_rows, with_kernels

import minigrad as mg
from minigrad.testing import gradcheck, gradgradcheck

SMOOTH = [row for row in ROWS if row.smooth]
devices = pytest.mark.parametrize("device", DEVICES)


def variables(row: Row, device: str, shapes: Any = None) -> list[Any]:
    values = arrays(row, shapes)
    return [
        mg.tensor(v, device=device) if v.dtype == bool else mg.Var(v, dtype="float64", device=device) for v in values
    ]


@over(
    ("row", "layout"),
    [(r, name) for r in SMOOTH for name in (*LAYOUTS, "broadcast") if r.constant or name != "broadcast"],
    ids=lambda v: getattr(v, "name", v),
    items=120,
)
@devices
@unless_full(gradient_layout_once_a_family)
def test_gradient(row: Row, device: str, layout: str) -> None:
    make = LAYOUTS.get(layout, broadcast)
    given = variables(row, device)
    every = None if layout == "dense" else False  # a gradient put back into other elements differs in any direction
    gradcheck(
        lambda *xs: row.fn(*[make(x) if x.requires_grad else x for x in xs]), given, names=names(row), every=every
    )


@over_rows(SMOOTH, items=60)
@devices
@unless_full(with_kernels)
def test_gradient_of_values_used_twice(row: Row, device: str) -> None:
    given = variables(row, device)
    gradcheck(lambda *xs: row.fn(*xs) * 0.5 + row.fn(*xs) * 2.0, given, names=names(row), every=False)


@over_rows(SMOOTH, items=60)
def test_a_gradient_that_lies_otherwise_in_memory_is_the_same(row: Row) -> None:
    rng, xs = np.random.default_rng(4), variables(row, "reference")
    wanted = [x for x in xs if x.requires_grad]
    y = row.fn(*xs)
    u = mg.Var(like(y, rng))
    slopes = mg.grad(y, wanted, u, create_graph=True, allow_unused=True)
    for lying in (lying_otherwise, lying_behind):
        assert_equal(slopes, mg.grad(y, wanted, lying(u.detach()), retain_graph=True, allow_unused=True))
    for g in [g for g in slopes if g is not None and g.requires_grad]:
        h = like(g, rng)
        first, *others = [
            mg.grad(g, [*wanted, u], t, retain_graph=True, allow_unused=True)
            for t in (h, lying_otherwise(h), lying_behind(h))
        ]
        for other in others:
            assert_equal(first, other)


def assert_equal(ours: Sequence[Any], theirs: Sequence[Any]) -> None:
    for a, b in zip(ours, theirs, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            np.testing.assert_allclose(a.tolist(), b.tolist(), rtol=1e-12, atol=1e-12)


@over_rows([r for r in SMOOTH if r.elementwise], items=60)
@devices
@unless_full(with_kernels)
@over("shape", [(), (0, 2)], ids=str)
def test_gradient_of_scalars_and_empties(row: Row, device: str, shape: tuple[int, ...]) -> None:
    given = variables(row, device, (shape,) * len(row.domains))
    gradcheck(row.fn, given, names=names(row))


@over_rows([r for r in SMOOTH if r.elementwise and len(r.domains) > 1], items=10)
@devices
@unless_full(lambda row, device: layout_once_a_family(row, device, "broadcast"))
def test_gradient_of_broadcast_operands(row: Row, device: str) -> None:
    shapes = [(2, 1, 3), (3, 1), (), (3,)][: len(row.domains)]
    gradcheck(row.fn, variables(row, device, shapes), names=names(row))


def test_the_gradient_of_a_power_in_its_exponent_at_zero() -> None:
    a, b = (mg.Var(v, "float64", "reference") for v in ([0.0, 0.0, 0.0, 2.0], [2.0, 0.0, -1.0, 0.5]))
    y = a**b
    assert mg.grad(y.sum(), b).tolist() == [0.0, 0.0, -np.inf, math.sqrt(2.0) * math.log(2.0)]


@pytest.mark.parametrize("name", ["maximum", "minimum"])
def test_the_larger_and_the_smaller_of_equals_share_a_gradient(name: str) -> None:
    a, b = (mg.Var(v, "float64", "reference") for v in ([1.0, 2.0, 3.0], [1.0, 3.0, 2.0]))
    slopes = mg.grad(getattr(mg, name)(a, b).sum(), [a, b])
    larger = [[0.5, 0.0, 1.0], [0.5, 1.0, 0.0]]
    assert [g.tolist() for g in slopes] == (larger if name == "maximum" else larger[::-1])


SELF = [r for r in SMOOTH if len(r.domains) == 2 and r.domains[0] == r.domains[1] and r.elementwise]


@over_rows(SELF, items=10)
@devices
@unless_full(with_kernels)
def test_gradient_of_an_op_with_itself(row: Row, device: str) -> None:
    x = variables(row, device)[0]
    gradcheck(lambda x: row.fn(x, x), [x])


@over_rows([r for r in SMOOTH if r.order2], items=60)
@devices
@unless_full(with_kernels)
def test_second_derivative(row: Row, device: str) -> None:
    gradgradcheck(row.fn, variables(row, device), names=names(row))


# Ops on bits refuse floats, so nothing tracked can reach them.
TRUTHS = [r for r in ROWS if not r.smooth and not r.slope and "float64" in r.dtypes]


@over_rows(TRUTHS, items=10)
def test_what_has_no_gradient_does_not_track(row: Row) -> None:
    given = [
        mg.tensor(v, device="reference") if v.dtype == bool else mg.Var(v, dtype="float64", device="reference")
        for v in arrays(row)
    ]
    assert_untracked(row, row.fn(*given))


@pytest.mark.parametrize("row", [r for r in ROWS if r.slope], ids=lambda row: row.name)
def test_what_is_a_slope_itself_says_that_it_has_none(row: Row) -> None:
    assert_refuses_backward(row, row.fn(*variables(row, "reference")))


def names(row: Row) -> list[str]:
    op = mg.schema.get(row.ops[0]) if row.ops else None
    known = op.operands if op is not None and len(op.operands) == len(row.domains) else ()
    return list(known) or [f"operand {k}" for k in range(len(row.domains))]


CUT_OFF = {
    "where": lambda x: mg.where(x > 0.0, x, 0.0),
    "relu": lambda x: x.relu(),
    "clamp": lambda x: x.clamp(min=0.0),
    "maximum": lambda x: x.maximum(0.0),
    "minimum": lambda x: -((-x).minimum(0.0)),
    "floor": lambda x: (x * 0.1 + 0.5).floor(),
    "sign": lambda x: x.sign() + 1.0,
}


@devices
@pytest.mark.parametrize("name", CUT_OFF)
def test_what_was_not_chosen_gets_no_gradient_even_where_the_incoming_one_is_infinite(name: str, device: str) -> None:
    # The square root has an infinite slope at 0, and infinity times 0 would be nan.
    x = mg.Var([-3.0], dtype="float64", device=device)
    y = CUT_OFF[name](x).sqrt()
    assert y.tolist() == [0.0]
    assert y.backward()[x].tolist() == [0.0]


@devices
def test_the_gradient_of_a_quotient_stays_in_range(device: str) -> None:
    # The square of 1e-30 is no float32 any more, and the derivative -a/b**2 = -1e30 is one.
    a, b = mg.Var([1e-30], device=device), mg.Var([1e-30], device=device)
    (a / b).backward()
    assert a.grad.tolist() == pytest.approx([1e30]) and b.grad.tolist() == pytest.approx([-1e30])


@devices
def test_hypot_at_its_edges(device: str) -> None:
    x = mg.Var([0.0, np.inf, 3e200, 3e-200], dtype="float64", device=device)
    y = mg.hypot(x, mg.tensor([0.0, -np.inf, 4e200, 4e-200], dtype="float64", device=device))
    assert y.tolist() == pytest.approx([0.0, np.inf, 5e200, 5e-200], rel=1e-15)
    slope = y.backward()[x].tolist()
    assert [slope[0], *slope[2:]] == pytest.approx([0.0, 0.6, 0.6])
    assert np.isnan(slope[1]), "two infinities have no direction"


@devices
@pytest.mark.parametrize("length", [lambda x, dim: mg.norm(x, dim=dim), mg.std], ids=["norm", "std"])
def test_a_length_of_zero_has_gradient_zero(length: Any, device: str) -> None:
    x = mg.Var([[0.0, 0.0], [3.0, -3.0]], dtype="float64", device=device)
    y = length(x, 1)
    assert y.tolist() == pytest.approx([0.0, 18**0.5])
    assert y.backward()[x].tolist()[0] == [0.0, 0.0]
    assert x.grad.tolist()[1] == pytest.approx([0.5**0.5, -(0.5**0.5)])


@devices
def test_a_zero_in_a_product_counts_in_the_second_derivative(device: str) -> None:
    # d2(a*b*c): at (2, 0, 3) the mixed derivatives are c, b, a = 3, 0, 2; the middle row is 3*1 + 2*100.
    x = mg.Var([2.0, 0.0, 3.0], dtype="float64", device=device)
    g = mg.grad(x.prod(), x, create_graph=True)
    assert g.tolist() == [0.0, 6.0, 0.0]
    weights = mg.tensor([1.0, 10.0, 100.0], dtype="float64", device=device)
    assert mg.grad((g * weights).sum(), x).tolist() == [30.0, 203.0, 20.0]
