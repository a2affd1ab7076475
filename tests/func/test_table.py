"""The whole op table through the transforms, in float64 on `reference`.

First order: <u, J v> = <J^T u, v> by jvp, vjp and linearize.  Second: forward over reverse, reverse over forward,
reverse over reverse and forward over forward say one thing (and `gradgradcheck` holds reverse over reverse to finite
differences).  Batched: gradients of each of a batch, first and second order, are those one by one.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from op_calls import inner, leaves, like
from op_rows.row import Row
from op_table import ROWS
from selection import over_rows

import minigrad as mg

f = mg.func
OUTSIDE = ("as_strided-gaps", "as_strided-repeated")  # an error inside a transform
SMOOTH = [row for row in ROWS if row.smooth and not row.slope and row.name not in OUTSIDE]
SECOND = [row for row in SMOOTH if row.order2]
rows = lambda some: over_rows(some, items=20)


def setting(row: Row) -> tuple[Callable[..., Any], list[Any]]:
    """The row as a function of its float operands, which are plain tensors, and those."""
    xs = [x.detach() for x in leaves(row)]
    spots = [k for k, x in enumerate(xs) if x.dtype.is_float]

    def function(*given: Any) -> Any:
        operands = list(xs)
        for k, x in zip(spots, given):
            operands[k] = x
        return row.fn(*operands)

    return function, [xs[k] for k in spots]


def close(found: Any, want: Any, what: str, rtol: float = 1e-9) -> None:
    for mine, theirs in zip(found, want, strict=True):
        assert mine.shape == theirs.shape and mine.dtype is theirs.dtype, f"{what}: {mine} {theirs}"
        np.testing.assert_allclose(mine.tolist(), theirs.tolist(), rtol=rtol, atol=1e-10, err_msg=what)


@rows(SMOOTH)
def test_forward_and_reverse_are_adjoint(row: Row) -> None:
    function, xs = setting(row)
    rng = np.random.default_rng(7)
    vs = [like(x, rng) for x in xs]
    y, pushed = f.jvp(function, tuple(xs), tuple(vs))
    u = like(y, rng)
    value, pull = f.vjp(function, *xs)
    pulled = pull(u)
    close([y, value], [function(*xs)] * 2, row.name, 1e-12)
    rtol = 1e-9 if y.dtype is mg.float64 else 1e-5
    assert inner([u], [pushed]) == pytest.approx(inner(pulled, vs), rel=rtol, abs=1e-9), row.name
    same, linear = f.linearize(function, *xs)
    close([same, linear(*vs)], [y, pushed], row.name, 1e-12)


def second_orders(function: Callable[..., Any], xs: Sequence[Any], u: Any, vs: Sequence[Any]) -> dict[str, list[Any]]:
    """The derivative along vs of the gradient of <u, f>, in three ways."""
    places = tuple(range(len(xs)))
    scalar = lambda *given: (function(*given) * u).sum()
    slope = f.grad(scalar, places)
    return {
        "forward over reverse": list(f.jvp(slope, tuple(xs), tuple(vs))[1]),
        "reverse over forward": list(f.grad(lambda *given: f.jvp(scalar, given, tuple(vs))[1], places)(*xs)),
        "reverse over reverse": list(f.vjp(slope, *xs)[1](tuple(vs))),
    }


@rows(SECOND)
def test_the_ways_to_second_derivatives_agree(row: Row) -> None:
    function, xs = setting(row)
    rng = np.random.default_rng(9)
    y, vs = function(*xs), [like(x, rng) for x in xs]
    assert y.dtype is mg.float64
    u = like(y, rng)
    found = second_orders(function, xs, u, vs)
    first = found.pop("forward over reverse")
    for name, other in found.items():
        close(other, first, f"{row.name}, {name}", 1e-8)
    # <H v, v> once more, by forward mode over itself.
    scalar = lambda *given: (function(*given) * u).sum()
    twice = f.jvp(lambda *given: f.jvp(scalar, given, tuple(vs))[1], tuple(xs), tuple(vs))[1]
    assert twice.item() == pytest.approx(inner(first, vs), rel=1e-8, abs=1e-9), row.name


def batch(x: Any) -> Any:
    return mg.stack([x * (1.0 + 0.03 * k) for k in range(2)])


@rows(SECOND)
def test_gradients_of_a_batch_are_those_one_by_one(row: Row) -> None:
    function, xs = setting(row)
    rng = np.random.default_rng(5)
    y, vs = function(*xs), [like(x, rng) for x in xs]
    u = like(y, rng)
    places = tuple(range(len(xs)))
    scalar = lambda *given: (function(*given) * u).sum()
    slope = f.grad(scalar, places)
    bend = lambda *given: f.jvp(slope, given, tuple(vs))[1]
    many = [batch(x) for x in xs]
    rtol = 1e-9 if y.dtype is mg.float64 else 1e-5
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # no op of ours that carries a gradient may fall back to a loop
        for what, one in (("gradient", slope), ("second", bend)):
            found = f.vmap(one)(*many)
            each = [one(*[x[k] for x in many]) for k in range(2)]
            close(found, [mg.stack(list(some)) for some in zip(*each)], f"{row.name}, {what}", rtol)


RULED = [row for row in SECOND if any(callable(mg.schema[name].batch) for name in row.ops)]


@rows(RULED)
def test_the_gradient_through_a_batch_is_that_of_its_parts(row: Row) -> None:
    function, xs = setting(row)
    many = [batch(x) for x in xs]
    places = tuple(range(len(xs)))
    each = [function(*[x[k] for x in many]) for k in range(2)]
    u = like(mg.stack(each), np.random.default_rng(6))
    found = f.grad(lambda *given: (f.vmap(function)(*given) * u).sum(), places)(*many)
    want = f.grad(
        lambda *given: sum((function(*[x[k] for x in given]) * u[k]).sum() for k in range(2)), places
    )(*many)  # fmt: skip
    close(found, want, row.name, 1e-9 if u.dtype is mg.float64 else 1e-5)


@rows([row for row in SECOND if len(row.domains) > 1])
def test_gradients_where_one_operand_is_the_same_for_all(row: Row) -> None:
    function, xs = setting(row)
    u = like(function(*xs), np.random.default_rng(5))
    places = tuple(range(len(xs)))
    slope = f.grad(lambda *given: (function(*given) * u).sum(), places)
    rtol = 1e-9 if u.dtype is mg.float64 else 1e-5
    for k in places:
        dims = tuple(None if j == k else 0 for j in places)
        if all(d is None for d in dims):
            continue
        many = [x if j == k else batch(x) for j, x in enumerate(xs)]
        found = f.vmap(slope, in_dims=dims)(*many)
        each = [slope(*[x if j == k else x[i] for j, x in enumerate(many)]) for i in range(2)]
        close(found, [mg.stack(list(some)) for some in zip(*each)], f"{row.name} without {k}", rtol)
