"""Scalar functions as plain Python.

`python_function` converts a declaration's body to a Python function over NumPy scalars, with the compute dtype `T`,
`math` and `np` bound to versions that follow IEEE 754 where Python would raise an error.  Elementary functions are
evaluated in float64 and rounded once, so a float32 result is the nearest one except in rare ties.  Tests compare
kernels with it in ulp.  The loops around these functions are in `loops` and its siblings.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import numpy as np

from minigrad.core.dtype import as_dtype, cast_array
from minigrad.core.op import ScalarFn
from minigrad.core.reducer import neutral
from minigrad.kernels.rendering import as_python

# Functions that are exact in every dtype, or return a boolean; they need no wider dtype.
DIRECT = {name: getattr(np, name) for name in ("isnan", "isinf", "isfinite", "fabs", "copysign", "fmod", "nextafter")}
ROUNDED: dict[str, Callable[..., Any]] = {
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log2": np.log2, "log10": np.log10,
    "log1p": np.log1p, "sqrt": np.sqrt, "cbrt": np.cbrt, "hypot": np.hypot, "pow": np.float_power,
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan,
    "atan2": np.arctan2, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh, "acosh": np.arccosh,
    "atanh": np.arctanh, "erf": math.erf, "erfc": math.erfc,
}  # fmt: skip
WHOLE = {"floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "rint": np.rint}


def gamma(x: float) -> float:
    """Return gamma(x): nan at negative integers and -inf, signed infinities at the zeros and on overflow."""
    try:
        return math.gamma(x)
    except ValueError:
        return math.copysign(math.inf, x) if x == 0 else math.nan
    except OverflowError:
        return math.copysign(math.inf, x)


def lgamma(x: float) -> float:
    """Return log(|gamma(x)|): inf at 0 and at negative integers."""
    try:
        return math.lgamma(x)
    except (ValueError, OverflowError):
        return math.inf


def logistic(x: float) -> float:
    """Return 1/(1 + exp(-x)), without overflow."""
    e = math.exp(-abs(x))
    return (e if x < 0 else 1.0) / (1.0 + e)


def normal_cdf(x: float) -> float:
    """Return the probability that a standard normal number is at most x."""
    h = -x / math.sqrt(2.0)
    if not -40.0 < x < -1.0:
        return 0.5 * math.erfc(h)
    # Rounding h changes the tail by h**2 units; the first term of the series corrects this.
    from fractions import Fraction  # imported here, because it imports `decimal`, and only one function needs it

    lost = float(Fraction(x) ** 2 / 2 - Fraction(h) ** 2) / (2.0 * h)
    return 0.5 * (math.erfc(h) - lost * math.exp(-h * h) * 2.0 / math.sqrt(math.pi))


def compute_type(compute: np.dtype[Any]) -> Callable[[Any], Any]:
    """Return `T`: a function that converts a number to a scalar of the compute dtype.  Integers wrap, as in registers.

    For the compute dtype bool, T returns a Python bool, which counts as 0 or 1 in arithmetic, as in a kernel.  A NumPy
    bool would raise an error.
    """
    if compute.kind == "b":
        return bool
    kind: Callable[[Any], Any] = compute.type
    if compute.kind in "fc":
        return kind
    dtype = as_dtype(compute)

    def integer(value: Any) -> Any:
        if value.__class__ is kind:
            return value
        if isinstance(value, (float, np.floating)):
            return cast_array(np.asarray(value), dtype)[()]
        try:
            return kind(value)
        except OverflowError:  # a literal such as -1 next to unsigned operands, or the lowest integer divided by -1
            return np.uint64(value & (1 << 64) - 1).astype(compute)

    return integer


def integer_power(a: Any, b: Any) -> int:
    """Return a to the power b, exactly; for b < 0, 1/a**-b without its fraction, and 0 for a = 0."""
    base, exponent = int(a), int(b)
    if exponent >= 0:
        # Every compute dtype stores at most the low 64 bits; the exact power could fill the memory.
        low = pow(base, exponent, 1 << 64)
        return low - (1 << 64) if low >> 63 else low
    if abs(base) == 1:
        return base if exponent % 2 else 1
    return 0


def integer_quotient(a: Any, b: Any) -> int:
    """Return the largest integer not above a/b; 0 for b = 0."""
    return int(a) // int(b) if b != 0 else 0


def integer_remainder(a: Any, b: Any) -> int:
    """Return a - b * (a // b), with the sign of b; 0 for b = 0."""
    return int(a) % int(b) if b != 0 else 0


def integer_fmod(a: Any, b: Any) -> int:
    """Return a - b * (a / b without its fraction), with the sign of a; 0 for b = 0."""
    rest = abs(int(a)) % abs(int(b)) if b != 0 else 0
    return -rest if a < 0 else rest


def integer_gcd(a: Any, b: Any) -> int:
    """Return the greatest common divisor, modulo 2**64."""
    return int(np.uint64(math.gcd(int(a), int(b))).astype(np.int64))


def names(compute: np.dtype[Any]) -> dict[str, Any]:
    """Return the names that a rendered body may use: T, saturate, math, np, _power and those of integers."""
    number = compute_type(compute)
    if compute.kind == "c":
        return complex_names(compute)

    def rounded(function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *args: number(np.float64(function(*map(np.float64, args))))

    functions: dict[str, Any] = {**DIRECT, **{name: rounded(function) for name, function in ROUNDED.items()}}
    functions |= {"gamma": rounded(gamma), "lgamma": rounded(lgamma), "normal_cdf": rounded(normal_cdf)}
    functions |= {"logistic": rounded(logistic)}
    # Integers need no rounding, and float64 cannot represent all of them.
    functions |= WHOLE if compute.kind == "f" else dict.fromkeys(WHOLE, lambda x: x)
    constants = {"pi": math.pi, "e": math.e, "inf": math.inf, "nan": math.nan}
    space = SimpleNamespace(**functions, **constants, float64=np.float64)
    whole = {"int_power": integer_power, "int_divide": integer_quotient, "int_modulo": integer_remainder,
             "int_fmod": integer_fmod, "int_gcd": integer_gcd}  # fmt: skip
    return {"T": number, "saturate": number, "math": space, "np": space, "_power": functions["pow"], **whole}


def complex_names(compute: np.dtype[Any]) -> dict[str, Any]:
    """Return the names of a body that computes in complex numbers: a function accepts real and complex numbers."""
    of_parts = names(np.dtype(f"float{4 * compute.itemsize}"))
    number, real = compute.type, of_parts["T"]

    def either(name: str) -> Callable[..., Any]:
        wide: Any = COMPLEX.get(name) or ROUNDED.get(name)

        def call(*args: Any) -> Any:
            if not any(isinstance(x, np.complexfloating) for x in args):
                return getattr(of_parts["math"], name)(*args)
            return number(wide(*map(np.complex128, args)))

        return call

    space = SimpleNamespace(**vars(of_parts["math"]))
    vars(space).update({name: either(name) for name in (*ROUNDED, "logistic")}, float32=real, float64=real)
    return of_parts | {"T": number, "math": space, "np": space, "_power": either("pow"), "complex": complex}


def logistic_of_complex(z: Any) -> Any:
    """Return 1/(1 + exp(-z)), without overflow."""
    e = np.exp(-z if z.real >= 0 else z)
    return (1.0 if z.real >= 0 else e) / (1.0 + e)


def expm1_of_complex(z: Any) -> Any:
    """Return e**z - 1; for large real parts from exp, because NumPy's expm1 lacks its special values and scaling."""
    return np.expm1(z) if abs(z.real) < 80.0 else np.exp(z) - 1.0


def log1p_of_complex(z: Any) -> Any:
    """Return log(1 + z); NumPy's log1p loses the real part of a small z."""
    small = abs(z) < 0.5
    real = 0.5 * np.log1p(z.real * (2.0 + z.real) + z.imag * z.imag) if small else np.log(abs(1.0 + z))
    return np.complex128(complex(real, np.arctan2(z.imag, 1.0 + z.real)))


def complex_power(a: Any, b: Any) -> Any:
    """Return a**b; 0**0 is 1, and 0 to a power with a positive real part is 0."""
    if a == 0 or b == 0:
        return np.complex128(1.0 if b == 0 else 0.0 if b.real > 0 else np.exp(b * np.log(a)))
    return np.exp(b * np.log(a))


COMPLEX = {"logistic": logistic_of_complex, "pow": complex_power, "expm1": expm1_of_complex, "log1p": log1p_of_complex}


@lru_cache(2048)
def python_function(scalar: ScalarFn, compute: np.dtype[Any]) -> Callable[..., Any]:
    """Return the scalar function over scalars of `compute`, whose result is also a scalar of `compute`."""
    return as_python(scalar, compute, names(compute))


def tuple_function(scalar: ScalarFn, compute: np.dtype[Any]) -> Callable[..., tuple[Any, ...]]:
    """Return `python_function` in a form that returns a tuple even for one result."""
    function = python_function(scalar, compute)
    return function if scalar.results > 1 else lambda *args: (function(*args),)


def first_accumulator(identity: str, compute: np.dtype[Any]) -> Any:
    """Return the identity of a reduction as a scalar of the compute dtype."""
    return compute_type(compute)(neutral(identity, as_dtype(compute)))
