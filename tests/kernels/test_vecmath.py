"""Elementary functions of kernels against higher precision, in ulp: at most 2, 4 for tan and lgamma,
7 for the normal distribution, 3 for the logistic function.

float32 is held to float64, float64 to the 80 bits of longdouble where the platform has them and to tables of mpmath's
values.  `python -m tests.kernels.exhaustive_vecmath` runs every float32.
"""

import ast
import itertools
import math

import numpy as np
import pytest
import vecmath_values
from cases import over
from vector_loops import BINARY, errors, evaluate, neighbours, text_of

from minigrad.backends.reference.scalars import normal_cdf
from minigrad.kernels import calling, vecmath

LIMITS = {"tan": 4, "lgamma": 4, "normal_cdf": 7, "logistic": 3}
NUMPY = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh", "acosh": "arccosh",
         "atanh": "arctanh", "atan2": "arctan2", "pow": "float_power"}  # fmt: skip
SLOW = ("erf", "erfc", "lgamma", "normal_cdf")  # no NumPy function: math, one value at a time
UNARY = sorted(vecmath.FUNCTIONS - set(BINARY))
F32, F64 = np.dtype(np.float32), np.dtype(np.float64)
LONG = np.finfo(np.longdouble).nmant >= 63
INF, NAN = math.inf, math.nan


def by_math(name):
    """erf, erfc, normal_cdf and lgamma of a float, with lgamma's poles."""

    def value(x):
        try:
            return normal_cdf(x) if name == "normal_cdf" else getattr(math, name)(x)
        except (ValueError, OverflowError):
            return INF

    return np.vectorize(value, otypes=[np.float64])


def exact(name, wide, *operands):
    """The function in a wider type."""
    # Signalling nans among the bit patterns, poles and overflow raise flags that belong to the exact value as well.
    with np.errstate(all="ignore"):
        if name in SLOW:
            return by_math(name)(operands[0].astype(np.float64)).astype(np.longdouble)
        if name == "logistic":
            return (1 / (1 + np.exp(-operands[0].astype(wide)))).astype(np.longdouble)
        function = getattr(np, NUMPY.get(name, name))
        return function(*(x.astype(wide) for x in operands)).astype(np.longdouble)


def hold(name, got, wanted, *operands, limit=None):
    """Assert that every error is within the limit; the message shows the worst."""
    far = errors(got, wanted)
    worst = np.argpartition(-far, min(3, far.size - 1))[:3]
    shown = [(*(float(x[k]) for x in operands), float(got[k]), float(wanted[k]), float(far[k])) for k in worst]
    assert far.max() <= (limit or LIMITS.get(name, 2)), f"{name}: x, result, exact, ulp: {shown}"


@over("name", UNARY, items=8)
def test_float32_over_all_bit_patterns(name):
    # Every 1009th pattern: all exponents, both signs; every 20011th where the exact value costs more.
    patterns = np.arange(0, 1 << 32, 20011 if name in SLOW else 1009, dtype=np.uint64).astype(np.uint32).view(F32)
    dense = np.linspace(-12, 12, 20011 if name in SLOW else 400009).astype(F32)
    x = np.concatenate([patterns, dense, neighbours(F32)])
    hold(name, evaluate(name, x), exact(name, np.float64, x), x)


def wide_range(n):
    """float64 numbers: random patterns, and random numbers where the functions change."""
    g = np.random.default_rng(3)
    parts = [g.integers(0, 2**64, n, dtype=np.uint64).view(F64), g.standard_normal(n), g.uniform(-30, 30, n),
             g.uniform(-760, 760, n), 1 + g.standard_normal(n) * 0.01, np.exp(g.uniform(-20, 20, n)),
             g.uniform(-1.9e5, 1.9e5, n)]  # fmt: skip
    return np.concatenate([*parts, neighbours(F64)])


@pytest.mark.skipif(not LONG, reason="longdouble is no wider than float64 here")
@over("name", [n for n in UNARY if n not in SLOW])
def test_float64_against_longdouble(name):
    x = wide_range(40_000)
    hold(name, evaluate(name, x), exact(name, np.longdouble, x), x)


