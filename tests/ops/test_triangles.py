"""Triangles: diagonals inside and outside of the matrix, dtypes, what is dropped, and the form in place."""

from __future__ import annotations

import math

import numpy as np
import pytest

import minigrad as mg
from minigrad.errors import ShapeError

SHAPES = ((3, 4), (4, 3), (1, 1), (0, 3), (2, 0), (2, 1, 3, 3))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", ["tril", "triu"])
def test_a_diagonal_may_lie_outside_of_the_matrix(name: str, shape: tuple[int, ...]) -> None:
    x = np.arange(1.0, 1.0 + math.prod(shape)).reshape(shape)
    for k in (-9, -3, -1, 0, 1, 4, 10**30):
        y = getattr(mg, name)(mg.tensor(x, device="reference"), k)
        assert y.tolist() == getattr(np, name)(x, min(k, 99)).tolist(), k


@pytest.mark.parametrize("dtype", ["bool", "uint8", "float16"])
def test_a_triangle_has_the_dtype_of_its_matrix(dtype: str) -> None:
    y = mg.ones(2, 2, dtype=dtype, device="reference").tril()
    assert y.dtype is mg.as_dtype(dtype) and y.tolist() == [[1, 0], [1, 1]]


def test_what_lies_outside_is_dropped_even_where_it_is_nan() -> None:
    x = mg.Var([[1.0, math.nan], [2.0, math.inf]], device="reference")
    assert mg.tril(x).tolist() == [[1.0, 0.0], [2.0, math.inf]]
    assert (mg.tril(x) * 2.0).backward()[x].tolist() == [[2.0, 0.0], [2.0, 2.0]]


def test_a_triangle_in_place_is_written_through_a_view() -> None:
    x = mg.ones(2, 2, 2, device="reference")
    assert x[1].tril_(-1).tolist() == [[0.0, 0.0], [1.0, 0.0]]
    assert x.tolist() == [[[1.0, 1.0], [1.0, 1.0]], [[0.0, 0.0], [1.0, 0.0]]]


def test_a_vector_has_no_triangle() -> None:
    with pytest.raises(
        ShapeError, match=r"tril: input must have at least 2 dims, got float32\(3,\); add a dim with unsqueeze\(0\)"
    ):
        mg.ones(3, device="reference").tril()
