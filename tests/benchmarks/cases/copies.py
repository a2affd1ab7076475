"""Copies that change the order of elements."""

import numpy as np

from tests.benchmarks.case import Table, normal

TABLE = Table("copies")

for n in (2000, 2048):
    TABLE.both(
        f"transposed copy ({n}, {n})",
        normal((n, n)),
        lambda m, x: x.t().contiguous(),
        numpy=lambda x: np.ascontiguousarray(x.T),
        nbytes=8 * n * n,
        goal=1.0,
        goal2=1.0,
    )
TABLE.both(
    "permuted copy (32, 64, 56, 56) to channels last",
    normal((32, 64, 56, 56)),
    lambda m, x: x.permute(0, 2, 3, 1).contiguous(),
    numpy=lambda x: np.ascontiguousarray(x.transpose(0, 2, 3, 1)),
    nbytes=8 * 32 * 64 * 56 * 56,
    goal=1.0,
    goal2=1.0,
)
TABLE.both(
    "cat of three (1000, 400) along dim 1",
    normal((1000, 400), (1000, 400), (1000, 400)),
    lambda m, a, b, c: m.cat([a, b, c], 1),
    numpy=lambda a, b, c: np.concatenate([a, b, c], 1),
    tracks=3,
    nbytes=8 * 1000 * 1200,
    goal=1.0,
    goal2=1.0,
)
