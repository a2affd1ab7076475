"""How the op tests make operands and compare results."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
from op_rows.row import DOMAINS, Row

import minigrad as mg
from minigrad.errors import DTypeError, GradientError, IndexOutOfRange, ShapeError
from minigrad.runtime.data import host_array
from minigrad.runtime.tensor import Tensor

RTOL = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 4e-6, "float64": 1e-12}
SHAPE = (3, 4)


def arrays(row: Row, shapes: Any = None, seed: int = 0) -> list[np.ndarray]:
    """Return the operands of a row in float64 (bool for the bool domain); equal rows have equal operands."""
    rng = np.random.default_rng([zlib.crc32(row.name.encode()), seed])
    shapes = shapes or row.shapes or (SHAPE,) * len(row.domains)
    return [np.asarray(DOMAINS[domain](rng, shape)) for domain, shape in zip(row.domains, shapes, strict=True)]


def operands(row: Row, values: list[np.ndarray], dtype: str, device: str) -> list[Tensor]:
    """Return tensors of `dtype`; a condition stays bool.  Integers get values that differ after truncation."""
    result = []
    for value, domain in zip(values, row.domains, strict=True):
        kind = mg.as_dtype(dtype)
        if domain == "bool" and row.name == "where":
            result.append(mg.tensor(value, dtype="bool", device=device))
        elif kind.is_int:
            whole = np.trunc(value * 3)
            whole = np.where(whole == 0, 1, whole) if domain != "bool" else value
            result.append(mg.tensor(np.abs(whole) if not kind.is_signed else whole, dtype=dtype, device=device))
        else:
            result.append(mg.tensor(value, dtype=dtype, device=device))
    return result


def wide(x: Any) -> np.ndarray:
    """Return a tensor's values in the dtype of the oracle: float64, int64 or bool."""
    if not isinstance(x, Tensor):
        return np.asarray(x)
    array = host_array(x)
    return array.astype(np.float64) if x.dtype.is_float else array if x.dtype is mg.bool else array.astype(np.int64)


def result_of(row: Row, given: list[Tensor], dtype: str) -> Tensor:
    """Call the op of a row in a dtype that the row promises.  Raises AssertionError if the op refuses it or a shape."""
    try:
        result: Tensor = row.fn(*given)
    except DTypeError as error:
        raise AssertionError(
            f"{row}: dtypes= promises {dtype}, and the op refuses it; remove it there: {error}"
        ) from error
    except (ShapeError, IndexOutOfRange) as error:
        shapes = ", ".join(str(x.shape) for x in given)
        raise AssertionError(
            f"{row}: fn refuses operands of shapes {shapes}; correct fn, or pass shapes= if it is not elementwise: "
            f"{error}"
        ) from error
    return result


def assert_close(row: Row, got: Tensor, want: Any, dtype: str) -> None:
    """Compare shapes and values; the tolerance is that of the dtype in which the op computed."""
    want = np.asarray(want)
    assert got.shape == want.shape, (
        f"{row}: fn returned shape {got.shape} and numpy returned shape {want.shape}; correct one of the two"
    )
    computed = got.dtype.name if got.dtype.is_float else dtype if mg.as_dtype(dtype).is_float else "float32"
    rtol = RTOL[computed] * row.tolerance
    have = wide(got)
    differ = f"{row}: fn and numpy disagree on {dtype}; correct the op, or numpy= of the row"
    if not got.dtype.is_float:
        want = want.astype(have.dtype) if got.dtype is mg.bool else wrap(want, got.dtype)
        np.testing.assert_array_equal(have, want, err_msg=differ)
    else:
        np.testing.assert_allclose(have, want.astype(np.float64), rtol=rtol, atol=rtol, err_msg=differ)


def assert_untracked(row: Row, y: Tensor) -> None:
    """Assert that the result requires no gradient, and that a backward pass raises."""
    assert not y.requires_grad, (
        f"{row}: smooth=False promises a result without a gradient, and fn returned a tracked tensor; remove it"
    )
    try:
        y.backward()
    except GradientError as error:
        assert "no gradient" in str(error)
    else:
        raise AssertionError(f"{row}: a backward pass from a result without a gradient raised no error")


def assert_refuses_backward(row: Row, y: Tensor) -> None:
    """Assert that the op has no derivative rule, and that the error states this."""
    try:
        y.sum().backward()
    except GradientError as error:
        assert "is not differentiable with respect to its operand" in str(error)
    else:
        raise AssertionError(f"{row}: slope=True promises that backward raises, and it returned gradients; remove it")


def wrap(want: np.ndarray, dtype: Any) -> np.ndarray:
    """Return an oracle's int64 result as the integer dtype stores it: modulo 2**bits."""
    return want.astype(np.int64).astype(dtype.numpy).astype(np.int64)


def assert_sentence(message: str, words: str) -> None:
    """Assert that a message is one line that has these words in this order."""
    place = 0
    for word in words.split():
        place = message.find(word, place)
        assert place >= 0, f"{word!r} is missing from {message!r}"
    assert "\n" not in message
