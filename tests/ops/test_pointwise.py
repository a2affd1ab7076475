"""Functions of one element where they bend, jump or end: the values and gradients of PyTorch 2.13."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from cases import over

import minigrad as mg
from minigrad.errors import ArgumentError, DeclarationError, DTypeError, ShapeError

F, S = mg.nn.functional, mg.special
NAN, INF = math.nan, math.inf

# The function, its operand, the value and the gradient.
KINKS: dict[str, tuple[Any, list[float], list[float], list[float]]] = {
    "celu": (lambda x: F.celu(x, 0.5), [-INF, 0.0, INF], [-0.5, 0.0, INF], [0.0, 1.0, 1.0]),
    "selu": (F.selu, [-INF, 0.0], [-1.7580993408473766, 0.0], [0.0, 1.7580993408473766]),
    "mish": (F.mish, [0.0, 300.0, -1000.0], [0.0, 300.0, 0.0], [0.6, 1.0, 0.0]),
    "softsign": (F.softsign, [0.0, 1e300, -1e300], [0.0, 1.0, -1.0], [1.0, 0.0, 0.0]),
    "hardsigmoid": (F.hardsigmoid, [-3.0, 0.0, 3.0, NAN], [0.0, 0.5, 1.0, NAN], [0.0, 1 / 6, 0.0, 0.0]),
    "hardtanh": (F.hardtanh, [-1.0, 0.5, 1.0, NAN], [-1.0, 0.5, 1.0, NAN], [0.0, 1.0, 0.0, 1.0]),
    "hardshrink": (F.hardshrink, [-0.5, 0.5, 0.6, NAN], [0.0, 0.0, 0.6, NAN], [0.0, 0.0, 1.0, 1.0]),
    "softshrink": (F.softshrink, [-0.5, 0.5, 1.5, NAN], [0.0, 0.0, 1.0, NAN], [0.0, 0.0, 1.0, 1.0]),
    "tanhshrink": (F.tanhshrink, [0.0, INF], [0.0, INF], [0.0, 1.0]),
    "threshold": (lambda x: mg.threshold(x, 1.0, 7.0), [1.0, 2.0, NAN], [7.0, 2.0, NAN], [0.0, 1.0, 1.0]),
    "prelu": (lambda x: mg.prelu(x, mg.tensor(0.25, device="reference")), [0.0, -4.0, 2.0], [0.0, -1.0, 2.0],
              [0.25, 0.25, 1.0]),
    "copysign": (lambda x: mg.copysign(x, -0.0), [0.0, 2.0, -2.0], [-0.0, -2.0, -2.0], [0.0, -1.0, 1.0]),
    "frac": (mg.frac, [-2.5, 3.0, INF], [-0.5, 0.0, NAN], [1.0, 1.0, 1.0]),
    "fmax": (lambda x: mg.fmax(x, 1.0), [1.0, NAN, 2.0, 0.0], [1.0, 1.0, 2.0, 1.0], [1.0, 0.0, 1.0, 0.0]),
    "fmin": (lambda x: mg.fmin(x, 1.0), [1.0, NAN, 2.0, 0.0], [1.0, 1.0, 1.0, 0.0], [1.0, 0.0, 0.0, 1.0]),
    "fmax-nan": (lambda x: mg.fmax(x, NAN), [1.0, NAN], [1.0, NAN], [1.0, 1.0]),
    "float_power": (lambda x: mg.float_power(mg.tensor(0.0, device="reference"), x), [2.0, 0.0, -1.0], [0.0, 1.0, INF],
                    [0.0, 0.0, -INF]),
    "heaviside": (lambda x: mg.heaviside(x, 5.0), [-1.0, -0.0, 2.0, NAN], [0.0, 5.0, 1.0, 0.0], [0.0] * 4),
    "fmod": (lambda x: mg.fmod(x, INF), [-5.0, -0.0], [-5.0, -0.0], [1.0, 1.0]),
    "clamp_min": (lambda x: mg.clamp_min(x, 1.0), [0.0, 1.0, NAN], [1.0, 1.0, NAN], [0.0, 1.0, 0.0]),
    "clamp_max-nan": (lambda x: mg.clamp_max(x, NAN), [0.0, INF], [NAN, NAN], [0.0, 0.0]),
    "nan_to_num": (mg.nan_to_num, [NAN, INF, -INF, 2.0], [0.0, 1.7976931348623157e308, -1.7976931348623157e308, 2.0],
                   [0.0, 0.0, 0.0, 1.0]),
    "logit": (mg.logit, [0.0, 1.0, 0.5, 2.0], [-INF, INF, 0.0, NAN], [INF, INF, 4.0, NAN]),
    "logit-eps": (lambda x: mg.logit(x, 0.25), [0.0, 0.25], [-math.log(3), -math.log(3)], [0.0, 16 / 3]),
    "sinc": (mg.sinc, [0.0, 1e-9], [1.0, 1.0], [0.0, -3.289868133696453e-09]),
    "xlogy": (lambda x: mg.xlogy(x, 0.0), [0.0, 1.0, NAN], [0.0, -INF, NAN], [0.0, -INF, -INF]),
    "xlog1py": (lambda x: S.xlog1py(x, -1.0), [0.0, 1.0], [0.0, -INF], [0.0, -INF]),
    "entr": (S.entr, [0.0, -1.0, 1.0], [0.0, -INF, 0.0], [INF, NAN, -1.0]),
    "lgamma": (mg.lgamma, [0.0, -1.0, 1.0], [INF, INF, 0.0], [-INF, NAN, -0.5772156649015329]),
    "digamma": (mg.digamma, [0.0, -0.0, -2.0, INF], [-INF, INF, NAN, INF], [INF, INF, INF, 0.0]),
    "erfinv": (mg.erfinv, [-1.0, 0.0, 2.0], [-INF, 0.0, NAN], [INF, 0.886226925452758, NAN]),
    "ndtri": (S.ndtri, [0.0, 0.5, 1.0, -1.0], [-INF, 0.0, INF, NAN], [INF, 2.5066282746310002, INF, NAN]),
    "log_ndtr": (S.log_ndtr, [-1e4, 40.0], [-50000010.12927891], [10000.00009999], ),
    "i0": (mg.i0, [0.0, -1.0], [1.0, 1.2660658777520084], [0.0, -0.565159103992485]),
    "i0e": (S.i0e, [0.0, 1e8], [1.0, 3.989422809001093e-05], [0.0, -1.9947114094873315e-13]),
    "i1": (S.i1, [0.0, -1.0], [0.0, -0.565159103992485], [0.5, 0.7009067737595233]),
    "i1e": (S.i1e, [0.0], [0.0], [0.5]),
}  # fmt: skip


@pytest.mark.usefixtures("reference")
def test_an_integer_has_no_power_of_a_negative_int() -> None:
    x, flags = mg.tensor([1, 2], dtype="uint8"), mg.tensor([True])
    calls = [lambda: x**-1, lambda: x**-2, lambda: mg.pow(x, -1), lambda: x.pow(-1), lambda: x.pow_(-1),
             lambda: mg.pow(x, -1, out=mg.zeros(2)), lambda: flags**-1, lambda: mg.zeros(0, dtype="int64") ** -1,
             lambda: x ** np.int64(-3), lambda: mg.func.vmap(lambda row: row**-1)(x)]  # fmt: skip
    for call in calls:
        with pytest.raises(DTypeError, match=r"cannot be raised to a negative integer power, .*\.float\(\)"):
            call()
    assert x.tolist() == [1, 2]
    assert (x**-1.0).tolist() == (x.float() ** -1).tolist() == [1.0, 0.5]
    assert (x ** mg.tensor([-1, -1])).tolist() == [1, 0] and (2 ** mg.tensor([-1, 1])).tolist() == [0, 2]
    assert ((-2) ** mg.tensor([1, 2])).tolist() == [-2, 4] and (x**3).tolist() == [1, 8]
    assert mg.tensor([2.0], dtype="float16").pow(-2).tolist() == [0.25]


@over("name", KINKS)
def test_values_and_gradients_at_kinks_and_ends(name: str) -> None:
    function, at, values, gradients = KINKS[name]
    x = mg.Var(at[: len(values)], dtype="float64", device="reference")
    y = function(x)
    np.testing.assert_allclose(y.detach().numpy(), values, rtol=1e-12)
    np.testing.assert_allclose(mg.grad(y.sum(), x).numpy(), gradients, rtol=1e-12)


def test_minus_zero_keeps_its_sign() -> None:
    x = mg.tensor([-0.0], device="reference")
    for function in (F.softsign, F.celu, F.selu, F.mish, mg.erfinv, S.i1, S.i1e, mg.positive, mg.deg2rad):
        assert mg.signbit(function(x)).item() is True, function


@pytest.mark.parametrize("device", ["reference", "cpu"])
def test_divisors_and_remainders_of_whole_numbers(device: str) -> None:
    lowest = -(2**63)
    a = mg.tensor([12, -12, 0, 0, lowest, lowest, 5], device=device)
    b = mg.tensor([18, 18, -7, 0, 6, -1, 0], device=device)
    assert mg.gcd(a, b).tolist() == [6, 6, 7, 0, 2, 1, 5]
    assert mg.fmod(a, b).tolist() == [12, -12, 0, 0, -2, 0, 0]
    assert mg.floor_divide(a, b).tolist() == [0, -1, 0, 0, lowest // 6, lowest, 0], "the quotient of -1 wraps"
    assert mg.lcm(a, b).tolist()[:4] == [36, 36, 0, 0]


def test_shifts_beyond_the_width_are_those_of_pytorch() -> None:
    a, by = mg.tensor([3, -3], dtype="int8", device="reference"), [0, 1, 7, 8, 40, 64, -1]
    left = [[3, -3], [6, -6], [-128, -128], [0, 0], [0, 0], [0, 0], [0, 0]]
    right = [[3, -3], [1, -2], [0, -1], [0, -1], [0, -1], [0, -1], [0, -1]]
    assert [mg.bitwise_left_shift(a, n).tolist() for n in by] == left
    assert [mg.bitwise_right_shift(a, n).tolist() for n in by] == right


def test_a_bool_is_no_whole_number_and_a_float_has_no_divisor() -> None:
    yes, x = mg.tensor([True], device="reference"), mg.tensor([1.0], device="reference")
    for function in (mg.gcd, mg.lcm, mg.bitwise_left_shift, mg.bitwise_right_shift):
        for wrong in (yes, x):
            with pytest.raises(DTypeError, match=f"^{function.__name__}: "):
                function(wrong, wrong)
    with pytest.raises(DeclarationError, match=r"math\.gcd\(x, 2\) is for integers, and halved computes in float32"):

        @mg.elementwise(dtype=mg.rules.promote)
        def halved(x):
            """The divisor of x and 2."""
            return math.gcd(x, 2)

        halved(x)


def test_prelu_has_a_weight_for_each_channel() -> None:
    x = mg.tensor([[[-1.0, 2.0], [-1.0, -2.0]]], device="reference")
    assert mg.prelu(x, mg.tensor([0.5, 3.0], device="reference")).tolist() == [[[-0.5, 2.0], [-3.0, -6.0]]]
    with pytest.raises(
        ShapeError, match=r"^prelu: weight must have 1 element, or 2 for float32\(1, 2, 2\), got float32\(3,\)"
    ):
        mg.prelu(x, mg.ones(3, device="reference"))
    with pytest.raises(ShapeError, match=r"^glu: dim 1 of the input must have an even length, got float32\(2, 3\)"):
        F.glu(mg.ones(2, 3, device="reference"))


def test_polygamma_is_a_function_of_the_order_and_a_method_of_the_tensor() -> None:
    x = mg.tensor([0.5, 2.0], dtype="float64", device="reference")
    assert x.polygamma(0).tolist() == x.digamma().tolist() == S.psi(x).tolist()
    assert mg.polygamma(1, x)[0].item() == pytest.approx(math.pi**2 / 2, rel=1e-14)
    assert mg.polygamma(2, x).tolist() == pytest.approx([-16.8287966442343, -0.4041138063191886], rel=1e-13)
    assert mg.special.gammaln is mg.lgamma and mg.special.expit is mg.sigmoid


def test_result_dtypes_of_whole_numbers_and_halves() -> None:
    i, h = mg.tensor([1, 2], device="reference"), mg.tensor([1.0, 2.0], dtype="float16", device="reference")
    for function in (mg.deg2rad, mg.sinc, mg.lgamma, mg.i0, mg.logit, S.entr, F.softsign):
        assert function(i).dtype is mg.float32 and function(h).dtype is mg.float16
    assert mg.float_power(i, 2).dtype is mg.float64 and mg.ldexp(h, 2).dtype is mg.float16
    assert mg.threshold(i, 1, 7).tolist() == [7, 2] and mg.nan_to_num(i).dtype is mg.int64
    assert mg.nan_to_num(h / 0.0).tolist() == [65504.0, 65504.0]


def test_a_complex_exponent_of_float_power_is_not_rounded() -> None:
    base = np.array([1.3, 0.7], np.float32)
    found = mg.float_power(mg.tensor(base, device="reference"), 2.1 + 1.1j)
    np.testing.assert_allclose(found.numpy(), np.float_power(base, 2.1 + 1.1j), rtol=1e-14)


def test_a_sum_of_bools_with_a_factor_is_a_bool() -> None:
    x = mg.tensor([True, False], device="reference")
    assert mg.add(x, x, alpha=2).tolist() == [True, False] and mg.add(~x, True, alpha=0).tolist() == [False, True]
    assert mg.add(x.long(), x, alpha=3).tolist() == [4, 0]


def test_arithmetic_of_numbers_alone_is_that_of_tensors_without_dims() -> None:
    with mg.device("reference"):
        assert mg.add(True, True) is not True and mg.add(True, True).dtype is mg.bool
        assert mg.sub(5, 3).dtype is mg.int64 and mg.div(5, 2).item() == 2.5 and mg.mul(2, 1.5).dtype is mg.float32
        with pytest.raises(DTypeError, match="at least one operand must be a tensor"):
            mg.maximum(1, 2)


def test_a_tensor_without_dims_is_a_scalar_argument_unless_it_needs_a_gradient() -> None:
    x, two = mg.ones(2, device="reference"), mg.tensor(2.0, device="reference")
    assert mg.addcmul(x, x, x, value=two).tolist() == [3.0, 3.0] and x.std(correction=two).isnan()
    with pytest.raises(ArgumentError, match="addcmul: value"):
        mg.addcmul(x, x, x, value=mg.Var(2.0))


def test_gradients_of_float_power_are_computed_in_float64() -> None:
    values, exponents = np.random.default_rng(1).uniform(0.5, 2, (2, 50)).astype(np.float32)
    x, y = (mg.Var(a, device="reference") for a in (values, exponents))
    mg.float_power(x, y).sum().backward()
    a, b = np.float64(values), np.float64(exponents)
    assert x.grad is not None and (x.grad.numpy() == np.float32(b * a ** (b - 1))).all()
    assert y.grad is not None and (y.grad.numpy() == np.float32(a**b * np.log(a))).all()


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_polygamma_below_zero_is_the_sum_of_its_terms(n: int) -> None:
    x = np.array([-0.3, -1.5, -4.8, -30.25, -0.999])
    terms = ((x + np.arange(40000)[:, None]) ** -(n + 1.0)).sum(0)  # what is left out is below 1e-9
    expected = (-1) ** (n + 1) * math.factorial(n) * terms
    y = mg.polygamma(n, mg.tensor(x, device="reference"))
    np.testing.assert_allclose(y.tolist(), expected, rtol=1e-8)
    assert mg.polygamma(n, mg.tensor([-2.0, -0.0], device="reference")).isinf().all().item()


def test_zeta_of_a_broken_exponent_is_nan_below_zero() -> None:
    q = mg.tensor([-0.5, -3.0, 0.5], dtype="float64", device="reference")
    y = mg.special.zeta(2.5, q).tolist()
    assert math.isnan(y[0]) and y[1] == math.inf and y[2] == pytest.approx(6.2473, rel=1e-4)


def test_signs_and_squares_of_bool() -> None:
    mask = mg.tensor([False, True], device="reference")
    for y in (mask.sign(), mg.sgn(mask), mask.clone().sign_()):
        assert y.dtype is mg.bool and y.tolist() == [False, True]
    assert mask.square().dtype is mg.int64 and mask.square().tolist() == [0, 1]
    with pytest.raises(mg.DTypeError, match="square_: the result is int64"):
        mask.square_()
    with pytest.raises(mg.DTypeError, match="sign"):
        (mask + 1j).sign()
