"""Sorting: ties, nan, zeros, the limits of every dtype, and gradients."""

from __future__ import annotations

import numpy as np
import pytest
from cases import over, unless_full

import minigrad as mg
from minigrad.errors import ArgumentError, IndexOutOfRange, ShapeError

NAN, INF = float("nan"), float("inf")


def test_nan_is_the_greatest_and_the_zeros_are_equal() -> None:
    x = mg.tensor([0.0, NAN, -0.0, INF, -INF, -1.0])
    assert x.argsort().tolist() == [4, 5, 0, 2, 3, 1]
    assert x.argsort(descending=True).tolist() == [1, 3, 0, 2, 5, 4]
    assert x.topk(2).indices.tolist() == [1, 3]


@unless_full(lambda dtype: dtype in ("bfloat16", "float64", "uint8"))
@over("dtype", ["float16", "bfloat16", "float32", "float64", "uint8", "int8", "int64", "bool"])
@over("n", [3, 40, 9000])
def test_equal_elements_keep_their_order_both_ways(dtype: str, n: int) -> None:
    values = np.random.default_rng(n).integers(0, 2, n)
    x = mg.tensor(values, dtype=dtype)
    assert x.argsort().tolist() == np.argsort(values, stable=True).tolist()
    assert x.argsort(descending=True).tolist() == np.argsort(1 - values, stable=True).tolist()


@unless_full(lambda dtype: dtype in ("uint8", "int32", "int64"))
@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32", "uint32", "int64"])
def test_the_ends_of_integers_are_in_order(dtype: str) -> None:
    kind = mg.as_dtype(dtype)
    x = mg.tensor([0, kind.highest, 1, kind.lowest, kind.highest - 1], dtype=dtype)
    assert x.sort().values.tolist() == sorted(x.tolist())
    assert x.sort(descending=True).values.tolist() == sorted(x.tolist(), reverse=True)


@over("k", [1, 5, 33, 200, 999, 1000])
@unless_full(lambda dtype: dtype in ("float64", "uint8"))
@over("dtype", ["float32", "float64", "uint8", "bfloat16"])
def test_the_first_few_are_those_of_the_whole_order(dtype: str, k: int) -> None:
    x = mg.tensor(np.random.default_rng(0).standard_normal((3, 1000)) ** 2 * 20, dtype=dtype)
    for largest in (False, True):
        values, places = x.topk(k, largest=largest)
        whole = x.sort(descending=largest)
        assert places.tolist() == whole.indices[:, :k].tolist()
        assert values.tolist() == whole.values[:, :k].tolist()


def test_gradients_go_where_the_values_stood() -> None:
    x = mg.Var([3.0, 1.0, 2.0])
    x.sort().values.backward(gradient=mg.tensor([1.0, 10.0, 100.0]))
    assert x.grad.tolist() == [100.0, 1.0, 10.0]
    y = mg.Var([[3.0, 1.0, 2.0]])
    y.topk(2, 1).values.backward(gradient=mg.tensor([[1.0, 10.0]]))
    assert y.grad.tolist() == [[1.0, 0.0, 10.0]]


def test_the_median_is_the_lower_of_two_and_nan_if_there_is_one() -> None:
    assert mg.tensor([4.0, 1.0, 3.0, 2.0]).median().item() == 2.0
    values, places = mg.tensor([[1.0, NAN, 0.0], [5.0, 6.0, 4.0]]).median(1)
    np.testing.assert_array_equal(values.tolist(), [NAN, 5.0])
    assert places.tolist() == [1, 0]
    assert mg.tensor([7.0, 9.0, 8.0]).kthvalue(3) == (9.0, 1)


def test_scalars_and_nothing_are_sorted_already() -> None:
    assert mg.tensor(3.0).sort() == (3.0, 0) and mg.tensor(3.0).topk(1) == (3.0, 0)
    assert mg.zeros(0).sort().indices.shape == (0,) and mg.zeros(2, 5).topk(0).values.shape == (2, 0)


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(ArgumentError, match=r"topk: k must be 0 to 3 for dim 1 of float32\(2, 3\), got 4"):
        mg.zeros(2, 3).topk(4)
    with pytest.raises(ArgumentError, match=r"kthvalue: k must be 1 to 3"):
        mg.zeros(2, 3).kthvalue(0)
    with pytest.raises(IndexOutOfRange, match=r"sort: .*dim 2"):
        mg.zeros(2, 3).sort(2)
    with pytest.raises(ShapeError, match=r"median: input must have an element along dim 0, got float32\(0,\)"):
        mg.zeros(0).median(0)


