"""mg.custom_vjp: JAX's interface for a derivative that is written by hand."""

from __future__ import annotations

import math
from typing import Any

import pytest
from points import leaf

import minigrad as mg
from minigrad.errors import ArgumentError, GradientError, ShapeError
from minigrad.testing import gradcheck, gradgradcheck


def product() -> tuple[Any, list[str]]:
    ran: list[str] = []

    @mg.custom_vjp
    def f(x: Any, y: Any) -> Any:
        """sin(x) y"""
        ran.append("f")
        return x.sin() * y

    def fwd(x: Any, y: Any) -> Any:
        ran.append("fwd")
        return x.sin() * y, {"cos": x.cos(), "rest": (x.sin(), [y])}

    def bwd(residuals: Any, g: Any) -> Any:
        sine, (y,) = residuals["rest"]
        return residuals["cos"] * g * y, sine * g

    f.defvjp(fwd, bwd)
    return f, ran


def test_first_and_second_order_with_residuals_that_fwd_computed() -> None:
    f, _ = product()
    gradcheck(f, [leaf(0.3, 1.2), leaf(2.0, -1.0)])
    gradgradcheck(f, [leaf(0.3, 1.2), leaf(2.0, -1.0)])


def test_fwd_runs_once_where_a_gradient_is_asked_for_and_else_the_function() -> None:
    f, ran = product()
    x, y = leaf(0.3), leaf(2.0)
    f(x, y).backward()
    assert ran == ["fwd"]
    f(x.detach(), y.detach())
    assert ran == ["fwd", "f"]
    assert f.__name__ == "f" and f.__doc__ == "sin(x) y"


def test_arguments_that_are_no_tensors_come_first_in_bwd() -> None:
    @mg.custom_vjp
    def scale(x: Any, n: int) -> Any:
        return x * n

    scaled = mg.custom_vjp(lambda n, x: x * n, nondiff_argnums=(0,))
    seen: list[Any] = []
    scaled.defvjp(lambda n, x: (x * n, None), lambda n, _, g: (seen.append(n), (g * n * 10.0,))[1])
    x = leaf(1.0)
    assert mg.grad(scaled(3, x), x).tolist() == [30.0] and seen == [3]
    with pytest.raises(GradientError, match=r"scale has no derivative rule; call scale\.defvjp\(fwd, bwd\) first"):
        scale(x, 2)


def test_several_results() -> None:
    both = mg.custom_vjp(lambda x: (x * 2.0, x * 3.0))
    both.defvjp(lambda x: ((x * 2.0, x * 3.0), None), lambda _, gs: (gs[0] * 2.0 + gs[1] * 3.0,))
    x = leaf(1.0)
    a, b = both(x)
    assert mg.grad((a + b * 10.0).sum(), x).tolist() == [32.0]


def test_what_is_wrong_is_named() -> None:
    x = leaf(1.0, 2.0)
    f = mg.custom_vjp(lambda x: x * 2.0)
    f.defvjp(lambda x: x * 2.0, lambda _, g: (g,))
    with pytest.raises(GradientError, match=r"fwd must return the pair \(result, residuals\), got float64\(2,\)"):
        f(x)
    f.defvjp(lambda x: (x * 2.0, ()), lambda _, g: (g, g))
    with pytest.raises(GradientError, match=r"one gradient for each of the 1 arguments .*, got 2 gradients"):
        f(x).backward()
    f.defvjp(lambda x: (x * 2.0, ()), lambda _, g: (mg.ones(3, dtype="float64", device="reference"),))
    with pytest.raises(ShapeError, match=r"must return a gradient .*, got float64\(3,\)"):
        f(x).backward()
    with pytest.raises(ArgumentError, match="custom_vjp: fun must be a function"):
        mg.custom_vjp(3.0)


