"""Random numbers by Philox4x32-10: element i is a pure function of the key, the counter and i.

Philox maps a key and a counter to a block of four 32-bit words.  So threads do not share a state: a kernel computes the
block that an element needs.  Element i in row-major order takes its words from block `counter + i // per_block(kind,
dtype)`.  The source text of `philox` and of the value functions is pasted into the CPU kernels (see `specialize`); the
reference backend calls the same functions on NumPy scalars.  Each 32-bit word is stored in a uint64, so that no product
overflows.

Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC'11, section 3.3 and table 2.
"""

from __future__ import annotations

from collections.abc import Callable
from math import cos, log, sin, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minigrad.core.dtype import DType, as_dtype, cast_array, int64, to_logical

MASK64 = (1 << 64) - 1
FUNCTIONS = ("cos", "log", "sin", "sqrt")  # the functions that `normal32` and `normal64` call


def philox(key, c0, c1, c2, c3):  # type: ignore[no-untyped-def]
    """Return the block of a 64-bit key and a counter of four words: four 32-bit words, each in a uint64."""
    low = np.uint64(0xFFFFFFFF)
    half = np.uint64(32)
    k0 = key & low
    k1 = key >> half
    for _ in range(10):
        p = c0 * np.uint64(0xD2511F53)
        q = c2 * np.uint64(0xCD9E8D57)
        c0 = (q >> half) ^ c1 ^ k0
        c1 = q & low
        c2 = (p >> half) ^ c3 ^ k1
        c3 = p & low
        # In each round the key grows by 2**32 times the fractions of the golden ratio and of sqrt(3).
        k0 = (k0 + np.uint64(0x9E3779B9)) & low
        k1 = (k1 + np.uint64(0xBB67AE85)) & low
    return c0, c1, c2, c3


def uniform32(w0, w1, w2, w3, low, span, last):  # type: ignore[no-untyped-def]
    """Return four float32 in [low, low + span), from 24 random bits each.

    None of them is above `last`.
    """
    unit = np.float32(5.9604644775390625e-08)
    byte = np.uint64(8)
    return (
        min(low + span * (np.float32(w0 >> byte) * unit), last),
        min(low + span * (np.float32(w1 >> byte) * unit), last),
        min(low + span * (np.float32(w2 >> byte) * unit), last),
        min(low + span * (np.float32(w3 >> byte) * unit), last),
    )


def uniform64(w0, w1, w2, w3, low, span, last):  # type: ignore[no-untyped-def]
    """Return two float64 in [low, low + span), from the upper 53 bits of a pair of words; none is above `last`."""
    unit = np.float64(1.1102230246251565e-16)
    u0 = np.float64(((w0 << np.uint64(32)) | w1) >> np.uint64(11)) * unit
    u1 = np.float64(((w2 << np.uint64(32)) | w3) >> np.uint64(11)) * unit
    return min(low + span * u0, last), min(low + span * u1, last)


def normal32(w0, w1, w2, w3, mean, deviation, last):  # type: ignore[no-untyped-def]
    """Return four normally distributed float32 by Box-Muller.

    They are the cosine and the sine of the first pair of words, then of the second pair.  The radius uses all 32 bits
    of a word, plus 1, so that the argument of the logarithm is never 0.
    """
    unit = np.float32(2.3283064365386963e-10)
    turn = np.float32(1.4629180792671596e-09)
    u0 = np.float32(w0 + np.uint64(1)) * unit
    u1 = np.float32(w2 + np.uint64(1)) * unit
    r0 = deviation * np.float32(sqrt(np.float32(-2.0) * np.float32(log(u0))))
    r1 = deviation * np.float32(sqrt(np.float32(-2.0) * np.float32(log(u1))))
    t0 = np.float32(w1) * turn
    t1 = np.float32(w3) * turn
    x0 = np.float32(cos(t0))
    y0 = np.float32(sin(t0))
    x1 = np.float32(cos(t1))
    y1 = np.float32(sin(t1))
    return mean + r0 * x0, mean + r0 * y0, mean + r1 * x1, mean + r1 * y1


