"""Reductions with several accumulators by groups of threads: every way of sharing the work, against NumPy."""

import numpy as np
import pytest
from welford import joined, moments, step

import minigrad as mg

welford = mg.reduction(
    dtype=mg.rules.accumulate, identity=("zero",) * 3, combine=joined, finish=moments, outputs=("mean", "var")
)(step)


def gap(work, acc):
    return abs(work - acc)


@mg.reduction(dtype=mg.rules.promote, identity=("highest", "lowest"), order="extreme", map=gap, outputs=("low", "high"))
def nearest_and_farthest(acc, out, x_0):
    """The smallest and the largest gap; names that the loops have, too."""
    return (x_0 if x_0 < acc or x_0 != x_0 else acc), (x_0 if x_0 > out or x_0 != x_0 else out)


@mg.reduction(dtype=mg.rules.promote, identity=("zero", "one"), order="sequential", outputs=("first", "last"))
def digits(first, last, x):
    """Two numbers of the same digits."""
    return first * 2 + x, last * 3 + first + x


# One output of a warp, of a block, of several pieces; many along memory, across it, over two dims at once.
SHAPES = [((0, 3), (1,)), ((37,), (0,)), ((700,), (0,)), ((9000,), (0,)), ((3, 45), (1,)), ((45, 17), (0,)),
          ((700, 2), (0,)), ((6, 5, 7), (0, 2))]  # fmt: skip


@pytest.mark.parametrize(("shape", "dims"), SHAPES, ids=str)
def test_groups_of_every_size(simulator, shape, dims):
    x = np.random.default_rng(0).normal(100.0, 1.0, shape).astype(np.float32)
    y = mg.tensor(x, device="cuda")
    mean, var = welford(y, dims)
    np.testing.assert_allclose(mean.numpy(), x.mean(dims, np.float64), rtol=1e-6)
    np.testing.assert_allclose(var.numpy(), x.var(dims, np.float64), rtol=1e-5)
    if x.size:
        other = x[::-1] * np.float32(0.5)
        low, high = nearest_and_farthest(y, mg.tensor(x, device="cuda").flip(0) * 0.5, dims)
        gaps = np.abs(x - other)
        assert np.array_equal(low.numpy(), gaps.min(dims)) and np.array_equal(high.numpy(), gaps.max(dims))


def test_layouts_and_every_order_of_threads(order):
    x = mg.tensor(np.random.default_rng(1).integers(-9, 10, (9, 40)).astype(np.float32), device="cuda")
    for y in (x.t(), x.flip(1), x[::2, ::3], x[:1].expand(9, 40)):
        low, high = mg.aminmax(y, dim=0)
        assert np.array_equal(low.numpy(), y.numpy().min(0)) and np.array_equal(high.numpy(), y.numpy().max(0))
        std, mean = mg.std_mean(y, 1, keepdim=True)
        np.testing.assert_allclose(mean.numpy(), y.numpy().mean(1, keepdims=True), rtol=1e-6)
        np.testing.assert_allclose(std.numpy(), y.numpy().std(1, ddof=1, keepdims=True), rtol=1e-6)


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float16"])
def test_accumulators_of_every_kind_travel_between_lanes(simulator, dtype):
    numbers = (np.arange(100) * 37) % 101
    x = mg.tensor(numbers % 2 if dtype == "bool" else numbers, dtype=dtype, device="reference")
    assert [y.tolist() for y in mg.aminmax(x.to("cuda"))] == [y.tolist() for y in mg.aminmax(x)]


def test_elements_in_their_order_with_several_accumulators(simulator):
    x = np.random.default_rng(2).integers(0, 2, (4, 3, 5))
    for dims in ((0,), (1, 2), (0, 2)):
        for y in (mg.tensor(x, device="reference"), mg.tensor(x, device="reference").transpose(0, 2)):
            wanted = digits(y, dims)
            assert [z.tolist() for z in digits(y.to("cuda"), dims)] == [z.tolist() for z in wanted]
