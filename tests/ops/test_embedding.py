"""Embeddings: which rows are read, and what the table learns."""

from __future__ import annotations

import pytest

import minigrad as mg
from minigrad.errors import DTypeError, IndexOutOfRange, ShapeError

F = mg.nn.functional


def table() -> mg.Var:
    return mg.Var([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]])


def test_rows_are_read_by_their_numbers_in_any_shape() -> None:
    y = F.embedding(mg.tensor([[2, 0], [1, 2]]), table())
    assert y.shape == (2, 2, 2) and y.tolist() == [[[4, 5], [0, 1]], [[2, 3], [4, 5]]]
    assert F.embedding(mg.tensor(1), table()).tolist() == [2, 3]


def test_a_row_read_twice_learns_twice_and_the_padding_row_nothing() -> None:
    numbers = mg.tensor([2, 1, 2])
    w = table()
    F.embedding(numbers, w).backward(gradient=mg.tensor([[1.0, 1.0], [10.0, 10.0], [100.0, 100.0]]))
    assert w.grad.tolist() == [[0, 0], [10, 10], [101, 101]]
    w.grad = None
    y = F.embedding(numbers, w, padding_idx=-1)
    assert y.tolist() == [[4, 5], [2, 3], [4, 5]]
    y.backward()
    assert w.grad.tolist() == [[0, 0], [1, 1], [0, 0]]


def test_the_padding_row_learns_nothing_under_its_negative_number_either() -> None:
    w = table()
    F.embedding(mg.tensor([-1, 0]), w, padding_idx=2).backward()
    assert w.grad.tolist() == [[1, 1], [0, 0], [0, 0]]


def test_narrow_numbers_may_not_hold_the_padding_row() -> None:
    w = mg.Var(mg.zeros(300, 1))
    F.embedding(mg.tensor([0, 127, 43], dtype="uint8"), w, padding_idx=299).backward()  # 299 wraps to 43
    assert w.grad.sum().item() == 3


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(IndexOutOfRange, match=r"index 3 is out of range"):
        F.embedding(mg.tensor([3]), table())
    with pytest.raises(IndexOutOfRange, match=r"embedding: padding_idx 3 is out of range for float32\(3, 2\)"):
        F.embedding(mg.tensor([1]), table(), 3)
    with pytest.raises(DTypeError, match=r"embedding: the numbers of rows need an integer dtype, got float32\(1,\)"):
        F.embedding(mg.tensor([1.0]), table())
    with pytest.raises(ShapeError, match=r"embedding: the table of rows must have 2 dims, got float32\(3,\)"):
        F.embedding(mg.tensor([1]), mg.zeros(3))