def test_an_argument_without_a_derivative_may_be_counted_from_the_last() -> None:
    f = mg.custom_vjp(lambda x, y, n: x * y * n, nondiff_argnums=(-1,))
    f.defvjp(lambda x, y, n: (x * y * n, (x, y)), lambda n, r, g: (g * r[1] * n, g * r[0] * n))
    x, y = leaf(3.0), leaf(5.0)
    assert [g.tolist() for g in mg.grad(f(x, y, 2.0), (x, y))] == [[10.0], [6.0]]
    with pytest.raises(GradientError, match=r"argument 2 is in nondiff_argnums"):
        f(x, y, y)
    f = mg.custom_vjp(lambda x: x * 2.0, nondiff_argnums=(1,))
    f.defvjp(lambda x: (x * 2.0, None), lambda n, _, g: (g * 2.0,))
    with pytest.raises(ArgumentError, match=r"must be indices of the 1 arguments of this call, got 1"):
        f(x)


def test_results_in_a_dict_would_be_constants() -> None:
    f = mg.custom_vjp(lambda x: (x * 2.0, {"twice": x * 2.0}))
    f.defvjp(lambda x: ((x * 2.0, {"twice": x * 2.0}), None), lambda _, g: (g[0] * 2.0,))
    with pytest.raises(GradientError, match="forward must return tensors, got a dict that contains tensors"):
        f(leaf(1.0))


def test_fwd_may_call_the_function_itself() -> None:
    """As the first example of JAX does."""

    @mg.custom_vjp
    def f(x, y):
        return x.sin() * y

    f.defvjp(lambda x, y: (f(x, y), (x.cos(), x.sin(), y)), lambda kept, g: (kept[0] * g * kept[2], kept[1] * g))
    x, y = (mg.Var(value, dtype=mg.float64, device="reference") for value in (0.7, 3.0))
    first, second = mg.grad(f(x, y), [x, y], create_graph=True)
    assert first.item() == pytest.approx(3.0 * math.cos(0.7)) and second.item() == pytest.approx(math.sin(0.7))
    assert mg.grad(first, x).item() == pytest.approx(-3.0 * math.sin(0.7))


@pytest.mark.filterwarnings("error")
@pytest.mark.usefixtures("reference")
def test_a_batch_runs_at_once() -> None:
    f, ran = product()
    x, y = mg.tensor([[0.5, -1.0], [2.0, 0.3]], dtype="float64"), mg.tensor([0.7, -2.0], dtype="float64")
    func = mg.func
    transforms = {
        "vmap of grad": lambda f: func.vmap(func.grad(lambda x, y: f(x, y).sum(), (0, 1)), in_dims=(0, None)),
        "grad of vmap": lambda f: func.grad(lambda x, y: func.vmap(f, in_dims=(0, None))(x, y).sum(), (0, 1)),
        "grad of vmap of grad": lambda f: func.grad(
            lambda x, y: func.vmap(func.grad(lambda x: f(x, y).sum()))(x).square().sum(), (0, 1)
        ),
        "vmap of vmap of grad": lambda f: func.vmap(func.vmap(func.grad(f, (0, 1))), in_dims=(0, None)),
    }
    for transform in transforms.values():
        ran.clear()
        for mine, want in zip(transform(f)(x, y), transform(lambda x, y: x.sin() * y)(x, y), strict=True):
            assert mine.numpy() == pytest.approx(want.numpy(), abs=1e-12)
        assert ran.count("fwd") <= 3


@pytest.mark.usefixtures("reference")
def test_an_unused_result_of_a_batch_has_a_gradient_of_zeros() -> None:
    @mg.custom_vjp
    def two(x: Any) -> Any:
        return x * 2.0, x * 3.0

    two.defvjp(lambda x: ((x * 2.0, x * 3.0), None), lambda _, g: (g[0] * 2.0 + g[1] * 3.0,))
    assert mg.func.vmap(mg.func.grad(lambda x: two(x)[0]))(mg.tensor([1.0, 2.0])).tolist() == [2.0, 2.0]


def test_a_wrong_gradient_names_the_line_of_the_rule() -> None:
    f = mg.custom_vjp(lambda x: x * 1.0)
    f.defvjp(lambda x: (x * 1.0, None), lambda _, g: (g.sum().reshape(1, 1, 1),))
    with pytest.raises(ShapeError, match=r"backward at .*test_custom_vjp.py:\d+ must return a gradient"):
        f(leaf([1.0, 2.0])).sum().backward()
