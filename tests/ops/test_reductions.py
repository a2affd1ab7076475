"""Reductions that map what they combine and finish what they have: one launch each, right at kinks and ends."""

from __future__ import annotations

import math

import numpy as np
import pytest
from running import requests_of

import minigrad as mg

X = [[1.5, -2.0, 0.5], [3.0, 0.25, -1.0]]


def reference(values, **how):
    return mg.tensor(values, device="reference", **how)


@pytest.mark.parametrize(
    ("name", "fn", "most"),
    [
        ("norm", mg.norm, 1),
        ("norm-1", lambda x: mg.norm(x, 1), 1),
        ("norm-0", lambda x: mg.norm(x, 0), 1),
        ("logsumexp", lambda x: mg.logsumexp(x, 1), 1),
        ("count_nonzero", mg.count_nonzero, 1),
        ("mse_loss", lambda x: mg.nn.functional.mse_loss(x, x), 1),
        ("var", mg.var, 2),
        ("std", mg.std, 2),
    ],
)
def test_a_reduction_is_one_launch_and_a_variance_two(name, fn, most):
    assert len(requests_of(lambda: fn(reference(X)))) == most


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_large_mean_costs_a_variance_no_digits(dtype):
    offset, steps = (2.0**20, 1.0) if dtype == "float32" else (2.0**45, 1.0)
    x = reference(offset + steps * np.arange(8.0), dtype=dtype)
    assert mg.var(x).item() == 6.0 and mg.std(x, correction=0).item() == pytest.approx(math.sqrt(5.25), rel=1e-7)
    leaf = mg.Var(offset + steps * np.arange(8.0), dtype=dtype, device="reference")
    assert mg.var(leaf).backward()[leaf].tolist() == pytest.approx([2 * (k - 3.5) / 7 for k in range(8)], rel=1e-6)


def test_a_variance_of_fewer_elements_than_the_correction_is_not_a_number():
    assert mg.var(reference([3.0, 4.0]), correction=2).item() == math.inf
    assert math.isnan(mg.var(reference([3.0])).item())
    assert math.isnan(mg.var(reference([])).item())


def test_a_spread_of_equal_elements_and_a_length_of_zeros_have_gradient_0_of_every_order():
    for fn in (mg.std, mg.norm):
        x = mg.Var([0.0, 0.0, 0.0], device="reference")
        assert mg.grad(fn(x), x).tolist() == [0.0] * 3
        (first,) = mg.grad(fn(x), [x], create_graph=True)
        assert mg.grad(first.sum(), x).tolist() == [0.0] * 3


def test_a_log_of_a_sum_passes_infinities_and_nan_and_overflows_nowhere():
    inf, nan = math.inf, math.nan
    rows = [[-inf, -inf], [inf, 1.0], [inf, -inf], [inf, inf], [-inf, 2.0], [nan, 1.0], [nan, inf], [1000.0, 1000.0]]
    wanted = [-inf, inf, inf, inf, 2.0, nan, nan, 1000.0 + math.log(2.0)]
    np.testing.assert_allclose(mg.logsumexp(reference(rows, dtype="float64"), 1).numpy(), wanted, rtol=1e-15)


def test_a_mean_squared_error_reads_its_arguments_as_pytorch_does():
    loss, x, t = mg.nn.functional.mse_loss, reference([1.0, 2.0, 4.0]), reference([1.0, 0.0, 1.0])
    assert loss(x, t).item() == pytest.approx(13 / 3) and loss(x, t, reduction="sum").item() == 13.0
    assert loss(x, t, reduction="none").tolist() == [0.0, 4.0, 9.0]
    assert loss(x, t, weight=reference([1.0, 2.0, 1.0])).item() == 17 / 4
    with pytest.warns(UserWarning, match="deprecated; write reduction='sum'"):
        assert loss(x, t, size_average=False).item() == 13.0
    with pytest.warns(UserWarning, match="differ in shape and are broadcast to"):
        assert loss(reference([[1.0], [2.0]]), reference([1.0, 2.0])).item() == 0.5
    with pytest.raises(mg.ArgumentError, match="reduction must be 'mean', 'sum' or 'none', got 'max'"):
        loss(x, t, reduction="max")
    with pytest.raises(mg.ShapeError, match="loss and weight must have the same shape"):
        loss(x, t, weight=reference([1.0]))
    with pytest.raises(mg.DTypeError, match=r"mse_loss: .*float"):
        loss(reference([1]), reference([2]))


