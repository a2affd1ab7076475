"""Nested transforms: their derivatives are never confused, whichever transform is inside which."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
from cases import over
from points import row

import minigrad as mg
from minigrad.errors import GradientError
from minigrad.runtime.tracers import stack

f = mg.func


def number(value: float) -> mg.Tensor:
    return mg.tensor(value, dtype="float64", device="reference")


def forward(function: Callable[..., Any]) -> Callable[..., Any]:
    """The derivative of a function of one number, by forward mode."""
    return lambda x: f.jvp(function, (x,), (mg.ones_like(x),))[1]


def over_a_batch(function: Callable[..., Any]) -> Callable[..., Any]:
    """The derivative by reverse mode of a batch of one."""
    return lambda x: f.vmap(f.grad(function))(x.unsqueeze(0)).squeeze(0)


def by_walking(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x: f.vjp(function, x)[1](mg.ones_like(x))[0]


def by_columns(function: Callable[..., Any]) -> Callable[..., Any]:
    return f.jacfwd(function)


def by_linearizing(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x: f.linearize(function, x)[1](mg.ones_like(x))


WAYS = (f.grad, forward, over_a_batch, by_walking, by_columns, f.jacrev, by_linearizing)
PAIRS = list(itertools.product(WAYS, WAYS))


@over(("outer", "inner"), PAIRS, ids=lambda way: getattr(way, "__name__", ""))
def test_an_inner_derivative_does_not_see_the_outer_variable(outer: Any, inner: Any) -> None:
    one = number(1.0)
    assert outer(lambda x: x * inner(lambda y: x + y)(one))(one).item() == 1.0
    # x * (1 + x^2 at x): the inner function catches x, and the derivative goes through it.
    assert outer(lambda x: x * inner(lambda y: x * y + y * y * x)(x))(number(2.0)).item() == 4.0 + 24.0


@over(
    "ways",
    list(itertools.product(WAYS[:3], repeat=3)),
    ids=lambda ways: "-".join(w.__name__ for w in ways),
)
def test_the_third_derivative(ways: Any) -> None:
    third: Any = lambda x: x * x * x * x.exp()
    for way in ways:
        third = way(third)
    x = 0.5
    want = (x**3 + 9 * x**2 + 18 * x + 6) * 2.718281828459045**x
    assert third(number(x)).item() == pytest.approx(want, rel=1e-12)
    assert stack.transforms == []


def test_a_gradient_inside_of_a_recorded_program_is_part_of_it() -> None:
    x, w = (mg.Var([1.0, 2.0], dtype="float64", device="reference") for _ in range(2))
    cube = lambda t: (t * t * t * w).sum()
    f.grad(cube)(x).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [6.0, 24.0]  # 6 x w
    assert w.grad is not None and w.grad.tolist() == [3.0, 12.0]  # 3 x^2
    plain = row(1.0, 2.0)
    assert not f.grad(lambda t: (t * t).sum())(plain).requires_grad
    assert f.grad(cube)(plain).requires_grad, "it catches w"


def test_no_gradient_is_left_anywhere() -> None:
    x = mg.Var([1.0, 2.0], dtype="float64", device="reference")
    f.value_and_grad(lambda t: (t * t).sum())(x)
    f.hessian(lambda t: (t * t).sum())(x)
    f.vmap(f.grad(lambda t: t * t))(x)
    assert x.grad is None


def test_recording_may_be_off_around_a_transform_and_inside_of_it() -> None:
    x = mg.Var([3.0], dtype="float64", device="reference")

    def held(t: Any) -> Any:
        with mg.no_grad():
            c = t * t
        return (t * c).sum()

    with mg.no_grad():
        value, slope = f.value_and_grad(lambda t: (t * t).sum())(x)
        assert slope.tolist() == [6.0] and not slope.requires_grad and not value.requires_grad
        assert f.grad(held)(x).tolist() == [9.0]
        assert f.hvp(lambda t: (t * t).sum(), (x,), (mg.ones_like(x),)).tolist() == [2.0]
    assert f.grad(held)(x).tolist() == [9.0]
    assert f.vmap(f.grad(lambda t: held(t.reshape(1))))(x).tolist() == [9.0]

    def quiet(t: Any) -> Any:  # no_grad outside of an inner transform silences the outer one only
        with mg.no_grad():
            slope = f.grad(lambda s: (s * s).sum())(t)
        return (slope * t).sum()

    assert f.grad(quiet)(row(3.0)).tolist() == [6.0]
    assert f.vmap(f.grad(lambda t: quiet(t.reshape(1))))(row(3.0)).tolist() == [6.0]


def test_detach_makes_a_constant_of_a_value() -> None:
    x = number(3.0)
    for way in WAYS:
        assert way(lambda t: t * t.detach())(x).item() == 3.0, way.__name__
    assert f.grad(f.grad(lambda t: t * t.detach()))(x).item() == 0.0


def test_a_value_that_outlives_its_transform_raises() -> None:
    kept: list[Any] = []
    f.vmap(lambda t: kept.append(t) or t * 2.0)(row(1.0, 2.0))
    f.jvp(lambda t: kept.append(t) or t * 2.0, (row(1.0),), (row(1.0),))
    f.vmap(f.grad(lambda t: kept.append(t) or t * 2.0))(row(1.0))
    for x in kept:
        with pytest.raises(GradientError, match="belongs to a transform that has ended"):
            x + 1.0


def test_an_error_in_the_function_leaves_nothing_behind() -> None:
    def wrong(t: Any) -> Any:
        raise RuntimeError("no")

    for way in WAYS:
        with pytest.raises(RuntimeError, match=r"^no$"):
            way(wrong)(number(1.0))
        assert stack.transforms == [] and mg.is_grad_enabled()


def test_python_may_look_at_what_is_one_value() -> None:
    x = number(2.0)
    for way in (f.grad, forward, f.jacfwd, by_linearizing):
        assert way(lambda t: t * t if t > 1.0 else t)(x).item() == 4.0
        assert way(lambda t: t * t.item())(x).item() == 2.0
