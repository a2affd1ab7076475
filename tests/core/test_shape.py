"""Shapes and dims, and the error messages for invalid ones."""

import itertools

import numpy as np
import pytest

from minigrad.core.shape import (
    Size,
    as_shape,
    broadcast_shapes,
    contiguous_strides,
    infer_hole,
    normalize_dim,
    normalize_dims,
)
from minigrad.errors import ArgumentError, ArgumentTypeError, IndexOutOfRange, ShapeError


def test_counting():
    assert contiguous_strides((2, 3, 4)) == (12, 4, 1) and contiguous_strides(()) == ()


def test_parts_and_sums_of_a_size_are_sizes():
    size = Size([2, 3, 4])
    parts = size[1:], size[:0], size + size[:1], tuple(size) + size, size * 2, 2 * size, Size(range(3))
    assert [type(part) for part in parts] == [Size] * 7 and type(size[1]) is int
    assert [part.numel() for part in parts] == [12, 1, 48, 576, 576, 576, 0]
    array = np.array([1, 2, 3])
    for result, expected in (
        (size + array, [3, 5, 7]), (array + size, [3, 5, 7]), (size * array, [2, 6, 12]), (array * size, [2, 6, 12]),
    ):  # fmt: skip
        assert result.tolist() == expected
    plain = [1]
    for call in (lambda: size + plain, lambda: plain + size, lambda: size + 1, lambda: size * 2.0, lambda: size * size):
        with pytest.raises(TypeError):
            call()
    for wrong in ([1.5], "ab", [2, None]):
        with pytest.raises(ArgumentTypeError, match="Size: a size must be an int"):
            Size(wrong)


def test_a_shape_is_an_int_a_list_or_varargs():
    assert as_shape(3) == (3,)
    assert as_shape([2, 3]) == as_shape((2, 3)) == as_shape(((2, 3),)) == as_shape(([2, 3],)) == (2, 3)
    assert as_shape(()) == as_shape(((),)) == ()
    for hole in (False, True):
        assert as_shape((np.int64(2),), hole=hole) == (2,) and type(as_shape((np.int64(2),), hole=hole)[0]) is int
    assert as_shape((np.int64(-1), ()), hole=True) == (-1, -1)


def test_dims_count_from_either_end():
    assert [normalize_dim(dim, 3, "sum") for dim in (-3, -1, 0, 2)] == [0, 2, 0, 2]
    assert normalize_dims(None, 3, "sum") == (0, 1, 2)
    assert normalize_dims((-1, 0), 3, "sum") == (0, 2) and normalize_dims(-1, 3, "sum") == (2,)


def test_shapes_broadcast_as_in_numpy():
    shapes = [s for n in range(4) for s in itertools.product((0, 1, 2, 3), repeat=n)]
    for a, b in itertools.product(shapes[:30] + shapes[-8:], shapes):
        try:
            wanted = np.broadcast_shapes(a, b)
        except ValueError:
            with pytest.raises(ShapeError):
                broadcast_shapes("add", a, b)
        else:
            assert broadcast_shapes("add", a, b) == wanted
    assert broadcast_shapes("where", (2, 1), (3,), (4, 1, 1)) == (4, 2, 3) and broadcast_shapes("add") == ()


def test_one_open_size_is_filled():
    assert infer_hole((2, -1), 6) == infer_hole(((), 3), 6) == (2, 3)
    assert infer_hole((2, 3), 6) == (2, 3) and infer_hole((-1, 3), 0) == (0, 3)


MISTAKES = [
    (lambda: normalize_dim(2, 2, "sum", (2, 3)), IndexOutOfRange,
     "sum: dim 2 is out of range for shape (2, 3); valid are -2 to 1"),
    (lambda: normalize_dim(2, 2, "sum"), IndexOutOfRange, "sum: dim 2 is out of range for 2 dims; valid are -2 to 1"),
    (lambda: normalize_dim(0, 0, "sum", ()), IndexOutOfRange,
     "sum: dim 0 is out of range for shape (); a scalar has no dims"),
    (lambda: normalize_dim("x", 2, "sum", (2, 3)), ArgumentError,
     "sum: dim must be an int, got 'x'; convert it with int()"),
    (lambda: normalize_dims((1, -1), 2, "sum", (2, 3)), ShapeError,
     "sum: dim 1 is named twice in (1, -1) for shape (2, 3); list each dim once"),
    (lambda: broadcast_shapes("add", (2, 3), (4,)), ShapeError,
     "add: shapes (2, 3) and (4,) do not broadcast: dim 1 is 3 against 4, and only equal sizes or 1 broadcast; "
     "insert a dim of length 1 with unsqueeze, or slice to equal sizes"),
    (lambda: as_shape((2, -3), "zeros"), ShapeError,
     "zeros: sizes must be 0 or more, got -3 in (2, -3); pass a size that is not negative"),
    (lambda: as_shape((-2, 3), "reshape", hole=True), ShapeError,
     "reshape: sizes must be 0 or more, or -1, got -2 in (-2, 3); pass a size that is not negative"),
    (lambda: as_shape((2, 1.5), "zeros"), ArgumentError,
     "zeros: a size must be an int, got 1.5; convert it with int()"),
    (lambda: infer_hole((4, -1), 6), ShapeError,
     "reshape: cannot reshape 6 elements to (4, -1); pass sizes whose product divides 6"),
    (lambda: infer_hole((-1, -1), 6), ShapeError,
     "reshape: at most one size can be -1, got 2 in (-1, -1); write the other sizes"),
    (lambda: infer_hole((0, -1), 0), ShapeError,
     "reshape: cannot reshape 0 elements to (0, -1), where any size would fit; write the size instead of -1"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "message"), MISTAKES)
def test_a_mistake_is_named_in_one_sentence(call, error, message):
    with pytest.raises(error) as caught:
        call()
    assert str(caught.value) == message


def test_the_facts_of_an_error_are_attributes():
    with pytest.raises(ShapeError) as caught:
        broadcast_shapes("add", (2, 3), (4,))
    error = caught.value
    assert (error.op, error.lhs, error.rhs, error.dim) == ("add", (2, 3), (4,), 1)
