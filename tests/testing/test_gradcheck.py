"""gradcheck finds what is wrong, and says where."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad.errors import DTypeError, GradientError
from minigrad.ops.rules import promote
from minigrad.testing import GradcheckError, gradcheck, gradgradcheck


@mg.elementwise(dtype=promote, vjp=(lambda g, b: g * b, lambda g, b: g * b))
def wrong_product(left, b):
    """A product whose second rule multiplies by the wrong operand."""
    return left * b


@mg.elementwise(dtype=promote, vjp=(lambda g, x: g * x * x * 3.0 + (x > 1.0).to(g.dtype) * 0.01,))
def slightly_wrong_cube(x):
    """x**3, with a rule that is wrong for x > 1 only."""
    return x * x * x


def test_a_right_gradient_passes() -> None:
    a, b = mg.Var(np.ones((2, 3)), dtype="float64"), mg.Var([0.5, 2.0, 3.0], dtype="float64")
    assert gradcheck(lambda a, b: a / b + (a * b).sum(), [a, b])
    assert gradgradcheck(lambda a, b: a / b + (a * b).sum(), [a, b])


def test_the_worst_element_is_named_with_both_values() -> None:
    x = mg.Var([0.5, 2.0, 0.25], dtype="float64")
    with pytest.raises(GradcheckError, match=r"gradient of 'x' is worst at \(1,\): analytic .*, numeric .*1 of 3") as e:
        gradcheck(slightly_wrong_cube, x, names=["x"])
    assert e.value.argument == "x" and e.value.index == (1,)
    assert abs(e.value.numeric) > 1.0 and abs(e.value.analytic - e.value.numeric) == pytest.approx(0.01, rel=1e-3)


def test_the_wrong_argument_is_named() -> None:
    a, b = mg.Var([2.0, 3.0], dtype="float64"), mg.Var([5.0, 7.0], dtype="float64")
    with pytest.raises(GradcheckError, match="gradient of 'weight'"):
        gradcheck(lambda image, weight: wrong_product(image, weight), [a, b])


def test_an_error_that_sums_to_zero_is_noticed() -> None:
    class Swapped:
        def __call__(self, x: Any) -> Any:
            return x + (x.detach() * 0.0 + x[::-1] - x[::-1].detach()) - (x - x.detach())

    x = mg.Var([1.0, 2.0, 4.0], dtype="float64")
    with pytest.raises(GradcheckError):
        gradcheck(Swapped(), x)


def test_a_kink_is_called_a_kink() -> None:
    with pytest.raises(GradcheckError, match="kink"):
        gradcheck(lambda x: x.relu(), mg.Var([0.0], dtype="float64"))


def test_a_wrong_second_derivative_is_noticed() -> None:
    x = mg.Var([0.7, 1.9], dtype="float64")

    def detached_slope(x: Any) -> Any:
        return x.exp().detach() * x + x * 0.0

    with pytest.raises(GradcheckError):
        gradgradcheck(lambda x: x * x * detached_slope(x), x)


@mg.elementwise(dtype=promote, vjp=(lambda g, x: g * x * (3.0 if mg.is_grad_enabled() else 2.0),))
def square_of_two_minds(x):
    """x**2, with another gradient where its graph is recorded."""
    return x * x


def test_a_gradient_that_differs_where_its_graph_is_recorded_is_noticed() -> None:
    x = mg.Var([0.5, 2.0], dtype="float64", device="reference")
    assert gradcheck(square_of_two_minds, [x])
    with pytest.raises(GradcheckError, match=r"gradient 0 is .* at \(0,\) where its graph is recorded, and .* is not"):
        gradgradcheck(square_of_two_minds, [x])


def test_what_cannot_be_checked_is_refused() -> None:
    with pytest.raises(DTypeError, match=r"need mg\.float64"):
        gradcheck(lambda x: x * 2.0, mg.Var([1.0]))
    with pytest.raises(GradientError, match="no input is a Var"):
        gradcheck(lambda x: x * 2.0, mg.tensor([1.0]))
    with pytest.raises(GradientError, match="no output"):
        gradcheck(lambda x: x.detach(), mg.Var([1.0], dtype="float64"))


# ---- what differs from call to call ---------------------------------------------------------------------------------


def test_a_random_function_is_called_not_deterministic() -> None:
    rng = np.random.default_rng(0)
    x = mg.Var([0.5, 2.0], dtype="float64")
    for noisy in (
        lambda x: x * mg.tensor(rng.uniform(size=2)),
        lambda x: x * mg.tensor((rng.uniform(size=2) < 0.5).astype(np.float64)),
        lambda x: x * 2.0 + float(rng.uniform()) * 1e-8,
    ):
        with pytest.raises(GradcheckError, match=r"the function is not deterministic: calls at the same point differ"):
            gradcheck(noisy, x)
        with pytest.raises(GradcheckError, match="not deterministic"):
            gradgradcheck(lambda x, noisy=noisy: noisy(x) * x * x, x)


def test_a_random_gradient_is_called_not_deterministic() -> None:
    rng = np.random.default_rng(0)

    @mg.elementwise(dtype=promote, vjp=(lambda g: g * float(rng.uniform(1.0, 3.0)),))
    def doubled(x):
        """Twice x, with a rule that draws."""
        return x * 2.0

    with pytest.raises(GradcheckError, match=r"the gradient of 'x' at \(0,\) is not deterministic"):
        gradcheck(lambda x: doubled(x), mg.Var([0.5], dtype="float64"))


def test_a_kink_and_a_wrong_gradient_are_still_called_so() -> None:
    with pytest.raises(GradcheckError, match="has a kink") as kink:
        gradcheck(lambda x: x.relu(), mg.Var([0.0], dtype="float64"))
    with pytest.raises(GradcheckError, match="is worst at") as wrong:
        gradcheck(slightly_wrong_cube, mg.Var([2.0], dtype="float64"))
    assert "deterministic" not in str(kink.value) + str(wrong.value)
