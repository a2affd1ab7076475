"""mg.autograd.functional: results are nested as in PyTorch, and have a graph if that is requested."""

from __future__ import annotations

from typing import Any

import pytest
from points import row

import minigrad as mg
from minigrad.autograd import functional
from minigrad.errors import ArgumentError, GradientError


def both(x: Any, y: Any) -> Any:
    return x * y, (x * x).sum()


def energy(x: Any, y: Any) -> Any:
    return (x * x * y).sum()


def test_a_jacobian_has_outputs_first() -> None:
    x, y = row(1.0, 2.0), row(3.0, 5.0)
    assert functional.jacobian(lambda x: x * x, x).tolist() == [[2.0, 0.0], [0.0, 4.0]]
    for strategy in ("reverse-mode", "forward-mode"):
        ((a, b), (c, d)) = functional.jacobian(both, (x, y), strategy=strategy)
        assert a.tolist() == [[3.0, 0.0], [0.0, 5.0]] and b.tolist() == [[1.0, 0.0], [0.0, 2.0]]
        assert c.tolist() == [2.0, 4.0] and d.tolist() == [0.0, 0.0]
    with pytest.raises(ArgumentError, match="strategy must be"):
        functional.jacobian(both, (x, y), strategy="sideways")
    with pytest.raises(GradientError, match=r"output 1 must depend on input 1.*pass strict=False"):
        functional.jacobian(both, (x, y), strict=True)


def test_a_hessian_of_each_pair() -> None:
    x, y = row(1.0, 2.0), row(3.0, 5.0)
    ((a, b), (c, d)) = functional.hessian(energy, (x, y))
    assert a.tolist() == [[6.0, 0.0], [0.0, 10.0]] and b.tolist() == c.tolist() == [[2.0, 0.0], [0.0, 4.0]]
    assert d.tolist() == [[0.0, 0.0], [0.0, 0.0]]
    with pytest.raises(
        GradientError, match=r"hessian: the function must return a tensor of one element, got float64\(2,\)"
    ):
        functional.hessian(lambda x: x, x)


def test_products() -> None:
    x, y, v, w = row(1.0, 2.0), row(3.0, 5.0), row(1.0, 10.0), row(0.0, 1.0)
    out, (a, b) = functional.vjp(energy, (x, y))
    assert out.item() == 23.0 and a.tolist() == [6.0, 20.0] and b.tolist() == [1.0, 4.0]
    assert functional.vjp(lambda x: x * x, x, v)[1].tolist() == [2.0, 40.0]
    out, t = functional.jvp(lambda x: x * x, x, v)
    assert out.tolist() == [1.0, 4.0] and t.tolist() == [2.0, 40.0]
    for product in (functional.hvp, functional.vhp):
        out, (a, b) = product(energy, (x, y), (v, w))
        assert out.item() == 23.0 and a.tolist() == [6.0, 104.0] and b.tolist() == [2.0, 40.0]
        assert product(lambda x: (x * x * x).sum(), x, v)[1].tolist() == [6.0, 120.0]
    for missing in (functional.vjp, functional.jvp):
        with pytest.raises(GradientError, match="v is required"):
            missing(lambda x: x * x, x)


def test_a_graph_where_it_is_asked_for() -> None:
    x = mg.Var([1.0, 2.0], dtype="float64", device="reference")
    assert not functional.jacobian(lambda x: x * x * x, x).requires_grad
    j = functional.jacobian(lambda x: x * x * x, x, create_graph=True)
    assert mg.grad(j.sum(), x).tolist() == [6.0, 12.0]
