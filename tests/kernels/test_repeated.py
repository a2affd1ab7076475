"""Elementwise loops whose operands have one value per row, or one in all: the value is computed once."""

from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad.kernels import store


def mantissa(module: Any, x: Any) -> Any:
    """The first result of frexp."""
    return module.frexp(x)[0]


def is_nan(module: Any, x: Any) -> Any:
    """Whether each element is nan."""
    return module.isnan(x)


@pytest.mark.parametrize(
    ("function", "rows", "kernel", "lines"),
    [
        (mantissa, 3, "frexp_f64_f64_i32_rows0", ("range(np.uint64(1)):", "np.uint64(count)] = out_1[z_1]")),
        (is_nan, 1, "isnan_f64_bool_dense0", ("range(1):", "[1:count] = z[0]")),
    ],
)
def test_a_repeated_value_is_computed_once(function: Any, rows: int, kernel: str, lines: tuple[str, ...]) -> None:
    values = np.linspace(-40.0, 3.0, rows).reshape(rows, 1)
    y = function(mg, mg.tensor(values, device="cpu").expand(3, 9))
    assert (y.numpy() == np.broadcast_to(function(np, values), (3, 9))).all()
    (path,) = [each.path for file, each in store.loaded.items() if file.startswith(f"{kernel}_")]
    text = store.source(path)
    assert all(line in text for line in lines)
