"""Minima and maxima of floats: nan of both signs, infinities, zeros, and only negative numbers."""

from __future__ import annotations

import numpy as np
from cases import over, unless_full

import minigrad as mg
from minigrad.config import override

SHAPES = [(7,), (70_000,), (300, 40), (9, 700), (6, 130, 128), (3, 5, 129)]  # tiny, runs, rows, columns, middles


def spread(kind: str, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    rng = np.random.default_rng(0)
    x = rng.standard_normal(shape).astype(dtype)
    some = rng.random(shape) < 0.02
    minus_nan = np.array(-1, {"float32": np.int32, "float64": np.int64}[dtype]).view(dtype)
    if kind == "below 0":
        return -np.abs(x)
    if kind == "zeros of both signs":
        return np.where(x > 0, x * 0, -x * -0.0).astype(dtype)
    if kind == "all -inf":
        return np.full(shape, -np.inf, dtype)
    value = {"nan": np.nan, "minus nan": minus_nan, "infinities": np.copysign(np.inf, x)}[kind]
    return np.where(some, value, x).astype(dtype)


# Threads share the work of largest and smallest in one way.
@unless_full(lambda dtype, name, threshold: dtype == "float32" and (name == "amax" or threshold))
@over("name", ["amax", "amin"])
@over("threshold", [0, 1 << 60], ids=["parallel", "serial"])
@over("dtype", ["float32", "float64"])
@over("kind", ["nan", "minus nan", "infinities", "below 0", "zeros of both signs", "all -inf"])
def test_extremes_are_those_of_numpy(kind: str, dtype: str, threshold: int, name: str) -> None:
    for shape in SHAPES:
        values = spread(kind, shape, dtype)
        with override(parallel_threshold=threshold):
            x = mg.from_numpy(values)
            for dim in (None, *range(len(shape))):
                wanted = values.max(dim) if name == "amax" else values.min(dim)
                np.testing.assert_array_equal(getattr(x, name)(dim).numpy(), wanted, err_msg=f"{shape} {dim}")


def test_a_single_nan_among_a_million_is_found_anywhere() -> None:
    for place in (0, 1, 31, 500_001, 999_999):
        for sign in (1.0, -1.0):
            values = np.linspace(-1, 1, 1_000_000, dtype=np.float32)
            values[place] = np.copysign(np.float32(np.nan), sign)
            assert np.isnan(mg.from_numpy(values).amax().item()), (place, sign)
            assert np.isnan(mg.from_numpy(values).amin().item()), (place, sign)
