"""Dtypes: the types of elements.

One table lists all dtypes; each row becomes one frozen object that the whole program shares. The table determines the
form of an element in memory (`storage`) and in registers (`compute`), the dtype of sums (`accumulator`), and the dtype
that two operands promote to (`promote`). `cast_array` defines how numbers are converted.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any, Union

import ml_dtypes
import numpy as np

from minigrad.config import announce
from minigrad.errors import ArgumentError, DTypeError


class DType:
    """Describe the type of the elements of a tensor. There is one object per dtype, so compare with `is` or `==`.

    Attributes:
        name, short: the long and the short name, for example "float32" and "f32".
        kind: "bool", "uint", "int", "float" or "complex".
        code: the index in the table of dtypes, from bool to complex128.
        itemsize: bytes per element in memory.
        storage: the NumPy dtype of the memory; float16 and bfloat16 are uint16 there.
        storage_code: NumPy's id of `storage`.
        numpy: the NumPy dtype with the same meaning, `ml_dtypes.bfloat16` included.
        compute: the NumPy dtype in registers; float16 and bfloat16 are float32 there.
        sum_dtype: the dtype of a sum: int64 for bools and integers, otherwise the dtype itself.
        accumulator: the NumPy dtype of the running sum, at least as wide as the result.
        accumulate: the DType in which partial sums are stored: int64 for bools and integers, float32 for float16 and
            bfloat16, otherwise the dtype itself.
        is_float, is_complex, is_inexact: whether the dtype is a float; is complex; is one of both, and so has
            gradients.
        is_int, is_signed: whether the dtype is an integer (signed or not); a signed integer, a float or complex.
        lowest, highest: the ends of the range as Python numbers, which are infinities for floats and complex dtypes.
    """

    __slots__ = (
        "accumulate", "accumulator", "code", "compute", "highest", "is_complex", "is_float", "is_inexact", "is_int",
        "is_signed", "itemsize", "kind", "lowest", "name", "numpy", "short", "storage", "storage_code", "sum_dtype",
    )  # fmt: skip
    name: str
    short: str
    kind: str
    code: int
    itemsize: int
    storage: np.dtype[Any]
    storage_code: int
    numpy: np.dtype[Any]
    compute: np.dtype[Any]
    accumulator: np.dtype[Any]
    accumulate: DType
    sum_dtype: DType
    is_complex: bool
    is_float: bool
    is_inexact: bool
    is_int: bool
    is_signed: bool
    lowest: int | float
    highest: int | float

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a DType cannot be changed, so {self.name}.{name} cannot be set")

    @property
    def is_floating_point(self) -> bool:
        """Return whether the dtype is a float: PyTorch's name of `is_float`."""
        return self.is_float

    def to_real(self) -> DType:
        """Return the dtype of the real part: float32 for complex64, float64 for complex128, otherwise the dtype."""
        return float32 if self is complex64 else float64 if self is complex128 else self

    def to_complex(self) -> DType:
        """Return the complex dtype with parts of this dtype: complex128 for float64, complex64 for all other dtypes."""
        return complex128 if self is float64 or self is complex128 else complex64

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"mg.{self.name}"

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return as_dtype, (self.name,)


def _make_dtype(code: int, name: str, short: str, kind: str, logical: Any) -> DType:
    dtype = object.__new__(DType)
    half = kind == "float" and np.dtype(logical).itemsize == 2
    numpy = np.dtype(logical)
    lowest, highest = _range(kind, numpy)
    storage = np.dtype(np.uint16) if half else numpy
    inexact = kind in ("float", "complex")
    wide = np.dtype({"float": np.float32 if half else np.float64, "complex": np.complex128}.get(kind, np.int64))
    facts: dict[str, Any] = {
        "name": name, "short": short, "kind": kind, "code": code, "itemsize": numpy.itemsize, "numpy": numpy,
        "storage": storage, "storage_code": storage.num, "compute": np.dtype(np.float32) if half else numpy,
        "accumulator": wide, "is_float": kind == "float", "is_complex": kind == "complex", "is_inexact": inexact,
        "is_int": kind in ("int", "uint"), "is_signed": inexact or kind == "int", "lowest": lowest, "highest": highest,
    }  # fmt: skip
    for fact, value in facts.items():
        object.__setattr__(dtype, fact, value)
    return dtype


