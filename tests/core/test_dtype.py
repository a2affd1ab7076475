"""Dtypes: promotion of several dtypes, and the result of casting each number."""

import copy
import math
import pickle
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from cases import over

from minigrad.core import dtype as module
from minigrad.core.dtype import (
    ALL,
    COMPLEXES,
    FLOATS,
    INTS,
    as_dtype,
    bfloat16,
    bool_,
    cast_array,
    complex64,
    complex128,
    default_float,
    fit_number,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    promote,
    promote_number,
    set_default_float,
    to_logical,
    uint8,
    uint16,
    uint32,
    uint64,
)
from minigrad.errors import ArgumentError, DTypeError

REALS = [dtype for dtype in ALL if not dtype.is_complex]
pairs = over(("a", "b"), [(a, b) for a in ALL for b in ALL])


@pytest.mark.parametrize("dtype", ALL)
def test_a_dtype_is_one_object_under_all_its_names(dtype):
    assert copy.copy(dtype) is copy.deepcopy(dtype) is pickle.loads(pickle.dumps(dtype)) is dtype
    assert as_dtype(dtype) is as_dtype(dtype.name) is as_dtype(dtype.short) is as_dtype(dtype.numpy) is dtype
    assert as_dtype(dtype.numpy.type) is dtype and as_dtype(dtype.numpy.newbyteorder(">")) is dtype
    assert str(dtype) == dtype.name and repr(dtype) == f"mg.{dtype.name}"
    assert ALL[dtype.code] is dtype
    assert getattr(module, dtype.name if dtype is not bool_ else "bool_") is dtype
    with pytest.raises(AttributeError, match="cannot be changed"):
        dtype.name = "other"


def test_the_table_of_facts():
    facts = {
        d.name: (d.itemsize, d.kind, str(d.storage), str(d.compute), str(d.accumulator), str(d.sum_dtype)) for d in ALL
    }
    assert facts == {
        "bool": (1, "bool", "bool", "bool", "int64", "int64"),
        "uint8": (1, "uint", "uint8", "uint8", "int64", "int64"),
        "int8": (1, "int", "int8", "int8", "int64", "int64"),
        "uint16": (2, "uint", "uint16", "uint16", "int64", "int64"),
        "int16": (2, "int", "int16", "int16", "int64", "int64"),
        "uint32": (4, "uint", "uint32", "uint32", "int64", "int64"),
        "int32": (4, "int", "int32", "int32", "int64", "int64"),
        "int64": (8, "int", "int64", "int64", "int64", "int64"),
        "uint64": (8, "uint", "uint64", "uint64", "int64", "int64"),
        "float16": (2, "float", "uint16", "float32", "float32", "float16"),
        "bfloat16": (2, "float", "uint16", "float32", "float32", "bfloat16"),
        "float32": (4, "float", "float32", "float32", "float64", "float32"),
        "float64": (8, "float", "float64", "float64", "float64", "float64"),
        "complex64": (8, "complex", "complex64", "complex64", "complex128", "complex64"),
        "complex128": (16, "complex", "complex128", "complex128", "complex128", "complex128"),
    }
    assert (uint8.lowest, uint8.highest, int16.lowest) == (0, 255, -32768)
    assert (float16.highest, bool_.highest) == (math.inf, True)
    assert [d for d in ALL if d.is_signed] == [int8, int16, int32, int64, *FLOATS, *COMPLEXES]
    some = (bool_, uint8, float16, float32, float64)
    assert [d.accumulate for d in some] == [int64, int64, float32, float32, float64]


def test_python_types_and_numpy_names_are_dtypes_too():
    assert [as_dtype(t) for t in (float, int, bool)] == [float64, int64, bool_]
    assert as_dtype(ml_dtypes.bfloat16) is bfloat16 and as_dtype(np.dtype("f2")) is float16


@pytest.mark.parametrize(
    ("obj", "shown"),
    [("xyz", "'xyz'"), (np.clongdouble, "'clongdouble'"),
     (np.dtype("M8[s]"), "'datetime64[s]'"), (str, "'str'"), (3, "3"), (None, "None"), ([1], "[1]")],
)  # fmt: skip
def test_what_is_no_dtype_is_refused_with_the_list_of_those_that_are(obj, shown):
    with pytest.raises(DTypeError) as caught:
        as_dtype(obj)
    names = ", ".join(dtype.name for dtype in ALL)
    assert str(caught.value) == f"expected one of the dtypes {names}, got {shown}; pass mg.float32, for example"


def test_the_default_float_is_what_python_floats_become():
    try:
        set_default_float("f64")
        assert default_float() is as_dtype("float") is promote_number(int32, 2.5) is float64
        with pytest.raises(DTypeError, match="must be one of float16, bfloat16, float32, float64, got int32"):
            set_default_float(int32)
    finally:
        set_default_float(float32)