@pytest.mark.parametrize("name", SLOW)
def test_float64_against_a_table_of_mpmath(name):
    x, high, low = (np.array(column) for column in zip(*getattr(vecmath_values, name.upper())))
    wanted = high.astype(np.longdouble) + low
    hold(name, evaluate(name, x), wanted, x)
    if name == "erf":
        hold(name, evaluate(name, -x), -wanted, -x)


def test_lgamma_below_0_counts_by_the_larger_of_two_logarithms():
    x, high, low = (np.array(column) for column in zip(*vecmath_values.LGAMMA_BELOW_0))
    wanted = high.astype(np.longdouble) + low
    got = evaluate("lgamma", x)
    part = np.maximum(np.abs(high), np.abs(by_math("lgamma")(-x)))
    assert (np.abs(got - wanted) / np.spacing(part)).max() < 3
    # Away from the zeros that makes a bound in ulp of the result.
    away = np.abs(high) >= part / 2
    assert away.sum() > 60
    hold("lgamma", got[away], wanted[away], x[away])


@pytest.mark.parametrize("dtype", [F32, F64], ids=str)
def test_lgamma_is_infinite_at_its_poles(dtype):
    x = np.array([0.0, -0.0, -1.0, -2.0, -7.0, -1e6, -(2.0**23) - 1, np.finfo(dtype).min, -INF, INF], dtype)
    assert evaluate("lgamma", x).tolist() == [INF] * 10
    assert math.isnan(evaluate("lgamma", np.array([-1.5, NAN], dtype))[1])


@pytest.mark.parametrize("name", SLOW)
def test_float64_near_the_library(name):
    # The library itself may be an ulp or two off; poles, overflow and special values must be the same.
    x = wide_range(2000)
    got, wanted = evaluate(name, x), exact(name, np.float64, x)
    if name == "lgamma":  # near its zeros, and where large terms cancel for x < 0, the library counts in absolute terms
        some = np.isfinite(wanted) & ((np.abs(wanted) < 0.5) | (x < 0))
        scale = 1 + np.abs(by_math("lgamma")(np.abs(x[some])))
        assert (np.abs(got[some] - wanted[some]) / scale).max() < 1e-14
        x, got, wanted = x[~some], got[~some], wanted[~some]
    hold(name, got, wanted, x, limit=8)


@pytest.mark.parametrize("dtype", [F32, F64], ids=str)
@pytest.mark.parametrize("name", ["pow", "atan2", "hypot"])
def test_binary_functions_over_random_numbers(name, dtype):
    if dtype == F64 and not LONG:
        pytest.skip("longdouble is no wider than float64 here")
    g = np.random.default_rng(5)
    n, top = 200_000, 40 if dtype == F32 else 300
    y = np.concatenate([g.standard_normal(n), g.uniform(-25, 25, n), g.uniform(-300, 300, n)]).astype(dtype)
    x = np.concatenate([np.exp(g.uniform(-top, top, 2 * n)), 1 + g.standard_normal(n) * 0.2]).astype(dtype)
    x = np.abs(x) if name == "pow" else x * np.sign(g.standard_normal(3 * n)).astype(dtype)
    hold(name, evaluate(name, x, y), exact(name, np.longdouble, x, y), x, y)


@pytest.mark.parametrize("dtype", [F32, F64], ids=str)
def test_powers_near_overflow_and_underflow(dtype):
    # There an error of the logarithm counts most; most of all where the logarithm's series is longest.
    if dtype == F64 and not LONG:
        pytest.skip("longdouble is no wider than float64 here")
    g = np.random.default_rng(7)
    n, top = 100_000, 103.0 if dtype == F32 else 744.0
    roots = np.sqrt(2.0) * np.array([[1.0], [0.5]]) * (1 + g.uniform(-0.02, 0.02, (2, n)))
    x = np.concatenate([*roots, g.uniform(0.5, 2, n), 1 + g.standard_normal(n) * 1e-3]).astype(dtype)
    logarithm = np.log(x.astype(F64))
    y = (g.uniform(-1.0, 1.0, 4 * n) * top / np.where(logarithm == 0.0, 1.0, logarithm)).astype(dtype)
    hold("pow", evaluate("pow", x, y), exact("pow", np.longdouble, x, y), x, y, limit=1 if dtype == F32 else 2)