def _range(kind: str, numpy: np.dtype[Any]) -> tuple[int | float, int | float]:
    if kind in ("float", "complex"):
        return -math.inf, math.inf
    if kind == "bool":
        return False, True
    limits = np.iinfo(numpy)
    return int(limits.min), int(limits.max)


_TABLE: tuple[tuple[str, str, str, Any], ...] = (
    ("bool", "bool", "bool", np.bool_),
    ("uint8", "u8", "uint", np.uint8),
    ("int8", "i8", "int", np.int8),
    ("uint16", "u16", "uint", np.uint16),
    ("int16", "i16", "int", np.int16),
    ("uint32", "u32", "uint", np.uint32),
    ("int32", "i32", "int", np.int32),
    ("int64", "i64", "int", np.int64),
    ("uint64", "u64", "uint", np.uint64),
    ("float16", "f16", "float", np.float16),
    ("bfloat16", "bf16", "float", ml_dtypes.bfloat16),
    ("float32", "f32", "float", np.float32),
    ("float64", "f64", "float", np.float64),
    ("complex64", "c64", "complex", np.complex64),
    ("complex128", "c128", "complex", np.complex128),
)
ALL: tuple[DType, ...] = tuple(_make_dtype(code, *row) for code, row in enumerate(_TABLE))
bool_, uint8, int8, uint16, int16, uint32, int32, int64, uint64, float16, bfloat16, float32, float64 = ALL[:13]
complex64, complex128 = COMPLEXES = ALL[13:]
u8, i8, u16, i16, u32, i32, i64, u64, f16, bf16, f32, f64, c64, c128 = ALL[1:]
FLOATS: tuple[DType, ...] = tuple(dtype for dtype in ALL if dtype.is_float)
INTS: tuple[DType, ...] = tuple(dtype for dtype in ALL if dtype.is_int)

for _dtype in ALL:
    object.__setattr__(_dtype, "sum_dtype", _dtype if _dtype.is_inexact else int64)
    _half = _dtype.is_float and _dtype.itemsize == 2
    object.__setattr__(_dtype, "accumulate", float32 if _half else _dtype.sum_dtype)

DTypeLike = Union[DType, str, type, "np.dtype[Any]"]

_default_float = [float32]
_by_name: dict[str, DType] = {word: dtype for dtype in ALL for word in (dtype.name, dtype.short)}
_by_name.update({"bool_": bool_, "float": float32, "int": int64, "half": float16, "double": float64})
_by_name.update({"cfloat": complex64, "cdouble": complex128})
BY_NUMPY: dict[Any, DType] = {dtype.numpy: dtype for dtype in ALL}


def as_dtype(obj: object) -> DType:
    """Return the DType for `obj`: a DType, a name, a NumPy dtype or scalar type, or Python's bool, int, float, complex.

    Python's float means float64, int means int64 and complex means complex128, as in NumPy and PyTorch; the name
    "float" is the default float.

    Raises DTypeError if minigrad has no such dtype.

    >>> as_dtype("f32"), as_dtype(np.int16), as_dtype(bool)
    (mg.float32, mg.int16, mg.bool)
    """
    if type(obj) is DType:
        return obj
    result: DType | None = None
    if isinstance(obj, str):
        result = default_float() if obj == "float" else _by_name.get(obj)
    elif obj is float:
        result = float64
    elif obj is int:
        result = int64
    elif obj is complex:
        result = complex128
    elif obj is bool:
        result = bool_
    elif isinstance(obj, np.dtype):
        result = BY_NUMPY.get(obj) or BY_NUMPY.get(obj.newbyteorder("="))
    elif isinstance(obj, type) and issubclass(obj, np.generic):
        result = BY_NUMPY.get(np.dtype(obj))
    if result is None:
        shown = repr(str(obj)) if isinstance(obj, (str, np.dtype)) else repr(getattr(obj, "__name__", obj))
        names = ", ".join(dtype.name for dtype in ALL)
        raise DTypeError(f"expected one of the dtypes {names}, got {shown}; pass mg.float32, for example", dtype=obj)
    return result