def normal64(w0, w1, w2, w3, mean, deviation, last):  # type: ignore[no-untyped-def]
    """Return two normally distributed float64 by Box-Muller: the cosine and the sine.

    The radius and the angle use 53 random bits each; the radius adds 1, so that the argument of the logarithm is never
    0.
    """
    unit = np.float64(1.1102230246251565e-16)
    u = np.float64((((w0 << np.uint64(32)) | w1) >> np.uint64(11)) + np.uint64(1)) * unit
    t = np.float64(((w2 << np.uint64(32)) | w3) >> np.uint64(11)) * (unit * np.float64(6.283185307179586))
    r = deviation * sqrt(np.float64(-2.0) * log(u))
    return mean + r * cos(t), mean + r * sin(t)


def integer64(w0, w1, w2, w3, low, span, last):  # type: ignore[no-untyped-def]
    """Return two int64 in [low, low + span): low + the upper half of the 128-bit product of span and a pair of words.

    low and span are the bits of unsigned integers.  A span of 0 stands for 2**64.  The probability of each value is off
    by less than 2**-64, so no words are rejected.
    """
    half = np.uint64(32)
    mask = np.uint64(0xFFFFFFFF)
    start = np.uint64(low)
    size = np.uint64(span)
    s0 = size & mask
    s1 = size >> half
    # Long multiplication in base 2**32.  Each carry fits into 64 bits, so no sum wraps around.
    carry0 = (w0 * s0) + ((w1 * s0) >> half)
    carry1 = (w2 * s0) + ((w3 * s0) >> half)
    high0 = w0 * s1 + (carry0 >> half) + (((carry0 & mask) + w1 * s1) >> half)
    high1 = w2 * s1 + (carry1 >> half) + (((carry1 & mask) + w3 * s1) >> half)
    x0 = (w0 << half) | w1 if size == np.uint64(0) else high0
    x1 = (w2 << half) | w3 if size == np.uint64(0) else high1
    # The 64-bit addition has two parts, because NumPy scalars would warn if the whole sum wrapped around.
    y0 = (start & mask) + (x0 & mask)
    y1 = (start & mask) + (x1 & mask)
    z0 = (((start >> half) + (x0 >> half) + (y0 >> half)) & mask) << half
    z1 = (((start >> half) + (x1 >> half) + (y1 >> half)) & mask) << half
    return np.int64(z0 | (y0 & mask)), np.int64(z1 | (y1 & mask))


def value_function(kind: str, dtype: DType) -> Callable[..., tuple[Any, ...]]:
    """Return the function that converts four words to `per_block` values, in order.

    kind: "uniform", "normal" or "integer".  Integers of every width use 64 random bits; float16 and bfloat16 are
    computed as float32.
    """
    if kind == "integer":
        return integer64
    wide = dtype.compute == np.float64
    if kind == "uniform":
        return uniform64 if wide else uniform32
    return normal64 if wide else normal32


def per_block(kind: str, dtype: DType) -> int:
    """Return the number of values per block: 2 for float64 and for all integers, 4 for the other floats."""
    return 2 if kind == "integer" or dtype.compute == np.float64 else 4


def block_words(kind: str, dtype: DType) -> dict[str, Any]:
    """Return the words of a loop over blocks of words, on any target."""
    return {"VALUES": value_function(kind, dtype), "PER": per_block(kind, dtype)}


def blocks(kind: str, dtype: DType, numel: int) -> int:
    """Return how many blocks `numel` values use: the increment of the counter."""
    return -(-numel // per_block(kind, dtype))


def limit_dtype(kind: str, dtype: DType) -> DType:
    """Return the dtype of the limits; int64 contains the bits of unsigned integers."""
    return int64 if kind == "integer" else as_dtype(dtype.compute)


def limits(kind: str, dtype: DType, low: float, high: float) -> NDArray[Any]:
    """Return the last three arguments of a value function.

    They are an array of `limit_dtype`.  For "uniform" these are low, high - low, and the largest value of `dtype` below
    high (low if there is none).  Without this bound, rounding a product, or a float32 to a 16-bit float, could return
    high.
    """
    if kind == "integer":
        return np.array([int(low) & MASK64, (int(high) - int(low)) & MASK64, 0], np.uint64).view(np.int64)
    low, high = float(low), float(high)
    if kind == "normal":
        return np.array([low, high, 0.0], dtype.compute)
    return np.array([low, high - low, max(low, below(high, dtype))], dtype.compute)


def below(high: float, dtype: DType) -> float:
    """Return the largest finite value of a float dtype that is smaller than `high`."""
    stored = to_logical(cast_array(np.asarray(float(high)), dtype), dtype)
    if float(stored) >= high:
        stored = np.nextafter(stored, np.asarray(-np.inf, dtype.numpy))
    return float(stored)
