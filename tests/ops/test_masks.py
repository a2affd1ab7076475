"""Masks: reading, writing, counting; masks of nothing and of everything."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad.config import override
from minigrad.errors import DTypeError, GradientError, IndexOutOfRange, ShapeError

pytestmark = pytest.mark.usefixtures("float64")


@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_a_mask_chooses_in_row_major_order_of_any_layout(device: str) -> None:
    x = mg.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], device=device)
    mask = mg.tensor([[True, False], [False, True], [True, True]], device=device)
    assert x[mask.mT].tolist() == [1.0, 3.0, 5.0, 6.0]
    assert x.mT[mask].tolist() == [1.0, 5.0, 3.0, 6.0]
    assert x[mg.tensor([False, True], device=device)].tolist() == [[4.0, 5.0, 6.0]]
    assert x[:, [True, False, True]].tolist() == [[1.0, 3.0], [4.0, 6.0]]
    assert mask.mT.nonzero().tolist() == [[0, 0], [0, 2], [1, 1], [1, 2]]


def test_where_with_a_condition_alone_finds_what_is_not_zero() -> None:
    x = mg.tensor([[0.0, 2.0], [3.0, 0.0]], device="reference")
    for found in (mg.where(x), mg.where(x > 0), mg.where(condition=x.mT.contiguous().mT)):
        assert [column.tolist() for column in found] == [[0, 1], [1, 0]]
    (index,) = mg.where(mg.tensor(3, device="reference"))
    assert index.tolist() == [0] and mg.where(x)[0].dtype is mg.int64
    assert mg.where(x > 0, input=x, other=-1.0).tolist() == [[-1.0, 2.0], [3.0, -1.0]]
    with pytest.raises(DTypeError, match=r"where: .*None"):
        mg.where(x > 0, x)
    with pytest.raises(DTypeError, match=r"where: .*None"):
        mg.where(x > 0, out=x)


def test_a_mask_of_nothing_and_one_of_everything() -> None:
    x = mg.Var(np.arange(6.0).reshape(2, 3))
    none, every = x.detach() < 0, x.detach() >= 0
    assert x[none].shape == (0,) and x[every].tolist() == [0, 1, 2, 3, 4, 5]
    (x[none].sum() + x[every].sum()).backward()
    assert x.grad.tolist() == [[1, 1, 1], [1, 1, 1]]
    assert none.nonzero().shape == (0, 2) and mg.zeros(0, 2).nonzero().shape == (0, 2)
    assert mg.tensor(3.0).nonzero().shape == (1, 0) and mg.tensor(0.0).nonzero().shape == (0, 0)


def test_long_masks_on_one_thread_and_on_many() -> None:
    values = np.random.default_rng(0).random((40, 1000)) < 0.3
    for threshold in (0, 1 << 60):
        with override(parallel_threshold=threshold):
            for mask, wanted in ((mg.tensor(values), values), (mg.tensor(values).mT[::-1], values.T[::-1])):
                assert mask.nonzero().tolist() == np.argwhere(wanted).tolist()


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (7, [[7, 1, 7], [3, 4, 7]]),
        ([10.0, 20.0, 30.0], [[10, 1, 20], [3, 4, 30]]),
        (np.float64([5]), [[5, 1, 5], [3, 4, 5]]),
    ],
)
def test_assignment_writes_where_the_mask_holds(value: Any, wanted: Any) -> None:
    x = mg.tensor(np.arange(6.0).reshape(2, 3))
    version = x.storage.version
    x[mg.tensor([[True, False, True], [False, False, True]])] = value
    assert x.tolist() == wanted and x.storage.version == version + 1


def test_the_positions_in_many_dims_are_those_of_numpy() -> None:
    for shape in ((2, 3, 4), (3, 1, 2, 5), (1, 1, 1), (2, 0, 3)):
        values = np.arange(np.prod(shape)).reshape(shape) % 3
        for x in (mg.tensor(values, device="reference"), mg.tensor(values > 0, device="reference")):
            assert x.nonzero().tolist() == np.argwhere(values).tolist()
            assert [index.tolist() for index in x.nonzero(as_tuple=True)] == [i.tolist() for i in np.nonzero(values)]


def test_assignment_of_rows_through_a_view_and_from_the_tensor_itself() -> None:
    x = mg.tensor(np.arange(6.0).reshape(3, 2))
    x[:, 1][mg.tensor([True, False, True])] = mg.tensor([-1.0, -2.0])
    assert x.tolist() == [[0, -1], [2, 3], [4, -2]]
    x[mg.tensor([True, True, False])] = x[1:]
    assert x.tolist() == [[2, 3], [4, -2], [4, -2]]
    x[x < 0] = x[0, 0]
    assert x.tolist() == [[2, 3], [4, 2], [4, 2]]


def test_filling_keeps_the_dtype_and_has_a_gradient_for_the_value() -> None:
    x, value = mg.Var([1.0, 2.0, 3.0]), mg.Var(5.0)
    y = x.masked_fill(mg.tensor([True, False, True]), value)
    y.backward(gradient=mg.tensor([1.0, 10.0, 100.0]))
    assert y.tolist() == [5, 2, 5] and x.grad.tolist() == [0, 10, 0] and value.grad.item() == 101.0
    counts = mg.arange(3)
    assert counts.masked_fill_(counts > 1, 9) is counts and counts.tolist() == [0, 1, 9]
    assert counts.masked_fill(counts > 1, 7).dtype is mg.int64


def test_masked_scatter_takes_the_source_in_order() -> None:
    x, source = mg.Var([[0.0, 0.0], [0.0, 0.0]]), mg.Var([1.0, 2.0, 3.0])
    y = x.masked_scatter(mg.tensor([[False, True], [True, False]]), source)
    (y * y).sum().backward()
    assert y.tolist() == [[0, 1], [2, 0]] and source.grad.tolist() == [2, 4, 0]
    assert x.masked_scatter(mg.tensor([[False, False]]), source).tolist() == [[0, 0], [0, 0]]


def test_a_second_derivative_goes_through_a_mask() -> None:
    x = mg.Var([1.0, 2.0, 3.0])
    g = mg.grad((x[x.detach() > 1] ** 3).sum(), x, create_graph=True)
    assert g.tolist() == [0, 12, 27] and mg.grad(g.sum(), x).tolist() == [0, 12, 18]


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda x, m: x[m[:1]], ShapeError, r"mask must have shape \(2, 3\), .*, got bool\(1, 3\)"),
        (lambda x, m: x[m, 0], IndexOutOfRange, r"2 indices are allowed for float64\(2, 3\), got 3"),
        (lambda x, m: x.masked_select(x), DTypeError, r"mask must be bool, got float64\(2, 3\)"),
        (
            lambda x, m: x.masked_fill(m[:, :2], 0),
            ShapeError,
            r"mask must broadcast with float64\(2, 3\), got bool\(2, 2\)",
        ),
        (lambda x, m: x.masked_fill(m, x), ShapeError, r"must have shape \(\), .* got float64\(2, 3\)"),
        (lambda x, m: x.masked_scatter(m, x[0, :2]), ShapeError, r"at least 6 elements, .* got float64\(2,\) with 2"),
        (lambda x, m: x.__setitem__(m, x[0, :2]), ShapeError, r"must broadcast to the \(6,\) .*, got float64\(2,\)"),
        (lambda x, m: mg.Var(x).__setitem__(m, 0), GradientError, r"cannot write into a Var"),
    ],
)
def test_wrong_masks_are_named(call: Any, error: Any, text: str) -> None:
    with pytest.raises(error, match=text):
        call(mg.zeros(2, 3), mg.ones(2, 3) > 0)


def test_a_fixed_number_of_positions_is_cut_off_or_filled_up() -> None:
    x = mg.tensor([[0, 7], [8, 0]], device="reference")
    assert mg.nonzero_static(x, size=1).tolist() == [[0, 1]]
    assert x.nonzero_static(size=3, fill_value=9).tolist() == [[0, 1], [1, 0], [9, 9]]
    with pytest.raises(mg.errors.ArgumentError, match="size"):
        mg.nonzero_static(x, size=-1)