@pytest.mark.parametrize("dtype", [F32, F64], ids=str)
@pytest.mark.parametrize("name", ["pow", "atan2", "hypot"])
def test_binary_functions_keep_the_tables_of_ieee_754(name, dtype):
    kind = np.finfo(dtype)
    values = [0.0, 1.0, 2.0, 3.0, 0.5, 1.5, 1e-3, 7.25, kind.max, kind.tiny, kind.smallest_subnormal, 1 + kind.eps, INF,
              2.0**24 + 2, 2.0**53]  # fmt: skip
    values = [*values, *(-v for v in values), NAN]
    x, y = np.array(list(itertools.product(values, values)), dtype).T.copy()
    hold(name, evaluate(name, x, y), exact(name, np.longdouble, x, y), x, y)


@pytest.mark.parametrize("dtype", [F32, F64], ids=str)
@pytest.mark.parametrize("name", ["remainder", "floor_divide", "fmod"])
def test_quotients_are_exact_with_the_signs_of_numpy(name, dtype):
    g = np.random.default_rng(1)
    n = 50_000
    y = g.standard_normal(n).astype(dtype) + dtype.type(0.1)
    whole = g.integers(-(2**18), 2**18, n).astype(dtype)  # multiples of y, and their neighbours
    near = [np.nextafter(y * whole, dtype.type(side)) for side in (-INF, INF)]
    halves = (g.integers(-1000, 1000, n) / 8).astype(dtype)
    specials = np.array(list(itertools.product([0.0, -0.0, 1.0, -2.5, 1e30, 1e-40, INF, -INF, NAN], repeat=2)), dtype).T
    patterns = g.integers(0, 1 << 8 * dtype.itemsize, (2, n), dtype=f"u{dtype.itemsize}").view(dtype)
    for a, b in [(y * whole, y), (near[0], y), (near[1], y), (halves, np.roll(halves, 7) + (halves == 0)),
                 (g.standard_normal(n).astype(dtype), y), specials, patterns]:  # fmt: skip
        with np.errstate(all="ignore"):
            wanted = getattr(np, name)(a, b)
        got = evaluate(name, a.copy(), b.copy())
        assert np.array_equal(got, wanted, equal_nan=True)
        assert np.array_equal(np.signbit(got)[got == 0], np.signbit(wanted)[got == 0])


@pytest.mark.parametrize("dtype", [F32, F64], ids=str)
def test_hypot_of_all_magnitudes(dtype):
    if dtype == F64 and not LONG:
        pytest.skip("longdouble is no wider than float64 here")
    kind, g = np.finfo(dtype), np.random.default_rng(4)
    powers = np.repeat(np.arange(kind.minexp - kind.nmant, kind.maxexp), 20)
    x = np.ldexp(g.uniform(1, 2, powers.size), powers).astype(dtype)
    for shift in (0, 1, -3, 30):
        y = np.ldexp(g.uniform(1, 2, powers.size), np.minimum(powers + shift, kind.maxexp - 1)).astype(dtype)
        hold("hypot", evaluate("hypot", x, y), exact("hypot", np.longdouble, x, y), x, y)


@pytest.mark.parametrize("dtype", [F32, F64], ids=str)
def test_nextafter_is_exact_between_all_neighbours(dtype):
    values = np.append(neighbours(dtype), np.nextafter(np.finfo(dtype).max, dtype.type(0)))
    values = np.concatenate([values, np.random.default_rng(2).standard_normal(20_000).astype(dtype)])
    for y in (np.roll(values, 1), np.roll(values, 5), -values, values.copy(), np.nextafter(values, dtype.type(INF))):
        with np.errstate(all="ignore"):
            wanted = np.nextafter(values, y)
        got = evaluate("nextafter", values, y)
        assert np.array_equal(got, wanted, equal_nan=True)
        assert np.array_equal(np.signbit(got)[got == 0], np.signbit(wanted)[got == 0])


