"""scatter_reduce: ties, zeros, what no index names, dtypes, sizes, and errors that name the operands."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad.errors import ArgumentError, DTypeError, IndexOutOfRange, ShapeError
from minigrad.testing import gradcheck

INDEX = [0, 0, 1, 0]


def tensor(data: Any, dtype: str = "float64") -> mg.Tensor:
    return mg.tensor(data, dtype=dtype, device="reference")


def var(data: Any) -> mg.Var:
    return mg.Var(np.array(data, dtype=np.float64), device="reference")


@pytest.mark.parametrize(
    ("reduce", "with_self", "without"),
    [
        ("sum", [12.0, 7.0, 9.0], [11.0, 5.0, 9.0]),
        ("prod", [21.0, 10.0, 9.0], [21.0, 5.0, 9.0]),
        ("mean", [3.0, 3.5, 9.0], [11.0 / 3.0, 5.0, 9.0]),
        ("amax", [7.0, 5.0, 9.0], [7.0, 5.0, 9.0]),
        ("amin", [1.0, 2.0, 9.0], [1.0, 5.0, 9.0]),
    ],
)
def test_what_each_reduction_gives(reduce: str, with_self: list[float], without: list[float]) -> None:
    x, src, index = tensor([1.0, 2.0, 9.0]), tensor([3.0, 7.0, 5.0, 1.0]), tensor(INDEX, "int64")
    assert mg.scatter_reduce(x, 0, index, src, reduce).tolist() == with_self
    assert mg.scatter_reduce(x, 0, index, src, reduce, include_self=False).tolist() == pytest.approx(without)
    y = x.clone()
    assert y.scatter_reduce_(-1, index, src, reduce) is y and y.tolist() == with_self


def test_an_extreme_shares_its_gradient_evenly_and_an_element_left_out_gets_none() -> None:
    x, src = var([7.0, 2.0, 9.0]), var([7.0, 7.0, 5.0, 1.0])
    index = tensor(INDEX, "int64")
    grads = mg.scatter_reduce(x, 0, index, src, "amax").backward()
    np.testing.assert_allclose(grads[x].numpy(), [1 / 3, 0.0, 1.0])
    np.testing.assert_allclose(grads[src].numpy(), [1 / 3, 1 / 3, 1.0, 0.0])
    grads = mg.scatter_reduce(x, 0, index, src, "amax", include_self=False).backward()
    assert grads[x].tolist() == [0.0, 0.0, 1.0] and grads[src].tolist() == [0.5, 0.5, 1.0, 0.0]


def test_a_product_with_zeros_has_its_derivatives_of_every_order() -> None:
    x, src = var([2.0, 3.0]), var([0.0, 0.0, 5.0, 0.0])
    index = tensor([0, 0, 1, 1], "int64")

    def product(x: Any, src: Any) -> Any:
        return mg.scatter_reduce(x, 0, index, src, "prod")

    assert product(x, src).backward()[src].tolist() == [0.0, 0.0, 0.0, 15.0]
    assert gradcheck(product, [x, src])
    h = mg.func.hessian(lambda s: product(x.detach(), s).sum())(src.detach())
    assert h.tolist() == [[0, 2, 0, 0], [2, 0, 0, 0], [0, 0, 0, 3], [0, 0, 3, 0]]


def test_nan_wins_among_those_of_its_position_only() -> None:
    x, index = tensor([1.0, 2.0]), tensor([0, 0, 1], "int64")
    src = tensor([math.nan, 3.0, -math.inf])
    for reduce, other in (("amax", 2.0), ("amin", -math.inf), ("prod", -math.inf)):
        y = mg.scatter_reduce(x, 0, index, src, reduce).tolist()
        assert math.isnan(y[0]) and y[1] == other


def test_an_infinity_stays_in_the_gradient_of_its_position() -> None:
    x, src = tensor([1.0, 1.0, 1.0, 1.0]), var([math.inf, 2.0, 3.0, math.nan, 4.0])
    mg.scatter_reduce(x, 0, tensor([0, 1, 1, 2, 3], "int64"), src, "prod").sum().backward()
    assert src.grad.tolist() == [1.0, 3.0, 2.0, 1.0, 1.0]


def test_long_runs_of_one_position_are_reduced_as_a_whole() -> None:
    rng = np.random.default_rng(0)
    src, index = rng.uniform(0.9, 1.1, (2, 100)), rng.integers(0, 3, (2, 100))
    want = np.ones((2, 4))
    np.multiply.at(want, (np.arange(2)[:, None], index), src)
    got = mg.scatter_reduce(mg.ones(2, 4, dtype="float64", device="reference"), 1, tensor(index, "int64"), tensor(src),
                            "prod")  # fmt: skip
    np.testing.assert_allclose(got.numpy(), want)


def test_dtypes_stay_and_a_mean_of_integers_is_rounded_down() -> None:
    index = tensor([0, 0], "int64")
    assert mg.scatter_reduce(tensor([-7], "int32"), 0, index, tensor([2, 1], "int32"), "mean").tolist() == [-2]
    for reduce, want in (("sum", True), ("amax", True), ("prod", False), ("amin", False)):
        y = mg.scatter_reduce(tensor([True], "bool"), 0, index, tensor([True, False], "bool"), reduce)
        assert y.dtype is mg.bool and y.tolist() == [want]


def test_a_scalar_an_empty_index_and_a_longer_source() -> None:
    assert mg.scatter_reduce(tensor(2.0), 0, tensor(0, "int64"), tensor(3.0), "prod").item() == 6.0
    x, none = tensor([1.0, 2.0]), mg.zeros(0, dtype="int64", device="reference")
    for reduce in ("sum", "prod", "mean", "amax"):
        assert mg.scatter_reduce(x, 0, none, tensor([5.0]), reduce, include_self=False).tolist() == [1.0, 2.0]
    a, nothing = (mg.Var(values, "float64", "reference") for values in ([1.0, 2.0], []))
    grads = mg.scatter_reduce(a, 0, none, nothing, "prod").sum().backward()
    assert grads[a].tolist() == [1.0, 1.0] and grads[nothing].shape == (0,)
    assert mg.scatter_reduce(x, 0, tensor([-1], "int64"), tensor([5.0, 9.0]), "amax").tolist() == [1.0, 5.0]


def test_each_of_a_batch_is_reduced_alone() -> None:
    x, index = tensor([[1.0, 2.0], [8.0, 0.0]]), tensor([[0, 0, 1], [1, 1, 1]], "int64")
    src = tensor([[3.0, 4.0, 5.0], [6.0, 7.0, 2.0]])
    for reduce in ("sum", "prod", "mean", "amax", "amin"):
        many = mg.func.vmap(lambda x, i, s: mg.scatter_reduce(x, 0, i, s, reduce))(x, index, src)  # noqa: B023
        assert many.tolist() == mg.scatter_reduce(x, 1, index, src, reduce).tolist()


def test_errors_name_what_does_not_fit() -> None:
    x, index, src = tensor([1.0, 2.0]), tensor([0, 1, 0], "int64"), tensor([1.0, 2.0, 3.0])
    with pytest.raises(ArgumentError, match="reduce must be 'sum', 'prod', 'mean', 'amax' or 'amin', got 'median'"):
        mg.scatter_reduce(x, 0, index, src, "median")
    with pytest.raises(DTypeError, match=r"must have the same dtype.*float64\(2,\) and float32\(3,\)"):
        mg.scatter_reduce(x, 0, index, src.to("float32"), "sum")
    with pytest.raises(ShapeError, match=r"fit inside src, got .* index int64\(3,\) and src float64\(2,\)"):
        mg.scatter_reduce(x, 0, index, x, "sum")
    for bad in (2, -3):
        for reduce in ("amax", "prod", "sum"):
            with pytest.raises(IndexOutOfRange, match=str(bad)):
                mg.scatter_reduce(x, 0, tensor([bad, 0, 1], "int64"), src, reduce)


def test_scatter_takes_a_number_by_pytorchs_name() -> None:
    x, index = mg.zeros(2, 3, device="reference"), mg.tensor([[0, 1, 0]], device="reference")
    assert mg.scatter(x, 0, index, value=2.0).tolist() == [[2.0, 0.0, 2.0], [0.0, 2.0, 0.0]]
    assert x.scatter_(0, index, value=3.0).tolist() == x.scatter(0, index, 3.0).tolist() == x.tolist()
    assert x.scatter(0, index, value=2.0, reduce="add").tolist() == [[5.0, 0.0, 5.0], [0.0, 5.0, 0.0]]
    for wrong in ({}, {"src": x, "value": 1.0}):
        with pytest.raises(mg.ArgumentError, match="either src or value"):
            mg.scatter(x, 0, index, **wrong)


def test_complex_elements_are_multiplied_and_averaged_with_gradients() -> None:
    x, src = tensor([1 + 1j, 2, 9], "complex128"), tensor([1j, 2, 3 - 1j, 0], "complex128")
    index = tensor(INDEX, "int64")
    assert x.scatter_reduce(0, index[:3], src[:3], "prod").tolist() == [-2 + 2j, 6 - 2j, 9]
    assert x.scatter(0, index[:2], src[:2], reduce="multiply").tolist() == [-2 + 2j, 2, 9]
    assert x.scatter_reduce(0, index, src, "mean", include_self=False).tolist()[1:] == [3 - 1j, 9]
    for reduce in ("prod", "mean"):
        call = lambda x, src: mg.scatter_reduce(x, 0, index, src, reduce)  # noqa: B023
        assert gradcheck(call, (x.requires_grad_(), src.requires_grad_()))
    with pytest.raises(DTypeError, match="complex"):
        mg.scatter_reduce(x, 0, index, src, "amax")


def test_a_slice_without_dims_is_written_at_one_position() -> None:
    x, value = tensor([1.0, 2.0, 3.0]).requires_grad_(), tensor(7.0).requires_grad_()
    for index in (tensor(1, "int64"), tensor([1], "int64")):
        y = x.index_copy(0, index, value)
        assert y.tolist() == [1.0, 7.0, 3.0]
        assert [g.tolist() for g in mg.autograd.grad(y.sum(), (x, value))] == [[1.0, 0.0, 1.0], 1.0]
