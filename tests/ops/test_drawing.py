"""Random numbers in place: the right distribution, the dtype and memory of the tensor, no gradient for what it held."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import minigrad as mg

N = 4000
# Name, arguments, and quantiles of 1/4, 1/2 and 3/4.
QUARTILES: list[tuple[str, tuple[Any, ...], tuple[float, float, float]]] = [
    ("normal_", (1.0, 2.0), (1 - 2 * 0.67449, 1.0, 1 + 2 * 0.67449)),
    ("uniform_", (-1.0, 3.0), (0.0, 1.0, 2.0)),
    ("exponential_", (2.0,), (-math.log(0.75) / 2, math.log(2) / 2, math.log(4) / 2)),
    ("cauchy_", (1.0, 0.5), (0.5, 1.0, 1.5)),
    ("log_normal_", (0.0, 1.0), (math.exp(-0.67449), 1.0, math.exp(0.67449))),
]


def filled(name: str, *args: Any, shape: tuple[int, ...] = (N,), dtype: str = "float64") -> Any:
    mg.manual_seed(3)
    x = mg.zeros(shape, dtype=dtype, device="reference")
    assert getattr(x, name)(*args) is x
    return x


@pytest.mark.parametrize("name, args, quartiles", QUARTILES, ids=[name for name, *_ in QUARTILES])
@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16"])
def test_quartiles_are_those_of_the_distribution(name: str, args: Any, quartiles: Any, dtype: str) -> None:
    x = filled(name, *args, dtype=dtype)
    assert x.dtype.name == dtype
    shares = [(np.asarray(x.to(mg.float64).tolist()) < q).mean() for q in quartiles]
    np.testing.assert_allclose(shares, [0.25, 0.5, 0.75], atol=0.03)


def test_counts_are_those_of_the_distribution() -> None:
    trials = np.asarray(filled("geometric_", 0.3).tolist())
    np.testing.assert_allclose([(trials == k).mean() for k in (0, 1, 2)], [0.0, 0.3, 0.21], atol=0.03)
    assert abs(np.mean(filled("bernoulli_", 0.2, dtype="int64").tolist()) - 0.2) < 0.03
    p = mg.tensor([0.0, 1.0], device="reference")
    assert filled("bernoulli_", p, shape=(3, 2)).tolist() == [[0.0, 1.0]] * 3


@pytest.mark.parametrize(
    "dtype", ["bool", "uint8", "int8", "int32", "int64", "float16", "bfloat16", "float32", "float64"]
)
def test_random_takes_all_that_a_dtype_holds(dtype: str) -> None:
    x = np.asarray(filled("random_", dtype=dtype).tolist(), float)
    most = {"bool": 2, "float16": 2049, "bfloat16": 257, "float32": 2**24 + 1, "float64": 2**53 + 1}
    end = most.get(dtype) or float(np.iinfo(dtype).max) + 1
    assert x.min() >= 0 and end * 0.98 - 1 <= x.max() <= end
    if dtype != "bool":
        y = filled("random_", 3, 6, dtype=dtype).tolist()
        assert min(filled("random_", int(end * 0.75), None, dtype=dtype).tolist()) >= int(end * 0.75)
        assert set(y) == {3, 4, 5} and set(filled("random_", 3, dtype=dtype).tolist()) == {0, 1, 2}


def test_what_was_there_gets_no_gradient_and_views_write_through() -> None:
    x = mg.Var([1.0, 2.0, 3.0], device="reference")
    y = x * 2.0
    y[1:].normal_()
    assert (y * y).sum().backward()[x].tolist() == [8.0, 0.0, 0.0] and y[1].item() != 4.0
    with pytest.raises(mg.GradientError, match=r"uniform_: cannot write into a Var"):
        x.uniform_()
    with mg.no_grad():
        assert x.uniform_(5.0, 6.0).tolist()[0] >= 5.0


@pytest.mark.parametrize(
    "name, args, dtype, error, text",
    [
        ("normal_", (0.0, 1.0), "int64", mg.DTypeError, "normal: dtype must be a floating dtype"),
        ("exponential_", (0.0,), "float64", mg.ArgumentError, "exponential_: lambd must be positive, got 0.0"),
        (
            "exponential_",
            (1.0,),
            "int64",
            mg.DTypeError,
            r"exponential_: expected a tensor with a floating dtype, got int64\(4000,\)",
        ),
        ("cauchy_", (0.0, -1.0), "float64", mg.ArgumentError, "cauchy_: sigma must be positive, got -1.0"),
        (
            "geometric_",
            (1.5,),
            "float64",
            mg.ArgumentError,
            "geometric_: p must be between 0 and 1, both excluded, got 1.5",
        ),
        ("log_normal_", (0.0, 0.0), "float64", mg.ArgumentError, "log_normal_: std must be positive, got 0.0"),
        ("random_", (0,), "float64", mg.ArgumentError, r"randint: low must be less than high, got low=0 and high=0"),
        (
            "random_",
            (0, 300),
            "int8",
            mg.ArgumentError,
            "random_: low and to - 1 must be from -128 to 127 for int8, got 299",
        ),
        (
            "random_",
            (-3, 3),
            "uint8",
            mg.ArgumentError,
            "random_: low and to - 1 must be from 0 to 255 for uint8, got -3",
        ),
        (
            "random_",
            (3,),
            "bool",
            mg.ArgumentError,
            "random_: low and to - 1 must be from False to True for bool, got 2",
        ),
        (
            "random_",
            (0, 70000),
            "float16",
            mg.ArgumentError,
            "random_: low and to - 1 must be from -65504.0 to 65504.0 for float16, got 69999",
        ),
        ("bernoulli_", (1.5,), "float64", mg.ArgumentError, "bernoulli: p must be a probability"),
    ],
)
def test_what_is_no_distribution_is_refused(name: str, args: Any, dtype: str, error: Any, text: str) -> None:
    with pytest.raises(error, match=text):
        filled(name, *args, dtype=dtype)


def test_normal_takes_a_mean_and_a_deviation_for_each_element() -> None:
    mg.manual_seed(1)
    mean = mg.tensor([[0.0], [1000.0]], device="reference").expand(2, N // 10)
    x = mg.normal(mean, 2.0)
    assert x.shape == mean.shape and abs(x.mean(1) - mg.tensor([0.0, 1000.0], device="reference")).max().item() < 0.6
    assert mg.normal(0.0, mg.zeros(3, device="reference")).tolist() == [0.0] * 3
    with pytest.raises(mg.ArgumentError, match="normal: std must not be negative"):
        mg.normal(0.0, mean - 1.0)
    with pytest.raises(mg.ArgumentError, match="normal: mean and std must be numbers with a size"):
        mg.normal(0.0)
    assert mg.normal(mean, mg.ones(1, dtype="float64", device="reference")).dtype == mg.float32, "as PyTorch's"
    assert mg.normal(mean, 1.0, dtype="float64").dtype is mg.float64
    with pytest.raises(mg.ArgumentError, match="normal: requires_grad is allowed only with size"):
        mg.normal(mean, 1.0, requires_grad=True)