def default_float() -> DType:
    """Return the dtype to which Python floats are converted, and of new float tensors without a given dtype."""
    return _default_float[0]


def default_complex() -> DType:
    """Return the dtype to which Python complex numbers are converted, whose parts have the default float dtype."""
    return _default_float[0].to_complex()


def inferred(kind: type) -> DType:
    """Return the dtype of numbers of a Python type: floats and complex numbers have the default dtypes."""
    return default_float() if kind is float else default_complex() if kind is complex else as_dtype(kind)


def set_default_float(dtype: DTypeLike) -> None:
    """Set the dtype that Python floats are converted to.

    Raises DTypeError if `dtype` is not a float dtype.
    """
    wanted = as_dtype(dtype)
    if not wanted.is_float:
        floats = ", ".join(other.name for other in FLOATS)
        raise DTypeError(
            f"set_default_dtype: d must be one of {floats}, got {wanted}; pass mg.float32, for example", dtype=wanted
        )
    _default_float[0] = wanted
    announce()


def _join(a: DType, b: DType) -> DType | None:
    """Return the smallest dtype of the higher category that can represent both.

    The categories are bool < integers < floats < complex numbers.

    The result is None for uint64 with a signed integer: no integer dtype can represent both.
    """
    if a is b or b.kind == "bool":
        return a
    if a.is_complex or b.is_complex:  # a float64 next to a complex64 needs the parts of a complex128
        return complex128 if float64 in (a.to_real(), b.to_real()) else complex64
    if a.kind == "bool" or (b.is_float and not a.is_float):
        return b
    if a.is_float and not b.is_float:
        return a
    if a.is_float:
        # Neither of float16 and bfloat16 contains the other: float16 has more digits, bfloat16 a larger range.
        return float32 if a.itemsize == b.itemsize else max(a, b, key=lambda dtype: dtype.itemsize)
    lowest, highest = min(a.lowest, b.lowest), max(a.highest, b.highest)
    return next((c for c in INTS if c.lowest <= lowest and highest <= c.highest), None)


_joins = {(a, b): _join(a, b) for a in ALL for b in ALL}
_promotions: dict[tuple[DType, DType], DType] = {pair: dtype for pair, dtype in _joins.items() if dtype is not None}


def promote(a: DType, b: DType) -> DType:
    """Return the dtype that two operands promote to.

    The order is bool < integers < floats < complex numbers. Two integers promote to the smallest integer dtype that
    represents both, an integer and a float to the dtype of the float, and two floats to the smallest float dtype that
    represents both. A complex dtype and any other promote to complex128 if one of them has the width of float64, and
    to complex64 otherwise.
    Raises DTypeError for uint64 with a signed integer, because no integer dtype represents both.

    >>> promote(uint8, int8), promote(int64, float16), promote(float16, bfloat16)
    (mg.int16, mg.float16, mg.float32)
    """
    try:
        return _promotions[a, b]
    except KeyError:
        a, b = as_dtype(a), as_dtype(b)
    if (a, b) not in _promotions:
        raise DTypeError(
            f"no integer dtype can represent both {a} and {b}; convert one operand, for example with x.to(mg.int64)",
            lhs=a,
            rhs=b,
        )
    return _promotions[a, b]


