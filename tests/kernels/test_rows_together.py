"""Reductions of several rows at a time: float32 sums before widening, min/max with one nan test per four rows."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import minigrad as mg
from minigrad.kernels.store import watch

UNIT = 2.0**-24  # half the distance between 1 and the float32 after it
BOUND = 3 * UNIT  # of the sum of magnitudes
ROWS = (7, 8, 9, 15, 16, 17, 40, 301)
COLUMNS = (3, 100, 256, 257, 600, 1025)  # up to 256 they are one run, then rows of their own, then rows in two parts


def few_rows(x: np.ndarray) -> mg.Tensor:
    return mg.tensor(x)


def every_other(x: np.ndarray) -> mg.Tensor:
    """The same elements, rows of a wider matrix."""
    wide = np.full((x.shape[0], 2 * x.shape[1]), np.nan, x.dtype)
    wide[:, : x.shape[1]] = x
    return mg.tensor(wide)[:, : x.shape[1]]


def test_these_are_the_kernels_that_are_meant() -> None:
    def text(op: str, columns: int) -> str:
        x = mg.ones((40, columns))
        mg.schema[op].plans.clear()
        with watch() as seen:
            getattr(mg, op)(x, 0)
        return open(seen[0]).read()

    for columns in (100, 600):
        assert "add_rows(" in text("sum", columns) and "best_of_four(" in text("amax", columns)


@pytest.mark.parametrize("seen", [few_rows, every_other])
@pytest.mark.parametrize("columns", COLUMNS)
def test_sums_are_within_the_bound(columns: int, seen: object) -> None:
    for rows in ROWS:
        rng = np.random.default_rng(rows * columns)
        x = (rng.normal(size=(rows, columns)) * 2.0 ** rng.integers(-20, 20, (rows, columns))).astype(np.float32)
        true, size = x.astype(np.float64).sum(0), np.abs(x.astype(np.float64)).sum(0)
        for found, by in ((seen(x).sum(0), 1), (seen(x).mean(0), rows)):  # type: ignore[operator]
            error = np.abs(found.numpy().astype(np.float64) - true / by)
            assert (error <= (BOUND * size / by) * (1 + 1e-6) + 2 * UNIT * np.abs(true / by)).all()


@pytest.mark.parametrize("columns", [100, 600])
def test_what_overflows_together_is_added_one_by_one(columns: int) -> None:
    x = np.ones((41, columns), np.float32)
    x[:, 5] = 3e38
    x[1::2, 7] = -3e38
    x[::2, 7] = 3e38
    x[40, 7] = 0.0
    assert mg.tensor(x).mean(0).numpy()[5] == pytest.approx(3e38, rel=1e-6)
    total = mg.tensor(x).sum(0).numpy()
    assert total[7] == 0.0 and total[5] == np.inf and total[6] == 41.0


@pytest.mark.parametrize("special", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("columns", [100, 600])
def test_infinities_and_nan_stay_in_their_column(columns: int, special: float) -> None:
    for row in (0, 3, 8, 16):
        x = np.ones((17, columns), np.float32)
        x[row, 2] = special
        np.testing.assert_array_equal(mg.tensor(x).sum(0).numpy(), x.sum(0))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("columns", [100, 600])
@pytest.mark.parametrize("name", ["amax", "amin"])
def test_an_extreme_sees_every_nan_and_every_infinity(name: str, columns: int, dtype: str) -> None:
    expected = {"amax": np.max, "amin": np.min}[name]
    for rows in (4, 7, 9):
        for special, row in itertools.product((np.nan, np.inf, -np.inf, 9.0, -9.0), range(rows)):
            x = np.random.default_rng(row).normal(size=(rows, columns)).astype(dtype)
            x[row, ::3] = special
            np.testing.assert_array_equal(getattr(mg.tensor(x), name)(0).numpy(), expected(x, axis=0))
    lowest = np.full((9, columns), -np.inf if name == "amax" else np.inf, dtype)
    np.testing.assert_array_equal(getattr(mg.tensor(lowest), name)(0).numpy(), lowest[0])