@pytest.mark.parametrize("name", ["max", "min", "cummax", "cummin", "sort", "topk", "kthvalue", "median"])
def test_a_result_of_two_is_called_as_what_was_called(name):
    x = mg.tensor([3.0, 1.0, 2.0], device="reference")
    found = getattr(mg, name)(x, *([1] if name in ("topk", "kthvalue") else []), dim=0)
    assert type(found).__name__ == name and repr(found).startswith(f"{name}(values=")


@pytest.mark.parametrize("function", [mg.median, mg.nanmedian])
@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([4.0, 1.0, 3.0, 3.0, 3.0, 9.0], [0.0, 0.0, 1 / 3, 1 / 3, 1 / 3, 0.0]),
        ([3.0, 2.0, 2.0], [0.0, 0.5, 0.5]),
        ([np.inf, np.inf, 1.0], [0.5, 0.5, 0.0]),
        ([-np.inf, 2.0, -np.inf], [0.5, 0.0, 0.5]),
        ([2.0], [1.0]),
    ],
)
def test_tied_medians_of_all_elements_share_the_gradient(function, values, expected) -> None:
    x = mg.tensor(values, device="reference", requires_grad=True)
    y = function(x)
    y.backward()
    np.testing.assert_allclose(x.grad.numpy(), expected, rtol=1e-6)
    assert y.item() in values
    along = mg.tensor([[3.0, 3.0]], device="reference", requires_grad=True)
    function(along, 1).values.sum().backward()
    assert sorted(along.grad.tolist()[0]) == [0.0, 1.0]  # along a dim, one position receives it


def test_the_median_of_nan_is_nan_and_its_gradient_that_of_amax() -> None:
    gradients = []
    for function in (mg.median, mg.amax):
        x = mg.tensor([np.nan, 1.0, np.nan], device="reference", requires_grad=True)
        y = function(x)
        y.backward()
        assert np.isnan(y.item())
        gradients.append(x.grad.tolist())
    assert gradients[0] == gradients[1]


@pytest.mark.parametrize("device", ["cpu", "reference"])
@pytest.mark.parametrize("n", [1, 32, 33, 300])
def test_a_selected_element_is_that_of_a_stable_sort(n: int, device: str) -> None:
    x = mg.tensor(np.random.default_rng(n).integers(0, 9, (3, n)).astype(np.float32), device=device)
    values, order = x.sort(1)
    for k in {1, (n + 1) // 2, n}:
        assert x.kthvalue(k, 1).indices.tolist() == order[:, k - 1].tolist()
        assert x.T.kthvalue(k, 0).values.tolist() == values[:, k - 1].tolist()
    assert x.median(1).indices.tolist() == order[:, (n - 1) // 2].tolist()
    assert x.long().median(1, True).values.tolist() == values[:, (n - 1) // 2, None].tolist()


@pytest.mark.parametrize("device", ["cpu", "reference"])
@pytest.mark.parametrize("n", [6, 60])
def test_a_median_selects_the_first_nan_and_a_nanmedian_skips_nan(n: int, device: str) -> None:
    row = np.arange(n, 0.0, -1.0, dtype=np.float32)
    row[[1, 3, 4]] = NAN
    x = mg.tensor(np.stack([row, np.full(n, NAN, np.float32)]), device=device)
    assert x.median(1).indices.tolist() == [1, 0] and x.kthvalue(n, 1).indices.tolist() == [4, n - 1]
    values, places = x.nanmedian(1)
    assert values[0].item() == np.sort(row)[(n - 4) // 2] and places[1].item() == 0
    assert places[0].item() == np.argsort(row, stable=True)[(n - 4) // 2]


def test_a_mode_is_the_last_of_the_smallest_frequent_elements() -> None:
    for device in ("cpu", "reference"):
        x = mg.tensor([[2.0, 1.0, 2.0, 1.0, 0.0], [5.0, 4.0, 3.0, 2.0, 1.0], [7.0, 7.0, 7.0, 0.0, 0.0]], device=device)
        assert mg.mode(x, 1).values.tolist() == [1, 1, 7] and mg.mode(x, 1).indices.tolist() == [3, 4, 2]
        assert mg.mode(mg.tensor([NAN, NAN, 1.0], device=device)).values.item() == 1.0
