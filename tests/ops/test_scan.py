"""Cumulative sums, products, log-sums, minima and maxima: ties, zeros, infinities and nan."""

from __future__ import annotations

import numpy as np
import pytest

import minigrad as mg
from minigrad.config import override
from minigrad.errors import DTypeError, IndexOutOfRange
from minigrad.kernels.cpu.lanes import python_sums
from minigrad.kernels.store import watch

pytestmark = pytest.mark.usefixtures("float64")

NAN, INF = float("nan"), float("inf")


def test_integers_and_bools_are_counted_in_int64() -> None:
    x = mg.tensor([True, True, False, True])
    assert x.cumsum(0).tolist() == [1, 2, 2, 3] and x.cumsum(0).dtype is mg.int64
    assert mg.tensor([200, 100], dtype="uint8").cumsum(0).tolist() == [200, 300]
    assert mg.tensor([3, 2]).cumsum(0, dtype="float32").dtype is mg.float32


def test_extremes_keep_the_last_of_ties_and_nan() -> None:
    values, places = mg.tensor([1.0, 3.0, 3.0, 2.0, NAN, 5.0]).cummax(0)
    np.testing.assert_array_equal(values.tolist(), [1, 3, 3, 3, NAN, NAN])
    assert places.tolist() == [0, 1, 2, 2, 4, 4]
    assert mg.tensor([2.0, 2.0, 1.0]).cummin(0).indices.tolist() == [0, 1, 2]


@pytest.mark.parametrize("dtype", ["float64", "float16", "bool"])
def test_an_extreme_and_its_place_come_from_one_kernel(dtype: str) -> None:
    values = np.random.default_rng(0).standard_normal((9, 40, 12)).astype("float16")
    x = mg.tensor(values > 1 if dtype == "bool" else values, dtype=dtype)
    for view in (x, x.transpose(0, 2), x[:, ::-2])[: 3 if dtype == "float64" else 1]:
        for dim in range(3):
            for threshold in (0, 1 << 60):
                with override(parallel_threshold=threshold), watch() as files:
                    found, places = view.cummax(dim)
                assert len(files) == 1
                want = np.maximum.accumulate(view.numpy(), dim)
                np.testing.assert_array_equal(found.numpy(), want)
                np.testing.assert_array_equal(np.take_along_axis(view.numpy(), places.numpy(), dim), want)


@pytest.mark.parametrize("n", [1, 3, 4, 7, 8, 9, 31, 100, (1 << 16) + 13])
@pytest.mark.parametrize(("dtype", "wanted"), [("float32", None), ("float32", "float64"), ("float64", None)])
def test_running_sums_along_memory_are_those_of_numpy(n: int, dtype: str, wanted: str | None) -> None:
    values = np.random.default_rng(n).standard_normal((3, n)).astype(dtype)
    values[1, n // 2], values[2, n // 3] = INF, NAN
    exact = np.cumsum(values.astype(np.float64), 1)
    for x, right in ((mg.tensor(values), exact), (mg.tensor(values[0]), exact[0])):
        found = x.cumsum(-1, dtype=wanted)
        np.testing.assert_allclose(found.numpy(), right.astype(wanted or dtype), rtol=1e-6, atol=1e-12 * n)
    sums = np.zeros(n, wanted or dtype)
    assert python_sums(values[0], 0, sums, 0, n, 0.5) == 0.5 + exact[0, -1]
    np.testing.assert_allclose(sums, 0.5 + exact[0], rtol=1e-6, atol=1e-12 * n)


def test_the_gradient_of_an_extreme_goes_where_it_stands() -> None:
    x = mg.Var([1.0, 3.0, 2.0, 3.0])
    x.cummax(0).values.backward(gradient=mg.tensor([1.0, 10.0, 100.0, 1000.0]))
    assert x.grad.tolist() == [1.0, 110.0, 0.0, 1000.0]


def test_the_gradient_of_a_product_is_exact_with_zeros() -> None:
    x = mg.Var([2.0, 0.0, 5.0, 0.0, 7.0])
    x.cumprod(0).backward()
    # d/dx1 of x0 + x0*x1 + x0*x1*x2 + ... is x0 * (1 + x2 + x2*x3 + x2*x3*x4) = 2 * 6.
    assert x.grad.tolist() == [1.0, 12.0, 0.0, 0.0, 0.0]
    assert mg.tensor([2.0, 0.0, 5.0]).cumprod(0).tolist() == [2.0, 0.0, 0.0]


def test_log_sums_of_far_apart_numbers() -> None:
    x = mg.Var([-INF, -1000.0, 0.0, 1000.0, 1000.0])
    y = x.logcumsumexp(0)
    np.testing.assert_allclose(y.tolist(), [-INF, -1000, 0, 1000, 1000 + np.log(2)], rtol=1e-6)
    y.backward()
    np.testing.assert_allclose(x.grad.tolist(), [0, 1, 1, 1.5, 0.5], rtol=1e-4)


def test_a_scalar_is_a_row_of_one_and_nothing_stays_nothing() -> None:
    x = mg.tensor(3.0)
    assert x.cumsum(0).item() == x.cumprod(-1).item() == x.cummax(0).values.item() == 3.0
    assert mg.zeros(0, 3).cumsum(0).shape == mg.zeros(3, 0).cummax(1).values.shape[::-1] == (0, 3)


def test_the_result_has_the_dtype_that_was_asked_for() -> None:
    x = mg.tensor([100, 100, 2])
    assert x.cumsum(0, dtype="int32").dtype is x.cumprod(0, dtype="int32").dtype is mg.int32
    assert x.cumsum(0, dtype="int8").tolist() == [100, -56, -54]  # wraps as int8 does
    assert x.cumsum(0).dtype is mg.int64


def test_sums_and_products_into_integers_and_bools_are_computed_in_the_dtype_of_out() -> None:
    x = mg.tensor([1.5, 2.5])
    number, row, flag = mg.empty((), dtype="int64"), mg.empty(2, dtype="int64"), mg.empty((), dtype="bool")
    assert mg.sum(x, 0, out=number) is number and number.item() == 3, "1 + 2, and not the 4 of 1.5 + 2.5"
    assert mg.prod(x, 0, out=number).item() == 2 and mg.sum(x > 2, 0, out=flag).item() is True
    assert mg.cumsum(x, 0, out=row).tolist() == [1, 3] and mg.cumprod(x, 0, out=row).tolist() == [1, 2]
    with pytest.raises(DTypeError, match="mean: the result is float64"):
        mg.mean(x, 0, out=number)


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(IndexOutOfRange, match=r"cumsum: .*dim 2"):
        mg.zeros(2, 3).cumsum(2)
    with pytest.raises(DTypeError, match=r"logcumsumexp: got int64\(3,\)"):
        mg.arange(3).logcumsumexp(0)
