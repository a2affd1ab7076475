"""float16 and bfloat16 in integer arithmetic: uint16 in memory, float32 in registers, on every target.

Numba's CPU target has no 16-bit float arithmetic, so the source text of these functions is pasted above the loop of a
kernel that reads or writes these dtypes (see `specialize`).  They are ordinary Python over NumPy scalars as well; in
this form the tests compare all 65,536 patterns with NumPy and ml_dtypes.  Source of the layouts: IEEE 754-2008 section
3.6 (binary16); bfloat16 is the upper half of a binary32.
"""

import numpy as np


def half_to_float(h):
    """float16 bits to float32, exact; subnormals, infinities and nan payloads included."""
    magnitude = np.uint32(np.uint32(h) & np.uint32(0x7FFF))
    # The exponent field moves over with a bias that is 112 too small; the product repairs it, subnormals too.
    scaled = np.uint32(magnitude << np.uint32(13)).view(np.float32) * np.float32(5.192296858534828e33)
    special = np.uint32(0x7F800000) if magnitude >= np.uint32(0x7C00) else np.uint32(0)
    sign = np.uint32((np.uint32(h) & np.uint32(0x8000)) << np.uint32(16))
    return np.uint32(np.float32(scaled).view(np.uint32) | special | sign).view(np.float32)


def float_to_half(x):
    """float32 to float16 bits, to the nearest, ties to even; beyond 65504 to infinity, nan to a quiet nan."""
    bits = np.float32(x).view(np.uint32)
    sign = np.uint32((bits >> np.uint32(16)) & np.uint32(0x8000))
    magnitude = np.uint32(bits & np.uint32(0x7FFFFFFF))
    odd = np.uint32((magnitude >> np.uint32(13)) & np.uint32(1))
    # 112 is the difference of the exponent biases; the addition carries a rounded mantissa into the exponent.
    clamped = min(max(magnitude, np.uint32(0x38800000)), np.uint32(0x47800000))
    normal = np.uint32((clamped - np.uint32(0x38000000) + np.uint32(0xFFF) + odd) >> np.uint32(13))
    # Below 2**-14 the sum with one half has the spacing of a half's subnormals, so the FPU rounds.
    small = np.uint32(min(magnitude, np.uint32(0x38800000))).view(np.float32) + np.float32(0.5)
    subnormal = np.uint32(np.float32(small).view(np.uint32) - np.uint32(0x3F000000))
    finite = normal if magnitude >= np.uint32(0x38800000) else subnormal
    result = np.uint32(0x7E00) if magnitude > np.uint32(0x7F800000) else min(finite, np.uint32(0x7C00))
    return np.uint16(sign | result)


def bfloat_to_float(h):
    """bfloat16 bits to float32, exact."""
    return np.uint32(np.uint32(h) << np.uint32(16)).view(np.float32)


def float_to_bfloat(x):
    """float32 to bfloat16 bits, to the nearest, ties to even; nan to a quiet nan."""
    bits = np.float32(x).view(np.int32)
    # A nan comes first, so that the additions never leave the 32 bits; the last shift keeps the sign, so that two
    # vectors pack into one.
    quiet = np.int32(np.int32(bits & np.int32(-0x80000000)) | np.int32(0x7FC00000))
    bits = quiet if x != x else bits
    odd = np.int32(np.int32(bits >> np.int32(16)) & np.int32(1))
    return np.uint16(np.uint32(np.int32(np.int32(bits + np.int32(0x7FFF)) + odd) >> np.int32(16)) & np.uint32(0xFFFF))


def round_to_odd(x):
    """float64 to float32, inexact results to the odd neighbour, so that rounding again to a half is exact.

    Source: Boldo and Melquiond, "When double rounding is odd", IMACS 2005.
    """
    nearest = np.float32(x)
    bits = nearest.view(np.uint32)
    if np.float64(nearest) == x or x != x:
        return nearest
    if abs(np.float64(nearest)) > abs(x):
        bits = np.uint32(bits - np.uint32(1))
    return np.uint32(bits | np.uint32(1)).view(np.float32)
