"""Picking elements by index, and adding into them."""

import numpy as np

from tests.benchmarks.case import Table

TABLE = Table("indexing")


def table(rows: int, cols: int, picks: tuple[int, ...], high: int):  # type: ignore[no-untyped-def]
    return lambda rng: [rng.standard_normal((rows, cols)).astype(np.float32), rng.integers(0, high, picks)]


TABLE.both(
    "gather (1000, 1000) along dim 1",
    table(1000, 1000, (1000, 1000), 1000),
    lambda m, x, i: m.gather(x, 1, i),
    numpy=lambda x, i: np.take_along_axis(x, i, 1),
    nbytes=16 * 1000 * 1000,
    goal=1.0,
    goal2=1.0,
)
TABLE.both(
    "index_select 10000 of (10000, 128)",
    table(10000, 128, (10000,), 10000),
    lambda m, x, i: m.index_select(x, 0, i),
    numpy=lambda x, i: x[i],
    nbytes=8 * 10000 * 128,
    goal=1.0,
    goal2=1.0,
)
TABLE.both(
    "index_add 10000 rows into (10000, 128)",
    lambda rng: [
        rng.standard_normal((10000, 128)).astype(np.float32),
        rng.standard_normal((10000, 128)).astype(np.float32),
        rng.integers(0, 10000, 10000),
    ],
    lambda m, x, s, i: m.index_add(x, 0, i, s),
    tracks=2,
    nbytes=16 * 10000 * 128,
    goal=1.0,
    goal2=1.0,
)
TABLE.both(
    "embedding (64, 128) of (10000, 256)",
    table(10000, 256, (64, 128), 10000),
    lambda m, x, i: m.nn.functional.embedding(i, x),
    nbytes=8 * 64 * 128 * 256,
    goal=1.0,
    goal2=1.0,
)
TABLE.both(
    "boolean mask of 1e6",
    lambda rng: [rng.standard_normal(1_000_000).astype(np.float32), rng.random(1_000_000) < 0.5],
    lambda m, x, mask: x[mask],
    numpy=lambda x, mask: x[mask],
    nbytes=7 * 1_000_000,
)
