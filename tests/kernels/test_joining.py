"""Joining, straight from the CPU backend, held to NumPy: one launch for dense operands, copies for others."""

import numpy as np
import pytest
from asking import Asking
from compiled_dtypes import ALL
from strided import WAYS, arrange, blank, contents

from minigrad.backends.registry import backend_of
from minigrad.config import override
from minigrad.core.device import as_device
from minigrad.core.dtype import bool_, f32, f64, i32

backend = Asking(backend_of(as_device("cpu")))
rng = np.random.default_rng(2)


def numbers(shape, dtype=f32):
    return rng.integers(0, 2 if dtype is bool_ else 100, shape).astype(dtype.numpy)


def joined(parts, dim, dtype=f32, way="dense", threshold=0):
    """What the backend makes of arrays, each laid out in a way."""
    given = [arrange(x, dtype, way) for x in parts]
    shape = np.concatenate(parts, dim).shape
    out = blank(shape, dtype)
    with override(parallel_threshold=threshold):
        backend.join(out[1], [spec for _, spec in given], dim)(*(buffer for buffer, _ in given), out[0])
    return contents(*out)


@pytest.mark.parametrize("dim", [0, 1, 2])
@pytest.mark.parametrize("lengths", [(3,), (1, 4), (2, 0, 5, 1), (0, 3, 0), (1,) * 40], ids=str)
def test_any_number_of_operands_along_any_dim(lengths, dim):
    parts = [numbers([*(4, 3, 5)[:dim], n, *(4, 3, 5)[dim + 1 :]]) for n in lengths]
    for threshold in (0, 1 << 40):
        assert np.array_equal(joined(parts, dim, threshold=threshold), np.concatenate(parts, dim))


@pytest.mark.parametrize(
    "shapes", [((90, 700), (90, 13)), ((3, 20_001), (3, 9), (3, 7777)), ((70_000,), (5,))], ids=str
)
def test_pieces_begin_and_end_within_rows_and_operands(shapes):
    parts = [numbers(shape) for shape in shapes]
    dim = len(shapes[0]) - 1
    assert np.array_equal(joined(parts, dim), np.concatenate(parts, dim))


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_every_dtype_is_bytes(dtype):
    parts = [numbers((7, n), dtype) for n in (3, 1, 6)]
    assert np.array_equal(joined(parts, 1, dtype), np.concatenate(parts, 1))


@pytest.mark.parametrize("way", WAYS)
def test_operands_in_any_layout(way):
    parts = [numbers((5, n, 3)) for n in (2, 4)]
    assert np.array_equal(joined(parts, 1, way=way), np.concatenate(parts, 1))


def test_other_dtypes_are_cast():
    a, b, out = arrange(numbers((2, 3), i32), i32), arrange(numbers((2, 2))), blank((2, 5), f64)
    with override(parallel_threshold=0):
        backend.join(out[1], [a[1], b[1]], 1)(a[0], b[0], out[0])
    assert np.array_equal(contents(*out), np.concatenate([contents(*a), contents(*b)], 1))


def test_nothing_joined_to_nothing():
    assert joined([numbers((0, 2)), numbers((0, 3))], 1).shape == (0, 5)
