"""Loops that move memory: sums, products, selections, comparisons, casts, and results too large for the caches."""

import ml_dtypes
import numpy as np

from tests.benchmarks.case import Table, normal

TABLE = Table("elementwise")
NAMES = {"bfloat16": "bf16", "float16": "f16", "float32": "f32"}

TABLE.both(
    "issue2499: (32,630,12,32) + (32,1,1,32)",
    normal((32, 630, 12, 32), (32, 1, 1, 32)),
    lambda m, a, b: a + b,
    numpy=lambda a, b: a + b,
    tracks=2,
    nbytes=2 * 4 * 32 * 630 * 12 * 32,
    goal=0.95,
    rtol=1e-4,
)

for n in (10_000, 1_000_000, 10_000_000):
    size = f"{n:.0e}".replace("e+0", "e")
    goal = 1.0 if n == 1_000_000 else None
    pair = normal((n,), (n,))
    TABLE.both(f"add {size}", pair, lambda m, a, b: a + b, numpy=lambda a, b: a + b, tracks=2, nbytes=12 * n, goal=goal)
    TABLE.both(f"mul {size}", pair, lambda m, a, b: a * b, numpy=lambda a, b: a * b, tracks=2, nbytes=12 * n, goal=goal)
    TABLE.both(
        f"where {size}",
        lambda rng, n=n: [*normal((n,), (n,))(rng), rng.random(n) < 0.5],
        lambda m, a, b, c: m.where(c, a, b),
        numpy=lambda a, b, c: np.where(c, a, b),
        tracks=2,
        nbytes=13 * n,
    )
    TABLE.add(f"less than {size}", pair, lambda m, a, b: a < b, numpy=lambda a, b: a < b, nbytes=9 * n)
    for half in ("bfloat16", "float16"):
        narrow = getattr(ml_dtypes, half, None) or np.float16
        to_half = lambda m, x, half=half: x.to(getattr(m, half))
        TABLE.both(
            f"cast f32 to {NAMES[half]} {size}",
            normal((n,)),
            to_half,
            numpy=lambda x, narrow=narrow: x.astype(narrow),
            nbytes=6 * n,
        )
        TABLE.both(
            f"cast {NAMES[half]} to f32 {size}",
            lambda rng, n=n, narrow=narrow: [rng.standard_normal(n).astype(narrow)],
            lambda m, x: x.to(m.float32),
            numpy=lambda x: x.astype(np.float32),
            nbytes=6 * n,
        )

TABLE.add(
    "fresh 160 MB: x + 1",
    normal((40_000_000,)),
    lambda m, x: x + 1.0,
    numpy=lambda x: x + np.float32(1.0),
    nbytes=320_000_000,
)
TABLE.add(
    "fresh 160 MB: full",
    lambda rng: [np.zeros(1, np.float32)],
    lambda m, x: m.full((40_000_000,), 2.0),
    numpy=lambda x: np.full(40_000_000, 2.0, np.float32),
    nbytes=160_000_000,
)
