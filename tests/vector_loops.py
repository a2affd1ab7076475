"""Loops around one function of `kernels.vecmath`, written and compiled like any kernel, and errors counted in ulp."""

import functools

import numpy as np

import minigrad as mg
from minigrad.core.dtype import f32, f64
from minigrad.kernels import calling, specialize, store, vecmath

BINARY = ("pow", "atan2", "remainder", "floor_divide", "fmod", "hypot", "nextafter")
OPS = {"normal_cdf": "ndtr", "logistic": "sigmoid"}  # under another name


# ruff: noqa: F821
def unary(in_K, out, numbers):  # type: ignore[no-untyped-def]
    """out = f(in_0), element by element."""
    count = numbers[0]
    for i in range(count):
        out[i] = STORE(CALL(LOAD_0(in_0[i])))


def binary(in_K, out, numbers):  # type: ignore[no-untyped-def]
    """out = f(in_0, in_1), element by element."""
    count = numbers[0]
    for i in range(count):
        out[i] = STORE(CALL(LOAD_0(in_0[i]), LOAD_1(in_1[i])))


@functools.cache
def text_of(name, bits):
    """Return the text of a kernel that calls one function."""
    dtype = f32 if bits == 32 else f64
    operands = (dtype, dtype) if name in BINARY else (dtype,)
    return specialize.write_kernel(
        f"{name} of {dtype}.",
        binary if name in BINARY else unary,
        operands=operands,
        out=dtype,
        compute=dtype.compute,
        constants={"CALL": vecmath.calls(dtype.compute)[name]},
    )


def evaluate(name, *operands):
    """Return a function of arrays, computed by the kernel of the op with this function, or by a loop around it."""
    op = mg.schema.get(OPS.get(name, name))
    if op is not None:
        with mg.override(parallel_threshold=1 << 60):
            return op.public(*map(mg.from_numpy, operands)).numpy()
    bits = 8 * operands[0].dtype.itemsize
    kernel = calling.function(store.load(f"{name}_{bits}_loop", text_of(name, bits)), "alone")
    out = np.empty_like(operands[0])
    kernel(*operands, out, np.array([1, 0, out.size], np.int64))
    return out


def errors(got, exact):
    """The distance of results from exact values, in units of the last place of the exact value.

    float32 is measured in float64, which holds its ulp with 29 bits to spare and is much faster than longdouble.

    Subnormal numbers share the smallest unit.  Two nan are 0 apart, a nan and a number 1e9; so are an infinity and a
    number that does not round to it, and two zeros of different sign where the exact value is a zero.
    """
    kind = np.finfo(got.dtype)
    wide = np.float64 if got.dtype == np.float32 else np.longdouble
    with np.errstate(all="ignore"):
        exact = exact.astype(wide)
        exponent = np.where(np.isfinite(exact), np.frexp(np.abs(exact))[1] - 1, 0)
        unit = np.ldexp(wide(1), np.maximum(exponent, kind.minexp) - kind.nmant)
        far = np.abs(got.astype(wide) - exact) / unit
        top = wide(kind.max) * (1 + wide(2) ** (-kind.nmant - 2))
        over, infinite = np.abs(exact) >= top, np.isinf(got)
        same_sign = np.signbit(got) == np.signbit(exact)
    far = np.where(over, np.where(infinite & same_sign, 0, np.where(np.abs(got) == kind.max, 1, 1e9)), far)
    far = np.where(infinite & ~over, np.where(np.abs(exact) > kind.max * (1 - 2.0**-22), 1, 1e9), far)
    nans = np.isnan(exact), np.isnan(got)
    far = np.where(nans[0] | nans[1], np.where(nans[0] & nans[1], 0, 1e9), far)
    return np.where((exact == 0) & (got == 0) & ~same_sign & ~nans[0], 1e9, far).astype(np.float64)


def neighbours(dtype):
    """Return all powers of two with three neighbours on either side, subnormals, limits of functions and special
    values."""
    whole = np.dtype(f"u{dtype.itemsize}")
    kind = np.finfo(dtype)
    powers = np.ldexp(1.0, np.arange(kind.minexp - kind.nmant, kind.maxexp)).astype(dtype)
    near = [(powers.view(whole).astype(np.int64) + d).view(np.int64).astype(whole).view(dtype) for d in range(-3, 4)]
    edges = np.array(
        [88.72283, 88.72284, -103.97, -103.98, -87.34, 89.41599, 709.782712893384, 709.7827128933841, 710.4758600739439,
         -745.1332191019411, -745.1332191019412, 128, -149, -150, 1024, -1074, -1075, 10.05, 26.54, 27.2, 3.92, 5.92,
         1.5, 2.5, 7, 0.625, 0.6, 1.4142135, 0.70710677, np.pi, np.pi / 2, 22, 355, 1e5, 1.5e5]
    ).astype(dtype)  # fmt: skip
    edges = np.concatenate([edges, np.nextafter(edges, dtype.type(0)), np.nextafter(edges, dtype.type(1e6))])
    numbers = np.concatenate([*near, edges])
    specials = np.array([0.0, -0.0, np.inf, -np.inf, np.nan], dtype)
    return np.concatenate([numbers, -numbers, specials])
