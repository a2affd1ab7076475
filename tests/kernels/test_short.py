"""Sums of float32: the bound of their error against exact sums, beside NumPy's and PyTorch's, and what overflows."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from cases import over

import minigrad as mg
from minigrad.backends.cpu import reduction
from minigrad.errors import DeclarationError
from minigrad.kernels.cpu.short import RUN, python_short_sum
from minigrad.kernels.store import watch

UNIT = 2.0**-24  # half the distance between 1 and the float32 after it
BOUND = 8 * UNIT + 2.0**-40  # of the sum of magnitudes; float64 adds its own, which is far less
SIZES = (128, 129, 255, 256, 257, 511, 512, 513, 1000, 32767, 32768, 32769, 100_003)


def ordinary(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.normal(size=n)


def growing(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.uniform(0.5, 1.0, n) * 2.0 ** rng.integers(-40, 40, n)


def cancelling(rng: np.random.Generator, n: int) -> np.ndarray:
    """Pairs of opposites, far apart, and a little more: the sum is a thousandth of a millionth of the magnitudes."""
    half = rng.uniform(1.0, 2.0, n // 2) * 1e6
    x = np.concatenate([half, -half[rng.permutation(n // 2)], np.zeros(n % 2)])
    x[rng.integers(n)] += 1.0
    return x


def small_among_large(rng: np.random.Generator, n: int) -> np.ndarray:
    return np.where(np.arange(n) % 97 == 0, 1e8, 1e-3) * rng.choice([-1.0, 1.0], n)


DATA = {f.__name__: f for f in (ordinary, growing, cancelling, small_among_large)}


def exact(x: np.ndarray) -> float:
    return math.fsum(x.astype(np.float64).tolist())


@over("data", DATA)
@over("n", SIZES)
def test_a_sum_is_within_the_bound_and_no_worse_than_numpy(data: str, n: int) -> None:
    x = DATA[data](np.random.default_rng(n), n).astype(np.float32)
    true, size = exact(x), exact(np.abs(x))
    error = abs(float(mg.tensor(x).sum().item()) - true)
    rounding = UNIT * abs(true)
    assert error <= BOUND * size + rounding
    # NumPy adds pairwise in float32; one lucky draw of it may be better than ours, by no more than our own bound.
    assert error <= max(abs(float(np.sum(x)) - true), BOUND * size / 8) + rounding


@pytest.mark.parametrize("data", DATA)
def test_rows_are_within_the_bound(data: str) -> None:
    x = np.stack([DATA[data](np.random.default_rng(k), 1001) for k in range(40)]).astype(np.float32)
    for found, divisor in ((mg.tensor(x).sum(1), 1), (mg.tensor(x).mean(1), 1001)):
        for row, y in zip(x, found.tolist(), strict=True):
            true = exact(row) / divisor
            assert abs(y - true) <= (BOUND * exact(np.abs(row)) / divisor) + 2 * UNIT * abs(true)


@pytest.mark.torch
@pytest.mark.parametrize("data", DATA)
def test_beside_pytorch(data: str) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: nothing to compare with")
    ours = theirs = 0.0
    for seed in range(20):
        x = DATA[data](np.random.default_rng(seed), 100_003).astype(np.float32)
        true = exact(x)
        ours += abs(float(mg.tensor(x).sum().item()) - true)
        theirs += abs(float(torch.from_numpy(x).sum()) - true)
    assert ours <= theirs * 1.01


def test_what_is_too_large_for_float32_is_added_without_it() -> None:
    x = np.full(3000, 3e38, np.float32)
    assert mg.tensor(x).mean().item() == pytest.approx(3e38, rel=1e-6)
    assert mg.tensor(x * np.tile([1, 1, -1, -1], 750).astype(np.float32)).sum().item() == 0.0
    rows = np.stack([x, -x, np.ones_like(x)])
    assert mg.tensor(rows).mean(1).tolist() == pytest.approx([3e38, -3e38, 1.0], rel=1e-6)


@pytest.mark.parametrize("special", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("place", [0, 200, 299])
def test_infinities_and_nan_are_sums_too(special: float, place: int) -> None:
    x = np.ones(300, np.float32)
    x[place] = special
    np.testing.assert_equal(mg.tensor(x).sum().item(), special)
    x[150] = -special
    assert math.isnan(mg.tensor(x).sum().item())


@over("lanes", [4, 8])
@over("n", [0, 1, 3, 8, 31, 32, 33, 63, 64, 65, 70, 127, 128, 200])
def test_what_a_short_sum_means_has_every_element_once(n: int, lanes: int) -> None:
    x = np.arange(1, n + 1, dtype=np.float32)
    assert python_short_sum(x, lanes) == n * (n + 1) / 2
    big = (np.random.default_rng(n).normal(size=n) * 1e3).astype(np.float32)
    true = sum((Fraction(float(v)) for v in big), Fraction(0))
    assert abs(float(python_short_sum(big, lanes)) - float(true)) <= RUN * UNIT * float(np.abs(big).sum()) + 1e-30


def test_short_rows_and_other_dtypes_are_added_as_before() -> None:
    def text(dtype: str, columns: int) -> str:
        with watch() as seen:
            mg.schema["sum"].plans.clear()
            mg.ones((64, columns), dtype=dtype).sum(1)
        return open(seen[-1]).read()

    assert "short_sum(x, at, n)" in text("float32", reduction.SHORT)
    assert "short_sum" not in text("float32", reduction.SHORT - 1)
    assert "short_sum" not in text("float64", reduction.SHORT)


def test_a_reduction_that_calls_itself_a_linear_sum_is_one() -> None:
    with pytest.raises(DeclarationError, match=r'order="sum" and linear=True, so it must be a sum, but maps -2 and -2'):

        @mg.reduction(dtype=mg.rules.promote, identity="zero", order="sum", linear=True)
        def lengths(acc, x):
            """The length of a vector, which is not linear."""
            return math.sqrt(acc * acc + x * x)
