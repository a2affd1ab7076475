"""Rows of functions of one element: activations, signs and bits, and special functions.

Their loops are those of other rows.  The oracles of special functions are sums, integrals and searches.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import minigrad as mg
from minigrad.ops.pointwise import explog, special, trigonometry

from .row import ALL, FLOATS, INTS, NUMBERS, Row


def _row(name: str, numpy: Callable[..., Any], *domains: str, **more: Any) -> Row:
    """A row of the function of that name, in mg, mg.nn.functional or mg.special."""
    rooms = (mg, mg.nn.functional, mg.special)
    function = more.pop("fn", None) or next(getattr(room, name) for room in rooms if hasattr(room, name))
    more = {"ops": (name,), "dtypes": ALL, "result": "float", "kernels": False} | more
    return Row(name, function, numpy, domains or ("real",), **more)


def _selu(x: np.ndarray) -> np.ndarray:
    return 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(np.minimum(x, 0)))


def _composed(name: str, numpy: Callable[..., Any], *shapes: tuple[int, ...], **more: Any) -> Row:
    """A row of a function that is made of others."""
    more = {"ops": (), "dtypes": FLOATS, "refuses": False, "kernels": False} | more
    return Row(name, getattr(mg.nn.functional, name), numpy, ("real",) * len(shapes), shapes=shapes, **more)


def _glu(x: np.ndarray) -> np.ndarray:
    a, b = np.split(x, 2, -1)
    return a / (1 + np.exp(-b))


def _each(function: Callable[..., float]) -> Callable[..., Any]:
    """A function of numbers as one of arrays; 1/0 is infinite."""

    def of_arrays(*xs: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            shape = np.broadcast_shapes(*map(np.shape, xs))
            rows = zip(*[np.broadcast_to(np.asarray(x, np.float64), shape).ravel() for x in xs])
            return np.array([function(*row) for row in rows], np.float64).reshape(shape)

    return of_arrays


def _lgamma(x: float) -> float:
    return math.inf if x <= 0 and x == math.floor(x) else math.lgamma(x)


def _digamma(x: Any) -> float:
    steps = [x + k for k in range(30)]
    z = x + 30
    return math.log(z) - 1 / (2 * z) - 1 / (12 * z**2) + 1 / (120 * z**4) - 1 / (252 * z**6) - sum(1 / q for q in steps)


def _zeta(s: Any, q: Any) -> float:
    z = q + 50
    far = z ** (1 - s) / (s - 1) + z**-s / 2 + s * z ** (-s - 1) / 12 - s * (s + 1) * (s + 2) * z ** (-s - 3) / 720
    return sum((q + k) ** -s for k in range(50)) + far


def _bessel(order: int, scaled: bool) -> Callable[..., Any]:
    """The mean of exp(x*cos(t)) * cos(order*t) over a circle, whose sum over 64 points is exact."""
    t = np.arange(64) * (2 * np.pi / 64)
    return lambda x: (np.exp(np.asarray(x)[..., None] * np.cos(t) - scaled * abs(np.asarray(x, float)[..., None]))
                      * np.cos(order * t)).mean(-1)  # fmt: skip


def _inverse(function: Callable[[float], float], low: float, high: float) -> Callable[..., Any]:
    """The inverse of a rising function, by bisection; infinite at its ends."""

    def solve(y: float) -> float:
        if not low < y < high:
            return math.inf if y == high else -math.inf if y == low else math.nan
        a, b = -9.0, 9.0
        for _ in range(80):
            middle = (a + b) / 2
            a, b = (middle, b) if function(middle) < y else (a, middle)
        return a

    return _each(solve)


def _ndtr(x: float) -> float:
    return math.erfc(-x / math.sqrt(2)) / 2


def _bits(name: str, numpy: Callable[..., Any], domain: str) -> Row:
    return _row(name, numpy, "distinct", domain, dtypes=INTS, result=None, smooth=False)


def _asked(name: str, numpy: Callable[..., Any]) -> Row:
    return _row(name, numpy, result="bool", smooth=False)


ROWS = [
    _row("celu", lambda x, alpha: np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0) / alpha)), "real", "positive"),
    _row("selu", _selu),
    _row("mish", lambda x: x * np.tanh(np.log1p(np.exp(x)))),
    _row("softsign", lambda x: x / (1 + np.abs(x))),
    _row("hardsigmoid", lambda x: np.clip(x / 6 + 0.5, 0, 1)),
    Row("hardsigmoid-ends", lambda x: mg.nn.functional.hardsigmoid(x * 4.0), lambda x: np.clip(x / 1.5 + 0.5, 0, 1),
        ("real",), ("hardsigmoid",), dtypes=FLOATS, refuses=False, kernels=False),
    _row("hardtanh", lambda x, lo, hi: np.where(x <= lo, lo, np.where(x >= hi, hi, x)), "real", "low", "high"),
    _row("hardshrink", lambda x, lambd: np.where(np.abs(x) > lambd, x, 0), "real", "positive"),
    _row("softshrink", lambda x, lambd: np.sign(x) * np.maximum(np.abs(x) - lambd, 0), "real", "positive"),
    _row("tanhshrink", lambda x: x - np.tanh(x), tolerance=4),
    _row("threshold", lambda x, t, value: np.where(x > t, x, value), "real", "small", "real", result=None,
         dtypes=NUMBERS),
    _composed("prelu", lambda x, w: np.where(x > 0, x, w[:, None] * x), (2, 3, 4), (3,)),
    _composed("glu", _glu, (3, 4), ops=("glu",)),
    _row("copysign", np.copysign, "real", "real"),
    _row("heaviside", np.heaviside, "real", "real", dtypes=ALL, result=None, order2=False),
    Row("heaviside-at-0", lambda x: mg.heaviside(x.detach() * 0.0, x), lambda x: x, ("real",), ("heaviside",),
        ((2, 3, 4),), dtypes=FLOATS, refuses=False, kernels=False),
    _row("frac", lambda x: x - np.trunc(x), result=None, dtypes=NUMBERS, tolerance=4),
    _row("cube", lambda x: x * x * x, result=None, dtypes=NUMBERS, fn=explog.cube, tolerance=4),
    _row("fmod", lambda x, y: np.fmod(x, y), "real", "above1", result=None, dtypes=NUMBERS),
    *[_row(name, getattr(np, name), "real", "real", result=None) for name in ("fmax", "fmin")],
    _row("ldexp", lambda x, y: x * 2.0**y, "real", "real"),
    _row("float_power", np.float_power, "positive", "real", result="float64"),
    _row("nan_to_num", lambda x, *_: x, result=None, order2=False, shapes=((2, 3, 4),)),
    *[_row(name, function, "real", "real", ops=(), result=None)
      for name, function in (("clamp_min", np.maximum), ("clamp_max", np.minimum))],
    _row("nextafter", np.nextafter, "real", "real", result=None, dtypes=("float32", "float64"), order2=False),
    _asked("signbit", np.signbit),
    _asked("isposinf", lambda x: x == np.inf),
    _asked("isneginf", lambda x: x == -np.inf),
    _asked("isreal", lambda x: x == x),
    _bits("bitwise_left_shift", np.left_shift, "whole"),
    _bits("bitwise_right_shift", np.right_shift, "whole"),
    _bits("gcd", np.gcd, "distinct"),
    _bits("lcm", np.lcm, "distinct"),
    _row("bitwise_not", np.bitwise_not, "distinct", ops=(), dtypes=("bool", *INTS), result=None, smooth=False),
    _row("positive", lambda x: x, ops=(), result=None, dtypes=NUMBERS),
    _row("rsub", lambda x, y: y - x, "real", "real", ops=(), result=None, dtypes=NUMBERS),
    _row("deg2rad", np.deg2rad),
    _row("rad2deg", np.rad2deg),
    _row("sinc", np.sinc, tolerance=4),
    _row("sinc_derivative", lambda x: (np.cos(np.pi * x) - np.sinc(x)) / np.where(x == 0, 1, x), "real",
         fn=trigonometry.sinc_derivative, tolerance=8),
    Row("sinc_derivative-near", lambda x: trigonometry.sinc_derivative(x * 0.1),
        lambda x: (np.cos(np.pi * x / 10) - np.sinc(x / 10)) / x * 10, ("real",), ("sinc_derivative",), dtypes=FLOATS,
        refuses=False, tolerance=64, kernels=False),
    _row("logit", lambda x: np.log(x / (1 - x)), "share", tolerance=4),
    Row("logit-eps", lambda x: mg.logit(x, 0.3), lambda x: np.log(np.clip(x, 0.3, 0.7) / (1 - np.clip(x, 0.3, 0.7))),
        ("share",), ("logit",), dtypes=FLOATS, refuses=False, tolerance=4, kernels=False),
    _row("xlogy", lambda x, y: x * np.log(y), "real", "positive"),
    _row("xlog1py", lambda x, y: x * np.log1p(y), "real", "positive"),
    _row("entr", lambda x: np.where(x == 0, 0, -x * np.log(np.where(x == 0, 1, x))), "positive"),
    _row("lgamma", _each(_lgamma), "positive", tolerance=4),
    _row("digamma", _each(_digamma), "positive", tolerance=16),
    Row("digamma-below", lambda x: mg.digamma(x - 3.5), lambda x: _each(_digamma)(x - 3.5), ("share",), ("digamma",),
        dtypes=FLOATS, refuses=False, tolerance=64, kernels=False),
    _row("trigamma", _each(lambda x: _zeta(2.0, x)), "positive", fn=special.trigamma, tolerance=16),
    Row("trigamma-below", lambda x: special.trigamma(x - 3.5), lambda x: _each(lambda q: _zeta(2.0, q))(x - 3.5),
        ("share",), ("trigamma",), dtypes=FLOATS, refuses=False, tolerance=64, kernels=False),
    _row("zeta", _each(lambda q: _zeta(2.5, q)), "positive", fn=lambda q: mg.special.zeta(2.5, q),
         shapes=((2, 3, 4),), tolerance=16),
    Row("polygamma", lambda x: mg.polygamma(3, x), lambda x: 6 * _each(lambda q: _zeta(4.0, q))(x), ("positive",), (),
        dtypes=FLOATS, refuses=False, tolerance=16, kernels=False),
    Row("mvlgamma", lambda x: mg.mvlgamma(x, 2), lambda x: _each(lambda q: _lgamma(q) + _lgamma(q - 0.5) + math.log(
        math.pi) / 2)(x), ("above1",), (), dtypes=FLOATS, refuses=False, tolerance=16, kernels=False),
    Row("igamma", lambda x: mg.igamma(mg.full_like(x, 3.0), x), lambda x: 1 - np.exp(-x) * (1 + x + x * x / 2),
        ("positive",), (), dtypes=FLOATS, refuses=False, tolerance=16, shapes=((2, 2),), kernels=False),
    Row("igammac", lambda x: mg.igammac(mg.full_like(x, 3.0), x), lambda x: np.exp(-x) * (1 + x + x * x / 2),
        ("positive",), (), dtypes=FLOATS, refuses=False, tolerance=16, shapes=((2, 2),), kernels=False),
    _row("i0", _bessel(0, False), tolerance=4),
    _row("i0e", _bessel(0, True), tolerance=4),
    _row("i1", _bessel(1, False), tolerance=8),
    _row("i1e", _bessel(1, True), tolerance=8),
    Row("i1e-far", lambda x: mg.special.i1e(x * 6.0), lambda x: _bessel(1, True)(6 * x), ("real",), ("i1e",),
        dtypes=FLOATS, refuses=False, tolerance=64, kernels=False),
    Row("i0e-far", lambda x: mg.special.i0e(x * 6.0), lambda x: _bessel(0, True)(6 * x), ("real",), ("i0e",),
        dtypes=FLOATS, refuses=False, tolerance=16, kernels=False),
    _row("erfinv", _inverse(math.erf, -1, 1), "unit", tolerance=4),
    _row("ndtri", _inverse(_ndtr, 0, 1), "share", tolerance=8),
    _row("log_ndtr", _each(lambda x: math.log(_ndtr(x))), tolerance=4),
    Row("log_ndtr-far", lambda x: mg.special.log_ndtr(x * 10.0), lambda x: _each(lambda q: math.log(_ndtr(q)))(10 * x),
        ("low",), ("log_ndtr",), dtypes=FLOATS, refuses=False, tolerance=4, kernels=False),
]  # fmt: skip
