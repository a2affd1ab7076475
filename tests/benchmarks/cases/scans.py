"""Cumulative sums."""

import numpy as np

from tests.benchmarks.case import Table, normal

TABLE = Table("scans")

for where, shape, dim in (
    ("(1000, 1000) along dim 0", (1000, 1000), 0),
    ("(1000, 1000) along dim 1", (1000, 1000), 1),
    ("32000", (32000,), 0),
):
    TABLE.both(
        f"cumsum {where}",
        normal(shape),
        lambda m, x, d=dim: m.cumsum(x, d),
        numpy=lambda x, d=dim: np.cumsum(x, d),
        nbytes=8 * int(np.prod(shape)),
        goal=1.0,
        goal2=1.0,
        rtol=1e-4,
    )