def promote_all(operands: Iterable[tuple[DType, int]]) -> DType:
    """Return the dtype that operands promote to, from pairs of the dtype and the number of dims of an operand.

    The operands with dims are promoted first, then the operands without dims. An operand without dims changes the
    result only if its category is higher, in the order bool < integers < floats < complex numbers. So, as in PyTorch, a
    scalar tensor does not widen the dtype of a tensor with dims: a complex scalar next to floats takes their width.

    >>> promote_all([(float32, 1), (float64, 0)]), promote_all([(int32, 1), (float64, 0)])
    (mg.float32, mg.float64)
    """
    met: list[DType | None] = [None, None]  # the dtypes of the operands without dims, and of the operands with dims
    for dtype, ndim in operands:
        known = met[ndim > 0]
        met[ndim > 0] = dtype if known is None else promote(known, dtype)
    scalar, whole = met
    if scalar is None or whole is None:
        result = scalar or whole
        assert result is not None
        return result
    if scalar.is_complex and whole.is_float:
        return whole.to_complex()
    return promote(whole, scalar) if category(scalar) > category(whole) else whole


def category(dtype: DType) -> int:
    """Return 0 for bool, 1 for integers, 2 for floats, 3 for complex numbers."""
    return 3 if dtype.is_complex else 2 if dtype.is_float else int(dtype.is_int)


def bits_of(dtype: DType) -> DType:
    """Return the unsigned integer dtype of the same size, or the dtype itself: no integer has the 16 bytes of two."""
    return _by_name.get(f"uint{8 * dtype.itemsize}", dtype)


def finfo(type: Any = None, /) -> SimpleNamespace:
    """Return the limits of a float dtype, or of the parts of a complex dtype; by default of the default float dtype.

    `type` is a dtype or a tensor. The limits are bits, eps, max, min, smallest_normal, tiny (the same as
    smallest_normal), resolution (10 to the power of minus the number of decimal digits) and dtype.

    Raises DTypeError if the dtype is neither a float nor a complex dtype.
    """
    dtype = default_float() if type is None else as_dtype(getattr(type, "dtype", type)).to_real()
    if not dtype.is_float:
        raise DTypeError(
            f"finfo: type must be a floating dtype, got {dtype}; use iinfo for an integer dtype", dtype=dtype
        )
    facts = ml_dtypes.finfo(dtype.numpy)
    names = ("eps", "max", "min", "smallest_normal", "tiny", "resolution")
    limits = {name: float(getattr(facts, name)) for name in names}
    return SimpleNamespace(bits=8 * dtype.itemsize, **limits, dtype=dtype)


def iinfo(type: Any, /) -> SimpleNamespace:
    """Return the limits of an integer dtype: bits, max, min and dtype.

    `type` is a dtype or a tensor.

    Raises DTypeError if the dtype is not an integer dtype.
    """
    dtype = as_dtype(getattr(type, "dtype", type))
    if not dtype.is_int:
        raise DTypeError(
            f"iinfo: type must be an integer dtype, got {dtype}; use finfo for a floating dtype", dtype=dtype
        )
    return SimpleNamespace(bits=8 * dtype.itemsize, max=dtype.highest, min=dtype.lowest, dtype=dtype)


def promote_number(dtype: DType, number: object) -> DType:
    """Return the dtype of an op between a tensor of `dtype` and a Python number.

    The number is weak: only its kind (bool, int, float or complex) affects the result.

    >>> promote_number(uint8, 3), promote_number(float16, 2.5), promote_number(int64, 2.5)
    (mg.uint8, mg.float16, mg.float32)
    """
    if isinstance(number, (bool, np.bool_)):
        return dtype
    if isinstance(number, (int, np.integer)):
        return int64 if dtype is bool_ else dtype
    if isinstance(number, (float, np.floating)) or type(number) is ml_dtypes.bfloat16:
        return dtype if dtype.is_inexact else _default_float[0]
    if isinstance(number, (complex, np.complexfloating)):
        return dtype.to_complex() if dtype.is_inexact else default_complex()
    raise DTypeError(
        f"expected a bool, an int, a float or a complex number, got {number!r}, a {type(number).__name__}", dtype=dtype
    )


