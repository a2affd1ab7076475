"""Values and gradients at nan, infinities and zeros: those of PyTorch 2.13, or the limit where the comment says so."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from cases import over

import minigrad as mg
from minigrad.testing import gradcheck

F = mg.nn.functional
NAN, INF = math.nan, math.inf


def gradients(function: Callable[..., Any], *data: Any, dtype: str = "float64") -> Any:
    xs = [mg.Var(values, dtype=dtype, device="reference") for values in data]
    found = mg.grad(function(*xs).sum(), xs)
    return [g.tolist() for g in found] if len(found) > 1 else found[0].tolist()


@over("name", ["max", "min", "median", "amax", "amin"])
@over(("data", "wanted"), [([NAN] * 4, [0.25] * 4), ([1.0, NAN, 2.0], [0.0, 1.0, 0.0]),
                           ([NAN, 1.0, NAN], [0.5, 0.0, 0.5])], ids=str)  # fmt: skip
def test_an_extreme_that_is_nan_has_its_gradient_at_the_nan_elements(name: str, data: Any, wanted: Any) -> None:
    function = getattr(mg, name)
    np.testing.assert_allclose(gradients(function, data), wanted)
    x, t = (mg.tensor(v, dtype="float64", device="reference") for v in (data, [1.0, 2.0, 3.0, 4.0][: len(data)]))
    tangent = mg.func.jvp(function, (x,), (t,))[1].item()
    assert tangent == pytest.approx(np.dot(wanted, t.tolist()))


def test_the_nanmedian_of_nothing_but_nan_is_shared() -> None:
    np.testing.assert_allclose(gradients(mg.nanmedian, [NAN] * 3), [1 / 3] * 3)


@over("name", ["maximum", "minimum"])
def test_both_operands_of_a_nan_receive_the_gradient(name: str) -> None:
    assert gradients(getattr(mg, name), [NAN, 1.0, NAN], [2.0, NAN, NAN]) == [[1.0] * 3, [1.0] * 3]
    assert gradients(getattr(mg, name), [3.0, 2.0], [3.0, 2.0]) == [[0.5] * 2, [0.5] * 2]


@over("name", ["relu", "relu6", "hardtanh", "hardshrink", "softshrink", "elu"])
def test_a_gradient_passes_nan(name: str) -> None:
    function = getattr(F, name)
    assert gradients(function, [NAN, 0.75]) == [1.0, 1.0]
    assert math.isnan(function(mg.tensor([NAN], device="reference")).item())


@over("dtype", ["float32", "float64"])
def test_a_power_of_minus_two_has_infinite_gradients_at_zero_and_none_at_infinity(dtype: str) -> None:
    found = gradients(lambda x: x**-2, [-0.0, 0.0, -INF, INF, 2.0, NAN], dtype=dtype)
    np.testing.assert_array_equal(found, [INF, -INF, 0.0, -0.0, -0.25, NAN])
    assert np.signbit(found).tolist()[:5] == [False, True, False, True, True]


def test_the_curvature_of_a_power_of_minus_two_is_infinite_at_zero_and_none_at_infinity() -> None:
    x = mg.tensor([-0.0, 0.0, math.inf, -math.inf], device="reference", requires_grad=True)
    slope = mg.grad((x**-2).sum(), x, create_graph=True)
    assert mg.grad(slope.sum(), x).tolist() == [math.inf, math.inf, 0.0, 0.0]


@over("reduce", ["amax", "amin"])
@over("include_self", [True, False])
def test_an_extreme_of_scattered_elements_that_is_nan_has_its_gradient_at_them(reduce: str, include_self: bool) -> None:
    x = mg.tensor([1.0, 2.0, NAN], device="reference", requires_grad=True)
    source = mg.tensor([NAN, 2.0, 1.0, NAN], device="reference", requires_grad=True)
    index = mg.tensor([0, 1, 2, 0], device="reference")
    x.scatter_reduce(0, index, source, reduce, include_self=include_self).sum().backward()
    assert x.grad.tolist() == ([0.0, 0.5, 1.0] if include_self else [0.0] * 3)
    assert source.grad.tolist() == ([0.5, 0.5, 0.0, 0.5] if include_self else [0.5, 1.0, 1.0, 0.5])


@over("n", [2, 3, 4])
def test_derivatives_of_digamma_keep_their_digits_next_to_a_pole(n: int) -> None:
    small = np.array([1e-3, 1e-7, 1e-12])
    for x in (small, -small):
        found = mg.polygamma(n, mg.tensor(x, device="reference", dtype="float64")).numpy()
        # The other terms of the sum are those of zeta(n + 1).
        np.testing.assert_allclose(found, (-1) ** (n + 1) * math.factorial(n) * x ** -(n + 1.0), rtol=1e-8)


@over(
    ("data", "wanted"),
    [([INF, 0.0, 2.0], [0.0, INF, NAN]), ([NAN, 0.0, 2.0], [0.0, NAN, NAN]), ([0.0, INF, INF], [INF, NAN, NAN]),
     ([0.0, 0.0, 2.0], [0.0] * 3), ([0.0, 3.0, 4.0], [12.0, 0.0, 0.0]), ([2.0, 3.0], [3.0, 2.0])],
    ids=str,
)  # fmt: skip
def test_a_product_of_others_is_what_multiplication_gives(data: Any, wanted: Any) -> None:
    for function in (mg.prod, lambda x: x.prod(0)):
        np.testing.assert_array_equal(gradients(function, data), wanted)


def test_a_norm_of_negative_order_of_infinities_is_infinite() -> None:
    for order in (-1, -2, -0.5):
        assert mg.linalg.vector_norm(mg.tensor([INF, INF], device="reference"), order).item() == INF


@over("dtype", ["float16", "bfloat16"])
def test_an_eps_that_the_dtype_cannot_represent_still_works(dtype: str) -> None:
    x = mg.Var([[0.0, 0.0], [3.0, 4.0]], dtype=dtype, device="reference")
    y = F.normalize(x)
    np.testing.assert_allclose(y.tolist(), [[0.0, 0.0], [0.6, 0.8]], rtol=4e-3)
    assert y.dtype is x.dtype and mg.grad(y.sum(), x).isfinite().all().item()
    assert F.rms_norm(mg.full((2,), 1e-3, dtype=dtype, device="reference"), (2,)).tolist() == pytest.approx(
        [0.945] * 2, rel=8e-3
    )


def test_any_and_all_of_bytes_are_bytes() -> None:
    x = mg.tensor([[1, 0], [2, 3]], dtype="uint8", device="reference")
    assert [(y.dtype, y.tolist()) for y in (x.any(), x.all(1), mg.all(x, dim=0, keepdim=True))] == [
        (mg.uint8, 1), (mg.uint8, [0, 1]), (mg.uint8, [[1, 0]]),
    ]  # fmt: skip
    assert x.int().any().dtype is mg.bool


def test_incomplete_gamma_functions_have_the_limits_and_the_derivatives() -> None:
    a, x = [mg.tensor(v, dtype="float64", device="reference") for v in (
        [0.0, 0.0, 1.0, INF, 1.0, INF, NAN, -1.0, 1.0, 1.0, 3.0],
        [0.0, 1.0, 0.0, 2.0, INF, INF, 1.0, 1.0, -1.0, 2.0, 50.0],
    )]  # fmt: skip
    upper = [math.exp(-2.0), math.exp(-50.0) * (1 + 50 + 1250)]
    lower = [NAN, 1.0, 0.0, 0.0, 1.0, NAN, NAN, NAN, NAN, 1 - upper[0], 1 - upper[1]]
    np.testing.assert_allclose(mg.igamma(a, x).tolist(), lower, rtol=1e-13)
    np.testing.assert_allclose(mg.special.gammaincc(a, x).tolist()[-2:], upper, rtol=1e-12)
    np.testing.assert_allclose(mg.igammac(a, x).tolist()[:-2], [1 - v for v in lower[:-2]], rtol=1e-13)
    points = [mg.Var(v, dtype="float64", device="reference") for v in ([0.5, 10.0], [0.7, 12.0])]
    assert gradcheck(mg.igamma, points, modes=("reverse",))
    assert mg.igamma(a.half(), x.half()).dtype is mg.float16
    with pytest.raises(mg.DTypeError, match="igamma"):
        mg.igamma(a.long(), x.long())


def test_a_number_beyond_float16_next_to_float16_stays_finite() -> None:
    x = mg.Var([100.0, 0.001], dtype="float16", device="reference")
    for function, wanted in (
        (lambda x: x / 1e5, [0.001, 0.0]), (lambda x: x * 1e-6, [0.0001, 0.0]), (lambda x: (x * 1e5), [INF, 100.0]),
        (lambda x: x / 1e-6, [INF, 1000.0]), (lambda x: mg.lerp(x * 0, x, 70000.0), [INF, 70.0]),
    ):  # fmt: skip
        y = function(x)
        assert y.dtype is mg.float16
        np.testing.assert_allclose(y.tolist(), wanted, rtol=2e-3, atol=1e-7)
    assert mg.grad((x / 1e5).sum(), x).tolist() == pytest.approx([1e-5] * 2, rel=5e-3)
    assert (mg.tensor(2.0, dtype="float16", device="reference") / 1e5).dtype is mg.float16


def test_norms_with_wider_parameters_keep_the_dtype_of_the_input() -> None:
    w = mg.tensor([1.0, 2.0], device="reference")
    for dtype in (mg.float16, mg.bfloat16, mg.float32):
        x = mg.ones((3, 2), dtype=dtype, device="reference")
        assert F.layer_norm(x, (2,), w, w).dtype is F.rms_norm(x, (2,), w).dtype is dtype


def test_norms_of_long_rows_keep_their_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    w = mg.tensor([1.0, 2.0, 0.5, 3.0], device="reference")
    functions = (
        lambda x: F.layer_norm(x, (4,), w, w), lambda x: F.layer_norm(x, (4,)), lambda x: F.rms_norm(x, (4,), w),
        lambda x: F.group_norm(x.reshape(1, 4, 2, 2), 2, w, w), lambda x: F.layer_norm(x.half(), (4,), w).float(),
    )  # fmt: skip
    for function in functions:
        x = mg.Var([[1.0, -2.0, 0.5, 4.0]] * 4, device="reference")
        y = function(x)
        expected = y, mg.grad((y * y * y).sum(), x)
        for module in ("normalization", "group_norm"):
            monkeypatch.setattr(f"minigrad.ops.nn.{module}.LONG", 4)
        x = mg.Var([[1.0, -2.0, 0.5, 4.0]] * 4, device="reference")
        y = function(x + 0)
        for found, wanted in zip((y, mg.grad((y * y * y).sum(), x)), expected):
            np.testing.assert_allclose(found.tolist(), wanted.tolist(), rtol=2e-3, atol=2e-4)
        monkeypatch.undo()