@pairs
def test_promotion_is_a_join(a, b):
    if uint64 in (a, b) and {a.kind, b.kind} == {"int", "uint"}:
        with pytest.raises(DTypeError, match=f"no integer dtype can represent both {a} and {b}"):
            promote(a, b)
        return
    joined = promote(a, b)
    assert joined is promote(b, a) and promote(a, a) is a
    assert promote(joined, a) is joined
    for c in ALL:
        if uint64 not in (a, b, c):  # which has no join with signed integers
            assert promote(joined, c) is promote(a, promote(b, c))
    if a.is_float and not b.is_inexact:
        assert joined is a
    if a.is_int and b.is_int:
        assert joined.lowest <= min(a.lowest, b.lowest) and joined.highest >= max(a.highest, b.highest)
    if b is bool_:
        assert joined is a


def test_promotion_facts():
    assert promote(uint8, int8) is int16
    assert promote(uint32, int8) is promote(uint32, int64) is int64
    assert promote(uint32, uint8) is uint32
    assert promote(uint16, int16) is int32 and promote(uint16, int8) is int32
    assert promote(uint64, uint32) is promote(uint64, bool_) is uint64 and promote(uint64, float16) is float16
    assert promote(int64, float16) is float16
    assert promote(float16, bfloat16) is float32


def test_python_numbers_are_weak():
    assert [promote_number(d, True) for d in ALL] == list(ALL)
    assert [promote_number(d, 7) for d in ALL] == [int64, *ALL[1:]]
    assert [promote_number(d, 2.5) for d in ALL] == [float32] * 9 + [*FLOATS, *COMPLEXES]
    wide = {float64, complex128}
    assert [promote_number(d, 1j) for d in ALL] == [complex128 if d in wide else complex64 for d in ALL]
    assert promote_number(uint8, np.int64(3)) is uint8 and promote_number(float16, np.float64(3)) is float16
    with pytest.raises(DTypeError, match="expected a bool, an int, a float or a complex number, got 'x', a str"):
        promote_number(float32, "x")


def test_an_int_that_does_not_fit_is_refused():
    for number in (300, -1):
        with pytest.raises(DTypeError) as caught:
            fit_number(number, uint8)
        assert str(caught.value) == f"{number} does not fit uint8, whose range is 0 to 255; pass a number in this range"
    assert fit_number(255, uint8) == 255 and fit_number(7, float16) == 7.0
    with pytest.raises(DTypeError, match="too large for any float"):
        fit_number(10**400, float32)


@pytest.mark.parametrize("dtype", ALL)
def test_an_int_beyond_64_bits_is_refused_by_every_dtype_and_a_float_is_not(dtype):
    for number in (-(2**63) - 1, 2**70, *(() if dtype is uint64 else (2**63, np.uint64(2**63)))):
        with pytest.raises(DTypeError, match=f"{int(number)} does not fit"):
            fit_number(number, dtype)
        fit_number(float(number), dtype)
    if dtype.is_float:
        assert fit_number(2**63 - 1, dtype) == 2.0**63 and fit_number(-(2**63), dtype) == -(2.0**63)


def test_a_float_for_an_integer_dtype_follows_the_cast_rules():
    assert [fit_number(x, uint8) for x in (-1.0, 2.9, math.inf, math.nan)] == [0, 2, 255, 0]
    assert fit_number(math.nan, bool_) is True and fit_number(0.0, bool_) is False
    assert fit_number(1e300, int64) == 2**63 - 1


# ---- casts

PROBES = [
    0, 1, -1, 2, 3.7, -3.7, 127, 128, 255, 256, -128, -129, 65504, 65520, 2**31 - 1, 2**31, 2**32, 2**53 + 1, 2**62,
    -(2**63), 1e10, -1e10, 1e300, 5e-8, 1.0009765625, math.inf, -math.inf, math.nan,
]  # fmt: skip


def exact(number):
    """The number as a Fraction, or itself where it is not finite."""
    return Fraction(number) if math.isfinite(number) else number


def nearest(value, dtype):
    """The nearest float of `dtype`, ties to even: from the digits, without any float hardware."""
    digits, lowest, highest = {
        float16: (11, -24, 16), bfloat16: (8, -133, 128), float32: (24, -149, 128), float64: (53, -1074, 1024),
    }[dtype]  # fmt: skip
    if not isinstance(value, Fraction) or value == 0:
        return float(value)
    exponent = max(math.floor(math.log2(abs(value))) - digits + 1, lowest)
    while abs(value) >= Fraction(2) ** (exponent + digits):
        exponent += 1
    while exponent > lowest and abs(value) < Fraction(2) ** (exponent + digits - 1):
        exponent -= 1
    rounded = round(value / Fraction(2) ** exponent) * Fraction(2) ** exponent
    return math.copysign(math.inf, value) if abs(rounded) >= 2**highest else float(rounded)