def name_number(number: Any) -> str:
    """Return a number as messages show it. Python refuses to print ints of thousands of digits."""
    if isinstance(number, int) and number.bit_length() > 80:
        return f"an int of {number.bit_length()} bits"
    return repr(number.item() if isinstance(number, np.generic) else number)


def fit_number(number: Any, dtype: DType) -> bool | int | float | complex:
    """Return `number` as a Python number of `dtype`; an int that does not fit raises an error instead of wrapping.

    For an integer dtype, a float is converted by the cast rules: it is rounded towards zero and saturates, and nan
    becomes 0.

    Raises DTypeError if an int is outside the range of `dtype`, or outside the range of int64 if `dtype` is bool or a
    float; a complex number for a real dtype; or `number` is not a number.
    """
    if not isinstance(number, (bool, int, float, complex, np.generic)):
        raise DTypeError(f"expected a bool, an int or a float, got {number!r:.40}, a {type(number).__name__}")
    if isinstance(number, (complex, np.complexfloating)) and dtype.is_complex:
        return complex(number)
    if isinstance(number, (complex, np.complexfloating)) and dtype is not bool_:
        raise DTypeError(
            f"{number!r} does not fit {dtype}, which has no imaginary part; pass its .real, or dtype=mg.complex64",
            number=number, dtype=dtype,
        )  # fmt: skip
    if not dtype.is_int:
        if isinstance(number, (int, np.integer)) and not int64.lowest <= number <= int64.highest:
            raise DTypeError(_beyond(number), number=number, dtype=dtype)
        if dtype.is_complex:
            return complex(number)
        return float(number) if dtype.is_float else bool(number != 0)  # type: ignore[arg-type]
    if isinstance(number, (int, np.integer)):
        if not dtype.lowest <= number <= dtype.highest:
            raise DTypeError(
                f"{name_number(number)} does not fit {dtype}, whose range is {dtype.lowest} to {dtype.highest}; pass "
                "a number in this range",
                number=number,
                dtype=dtype,
            )
        return int(number)
    real = float(number)  # type: ignore[arg-type]
    if real != real:
        return 0
    return int(min(max(real, dtype.lowest), dtype.highest))


def _beyond(number: Any) -> str:
    """Return the message for an int beyond int64: Python ints are read as int64 for every dtype."""
    shown = name_number(number)
    try:
        return f"{shown} does not fit int64, the dtype of Python ints; write a float, {float(number)!r}"
    except OverflowError:
        return f"{shown} is too large for any float"


def cast_array(array: np.ndarray[Any, Any], dtype: DType) -> np.ndarray[Any, Any]:
    """Return the elements of `array` as stored for `dtype` (float16 as uint16), converted by minigrad's rules.

    A float becomes an integer by rounding towards zero; it saturates, and nan becomes 0. An integer becomes another
    integer by wrapping, and anything becomes a bool by `!= 0`. Every conversion to a float rounds once, to nearest
    even. The result may share memory with `array`.

    Raises DTypeError if minigrad does not have the dtype of `array`, or `array` is complex and `dtype` is a real dtype
    other than bool, because the imaginary parts would be lost.

    >>> cast_array(np.array([-1.0, 2.9, 256.0, np.nan]), uint8)
    array([  0,   2, 255,   0], dtype=uint8)
    """
    if array.dtype is dtype.numpy and dtype.numpy is dtype.storage:
        return array  # the most common case, since the reference device computes in the dtype of its operands
    source = as_dtype(array.dtype)
    array = np.asarray(array, dtype=source.numpy)
    if source is dtype:
        return array.view(dtype.storage)
    expect_no_loss(source, dtype)
    with np.errstate(all="ignore"):
        if dtype is bool_:
            return np.asarray(array != 0)
        if dtype.is_int:
            return _saturate(array, dtype) if source.is_float else array.astype(dtype.numpy)
        if dtype is bfloat16:
            array = _sticky(array) if source.is_int and source.itemsize == 8 else array
            array = _round_to_odd(array) if array.dtype.itemsize >= 4 else array.astype(np.float32)
        elif source is bfloat16:
            array = array.astype(np.float32)
        return array.astype(dtype.numpy).view(dtype.storage)


