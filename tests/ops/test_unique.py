"""unique: NumPy's values, inverse and counts; slices; what is not equal to itself; empty input; no derivative."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from cases import over

import minigrad as mg
from minigrad.errors import GradientError, ShapeError


def tensor(data: Any, dtype: Any = None) -> mg.Tensor:
    return mg.tensor(data, dtype=dtype, device="reference")


@over("dtype", ["bool", "uint8", "int64", "float32", "float16"])
@over("shape", [(), (1,), (7,), (3, 4), (2, 3, 2)], ids=str)
def test_elements_are_those_of_numpy(shape: tuple[int, ...], dtype: str) -> None:
    x = np.random.default_rng(0).integers(0, 3, shape).astype(dtype)
    want = np.unique(x, return_inverse=True, return_counts=True)
    output, inverse, counts = mg.unique(tensor(x), return_inverse=True, return_counts=True)
    assert output.dtype.name == dtype and output.tolist() == want[0].tolist()
    assert inverse.dtype is counts.dtype is mg.int64
    assert inverse.shape == shape and inverse.tolist() == want[1].reshape(shape).tolist()
    assert counts.tolist() == want[2].tolist()
    assert output[inverse].tolist() == x.tolist()


@pytest.mark.parametrize("columns", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("dim", [0, -1])
def test_slices_are_in_lexicographic_order(dim: int, columns: int) -> None:
    rows = np.random.default_rng(columns).integers(0, 2, (9, columns))
    want = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
    x = tensor(rows if dim == 0 else rows.T)
    output, inverse, counts = mg.unique(x, return_inverse=True, return_counts=True, dim=dim)
    assert (output if dim == 0 else output.mT).tolist() == want[0].tolist()
    assert inverse.tolist() == want[1].reshape(-1).tolist() and counts.tolist() == want[2].tolist()


def test_slices_of_matrices_and_odd_strides() -> None:
    x = tensor(np.arange(24).reshape(2, 3, 4) // 12 * 0 + np.array([1, 0, 1])[:, None])
    output, counts = mg.unique(x, return_counts=True, dim=1)
    assert output.shape == (2, 2, 4) and counts.tolist() == [1, 2]
    assert mg.unique(tensor([[3, 9, 1], [3, 9, 1]])[:, ::-2]).tolist() == [1, 3]
    assert mg.unique(tensor([5]).expand(4)).tolist() == [5]


@over("dim", [None, 0, 1])
def test_complex_numbers_are_in_lexicographic_order_of_their_parts(dim: int | None) -> None:
    z = np.array([[1 + 2j, 0, 1 + 2j], [1 - 2j, complex(-0.0, 0), 1 - 2j], [1 + 2j, 0, 1 + 2j]])
    want = np.unique(z, axis=dim, return_inverse=True, return_counts=True)
    output, inverse, counts = mg.unique(tensor(z), return_inverse=True, return_counts=True, dim=dim)
    assert output.dtype is mg.complex128 and output.tolist() == want[0].tolist()
    assert mg.unique(tensor(z), dim=dim).tolist() == want[0].tolist()
    assert inverse.tolist() == want[1].tolist() and counts.tolist() == want[2].tolist()
    assert mg.unique(tensor([complex(1, math.nan), complex(1, math.nan)])).shape == (2,)


def test_nan_equals_nothing_and_the_two_zeros_are_one() -> None:
    output, counts = mg.unique(tensor([math.nan, 1.0, math.nan, -0.0, 0.0, -math.inf]), return_counts=True)
    assert [str(v) for v in output.tolist()] == ["-inf", "-0.0", "1.0", "nan", "nan"]
    assert counts.tolist() == [1, 2, 1, 1, 1]
    assert mg.unique(tensor([[math.nan, 1.0], [math.nan, 1.0]]), dim=0).shape == (2, 2)


def test_nothing_has_no_elements_and_slices_without_elements_are_refused() -> None:
    output, inverse, counts = mg.unique(tensor(np.zeros((2, 0))), return_inverse=True, return_counts=True)
    assert (output.shape, inverse.shape, counts.shape) == ((0,), (2, 0), (0,))
    assert mg.unique(tensor(np.zeros((0, 3))), dim=0).shape == (0, 3)
    with pytest.raises(ShapeError, match=r"unique: the slices along dim 0 must have elements, got float64\(2, 0\)"):
        mg.unique(tensor(np.zeros((2, 0))), dim=0)


def test_a_derivative_and_a_batch_are_refused() -> None:
    x = mg.Var([1.0, 2.0, 1.0], device="reference")
    with pytest.raises(GradientError, match=r"unique\(2,\) is not differentiable with respect to its operand 'input'"):
        mg.unique(x).sum().backward()
    with pytest.raises(GradientError, match="cannot determine"):
        mg.func.vmap(mg.unique)(tensor([[1.0, 2.0], [1.0, 1.0]]))