def cast_one(value, source, target):
    """The cast of one exact value, by the rules as they are written."""
    if target is bool_:
        return bool(value != 0)
    if target.is_float:
        return nearest(value, target)
    if source.is_float:
        if value != value:
            return 0
        return int(min(max(value, target.lowest), target.highest))
    span = 2 ** (8 * target.itemsize)
    return (int(value) - int(target.lowest)) % span + int(target.lowest)


def probes_in(dtype):
    fitting = [x for x in PROBES if dtype.is_float or (math.isfinite(x) and dtype.lowest <= int(x) <= dtype.highest)]
    if dtype.is_float:
        return np.array([nearest(exact(x), dtype) for x in fitting]).astype(dtype.numpy)
    return np.array([int(x) for x in fitting], dtype=dtype.numpy)


@over(("a", "b"), [(a, b) for a in REALS for b in REALS])
def test_every_cast_follows_the_rules(a, b):
    values = probes_in(a)
    found = cast_array(values, b)
    assert found.dtype == b.storage and found.shape == values.shape
    python = [v.item() if a.itemsize != 2 or not a.is_float else float(v) for v in values]
    wanted = [cast_one(exact(v), a, b) for v in python]
    numbers = [float(v) if b.is_float else v.item() for v in to_logical(found, b)]
    assert numbers == pytest.approx(wanted, rel=0, abs=0, nan_ok=True)


def test_float_to_int_saturates_and_nan_is_0():
    values = np.array([-1.0, 256.0, np.nan, 2.9, -0.9, np.inf, -np.inf])
    assert cast_array(values, uint8).tolist() == [0, 255, 0, 2, 0, 255, 0]
    assert cast_array(values, int8).tolist() == [-1, 127, 0, 2, 0, 127, -128]
    assert cast_array(np.array([1e300, -1e300, 2.0**63, -(2.0**63)]), int64).tolist() == [
        2**63 - 1, -(2**63), 2**63 - 1, -(2**63)]  # fmt: skip
    assert cast_array(np.array([2147483647.5, -2147483648.5]), int32).tolist() == [2147483647, -2147483648]
    assert cast_array(np.array([255.9]), uint8).tolist() == [255]


def test_int_to_int_wraps_and_nan_is_true():
    assert cast_array(np.array([256, 257, -1]), uint8).tolist() == [0, 1, 255]
    assert cast_array(np.array([0.0, -0.0, np.nan, 0.5]), bool_).tolist() == [False, False, True, True]


def test_halves_round_once():
    def cast(values, dtype):
        return [float(number) for number in to_logical(cast_array(np.array(values), dtype), dtype)]

    # 1 + 2**-11 is half way between two float16; a little more must go up, although float32 cannot hold the little.
    assert cast([1 + 2**-11, 1 + 2**-11 + 2**-40], float16) == [1.0, 1 + 2**-10]
    assert cast([1 + 2**-8, 1 + 2**-8 + 2**-40], bfloat16) == [1.0, 1 + 2**-7]
    tie = 2**62 + 2**54
    assert cast([tie, tie + 1, -tie - 1], bfloat16) == [2.0**62, 2.0**62 + 2**55, -(2.0**62) - 2**55]


def test_casts_round_like_exact_arithmetic_on_random_numbers():
    rng = np.random.default_rng(0)
    floats = rng.standard_normal(500) * 2.0 ** rng.integers(-30, 30, 500)
    ints = rng.integers(-(2**63), 2**63, 500, endpoint=False) >> rng.integers(0, 60, 500)
    for values in (floats, ints):
        for target in FLOATS:
            found = [float(v) for v in to_logical(cast_array(values, target), target)]
            assert found == [nearest(Fraction(v.item()), target) for v in values]


def test_scalars_and_views_cast_too():
    assert cast_array(np.array(300.0), uint8).shape == () and cast_array(np.array(300.0), uint8) == 255
    assert cast_array(np.array(2.5), bfloat16).dtype == np.uint16
    assert cast_array(np.arange(6.0)[::2], int16).tolist() == [0, 2, 4]
    assert cast_array(np.arange(3, dtype=">f4"), float32).tolist() == [0, 1, 2]
    with pytest.raises(DTypeError, match="from complex128 to float32 would lose the imaginary parts"):
        cast_array(np.array([1j]), float32)


def test_memory_seen_as_numbers_is_a_view():
    memory = cast_array(np.array([1.0, 2.0]), float16).copy()
    memory[0] = 0x4200
    assert to_logical(memory, float16).tolist() == [3.0, 2.0]
    assert to_logical(memory, float16).base is memory
    with pytest.raises(ArgumentError, match="expected memory of uint16 for the dtype float16, got float32"):
        to_logical(np.zeros(2, np.float32), float16)


def test_ints_and_floats_are_the_rows_of_the_table():
    assert [d.name for d in INTS] == "uint8 int8 uint16 int16 uint32 int32 int64 uint64".split()
    assert [d.name for d in FLOATS] == ["float16", "bfloat16", "float32", "float64"]
