"""`assert_close` compares tensors, arrays, numbers and trees of these, with PyTorch's tolerances and messages.

NumPy compares the values on the host, so a comparison compiles no kernel.  `compare.py` compares whole programs with
another library.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from minigrad.core.dtype import as_dtype
from minigrad.errors import ArgumentError, DTypeError
from minigrad.runtime.data import host_array, wide
from minigrad.runtime.tensor import Tensor, describe

# The relative and the absolute tolerance of each dtype; other dtypes must be equal.
TOLERANCES = {
    "float16": (1e-3, 1e-5), "bfloat16": (1.6e-2, 1e-5), "float32": (1.3e-6, 1e-5), "float64": (1e-7, 1e-7),
    "complex64": (1.3e-6, 1e-5), "complex128": (1e-7, 1e-7),
}  # fmt: skip
NUMBERS = (bool, int, float, complex, np.generic)


class Options(NamedTuple):
    """The arguments of `assert_close` that apply to every pair of values."""

    rtol: float | None
    atol: float | None
    equal_nan: bool
    allow_subclasses: bool
    attributes: tuple[str, ...]


def assert_close(
    actual: Any, expected: Any, *, allow_subclasses: bool = True, rtol: float | None = None, atol: float | None = None,
    equal_nan: bool = False, check_device: bool = True, check_dtype: bool = True, check_layout: bool = True,
    check_stride: bool = False, msg: str | Callable[[str], str] | None = None,
) -> None:  # fmt: skip
    """Raise AssertionError unless `actual` and `expected` are close, as `torch.testing.assert_close` does.

    Two values are close if abs(actual - expected) <= atol + rtol * abs(expected). Infinities must be equal.

    actual and expected: The values. Sequences must have equal lengths and mappings equal keys; their entries are
    compared in pairs.
    allow_subclasses: Whether a subclass of the other's class is allowed, such as a Var next to a Tensor.
    rtol and atol: Relative and absolute tolerance; pass both or neither. The defaults depend on the dtype: 1e-3 and
    1e-5 for float16, 1.6e-2 and 1e-5 for bfloat16, 1.3e-6 and 1e-5 for float32 and complex64, 1e-7 and 1e-7 for float64
    and complex128, and 0 for others.
    check_device, check_dtype and check_stride: Whether the devices, the dtypes and the strides must be equal; by
    default the strides need not be.
    check_layout: Has no effect: all tensors are dense.
    msg: The message, or a function of the generated message that returns it.

    Raises AssertionError if the values differ. The message states how many elements differ, and the largest
    differences.
    Raises ArgumentError if only one of `rtol` and `atol` is specified.
    Raises DTypeError if the values cannot be compared, such as a tensor and a string.

    >>> mg.testing.assert_close(mg.tensor([1.0, 2.0]), mg.tensor([1.0, 2.000001]))
    """
    if (rtol is None) != (atol is None):
        raise ArgumentError(
            f"assert_close: rtol and atol must be given together, got rtol={rtol} and atol={atol}; pass both or neither"
        )
    checks = {"device": check_device, "dtype": check_dtype, "strides": check_stride}
    wanted = tuple(name for name, wanted in checks.items() if wanted)
    message = difference(actual, expected, "", Options(rtol, atol, equal_nan, allow_subclasses, wanted))
    if message:
        raise AssertionError(message if msg is None else msg(message) if callable(msg) else msg)


def difference(actual: Any, expected: Any, where: str, options: Options) -> str:
    """Return the message for the first pair of values that differ, or ""; where: the keys of the pair as text."""
    if isinstance(actual, Mapping) and isinstance(expected, Mapping):
        missing, additional = ([k for k in a if k not in b] for a, b in ((expected, actual), (actual, expected)))
        if missing or additional:
            return (
                "The keys of the mappings do not match:\n"
                f"Missing keys in the actual mapping: {missing}\nAdditional keys in the actual mapping: {additional}"
            )
        return first_difference(actual, expected, where, expected, options)
    if all(isinstance(x, Sequence) and not isinstance(x, (str, bytes)) for x in (actual, expected)):
        if len(actual) != len(expected):
            return f"The length of the sequences mismatch: {len(actual)} != {len(expected)}"
        return first_difference(actual, expected, where, range(len(expected)), options)
    message = leaf_difference(actual, expected, options)
    return f"{message}\n\nThe failure occurred for item {where}" if message and where else message


def first_difference(actual: Any, expected: Any, where: str, keys: Any, options: Options) -> str:
    """Return the message for the first key whose values differ, or ""."""
    each = (difference(actual[key], expected[key], f"{where}[{key!r}]", options) for key in keys)
    return next(filter(None, each), "")


def leaf_difference(actual: Any, expected: Any, options: Options) -> str:
    """Return the message for two values that are not containers, or ""."""
    if actual is None or expected is None:
        return "" if actual is expected else f"None mismatch: {actual} is not {expected}"
    if isinstance(actual, bool) and isinstance(expected, bool):
        return "" if actual is expected else f"Booleans mismatch: {actual} is not {expected}"
    kinds = [next((k for k in (Tensor, np.ndarray, NUMBERS) if isinstance(x, k)), None) for x in (actual, expected)]
    if None in kinds or kinds[0] is not kinds[1]:
        raise DTypeError(
            f"assert_close: expected two tensors, two arrays or two numbers, got {describe(actual)} and "
            f"{describe(expected)}; convert one of them, for example with mg.tensor"
        )
    if not options.allow_subclasses and type(actual) is not type(expected):
        return f"The types must be equal: {type(actual).__name__} is not {type(expected).__name__}"
    return attribute_difference(actual, expected, options) or value_difference(actual, expected, options)


def attribute_difference(actual: Any, expected: Any, options: Options) -> str:
    """Return the message for the first attribute of two tensors, arrays or numbers that differs, or ""."""
    if isinstance(expected, NUMBERS):
        differ = "dtype" in options.attributes and type(actual) is not type(expected)
        return f"The types do not match: {type(actual).__name__} != {type(expected).__name__}" if differ else ""
    names = ("shape", *[name for name in options.attributes if name != "device" or isinstance(expected, Tensor)])
    pairs = ((name, getattr(actual, name), getattr(expected, name)) for name in names)
    return next((f"The values for attribute {name!r} do not match: {a} != {b}." for name, a, b in pairs if a != b), "")


def tolerances(values: Sequence[Any], options: Options) -> tuple[float, float]:
    """Return rtol and atol: those of the options, or the larger ones of the dtypes of two values."""
    if options.rtol is not None and options.atol is not None:
        return options.rtol, options.atol
    pairs = [TOLERANCES.get(as_dtype(np.asarray(x).dtype if not isinstance(x, Tensor) else x.dtype).name, (0.0, 0.0))
             for x in values]  # fmt: skip
    return max(pair[0] for pair in pairs), max(pair[1] for pair in pairs)


def value_difference(actual: Any, expected: Any, options: Options) -> str:
    """Return the message for values of one shape that are not close, or ""."""
    rtol, atol = tolerances((actual, expected), options)
    a, b = host(actual), host(expected)
    if rtol or atol:
        close = np.isclose(wide(a), wide(b), rtol, atol, options.equal_nan)
    else:
        close = (a == b) | (options.equal_nan & (a != a) & (b != b))
    return "" if np.all(close) else report(a, b, np.asarray(close), rtol, atol)


def host(x: Any) -> NDArray[Any]:
    """Return the values as an array on the host: floats in float64 or complex128, and bools as integers."""
    array = np.asarray(host_array(x.detach()) if isinstance(x, Tensor) else x)
    if array.dtype.kind in "iu":
        return array
    return array.astype(np.int64) if array.dtype.kind == "b" else wide(array)


def report(a: NDArray[Any], b: NDArray[Any], close: NDArray[Any], rtol: float, atol: float) -> str:
    """Return PyTorch's message for values that are not close: counts and the largest differences."""
    with np.errstate(all="ignore"):
        apart = np.where(close, 0, np.abs(wide(a) - wide(b)))
        relative = np.where(close, 0, apart / np.abs(wide(b)))
    verb = "close" if rtol or atol else "equal"
    bounds = [f" (up to {bound} allowed)" if rtol or atol else "" for bound in (atol, rtol)]
    if not close.ndim:
        return (
            f"Scalars are not {verb}!\n\nExpected {b.item()} but got {a.item()}.\n"
            f"Absolute difference: {apart.item()}{bounds[0]}\nRelative difference: {relative.item()}{bounds[1]}"
        )
    wrong = int((~close).sum())
    lines = [f"Mismatched elements: {wrong} / {close.size} ({wrong / close.size:.1%})"]
    for name, values, bound in (("absolute", apart, bounds[0]), ("relative", relative, bounds[1])):
        index = tuple(int(i) for i in np.unravel_index(np.argmax(values), values.shape))
        lines.append(f"Greatest {name} difference: {values[index]} at index {index}{bound}")
    return "\n".join([f"Tensor-likes are not {verb}!\n", *lines])
