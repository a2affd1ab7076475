"""Ops that a user declares in a notebook cell are compiled and checked like ours, and work in every transform."""

from __future__ import annotations

import itertools
import linecache
from typing import Any

import pytest

import minigrad as mg
from minigrad.autodiff.batching import batched
from minigrad.autodiff.forward import pushforward
from minigrad.errors import DeclarationError
from minigrad.testing import GradcheckError, gradcheck, gradgradcheck

CELL = '''
import math
import minigrad as mg

@mg.scalar
def half(x):
    return x * 0.5

def odd_rule(g, x):
    return g * (0.5 + 0.5 * x) * x.cos() - g * (half_of(x) + half_of(x).square()) * x.sin()

def half_of(x):
    return x * 0.5

@mg.elementwise(dtype=mg.rules.to_float, vjp=(odd_rule,))
def odd_curve(x):
    """(x/2 + x*x/4) cos(x)"""
    return (half(x) + half(x) * half(x)) * math.cos(x)

@mg.scalar
def joined(a, b):
    return a + b

@mg.reduction(dtype=mg.rules.widen, identity="zero", combine=joined,
              vjp=(lambda g, x, *, dims, keepdim: spread(g, x, dims, keepdim) * x * 2.0,))
def squares(acc, x):
    """The sum of squares."""
    return acc + x * x

def spread(g, x, dims, keepdim):
    if not keepdim:
        for d in dims:
            g = g.unsqueeze(d)
    return g.expand(x.shape)
'''
numbered = itertools.count()


@pytest.fixture(scope="module")
def cell() -> Any:
    """The names of a cell that was run as a notebook runs it: its text is known under a name of its own."""
    file = f"<minigrad-cell-{next(numbered)}>"
    linecache.cache[file] = (len(CELL), None, CELL.splitlines(True), file)
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(CELL, file, "exec"), names)
    return names


@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_values_and_derivatives_of_both_orders(cell: Any, device: str) -> None:
    x = mg.Var([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]], dtype="float64", device=device)
    h = x * 0.5
    assert cell["odd_curve"](x).flatten().tolist() == pytest.approx(((h + h * h) * x.cos()).flatten().tolist())
    assert cell["squares"](x, 1).tolist() == pytest.approx((x * x).sum(1).tolist())
    if device == "cpu":  # it is a file with a loop, as every op has
        (file,) = mg.viz.kernels(cell["odd_curve"](x))
        assert "(x * T(0.5) + x * T(0.5) * (x * T(0.5))) * cos" in file.read_text()
    for op in (cell["odd_curve"], cell["squares"], lambda x: cell["squares"](x, 0, keepdim=True)):
        gradcheck(op, [x])
        gradgradcheck(op, [x])


def test_transforms_derive_what_they_need(cell: Any) -> None:
    x = mg.tensor([[0.5, -1.0], [1.5, 0.25]], dtype="float64", device="reference")
    op, t = cell["odd_curve"].op, mg.ones_like(x)
    (found,) = pushforward(op, {}, [x], [t], [op.public(x)])
    leaf = mg.Var(x)
    assert found is not None and found.tolist() == mg.grad(op.public(leaf), leaf).tolist()
    rows = batched(cell["squares"].op, {"dims": None, "keepdim": False}, [x], [True])
    assert rows.tolist() == (x * x).sum(1).tolist()


def test_a_wrong_rule_is_noticed_by_the_same_check(cell: Any) -> None:
    names = dict(cell)
    text = CELL.replace("0.5 + 0.5 * x) * x.cos()", "0.5 + 0.25 * x) * x.cos()").replace("odd_curve", "odd_wrong")
    file = f"<minigrad-cell-{next(numbered)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    exec(compile(text, file, "exec"), names)
    with pytest.raises(GradcheckError, match="gradient of 'x' is worst at"):
        gradcheck(names["odd_wrong"], [mg.Var([0.5, -1.0], dtype="float64", device="reference")])


def test_where_there_is_no_text_it_is_said() -> None:
    text = CELL.replace("odd_curve", "odd_bare")
    with pytest.raises(DeclarationError, match=r"half has no source to compile .* declare ops in a file or a notebook"):
        exec(compile(text, "<nowhere>", "exec"), {"__name__": "__main__"})