def test_whole_powers_are_exact():
    for dtype, most in ((F32, 2**24), (F64, 2**53)):
        pairs = [(b, e) for b in range(-60, 61) for e in range(40) if abs(b) ** e <= most]
        x, y = np.array(pairs, dtype).T.copy()
        assert evaluate("pow", x, y).tolist() == [float(b**e) for b, e in pairs]


@pytest.mark.parametrize("dtype", [F32, F64], ids=str)
def test_values_that_are_exact_stay_exact(dtype):
    def at(name, *x):
        return evaluate(name, np.array(x, dtype)).tolist()

    assert at("exp", 0.0, -0.0, -INF, INF) == [1.0, 1.0, 0.0, INF]
    assert at("exp2", *range(-20, 20)) == [2.0**k for k in range(-20, 20)]
    assert at("log", 1.0, 0.0, -0.0, INF) == [0.0, -INF, -INF, INF]
    assert at("log2", *(2.0**k for k in range(-120, 120))) == [float(k) for k in range(-120, 120)]
    assert at("log10", 1.0, 10.0, 1000.0) == [0.0, 1.0, 3.0]
    assert at("cos", 0.0, -0.0) == at("cosh", 0.0, -0.0) == at("erfc", 0.0, -0.0) == [1.0, 1.0]
    assert at("acos", 1.0) == at("acosh", 1.0) == at("lgamma", 1.0, 2.0)[:1] == [0.0]
    assert at("cbrt", 8.0, -27.0, 1000.0, -0.0) == [2.0, -3.0, 10.0, 0.0]
    assert at("tanh", INF, -INF) == at("erf", INF, -INF) == [1.0, -1.0]


@pytest.mark.parametrize("dtype", [F32, F64], ids=str)
@pytest.mark.parametrize("name", ["sin", "cos", "erf", "tanh"])
def test_bounded_functions_stay_in_their_bounds(name, dtype):
    x = np.linspace(-1000, 1000, 1_000_003).astype(dtype)
    assert 0.999 < np.abs(evaluate(name, x)).max() <= 1.0


@pytest.mark.parametrize("name", ["sin", "cos", "tan", "lgamma"])
def test_a_rare_argument_does_not_change_its_neighbours(name):
    x = np.linspace(0.5, 40, 1000)
    alone = evaluate(name, x)
    mixed = evaluate(name, np.append(x, -3e7))
    assert np.array_equal(mixed[:-1], alone)


def test_the_pasted_text_is_complete_and_holds_nothing_else():
    text = text_of("exp", 32)
    assert "def exp_32(" in text and "exp_64" not in text and "log" not in text.replace("algorithm", "")
    for name, bits in itertools.product(sorted(vecmath.FUNCTIONS), (32, 64)):
        tree = ast.parse(text_of(name, bits))
        names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        assert not {n for n in names if n in ("U", "horner")}, name


def test_a_loop_with_rare_arguments_stands_twice():
    text = text_of("sin", 64)
    assert text.count("for i in range(count):") == 3
    assert "rare |= is_far_64(in_0[i])" in text and "out[i] = sin_64(in_0[i])" in text
    assert "out[i] = sin_any_64(in_0[i])" in text


def test_the_text_runs_without_a_compiler():
    # As with NUMBA_DISABLE_JIT, where the decorators do nothing.
    space = {}
    exec(text_of("exp", 32).replace("@njit", "# @njit").replace("natives", "python_natives"), space)
    out, x = np.empty(4, F32), np.array([0, 1, -100, 5], F32)
    calling.plain(space["kernel"])(x, out, np.array([1, 0, 4]))
    assert errors(out, np.exp(x.astype(F64))).max() < 2


def test_a_comment_does_not_hide_the_innermost_loop() -> None:
    loop = "    for j in range(n):\n        # An index for each element.\n        z[j] = sin_any_32(x[j])\n"
    assert "rare" in vecmath.guarded(loop) and "= sin_32(x[j])" in vecmath.guarded(loop)