def expect_no_loss(source: DType, dtype: DType) -> None:
    """Raise DTypeError if a cast would lose imaginary parts: a complex dtype to a real dtype other than bool."""
    if source.is_complex and not dtype.is_complex and dtype is not bool_:
        raise DTypeError(
            f"a cast from {source} to {dtype} would lose the imaginary parts; pass x.real, x.abs() or "
            f"x.to(mg.{dtype}), which takes the real parts",
            lhs=source, rhs=dtype,
        )  # fmt: skip


def casts_as_numpy(source: DType, dtype: DType) -> bool:
    """Return whether `cast_array` converts one dtype to another in the same way as NumPy's `astype`."""
    exact = dtype is not bool_ and (dtype.is_inexact or not source.is_inexact) and dtype.is_complex >= source.is_complex
    return exact and bfloat16 not in (source, dtype) and source is not dtype


def _saturate(array: np.ndarray[Any, Any], dtype: DType) -> np.ndarray[Any, Any]:
    """Convert floats to integers, without C's undefined behaviour outside the range."""
    real = np.asarray(array, dtype=np.float64)
    # 2.0**63 is exact in float64, but the largest int64 is not, so the comparison uses the first integer outside the
    # range.
    above = np.asarray(real >= float(int(dtype.highest) + 1))
    below = np.asarray(real <= float(int(dtype.lowest) - 1))
    inside = ~(above | below | np.isnan(real))
    whole = np.where(inside, real, 0.0).astype(dtype.numpy)
    limits = np.array([dtype.highest, dtype.lowest], dtype=dtype.numpy)
    return np.asarray(np.where(above, limits[0], np.where(below, limits[1], whole)))


def _sticky(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Replace the low 24 bits of large 64-bit integers by one sticky bit, for an exact conversion to float64.

    A later rounding to bfloat16 is then correct, because the sticky bit is set if one of the 24 bits was.
    """
    low = array & 0xFFFFFF
    reduced = ((array >> 24) | (low != 0)) << 24
    return np.asarray(np.where(np.abs(array >> 1) >= 1 << 40, reduced, array))


def _round_to_odd(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Convert to float32 by rounding to odd, so that one more rounding returns the same as a single rounding.

    An inexact value becomes its float32 neighbour whose last bit is odd.

    Source: S. Boldo and G. Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms using rounding to
    odd", IEEE Transactions on Computers 57(4), 2008.
    """
    exact = np.asarray(array, dtype=np.float64)
    near = np.asarray(exact.astype(np.float32))
    wide = near.astype(np.float64)
    even = (near.view(np.uint32) & 1) == 0
    other = np.nextafter(near, np.where(exact > wide, np.float32(np.inf), np.float32(-np.inf)))
    return np.asarray(np.where((wide != exact) & even & ~np.isnan(exact), other, near))


def to_logical(storage_array: np.ndarray[Any, Any], dtype: DType) -> np.ndarray[Any, Any]:
    """View memory as numbers: uint16 as float16 or bfloat16, everything else unchanged. The result is always a view."""
    if storage_array.dtype != dtype.storage:
        raise ArgumentError(
            f"expected memory of {dtype.storage} for the dtype {dtype}, got {storage_array.dtype}; pass "
            "storage_array.view(dtype.storage)",
            dtype=dtype,
        )
    return storage_array.view(dtype.numpy)
