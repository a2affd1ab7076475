"""float16 and bfloat16 in integer arithmetic, on every target: uint16 in memory, float32 in registers.

Numba's CPU target has no 16-bit float arithmetic.  So the source text of these functions is pasted above the loop of a
kernel that reads or writes these dtypes (see `specialize`).  The functions also run as ordinary Python over NumPy
scalars: in this form the tests compare them with NumPy and ml_dtypes for all 65,536 bit patterns.  Source of the
layouts: IEEE 754-2008 section 3.6 (binary16); a bfloat16 is the upper 16 bits of a binary32.
"""

import numpy as np


def half_to_float(h):
    """Convert the bits of a float16 to float32, exactly, also for subnormals, infinities and nan payloads."""
    magnitude = np.uint32(np.uint32(h) & np.uint32(0x7FFF))
    # The shift leaves an exponent that is 112 too small.  The factor 2**112 corrects it, also for subnormals.
    scaled = np.uint32(magnitude << np.uint32(13)).view(np.float32) * np.float32(5.192296858534828e33)
    special = np.uint32(0x7F800000) if magnitude >= np.uint32(0x7C00) else np.uint32(0)
    sign = np.uint32((np.uint32(h) & np.uint32(0x8000)) << np.uint32(16))
    return np.uint32(np.float32(scaled).view(np.uint32) | special | sign).view(np.float32)


def float_to_half(x):
    """Convert a float32 to the bits of the nearest float16; ties go to the even one.

    Magnitudes that round beyond 65504 become infinity, and every nan becomes a quiet nan.
    """
    bits = np.float32(x).view(np.uint32)
    sign = np.uint32((bits >> np.uint32(16)) & np.uint32(0x8000))
    magnitude = np.uint32(bits & np.uint32(0x7FFFFFFF))
    odd = np.uint32((magnitude >> np.uint32(13)) & np.uint32(1))
    # 112 is the difference of the exponent biases.  If rounding overflows the mantissa, the exponent grows by one.
    clamped = min(max(magnitude, np.uint32(0x38800000)), np.uint32(0x47800000))
    normal = np.uint32((clamped - np.uint32(0x38000000) + np.uint32(0xFFF) + odd) >> np.uint32(13))
    # Below 2**-14, float32 values near 0.5 have the spacing of float16 subnormals, so adding 0.5 rounds correctly.
    small = np.uint32(min(magnitude, np.uint32(0x38800000))).view(np.float32) + np.float32(0.5)
    subnormal = np.uint32(np.float32(small).view(np.uint32) - np.uint32(0x3F000000))
    finite = normal if magnitude >= np.uint32(0x38800000) else subnormal
    result = np.uint32(0x7E00) if magnitude > np.uint32(0x7F800000) else min(finite, np.uint32(0x7C00))
    return np.uint16(sign | result)


def bfloat_to_float(h):
    """Convert the bits of a bfloat16 to float32, exactly."""
    return np.uint32(np.uint32(h) << np.uint32(16)).view(np.float32)


def float_to_bfloat(x):
    """Convert a float32 to the bits of the nearest bfloat16.

    Ties go to the even one, and every nan becomes a quiet nan.
    """
    bits = np.float32(x).view(np.int32)
    # A nan is replaced before the additions, so that they do not overflow 32 bits.  The last shift is arithmetic: with
    # the sign kept, the processor can pack two vectors into one.
    quiet = np.int32(np.int32(bits & np.int32(-0x80000000)) | np.int32(0x7FC00000))
    bits = quiet if x != x else bits
    odd = np.int32(np.int32(bits >> np.int32(16)) & np.int32(1))
    return np.uint16(np.uint32(np.int32(np.int32(bits + np.int32(0x7FFF)) + odd) >> np.int32(16)) & np.uint32(0xFFFF))


def round_to_odd(x):
    """Convert a float64 to float32; an inexact result is the neighbour with an odd mantissa.

    Rounding this result again, to a 16-bit float, is then the same as rounding the float64 once.

    Source: Boldo and Melquiond, "When double rounding is odd", IMACS 2005.
    """
    nearest = np.float32(x)
    bits = nearest.view(np.uint32)
    if np.float64(nearest) == x or x != x:
        return nearest
    if abs(np.float64(nearest)) > abs(x):
        bits = np.uint32(bits - np.uint32(1))
    return np.uint32(bits | np.uint32(1)).view(np.float32)
