"""Embeddings: the rows that are read, and the gradient of the table."""

from __future__ import annotations

import math

import pytest

import minigrad as mg
from minigrad.errors import DTypeError, IndexOutOfRange, ShapeError, StorageError

pytestmark = pytest.mark.usefixtures("float64")

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
    for by_freq in (False, True):
        with pytest.raises(IndexOutOfRange, match=r"^embedding: index 3 is out of range .* of float64\(3, 2\)"):
            F.embedding(mg.tensor([3]), table(), scale_grad_by_freq=by_freq)
    with pytest.raises(
        IndexOutOfRange, match=r"embedding: padding_idx must be from -3 to 2 for the weight float64\(3, 2\)"
    ):
        F.embedding(mg.tensor([1]), table(), 3)
    with pytest.raises(DTypeError, match=r"embedding: input must have an integer dtype, got float64\(1,\)"):
        F.embedding(mg.tensor([1.0]), table())
    with pytest.raises(ShapeError, match=r"embedding: weight must have 2 dims .*, got float64\(3,\)"):
        F.embedding(mg.tensor([1]), mg.zeros(3))


# ---- PyTorch's other arguments


def test_rows_that_are_read_and_too_long_are_shortened_in_the_table() -> None:
    w = mg.Var([[3.0, 4.0], [30.0, 40.0], [0.3, 0.4]])
    y = F.embedding(mg.tensor([[0, 2], [0, -1]]), w, max_norm=2.5)
    assert w.tolist() == [pytest.approx([1.5, 2.0]), [30.0, 40.0], pytest.approx([0.3, 0.4])]
    assert y.tolist() == [[w.tolist()[0], w.tolist()[2]], [w.tolist()[0], w.tolist()[2]]]
    y.backward()
    assert w.grad.tolist() == [[2, 2], [0, 0], [2, 2]]  # as if the table had always been so


@pytest.mark.parametrize(
    ("order", "norm"), [(1.0, 7.0), (2, 5.0), (3.0, 91 ** (1 / 3)), (math.inf, 4.0), (-math.inf, 3.0), (0, 2.0)]
)
def test_the_order_of_the_norm(order: float, norm: float) -> None:
    for bound in (norm / 2, norm * 1.01):
        w = mg.tensor([[3.0, -4.0]], dtype="float64")
        F.embedding(mg.tensor([0]), w, None, bound, order)
        assert w.tolist()[0] == pytest.approx([3.0, -4.0] if bound > norm else [1.5, -2.0], rel=1e-6)


def test_a_table_that_has_been_shortened_is_a_new_version() -> None:
    w, numbers = mg.Var([[3.0, 4.0], [0.0, 1.0]]), mg.tensor([0, 1])
    y = w * w
    F.embedding(numbers, w, max_norm=5.0)  # nothing is longer, so nothing is written
    y.backward(retain_graph=True)
    F.embedding(numbers, w, max_norm=1.0)
    with pytest.raises(StorageError, match="changed in place"):
        y.backward()


def test_nothing_is_shortened_by_a_call_that_fails() -> None:
    w = table()
    for numbers, padding in (([2, 3], None), ([2, -4], None), ([2], 7)):
        with pytest.raises(IndexOutOfRange, match=r"embedding: (.* out of range|padding_idx must)"):
            F.embedding(mg.tensor(numbers), w, padding, 0.1)
    with pytest.raises(DTypeError, match="max_norm must be a number"):
        F.embedding(mg.tensor([1]), w, max_norm="2")
    assert w.tolist() == table().tolist()


def test_a_half_precision_table_is_shortened_without_overflow() -> None:
    w = mg.tensor([[300.0, 400.0]], dtype="float16")  # the squares are beyond float16
    F.embedding(mg.tensor([0]), w, max_norm=5.0)
    assert w.tolist() == [pytest.approx([3.0, 4.0], rel=1e-3)]


def test_what_a_row_learns_may_be_shared_by_how_often_it_was_read() -> None:
    w, numbers = table(), mg.tensor([[2, 0], [2, -1]])  # row 2 three times
    y = F.embedding(numbers, w, scale_grad_by_freq=True)
    assert y.tolist() == F.embedding(numbers, w).tolist()
    y.backward(gradient=mg.tensor([[[3.0, 6.0], [1.0, 1.0]], [[6.0, 3.0], [9.0, 9.0]]]))
    assert w.grad.tolist() == [[1, 1], [0, 0], [6, 6]]
    w.grad = None
    F.embedding(numbers, w, 0, scale_grad_by_freq=True).backward()
    assert w.grad.tolist() == [[0, 0], [0, 0], [1, 1]]


def test_sparse_gradients_are_dense() -> None:
    grads = []
    for sparse in (False, True):
        w = table()
        F.embedding(mg.tensor([1, 1]), w, sparse=sparse).sum().backward()
        F.embedding_bag(mg.tensor([[1, 2]]), w, sparse=sparse).sum().backward()
        grads.append(w.grad.tolist())
    assert grads[0] == grads[1]