def test_nan_and_small_fractions_are_counted_as_not_zero():
    assert mg.count_nonzero(reference([0.0, -0.0, 0.25, math.nan])).item() == 2
    assert mg.count_nonzero(reference([[0, 2**32], [3, 0]]), dim=1).tolist() == [1, 1]
    assert mg.count_nonzero(reference([True, False, True])).dtype is mg.int64


def test_lengths_neither_overflow_nor_vanish_on_the_way():
    assert mg.norm(reference([3e30, 4e30])).item() == pytest.approx(5e30)
    assert mg.norm(reference([3e-30, 4e-30])).item() == pytest.approx(5e-30)
    assert mg.norm(reference([300.0, 400.0], dtype="float16")).item() == 500.0


def test_the_median_of_no_floats_is_nan() -> None:
    x = mg.empty(0, 3, device="reference")
    assert math.isnan(mg.median(x).item()) and math.isnan(mg.nanmedian(x).item())


def test_the_older_name_of_correction_is_that_of_pytorch() -> None:
    x = mg.tensor([[1.0, 2.0, 4.0], [3.0, 5.0, 9.0]], device="reference")
    for name in ("var", "std"):
        function = getattr(mg, name)
        assert function(x, 1, unbiased=False).tolist() == function(x, 1, correction=0).tolist()
        assert getattr(x, name)(unbiased=True).item() == function(x).item()


def test_a_mean_without_nan_is_one_of_floats_in_the_dtype_that_is_asked_for():
    with pytest.raises(mg.DTypeError, match=r"nanmean: input must have a floating dtype"):
        mg.nanmean(reference([1, 2]))
    assert mg.nanmean(reference([1, 2]), dtype=mg.float64).item() == 1.5
    assert mg.nanmean(reference([1.0, math.nan]), dtype=mg.float64).dtype is mg.float64
    assert mg.nanmean(reference([60000.0] * 4, dtype="float16")).item() == 60000.0
    assert mg.nanmean(mg.ones(70000, dtype=mg.float16, device="reference")).item() == 1.0


def test_a_norm_of_a_negative_order_of_nothing_is_refused():
    with pytest.raises(mg.ShapeError, match="input must have an element along dims"):
        mg.norm(reference(np.zeros((2, 0))), -2, 1)
    assert mg.norm(reference([1.0, -2.0]), np.int64(1)).item() == 3.0


@pytest.mark.parametrize(("name", "number"), [("huber_loss", {"delta": 0.0}), ("huber_loss", {"delta": math.nan}),
                                              ("smooth_l1_loss", {"beta": -1.0})])  # fmt: skip
def test_a_number_of_a_loss_outside_of_its_bounds_is_refused(name, number):
    x = reference([1.0])
    with pytest.raises(mg.ArgumentError, match=f"{name}: .* must (be positive|not be negative), got"):
        getattr(mg.nn.functional, name)(x, x, **number)


def test_no_difference_at_all_is_the_input():
    x = reference([1.0, 2.0])
    assert mg.diff(x, 0, prepend=x).tolist() == [1.0, 2.0]


def test_statistics_that_share_memory_with_the_input_are_not_moved():
    x = reference(np.arange(6.0).reshape(3, 2))
    with pytest.raises(mg.StorageError, match="share memory"):
        mg.nn.functional.batch_norm(x, x[0], x[1], training=True)
    assert x.tolist() == [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]


def test_nansum_has_the_dtype_that_is_named() -> None:
    x = mg.tensor([1.5, math.nan, 2.5], device="reference")
    for dtype in (mg.int32, mg.int8, mg.float64):
        assert mg.nansum(x, dtype=dtype).dtype is dtype
